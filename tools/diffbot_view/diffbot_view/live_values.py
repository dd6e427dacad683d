# SPDX-License-Identifier: Apache-2.0
"""Fills a live view's store from messages; the only module here that reads their fields.

Messages are those of a graph or of a recording. Times count from the first stamp.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from arc_odometry import DiffOdometry, JointSample
from diffbot_description import Robot
from diffbot_ident.estimate import NORMAL_95
from diffbot_report.controller_topics import CONTROLLERS, TORQUE, VELOCITY, StatusFields
from diffbot_report.robot_silhouette import RobotSilhouette
from diffbot_view.store import Store

# Minimum time between two rows of each series, s. Their columns:
#   pose, reference   x, y, theta, m, m, rad, in the odom frame
#   wheels            angles [left, right], rad; torques that acted, N m
#   command           commands: torques [left, right], N m, or [v, omega], m/s, rad/s
#   speed             [v, omega], and their desired values, m/s, rad/s
#   parameters        K5 to K8, or sigma1 to sigma4, each with its standard deviation
#   in_use            the parameters that the law uses
#   information       gained information about K5 to K8, and its prediction, bits
SPACING = {
    "pose": 0.03,
    "reference": 0.03,
    "wheels": 0.04,
    "command": 0.04,
    "speed": 0.04,
    "parameters": 0.1,
    "in_use": 0.1,
    "information": 0.1,
}
PHASES = {
    "IdentStatus": ("waiting", "exciting", "done", "stopped", "verifying"),
    "ControllerState": ("waiting", "driving", "done", "stopped"),
}
STATES = ("not estimated", "estimated", "invalid")
VERDICTS = ("not verified", "verified", "refuted")
GATES = ("waiting", "following", "frozen")
SIGMA = ("σ1", "σ2", "σ3", "σ4")

# By quality; a better source replaces the others.
WHEELS, ODOMETRY, STATUS = 1, 2, 3


@dataclass(frozen=True)
class ShownNode:
    """State of a node as shown.

    Attributes:
        level: "good", "caution", "bad" or "quiet".
        text: Its state in words.
        commands: Whether it commands the robot, and can be enabled.
        stopped: Whether it is stopped until somebody enables it.
        pressed: Whether it has received a pressed emergency stop.
    """

    name: str
    level: str
    text: str
    commands: bool = False
    stopped: bool = False
    pressed: bool = False


class Readings:
    """Reads messages of a robot into a store."""

    def __init__(self, robot: Robot, store: Store) -> None:
        self._store = store
        self._begin: float | None = None
        self._newest = 0.0
        self._source = 0
        self.use_robot(robot)
        self._readers: dict[str, Callable[[str, float, Any], None]] = {
            "JointState": self._joint_state,
            "Odometry": self._odom,
            "IdentStatus": self._ident_status,
            "ControllerState": self._controller_state,
            "DynamicParameters": self._dynamic_parameters,
            "VelocityParameters": self._velocity_parameters,
            "AdaptationStatus": self._adaptation,
            "Verification": self._verification,
            "DiagnosticArray": self._diagnostics,
        }
        for fields in CONTROLLERS.values():
            self._readers[fields.message] = self._status_reader(fields)
        store.set(nodes=[], runs={})

    def use_robot(self, robot: Robot) -> None:
        """Use this robot from now on."""
        self._robot = robot
        self._joints = robot.joint_reader(("position",))
        self._odometry = DiffOdometry(robot.geometry)
        self._store.set(robot=shape_of(robot))

    @property
    def kinds(self) -> frozenset[str]:
        """Names of the message types that are read."""
        return frozenset(self._readers)

    def take(self, topic: str, kind: str, message: Any) -> None:
        """Process a message of one of `kinds`, with a header; unusable content is skipped."""
        stamp = message.header.stamp
        time = stamp.sec + 1e-9 * stamp.nanosec
        if self._begin is None and kind != "DiagnosticArray":
            self._begin = time
        time -= self._begin or 0.0
        if kind == "JointState":
            self._newest = time
        # Anybody in the graph may send states and numbers that do not exist.
        with contextlib.suppress(ArithmeticError, LookupError, ValueError):
            self._readers[kind](topic, time, message)

    def take_torques(self, message: Any) -> None:
        """Process a Float64MultiArray of commanded efforts, one for each joint.

        It has no stamp, and counts at the time of the newest joint state.
        """
        if len(message.data) == len(self._robot.joints.names):
            efforts = self._robot.joints.summed(list(message.data))
            torques = self._robot.drive.torque_of(efforts)
            self._store.add("command", self._newest, map(float, torques))

    def node_state(self, state: ShownNode) -> None:
        """Replace a node's state."""
        others = [each for each in self._store.get("nodes") if each["name"] != state.name]
        nodes = sorted([*others, vars(state)], key=lambda each: str(each["name"]))
        self._store.set(nodes=nodes)

    # The robot.

    def _place(self, source: int, time: float, pose: Sequence[float]) -> None:
        if source >= self._source and all(map(math.isfinite, pose)):
            self._source = source
            self._store.add("pose", time, pose)

    def _joint_state(self, _topic: str, time: float, message: Any) -> None:
        if not self._joints.concerns(message.name):
            return
        try:
            sample = self._joints.read(
                max(time, 0.0), message.name, message.position, message.velocity, message.effort
            )
        except ValueError:
            return  # the nodes that command the robot report it
        self._store.add("wheels", time, (*sample.position, *sample.effort))
        if self._source <= WHEELS:
            self._follow_wheels(sample)

    def _follow_wheels(self, sample: JointSample) -> None:
        try:
            self._odometry.update(sample.stamp, sample.position)
        except ValueError:
            self._odometry.restart()
            return
        pose = self._odometry.pose
        self._place(WHEELS, sample.stamp, (pose.x, pose.y, pose.theta))
        velocity = self._odometry.velocity
        self._store.add("speed", sample.stamp, (velocity.v, velocity.omega, math.nan, math.nan))

    def _odom(self, _topic: str, time: float, message: Any) -> None:
        at, turn = message.pose.pose.position, message.pose.pose.orientation
        theta = 2.0 * math.atan2(turn.z, turn.w)
        self._place(ODOMETRY, time, (at.x, at.y, theta))
        if self._source <= ODOMETRY:
            twist = message.twist.twist
            self._store.add("speed", time, (twist.linear.x, twist.angular.z, math.nan, math.nan))

    # Identification.

    def _ident_status(self, topic: str, time: float, message: Any) -> None:
        store, arena = self._store, [float(side) for side in message.arena]
        self._place(STATUS, time, [float(part) for part in message.pose])
        store.add(
            "speed", time, (message.linear_velocity, message.angular_velocity, math.nan, math.nan)
        )
        store.add("command", time, map(float, message.command))
        store.add("information", time, (message.information, message.predicted_information))
        store.set(arena=arena if min(arena) > 0.0 else None)
        self._run(topic, "IdentStatus", message)

    def _dynamic_parameters(self, topic: str, time: float, message: Any) -> None:
        values = [message.k5, message.k6, message.k7, message.k8]
        if "ground_truth" in topic:
            self._store.set(truth=[float(value) for value in values])
            return
        stds = [_root(variance) for variance in message.covariance_diagonal]
        self._estimate(time, TORQUE.parameters, TORQUE.parameter_units, values, stds)
        self._store.set(**estimate_content(message))

    def _verification(self, _topic: str, _time: float, message: Any) -> None:
        self._store.set(
            verification={"passed": bool(message.passed), "reason": str(message.reason)}
        )

    def _estimate(
        self,
        time: float,
        names: Sequence[str],
        units: Sequence[str],
        values: Sequence[float],
        stds: Sequence[float],
    ) -> None:
        row = [part for pair in zip(values, stds, strict=True) for part in pair]
        self._store.add("parameters", time, map(float, row))
        self._store.set(
            parameters=[
                {"name": name, "unit": unit, "value": float(value), "half": NORMAL_95 * std}
                for name, unit, value, std in zip(names, units, values, stds, strict=True)
            ]
        )

    # Driving.

    def _controller_state(self, topic: str, time: float, message: Any) -> None:
        values = [message.k5, message.k6, message.k7, message.k8]
        if any(values):
            self._store.add("in_use", time, values)
            self._store.set(in_use=values, in_use_from=str(message.parameters_source))
        if message.torque_limit > 0.0:
            self._store.set(limit=float(message.torque_limit))
        self._run(topic, "ControllerState", message)

    def _adaptation(self, _topic: str, time: float, message: Any) -> None:
        self._store.add("in_use", time, map(float, message.in_use))
        self._store.set(
            in_use=[float(value) for value in message.in_use],
            gates={
                "state": GATES[int(message.state)],
                "reason": message.reason,
                "gates": [
                    [name, bool(passed)]
                    for name, passed in zip(message.gates, message.passed, strict=True)
                ],
            },
        )

    def _velocity_parameters(self, topic: str, time: float, message: Any) -> None:
        values = [float(value) for value in message.sigma]
        if "ground_truth" in topic:
            self._store.set(truth=values)
            return
        stds = [_root(variance) for variance in message.covariance_diagonal]
        self._estimate(time, SIGMA, VELOCITY.parameter_units, values, stds)
        self._store.set(delays=[float(delay) for delay in message.dead_time])

    def _status_reader(self, fields: StatusFields) -> Callable[[str, float, Any], None]:
        poses = [attrgetter(*names) for names in (fields.reference, fields.odometry) if names]
        wanted, velocity = attrgetter(fields.wanted), attrgetter(fields.velocity)
        command, unit = attrgetter(fields.command), fields.commanded.what
        store = self._store

        def read(_topic: str, time: float, message: Any) -> None:
            if poses:
                reference, odometry = (list(map(float, get(message))) for get in poses)
                store.add("reference", time, reference)
                self._place(STATUS, time, odometry)
            store.add("speed", time, map(float, (*velocity(message), *wanted(message))))
            store.add("command", time, map(float, command(message)))
            store.set(commanded=unit)

        return read

    def _run(self, topic: str, kind: str, message: Any) -> None:
        phase = PHASES[kind][int(message.phase)]
        run = {
            "phase": phase,
            "message": str(message.message),
            "elapsed": round(float(message.elapsed), 2),
            "duration": float(message.duration),
        }
        node = topic.strip("/").rpartition("/")[0] or topic
        self._store.set(runs={**self._store.get("runs"), node: run})

    def _diagnostics(self, _topic: str, _time: float, message: Any) -> None:
        for status in message.status:
            self.node_state(shown_node(status))


