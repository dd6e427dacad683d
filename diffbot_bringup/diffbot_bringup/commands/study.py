# SPDX-License-Identifier: Apache-2.0
"""``diffbot study``: many robots, settings and seeds, on one machine or a cluster."""

from __future__ import annotations

from diffbot_study.study import main as study


def main(argv: list[str]) -> int:
    """Run a study; returns 0 where all is there, 3 where tasks failed, 2 for wrong usage."""
    return study(argv, "diffbot study")
