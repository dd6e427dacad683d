# SPDX-License-Identifier: Apache-2.0
"""``diffbot calibrate``: radii and track from recordings or a tape."""

from __future__ import annotations

from diffbot_ident.calibration.command import main as calibrate


def main(argv: list[str]) -> int:
    """Calibrate; returns the exit status, see diffbot_ident.calibration.command."""
    return calibrate(argv, "diffbot calibrate")
