# SPDX-License-Identifier: Apache-2.0
"""The schema of a robot file: every key, its unit, its meaning and its limits.

SI units; x forward from the wheel axle, y left, z up from the ground (REP-103). Pairs are [left,
right]. A field with a default may be absent. ``config/twil.yaml`` explains an example.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Annotated

from arc_odometry import UNLIMITED_RIMS, JointReader, RimLimit, Velocity, WheelGeometry
from diffbot_description.command_kind import CommandKind
from diffbot_description.robot_model import RobotModel

Pair = tuple[float, float]

LONGEST_NAME = 100  # of a robot, characters; files are named after it
TEXTS = {
    "name": (
        rf"[A-Za-z_]\w{{0,{LONGEST_NAME - 1}}}",
        f"of up to {LONGEST_NAME} letters, digits and underscores that starts with a letter",
    ),
    "joint": (
        r"[A-Za-z_][\w./-]{0,199}",
        "of up to 200 letters, digits and _ - . / that starts with a letter",
    ),
    "field": (r"[a-z_]+(\.[a-z_]+)*", "such as limits.torque, a field of the file"),
    "path": (r"\S(.*\S)?", "that is not empty"),
    "command": ("|".join(CommandKind), " or ".join(CommandKind)),
    "effort": (
        "newton_metre|ampere|percent",
        "newton_metre, ampere or percent (a voltage is no torque: the wheel's speed takes a part)",
    ),
}
"""Pattern of each kind of text in a robot file, and a description of the pattern."""


def name_from(text: str) -> str:
    """Return a valid name of a robot that is like a text."""
    word = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    return (word if word[:1].isalpha() else f"robot_{word}".rstrip("_"))[:LONGEST_NAME]


@dataclass(frozen=True)
class FieldSpec:
    """A field of a robot file: unit, meaning and limits (``above`` exclusive), or kind of text."""

    unit: str
    meaning: str
    above: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    text: str = "name"

    def violation(self, value: float) -> str | None:
        if self.above is not None and not value > self.above:
            return f"must be above {self.above:g}"
        if self.minimum is not None and value < self.minimum:
            return f"must be at least {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"must be at most {self.maximum:g}"
        return None

    def show(self, value: object) -> str:
        return f"{value} {self.unit}".rstrip()


# Inclusive maxima by unit: they detect values in millimetres or grams.
_MOST = {"m": 10, "kg": 1e5, "kg m^2": 1e5, "N m": 1e4, "m/s": 100, "rad/s": 100, "%": 20}


def number(
    unit: str,
    meaning: str,
    *,
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
) -> FieldSpec:
    """Return the specification of a number, whose maximum is by default that of its unit."""
    return FieldSpec(unit, meaning, above, minimum, maximum or _MOST.get(unit))


@dataclass(frozen=True)
class Wheels:
    """The two driven wheels, mirror images of each other except for the optional `radii`."""

    radius: Annotated[float, number("m", "rolling radius under load", above=0, maximum=2)]
    separation: Annotated[float, number("m", "full track, left to right contact point", above=0)]
    width: Annotated[float, number("m", "width of one wheel", above=0, maximum=2)]
    mass: Annotated[float, number("kg", "mass of one wheel", above=0, maximum=1e4)]
    inertia_spin: Annotated[
        float,
        number(
            "kg m^2",
            "inertia of one wheel about its axle, with its motor's rotor times the gear ratio^2",
            above=0,
            maximum=1e4,
        ),
    ]
    inertia_yaw: Annotated[
        float,
        number("kg m^2", "inertia of one wheel about the vertical axis", above=0, maximum=1e4),
    ]
    radii: Annotated[
        Pair | None,
        number("m", "rolling radii [left, right] where they differ", above=0, maximum=2),
    ] = None

    @property
    def half_track(self) -> float:
        """B in the papers, m."""
        return self.separation / 2

    @property
    def rolling_radii(self) -> tuple[float, float]:
        """[left, right], m."""
        return (self.radius, self.radius) if self.radii is None else self.radii

    @property
    def own_spin(self) -> float:
        """The part of `inertia_spin` that the wheel itself, no rotor, can have, kg m^2.

        It is at most that of a thin rim, and of a solid body with `inertia_yaw`.
        """
        return min(self.inertia_spin, self.mass * self.radius**2, 2 * self.inertia_yaw)

    @property
    def rotor(self) -> float:
        """The part of `inertia_spin` that only a motor's rotor can have, kg m^2."""
        return self.inertia_spin - self.own_spin


