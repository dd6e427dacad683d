# SPDX-License-Identifier: Apache-2.0
"""``diffbot describe``: a robot file from a URDF or xacro file."""

from __future__ import annotations

from diffbot_description.describe_command import main as describe


def main(argv: list[str]) -> int:
    """Describe; returns 0, or 2 after a message for a file that cannot be described."""
    return describe(argv, "diffbot describe")
