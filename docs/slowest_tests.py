# SPDX-License-Identifier: Apache-2.0
"""Writes the slowest tests of the last run of all tests into CONTRIBUTING.md.

./diffbot test && ./diffbot python docs/slowest_tests.py
"""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from diffbot_bringup.commands.test import DURATIONS

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "CONTRIBUTING.md"
# The section, up to the next one.
SECTION = re.compile(r"(?<=\n## The slowest tests\n).*?(?=\n## )", re.DOTALL)
MOST = 50


def work(case: ElementTree.Element) -> float:
    """Processor time of a test, with that of the processes it started, s."""
    return sum(float(e.get("value", "")) for e in case.iter("property") if e.get("name") == "work")


def section(report: Path) -> str:
    """Text of the section from a report of pytest in the format of JUnit."""
    seconds = [(work(case), case) for case in ElementTree.parse(report).iter("testcase")]
    slowest = sorted(seconds, key=lambda each: -each[0])[:MOST]
    total, most = (sum(each for each, _ in some) for some in (seconds, slowest))
    rows = [
        f"| {each:.1f} | `{case.get('classname', '').rpartition('.')[2]}` "
        f"| `{case.get('name', '').removesuffix('@graph')}` |"
        for each, case in slowest
    ]
    return "\n".join(
        (
            f"\nThe {MOST} slowest of {len(seconds)} tests take {most:.0f} s of processor time, of "
            f"{total:.0f} s.",
            "Written by `./diffbot test && ./diffbot python docs/slowest_tests.py`.\n",
            "| s | file | test |\n|---|---|---|",
            *rows,
            "",
        )
    )


def main() -> None:
    """Write the section."""
    text = section(ROOT / DURATIONS)
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(SECTION.sub(lambda _: text, page, count=1), encoding="utf-8")


if __name__ == "__main__":
    main()
