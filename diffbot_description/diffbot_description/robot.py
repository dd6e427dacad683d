"""The schema of a robot file: every key, its unit, its meaning and its limits.

SI units; x forward from the wheel axle, y to the left, z up from the ground (REP-103). Pairs are
[left, right]. ``config/twil.yaml`` is the same schema as an example with explanations.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from diffbot_description.quantity import quantity


@dataclass(frozen=True)
class Wheels:
    """The two driven wheels, mirror images of each other."""

    radius: float = quantity("m", "rolling radius under load", above=0, maximum=2)
    separation: float = quantity(
        "m", "full track, left to right contact point", above=0, maximum=10
    )
    width: float = quantity("m", "width of one wheel", above=0, maximum=2)
    mass: float = quantity("kg", "mass of one wheel", above=0, maximum=1e4)
    inertia_spin: float = quantity(
        "kg m^2", "inertia of one wheel about its axle", above=0, maximum=1e4
    )
    inertia_yaw: float = quantity(
        "kg m^2", "inertia of one wheel about the vertical axis", above=0, maximum=1e4
    )

    @property
    def half_track(self) -> float:
        """Half the track, the papers' b [m]."""
        return self.separation / 2


@dataclass(frozen=True)
class CenterOfMass:
    """Centre of mass of the body; it lies midway between the wheels (y = 0)."""

    x: float = quantity("m", "distance ahead of the axle", minimum=-10, maximum=10)
    z: float = quantity("m", "height above the ground", above=0, maximum=10)


@dataclass(frozen=True)
class BodyInertia:
    """Principal inertias of the body about its own centre of mass."""

    roll: float = quantity("kg m^2", "body inertia about x", above=0, maximum=1e5)
    pitch: float = quantity("kg m^2", "body inertia about y", above=0, maximum=1e5)
    yaw: float = quantity("kg m^2", "body inertia about z", above=0, maximum=1e5)


@dataclass(frozen=True)
class Hull:
    """Box around the body, for its picture and its contacts."""

    front: float = quantity("m", "x of the front", minimum=-10, maximum=10)
    rear: float = quantity("m", "x of the rear", minimum=-10, maximum=10)
    width: float = quantity("m", "width of the hull", above=0, maximum=10)
    bottom: float = quantity("m", "height of the hull's bottom", above=0, maximum=10)
    top: float = quantity("m", "height of the hull's top", above=0, maximum=10)


@dataclass(frozen=True)
class Body:
    """Everything that does not turn with the wheels, casters included."""

    mass: float = quantity("kg", "mass of the body", above=0, maximum=1e5)
    center_of_mass: CenterOfMass
    inertia: BodyInertia
    shape: Hull


@dataclass(frozen=True)
class Caster:
    """A support that slides without friction and has no mass of its own."""

    x: float = quantity("m", "distance ahead of the axle", minimum=-10, maximum=10)
    y: float = quantity("m", "distance to the left of the middle", minimum=-10, maximum=10)
    radius: float = quantity("m", "radius of the ball", above=0, maximum=2)
    clearance: float = quantity(
        "m", "gap to the ground when the robot stands level", minimum=0, maximum=0.1
    )


@dataclass(frozen=True)
class Joints:
    """Names of the wheel joints in joint_states and in the URDF."""

    left: str = quantity("", "name of the left wheel's joint")
    right: str = quantity("", "name of the right wheel's joint")


@dataclass(frozen=True)
class Friction:
    """Friction of each wheel's bearing and gear, [left, right]."""

    viscous: tuple[float, float] = quantity(
        "N m s/rad", "viscous friction [left, right]", minimum=0, maximum=1e4
    )
    coulomb: tuple[float, float] = quantity(
        "N m", "Coulomb friction [left, right]", minimum=0, maximum=1e4
    )


@dataclass(frozen=True)
class Limits:
    """What no node may exceed."""

    torque: float = quantity("N m", "largest torque per wheel", above=0, maximum=1e5)
    traction: float = quantity(
        "N m", "torque per wheel up to which it neither slips nor lifts", above=0, maximum=1e5
    )
    torque_rate: float = quantity("N m/s", "largest torque rate per wheel", above=0, maximum=1e8)
    linear_velocity: float = quantity("m/s", "largest forward speed", above=0, maximum=100)
    angular_velocity: float = quantity("rad/s", "largest yaw rate", above=0, maximum=100)


@dataclass(frozen=True)
class Excitation:
    """Defaults of the pseudo-random torque that identifies this robot."""

    amplitude: float = quantity("N m", "excitation torque per wheel", above=0, maximum=1e5)
    hold: int = quantity("samples", "control samples per bit", minimum=1, maximum=10000)
    register: int = quantity("bits", "length of the shift register", minimum=7, maximum=15)
    linear_velocity: float = quantity("m/s", "speed not to be exceeded", above=0, maximum=100)
    angular_velocity: float = quantity("rad/s", "yaw rate not to be exceeded", above=0, maximum=100)


@dataclass(frozen=True)
class Encoder:
    """Default of the simulated wheel encoders."""

    counts: int = quantity(
        "counts", "counts per wheel revolution, 0 = perfect", minimum=0, maximum=2**31 - 1
    )


@dataclass(frozen=True)
class Contact:
    """Contact with the ground in physics engines."""

    stiffness: float = quantity("N/m", "contact stiffness", above=0, maximum=1e12)
    damping: float = quantity("N s/m", "contact damping", minimum=0, maximum=1e12)
    wheel_friction: float = quantity("", "Coulomb coefficient of the wheels", above=0, maximum=1e3)
    caster_friction: float = quantity(
        "", "Coulomb coefficient of the casters", minimum=0, maximum=1e3
    )


@dataclass(frozen=True)
class Appearance:
    """Colours as red, green, blue."""

    body: tuple[float, float, float] = quantity("", "colour of the hull", minimum=0, maximum=1)
    accent: tuple[float, float, float] = quantity(
        "", "colour of stripes and marks", minimum=0, maximum=1
    )


@dataclass(frozen=True)
class Robot:
    """One robot, as its YAML file describes it. Make one with `load_robot`.

    ``path`` is the file; it is not a key of the file.
    """

    name: str = quantity("", "name of the robot")
    path: Path
    wheels: Wheels
    body: Body
    casters: tuple[Caster, ...]
    joints: Joints
    friction: Friction
    limits: Limits
    excitation: Excitation
    encoder: Encoder
    contact: Contact
    appearance: Appearance
