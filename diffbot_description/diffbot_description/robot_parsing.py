# SPDX-License-Identifier: Apache-2.0
"""A robot from the content of its file: types, limits, and whether the values fit together."""

from __future__ import annotations

import math
import re
import types
from collections.abc import Sequence
from dataclasses import MISSING, fields
from itertools import product
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from diffbot_description.assumed_parts import with_assumed_parts
from diffbot_description.command_kind import CommandKind, stated_kind
from diffbot_description.files import closest
from diffbot_description.robot import TEXTS, FieldSpec, Robot

Section = TypeVar("Section")


def robot_from(data: Any, path: Path) -> Robot:
    """Return the robot of a file's content; ValueError states the field and what to change."""
    if stated_kind(data) is CommandKind.VELOCITY:
        data = with_assumed_parts(data, path)
    robot = _read_section(Robot, data, path=path)
    _check_wheels(robot)
    _check_body(robot)
    _check_casters(robot)
    _check_support(robot)
    _check_friction(robot)
    _check_names_and_limits(robot)
    return robot


def _read_section(cls: type[Section], data: Any, where: str = "", **given: Any) -> Section:
    if not isinstance(data, dict):
        section = where or "the file"
        raise ValueError(f"{section} must hold named values, not {data!r}. Copy twil.yaml.")
    kinds = _kinds(cls)
    names = [name for name in kinds if name not in given]
    optional = [entry.name for entry in fields(cls) if entry.default is not MISSING]  # type: ignore[arg-type]
    _check_keys(data, [name for name in names if name not in optional], optional, where)
    values = {
        name: _read(kinds[name], data[name], _dotted(where, name)) for name in names if name in data
    }
    return cls(**values, **given)


def _kinds(cls: type) -> dict[str, Any]:
    """Return the types of a dataclass's fields, cached: their evaluation is slow."""
    if cls not in _KINDS:
        _KINDS[cls] = get_type_hints(cls, include_extras=True)
    return _KINDS[cls]


_KINDS: dict[type, dict[str, Any]] = {}


FOR_VELOCITY = (
    "A robot that takes cmd_vel needs only wheels (radius, separation), body.shape (front, rear, "
    "width) and limits (linear_velocity, angular_velocity): add drive: {command: velocity}"
)


def _dotted(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)


def _check_keys(data: dict[Any, Any], needed: list[str], optional: list[str], where: str) -> None:
    unknown = [key for key in data if key not in needed and key not in optional]
    missing = [key for key in needed if key not in data]
    problems = []
    if unknown:
        problems.append("unknown: " + ", ".join(_dotted(where, key) for key in unknown))
    if missing:
        problems.append("missing: " + ", ".join(_dotted(where, key) for key in missing))
    if not problems:
        return
    absent = missing + [key for key in optional if key not in data]
    near = next(filter(None, (closest(str(key), absent) for key in unknown)), None)
    advice = f"Did you mean {_dotted(where, near)}? " if near else ""
    section = where or "the file"
    needs = f"needs exactly {', '.join(needed)}" if needed else "needs nothing"
    may = f" and may have {', '.join(optional)}" if optional else ""
    if not where and missing:
        may += f". {FOR_VELOCITY}"
    raise ValueError(f"wrong keys, {'; '.join(problems)}. {advice}{section} {needs}{may}.")


def check_field(section: type, name: str, value: float, where: str) -> None:
    """Raise ValueError for a number that is not valid for a field of a section such as Wheels.

    `where` names the value in the message.
    """
    _read(_kinds(section)[name], value, where)


def _read(kind: Any, value: Any, where: str) -> Any:
    kind = present(kind)
    if get_origin(kind) is tuple:  # which Python 3.10 takes for a type, too
        return _read_list(get_args(kind), value, where)
    if isinstance(kind, type):
        return _read_section(kind, value, where)
    kind, rule = get_args(kind)
    kind = present(kind)
    if get_origin(kind) is tuple:
        return _read_list([Annotated[part, rule] for part in get_args(kind)], value, where)
    if kind is CommandKind:
        return CommandKind(_read_text(value, where, rule))
    if kind is str:
        return _read_text(value, where, rule)
    return _read_number(kind, value, where, rule)


def present(kind: Any) -> Any:
    """Return the type of an optional field without None."""
    return get_args(kind)[0] if get_origin(kind) in (Union, types.UnionType) else kind


