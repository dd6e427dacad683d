# SPDX-License-Identifier: Apache-2.0
"""ROS parameters of a node: a frozen dataclass defines types, defaults, meanings and limits.

    @dataclass(frozen=True)
    class MyParameters(RobotParameters):
        gain: float = parameter(1.0, "factor on the error, 1/s", above=0.0, maximum=10.0)

`declare(node, MyParameters)` declares them in ROS, checks the given values, and returns a
MyParameters. `ros2 param describe` and docs/parameters.md show the same texts and limits.
"""

from __future__ import annotations

import math
import re
import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node

from diffbot_description.files import closest, read_yaml
from diffbot_node.run_folder import FolderTaken, claim, launch_name

Value = bool | int | float | str | tuple[float, ...]
V = TypeVar("V", bound=Value)
P = TypeVar("P")
# Prefixes of the parameters that ROS itself declares in every node.
OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")


@dataclass(frozen=True)
class Parameter:
    """Specification of one parameter, which is read once, at the start of a node.

    Attributes:
        default: Its type is the parameter's (float parameters also accept whole numbers). A tuple
            stands for a list of numbers of any length, given as a list or as text such as "[1,
            2.5]", which unlike ROS's lists may mix whole numbers and others.
        description: Meaning and unit, one line; shown by `ros2 param describe`.
        above: Exclusive lower limit of a number, or of each number of a list.
        minimum: Inclusive lower limit, likewise.
        maximum: Inclusive upper limit, likewise.
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


@dataclass(frozen=True)
class RobotParameters:
    """Parameters of nodes that need the robot's description."""

    robot: str = parameter("twil", "robot of the suite, or a robot's YAML, URDF or xacro file")


@dataclass(frozen=True)
class CommandParameters:
    """Parameters of all nodes that command a robot."""

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
        "longest wall time without a message on emergency_stop before it counts as pressed, s; "
        "0: no limit",
        minimum=0.0,
    )


def declare(node: Node, kind: type[P]) -> P:
    """Declare the parameters on the node, and return the given values, checked. Call it once.

    From then on no parameter can be changed, not even `use_sim_time`: a clock that nobody publishes
    would hide the age of all messages.

    Args:
        kind: A frozen dataclass whose fields are made by `parameter`.

    Raises:
        ValueError: A value violates its parameter's type or limits, or a given name is a likely
            misspelling of a parameter.
    """
    parameters = table(kind)
    names = [own.name for own in parameters]
    room = getattr(node, "room", None)
    if room is None:
        check_names([(node, names)])
    else:  # a name may be another node's: checked when all are there
        room.parameters.append((node, names))
    node.add_on_set_parameters_callback(_refuse_clock)
    values: dict[str, Value] = {}
    from_file: dict[str, Any] = {}
    for own in parameters:
        descriptor = ParameterDescriptor(
            description=own.description,
            additional_constraints=own.constraints(),
            # Launch files write 5 for 5.0; the value is checked below instead.
            dynamic_typing=True,
            # Read once; a later change would be accepted without effect.
            read_only=True,
        )
        default: Any = from_file.get(own.name, own.default)
        if isinstance(default, tuple):
            default = list(default)
        declared: Any = node.declare_parameter(own.name, default, descriptor)
        values[own.name] = own.check(declared.value)
        if own.name == getattr(kind, "FILE", None) and declared.value:
            from_file = read_file(node, own.name, declared.value)
            for name in _unknown(node, names, from_file, names):
                _warn_of(node, name)
    return kind(**values)


def read_file(node: Node, name: str, path: str) -> dict[str, Any]:
    """Return the parameters of a node in a ROS parameter file that the parameter `name` names.

    Raises:
        ValueError: It cannot be read, or is no parameter file.
    """
    try:
        content = read_yaml(Path(path).expanduser())
    except ValueError as error:
        raise ValueError(f"parameter '{name}' = {error}") from None
    own, result = node.get_name(), {}
    names = ("/**", f"/**/{own}", own, node.get_fully_qualified_name())
    sections = content if isinstance(content, dict) else {}
    for section in (sections.get(each) for each in names):
        values = section.get("ros__parameters") if isinstance(section, dict) else None
        result.update(values if isinstance(values, dict) else {})
    if not result:
        raise ValueError(
            f"parameter '{name}' = '{path}': no parameters below '/**: ros__parameters:' or "
            f"'{own}: ros__parameters:'; is it another kind of file?"
        )
    return result


