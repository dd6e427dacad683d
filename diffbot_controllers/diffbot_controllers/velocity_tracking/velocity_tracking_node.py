"""The velocity_tracking_controller node: tracking for robots that take velocity commands.

The law is (9)-(12) of Siwek et al. (2023); see tracker.py. Subscribes to `odom`
(nav_msgs/Odometry: pose, and velocity in the robot's own frame) and `~/reference`
(diffbot_msgs/PoseReference, in the odometry's frame). Publishes `cmd_vel`
(geometry_msgs/TwistStamped, or Twist with stamped = false), `~/status`
(diffbot_msgs/VelocityTrackingStatus, once per odometry), `~/state` (diffbot_msgs/ControllerState,
latched) and `~/parameters` (diffbot_msgs/VelocityParameters in use, latched).
"""

from __future__ import annotations

from contextlib import suppress

from geometry_msgs.msg import Twist, TwistStamped
from nav_msgs.msg import Odometry

from arc_odometry import Pose
from arc_odometry.odometry_messages import heading
from diffbot_controllers.motion import REST, Reference, Velocity
from diffbot_controllers.reference_follower import ReferenceFollower
from diffbot_controllers.reference_input import ReferenceInput, advance_pose
from diffbot_controllers.reference_messages import at_rest, reference_fields
from diffbot_controllers.velocity_tracking.odometry_feedback import OdometrySample, OdometryStamps
from diffbot_controllers.velocity_tracking.pose_continuity import PoseContinuity
from diffbot_controllers.velocity_tracking.tracker import VelocityTracker
from diffbot_controllers.velocity_tracking.tracking_parameters import (
    TRACKING_PARAMETERS,
    estimator,
    fastest,
    identified,
    tracker_settings,
)
from diffbot_controllers.velocity_tracking.tracking_telemetry import TrackingTelemetry
from diffbot_msgs.msg import PoseReference
from diffbot_node import KeptTopic, PairLimiter, seconds, to_stamp


