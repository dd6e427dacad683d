# SPDX-License-Identifier: Apache-2.0
"""Arguments NAME:=VALUE of `diffbot simulate`, whose table is a dataclass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from diffbot_description.files import closest
from diffbot_node.parameter_fields import Parameter, Value, parameter, table
from diffbot_report.summary import SHOWN
from diffbot_sim.engines import ENGINES
from diffbot_sim.simulated_velocity_robot import VelocityRobotParameters
from diffbot_sim.simulator_parameters import MovedRobot, NoiseParameters
from pose2d_trajectories.shapes import TRAJECTORIES, options_of

A = TypeVar("A")
V = TypeVar("V", bound=Value)


def replaced(kind: type[Any], name: str, default: V) -> V:
    """Return the field of a parameter with another default."""
    (own,) = (each for each in fields(kind) if each.name == name)
    return field(default=default, metadata=own.metadata)


_WORDS = {"true": True, "1": True, "false": False, "0": False}


VELOCITY = "velocity"
"""Simulator of robots that take velocities."""
RECORDS = ("none", "mcap", "sqlite3")


@dataclass(frozen=True)
class RunArguments(MovedRobot, NoiseParameters):
    """Arguments of every simulated run."""

    sim: str = parameter(
        ENGINES[0],
        "simulator: ideal (closed-form model), mujoco (contact physics; needs the package mujoco) "
        "or gazebo (Gazebo 11)",
        choices=ENGINES,
    )
    results: str = parameter(
        "",
        "folder of the results, which must not hold those of another run; empty: "
        "results/<date>-<run>",
    )
    report: str = parameter(
        SHOWN[0],
        "files besides numbers and recording: all, html (only report.html) or png (only pictures)",
        choices=SHOWN,
    )
    record: str = parameter(
        "none",
        "bag of the robot's states and commands, in the folder recording of the results",
        choices=RECORDS,
    )


@dataclass(frozen=True)
class PathArguments(RunArguments):
    """Arguments of runs along a trajectory."""

    trajectory: str = parameter("figure_eight", "path to follow", choices=tuple(TRAJECTORIES))
    laps: int = parameter(2, "laps of a closed trajectory", minimum=1)
    duration: float = parameter(
        0.0, "robot time to drive, s; 0: to the end of the trajectory", minimum=0.0
    )

    @property
    def laps_of_path(self) -> dict[str, Any]:
        """The option `laps`, for a trajectory that has it."""
        return {"laps": self.laps} if "laps" in options_of(self.trajectory) else {}


@dataclass(frozen=True)
class VelocityArguments(RunArguments, VelocityRobotParameters):
    """Arguments of runs of robots that take velocities; the robot is that of launch ident."""

    robot: str = replaced(MovedRobot, "robot", "turtlebot2")
    sim: str = parameter(
        VELOCITY, "simulator of a robot that takes velocities", choices=(VELOCITY,)
    )
    sigma: tuple[float, float, float, float] = replaced(
        VelocityRobotParameters, "sigma", (0.2, 0.15, 1.0, 1.0)
    )
    dead_time: float = replaced(VelocityRobotParameters, "dead_time", 0.1)
    dead_band: tuple[float, float] = replaced(VelocityRobotParameters, "dead_band", (0.02, 0.06))
    velocity_noise: tuple[float, float] = replaced(
        VelocityRobotParameters, "velocity_noise", (0.002, 0.005)
    )
    period: float = parameter(0.01, "control period, s", above=0.0, maximum=0.1)


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
        value = known[name].check(_value_of(known[name], text))
        if isinstance(value, tuple) and len(value) != len(getattr(kind, name)):
            example = _text_of(known[name].default)
            raise ValueError(f"argument {name!r} = {text!r}: must be as many numbers as {example}")
        given[name] = value
    return kind(**given)


def _value_of(own: Parameter, text: str) -> Any:
    """Return the text as the parameter's type; unchanged where it is none, for its check."""
    try:
        if isinstance(own.default, bool):
            return _WORDS.get(text.lower(), text)
        return type(own.default)(text) if isinstance(own.default, (int, float)) else text
    except ValueError:
        return text


def _text_of(value: Value) -> str:
    """Return a value as it is given in an argument."""
    return ",".join(f"{each:g}" for each in value) if isinstance(value, tuple) else f"{value}"


def given_arguments(arguments: Any, *left_out: str) -> dict[str, Any]:
    """Return the arguments that differ from their defaults."""
    return {
        each.name: _text_of(value) if isinstance(value, tuple) else value
        for each in table(type(arguments))
        if (value := getattr(arguments, each.name)) != each.default and each.name not in left_out
    }


def argument_lines(kind: type[Any]) -> list[str]:
    """Return a line per argument: name, default, and meaning with limits."""
    lines = []
    for each in table(kind):
        limits = each.constraints()
        default = _text_of(each.default) or "''"
        lines.append(f"  {each.name}:={default}  {each.description}{f' ({limits})' * bool(limits)}")
    return lines
