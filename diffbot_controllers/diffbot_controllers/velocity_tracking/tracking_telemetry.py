"""What the velocity_tracking_controller node tells: `~/status`, `~/state` and `~/parameters`."""

from __future__ import annotations

from collections.abc import Sequence

from rclpy.qos import DurabilityPolicy, QoSProfile

from diffbot_controllers.motion import Velocity
from diffbot_controllers.velocity_tracking.odometry_feedback import OdometrySample
from diffbot_controllers.velocity_tracking.tracker import TrackerRecord, TrackerSettings
from diffbot_ident.velocity.sigma import Sigma
from diffbot_msgs.msg import ControllerState, VelocityParameters, VelocityTrackingStatus
from diffbot_node import CommandNode, KeptTopic, to_stamp


class TrackingTelemetry:
    """Publishers and the messages that they send again and again.

    Args:
        node: publishes; in lock-step (`wait_for_reference`) it keeps pace with its listeners.
        frame: of odometry and references.
        settings: of the tracker.

    Attributes:
        state: message of `~/state`.
        status_topic: `~/status`.
    """

    def __init__(self, node: CommandNode, frame: str, settings: TrackerSettings) -> None:
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.state = ControllerState()
        self.state.header.frame_id = "base_link"
        self._status = status = VelocityTrackingStatus()
        status.header.frame_id = frame
        status.damping, status.b = float(settings.damping), float(settings.b)
        status.k_v, status.k_w = float(settings.k_v), float(settings.k_w)
        limits = settings.limits
        status.limits[:] = [float(limits.linear_velocity), float(limits.angular_velocity)]
        self._parameters = VelocityParameters()
        self._parameters.header.frame_id = "base_link"
        self._parameters.dead_time[:] = [float(settings.dead_time)] * 2
        resume = node.resume if node.values.wait_for_reference else None
        self.status_topic = KeptTopic(node, VelocityTrackingStatus, "~/status", resume)
        self._state_topic = node.create_publisher(ControllerState, "~/state", latched)
        self._parameters_topic = node.create_publisher(VelocityParameters, "~/parameters", latched)

    def publish_status(
        self,
        sample: OdometrySample,
        reference: object,
        record: TrackerRecord,
        command: Velocity,
        variances: Sequence[float],
        time_step: float,
    ) -> None:
        """Send every variable of the tracker.

        Args:
            sample: that was answered.
            reference: at its time; a MovingReference.
            record: of the tracker's update.
            command: sent, m/s and rad/s.
            variances: of sigma1..sigma4; NaN where unknown.
            time_step: since the sample before, s.
        """
        status = self._status
        status.header.stamp = to_stamp(sample.stamp)
        for message, pose in (
            (status.set_point, reference),
            (status.process_value, sample.pose),
            (status.error, record.error),
        ):
            message.x, message.y, message.theta = float(pose.x), float(pose.y), float(pose.theta)
        status.reference_velocity[:] = [float(reference.v), float(reference.omega)]
        status.velocity[:] = sample.velocity
        status.wanted_velocity[:] = record.wanted
        status.wanted_acceleration[:] = record.acceleration
        status.command[:] = command
        status.limited = [bool(limited) for limited in record.limited]
        status.sigma[:] = record.sigma.as_array()
        status.sigma_variance[:] = variances
        status.time_step = float(time_step)
        self.status_topic.publish(status)

    def publish_state(
        self, stamp: float, phase: int, message: str, sigma: Sigma, variances: Sequence[float]
    ) -> None:
        """Send `state` with this stamp (s), phase and message, and sigma in use."""
        self.state.header.stamp = self._parameters.header.stamp = to_stamp(stamp)
        self.state.phase, self.state.message = phase, message
        self.state.statuses = self.status_topic.count
        self._state_topic.publish(self.state)
        self._parameters.sigma[:] = sigma.as_array()
        self._parameters.covariance_diagonal[:] = variances
        self._parameters_topic.publish(self._parameters)
