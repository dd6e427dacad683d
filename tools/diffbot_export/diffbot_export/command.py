# SPDX-License-Identifier: Apache-2.0
"""The command `export`: write identified parameters as files that other software reads."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from diffbot_description import write_atomically
from diffbot_description.command_parser import CommandParser
from diffbot_description.files import closest, parse_json, read_text, write_json
from diffbot_description.run_folder import output_folder
from diffbot_description.terminal_text import complain, printable
from diffbot_export.curvature_limits import LENGTH, bend_table, table_text
from diffbot_export.description_files import (
    mjcf_file,
    sdf_file,
    urdf_file,
    write_mjcf,
    write_sdf,
    write_urdf,
)
from diffbot_export.known_robot import (
    VELOCITY,
    AxisLimits,
    KnownRobot,
    Settings,
    known_robot,
    motion_limits,
)
from diffbot_export.nav2 import FILE as NAV2_FILE
from diffbot_export.nav2 import nav2_yaml
from diffbot_export.results import read_results
from diffbot_export.robot_localization import FILE as LOCALIZATION_FILE
from diffbot_export.robot_localization import robot_localization_yaml
from diffbot_export.ros2_control import FILE as CONTROL_FILE
from diffbot_export.ros2_control import WheelControl, follower_of, ros2_control_yaml, wheel_control
from diffbot_export.sourced_value import SourcedValue
from diffbot_export.wpilib import FILE as WPILIB_FILE
from diffbot_export.wpilib import wpilib_java

TARGETS = ("ros2_control", "nav2", "robot_localization", "urdf", "sdf", "mjcf", "wpilib")
TABLE_FILE, SUMMARY_FILE = "speed_table.md", "export.json"
USAGE = 2
Writer = Callable[[KnownRobot], str | list[Path]]
_EPILOG = """examples:
  {prog} results/20260822-ident --to ros2_control --output my_robot
  {prog} ident_results calibration_results --to nav2 --robot my_robot.yaml --output my_robot
  {prog} sysid_results --to wpilib --output my_robot"""


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        prog=prog,
        description="Export identified values as configuration files for other software, each "
        "value with its interval and its source.",
        epilog=_EPILOG.format(prog=prog),
        allow_abbrev=False,
    )
    add = parser.add_argument
    add("results", metavar="RESULTS", nargs="+", type=Path, help="result folders or files")
    add("--to", metavar="TARGET", nargs="+", required=True, help=f"of {', '.join(TARGETS)}")
    add(
        "--robot",
        metavar="NAME|FILE",
        help=("description of the robot, for values that were not identified"),
    )
    add(
        "--loop-rate",
        metavar="HZ",
        type=float,
        default=Settings.loop_rate,
        help="update rate of the controller manager (default: %(default)g)",
    )
    add(
        "--margin",
        metavar="DEGREES",
        type=float,
        default=Settings.margin,
        help="minimum phase margin of the wheel loops (default: %(default)g)",
    )
    add(
        "--voltage",
        metavar="V",
        type=float,
        default=Settings.voltage,
        help="largest voltage, of a robot driven by voltages (default: %(default)g)",
    )
    add("--output", metavar="DIR", type=Path, required=True, help="folder for the exported files")
    return parser


def main(argv: Sequence[str] | None = None, prog: str = "export") -> int:
    """Run the command; return 0, or 2 after a message for each target that cannot be exported."""
    words = list(sys.argv[1:] if argv is None else argv)
    options = _parser(prog).parse_intermixed_args(_with_results_first(words))
    try:
        targets = _checked_targets(options.to)
        settings = Settings(options.loop_rate, options.margin, options.voltage)
        with output_folder(options.output, "export", adds=True) as folder:
            robot = known_robot(read_results(options.results), options.robot, settings)
            written, refused = export(robot, targets, folder)
    except (ValueError, OSError) as error:
        complain(prog, error)
        return USAGE
    for text in robot.missing:
        print(f"missing: {printable(text)}")
    for path in written:
        print(printable(path))
    for text in refused:
        complain(prog, text)
    return USAGE if refused else 0


def _with_results_first(words: list[str]) -> list[str]:
    result, rest, taking = [], [], False
    for word in words:
        if word == "--to":
            taking = True
            result.append(word)
        elif taking and (len(result) == 1 or word in TARGETS) and not word.startswith("-"):
            result.append(word)
        else:
            taking = False
            rest.append(word)
    return [*rest, *result]


def _checked_targets(targets: Sequence[str]) -> list[str]:
    for target in targets:
        if target not in TARGETS:
            near = closest(target, TARGETS, 0.4)
            hint = f"; did you mean {near}?" if near else ""
            raise ValueError(f"unknown target '{target}': must be of {', '.join(TARGETS)}{hint}")
    return list(dict.fromkeys(targets))


def export(robot: KnownRobot, targets: Sequence[str], folder: Path) -> tuple[list[Path], list[str]]:
    """Write the files of the targets, the table of speeds and export.json.

    Returns:
        The paths of the files, and why each target that needs something unknown was not written; an
        earlier file of such a target is removed.

    Raises:
        ValueError: The folder holds other files of another robot.
    """
    _check_folder(robot.name, targets, folder)
    moved = robot.copy()
    limits = motion_limits(moved)
    looped = moved.copy()
    control = _control(looped, limits)
    writers: dict[str, tuple[Writer, KnownRobot, str]] = {
        "ros2_control": (lambda own: ros2_control_yaml(own, limits, control), looped, CONTROL_FILE),
        "nav2": (lambda own: nav2_yaml(own, limits), moved, NAV2_FILE),
        "robot_localization": (
            lambda own: robot_localization_yaml(own, limits), moved, LOCALIZATION_FILE,
        ),
        "urdf": (lambda own: write_urdf(own, folder), robot, urdf_file(robot)),
        "sdf": (lambda own: write_sdf(own, folder), robot, sdf_file(robot)),
        "mjcf": (lambda own: write_mjcf(own, folder), robot, mjcf_file(robot)),
        "wpilib": (wpilib_java, robot, WPILIB_FILE),
    }  # fmt: skip
    written: list[Path] = []
    left_out: list[str] = []
    refused: dict[str, str] = {}
    for target in targets:
        write, known, file = writers[target]
        own = known.copy()
        try:
            made = write(own)
        except ValueError as error:
            refused[target] = f"--to {target}: not written: {error}{_removed(folder, file)}"
            continue
        written += [write_atomically(folder / file, made)] if isinstance(made, str) else made
        left_out += own.missing
    asked = {"ros2_control", "nav2"} & set(targets)
    if asked and asked <= refused.keys():
        _removed(folder, TABLE_FILE)
    if not written:
        return [], list(refused.values())
    if asked - refused.keys():
        table = _table(looped, limits, control)
        if table is not None:
            written.append(write_atomically(folder / TABLE_FILE, table))
        left_out += looped.missing[len(moved.missing) :]
    robot.missing[:] = dict.fromkeys(left_out)
    content = _summary(robot, targets, limits, control) | {"refused": refused}
    paths = [*dict.fromkeys(written), write_json(folder / SUMMARY_FILE, content)]
    return paths, list(refused.values())


def _check_folder(name: str, targets: Sequence[str], folder: Path) -> None:
    """Raise ValueError if files of another robot would stay beside those of this one."""
    try:
        before = parse_json(read_text(folder / SUMMARY_FILE))
        other, stay = before["robot"], {*before["targets"]} - {*targets, "urdf", "sdf", "mjcf"}
    except (OSError, ValueError, LookupError, TypeError):
        return
    if other != name and stay:
        raise ValueError(
            f"--output {folder}: holds {', '.join(sorted(stay))} of robot {other!r}, and these "
            f"results are of {name!r}; give another folder"
        )


def _removed(folder: Path, file: str) -> str:
    old = folder / file
    if not (folder / SUMMARY_FILE).is_file() or not old.is_file():
        return ""
    old.unlink()
    return f"; {old} of an earlier export was removed"


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
    path = (
        "its drivers as identified"
        if robot.kind == VELOCITY
        else f"the exported wheel loops at {robot.settings.loop_rate:g} Hz"
    )
    lines = [
        f"# How fast {robot.name} may drive",
        "",
        f"For a tolerance, drive through a bend of 90 degrees at most at this speed, with {path} "
        "and the exported limits:",
        "",
        *table_text(bend_table(follower)),
        "",
        "\\* limited by speed or yaw rate, not by the tolerance.",
        "",
        "Assumed: the identified model; a follower that knows the pose and corrects its distance e "
        "and the error a of its heading: omega = v (curvature - e / L^2 - 2 sin(a) / L), with "
        f"L = {LENGTH:g} m. Errors of odometry and slip are not in it.",
        *_steady(robot),
        "",
    ]
    return "\n".join(lines)


def _steady(robot: KnownRobot) -> list[str]:
    if robot.kind != VELOCITY:
        return []
    v, omega = (1.0 / robot.results.velocity[name].drag.value for name in ("v", "omega"))
    return [
        "",
        f"The robot drives at {v:.3f} times a constant command of v, and at {omega:.3f} times "
        "one of omega (1 / sigma3, 1 / sigma4). If these factors differ, or the commands have a "
        "dead band, that causes most of the deviation.",
    ]


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
        "sources": [str(path) for path in robot.sources],
        "targets": list(targets),
        "loop_rate": robot.settings.loop_rate,
        "wheel_loops": None if control is None else control.summary(),
        "limits": {
            name: {key: _plain(getattr(axis, key)) for key in AxisLimits.__dataclass_fields__}
            for name, axis in named
        },
        "left_out": list(robot.missing),
    }


def _plain(quantity: SourcedValue | None) -> dict[str, Any] | None:
    if quantity is None:
        return None
    return {
        "value": quantity.value,
        "interval95": [quantity.lower, quantity.upper],
        "unit": quantity.unit,
        "source": quantity.source,
        "assumed": quantity.assumed,
    }
