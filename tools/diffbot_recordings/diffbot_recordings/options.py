# SPDX-License-Identifier: Apache-2.0
"""The command line of `identify`, and robot, wheels and torque scale that follow from it."""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from arc_odometry import WheelGeometry
from diffbot_description import Robot, load_robot
from diffbot_description.command_parser import CommandParser
from diffbot_description.robot import Wheels
from diffbot_description.robot_parsing import check_field
from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.interpretation.effort_units import EffortUnit
from diffbot_recordings.bag_topics import ROLES
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.table_columns import CHANNELS, FACTORS
from diffbot_recordings.verdict import Value

# Default half width of a mass's 95 % interval, as a share.
WEIGHED = 0.005
UNIT_NAMES = {"ampere": "N m/A", "percent": "N m/%", "unknown": "N m per unit"}
"""Unit of the torque constant, by the unit of effort."""
# The wheels' constants differ above these deviations and this share.
SIGNIFICANT_DEVIATIONS, NOTABLE = 3.0, 0.005


def parse_mass(text: str) -> Value:
    """Parse a mass and its 95 % half width, kg, as "25" or "25+-0.2"; ArgumentTypeError."""
    number, _, half = text.replace("+/-", "±").replace("+-", "±").partition("±")
    try:
        mass = float(number)
        spread = float(half) if half.strip() else WEIGHED * mass
    except ValueError:
        mass = spread = math.nan
    if not (0.0 < mass < 1e6 and 0.0 <= spread < 0.5 * mass):
        raise argparse.ArgumentTypeError(
            f"{text!r}: must be kg above 0, with or without a 95 % interval of less than half of "
            "it, such as 25 or 25+-0.2"
        )
    return Value("mass", mass, spread / NORMAL_95, "kg")


@dataclass(frozen=True)
class Weighing:
    """Weighed mass and load of the robot.

    Attributes:
        mass: With wheels, as the robot drove (without the load); None: not weighed.
        wheel_inertia: J, kg m^2; needed with the mass.
        load: Load of the second recording; None: there is none.
        place: Distance of the load ahead of the axle, m; None: not known.
        ratio: Ratio of the wheels' constants to their mean, [left, right].
        ratio_std: Its standard deviation if estimated from the motion; 0: given.
        radius_std: Standard deviation of the radius, as a share of it.
    """

    unit: str
    mass: Value | None = None
    wheel_inertia: float = 0.0
    load: Value | None = None
    place: float | None = 0.0
    ratio: tuple[float, float] = (1.0, 1.0)
    ratio_std: float = 0.0
    radius_std: float = 0.0

    def with_motion(self, difference: tuple[float, float]) -> Weighing:
        """Return the weighing with the ratio by a torque_difference, if it surely differs."""
        fraction, std = difference
        if not abs(fraction) > max(SIGNIFICANT_DEVIATIONS * std, NOTABLE):
            return self
        left, right = self.ratio[0] * (1.0 - fraction), self.ratio[1] * (1.0 + fraction)
        mean = 0.5 * (left + right)
        return replace(self, ratio=(left / mean, right / mean), ratio_std=std)


AUTO, TORQUE, VELOCITY, SYSID = "auto", "torque", "velocity", "sysid"
MOTOR = "motor"
KINDS = (AUTO, TORQUE, VELOCITY, SYSID, MOTOR)
EFFORTS = (AUTO, "joint_states", "commands")
NEWTON_METRE = "newton_metre"
UNITS_FOR_PEOPLE = {NEWTON_METRE: "N m", "ampere": "A", "percent": "%"}
EFFORT_UNITS = (NEWTON_METRE, "ampere", "volt", "percent", "unknown")


@dataclass(frozen=True)
class Options:
    """Arguments of the command line, whose help explains them; None: find it, or not given.

    SI units; `topics` by the names in bag_topics.ROLES, `keep` in s.
    """

    files: Sequence[Path]
    kind: str = AUTO
    robot: str | None = None
    wheel_radius: float | None = None
    track: float | None = None
    topics: dict[str, str | None] = field(default_factory=lambda: dict.fromkeys(ROLES))
    left_joint: str | None = None
    right_joint: str | None = None
    effort_source: str = AUTO
    effort_unit: str | None = None
    torque_constant: float | None = None
    mass: Value | None = None
    wheel_inertia: float | None = None
    load: Value | None = None
    load_at: float | None = None
    columns: Sequence[str] = ()
    where: Sequence[str] = ()
    period: float | None = None
    hold: float = 0.5
    keep: float = 900.0
    output: Path | None = None
    pictures: bool = True
    page: bool = True


def effort_unit_of(options: Options, robot: Robot | None) -> str:
    """Return the unit of efforts and commands: the chosen one, the described one, or N m."""
    return options.effort_unit or (NEWTON_METRE if robot is None else robot.drive.effort_unit)


def read_unit(options: Options, scale: tuple[float, float]) -> EffortUnit:
    """Return the unit in which efforts are read; `scale` is its torque, N m, [left, right]."""
    name = effort_unit_of(options, robot_of(options))
    return EffortUnit(
        name=UNITS_FOR_PEOPLE.get(name, f"units of {0.5 * sum(scale):.3g} N m"),
        constant=0.5 * sum(scale),
        confirmed=options.effort_unit == NEWTON_METRE,
    )


