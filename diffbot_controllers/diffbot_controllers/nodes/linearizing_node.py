# SPDX-License-Identifier: Apache-2.0
"""The linearizing_controller node: feedback linearization and PI, Lages (2017), (61)-(72).

Subscribes to `joint_states` and `cmd_vel` (geometry_msgs/TwistStamped, or Twist with stamped =
false; linear.x and angular.z are used); publishes `effort_controller/commands`, `~/status`
(diffbot_msgs/LinearizingStatus, once per control period), `~/odom`, `~/state` and `/tf`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from geometry_msgs.msg import Twist, TwistStamped

from arc_odometry import REST, MotionLimits, Velocity
from arc_odometry.number_range import check_finite
from diffbot_controllers.laws.feedback_linearization import (
    PUBLISHED,
    LinearizingController,
    LinearizingRecord,
    PiDesign,
)
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion import State
from diffbot_controllers.nodes.controller_node import VELOCITY, ControllerNode, ControllerParameters
from diffbot_controllers.nodes.references import ReferenceParameters, ReferenceSource
from diffbot_description import DynamicParameters, Torque
from diffbot_msgs.msg import LinearizingStatus
from diffbot_node import CommandNode, parameter, seconds, to_stamp


@dataclass(frozen=True)
class LoopParameters:
    """Parameters of the velocity loops."""

    settling_time: float = parameter(
        0.05, "settling time of the velocity loops to within 1 %, s", above=0.0, maximum=10.0
    )
    damping: float = parameter(
        1.0, "damping ratio of the velocity loops' pole pair", above=0.0, maximum=10.0
    )


@dataclass(frozen=True)
class LinearizingParameters(LoopParameters, ControllerParameters):
    """Parameters of linearizing_controller."""

    law: str = parameter(
        "standard",
        "gains by the discrete design for the control period at hand, or those of (71), (72)",
        choices=("standard", "published"),
    )
    stamped: bool = parameter(True, "whether cmd_vel is a TwistStamped; else a Twist")


def velocity_command(v: float, omega: float) -> Velocity:
    """Return a velocity command, m/s and rad/s; a ValueError if a number is not finite."""
    check_finite("cmd_vel", linear_x=v, angular_z=omega)
    return Velocity(v, omega)


def _stuck(command: Velocity, _duration: float) -> Velocity:
    """Return a velocity command unchanged: it applies until the next one."""
    return command


class VelocityCommands(ReferenceSource[Velocity]):
    """Velocities on `cmd_vel`; `now` returns the stamp for those without one, s."""

    def __init__(
        self,
        node: CommandNode[ReferenceParameters],
        stamped: bool,
        now: Callable[[], float],
    ) -> None:
        super().__init__(node, "cmd_vel", _stuck)
        self._stamped, self._now = stamped, now

    def subscribe(self) -> None:
        kind, callback = (
            (TwistStamped, self._on_stamped) if self._stamped else (Twist, self._on_twist)
        )
        self._node.create_subscription(kind, "cmd_vel", callback, 10)

    def at_rest(self, reference: Velocity) -> bool:
        return reference == REST

    def _on_stamped(self, message: TwistStamped) -> None:
        stamp = seconds(message.header.stamp)
        # Teleoperation tools without a clock leave the stamp at 0.
        self._take(message.twist, stamp if stamp > 0.0 else self._now())

    def _on_twist(self, message: Twist) -> None:
        self._take(message, self._now())

    def _take(self, twist: Twist, stamp: float) -> None:
        self.take(stamp, velocity_command, {"v": twist.linear.x, "omega": twist.angular.z})


class LinearizingNode(ControllerNode[LinearizingParameters]):
    """ROS interface of the velocity loops."""

    def __init__(self) -> None:
        super().__init__("linearizing_controller", LinearizingParameters, LinearizingStatus)

    def make_references(self) -> VelocityCommands:
        return VelocityCommands(self, self.values.stamped, lambda: self.run.newest)

    @property
    def law_name(self) -> str:
        return self.values.law

    def make_law(self, dynamics: DynamicParameters, wheels: KnownWheels) -> LinearizingController:
        values = self.values
        published = values.law == "published"
        return LinearizingController(
            dynamics,
            PUBLISHED if published else PiDesign(values.settling_time, values.damping),
            self.torque_limit,
            mean_velocity=values.velocity_source != VELOCITY and not published,
            published=published,
            wheels=wheels,
        )

    def drive(self, state: State, reference: Velocity, dt: float) -> Torque:
        limits = self.robot.limits
        most = MotionLimits(
            limits.linear_velocity, limits.angular_velocity, rims=self.robot.rim_limit
        )
        bounded = most.velocity(reference, state.velocity.v)
        if bounded != reference:
            wheels = limits.wheel_velocity
            and_wheels = "" if wheels is None else f", wheels {wheels:g} rad/s"
            self.complain(
                f"cmd_vel asks for {reference.v:g} m/s, {reference.omega:g} rad/s: limited to the "
                f"{limits.linear_velocity:g} m/s, {limits.angular_velocity:g} rad/s{and_wheels} of "
                f"robot '{self.robot.name}'"
            )
        return super().drive(state, bounded, dt)

    def fill_status(
        self, status: LinearizingStatus, stamp: float, dt: float, torque: Torque
    ) -> None:
        status.header.frame_id = self.values.base_frame
        fill_linearizing_status(status, stamp, dt, self.law.record, torque)


def fill_linearizing_status(
    status: LinearizingStatus, stamp: float, dt: float, record: LinearizingRecord, command: Torque
) -> None:
    """Write a record, its stamp and period in s and the commanded torque in N m to a message."""
    status.header.stamp = to_stamp(stamp)
    status.set_point[:] = record.reference
    status.process_value[:] = record.velocity
    status.error[:] = record.error
    status.integral[:] = record.integral
    status.linear_dynamics_command[:] = record.nu
    status.drift[:] = record.drift
    status.unlimited_command[:] = record.unlimited
    status.command[:] = command
    status.time_step = dt
    gains = record.gains
    status.kp, status.ki, status.weight = float(gains.kp), float(gains.ki), float(gains.weight)
