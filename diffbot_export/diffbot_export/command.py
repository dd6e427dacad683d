# SPDX-License-Identifier: Apache-2.0
"""Command `export`: what was identified, as files that other software reads."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from diffbot_description import write_atomically
from diffbot_description.files import closest
from diffbot_export.bends import bend_table, table_text
from diffbot_export.description_files import write_sdf, write_urdf
from diffbot_export.known_robot import (
    VELOCITY,
    AxisLimits,
    KnownRobot,
    Settings,
    known_robot,
    motion_limits,
    sources_of,
)
from diffbot_export.nav2 import FILE as NAV2_FILE
from diffbot_export.nav2 import nav2_yaml
from diffbot_export.quantity import Quantity
from diffbot_export.results import read_results
from diffbot_export.robot_localization import FILE as LOCALIZATION_FILE
from diffbot_export.robot_localization import robot_localization_yaml
from diffbot_export.ros2_control import FILE as CONTROL_FILE
from diffbot_export.ros2_control import (
    WheelControl,
    follower_of,
    ros2_control_yaml,
    wheel_control,
)
from diffbot_export.wpilib import FILE as WPILIB_FILE
from diffbot_export.wpilib import wpilib_java

TARGETS = ("ros2_control", "nav2", "robot_localization", "urdf", "sdf", "wpilib")
TABLE_FILE, SUMMARY_FILE = "speed_table.md", "export.json"
USAGE = 2
_EPILOG = """examples:
  {prog} results/20260822-ident --to ros2_control --output my_robot
  {prog} ident_results calibration_results --to nav2 --robot my_robot.yaml --output my_robot
  {prog} sysid_results --to wpilib --output my_robot"""


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Write what was identified as files that other software reads, each value with "
        "its interval and its source.",
        epilog=_EPILOG.format(prog=prog),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("results", metavar="RESULTS", nargs="+", type=Path, help="folders or files of results")
    add("--to", metavar="TARGET", nargs="+", required=True, help=f"of {', '.join(TARGETS)}")
    add("--robot", metavar="NAME|FILE", help="description of the robot, for what was not identified")
    add(
        "--loop-rate",
        metavar="HZ",
        type=float,
        default=Settings.loop_rate,
        help="of the controller manager (default: %(default)g)",
    )
    add(
        "--margin",
        metavar="DEGREES",
        type=float,
        default=Settings.margin,
        help="least phase margin of the wheel loops (default: %(default)g)",
    )
    add(
        "--voltage",
        metavar="V",
        type=float,
        default=Settings.voltage,
        help="largest voltage, of a robot driven by voltages (default: %(default)g)",
    )
    add("--output", metavar="DIR", type=Path, required=True, help="folder of the files")
    return parser


def main(argv: Sequence[str] | None = None, prog: str = "export") -> int:
    """Run the command; returns 0, or 2 after a message where something cannot be exported."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _parser(prog).parse_intermixed_args(_with_results_first(words))
    try:
        targets = _checked_targets(options.to)
        settings = Settings(options.loop_rate, options.margin, options.voltage)
        robot = known_robot(read_results(options.results), options.robot, settings)
        written = export(robot, targets, options.output.expanduser())
    except (ValueError, OSError) as error:
        print(f"{prog}: {error}", file=sys.stderr)
        return USAGE
    for text in dict.fromkeys(robot.missing):
        print(f"left out: {text}")
    for path in written:
        print(path)
    return 0


def _with_results_first(words: list[str]) -> list[str]:
    """`--to a b RESULTS` would take RESULTS for a target: only known words belong to it."""
    found, rest, taking = [], [], False
    for word in words:
        if word == "--to":
            taking = True
            found.append(word)
        elif taking and (len(found) == 1 or word in TARGETS) and not word.startswith("-"):
            found.append(word)
        else:
            taking = False
            rest.append(word)
    return [*rest, *found]