def torque_scale(options: Options) -> tuple[float, float]:
    """Return the torque of a unit of effort or torque command, N m, [left, right].

    With a mass or a load that is to determine it: the ratio of the wheels' constants to their mean.
    Raises RecordingError where the unit needs a constant, or does not go with the given one.
    """
    if (weighing := weighing_of(options)) is not None:
        return weighing.ratio
    robot = robot_of(options) if options.effort_unit is None else None
    unit, constant = effort_unit_of(options, robot), options.torque_constant
    if robot is not None and unit != NEWTON_METRE and constant is None:
        return robot.drive.torque_of((1.0, 1.0))
    if unit == NEWTON_METRE:
        if constant is not None:
            raise RecordingError(
                f"--torque-constant {constant:g}: efforts in N m need none; for other efforts "
                "set --effort-unit ampere or percent"
            )
        return 1.0, 1.0
    if unit == "volt":
        raise RecordingError(
            "--effort-unit volt: a voltage is no torque, as the motor's speed takes part of it: "
            "record the current, too, and identify the motor with a table of voltages, currents "
            "and speeds; or run the four tests of SysId"
        )
    if constant is None:
        raise RecordingError(
            f"--effort-unit {unit}: give --torque-constant, N m of the wheel for one {unit}: Ke of "
            "the motor (V s/rad) times the gear's ratio, from its data sheet or from `identify` "
            "with a table of voltages, currents and speeds of the wheels; or --mass, the robot's "
            "weighed mass; or --load, with a second recording under that load"
        )
    return constant, constant


def weighing_of(options: Options) -> Weighing | None:
    """Return the mass or load that determines the torque of a unit of effort, if given.

    Raises RecordingError where the given options do not go together.
    """
    mass, load = options.mass, options.load
    given = " and ".join(n for n, value in (("--mass", mass), ("--load", load)) if value)
    if mass is None and options.wheel_inertia is not None:
        raise RecordingError(
            f"--wheel-inertia {options.wheel_inertia:g}: counts only with --mass; give both"
        )
    if load is None and options.load_at is not None:
        raise RecordingError(f"--load-at {options.load_at:g}: counts only with --load; give both")
    if not given:
        return None
    robot = robot_of(options)
    drive = None if robot is None else robot.drive
    unit = effort_unit_of(options, robot)
    if unit not in UNIT_NAMES:
        raise RecordingError(
            f"{given}: efforts in {unit} have no torque of a unit to identify; for other efforts "
            f"set --effort-unit {', '.join(UNIT_NAMES)}"
        )
    if options.torque_constant is not None:
        raise RecordingError(
            f"{given} with --torque-constant {options.torque_constant:g}: both define the torque "
            "of a unit of effort; give one"
        )
    if load is not None and len(options.files) != 2:
        raise RecordingError(
            f"--load needs two recordings, the second one with the load: {len(options.files)} given"
        )
    inertia = options.wheel_inertia
    if inertia is None and robot is not None:
        inertia = robot.model.wheel_inertia_spin
    if mass is not None and inertia is None:
        raise RecordingError(
            "--mass: spinning wheels act like additional mass: give --wheel-inertia, of one "
            "wheel about its axle with the rotor's times the gear's ratio squared, kg m^2, or "
            "--robot with its description; or use --load, which does not need it"
        )
    ratio = (1.0, 1.0)
    if drive is not None and drive.torque_constant is not None:
        left, right = drive.torque_constant
        ratio = (2.0 * left / (left + right), 2.0 * right / (left + right))
    return Weighing(
        unit=unit,
        mass=mass,
        wheel_inertia=inertia or 0.0,
        load=load,
        place=options.load_at or 0.0,
        ratio=ratio,
        radius_std=0.0 if robot is None else 0.01 * robot.uncertainty.radius,
    )


def robot_of(options: Options) -> Robot | None:
    """Return the robot's description; None if the user named none. Raises ValueError."""
    return None if options.robot is None else load_robot(options.robot)


def geometry_of(options: Options) -> WheelGeometry | None:
    """Return the wheels of the options or the description; None if unknown. Raises ValueError."""
    check_wheels(options.wheel_radius, options.track)
    robot = robot_of(options)
    wheels = None if robot is None else robot.wheels
    radius = options.wheel_radius or (wheels and wheels.radius)
    track = options.track or (wheels and wheels.separation)
    return WheelGeometry(radius, radius, track) if radius and track else None


def check_wheels(radius: float | None, track: float | None) -> None:
    """Reject sizes, m, that no robot has, such as those given in mm. Raises ValueError."""
    sizes = ("--wheel-radius", "radius", radius), ("--track", "separation", track)
    for option, name, value in sizes:
        if value is not None:
            check_field(Wheels, name, value, f"{option}, in m")


def needed_geometry(options: Options, purpose: str) -> WheelGeometry:
    """Return the wheels; RecordingError with the purpose if they are not known."""
    geometry = geometry_of(options)
    if geometry is None:
        raise RecordingError(
            f"the wheels' radius and track are needed {purpose}: give --robot NAME or FILE, or "
            "--wheel-radius M --track M"
        )
    return geometry


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
    add("--mass", metavar="KG[+-KG]", type=parse_mass, help=text)
    text = "for --mass: inertia of one wheel about its axle, with the rotor's times the gear's "
    text += "ratio squared, kg m^2 (default: the description's)"
    add("--wheel-inertia", metavar="KG_M2", type=_not_negative, help=text)
    text = "two recordings are given: the second one is with this load fixed on the robot"
    add("--load", metavar="KG[+-KG]", type=parse_mass, help=text)
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
