# SPDX-License-Identifier: Apache-2.0
"""ROS parameters of a node: one frozen dataclass has their types, defaults, meanings and limits.

    @dataclass(frozen=True)
    class MyParameters(RobotParameters):
        gain: float = parameter(1.0, "factor on the error, 1/s", above=0.0, maximum=10.0)

`declare(node, MyParameters)` declares them in ROS, checks what was given, and returns a
MyParameters. `ros2 param describe` and docs/parameters.md show the same words and limits.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node

from diffbot_description.files import closest

Value = bool | int | float | str | tuple[float, ...]
V = TypeVar("V", bound=Value)
P = TypeVar("P")
# Parameters of every node, which ROS declares itself.
OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")


@dataclass(frozen=True)
class Parameter:
    """What is known of one parameter; it is read once, at the start of a node.

    Attributes:
        name: ROS parameter name.
        default: default value; its type is the parameter's type (whole numbers are taken for
            float parameters too). A tuple stands for a list of numbers of any length, given as
            a list or as text such as "[1, 2.5]". ROS itself refuses a list in which some numbers
            have a decimal point and some have none; the text may have both.
        description: meaning and unit, one line; shown by `ros2 param describe`.
        above: exclusive lower limit of a number, or of each number of a list.
        minimum: inclusive lower limit, likewise.
        maximum: inclusive upper limit, likewise.
        choices: the allowed values, where there are only these.
    """

    name: str
    default: Value
    description: str
    above: float | None = None
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()

    def constraints(self) -> str:
        """The limits in words; empty where there are none."""
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
        """The value in the parameter's type; of a list, a tuple of floats.

        Raises:
            ValueError: wrong type or outside the limits, with name, value, limit and meaning; of a
                list, the name has the index of the wrong number.
        """
        if isinstance(self.default, tuple):
            numbers = enumerate(self._numbers(value))
            return tuple(self._checked(f"{self.name}[{k}]", float, number) for k, number in numbers)
        checked: Value = self._checked(self.name, type(self.default), value)
        return checked

    def _numbers(self, value: Any) -> Sequence[Any]:
        """The items of a list; None is how ROS hands over an empty one."""
        if isinstance(value, str):
            words = value.strip().removeprefix("[").removesuffix("]").strip()
            try:
                return [float(word) for word in words.split(",")] if words else []
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
    """A field of a frozen dataclass of parameters; its arguments are those of Parameter."""
    limits = {"above": above, "minimum": minimum, "maximum": maximum, "choices": choices}
    return field(default=default, metadata={"description": description, **limits})


def table(kind: type[Any]) -> tuple[Parameter, ...]:
    """The parameters that the fields of a dataclass are."""
    made: Any = fields(kind)
    return tuple(Parameter(each.name, each.default, **each.metadata) for each in made)


@dataclass(frozen=True)
class RobotParameters:
    """Of nodes that have to know the robot."""

    robot: str = parameter("twil", "robot of the suite, or a robot's YAML, URDF or xacro file")


@dataclass(frozen=True)
class CommandParameters:
    """Of all nodes that command a robot."""

    input_timeout: float = parameter(
        0.07,
        "age of the newest state of the robot (joint state or odometry) after which zero is "
        "commanded, and longest time between two of them, s of the node's clock and of the stamps",
        above=0.0,
        maximum=1.0,
    )
    patience: float = parameter(
        0.0,
        "wall time without good states of the robot after which the node ends with status 1, s; "
        "0: never",
        minimum=0.0,
    )
    enabled: bool = parameter(
        True,
        "whether it may command from the start; false: not before ~/enable is called with true",
    )
    emergency_stop_timeout: float = parameter(
        0.0,
        "wall time within which something has to come on emergency_stop, else it counts as "
        "pressed, s; 0: only what comes counts",
        minimum=0.0,
    )


def declare(node: Node, kind: type[P]) -> P:
    """Declare the parameters on the node and return what was given, checked.

    To be called once. From then on nobody changes a parameter, `use_sim_time` neither: a clock that
    nobody sets would hide how old everything is.

    Args:
        node: whose parameters they are.
        kind: a frozen dataclass whose fields are made by `parameter`.

    Raises:
        ValueError: a value breaks its parameter's type or limits, or a name that was given is
            nearly one of the parameters.
    """
    parameters = table(kind)
    _look_for_misspelt(node, [own.name for own in parameters])
    node.add_on_set_parameters_callback(_refuse_clock)
    values: dict[str, Value] = {}
    for own in parameters:
        descriptor = ParameterDescriptor(
            description=own.description,
            additional_constraints=own.constraints(),
            # Launch files write 5 for 5.0; the check below is the one that counts.
            dynamic_typing=True,
            # Read once; a later change would look accepted and do nothing.
            read_only=True,
        )
        default: Any = own.default
        if isinstance(default, tuple):
            default = list(default)
        declared: Any = node.declare_parameter(own.name, default, descriptor)
        values[own.name] = own.check(declared.value)
    return kind(**values)


def _refuse_clock(changed: Sequence[Any]) -> SetParametersResult:
    """Of the parameters that ROS itself declares, the one that is not read-only."""
    if all(parameter.name != "use_sim_time" for parameter in changed):
        return SetParametersResult(successful=True)
    return SetParametersResult(
        successful=False, reason="use_sim_time is read at the start; restart the node with it"
    )


def _look_for_misspelt(node: Node, names: Sequence[str]) -> None:
    """Refuse a name that is nearly a parameter's, and warn of others that are none.

    A file of parameters may be for several nodes: a name that is like none is somebody else's.
    """
    given = getattr(node, "_parameter_overrides", {})  # rclpy has no public way
    for name in given:
        if name in names or name.startswith(OF_ROS):
            continue
        if near := closest(name, (own for own in names if own not in given), cutoff=0.8):
            raise ValueError(
                f"parameter '{name}' = {given[name].value!r}: {node.get_name()} has none of this "
                f"name; did you mean '{near}'?"
            )
        node.get_logger().warning(
            f"parameter '{name}' is not one of this node's and is ignored; `ros2 param list "
            f"{node.get_fully_qualified_name()}` lists those"
        )


UNITS = {"x": "m", "y": "m", "theta": "rad"}
PI = re.compile(r"([-+]?)(?:([\d.]+)\*)?pi(?:/([\d.]+))?")  # such as -pi/2 and 2*pi


def pose_from_text(name: str, text: str) -> tuple[float, float, float]:
    """The pose (x in m, y in m, theta in rad) that a text gives.

    Args:
        name: what the pose is, for messages; the name of the parameter that holds the text.
        text: three numbers with commas or spaces between them; a number may be written as pi,
            -pi/2 or 2*pi.

    Raises:
        ValueError: not three finite numbers; the message has the name, the text and an example.
    """
    words = re.split(r"\s*,\s*|\s+", text.strip())
    example = "give x,y,theta in m, m, rad, for example 1.0,-0.5,pi/2"
    if len(words) != len(UNITS):
        raise ValueError(f"{name} = {text!r}: must be 3 numbers; {example}")
    for word, (part, unit) in zip(words, UNITS.items(), strict=True):
        if not math.isfinite(_number(word)):
            raise ValueError(
                f"{name} = {text!r}: {part} = {word!r} must be a finite number in {unit}; {example}"
            )
    x, y, theta = map(_number, words)
    return x, y, theta


def _number(word: str) -> float:
    """The number that a word stands for; not a number where there is none."""
    try:
        if found := PI.fullmatch(word):
            sign, factor, divisor = found.groups()
            return float(f"{sign}{factor or 1}") * math.pi / float(divisor or 1)
        return float(word)
    except (ValueError, ZeroDivisionError):
        return math.nan


def results_folder(text: str) -> Path:
    """Make the folder, `~` expanded, and find out now, not after the run, that it can be written.

    Raises:
        ValueError: it cannot be made or written; the message names the parameter `results`.
    """
    folder = Path(text).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"parameter 'results' = '{text}': {error.strerror}; give a folder that can be made "
            "and written"
        ) from error
    return folder
