# SPDX-License-Identifier: Apache-2.0
"""ROS parameters of a node: a frozen dataclass defines types, defaults, meanings and limits.

    @dataclass(frozen=True)
    class MyParameters(RobotParameters):
        gain: float = parameter(1.0, "factor on the error, 1/s", above=0.0, maximum=10.0)

`declare(node, MyParameters)` declares them, and returns the given values, checked. They are no
generate_parameter_library, whose code needs a build: these packages also run from their sources.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rcl_interfaces.msg import ParameterDescriptor, SetParametersResult
from rclpy.node import Node

from diffbot_description.files import closest, read_yaml
from diffbot_description.named_paths import expanded
from diffbot_description.run_folder import FolderTaken, claim, launch_name, make_writable
from diffbot_node.parameter_fields import Value, table

P = TypeVar("P")
# Prefixes of the parameters that ROS itself declares in every node.
OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")


def declare(node: Node, kind: type[P]) -> P:
    """Declare the parameters on the node, and return the given values, checked. Call it once.

    From then on no parameter can be changed, not even `use_sim_time`: a clock that nobody publishes
    would hide the age of all messages.

    Args:
        kind: A frozen dataclass whose fields are made by `parameter`.

    Raises:
        ValueError: A value violates type or limits, or a name is a likely misspelling of a
            parameter.
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
            # Launch files write 5 for 5.0; checked below.
            dynamic_typing=True,
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
    """Return a node's parameters in the ROS parameter file that the parameter `name` names.

    Raises:
        ValueError: It cannot be read, or is no parameter file.
    """
    try:
        content = read_yaml(expanded(path))
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


def writable_folder(text: str) -> Path:
    """Create the folder, with `~` expanded; a ValueError if it cannot be created or written."""
    folder = expanded(text)
    try:
        make_writable(folder)
    except OSError as error:
        raise _unwritable(text, error) from error
    return folder


def results_folder(text: str) -> Path:
    """Create the folder of this run's results, and make it this run's own.

    Raises:
        ValueError: It cannot be created or written, or belongs to another run.
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
