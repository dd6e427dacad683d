# SPDX-License-Identifier: Apache-2.0
"""``diffbot fleet``: recordings of many robots, as one table and its findings."""

from __future__ import annotations

from diffbot_study.fleet import main as fleet


def main(argv: list[str]) -> int:
    """Take recordings in; returns 0 where each has a row, 3 where tasks failed, else 2."""
    return fleet(argv, "diffbot fleet")
