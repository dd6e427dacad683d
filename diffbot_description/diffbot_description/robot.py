"""The schema of a robot file: every key, its unit, its meaning and its limits.

SI units; x forward from the wheel axle, y to the left, z up from the ground (REP-103). Pairs are
[left, right]. ``config/twil.yaml`` is the same schema as an example with explanations.
"""

from __future__ import annotations

import difflib
import math
from dataclasses import dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

# ---
# Declaration of one field of a robot file: its unit, its meaning and its limits.

METADATA_KEY = "quantity"


@dataclass(frozen=True)
class Quantity:
    """What a robot file may hold in one field.

    ``above`` is an exclusive lower limit; ``minimum`` and ``maximum`` are inclusive. The maxima
    are far above any robot that rolls on a floor: they catch millimetres and grams.
    """

    unit: str
    meaning: str
    above: float | None = None
    minimum: float | None = None
    maximum: float | None = None

    def violation(self, value: float) -> str | None:
        """Return the limit that ``value`` breaks, in words, or None."""
        if self.above is not None and not value > self.above:
            return f"must be above {self.above:g}"
        if self.minimum is not None and value < self.minimum:
            return f"must be at least {self.minimum:g}"
        if self.maximum is not None and value > self.maximum:
            return f"must be at most {self.maximum:g}"
        return None

    def show(self, value: object) -> str:
        """Return the value with its unit."""
        return f"{value} {self.unit}".rstrip()


def quantity(unit: str, meaning: str, **limits: float) -> Any:
    """Return a dataclass field that carries a `Quantity` (``above``, ``minimum``, ``maximum``)."""
    return field(metadata={METADATA_KEY: Quantity(unit, meaning, **limits)})


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


# ---
# Checking of nested mappings against the dataclasses of the robot schema.


def read_section(cls: type, data: Any, where: str = "", **given: Any) -> Any:
    """Return an instance of the dataclass ``cls`` made from the mapping ``data``.

    ``where`` is the dotted name of the section, "" for the whole file. ``given`` are fields that
    do not come from the mapping. Raises ValueError that names the field, the value, the limit
    and what to change.
    """
    if not isinstance(data, dict):
        section = where or "the file"
        raise ValueError(f"{section} must hold named values, not {data!r}. Copy twil.yaml.")
    declared = [f for f in fields(cls) if f.name not in given]
    _check_keys(data, [f.name for f in declared], where)
    types = get_type_hints(cls)
    values = {
        f.name: _read(types[f.name], data[f.name], _dotted(where, f.name), f.metadata)
        for f in declared
    }
    return cls(**values, **given)


def _dotted(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)


def _check_keys(data: dict[Any, Any], expected: list[str], where: str) -> None:
    unknown = [key for key in data if key not in expected]
    missing = [key for key in expected if key not in data]
    problems = []
    if unknown:
        problems.append("unknown: " + ", ".join(_dotted(where, key) for key in unknown))
    if missing:
        problems.append("missing: " + ", ".join(_dotted(where, key) for key in missing))
    if not problems:
        return
    near = [m for key in unknown for m in difflib.get_close_matches(str(key), missing, 1)]
    advice = f"Did you mean {_dotted(where, near[0])}? " if near else ""
    section = where or "the file"
    raise ValueError(
        f"wrong keys, {'; '.join(problems)}. {advice}{section} needs exactly {', '.join(expected)}."
    )


def _read(kind: Any, value: Any, where: str, metadata: Any) -> Any:
    if is_dataclass(kind):
        return read_section(kind, value, where)
    if get_origin(kind) is tuple:
        return _read_list(get_args(kind), value, where, metadata)
    rule: Quantity = metadata[METADATA_KEY]
    if kind is str:
        return _read_name(value, where, rule)
    return _read_number(kind, value, where, rule)


def _read_list(kinds: tuple[Any, ...], value: Any, where: str, metadata: Any) -> tuple[Any, ...]:
    any_length = kinds[-1] is Ellipsis
    length = "one or more" if any_length else str(len(kinds))
    right_length = isinstance(value, list) and (
        len(value) >= 1 if any_length else len(value) == len(kinds)
    )
    if not right_length:
        raise ValueError(f"{where} = {value!r} must be a list of {length} entries.")
    return tuple(
        _read(kinds[0], entry, f"{where}[{index}]", metadata) for index, entry in enumerate(value)
    )


def _read_name(value: Any, where: str, rule: Quantity) -> str:
    if not isinstance(value, str) or not value.isidentifier() or not value.isascii():
        raise ValueError(
            f"{where} = {value!r} must be text of letters, digits and underscores that starts "
            f"with a letter. Give the {rule.meaning}."
        )
    return value


def _read_number(kind: type, value: Any, where: str, rule: Quantity) -> float | int:
    wanted = "a whole number" if kind is int else "a number"
    allowed = (int,) if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, allowed):
        raise ValueError(
            f"{where} = {value!r} must be {wanted}, the {rule.meaning}"
            f"{f' in {rule.unit}' if rule.unit else ''}.{_yaml_hint(value)}"
        )
    try:
        number = kind(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{where} = {value} must be finite. Give the {rule.meaning}.")
    broken = rule.violation(number)
    if broken:
        raise ValueError(
            f"{where} = {rule.show(value)} {broken}. Give the {rule.meaning}"
            f"{f' in {rule.unit}' if rule.unit else ''}."
        )
    return number


def _yaml_hint(value: Any) -> str:
    """YAML 1.1 takes 1e7 for text; say how to write it."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return ""
    mantissa, _, exponent = f"{number:e}".partition("e")
    return f" Write {float(mantissa)}e{exponent} or {number!r}."
