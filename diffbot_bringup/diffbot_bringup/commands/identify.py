# SPDX-License-Identifier: Apache-2.0
"""``diffbot identify``: a robot's dynamics from a recording, with its page."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from diffbot_ident.recording.identify import main as identify

if TYPE_CHECKING:
    from diffbot_ident.recording.findings import Findings


def main(argv: list[str]) -> int:
    """Identify; returns 0 where the result may be used, 1 where not, 2 for wrong usage."""

    def write(findings: Findings, folder: Path) -> Path:
        # Here, as it loads for long and --help needs none of it.
        from diffbot_report.identify_page import identify_page
        from diffbot_report.page import REPORT, write_page

        summary = json.loads((folder / "summary.json").read_text(encoding="utf-8"))
        return write_page(identify_page(findings, summary, folder, argv), folder / REPORT)

    return identify(argv, "diffbot identify", write)
