# SPDX-License-Identifier: Apache-2.0
"""``diffbot calibrate``: radii and track from recordings or a tape, with a page."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from diffbot_ident.calibration.command import main as calibrate

if TYPE_CHECKING:
    from diffbot_ident.calibration.calibrate import Calibration


def main(argv: list[str]) -> int:
    """Calibrate; returns the exit status, see diffbot_ident.calibration.command."""

    def write(calibration: Calibration, folder: Path) -> Path:
        # Here, as it loads for long and --help needs none of it.
        from diffbot_ident.calibration.pictures import ways
        from diffbot_report.calibration_page import calibration_page, way_section
        from diffbot_report.page import REPORT, write_page

        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        fit, sections = calibration.fit, []
        if fit is not None and fit.drive.poses is not None:
            sections.append(way_section(ways(calibration, fit)))
        command = shlex.join(["./diffbot", "calibrate", *argv])
        return write_page(calibration_page(summary, folder, command, sections), folder / REPORT)

    return calibrate(argv, "diffbot calibrate", write)