def shown_node(status: Any) -> ShownNode:
    """Return the state of a node by its DiagnosticStatus."""
    name, _, about = str(status.name).partition(": ")
    values = {str(each.key): str(each.value) for each in status.values}
    stop = values.get("emergency stop", "not pressed")
    level = status.level if isinstance(status.level, int) else status.level[0]
    commands = about == "commands"
    if not commands and about:
        name = f"{name} ({about})"
    return ShownNode(
        name=name,
        level=("good", "caution", "bad", "quiet")[min(level, 3)],
        text=str(status.message),
        commands=commands,
        stopped=commands and values.get("state") == "stopped",
        pressed=commands and stop != "not pressed",
    )


def estimate_content(message: Any) -> dict[str, Any]:
    """Return what is shown of a DynamicParameters besides its values."""
    return {
        "said": [
            {"state": STATES[int(state)], "reason": reason, "coverage": float(coverage)}
            for state, reason, coverage in zip(
                message.parameter_state, message.parameter_reason, message.coverage, strict=True
            )
        ],
        "estimate": {
            "state": STATES[int(message.state)],
            "reason": message.reason,
            "warnings": list(message.warnings),
            "verification": VERDICTS[int(message.verification)],
            "samples": int(message.samples),
        },
        "friction": _with_half_widths(message.friction, message.friction_variance),
        "gear_loss": _with_half_widths(message.gear_loss, message.gear_loss_variance),
        "delay": float(message.torque_delay),
    }


def _with_half_widths(values: Sequence[float], variances: Sequence[float]) -> list[list[float]]:
    return [
        [float(value), NORMAL_95 * _root(variance)]
        for value, variance in zip(values, variances, strict=True)
    ]


def shape_of(robot: Robot) -> dict[str, Any]:
    """Return a robot's shape, m; x forward from the axle, y to the left, z up from the ground."""
    silhouette = RobotSilhouette.of(robot)
    hull, wheels, look = robot.body.shape, robot.wheels, robot.appearance
    return {
        "name": robot.name,
        "hull": [[round(x, 4), round(y, 4)] for x, y in silhouette.body.tolist()],
        "nose": [[round(x, 4), round(y, 4)] for x, y in silhouette.nose.tolist()],
        "bottom": hull.bottom,
        "top": hull.top,
        "radius": wheels.radius,
        "width": wheels.width,
        "separation": wheels.separation,
        "casters": [[each.x, each.y, each.radius, each.clearance] for each in robot.casters],
        "body": list(look.body),
        "accent": list(look.accent),
        "limit": robot.limits.traction,
    }


def _root(variance: float) -> float:
    return math.sqrt(variance) if variance >= 0.0 else math.nan
