# SPDX-License-Identifier: Apache-2.0
"""Options of `identify`, and the robot, wheels and torque scale that follow from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from arc_odometry import WheelGeometry
from diffbot_description import Robot, load_robot
from diffbot_description.robot import Wheels
from diffbot_description.robot_parsing import check_field
from diffbot_ident.torque.effort_units import EffortUnit
from diffbot_recordings.bag_topics import ROLES
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.verdict import Value
from diffbot_recordings.weighed_mass import UNIT_NAMES, Weighing

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
