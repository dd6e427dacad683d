"""The velocity_steps node: steps of [v, omega] at the robot's pace (see PacedNode).

Publishes `cmd_vel` (geometry_msgs/TwistStamped, or Twist with `stamped` = false). It ends `hold` s
after the beginning of the last step; interrupted on the way, it sends zero velocity first.
"""

from __future__ import annotations

from builtin_interfaces.msg import Time
from geometry_msgs.msg import Twist, TwistStamped

from diffbot_node import Parameter
from pose2d_trajectories.paced_node import PacedNode, pace_parameters
from pose2d_trajectories.trajectory_node import limit_parameters, limits
from pose2d_trajectories.velocity_steps import DEMONSTRATION, VelocitySteps

EMPTY = "times, linear and angular all empty: a demonstration"
PARAMETERS = (
    Parameter("times", (), f"when each step begins, s, increasing; {EMPTY}", minimum=0.0),
    Parameter("linear", (), f"velocity along the robot's x axis from then on, m/s; {EMPTY}"),
    Parameter("angular", (), f"yaw rate from then on, rad/s; {EMPTY}"),
    *limit_parameters("linear_velocity", "angular_velocity"),
    Parameter("stamped", True, "publish TwistStamped; else Twist"),
    Parameter("frame", "base_link", "frame of the velocities, for the header of TwistStamped"),
    *pace_parameters(hold=0.5),
)


class VelocityStepsNode(PacedNode):
    """ROS side of VelocitySteps.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    title = "the sequence of steps"

    def __init__(self) -> None:
        super().__init__("velocity_steps", PARAMETERS)
        values = self.values
        given = (values.times, values.linear, values.angular)
        times, linear, angular = given if any(given) else DEMONSTRATION
        self.steps = VelocitySteps(times, linear, angular, limits(values))
        if values.hold >= 0.0 and not self.steps.ends_at_rest:
            raise ValueError(
                f"linear[-1] = {values.linear[-1]} m/s, angular[-1] = {values.angular[-1]} rad/s: "
                "must be 0 where the node ends by itself, for nobody would stop the robot; add a "
                "step to 0, or set hold to -1"
            )
        self.duration = self.steps.duration
        self._message = TwistStamped()
        self._message.header.frame_id = values.frame
        self._last = (0.0, 0.0)
        kind = TwistStamped if values.stamped else Twist
        self._topic = self.create_publisher(kind, "cmd_vel", 10)
        self.topics = (self._topic,)

    def publish(self, stamp: Time, t: float) -> None:
        """Publish the velocity for time t, s."""
        self._message.header.stamp = stamp
        self._send(*self.steps.at(t))

    def close(self) -> None:
        """Leave nobody with a robot in motion."""
        if self._last != (0.0, 0.0):
            self._send(0.0, 0.0)
        super().close()

    def _send(self, linear: float, angular: float) -> None:
        twist = self._message.twist
        twist.linear.x, twist.angular.z = self._last = (linear, angular)
        self._topic.publish(self._message if self.values.stamped else twist)
