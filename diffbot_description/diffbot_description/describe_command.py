# SPDX-License-Identifier: Apache-2.0
"""Command `describe`: a robot file from a URDF or xacro file."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from diffbot_description.command_kind import CommandKind
from diffbot_description.command_parser import CommandParser
from diffbot_description.described_robot import Described, described_from, write_robot_file
from diffbot_description.named_paths import expanded
from diffbot_description.run_folder import check_replaceable
from diffbot_description.show_parameters import format_rows, parameter_rows
from diffbot_description.spoken_commands import spoken
from diffbot_description.terminal_text import complain, printable, printable_lines
from diffbot_description.urdf_files import URDF_SUFFIXES, xacro_arguments

_EPILOG = """examples:
  {prog} my_robot.urdf --output my_robot.yaml
  {prog} my_robot.urdf.xacro arm:=false --wheels left_joint right_joint --output my_robot.yaml
then: diffbot launch ident robot:=my_robot.yaml"""


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=prog,
        description="Make a robot file from a URDF or xacro file, with the source of each value.",
        epilog=_EPILOG.format(prog=prog),
    )
    parser.add_argument(
        "file", type=Path, help="a .urdf file, or a .xacro file: a program, which you have to trust"
    )
    parser.add_argument("arguments", nargs="*", metavar="NAME:=VALUE", help="of the xacro file")
    parser.add_argument(
        "--output", type=Path, metavar="FILE", help="the robot file to write, ending in .yaml"
    )
    parser.add_argument(
        "--wheels", nargs=2, metavar=("LEFT", "RIGHT"), help="joints of the driven wheels"
    )
    parser.add_argument(
        "--wheel-radius", type=float, metavar="METRES", help="instead of the shapes' radius"
    )
    parser.add_argument(
        "--mass", type=float, metavar="KILOGRAMS", help="of the whole robot, instead of the URDF's"
    )
    parser.add_argument(
        "--command",
        choices=[kind.value for kind in CommandKind],
        help="what its driver takes: effort (torque of the wheels) or velocity (cmd_vel), instead "
        "of what <ros2_control> says",
    )
    return parser


def main(argv: Sequence[str] | None = None, prog: str = "describe") -> int:
    """Run the command; return 0, or 2 after a message for a file that it cannot describe."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _parser(prog).parse_intermixed_args(words)
    try:
        path = expanded(options.file)
        output = _checked_output(path, options.output)
        described = described_from(
            path.absolute(),
            xacro_arguments(options.arguments),
            wheels=options.wheels,
            wheel_radius=options.wheel_radius,
            mass=options.mass,
            command=options.command and CommandKind(options.command),
        )
        print(printable_lines(_summary(described)))
        if output is None:
            print(f"nothing written; to write the robot file: {prog} ... --output my_robot.yaml")
            return 0
        written = write_robot_file(described, output, shlex.join([*prog.split(), *words]))
    except (ValueError, OSError) as error:
        complain(prog, error)
        return 2
    print(f"written: {', '.join(map(printable, written))}")
    print(f"next: {printable(spoken('launch', 'ident', f'robot:={output}'))}")
    return 0


def _checked_output(path: Path, output: Path | None) -> Path | None:
    if path.suffix not in URDF_SUFFIXES:
        raise ValueError(f"{path}: must end in {' or '.join(URDF_SUFFIXES)}. Name such a file.")
    if output is None:
        return None
    if output.suffix not in (".yaml", ".yml"):
        raise ValueError(f"--output {output} must end in .yaml. Rename it.")
    check_replaceable(expanded(output))
    return expanded(output)


def _summary(described: Described) -> str:
    description = described.description
    lines = [f"robot {described.robot.name}", *(f"  {line}" for line in description.result)]
    for title, entries in description.notes:
        lines += ["", f"{title}:", *(f"  - {entry}" for entry in entries)]
    lines += [
        "",
        "closed form (no friction, no slip):",
        format_rows(parameter_rows(described.robot.model)),
    ]
    return "\n".join(lines)
