"""The linearizing_controller node: feedback linearization and PI, Lages (2017), (61)-(72).

Subscribes to `joint_states` and `cmd_vel` (geometry_msgs/TwistStamped, or Twist with stamped =
false; linear.x and angular.z count); publishes `effort_controller/commands`, `~/status`
(diffbot_msgs/LinearizingStatus, once per control period), `~/odom`, `~/state` and `/tf`.
"""

from __future__ import annotations

from geometry_msgs.msg import Twist, TwistStamped
from rclpy.subscription import Subscription

from diffbot_controllers.controller_node import ControllerNode
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.linearizing import LinearizingController
from diffbot_controllers.motion import REST, State, Torque, Velocity
from diffbot_controllers.pi_gains import PUBLISHED, PiDesign
from diffbot_controllers.reference_input import (
    ReferenceInput,
    advance_velocity,
    velocity_command,
)
from diffbot_controllers.status_messages import fill_linearizing_status
from diffbot_msgs.msg import LinearizingStatus
from diffbot_node import Parameter, seconds

LOOP_PARAMETERS = (
    Parameter(
        "settling_time", 0.05, "of the velocity loops, to within 1 %, s", above=0.0, maximum=10.0
    ),
    Parameter("damping", 1.0, "of the velocity loops' pole pair", above=0.0, maximum=10.0),
)
PARAMETERS = (
    *LOOP_PARAMETERS,
    Parameter(
        "law",
        "standard",
        "gains by the discrete design for the control period at hand, or those of (71), (72)",
        choices=("standard", "published"),
    ),
    Parameter("stamped", True, "whether cmd_vel is a TwistStamped; else a Twist"),
)


class LinearizingNode(ControllerNode):
    """ROS side of the velocity loops."""

    def __init__(self) -> None:
        super().__init__("linearizing_controller", PARAMETERS)
        self._status = LinearizingStatus()
        self._status.header.frame_id = self.values.base_frame
        self._status_topic = self.create_publisher(LinearizingStatus, "~/status", 100)

    def make_input(self) -> ReferenceInput[Velocity]:
        """Velocities asked for."""
        kind, callback = (
            (TwistStamped, self._on_stamped) if self.values.stamped else (Twist, self._on_twist)
        )
        self._cmd_vel = self.create_subscription(kind, "cmd_vel", callback, 10)
        return ReferenceInput(self.values.reference_timeout, advance_velocity)

    @property
    def reference_topics(self) -> tuple[Subscription, ...]:
        """The topic that velocities come from."""
        return (self._cmd_vel,)

    @property
    def law_name(self) -> str:
        """Which gains it has."""
        return self.values.law

    def listened_to(self) -> int:
        """Subscribers of `~/status`."""
        return self._status_topic.get_subscription_count()

    def at_rest(self, reference: Velocity) -> bool:
        """Whether the reference stands."""
        return reference == REST

    def make_law(self, dynamics: BodyDynamics) -> LinearizingController:
        """The velocity loops that the parameters ask for."""
        values = self.values
        published = values.law == "published"
        return LinearizingController(
            dynamics,
            PUBLISHED if published else PiDesign(values.settling_time, values.damping),
            self.torque_limit,
            mean_velocity=values.velocity_source == "position" and not published,
            published=published,
        )

    def drive(self, state: State, reference: Velocity, dt: float) -> Torque:
        """The law's torque for the reference within the robot's speed limits, N m."""
        limits = self.robot.limits
        bounded = Velocity(
            max(-limits.linear_velocity, min(limits.linear_velocity, reference.v)),
            max(-limits.angular_velocity, min(limits.angular_velocity, reference.omega)),
        )
        if bounded != reference:
            self.complain(
                f"cmd_vel asks for {reference.v:g} m/s, {reference.omega:g} rad/s: limited to the "
                f"{limits.linear_velocity:g} m/s, {limits.angular_velocity:g} rad/s of robot "
                f"'{self.robot.name}'"
            )
        return super().drive(state, bounded, dt)

    def _on_stamped(self, message: TwistStamped) -> None:
        stamp = seconds(message.header.stamp)
        # Teleoperation tools that have no clock leave the stamp 0.
        self._take(message.twist, stamp if stamp > 0.0 else self._newest)

    def _on_twist(self, message: Twist) -> None:
        self._take(message, self._newest)

    def _take(self, twist: Twist, stamp: float) -> None:
        self.take(stamp, velocity_command, {"v": twist.linear.x, "omega": twist.angular.z})

    def publish_status(self, stamp: float, dt: float, torque: Torque) -> None:
        """Publish every variable of the law."""
        fill_linearizing_status(self._status, stamp, dt, self.law.record, torque)
        self._status_topic.publish(self._status)
