"""The ident node: excites the robot, identifies K5..K8 on line, and publishes them.

Lages (2017), section 5.3. Subscribes to `joint_states`; publishes `effort_controller/commands`,
`~/dynamic_parameters` with every sample and `~/status` at most 50 times a second.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path

from rclpy.qos import QoSProfile

from arc_odometry import JointSample
from diffbot_ident.estimator import DynamicsEstimator, Estimate
from diffbot_ident.excitation import Excitation, wheel_speed_limit
from diffbot_ident.parameter_file import parameter_document, save_parameters
from diffbot_ident.regression import PositionRegression, VelocityRegression
from diffbot_msgs.msg import DynamicParameters, IdentStatus
from diffbot_node import EffortNode, Parameter, results_folder, to_stamp

FILE_NAME = "dynamic_parameters.yaml"
STATUS_PERIOD = 0.02  # s of robot time between two status messages

PARAMETERS = (
    Parameter("duration", 60.0, "robot time to excite the robot for, s", above=0.0),
    Parameter("amplitude", 0.0, "PRBS torque, N m; 0 takes the robot's own", minimum=0.0),
    Parameter("hold", 0, "control periods that a PRBS bit lasts; 0: the robot's own", minimum=0),
    Parameter(
        "register", 0, "bits of the PRBS shift register, 7 to 15; 0: the robot's own", minimum=0
    ),
    Parameter("seed", 0, "where in its period the PRBS begins", minimum=0),
    Parameter(
        "velocity_source",
        "position",
        "velocities from differences of the wheels' angles, or as the joint states report them",
        choices=("position", "velocity"),
    ),
    Parameter(
        "effort_source",
        "joint_states",
        "the torque that acted over a control period: as the joint states report it, or what was "
        "commanded at its beginning, for drivers that report none or a wrong one",
        choices=("joint_states", "commands"),
    ),
    Parameter("results", "", "folder for the parameter file, made if need be; empty: none"),
    Parameter(
        "listeners", 0, "subscribers of ~/dynamic_parameters to wait for before starting", minimum=0
    ),
)


class IdentNode(EffortNode):
    """ROS side of the identification; the mathematics is DynamicsEstimator's and Excitation's."""

    def __init__(self) -> None:
        super().__init__("ident", PARAMETERS)
        self._excitation = self._make_excitation()
        regression = {"position": PositionRegression, "velocity": VelocityRegression}
        self._estimator = DynamicsEstimator(regression[self.values.velocity_source](self.geometry))
        results = self.values.results
        self._file = results_folder(results) / FILE_NAME if results else None
        self._ended = False
        self._start: float | None = None
        self._newest = 0.0
        self._last_status = float("-inf")
        self._parameters_message = DynamicParameters()
        self._parameters_message.header.frame_id = "base_link"
        self._status = IdentStatus(duration=self.values.duration)
        self._status.header.frame_id = "base_link"
        deep = QoSProfile(depth=100)
        self._parameters_topic = self.create_publisher(
            DynamicParameters, "~/dynamic_parameters", deep
        )
        self._status_topic = self.create_publisher(IdentStatus, "~/status", deep)

    def _make_excitation(self) -> Excitation:
        values, robot = self.values, self.robot
        amplitude = values.amplitude or robot.excitation.amplitude
        if amplitude > self.torque_limit:
            raise ValueError(
                f"parameter 'amplitude' = {amplitude} N m: must be <= {self.torque_limit} N m, "
                "the torque limit; lower it"
            )
        return Excitation(
            amplitude,
            values.hold or robot.excitation.hold,
            values.register or robot.excitation.register,
            wheel_speed_limit(
                robot.excitation.linear_velocity,
                robot.excitation.angular_velocity,
                robot.wheels.radius,
                self.geometry.half_track,
            ),
            values.seed,
        )

    def waits_for(self) -> str:
        """What is missing before the excitation may begin; empty when nothing is."""
        missing = self.values.listeners - self._parameters_topic.get_subscription_count()
        if missing > 0:
            return f"{missing} more subscribers of {self._parameters_topic.topic} are awaited"
        return super().waits_for()

    def required_fields(self) -> tuple[str, ...]:
        """What the joint states must hold; the effort only where it is used."""
        if self.values.effort_source == "commands":
            return ("position", "velocity")
        return super().required_fields()

    def on_sample(self, sample: JointSample) -> tuple[float, float]:
        """Identify from the sample and give the next PRBS torque, N m."""
        if self._start is None:
            self._start = sample.stamp
            self.get_logger().info(
                f"exciting robot '{self.robot.name}' for {self.values.duration:g} s"
            )
        self._newest = sample.stamp
        if self.values.effort_source == "commands":
            sample = replace(sample, effort=self.commanded)
        self._estimator.update(sample)
        velocity = self._estimator.velocity or (0.0, 0.0)
        if too_fast := self._beyond_limits(*velocity):
            self._end(IdentStatus.STOPPED, too_fast, exit_code=1)
            return 0.0, 0.0
        # A rounding error of the stamps must not add a control period.
        if sample.stamp - self._start >= self.values.duration - 1e-6:
            self._end(IdentStatus.DONE, "")
            return 0.0, 0.0
        return self._excitation.torque(self.geometry.wheel_velocity(*velocity))

    def _beyond_limits(self, linear: float, angular: float) -> str:
        """What to say when the guards could not keep the robot inside its speed limits."""
        limits = self.robot.excitation
        for name, value, limit, unit in (
            ("velocity", linear, limits.linear_velocity, "m/s"),
            ("yaw rate", angular, limits.angular_velocity, "rad/s"),
        ):
            if abs(value) > limit:
                return (
                    f"{name} {value:.3g} {unit} is beyond the limit {limit:g} {unit} that robot "
                    f"'{self.robot.name}' has for its excitation; lower amplitude, or raise the "
                    "limit in its YAML"
                )
        return ""

    def on_commanded(self, sample: JointSample, torque: tuple[float, float]) -> None:
        """Publish the estimate with every sample, and the status now and then."""
        if self.exit_code is not None:
            return
        self._publish_parameters()
        if sample.stamp - self._last_status >= STATUS_PERIOD - 1e-6:
            self._last_status = sample.stamp
            self._status.effort[:] = sample.effort
            self._status.command[:] = torque
            self._publish_status(IdentStatus.EXCITING)

    def close(self) -> None:
        """On every way out: zero torque first, then save what there is."""
        super().close()
        if not self._ended and self._start is not None:
            self._end(IdentStatus.STOPPED, self.last_words or "interrupted", self.exit_code or 0)

    def _end(self, phase: int, message: str, exit_code: int = 0) -> None:
        self._ended = True
        elapsed = self._newest - (self._start or 0.0)
        self.finish(exit_code, f"{message or 'done'} after {elapsed:.2f} s of robot time")
        estimate = self._publish_parameters()
        if self._file is not None:
            self._save(self._file, estimate, elapsed)
        self._status.effort[:] = self._status.command[:] = (0.0, 0.0)
        self._publish_status(phase, message)

    def _save(self, path: Path, estimate: Estimate, elapsed: float) -> None:
        document = parameter_document(
            estimate,
            robot=self.robot.name,
            date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            version=version("diffbot_ident"),
            seconds=elapsed,
        )
        save_parameters(path, document)
        self.get_logger().info(f"parameters written to {path}")

    def _publish_parameters(self) -> Estimate:
        estimate, message = self._estimator.estimate(), self._parameters_message
        message.header.stamp = to_stamp(self._newest)
        message.k5, message.k6, message.k7, message.k8 = estimate.values
        message.covariance_diagonal[:] = estimate.variances
        message.residual_std[:] = estimate.residual_std
        message.state = int(estimate.state)
        message.reason = estimate.reason
        message.samples = estimate.samples
        self._parameters_topic.publish(message)
        return estimate

    def _publish_status(self, phase: int, message: str = "") -> None:
        status = self._status
        status.header.stamp = to_stamp(self._newest)
        status.phase = phase
        status.message = message
        status.elapsed = self._newest - (self._start or 0.0)
        velocity = self._estimator.velocity or (0.0, 0.0)
        status.linear_velocity, status.angular_velocity = velocity
        status.guarded = self._excitation.guarded
        status.refused = self.refused
        self._status_topic.publish(status)
