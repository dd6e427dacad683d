# SPDX-License-Identifier: Apache-2.0
"""``diffbot view``: what runs have left, or a run as it goes on, in the browser."""

from __future__ import annotations

from diffbot_bringup import results_view
from diffbot_bringup.usage import UsageError


def main(argv: list[str]) -> int:
    """Show it; returns the exit status."""
    if results_view.are_results(argv) or {"-h", "--help"} & {*argv}:
        return results_view.main(argv)
    raise UsageError("view: give folders with the results of runs")
