# SPDX-License-Identifier: Apache-2.0
"""Arguments NAME:=VALUE of `diffbot simulate`, whose table is a dataclass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from diffbot_description.files import closest
from diffbot_node.parameter_fields import Parameter, parameter, table
from diffbot_report.summary import SHOWN
from diffbot_sim.engines import ENGINES
from diffbot_sim.simulator_parameters import MovedRobot, SensorParameters

A = TypeVar("A")
_WORDS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True)
class RunArguments(MovedRobot, SensorParameters):
    """Arguments of every simulated run."""

    sim: str = parameter(
        ENGINES[0],
        "simulator: ideal (closed-form model), mujoco (contact physics; needs the package mujoco) "
        "or gazebo (Gazebo 11)",
        choices=ENGINES,
    )
    results: str = parameter("", "folder of the results; empty: results/<date>-<run>")
    report: str = parameter(
        SHOWN[0],
        "files besides numbers and recording: all, html (only report.html) or png (only pictures)",
        choices=SHOWN,
    )


def read_arguments(kind: type[A], words: Sequence[str]) -> A:
    """Return the arguments in words NAME:=VALUE. Raises ValueError."""
    known = {each.name: each for each in table(kind)}
    given: dict[str, Any] = {}
    for word in words:
        name, separator, text = word.partition(":=")
        if not separator:
            raise ValueError(f"{word!r}: must be NAME:=VALUE, such as robot:=twil")
        if name not in known:
            near = closest(name, known)
            hint = f"; did you mean {near!r}?" if near else ""
            raise ValueError(f"unknown argument {name!r}{hint}; known: {', '.join(known)}")
        if name in given:
            raise ValueError(f"argument {name!r} is given twice; give it once")
        given[name] = known[name].check(_value_of(known[name], text))
    return kind(**given)


def _value_of(own: Parameter, text: str) -> Any:
    """Return the text as the parameter's type; unchanged where it is none, for its check."""
    try:
        if isinstance(own.default, bool):
            return _WORDS.get(text.lower(), text)
        return type(own.default)(text) if isinstance(own.default, (int, float)) else text
    except ValueError:
        return text


def given_arguments(arguments: Any, *left_out: str) -> dict[str, Any]:
    """Return the arguments that differ from their defaults."""
    return {
        each.name: value
        for each in table(type(arguments))
        if (value := getattr(arguments, each.name)) != each.default and each.name not in left_out
    }


def argument_lines(kind: type[Any]) -> list[str]:
    """Return a line per argument: name, default, and meaning with limits."""
    lines = []
    for each in table(kind):
        limits = each.constraints()
        default = f"{each.default}" if each.default != "" else "''"
        lines.append(f"  {each.name}:={default}  {each.description}{f' ({limits})' * bool(limits)}")
    return lines
