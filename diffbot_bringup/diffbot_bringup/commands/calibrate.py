# SPDX-License-Identifier: Apache-2.0
"""``diffbot calibrate``: radii and track from recordings or a tape, with a page."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

from diffbot_ident.calibration.command import main as calibrate

if TYPE_CHECKING:
    from diffbot_ident.calibration.calibrate import Calibration


def main(argv: list[str]) -> int:
    """Calibrate; returns the exit status, see diffbot_ident.calibration.command."""

    def write(calibration: Calibration | None, folder: Path) -> Path:
        # Here, as it loads for long and --help needs none of it.
        from diffbot_report.calibration_page import write_calibration_page

        command = shlex.join(["./diffbot", "calibrate", *argv])
        return write_calibration_page(calibration, folder, command)

    return calibrate(argv, "diffbot calibrate", write)