@dataclass(frozen=True)
class CenterOfMass:
    """Centre of mass of the body; it lies midway between the wheels (y = 0)."""

    x: Annotated[float, number("m", "distance ahead of the axle", minimum=-10)]
    z: Annotated[float, number("m", "height above the ground", above=0)]


@dataclass(frozen=True)
class BodyInertia:
    """Principal inertias of the body about its own centre of mass."""

    roll: Annotated[float, number("kg m^2", "body inertia about x", above=0)]
    pitch: Annotated[float, number("kg m^2", "body inertia about y", above=0)]
    yaw: Annotated[float, number("kg m^2", "body inertia about z", above=0)]

    def with_yaw(self, yaw: float) -> BodyInertia:
        """Return the inertias with another yaw inertia, kg m^2.

        Roll and pitch are raised where a solid body needs it: none is above the sum of the others.
        """
        larger = max(1.0, yaw / (self.roll + self.pitch))
        roll, pitch = larger * self.roll, larger * self.pitch
        return BodyInertia(max(roll, pitch - yaw), max(pitch, roll - yaw), yaw)


@dataclass(frozen=True)
class Hull:
    """Bounding box of the body, for its display and its contacts."""

    front: Annotated[float, number("m", "x of the front", minimum=-10)]
    rear: Annotated[float, number("m", "x of the rear", minimum=-10)]
    width: Annotated[float, number("m", "width of the hull", above=0)]
    bottom: Annotated[float, number("m", "height of the hull's bottom", above=0)]
    top: Annotated[float, number("m", "height of the hull's top", above=0)]


@dataclass(frozen=True)
class Body:
    """Everything that does not turn with the wheels, casters included."""

    mass: Annotated[float, number("kg", "mass of the body", above=0)]
    center_of_mass: CenterOfMass
    inertia: BodyInertia
    shape: Hull


@dataclass(frozen=True)
class Caster:
    """A support that slides on the ground and has no mass of its own."""

    x: Annotated[float, number("m", "distance ahead of the axle", minimum=-10)]
    y: Annotated[float, number("m", "distance to the left of the middle", minimum=-10)]
    radius: Annotated[float, number("m", "radius of the ball", above=0, maximum=2)]
    clearance: Annotated[
        float, number("m", "gap to the ground when the robot stands level", minimum=0, maximum=0.1)
    ]


