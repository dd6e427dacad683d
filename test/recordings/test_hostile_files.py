# SPDX-License-Identifier: Apache-2.0
"""A hostile file of each kind; 500 are in benchmarks/broken_files.py, with the same checks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from made_recordings.hostile_files import MAKERS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.wall_time
def test_hostile_files_are_answered_with_a_sentence_in_time_and_memory():
    """Each in at most 10 s of processor time and 500 MB; no code of them runs. Seed 4."""
    command = [sys.executable, str(ROOT / "benchmarks" / "broken_files.py")]
    options = ["--hostile", str(len(MAKERS)), "--files", "0", "--seed", "4"]
    # As ./diffbot python would run it.
    paths = [os.environ.get("PYTHONPATH", ""), str(ROOT / "test")]
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    ended = subprocess.run(
        [*command, *options], capture_output=True, text=True, timeout=500, env=variables
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "0 findings" in ended.stdout
    assert all(maker.__name__ in ended.stdout for maker in MAKERS)
