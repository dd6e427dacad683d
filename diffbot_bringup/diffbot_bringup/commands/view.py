# SPDX-License-Identifier: Apache-2.0
"""``diffbot view``: what runs have left, a run as it goes on, or a recording, in the browser."""

from __future__ import annotations

from diffbot_bringup import live_view, results_view


def main(argv: list[str]) -> int:
    """Show it; returns the exit status."""
    if {"-h", "--help"} & set(argv):
        print(live_view.parser().format_help())
        print(results_view.parser().format_help())
        return 0
    if live_view.takes(argv):
        return live_view.main(argv)
    return results_view.main(argv)
