"""ROS parameters declared with meaning, unit and limits in one table; poses and folders in them."""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node

from diffbot_description.files import closest

Value = bool | int | float | str | tuple[float, ...]
# Parameters of every node, which ROS declares itself.
OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")


@dataclass(frozen=True)
class Parameter:
    """One parameter of a node; it is read once, at the start.

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


def declare(node: Node, parameters: Sequence[Parameter]) -> SimpleNamespace:
    """Declare the parameters on the node and return their checked values as attributes.

    To be called once. From then on nobody changes a parameter, `use_sim_time` neither: a clock that
    nobody sets would hide how old everything is.

    Raises:
        ValueError: a value breaks its parameter's type or limits, or a name that was given is
            nearly one of the parameters.
    """
    _look_for_misspelt(node, [parameter.name for parameter in parameters])
    node.add_on_set_parameters_callback(_refuse_clock)
    values = SimpleNamespace()
    for parameter in parameters:
        descriptor = ParameterDescriptor(
            description=parameter.description,
            additional_constraints=parameter.constraints(),
            # Launch files write 5 for 5.0; the check below is the one that counts.
            dynamic_typing=True,
            # Read once; a later change would look accepted and do nothing.
            read_only=True,
        )
        default: Any = parameter.default
        if isinstance(default, tuple):
            default = list(default)
        declared: Any = node.declare_parameter(parameter.name, default, descriptor)
        setattr(values, parameter.name, parameter.check(declared.value))
    return values


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
