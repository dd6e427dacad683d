# SPDX-License-Identifier: Apache-2.0
"""Fields of settings, with meaning and limits: of a library's classes, and as ROS parameters."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from diffbot_description.number_text import list_items, number

Value = bool | int | float | str | tuple[float, ...]
V = TypeVar("V", bound=Value)


@dataclass(frozen=True)
class Parameter:
    """Specification of one parameter, which is read once, at the start of a node.

    Attributes:
        default: Has the parameter's type (a float also accepts whole numbers). A tuple: a list of
            numbers of any length, given as a list or as text such as "[1, 2.5]".
        description: Meaning and unit, one line; shown by `ros2 param describe`.
        above: Exclusive lower limit of a number, or of each number of a list.
        choices: The allowed values, if these are enumerated.
    """

    name: str
    default: Value
    description: str
    above: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def constraints(self) -> str:
        """Return the limits in words; empty if there are none."""
        words = []
        if self.above is not None:
            words.append(f"> {self.above:g}")
        if self.minimum is not None:
            words.append(f">= {self.minimum:g}")
        if self.maximum is not None:
            words.append(f"<= {self.maximum:g}")
        if self.choices:
            words.append("one of " + ", ".join(self.choices))
        return " and ".join(words)

    def check(self, value: Any) -> Value:
        """Return the value in the parameter's type; for a list, a tuple of floats.

        Raises:
            ValueError: Wrong type or outside the limits, with name (and index), value, limit and
                meaning.
        """
        if isinstance(self.default, tuple):
            numbers = enumerate(self._numbers(value))
            return tuple(self._checked(f"{self.name}[{k}]", float, number) for k, number in numbers)
        checked: Value = self._checked(self.name, type(self.default), value)
        return checked

    def _numbers(self, value: Any) -> Sequence[Any]:
        """Return the items of a list; ROS passes an empty list as None."""
        if isinstance(value, str):
            try:
                return [float(word) for word in list_items(value)]
            except ValueError:
                value = value.strip()
        elif value is None or isinstance(value, Sequence):
            return value or []
        raise ValueError(
            self._complaint(self.name, value, "must be a list of numbers, such as [1.0, 2.5]")
        )

    def _checked(self, name: str, kind: type[Any], value: Any) -> Any:
        if kind is float and type(value) is int:
            value = float(value)
        if kind is bool and type(value) is int and value in (0, 1):
            value = bool(value)  # launch arguments may be 0 and 1
        if type(value) is not kind:
            raise ValueError(self._complaint(name, value, f"must be of type {kind.__name__}"))
        if self.choices and value not in self.choices:
            raise ValueError(self._complaint(name, value, "must be " + self.constraints()))
        if kind in (int, float):
            number: float = value
            inside = (
                math.isfinite(number)
                and (self.above is None or number > self.above)
                and (self.minimum is None or number >= self.minimum)
                and (self.maximum is None or number <= self.maximum)
            )
            if not inside:
                limits = " and ".join(filter(None, ["finite", self.constraints()]))
                raise ValueError(self._complaint(name, value, f"must be {limits}"))
        return value

    def _complaint(self, name: str, value: Any, rule: str) -> str:
        return f"parameter '{name}' = {value!r}: {rule} ({self.description})"


def parameter(
    default: V,
    description: str,
    *,
    above: float | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: tuple[str, ...] = (),
) -> V:
    """Return a field for a frozen dataclass of parameters; the arguments are those of Parameter."""
    limits = {"above": above, "minimum": minimum, "maximum": maximum, "choices": choices}
    return field(default=default, metadata={"description": description, **limits})


def table(kind: type[Any]) -> tuple[Parameter, ...]:
    """Return the parameters that the fields of a dataclass define."""
    made: Any = fields(kind)
    return tuple(Parameter(each.name, each.default, **each.metadata) for each in made)


def check_settings(settings: Any) -> None:
    """Check the values of a dataclass whose fields are made by `parameter`; see Parameter.check."""
    for each in table(type(settings)):
        each.check(getattr(settings, each.name))


@dataclass(frozen=True)
class RobotParameters:
    """Parameters of what needs the robot's description."""

    robot: str = parameter("twil", "robot of the suite, or a robot's YAML, URDF or xacro file")


@dataclass(frozen=True)
class SpeedLimitParameters:
    """Parameters of what keeps to lower speeds than the robot's own."""

    linear_velocity: float = parameter(
        0.0, "largest |v|, m/s; 0: limits.linear_velocity of the robot", minimum=0.0
    )
    angular_velocity: float = parameter(
        0.0, "largest |omega|, rad/s; 0: limits.angular_velocity of the robot", minimum=0.0
    )


UNITS = {"x": "m", "y": "m", "theta": "rad"}


def pose_from_text(name: str, text: str) -> tuple[float, float, float]:
    """Return the pose (x in m, y in m, theta in rad) that a text gives.

    Args:
        name: Of the parameter, for messages.
        text: Three numbers separated by commas or spaces; one may be written as pi, -pi/2 or 2*pi.

    Raises:
        ValueError: Not three finite numbers.
    """
    words = re.split(r"\s*,\s*|\s+", text.strip())
    example = "give x,y,theta in m, m, rad, for example 1.0,-0.5,pi/2"
    if len(words) != len(UNITS):
        raise ValueError(f"{name} = {text!r}: must be 3 numbers; {example}")
    for word, (part, unit) in zip(words, UNITS.items(), strict=True):
        if not math.isfinite(number(word)):
            raise ValueError(
                f"{name} = {text!r}: {part} = {word!r} must be a finite number in {unit}; {example}"
            )
    x, y, theta = map(number, words)
    return x, y, theta
