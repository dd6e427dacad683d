# SPDX-License-Identifier: Apache-2.0
"""NaN and infinity in every numeric parameter and gain, and in every number of a robot's file."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml
from geometry_msgs.msg import TwistStamped
from rclpy.node import Node
from std_msgs.msg import Float64MultiArray

from diffbot_description import load_robot
from faults.bus import Bus
from faults.robots import CommandHistory
from faults.row import Outcome, Promise, Row
from faults.rows.making import NO_ENGINE
from faults.scene import BACKSTEP, IDENT, LINEARIZING, POSE, TRACKING

GROUP = "NaN and inf in parameters and gains"
VALUES = (math.nan, math.inf, -math.inf)
# Parameters of rclpy's own.
FOREIGN = ("use_sim_time", "start_type_description_service")


def _estimator() -> type[Node]:
    from diffbot_ident.estimator_node import EstimatorNode

    return EstimatorNode


def _trajectory() -> type[Node]:
    from pose2d_trajectories.trajectory_node import TrajectoryNode

    return TrajectoryNode


def _steps() -> type[Node]:
    from pose2d_trajectories.trajectory_node import VelocityStepsNode

    return VelocityStepsNode


def _watchdog() -> type[Node]:
    from diffbot_node.effort_watchdog_node import EffortWatchdogNode

    return EffortWatchdogNode


NODES: dict[str, tuple[Callable[[], type[Node]], dict[str, Any]]] = {
    **{s.name: (s.kind, s.parameters) for s in (IDENT, BACKSTEP, POSE, LINEARIZING, TRACKING)},
    "effort_watchdog": (_watchdog, {}),
    "dynamics_estimator": (_estimator, {}),
    "trajectory_publisher": (_trajectory, {}),
    "velocity_steps": (_steps, {}),
}


def _numeric(kind: type[Node], parameters: dict[str, Any]) -> dict[str, Any]:
    """Return names and values of the numeric parameters of a healthy node."""
    with Bus() as bus:
        member = bus.add(kind, **parameters)
        if member.node is None:
            raise ValueError(f"{kind.__name__} was not made: {member.log}")
        parameters_by_prefix = member.node.get_parameters_by_prefix("")
        return {
            name: parameter.value
            for name, parameter in parameters_by_prefix.items()
            if name not in FOREIGN and not isinstance(parameter.value, (bool, str))
        }


def refused(node: str, values: Sequence[float] = VALUES) -> Outcome:
    """Each value in each parameter: no node, no torque, and an error that names the parameter.

    Args:
        node: One of NODES.
        values: Invalid values for any parameter.
    """
    kind, parameters = NODES[node][0](), NODES[node][1]
    limit = load_robot("twil").limits.traction
    history, result, count = CommandHistory((limit, limit), limit), [], 0
    for name, good in _numeric(kind, parameters).items():
        for value in values:
            wrong = value if isinstance(good, (int, float)) else [1.0, value]
            with Bus() as bus:
                _record(bus, history)
                member = bus.add(kind, **{**parameters, name: wrong})
                bus.advance(bus.time + 0.02)
                said = member.said(f"'{name}") or member.said(name, str(value))
                status = member.status
            count += 1
            if status != 1 or not said:
                result.append(f"{name} = {value}: status {status}, said {member.log}")
    if not count:
        result.append("no parameter was tried")
    return Outcome(None, history.worst(), limit, tuple(result), f"{count} cases")


def _record(bus: Bus, history: CommandHistory) -> None:
    """Record the commands of all nodes."""
    bus.subscribe(
        Float64MultiArray,
        "effort_controller/commands",
        lambda message: history.add(bus.time, tuple(message.data)),
    )
    bus.subscribe(
        TwistStamped,
        "cmd_vel",
        lambda message: history.add(bus.time, (message.twist.linear.x, message.twist.angular.z)),
    )


def _row(name: str) -> Row:
    def run(_engine: str) -> Outcome:
        return refused(name)

    return Row(GROUP, f"each parameter: {name}", Promise.REFUSES, (NO_ENGINE,), run)


def _places(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the paths of all numbers of a document."""
    if isinstance(document, dict):
        for key, value in document.items():
            yield from _places(value, (*path, key))
    elif isinstance(document, list):
        for index, value in enumerate(document):
            yield from _places(value, (*path, index))
    elif isinstance(document, (int, float)) and not isinstance(document, bool):
        yield path


def _robot_file(_engine: str) -> Outcome:
    """NaN and infinity in each number of a robot's file, which nodes read first."""
    limit, result, count = load_robot("twil").limits.traction, [], 0
    text = Path(load_robot("twil").path).read_text(encoding="utf-8")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "given.yaml"
        for place in _places(yaml.safe_load(text)):
            for value in VALUES[:2]:
                document = yaml.safe_load(text)
                owner = functools.reduce(lambda part, key: part[key], place[:-1], document)
                owner[place[-1]] = value
                path.write_text(yaml.safe_dump(document), encoding="utf-8")
                count += 1
                names = [str(key) for key in place if isinstance(key, str)]
                try:
                    load_robot(path)
                    result.append(f"{'.'.join(map(str, place))} = {value} was taken")
                except ValueError as error:
                    if not all(name in str(error) for name in names):
                        result.append(f"{place}: not named in: {error}")
    return Outcome(None, 0.0, limit, tuple(result), f"{count} cases")


ROWS = (
    *(_row(name) for name in NODES),
    Row(GROUP, "each number of a robot's file", Promise.REFUSES, (NO_ENGINE,), _robot_file),
)
