# SPDX-License-Identifier: Apache-2.0
"""Commands that other packages carry out: one function each, named like the command.

Each takes the words after the command's name and returns the exit status. What a command and its
page need is imported when it is called: some of it loads for long, and --help needs none of it.
"""

from __future__ import annotations

import json
import os
import shlex
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffbot_ident.calibration.calibrate import Calibration
    from diffbot_ident.recording.findings import Findings


def describe(argv: list[str]) -> int:
    """A robot file from a URDF or xacro file; 0, or 2 for a file that cannot be described."""
    from diffbot_description.describe_command import main

    return main(argv, "diffbot describe")


def export(argv: list[str]) -> int:
    """Results as files that other software reads; 0, or 2 for what cannot be exported."""
    from diffbot_export.command import main

    return main(argv, "diffbot export")


def identify(argv: list[str]) -> int:
    """A robot's dynamics from recordings; 0 where the result may be used, 1 where not, 2 usage."""
    from diffbot_ident.recording.identify import main

    def write(findings: Findings, folder: Path) -> Path:
        from diffbot_report.identify_page import identify_page
        from diffbot_report.page import REPORT, write_page

        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        return write_page(identify_page(findings, summary, folder, argv), folder / REPORT)

    return main(argv, "diffbot identify", write)


def calibrate(argv: list[str]) -> int:
    """Radii and track from recordings or a tape; see diffbot_ident.calibration.command."""
    from diffbot_ident.calibration.command import main

    def write(calibration: Calibration | None, folder: Path) -> Path:
        from diffbot_report.calibration_page import write_calibration_page

        command = shlex.join(["./diffbot", "calibrate", *argv])
        return write_calibration_page(calibration, folder, command)

    return main(argv, "diffbot calibrate", write)


def study(argv: list[str]) -> int:
    """Many robots, settings and seeds; 0 where all is there, 3 where tasks failed, 2 usage."""
    from diffbot_study.study import main

    def write(summary: Mapping[str, Any], folder: Path) -> Path:
        from diffbot_report.page import write_page
        from diffbot_report.study_page import STUDY, study_page

        return write_page(study_page(summary, Path(summary["file"]), argv), folder / STUDY)

    return main(argv, "diffbot study", write)


def fleet(argv: list[str]) -> int:
    """Recordings of many robots; 0 where each has a row, 3 where tasks failed, else 2."""
    from diffbot_study.fleet import main

    def write(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], folder: Path) -> Path:
        from diffbot_report.fleet_page import write_fleet_pages

        return write_fleet_pages(summary, rows, folder, argv)

    return main(argv, "diffbot fleet", write)


def view(argv: list[str]) -> int:
    """What runs have left, a run as it goes on, or a recording, in the browser."""
    from diffbot_bringup import live_view, results_view

    if {"-h", "--help"} & set(argv):
        print(live_view.parser().format_help())
        print(results_view.parser().format_help())
        return 0
    return live_view.main(argv) if live_view.takes(argv) else results_view.main(argv)


def faults(argv: list[str]) -> int:
    """The fault table, a package of the tests: test/faults in the checkout."""
    root = os.environ.get("DIFFBOT_ROOT", "")
    if not root:
        print("diffbot faults: run it as ./diffbot faults in the checkout", file=sys.stderr)
        return 2
    sys.path.insert(0, str(Path(root) / "test"))
    from faults.command import main

    return int(main(argv))


def python(argv: list[str]) -> int:
    """Become Python where the suite and its tests can be imported; does not return."""
    folders = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    if root := os.environ.get("DIFFBOT_ROOT"):
        os.environ["PYTHONPATH"] = os.pathsep.join([*folders, str(Path(root) / "test")])
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *argv])