def check_names(nodes: Sequence[tuple[Node, Sequence[str]]]) -> None:
    """Check the given names for the nodes of one process, each with the names that it knows.

    Raises:
        ValueError: A name is a likely misspelling of a parameter, and no node knows it.
    """
    known = {name for _, names in nodes for name in names}
    unknown: dict[str, Node] = {}  # to the first of the nodes that they were given to
    for node, names in nodes:
        overrides = getattr(node, "_parameter_overrides", {})  # rclpy has no public way
        given = {name: each.value for name, each in overrides.items()}
        for name in _unknown(node, names, given, known):
            unknown.setdefault(name, node)
    for name, node in unknown.items():
        _warn_of(node, name)


def _refuse_clock(changed: Sequence[Any]) -> SetParametersResult:
    """Refuse changes of use_sim_time, which ROS itself declares and does not make read-only."""
    if all(parameter.name != "use_sim_time" for parameter in changed):
        return SetParametersResult(successful=True)
    return SetParametersResult(
        successful=False,
        reason="use_sim_time is read only at the start; restart the node to change it",
    )


def _unknown(
    node: Node, names: Sequence[str], given: Mapping[str, Any], known: Collection[str]
) -> list[str]:
    """Return the given names that nobody knows; a likely misspelling is a ValueError.

    A parameter file may serve several nodes: other unknown names may belong to another node.
    """
    unknown = [name for name in given if name not in known and not name.startswith(OF_ROS)]
    for name in unknown:
        if near := closest(name, (own for own in names if own not in given), cutoff=0.8):
            raise ValueError(
                f"parameter '{name}' = {given[name]!r}: {node.get_name()} has no parameter "
                f"of this name; did you mean '{near}'?"
            )
    return unknown


def _warn_of(node: Node, name: str) -> None:
    node.get_logger().warning(
        f"parameter '{name}' is not one of this node's and is ignored; `ros2 param list "
        f"{node.get_fully_qualified_name()}` lists those"
    )


UNITS = {"x": "m", "y": "m", "theta": "rad"}
PI = re.compile(r"([-+]?)(?:([\d.]+)\*)?pi(?:/([\d.]+))?")  # such as -pi/2 and 2*pi


def pose_from_text(name: str, text: str) -> tuple[float, float, float]:
    """Return the pose (x in m, y in m, theta in rad) that a text gives.

    Args:
        name: Name of the parameter that has the text, for messages.
        text: Three numbers separated by commas or spaces; one may be written as pi, -pi/2 or 2*pi.

    Raises:
        ValueError: Not three finite numbers; the message has the name, the text and an example.
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
    """Return the number that a word represents; NaN if it represents none."""
    try:
        if match := PI.fullmatch(word):
            sign, factor, divisor = match.groups()
            return float(f"{sign}{factor or 1}") * math.pi / float(divisor or 1)
        return float(word)
    except (ValueError, ZeroDivisionError):
        return math.nan


def writable_folder(text: str) -> Path:
    """Create the folder, with `~` expanded, and check before the run that it is writable.

    Raises:
        ValueError: It cannot be created or written; the message names the parameter `results`.
    """
    folder = Path(text).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise _unwritable(text, error) from error
    return folder


def results_folder(text: str) -> Path:
    """Create the folder of this run's results, as `writable_folder`, and make it its own.

    Raises:
        ValueError: It cannot be created or written, or belongs to another run; the message names
            the parameter `results`.
    """
    folder = writable_folder(text)
    try:
        claim(folder, launch_name())
    except FolderTaken as error:
        raise ValueError(f"parameter 'results' = {error}") from None
    except OSError as error:
        raise _unwritable(text, error) from error
    return folder


def _unwritable(text: str, error: OSError) -> ValueError:
    return ValueError(
        f"parameter 'results' = '{text}': {error.strerror}; give a folder that can be created and "
        "written"
    )
