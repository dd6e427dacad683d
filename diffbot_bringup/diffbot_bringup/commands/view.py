# SPDX-License-Identifier: Apache-2.0
"""``diffbot view``: a running graph, or a recording, in the browser."""

from __future__ import annotations

from diffbot_bringup import live_view


def main(argv: list[str]) -> int:
    """Show it; returns the exit status."""
    return live_view.main(argv)
