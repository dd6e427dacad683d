# SPDX-License-Identifier: Apache-2.0
"""The backstep_controller node: non-smooth backstepping, Lages (2018).

Subscribes to `joint_states`, `~/command` and `~/reference`; publishes `effort_controller/commands`,
`~/status` (diffbot_msgs/BackstepStatus, once per control period), `~/odom`, `~/state` and `/tf`.
"""

from __future__ import annotations

from dataclasses import dataclass

from arc_odometry import Velocity
from diffbot_controllers.laws.backstepping_published import NonsmoothGains, PublishedBackstepping
from diffbot_controllers.laws.backstepping_standard import StandardBackstepping
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.nodes.controller_node import fill_polar, fill_pose
from diffbot_controllers.nodes.pose_node import PoseTrackingNode, PoseTrackingParameters
from diffbot_controllers.tuning import tuned_backstepping
from diffbot_description import DynamicParameters, Torque
from diffbot_msgs.msg import BackstepStatus
from diffbot_node import parameter, to_stamp


@dataclass(frozen=True)
class BackstepParameters(PoseTrackingParameters):
    """Parameters of backstep_controller."""

    law: str = parameter(
        "standard",
        "the corrected, practical law, or Listing 3 to the letter (within the torque limits)",
        choices=("standard", "published"),
    )
    time_step: float = parameter(
        0.01, "control period of law = published, s", above=0.0, maximum=1.0
    )


class BackstepNode(PoseTrackingNode[BackstepParameters]):
    """ROS interface of the backstepping laws."""

    def __init__(self) -> None:
        super().__init__("backstep_controller", BackstepParameters, BackstepStatus)
        if self.law_name == "published" and self.torque_limit < self.robot.limits.torque:
            self.get_logger().warning(
                "law = published ignores torque limits and may not arrive with "
                f"{self.torque_limit:g} N m; raise torque_limit, up to the motors' "
                f"{self.robot.limits.torque:g} N m"
            )

    @property
    def law_name(self) -> str:
        return self.values.law

    def make_law(
        self, dynamics: DynamicParameters, wheels: KnownWheels
    ) -> StandardBackstepping | PublishedBackstepping:
        values = self.values
        if self.law_name == "standard":
            law = tuned_backstepping(dynamics, **self.tuning(), wheels=wheels)
            bounds = law.gains
            self.fastest = Velocity(bounds.linear_velocity, bounds.angular_velocity)
            return law
        default = NonsmoothGains()
        gains = NonsmoothGains(
            self.numbers("lambdas", 5) or default.lambdas,
            self.numbers("gammas", 4) or default.gammas,
        )
        return PublishedBackstepping(
            dynamics,
            gains,
            values.time_step,
            self.torque_limit,
            wheels,
            # Without this limit the last torque could drive the robot forever.
            longest_hold=values.input_timeout,
        )

    def fill_status(self, status: BackstepStatus, stamp: float, dt: float, torque: Torque) -> None:
        record = self.law.record
        status.header.stamp = to_stamp(stamp)
        fill_pose(status.set_point, record.set_point)
        fill_pose(status.process_value, record.process_value)
        fill_pose(status.process_value_dot, record.process_value_dot)
        fill_pose(status.error, record.error)
        fill_polar(status.polar_error, record.polar_error)
        status.time_step = record.time_step
        status.command[:] = torque
        status.lambdas, status.gammas = record.lambdas, record.gammas
        status.backstep_set_point[:] = record.backstep_set_point
        status.backstep_set_point_dot[:] = record.backstep_set_point_dot
        status.backstep_process_value[:] = record.backstep_process_value
        status.backstep_error[:] = record.backstep_error
        status.backstep_command[:] = record.backstep_command
        status.linear_dynamics_command[:] = record.linear_dynamics_command
        status.mode = record.mode.value
