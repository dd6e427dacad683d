# SPDX-License-Identifier: Apache-2.0
"""``diffbot study``: many robots, settings and seeds, on one machine or a cluster, with a page."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffbot_study.study import main as study


def main(argv: list[str]) -> int:
    """Run a study; returns 0 where all is there, 3 where tasks failed, 2 for wrong usage."""

    def write(summary: Mapping[str, Any], folder: Path) -> Path:
        # Here, as it loads for long and --help needs none of it.
        from diffbot_report.page import write_page
        from diffbot_report.study_page import STUDY, study_page

        return write_page(study_page(summary, Path(summary["file"]), argv), folder / STUDY)

    return study(argv, "diffbot study", write)
