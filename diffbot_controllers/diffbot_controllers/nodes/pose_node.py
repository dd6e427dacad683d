# SPDX-License-Identifier: Apache-2.0
"""The pose_controller node: the polar pose law on velocity loops, Lages (2017), (73)-(83).

Subscribes to `joint_states`, `~/command` and `~/reference` (of which only the pose is used: it is
followed with a lag); publishes `effort_controller/commands`, `~/status`
(diffbot_msgs/PoseControllerStatus, once per control period), `~/odom`, `~/state` and `/tf`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar

from geometry_msgs.msg import Pose2D

from arc_odometry import Velocity
from diffbot_controllers.laws.friction import Wheels
from diffbot_controllers.laws.polar_pose import PolarPoseController
from diffbot_controllers.nodes.controller_node import (
    VELOCITY,
    ControllerNode,
    ControllerParameters,
    fill_polar,
    fill_pose,
)
from diffbot_controllers.nodes.linearizing_node import LoopParameters, fill_linearizing_status
from diffbot_controllers.nodes.reference_follower import ReferenceInput, at_rest, reference_fields
from diffbot_controllers.tuning import tuned_polar_pose
from diffbot_description import DynamicParameters, Torque
from diffbot_msgs.msg import PoseControllerStatus, PoseReference
from diffbot_node import parameter, seconds
from pose2d_trajectories import Reference
from pose2d_trajectories.reference import FIELDS


@dataclass(frozen=True)
class PoseTrackingParameters(ControllerParameters):
    """Of laws that are told poses."""

    direction: str = parameter(
        "either",
        "in which the robot arrives at a set point",
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
    linear_velocity: float = parameter(0.0, "largest |v|, m/s; 0: the robot's own", minimum=0.0)
    angular_velocity: float = parameter(
        0.0, "largest |omega|, rad/s; 0: the robot's own", minimum=0.0
    )


T_co = TypeVar("T_co", bound=PoseTrackingParameters, covariant=True)


class PoseTrackingNode(ControllerNode[T_co]):
    """ROS side of a law that is told poses; what the two pose controllers share.

    Subscribes to `~/command` (geometry_msgs/Pose2D: a set point, which lasts) and `~/reference`
    (diffbot_msgs/PoseReference: a moving reference, stamped), both in the odom frame.
    """

    def make_input(self) -> ReferenceInput[Reference]:
        """Set points and references."""
        # A set point lasts, so one that comes early is taken.
        self.create_subscription(Pose2D, "~/command", self._on_command, 10)
        values = self.values
        return ReferenceInput(
            values.reference_timeout, Reference.after, self.state_name, values.input_timeout
        )

    def subscribe_to_references(self) -> None:
        """Moving references."""
        self.create_subscription(PoseReference, "~/reference", self._on_reference, 10)

    @property
    def stream(self) -> str:
        """Name of the topic of moving references."""
        return self.resolve_topic_name("~/reference")

    def at_rest(self, reference: Reference) -> bool:
        """Whether the reference stands."""
        return at_rest(reference)

    def speed_limits(self) -> Velocity:
        """Bounds of |v| and |omega|, m/s and rad/s.

        Raises:
            ValueError: more is asked for than the robot may.
        """
        bounds = []
        for name, unit in (("linear_velocity", "m/s"), ("angular_velocity", "rad/s")):
            asked, limit = getattr(self.values, name), getattr(self.robot.limits, name)
            if asked > limit:
                raise ValueError(
                    f"parameter '{name}' = {asked} {unit}: must be <= {limit} {unit}, the limit of "
                    f"robot '{self.robot.name}'; lower it or correct the robot's YAML"
                )
            bounds.append(asked or limit)
        return Velocity(*bounds)

    def numbers(self, name: str, count: int) -> tuple[float, ...]:
        """The parameter `gammas` or `lambdas`; empty for the law's own.

        Raises:
            ValueError: it does not have as many numbers as the law.
        """
        numbers: tuple[float, ...] = getattr(self.values, name)
        if len(numbers) not in (0, count):
            raise ValueError(
                f"parameter '{name}' = {list(numbers)}: must be {count} numbers with law = "
                f"{self.law_name}, or [] for its own"
            )
        return numbers

    def tuning(self) -> dict[str, Any]:
        """Arguments of `tuned_backstepping` and `tuned_polar_pose` that the parameters give."""
        gamma1, gamma2 = self.numbers("gammas", 2) or (None, None)
        lambdas, bounds = self.numbers("lambdas", 2), self.speed_limits()
        return {
            "torque_limit": self.torque_limit,
            "linear_velocity": bounds.v,
            "angular_velocity": bounds.omega,
            "direction": self.values.direction,
            "mean_velocity": self.values.velocity_source != VELOCITY,
            "gamma1": gamma1,
            "gamma2": gamma2,
            "ratio": lambdas[1] / lambdas[0] if lambdas else None,
        }

    def _on_command(self, message: Pose2D) -> None:
        if self.count_publishers(self.stream):
            self.complain(
                f"set point left out: references come on {self.stream}; stop their publisher first"
            )
            return
        self.take(None, Reference, {name: getattr(message, name) for name in FIELDS[:3]})

    def _on_reference(self, message: PoseReference) -> None:
        fields = reference_fields(self, message, self.values.odom_frame)
        self.take(seconds(message.header.stamp), Reference, fields)


@dataclass(frozen=True)
class PoseParameters(LoopParameters, PoseTrackingParameters):
    """Of pose_controller."""


class PoseNode(PoseTrackingNode[PoseParameters]):
    """ROS side of the polar pose law."""

    def __init__(self) -> None:
        super().__init__("pose_controller", PoseParameters, PoseControllerStatus)

    @property
    def law_name(self) -> str:
        """Which law it is."""
        return "polar"

    def make_law(self, dynamics: DynamicParameters, wheels: Wheels) -> PolarPoseController:
        """The law with gains for the robot."""
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
        """Every variable of the law."""
        record = self.law.record
        status.velocity.header.frame_id = self.values.base_frame
        fill_linearizing_status(status.velocity, stamp, dt, record.loops, torque)
        status.header.stamp = status.velocity.header.stamp
        fill_pose(status.set_point, record.reference)
        fill_pose(status.process_value, record.pose)
        fill_pose(status.offset, record.offset)
        fill_polar(status.polar_error, record.polar)
        status.direction = record.direction