def _read_list(kinds: Sequence[Any], value: Any, where: str) -> tuple[Any, ...]:
    any_length = kinds[-1] is Ellipsis
    if any_length and isinstance(value, str):
        return (_read(kinds[0], value, where),)  # one name need not be a list
    length = "one or more" if any_length else str(len(kinds))
    right_length = isinstance(value, list) and (
        len(value) >= 1 if any_length else len(value) == len(kinds)
    )
    if not right_length:
        raise ValueError(f"{where} = {value!r} must be a list of {length} entries.")
    return tuple(_read(kinds[0], entry, f"{where}[{index}]") for index, entry in enumerate(value))


def _read_text(value: Any, where: str, rule: FieldSpec) -> str:
    pattern, words = TEXTS[rule.text]
    if not isinstance(value, str) or re.fullmatch(pattern, value, re.ASCII) is None:
        raise ValueError(f"{where} = {value!r} must be text {words}. Give the {rule.meaning}.")
    return value


def _read_number(kind: type[int] | type[float], value: Any, where: str, rule: FieldSpec) -> float:
    wanted = "a whole number" if kind is int else "a number"
    allowed = (int,) if kind is int else (int, float)
    if isinstance(value, bool) or not isinstance(value, allowed):
        raise ValueError(
            f"{where} = {value!r} must be {wanted}, the {rule.meaning}"
            f"{f' in {rule.unit}' if rule.unit else ''}.{_yaml_hint(value)}"
        )
    try:
        number: float = kind(value)
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
    """Return advice on how to write a number that YAML 1.1 reads as text, such as 1e7."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        return ""
    if not math.isfinite(number):
        return ""
    mantissa, _, exponent = f"{number:e}".partition("e")
    return f" Write {float(mantissa)}e{exponent} or {number!r}."


# Relative tolerance for masses and inertias, which are often rounded.
ROUNDING = 1e-3
# Largest share of the robot's mass that rotors may add; wrong units make it thousands.
HEAVIEST_ROTORS = 100.0


def _check_wheels(robot: Robot) -> None:
    wheels = robot.wheels
    if wheels.separation <= wheels.width:
        raise ValueError(
            f"wheels.separation = {wheels.separation} m must be above wheels.width = "
            f"{wheels.width} m, or the wheels overlap. Give the full track, not half of it."
        )
    mean = 0.5 * sum(wheels.rolling_radii)
    if abs(mean - wheels.radius) > ROUNDING * wheels.radius:
        raise ValueError(
            f"wheels.radii = {list(wheels.rolling_radii)} m have the mean {mean:.6g} m, and "
            f"wheels.radius = {wheels.radius} m must be that mean. Change one of them, or leave "
            "wheels.radii out where both wheels are alike."
        )
    # A rotor I behind a gear of ratio n turns with n^2 I.
    total = robot.body.mass + 2 * wheels.mass
    most = 0.5 * HEAVIEST_ROTORS * total * wheels.radius**2
    if wheels.inertia_spin > most:
        raise ValueError(
            f"wheels.inertia_spin = {wheels.inertia_spin:.6g} kg m^2 must be at most {most:.6g} "
            f"kg m^2: both would weigh more than {HEAVIEST_ROTORS:g} times the robot "
            f"({total:.4g} kg) when it accelerates. Check its unit (kg m^2), wheels.radius and the "
            "gear ratio, whose square multiplies the rotor's inertia."
        )


def _check_triangle(name: str, value: float, sum_name: str, total: float) -> None:
    if value > total * (1 + ROUNDING):
        raise ValueError(
            f"{name} = {value:.6g} kg m^2 must be at most {sum_name} = {total:.6g} kg m^2: in a "
            "solid body no inertia is above the sum of the other two. Lower "
            f"{name} or raise the others."
        )


def _check_body(robot: Robot) -> None:
    inertia = robot.body.inertia
    axes = {"roll": inertia.roll, "pitch": inertia.pitch, "yaw": inertia.yaw}
    for axis, value in axes.items():
        others = [name for name in axes if name != axis]
        _check_triangle(
            f"body.inertia.{axis}",
            value,
            " + ".join(f"body.inertia.{name}" for name in others),
            sum(axes[name] for name in others),
        )
    shape = robot.body.shape
    for high, low in (("front", "rear"), ("top", "bottom")):
        if getattr(shape, high) <= getattr(shape, low):
            raise ValueError(
                f"body.shape.{high} = {getattr(shape, high)} m must be above body.shape.{low} = "
                f"{getattr(shape, low)} m. Exchange them if they are mixed up."
            )


def _check_casters(robot: Robot) -> None:
    for index, caster in enumerate(robot.casters):
        if caster.clearance >= caster.radius:
            raise ValueError(
                f"casters[{index}].clearance = {caster.clearance} m must be below its radius = "
                f"{caster.radius} m. Lower the caster."
            )


def support_span(robot: Robot) -> tuple[float, float]:
    """Return the rear and front ends, x [m], of the polygon of wheels and casters at y = 0."""
    half = robot.wheels.half_track
    points = [(0.0, half), (0.0, -half), *((c.x, c.y) for c in robot.casters)]
    left = [p for p in points if p[1] >= 0]
    right = [p for p in points if p[1] <= 0]
    crossings = [
        (a[0] * -b[1] + b[0] * a[1]) / (a[1] - b[1]) if a[1] > b[1] else a[0]
        for a, b in product(left, right)
    ]
    return min(crossings), max(crossings)


def _check_support(robot: Robot) -> None:
    body = robot.body
    total = body.mass + 2 * robot.wheels.mass
    x = body.mass * body.center_of_mass.x / total
    rear, front = support_span(robot)
    if not rear < x < front:
        direction = "forwards" if x >= front else "backwards"
        raise ValueError(
            f"body.center_of_mass.x = {body.center_of_mass.x} m puts the robot's centre of mass at "
            f"x = {x:.4g} m, but wheels and casters carry it only from {rear:.4g} to {front:.4g} m:"
            f" it would tip {direction}. Change body.center_of_mass.x or casters."
        )


SIDES = ("left", "right")


def _check_friction(robot: Robot) -> None:
    friction = robot.friction
    static, speed = friction.static, friction.stribeck_velocity
    if (static is None) != (speed is None):
        there, absent = ("static", "stribeck_velocity")[:: -1 if static is None else 1]
        raise ValueError(
            f"friction.{there} = {list(getattr(friction, there))} needs friction.{absent}: static "
            f"friction falls to Coulomb friction over that speed. Add friction.{absent}, or remove "
            f"friction.{there}."
        )
    for name in ("coulomb", "coulomb_backward"):
        for i, least in enumerate(getattr(friction, name) or ()):
            if static is not None and static[i] < least:
                raise ValueError(
                    f"friction.static[{i}] = {static[i]} N m must be at least friction.{name}[{i}] "
                    f"= {least} N m: a wheel does not start more easily than it turns. Raise it, "
                    "or remove friction.static and friction.stribeck_velocity."
                )
    turning = robot.turning
    if turning is not None and robot.contact.caster_friction > 0.0:
        raise ValueError(
            f"contact.caster_friction = {robot.contact.caster_friction} must be 0 where there is a "
            "section `turning`: both are drag of the floor, and only one of them is modelled. "
            "Remove one."
        )
    drive = robot.drive
    if (drive.effort_unit == "newton_metre") != (drive.torque_constant is None):
        raise ValueError(
            f"drive.torque_constant = {drive.torque_constant} with drive.effort_unit = "
            f"{drive.effort_unit}: ampere and percent need one, N m of the wheel for one of them "
            "(Ke of the motor in V s/rad times the gear's ratio), newton_metre has none"
        )
    for i, band in enumerate(drive.dead_band):
        if band >= robot.limits.torque:
            raise ValueError(
                f"drive.dead_band[{i}] = {band} N m must be below limits.torque = "
                f"{robot.limits.torque} N m, or the {SIDES[i]} wheel never turns. Lower it."
            )


def _check_names_and_limits(robot: Robot) -> None:
    names = robot.joints.names
    for side in ("right", "left"):
        for name in getattr(robot.joints, side):
            if names.count(name) > 1:
                raise ValueError(
                    f"joints.{side} = {name} must differ from joints.left and from each other. "
                    "Rename one."
                )
    if len(robot.joints.left) != len(robot.joints.right):
        raise ValueError(
            f"joints.left has {len(robot.joints.left)} wheels and joints.right "
            f"{len(robot.joints.right)}: must be as many on both sides. Name the driven ones."
        )
    signs = robot.joints.signs
    if signs and (len(signs) != len(names) or not {*signs} <= {1, -1}):
        raise ValueError(
            f"joints.signs = {list(signs)} must hold 1 or -1 for each of {', '.join(names)}: -1 "
            "where a positive angle rolls backward. Correct it, or leave it out if all roll "
            "forward."
        )
    for name, limit_name, unit in (
        ("limits.traction", "limits.torque", "N m"),
        ("excitation.amplitude", "limits.traction", "N m"),
        ("excitation.linear_velocity", "limits.linear_velocity", "m/s"),
        ("excitation.angular_velocity", "limits.angular_velocity", "rad/s"),
    ):
        value, limit = attrgetter(name, limit_name)(robot)
        if value > limit:
            raise ValueError(
                f"{name} = {value} {unit} must be at most {limit_name} = {limit} {unit}. Lower it."
            )
