"""The pose_controller node: the polar pose law on velocity loops, Lages (2017), (73)-(83).

Subscribes to `joint_states`, `~/command` and `~/reference` (of which only the pose is used: it is
followed with a lag); publishes `effort_controller/commands`, `~/status`
(diffbot_msgs/PoseControllerStatus, once per control period), `~/odom`, `~/state` and `/tf`.
"""

from __future__ import annotations

from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.linearizing_node import LOOP_PARAMETERS
from diffbot_controllers.motion import Torque
from diffbot_controllers.polar_pose import PolarPoseController
from diffbot_controllers.pose_tracking_node import POSE_PARAMETERS, PoseTrackingNode
from diffbot_controllers.status_messages import fill_pose_status
from diffbot_controllers.tuning import tuned_polar_pose
from diffbot_msgs.msg import PoseControllerStatus
from diffbot_node import Parameter

PARAMETERS = (
    *POSE_PARAMETERS,
    *LOOP_PARAMETERS,
    Parameter("gammas", (), "[gamma_1, gamma_2], 1/s; []: tuned to the robot", above=0.0),
    Parameter("lambdas", (), "[lambda_2, lambda_3]; []: the law's own", above=0.0),
)


class PoseNode(PoseTrackingNode):
    """ROS side of the polar pose law."""

    def __init__(self) -> None:
        super().__init__("pose_controller", PARAMETERS)
        self._status = PoseControllerStatus()
        self._status.header.frame_id = self.values.odom_frame
        self._status.velocity.header.frame_id = self.values.base_frame
        self._status_topic = self.create_publisher(PoseControllerStatus, "~/status", 100)

    @property
    def law_name(self) -> str:
        """Which law it is."""
        return "polar"

    def listened_to(self) -> int:
        """Subscribers of `~/status`."""
        return self._status_topic.get_subscription_count()

    def make_law(self, dynamics: BodyDynamics) -> PolarPoseController:
        """The law with gains for the robot."""
        values, bounds = self.values, self.speed_limits()
        for name in ("gammas", "lambdas"):
            if len(getattr(values, name)) not in (0, 2):
                raise ValueError(
                    f"parameter '{name}' = {list(getattr(values, name))}: must be 2 numbers, or []"
                )
        gamma1, gamma2 = values.gammas or (None, None)
        return tuned_polar_pose(
            dynamics,
            self.torque_limit,
            bounds.v,
            bounds.omega,
            values.direction,
            mean_velocity=values.velocity_source == "position",
            gamma1=gamma1,
            gamma2=gamma2,
            ratio=values.lambdas[1] / values.lambdas[0] if values.lambdas else None,
            settling_time=values.settling_time,
            damping=values.damping,
        )

    def publish_status(self, stamp: float, dt: float, torque: Torque) -> None:
        """Publish every variable of the law."""
        fill_pose_status(self._status, stamp, dt, self.law.record, torque)
        self._status_topic.publish(self._status)
