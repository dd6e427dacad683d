# SPDX-License-Identifier: Apache-2.0
"""``diffbot export``: what was identified, as files that other software reads."""

from __future__ import annotations

from diffbot_export.command import main as export


def main(argv: list[str]) -> int:
    """Export; returns 0, or 2 after a message for what cannot be exported."""
    return export(argv, "diffbot export")
