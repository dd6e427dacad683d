# SPDX-License-Identifier: Apache-2.0
"""Command `robot_urdf`: print the URDF of a robot, for launch files and for people."""

from __future__ import annotations

from collections.abc import Sequence

from diffbot_description.command_parser import CommandParser
from diffbot_description.loading import load_robot, urdf
from diffbot_description.terminal_text import complain


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command; return 0, or 2 after a message for a wrong robot."""
    parser = CommandParser(prog="robot_urdf", description=__doc__)
    parser.add_argument("robot", help="a robot's name, its YAML, URDF or xacro file")
    arguments = parser.parse_args(argv)
    try:
        print(urdf(load_robot(arguments.robot)))
    except (ValueError, OSError) as error:
        complain("robot_urdf", error)
        return 2
    return 0
