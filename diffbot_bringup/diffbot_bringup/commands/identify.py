# SPDX-License-Identifier: Apache-2.0
"""``diffbot identify``: a robot's dynamics from a recording."""

from __future__ import annotations

from diffbot_ident.recording.identify import main as identify


def main(argv: list[str]) -> int:
    """Identify; returns 0 where the result may be used, 1 where not, 2 for wrong usage."""
    return identify(argv, "diffbot identify")