class VelocityTrackingNode(ReferenceFollower):
    """ROS side of the tracker.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    state_name = "odometry message"
    command_name = "velocity"
    taker = "the robot's driver, or set stamped to what it takes (TwistStamped or Twist)"

    def __init__(self) -> None:
        super().__init__("velocity_tracking_controller", TRACKING_PARAMETERS)
        values = self.values
        self._known = identified(values)
        self._settings = tracker_settings(values, self._known)
        self._estimator = estimator(self._known, self._settings) if values.adaptive else None
        self._tracker = VelocityTracker(self._settings, self._known.sigma, self._estimator)
        self._stamps = OdometryStamps(values.input_timeout)
        self._continuity = PoseContinuity(fastest(values, self._known))
        self._twist = TwistStamped() if values.stamped else Twist()
        self._reference: Reference | None = None  # that the tracker was asked with
        self._answered: float | None = None  # stamp, s
        self._frame = ""
        self._telemetry = TrackingTelemetry(self, values.odom_frame, self._settings)
        state = self._telemetry.state
        state.duration, state.law = values.duration, self.law_name
        state.parameters_source = values.parameters
        limits = self._settings.limits
        self.connect(
            (Odometry, "odom"),
            (type(self._twist), "cmd_vel"),
            PairLimiter(
                "velocity", "(m/s, rad/s)", (limits.linear_velocity, limits.angular_velocity)
            ),
        )
        self.follow(
            ReferenceInput(
                values.reference_timeout, advance_pose, self.state_name, values.input_timeout
            )
        )

    # References.

    @property
    def stream(self) -> str:
        """Name of the topic of references."""
        return self.resolve_topic_name("~/reference")

    @property
    def lone_topics(self) -> tuple[str, ...]:
        """References, and odometry: the poses of two would take turns."""
        return (self.stream, self.resolve_topic_name("odom"))

    def held_by(self) -> str:
        """A second node that publishes odometry, where nobody says who has sent what."""
        alone = self.knows_senders or not (crowd := self.crowd(self.resolve_topic_name("odom")))
        return super().held_by() or ("" if alone else crowd)

    @property
    def kept_topics(self) -> tuple[KeptTopic, ...]:
        """`~/status`."""
        return (self._telemetry.status_topic,)

    def subscribe_to_references(self) -> None:
        """Moving references."""
        self.create_subscription(PoseReference, "~/reference", self._on_reference, 10)

    def at_rest(self, reference: Reference) -> bool:
        """Whether the reference stands."""
        return at_rest(reference)

    def _on_reference(self, message: PoseReference) -> None:
        stamp = seconds(message.header.stamp)
        self.take(stamp, Reference, reference_fields(self, message, self.values.odom_frame))

    # The loop.

    @property
    def law_name(self) -> str:
        """Whether sigma is fixed or identified while driving."""
        return "adaptive" if self.values.adaptive else "fixed"

    def read(self, stamp: float, message: Odometry) -> OdometrySample:
        """Pose and velocity.

        Raises:
            ValueError: another frame, an orientation that is no rotation, or no finite number.
        """
        frame = message.header.frame_id
        if frame not in ("", self.values.odom_frame):
            raise ValueError(
                f"odometry in frame '{frame}': must be in '{self.values.odom_frame}'; set "
                "odom_frame, and give references in that frame"
            )
        pose, twist = message.pose.pose, message.twist.twist
        return OdometrySample(
            stamp,
            Pose(pose.position.x, pose.position.y, heading(pose.orientation)),
            Velocity(twist.linear.x, twist.angular.z),
        )

    def on_sample(self, sample: OdometrySample) -> Velocity:
        """The tracker's command for the sample; zero until a reference has come."""
        self._reference = None
        self.advance_to(sample.stamp, self._stamps.check(sample.stamp))
        self._continuity.check(sample.stamp, sample.pose)
        reference = self.input.at(sample.stamp)
        if reference is None:
            self.on_silence()
            return REST
        if self.begin(sample.stamp):
            self._say_how()
        if self.ends_now():
            return REST
        command = self._tracker.update(
            sample.stamp, reference, sample.pose, sample.velocity, self.commanded
        )
        self._reference = reference
        return command

    def _say_how(self) -> None:
        limits, sigma = self._settings.limits, self._tracker.sigma
        self.get_logger().info(
            f"driving with {self.law_name} {sigma} from {self.values.parameters}, dead time "
            f"{self._settings.dead_time:g} s, at most {limits.linear_velocity:g} m/s and "
            f"{limits.angular_velocity:g} rad/s"
        )

    def message_of(self, command: tuple[float, float], answered: float) -> Twist | TwistStamped:
        """The velocity, m/s and rad/s, with the stamp of the odometry that it answers, s."""
        message = self._twist
        twist = message
        if isinstance(message, TwistStamped):
            twist = message.twist
            message.header.stamp = to_stamp(answered)
            message.header.frame_id = "base_link"
        twist.linear.x, twist.angular.z = float(command[0]), float(command[1])
        return message

    def on_commanded(self, sample: OdometrySample, command: Velocity) -> None:
        """Publish what the tracker knows, and now and then the state."""
        if self.exit_code is not None:
            return
        if self._reference is not None:
            step = 0.0 if self._answered is None else sample.stamp - self._answered
            self._telemetry.publish_status(
                sample, self._reference, self._tracker.last, command, self._variances(), step
            )
        self._answered = sample.stamp
        self.tell_state(sample.stamp)

    def on_refused(self, sample: OdometrySample) -> None:
        """The tracker starts anew after an interruption."""
        self.on_silence()

    def on_stopped(self, sample: OdometrySample) -> None:
        """The tracker starts anew once it is enabled again."""
        self._newest = sample.stamp
        self._stamps.check(sample.stamp)
        with suppress(ValueError):  # it may be carried away, and put down long before
            self._continuity.check(sample.stamp, sample.pose)
        self.on_silence()

    def on_silence(self) -> None:
        """Zero was commanded, which neither tracker nor estimator knows of: both begin anew."""
        self._tracker.reset()
        if self._estimator is not None:
            self._estimator.interrupt()
        self._answered = None

    # Telemetry.

    def _variances(self) -> tuple[float, ...]:
        if self._estimator is None:
            return self._known.variances
        return self._estimator.covariance.diagonal().tolist()

    def publish_state(self, stamp: float, phase: int, message: str) -> None:
        """What the node is doing, with the parameters in use."""
        state = self._telemetry.state
        state.elapsed, state.refused = self.elapsed, self.refused
        self._telemetry.publish_state(stamp, phase, message, self._tracker.sigma, self._variances())
