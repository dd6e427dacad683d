# SPDX-License-Identifier: Apache-2.0
"""``diffbot fleet``: recordings of many robots, as one table, its findings and their pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diffbot_study.fleet import main as fleet


def main(argv: list[str]) -> int:
    """Take recordings in; returns 0 where each has a row, 3 where tasks failed, else 2."""

    def write(summary: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], folder: Path) -> Path:
        # Here, as it loads for long and --help needs none of it.
        from diffbot_report.fleet_page import write_fleet_pages

        return write_fleet_pages(summary, rows, folder, argv)

    return fleet(argv, "diffbot fleet", write)
