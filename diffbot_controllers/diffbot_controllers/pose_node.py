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


class PoseNode(PoseTrackingNode):
    """ROS side of the polar pose law."""

    def __init__(self) -> None:
        parameters = (*POSE_PARAMETERS, *LOOP_PARAMETERS)
        super().__init__("pose_controller", parameters, PoseControllerStatus)

    @property
    def law_name(self) -> str:
        """Which law it is."""
        return "polar"

    def make_law(self, dynamics: BodyDynamics) -> PolarPoseController:
        """The law with gains for the robot."""
        values = self.values
        return tuned_polar_pose(
            dynamics, **self.tuning(), settling_time=values.settling_time, damping=values.damping
        )

    def fill_status(
        self, status: PoseControllerStatus, stamp: float, dt: float, torque: Torque
    ) -> None:
        """Every variable of the law."""
        status.velocity.header.frame_id = self.values.base_frame
        fill_pose_status(status, stamp, dt, self.law.record, torque)