@dataclass(frozen=True)
class Joints:
    """Names of the wheel joints in joint_states; the first of each side is also in the URDF.

    A side with several wheels is one wheel with their mean angle and speed and the sum of their
    efforts. Signs concern only messages and recordings: JointReader, `published`, `shared` and
    `summed` apply them.
    """

    left: tuple[Annotated[str, FieldSpec("", "name of the left wheel's joint", text="joint")], ...]
    right: tuple[
        Annotated[str, FieldSpec("", "name of the right wheel's joint", text="joint")], ...
    ]

    signs: tuple[
        Annotated[
            int,
            number(
                "",
                "1 where a joint's positive angle rolls forward, -1 where backward; in the order "
                "of left, right",
                minimum=-1,
                maximum=1,
            ),
        ],
        ...,
    ] = ()

    @property
    def directions(self) -> tuple[int, ...]:
        """The sign of each joint, in the order of `names`."""
        return self.signs or (1,) * len(self.names)

    @property
    def side_signs(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        count = len(self.left)
        return self.directions[:count], self.directions[count:]

    def sign_of(self, channel: str) -> int:
        """Return the sign of a quantity such as left_position: that of the side, or 1."""
        words = channel.split("_")
        return next(
            (
                signs[0]
                for side, signs in zip(("left", "right"), self.side_signs, strict=True)
                if side in words
            ),
            1,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """All joints, those of the left side first; the order of effort commands."""
        return (*self.left, *self.right)

    @property
    def first(self) -> tuple[str, str]:
        return self.left[0], self.right[0]

    def shared(self, pair: Pair) -> list[float]:
        """Return the effort of each joint: equal parts of the side efforts [left, right]."""
        return [part / len(self.left) for part in self.published(pair)]

    def published(self, pair: Pair) -> list[float]:
        """Return the value of each joint for side values [left, right], such as angles."""
        return [
            sign * value
            for value, signs in zip(pair, self.side_signs, strict=True)
            for sign in signs
        ]

    @property
    def sides(self) -> list[int]:
        """0 for left or 1 for right, of each joint."""
        return [0] * len(self.left) + [1] * len(self.right)

    def summed(self, efforts: Sequence[float]) -> Pair:
        """Return the side efforts [left, right] from the efforts of all joints."""
        count = len(self.left)
        forward = [sign * each for sign, each in zip(self.directions, efforts, strict=True)]
        return sum(forward[:count]), sum(forward[count:])


@dataclass(frozen=True)
class Friction:
    """Friction of each wheel, [left, right]: parameters of `dynamics.FrictionLaw`."""

    viscous: Annotated[
        Pair, number("N m s/rad", "viscous friction [left, right]", minimum=0, maximum=1e4)
    ]
    coulomb: Annotated[Pair, number("N m", "Coulomb friction [left, right]", minimum=0)]
    static: Annotated[Pair | None, number("N m", "breakaway torque [left, right]", minimum=0)] = (
        None
    )
    stribeck_velocity: Annotated[
        Pair | None,
        number(
            "rad/s",
            "wheel speed at which static friction has fallen to Coulomb by 1/e [left, right]",
            above=0,
            maximum=1e3,
        ),
    ] = None
    coulomb_backward: Annotated[
        Pair | None,
        number("N m", "Coulomb friction of a wheel that turns backward [left, right]", minimum=0),
    ] = None
    rolling_resistance: Annotated[
        float, number("", "rolling resistance coefficient of the wheels", minimum=0, maximum=1)
    ] = 0.0
    gear_loss: Annotated[
        Pair,
        number(
            "",
            "share of the motor's torque that its gears lose, 1 - efficiency [left, right]",
            minimum=0,
            maximum=0.9,
        ),
    ] = (0.0, 0.0)


@dataclass(frozen=True)
class Turning:
    """Resistance of the floor against turning; a robot with it is a skid-steer robot."""

    viscous: Annotated[
        float, number("N m s/rad", "moment per yaw rate against turning", minimum=0, maximum=1e6)
    ]
    coulomb: Annotated[
        float, number("N m", "constant moment against turning", minimum=0, maximum=1e6)
    ]


@dataclass(frozen=True)
class MotorDrive:
    """What the driver takes, and how a torque command becomes the motor's torque, [left, right]."""

    command: Annotated[
        CommandKind | None,
        FieldSpec(
            "",
            "kind of command that the driver takes: effort (torque of the wheels) or velocity "
            "(cmd_vel); absent: effort, if nothing else says otherwise",
            text="command",
        ),
    ] = None
    effort_unit: Annotated[
        str, FieldSpec("", "unit of the wheels' efforts and effort commands", text="effort")
    ] = "newton_metre"
    torque_constant: Annotated[
        Pair | None,
        number("N m", "torque of the wheel for one ampere or per cent [left, right]", above=0),
    ] = None

    dead_band: Annotated[
        Pair, number("N m", "torque below which the motor gives none [left, right]", minimum=0)
    ] = (0.0, 0.0)

    def torque_of(self, effort: Pair) -> Pair:
        """Return the wheel torques, N m, for efforts in `effort_unit`, [left, right]."""
        if self.torque_constant is None:
            return effort
        left, right = self.torque_constant
        return left * effort[0], right * effort[1]

    def effort_of(self, torque: Pair) -> Pair:
        if self.torque_constant is None:
            return torque
        left, right = self.torque_constant
        return torque[0] / left, torque[1] / right


@dataclass(frozen=True)
class Uncertainty:
    """Standard deviations of the robot's measured dimensions, in percent; 0: exact."""

    radius: Annotated[float, number("%", "standard deviation of wheels.radius", minimum=0)] = 0.0
    track: Annotated[float, number("%", "standard deviation of wheels.separation", minimum=0)] = 0.0
    gyro: Annotated[float, number("%", "standard deviation of the gyro's scale", minimum=0)] = 0.0


@dataclass(frozen=True)
class Limits:
    """Limits that no node may exceed."""

    torque: Annotated[float, number("N m", "largest torque per wheel", above=0, maximum=1e5)]
    traction: Annotated[
        float,
        number(
            "N m", "torque per wheel up to which it neither slips nor lifts", above=0, maximum=1e5
        ),
    ]
    torque_rate: Annotated[
        float, number("N m/s", "largest torque rate per wheel", above=0, maximum=1e8)
    ]
    linear_velocity: Annotated[float, number("m/s", "largest forward speed", above=0)]
    angular_velocity: Annotated[float, number("rad/s", "largest yaw rate", above=0)]
    wheel_velocity: Annotated[
        float | None,
        number("rad/s", "largest speed of a wheel; absent: no limit", above=0, maximum=1e4),
    ] = None
    linear_acceleration: Annotated[
        float | None,
        number(
            "m/s²",
            "largest change of v of a robot that takes velocities; absent: no limit",
            above=0,
            maximum=1e3,
        ),
    ] = None
    angular_acceleration: Annotated[
        float | None,
        number(
            "rad/s²", "as linear_acceleration, of omega; absent: no limit", above=0, maximum=1e4
        ),
    ] = None


@dataclass(frozen=True)
class ExcitationDefaults:
    """Defaults of the pseudo-random torque that identifies this robot."""

    amplitude: Annotated[float, number("N m", "excitation torque per wheel", above=0, maximum=1e5)]
    hold: Annotated[int, number("samples", "control samples per bit", minimum=1, maximum=10000)]
    register: Annotated[int, number("bits", "length of the shift register", minimum=7, maximum=15)]
    linear_velocity: Annotated[float, number("m/s", "speed not to be exceeded", above=0)]
    angular_velocity: Annotated[float, number("rad/s", "yaw rate not to be exceeded", above=0)]


@dataclass(frozen=True)
class Encoder:
    """Default of the simulated wheel encoders."""

    counts: Annotated[
        int,
        number("counts", "counts per wheel revolution, 0 = perfect", minimum=0, maximum=2**31 - 1),
    ]

    def counts_or(self, asked: int) -> int:
        """Return the requested counts per wheel revolution, or the robot's own if asked < 0."""
        return self.counts if asked < 0 else asked


@dataclass(frozen=True)
class Contact:
    """Ground contact parameters for physics engines."""

    stiffness: Annotated[float, number("N/m", "contact stiffness", above=0, maximum=1e12)]
    damping: Annotated[float, number("N s/m", "contact damping", minimum=0, maximum=1e12)]
    wheel_friction: Annotated[
        float, number("", "Coulomb coefficient of the wheels", above=0, maximum=1e3)
    ]
    caster_friction: Annotated[
        float, number("", "Coulomb coefficient of the casters", minimum=0, maximum=1e3)
    ]


@dataclass(frozen=True)
class Appearance:
    """Colours as red, green, blue, and optionally a URDF with other shapes."""

    body: Annotated[
        tuple[float, float, float], number("", "colour of the hull", minimum=0, maximum=1)
    ]
    accent: Annotated[
        tuple[float, float, float], number("", "colour of stripes and marks", minimum=0, maximum=1)
    ]
    urdf: Annotated[str | None, FieldSpec("", "URDF whose shapes are shown", text="path")] = None


@dataclass(frozen=True)
class MeasuredDrive:
    """What `diffbot check --moving` has measured; [left, right] in N m, or [v, omega]."""

    least: Annotated[
        Pair, number("N m; m/s, rad/s", "least command that moves a wheel", above=0, maximum=1e4)
    ]
    delay: Annotated[
        float | None,
        number("s", "longest time from a command to its motion", minimum=0, maximum=10),
    ] = None
    timeout: Annotated[
        float | None,
        number(
            "s", "time after the last command when the driver stops itself", minimum=0, maximum=60
        ),
    ] = None


@dataclass(frozen=True)
class Robot:
    """One robot, as described by its YAML file; see `load_robot` and `save_robot`.

    `dataclasses.replace` changes it without checks. ``path`` is the file it was read from.
    """

    name: Annotated[str, FieldSpec("", "name of the robot")]
    path: Path
    wheels: Wheels
    body: Body
    casters: tuple[Caster, ...]
    joints: Joints
    friction: Friction
    limits: Limits
    excitation: ExcitationDefaults
    encoder: Encoder
    contact: Contact
    appearance: Appearance
    turning: Turning | None = None
    drive: MotorDrive = MotorDrive()
    uncertainty: Uncertainty = Uncertainty()
    measured: MeasuredDrive | None = None
    assumed: tuple[Annotated[str, FieldSpec("", "field of this file", text="field")], ...] = ()
    """Fields whose values were not known and were assumed, dotted, such as limits.torque."""

    def without_friction(self) -> Robot:
        """Return this robot with ideal bearings, casters and motors; its file stays unchanged."""
        return replace(
            self,
            friction=Friction(viscous=(0.0, 0.0), coulomb=(0.0, 0.0)),
            contact=replace(self.contact, caster_friction=0.0),
            turning=None if self.turning is None else Turning(0.0, 0.0),
            drive=replace(self.drive, dead_band=(0.0, 0.0)),
        )

    @property
    def takes_velocity(self) -> bool:
        """Whether its file states that its driver takes cmd_vel, and not torques."""
        return self.drive.command is CommandKind.VELOCITY

    def with_forward_joints(self) -> Robot:
        """Return this robot with joints whose positive angles all roll forward, as in engines."""
        return replace(self, joints=replace(self.joints, signs=()))

    def joint_reader(self, required: Sequence[str] = JointReader.FIELDS) -> JointReader:
        """Return a reader of joint states for these joints, their signs and the efforts' unit."""
        joints, unit = self.joints, self.drive.torque_of((1.0, 1.0))
        return JointReader(joints.left, joints.right, required, unit, joints.directions)

    @cached_property
    def geometry(self) -> WheelGeometry:
        return WheelGeometry(*self.wheels.rolling_radii, self.wheels.separation)

    @property
    def wheel_speed(self) -> float:
        """Largest speed of a wheel that the limits allow, rad/s."""
        limits = self.limits
        fastest = max(self.geometry.wheel_velocity(limits.linear_velocity, limits.angular_velocity))
        return fastest if limits.wheel_velocity is None else min(fastest, limits.wheel_velocity)

    def check_limit(self, parameter: str, value: float, limit: str, unit: str) -> None:
        """Raise ValueError for a node's parameter beyond one of `limits`, of this name and unit."""
        most = getattr(self.limits, limit)
        if value > most:
            raise ValueError(
                f"parameter '{parameter}' = {value} {unit}: must be <= {most} {unit}, limits."
                f"{limit} of robot '{self.name}'; lower it or correct the robot's YAML"
            )

    def speed_limits(self, v: float, omega: float) -> Velocity:
        """Return the speeds that a node asks for, m/s and rad/s, or those of `limits` for 0."""
        self.check_limit("linear_velocity", v, "linear_velocity", "m/s")
        self.check_limit("angular_velocity", omega, "angular_velocity", "rad/s")
        return Velocity(v or self.limits.linear_velocity, omega or self.limits.angular_velocity)

    def acceleration_limits(self, dv: float = 0.0, domega: float = 0.0) -> Velocity:
        """Return the accelerations that a node asks for, m/s^2 and rad/s^2.

        Those of `limits` in place of 0, infinite where there are none either.

        Raises:
            ValueError: The node's linear_acceleration or angular_acceleration is beyond `limits`.
        """
        own = self.limits
        for name, value, unit in (
            ("linear_acceleration", dv, "m/s²"),
            ("angular_acceleration", domega, "rad/s²"),
        ):
            if getattr(own, name) is not None:
                self.check_limit(name, value, name, unit)
        return Velocity(
            dv or own.linear_acceleration or math.inf,
            domega or own.angular_acceleration or math.inf,
        )

    @cached_property
    def rim_limit(self) -> RimLimit:
        most = self.limits.wheel_velocity
        return UNLIMITED_RIMS if most is None else RimLimit.of(self.geometry, most)

    @cached_property
    def model(self) -> RobotModel:
        """Parameters of the planar motion, with the mean wheel radius."""
        wheels, body = self.wheels, self.body
        return RobotModel(
            wheel_radius=wheels.radius,
            half_track=wheels.half_track,
            mass_body=body.mass,
            inertia_body=body.inertia.yaw,
            com_offset=body.center_of_mass.x,
            wheel_mass=wheels.mass,
            wheel_inertia_spin=wheels.inertia_spin,
            wheel_inertia_yaw=wheels.inertia_yaw,
        )
