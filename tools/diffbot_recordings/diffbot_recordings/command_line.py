# SPDX-License-Identifier: Apache-2.0
"""The command line of `identify`: its arguments and their help."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from diffbot_description.command_parser import CommandParser
from diffbot_recordings.bag_topics import ROLES
from diffbot_recordings.options import AUTO, EFFORT_UNITS, EFFORTS, KINDS, Options
from diffbot_recordings.table_columns import CHANNELS, FACTORS
from diffbot_recordings.verdict import Value
from diffbot_recordings.weighed_mass import parse_mass

_DESCRIPTION = """\
Identify a robot's dynamics from a recording: no robot, no ROS graph.

FILE is a rosbag2 recording (folder, .mcap or .db3, any ROS 2 distribution), a table (.csv), or a
SysId drivetrain log of WPILib (.json, .wpilog). Several files of one robot are one data set. Kinds:
  torque    K5..K8 and friction, from joint_states with efforts (or effort commands); the yaw rate
            from a gyro (sensor_msgs/Imu), where the recording holds one
  velocity  sigma1..sigma4 and dead times, from cmd_vel and odom
  sysid     ks, kv, ka from voltages
  motor     resistance, Ke and friction of each motor, and faults, from voltage, current and speed
The contents of the recording determine its kind; topics, joints and columns are found by type and
name."""

_EPILOG = f"""\
channels of tables: {", ".join(CHANNELS)}; SI units, rad, N m
factors: a number, or one of {", ".join(FACTORS)}

examples:
  diffbot identify run1/ --robot twil
  diffbot identify drive.mcap --odom /odometry/filtered
  diffbot identify log.csv --columns time=t,command_v=cmd,v=speed --where "mode=auto"
  diffbot identify log.csv --columns command_v=c,left_velocity=l*rpm,right_velocity=r*rpm \\
      --wheel-radius 0.3 --track 1.08

exit status: 0 all axes may be used; 3 some of them; 1 none, and why; 2 wrong usage or unreadable
files; 130 interrupted by Ctrl-C. summary.json has the status of each axis."""


def parse(argv: Sequence[str] | None, program: str = "identify") -> Options:
    """Parse the arguments; wrong ones end the process with status 2."""
    parser = _parser(program)
    result = vars(parser.parse_args(argv))
    if result["left_joint"] and result["left_joint"] == result["right_joint"]:
        parser.error(f"--left-joint and --right-joint are both {result['left_joint']}: give two")
    shown = result.pop("shown")
    for kind in ("page", "pictures"):
        result[kind] = shown is None or shown == kind
    topics = {name: result.pop(f"topic_{name}") for name in ROLES}
    return Options(**{**result, "topics": topics, "keep": 60.0 * result["keep"]})


def _parser(program: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=program,
        description=_DESCRIPTION,
        epilog=_EPILOG,
        allow_abbrev=False,
    )
    parser.add_argument("files", metavar="FILE", nargs="+", type=Path, help="recordings")
    add = parser.add_argument
    add("--kind", choices=KINDS, default=AUTO, help="kind of robot (default: %(default)s)")
    add("--robot", metavar="NAME|FILE", help="description of the robot, such as twil")
    add("--wheel-radius", metavar="M", type=_positive, help="rolling radius of the wheels, m")
    add("--track", metavar="M", type=_positive, help="left to right contact point, m")
    _add_bag(parser.add_argument_group("what to read of a rosbag2 recording").add_argument)
    scale = "to identify the torque of a unit of effort where no --torque-constant is known"
    _add_scale(parser.add_argument_group(scale).add_argument)
    _add_table(parser.add_argument_group("what to read of a table").add_argument)
    _add_reading(parser.add_argument_group("how to read").add_argument)
    folder = "folder of the results (default: results/<date>-identify)"
    add("--output", metavar="DIR", type=Path, help=folder)
    shown = parser.add_argument_group(
        "what to show besides the table (default: report.html and PNGs)"
    ).add_mutually_exclusive_group()
    for option, kind, text in (
        ("--html", "page", "report.html alone"),
        ("--png", "pictures", "PNGs alone"),
        ("--no-pictures", "", "only numbers"),
    ):
        shown.add_argument(option, dest="shown", action="store_const", const=kind, help=text)
    return parser


def _add_bag(add: Callable[..., Any]) -> None:
    for name, role in ROLES.items():
        add(role.option, dest=f"topic_{name}", metavar="TOPIC", help=role.text)
    add("--left-joint", metavar="NAME", help="joint of the left wheel")
    add("--right-joint", metavar="NAME", help="joint of the right wheel")
    text = "source of the torques: as the joint states report, or as commanded (default: the "
    text += "joint states where they report any)"
    add("--effort-source", choices=EFFORTS, default=AUTO, help=text)
    text = "unit of efforts and torque commands (default: the robot's, else newton_metre)"
    add("--effort-unit", choices=EFFORT_UNITS, default=Options.effort_unit, help=text)
    text = "torque of the wheel per ampere or per cent, N m"
    add("--torque-constant", metavar="N_M", type=_positive, help=text)


def _add_scale(add: Callable[..., Any]) -> None:
    text = "weighed mass of the robot as it drove (without --load), wheels included, with the "
    text += "half width of its 95 %% interval (default: 0.5 %% of it)"
    add("--mass", metavar="KG[+-KG]", type=_mass("mass"), help=text)
    text = "for --mass: inertia of one wheel about its axle, with the rotor's times the gear's "
    text += "ratio squared, kg m^2 (default: the description's)"
    add("--wheel-inertia", metavar="KG_M2", type=_not_negative, help=text)
    text = "two recordings are given: the second one is with this load fixed on the robot"
    add("--load", metavar="KG[+-KG]", type=_mass("load"), help=text)
    text = "place of the load ahead of the axle, m (default: 0); checked, the torque of a unit "
    add("--load-at", metavar="M", type=_number(), help=f"{text}does not need it")


def _add_table(add: Callable[..., Any]) -> None:
    more: dict[str, Any] = {"action": "append", "default": []}
    text = "column of each channel"
    add("--columns", metavar="CHANNEL=COLUMN[*FACTOR],…", help=text, **more)
    text = 'rows to use, such as "mode=auto" or "cmd_v!=0 or cmd_w!=0"; repeat it for "and"'
    add("--where", metavar="CONDITION", help=text, **more)


def _add_reading(add: Callable[..., Any]) -> None:
    text = "resample to this period, s (velocity)"
    add("--period", metavar="S", type=_positive, help=text)
    text = "time that a velocity command holds without a new one, s (default: %(default)s)"
    add("--hold", metavar="S", type=_positive, default=Options.hold, help=text)
    text, minutes = "motion kept in memory of a velocity robot (default: %(default)g)", 60.0
    add("--keep", metavar="MINUTES", type=_positive, default=Options.keep / minutes, help=text)


def _mass(name: str) -> Callable[[str], Value]:
    def parsed(text: str) -> Value:
        try:
            return parse_mass(text, name)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return parsed


def _number(
    what: str = "a number", allowed: Callable[[float], bool] = math.isfinite
) -> Callable[[str], float]:
    def parsed(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and allowed(value)):
            raise argparse.ArgumentTypeError(f"{text!r}: must be {what}")
        return value

    return parsed


_not_negative = _number("a number >= 0", lambda value: value >= 0.0)
_positive = _number("a number > 0", lambda value: value > 0.0)
