# SPDX-License-Identifier: Apache-2.0
"""Commands implemented by the tools: one function each, named like the command.

This folder is the front door: the only one of the core that imports tools, when a command is
called.

Each takes the arguments after the command's name and returns the exit status. The modules of a
command and its page are imported when it is called: some load slowly, and --help needs none of
them.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from diffbot_calibration.calibration import Calibration
    from diffbot_recordings.findings import Findings
    from diffbot_report.chart import Chart


def describe(argv: list[str]) -> int:
    """Make a robot file from a URDF or xacro file; 0, or 2 for a file that cannot be described."""
    from diffbot_description.describe_command import main

    return main(argv, "diffbot describe")


def export(argv: list[str]) -> int:
    """Write results as files for other software; 0, or 2 for what cannot be exported."""
    from diffbot_export.command import main

    return main(argv, "diffbot export")


def identify(argv: list[str]) -> int:
    """Identify a robot's dynamics from recordings; 0: result usable, 1: not usable, 2: usage."""
    from diffbot_recordings.identify import main

    def write(findings: Findings, folder: Path) -> Path:
        from diffbot_description.files import SUMMARY
        from diffbot_recordings.identify_page import identify_page
        from diffbot_report.page import REPORT, write_page

        summary = json.loads((folder / SUMMARY).read_text(encoding="utf-8"))
        return write_page(identify_page(findings, summary, folder, argv), folder / REPORT)

    return main(argv, "diffbot identify", write)


def calibrate(argv: list[str]) -> int:
    """Calibrate radii and track, by recordings or tape; see diffbot_calibration.command."""
    from diffbot_calibration.command import main

    def write(calibration: Calibration | None, folder: Path) -> Path:
        from diffbot_calibration.calibration_page import write_calibration_page
        from diffbot_description.spoken_commands import spoken

        command = spoken("calibrate", *argv)
        return write_calibration_page(calibration, folder, command)

    return main(argv, "diffbot calibrate", write)


def study(argv: list[str]) -> int:
    """Run many robots, settings and seeds; 0: complete, 3: tasks failed, 2: usage."""
    from diffbot_study.study import main

    def write(summary: Mapping[str, Any], charts: Sequence[Chart], folder: Path) -> Path:
        from diffbot_report.page import write_page
        from diffbot_study.study_page import STUDY, study_page

        page = study_page(summary, charts, Path(summary["file"]), argv)
        return write_page(page, folder / STUDY)

    return main(argv, "diffbot study", write)


def fleet(argv: list[str]) -> int:
    """Analyse recordings of many robots; 0: each has a row, 3: tasks failed, 2: other errors."""
    from diffbot_study.fleet import main

    def write(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], folder: Path) -> Path:
        from diffbot_study.fleet_page import write_fleet_pages

        return write_fleet_pages(summary, rows, folder, argv)

    return main(argv, "diffbot fleet", write)


def faults(argv: list[str]) -> int:
    """Run the fault table, which is a package of the tests: test/faults in the checkout."""
    root = os.environ.get("DIFFBOT_ROOT", "")
    if not root:
        print("diffbot faults: run it as ./diffbot faults in the checkout", file=sys.stderr)
        return 2
    sys.path.insert(0, str(Path(root) / "test"))
    from faults.command import main

    return int(main(argv))


def python(argv: list[str]) -> int:
    """Become Python with the suite and its tests importable; does not return."""
    folders = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
    if root := os.environ.get("DIFFBOT_ROOT"):
        os.environ["PYTHONPATH"] = os.pathsep.join([*folders, str(Path(root) / "test")])
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, *argv])
