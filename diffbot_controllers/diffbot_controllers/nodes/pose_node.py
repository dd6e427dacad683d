# SPDX-License-Identifier: Apache-2.0
"""The pose_controller node: the polar pose law on velocity loops, Lages (2017), (73)-(83).

Subscribes to `joint_states`, `~/command` and `~/reference` (of which only the pose is used: it is
followed with a lag); publishes `effort_controller/commands`, `~/status`
(diffbot_msgs/PoseControllerStatus, once per control period), `~/odom`, `~/state` and `/tf`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.polar_pose import PolarPoseController
from diffbot_controllers.nodes.controller_node import (
    VELOCITY,
    ControllerNode,
    ControllerParameters,
    fill_polar,
    fill_pose,
)
from diffbot_controllers.nodes.linearizing_node import LoopParameters, fill_linearizing_status
from diffbot_controllers.tuning import tuned_polar_pose
from diffbot_description import DynamicParameters, Torque
from diffbot_msgs.msg import PoseControllerStatus
from diffbot_node import parameter
from diffbot_node.parameter_fields import SpeedLimitParameters


@dataclass(frozen=True)
class PoseTrackingParameters(SpeedLimitParameters, ControllerParameters):
    """Parameters of laws that follow poses."""

    direction: str = parameter(
        "either",
        "direction in which the robot arrives at a set point",
        choices=("either", "forwards", "backwards"),
    )
    gammas: tuple[float, ...] = parameter(
        (),
        "rates, 1/s: [gamma_1, gamma_2]; all four with law = published; [] gives the law's own, "
        "tuned to the robot",
        above=0.0,
    )
    lambdas: tuple[float, ...] = parameter(
        (),
        "weights: [lambda_2, lambda_3]; all five with law = published; [] gives the law's own",
        above=0.0,
    )


P_co = TypeVar("P_co", bound=PoseTrackingParameters, covariant=True)


class PoseTrackingNode(ControllerNode[P_co]):
    """Node of a law that follows poses, with the parameters of the law's tuning."""

    def numbers(self, name: str, count: int) -> tuple[float, ...]:
        """Return the parameter `gammas` or `lambdas`; empty for the law's own values.

        Raises:
            ValueError: There are neither `count` numbers nor none.
        """
        numbers: tuple[float, ...] = getattr(self.values, name)
        if len(numbers) not in (0, count):
            raise ValueError(
                f"parameter '{name}' = {list(numbers)}: must be {count} numbers with law = "
                f"{self.law_name}, or [] for its own"
            )
        return numbers

    def tuning(self) -> dict[str, Any]:
        """Return the arguments that tuned_backstepping and tuned_polar_pose share.

        Raises:
            ValueError: A parameter is wrong, or a speed exceeds the robot's own limit.
        """
        values = self.values
        gamma1, gamma2 = self.numbers("gammas", 2) or (None, None)
        lambdas = self.numbers("lambdas", 2)
        bounds = self.robot.speed_limits(values.linear_velocity, values.angular_velocity)
        return {
            "torque_limit": self.torque_limit,
            "linear_velocity": bounds.v,
            "angular_velocity": bounds.omega,
            "direction": values.direction,
            "mean_velocity": values.velocity_source != VELOCITY,
            "gamma1": gamma1,
            "gamma2": gamma2,
            "ratio": lambdas[1] / lambdas[0] if lambdas else None,
        }


@dataclass(frozen=True)
class PoseParameters(LoopParameters, PoseTrackingParameters):
    """Parameters of pose_controller."""


class PoseNode(PoseTrackingNode[PoseParameters]):
    """ROS interface of the polar pose law."""

    def __init__(self) -> None:
        super().__init__("pose_controller", PoseParameters, PoseControllerStatus)

    @property
    def law_name(self) -> str:
        return "polar"

    def make_law(self, dynamics: DynamicParameters, wheels: KnownWheels) -> PolarPoseController:
        values = self.values
        return tuned_polar_pose(
            dynamics,
            **self.tuning(),
            settling_time=values.settling_time,
            damping=values.damping,
            wheels=wheels,
        )

    def fill_status(
        self, status: PoseControllerStatus, stamp: float, dt: float, torque: Torque
    ) -> None:
        record = self.law.record
        status.velocity.header.frame_id = self.values.base_frame
        fill_linearizing_status(status.velocity, stamp, dt, record.loops, torque)
        status.header.stamp = status.velocity.header.stamp
        fill_pose(status.set_point, record.reference)
        fill_pose(status.process_value, record.pose)
        fill_pose(status.offset, record.offset)
        fill_polar(status.polar_error, record.polar)
        status.direction = record.direction
