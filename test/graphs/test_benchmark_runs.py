# SPDX-License-Identifier: Apache-2.0
"""A run of the launch files, and a drive, as benchmarks/repeat.py and two_sources.py make many."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from launch_runs import NOISE, LaunchRun, execute, values_of
from two_sources import alone


def test_a_run_with_parameters_makes_its_folder(domain: Any, tmp_path: Path) -> None:
    words = ("sim:=ideal", "duration:=2.0", "until:=none", "verification:=0.0", "report:=html")
    outcome = execute(LaunchRun("short", "ident", words, NOISE), tmp_path / "short" / "0")
    assert outcome.values["exit status"] == 0, outcome.output
    assert outcome.values["duration"] >= 2.0


def test_a_robot_with_one_source_is_not_taken_for_two() -> None:
    words, significant, _ = alone(np.random.default_rng(5))
    assert not significant, words


def test_figures_of_equal_runs_do_not_depend_on_the_folder_of_their_results(tmp_path: Path) -> None:
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        content = {"next_step": f"view {folder}/report.html", "started": name, "k5": 1.5}
        (folder / "summary.json").write_text(json.dumps(content))
    first, second = (values_of(tmp_path / name) for name in ("first", "second"))
    assert first == second == {"next_step": "view RESULTS/report.html", "k5": 1.5}