def _checked_targets(targets: Sequence[str]) -> list[str]:
    for target in targets:
        if target not in TARGETS:
            near = closest(target, TARGETS, 0.4)
            hint = f"; did you mean {near}?" if near else ""
            raise ValueError(f"unknown target '{target}': must be of {', '.join(TARGETS)}{hint}")
    return list(dict.fromkeys(targets))


def export(robot: KnownRobot, targets: Sequence[str], folder: Path) -> list[Path]:
    """Write the files of targets, the table of speeds and export.json; returns their paths.

    Raises:
        ValueError: a target needs what is not known; nothing of it was written.
        OSError: the folder cannot be written.
    """
    limits = motion_limits(robot)
    control = _control(robot, limits)
    texts: dict[str, tuple[str, Callable[[], str]]] = {
        "ros2_control": (CONTROL_FILE, lambda: ros2_control_yaml(robot, limits, control)),
        "nav2": (NAV2_FILE, lambda: nav2_yaml(robot, limits)),
        "robot_localization": (
            LOCALIZATION_FILE,
            lambda: robot_localization_yaml(robot, limits),
        ),
        "wpilib": (WPILIB_FILE, lambda: wpilib_java(robot)),
    }
    written: list[Path] = []
    for target in targets:
        try:
            if target in texts:
                name, make = texts[target]
                written.append(write_atomically(folder / name, make()))
            else:
                written += (write_urdf if target == "urdf" else write_sdf)(robot, folder)
        except ValueError as error:
            raise ValueError(f"--to {target}: {error}") from None
    table = None
    if {"ros2_control", "nav2"} & set(targets):
        table = _table(robot, limits, control)
    if table is not None:
        written.append(write_atomically(folder / TABLE_FILE, table))
    content = _summary(robot, targets, limits, control)
    text = json.dumps(content, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    return [*dict.fromkeys(written), write_atomically(folder / SUMMARY_FILE, text)]


def _control(robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits]) -> WheelControl | None:
    try:
        return wheel_control(robot, limits)
    except ValueError as error:
        robot.missing.append(f"wheel loops (pid_controller): {error}")
        return None


def _table(
    robot: KnownRobot, limits: tuple[AxisLimits, AxisLimits], control: WheelControl | None
) -> str | None:
    try:
        follower = follower_of(robot, limits, control)
    except ValueError as error:
        robot.missing.append(f"table of speeds: {error}")
        return None
    way = (
        "its drivers as identified"
        if robot.kind == VELOCITY
        else f"the exported wheel loops at {robot.settings.loop_rate:g} Hz"
    )
    lines = [
        f"# How fast {robot.name} may drive",
        "",
        f"For a tolerance, drive through a bend of 90 degrees at most at this speed, with {way} and "
        "the exported limits:",
        "",
        *table_text(bend_table(follower)),
        "",
        "\\* the limits of speed or yaw rate, not the tolerance.",
        "",
        "Assumed: the identified model; speed and curvature are commanded for the place where the "
        "robot is, without looking ahead and without a correction until half a metre behind the "
        "bend. A follower that looks ahead or corrects deviates less. Errors of odometry and slip "
        "are not in it.",
        "",
    ]
    return "\n".join(lines)


def _summary(
    robot: KnownRobot,
    targets: Sequence[str],
    limits: tuple[AxisLimits, AxisLimits],
    control: WheelControl | None,
) -> dict[str, Any]:
    named = zip(("linear", "angular"), limits, strict=True)
    return {
        "name": "export",
        "robot": robot.name,
        "sources": [str(path) for path in sources_of(robot)],
        "targets": list(targets),
        "loop_rate": robot.settings.loop_rate,
        "wheel_loops": None if control is None else control.summary(),
        "limits": {
            name: {key: _plain(getattr(axis, key)) for key in AxisLimits.__dataclass_fields__}
            for name, axis in named
        },
        "left_out": list(dict.fromkeys(robot.missing)),
    }


def _plain(quantity: Quantity | None) -> dict[str, Any] | None:
    if quantity is None:
        return None
    return {
        "value": quantity.value,
        "interval95": [quantity.lower, quantity.upper],
        "unit": quantity.unit,
        "source": quantity.source,
    }
