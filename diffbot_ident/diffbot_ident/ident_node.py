# SPDX-License-Identifier: Apache-2.0
"""The ident node: excites the robot, identifies K5..K8 online, verifies and publishes them.

Follows Lages (2017), section 5.3. Per second of robot time it publishes 5 estimates, at most 50
`~/status`, and one of `diagnostics`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from diagnostic_msgs.msg import DiagnosticArray
from rclpy.qos import QoSProfile, ReliabilityPolicy
from sensor_msgs.msg import Imu

from arc_odometry import JointSample
from arc_odometry.joints import RateLimit
from diffbot_description.arena import Arena
from diffbot_description.suite_version import suite_version
from diffbot_ident.excitation.excitations import nominal_prior
from diffbot_ident.identification_run import Identification, Phase
from diffbot_ident.identification_setup import (
    STATUS_RATE,
    IdentSettings,
    fleet_prior_of,
    make_identification,
)
from diffbot_ident.interpretation.fleet_prior import FleetPrior
from diffbot_ident.interpretation.yaw_gyro import LIVE_MEMORY, YawGyro
from diffbot_ident.parameter_writer import export_results
from diffbot_ident.parameters_message import diagnostics, fill, status_message, verification_message
from diffbot_ident.verification import VerificationState
from diffbot_msgs.msg import DynamicParameters, IdentStatus, Verification
from diffbot_node import (
    CountedTopic,
    EffortNode,
    EffortParameters,
    parameter,
    results_folder,
    seconds,
)
from diffbot_node.topic_nodes import LATCHED
from diffbot_node.verdicts import GOOD, Level, Verdict


@dataclass(frozen=True)
class IdentParameters(IdentSettings, EffortParameters):
    """Parameters of the ident node."""

    effort_source: str = parameter(
        "joint_states",
        "the torque that acted over a control period: as the joint states report it, or what was "
        "commanded at its beginning, for drivers that report none or a wrong one",
        choices=("joint_states", "commands"),
    )
    imu: bool = parameter(
        False,
        "take the yaw rate from a gyro, sensor_msgs/Imu on imu/data (angular_velocity.z, rad/s): "
        "K5 and K8 then do not depend on wheels.separation",
    )
    results: str = parameter(
        "", "folder for the parameter file, created if missing; empty: no file"
    )
    listeners: int = parameter(
        0,
        "subscribers of ~/dynamic_parameters, and of ~/status, to wait for before starting",
        minimum=0,
    )


IMU_TOPIC = "imu/data"
DIAGNOSTICS_RATE = 1.0


class IdentNode(EffortNode[IdentParameters]):
    """ROS interface of the identification; `Identification` implements its course."""

    def __init__(self) -> None:
        super().__init__("ident", IdentParameters)
        values = self.values
        self._arena = Arena.parse(values.arena)
        self._prior = nominal_prior(self.robot)
        self._gyro = YawGyro(self.geometry, memory=LIVE_MEMORY) if values.imu else None
        self.run = self._make_run()
        self._folder = results_folder(values.results) if values.results else None
        self._newest = 0.0
        self._looks = 0
        self._closed = False
        self._status_rate = RateLimit(STATUS_RATE)
        self._diagnostics_rate = RateLimit(DIAGNOSTICS_RATE)
        self._parameters_topic = CountedTopic(self, DynamicParameters, "~/dynamic_parameters")
        self._status_topic = CountedTopic(self, IdentStatus, "~/status")
        self._verification_topic = self.create_publisher(Verification, "~/verification", LATCHED)
        self._estimates_topic = self.create_publisher(DiagnosticArray, "diagnostics", 10)
        if self._gyro is not None:
            # A best-effort subscription receives best effort and reliable.
            best_effort = QoSProfile(depth=200, reliability=ReliabilityPolicy.BEST_EFFORT)
            self._imu = self.create_subscription(Imu, IMU_TOPIC, self._on_imu, best_effort)

    def _make_run(self) -> Identification:
        amplitude = self.largest_torque()
        if amplitude > self.torque_limit:
            raise ValueError(
                f"parameter 'amplitude' = {amplitude} N m: must be <= {self.torque_limit} N m, "
                "the torque limit; lower it"
            )
        return make_identification(
            self.values, self.robot, self._prior, fleet=self._fleet_prior(), gyro=self._gyro
        )

    def _fleet_prior(self) -> FleetPrior | None:
        fleet = fleet_prior_of(self.values, self.robot)
        if fleet is not None:
            self.get_logger().info(f"beginning with {fleet.about} in {self.values.prior}")
        return fleet

    def needs(self) -> Verdict:
        # A run may end within some ms, and its last status states why.
        for topic in (self._parameters_topic, self._status_topic):
            if missing := topic.missing(self.values.listeners):
                return missing
        if self._gyro is not None and not self.count_publishers(self._imu.topic_name):
            name = self._imu.topic_name
            return Verdict(
                Level.WAIT,
                f"no node publishes {name}; start the gyro's driver, or set imu to false",
            )
        return GOOD

    def _on_imu(self, message: Imu) -> None:
        if self._gyro is None or self.run.ended:
            return
        try:
            self._gyro.add(seconds(message.header.stamp), float(message.angular_velocity.z))
        except ValueError as error:
            self.complain(str(error))

    def has_left(self) -> Verdict:
        return self._status_topic.left_by(self.values.listeners)

    def largest_torque(self) -> float:
        return self.values.amplitude or self.robot.excitation.amplitude

    def required_fields(self) -> tuple[str, ...]:
        if self.values.effort_source == "commands":
            return ("position", "velocity")
        return super().required_fields()

    def on_sample(self, sample: JointSample) -> tuple[float, float]:
        if self.run.phase is Phase.WAITING:
            self.get_logger().info(
                f"exciting robot '{self.robot.name}' for at most {self.values.duration:g} s with "
                f"{self.values.excitation}"
            )
        self._newest = sample.stamp
        if self.values.effort_source == "commands":
            sample = replace(sample, effort=self.commanded)
        before = self.run.phase
        torque = self.run.update(sample.beyond(self.robot.drive.dead_band))
        if self.run.phase is Phase.VERIFYING and before is Phase.EXCITING:
            self.get_logger().info(
                f"identified after {self.run.excited:.1f} s{self._why_so_soon()}; verifying with "
                "another motion for "
                f"{self.values.verification:g} s"
            )
        if self.run.ended:
            self._end(exit_code=1 if self.run.problem else 0)
        return torque

    def _why_so_soon(self) -> str:
        if self.run.excited >= self.values.duration - 0.5 * self.values.period:
            return ""
        return ", as the precision asked for (until) is reached"

    def on_commanded(self, sample: JointSample, torque: tuple[float, float]) -> None:
        if self.exit_code is not None:
            return
        self.run.follow_up()
        if self.run.ended:
            self._end(exit_code=1)
            return
        if self.run.looks != self._looks:
            self._looks = self.run.looks
            self._publish_parameters()
        if self._status_rate.due(sample.stamp):
            self._publish_status(sample.effort, torque)
        if self._diagnostics_rate.due(sample.stamp):
            self._publish_diagnostics()

    def on_left_out(self, sample: JointSample) -> None:
        """Use a skipped sample, unless torques are commands: which ones acted is unknown."""
        self._newest = sample.stamp
        commands = self.values.effort_source == "commands"
        sample = sample.beyond(self.robot.drive.dead_band)
        try:
            (self.run.rest if commands else self.run.observe)(sample)
        except ValueError as error:
            self.complain(str(error))

    def on_stopped(self, sample: JointSample) -> None:
        """Pause the run until it is enabled again; odometry continues, and the arena stays."""
        self._newest = sample.stamp
        try:
            self.run.rest(sample)
        except ValueError as error:
            self.complain(str(error))
        if self._status_rate.due(sample.stamp):
            self._publish_status(sample.effort)

    def close(self) -> None:
        """Shut down on any exit: command zero torque first, then save the results so far."""
        super().close()
        if not self._closed and self.run.phase is not Phase.WAITING:
            self.run.stop(self.interruption())
            self._end(self.exit_code or 0)
        self.await_arrival(self._verification_topic)
        self._status_topic.await_arrival()

    def _end(self, exit_code: int) -> None:
        self._closed = True
        run = self.run
        self.finish(exit_code, f"{run.problem or 'done'} after {run.elapsed:.2f} s of robot time")
        self._publish_parameters()
        if run.verified is not None:
            self._verification_topic.publish(verification_message(run.verified, self._newest))
            if not run.verified.passed:
                self.get_logger().warning(f"not verified: {run.verified.reason}")
        self._publish_diagnostics()
        if self._folder is not None:
            try:
                self._save(self._folder)
            except OSError as error:
                self.get_logger().error(str(error))
                self.exit_code = 1
        self._publish_status()

    def _save(self, folder: Path) -> None:
        run = self.run
        export = export_results(
            folder,
            self.robot,
            run.estimate,
            date=datetime.now(timezone.utc).isoformat(timespec="seconds"),
            version=suite_version(),
            seconds=run.excited,
            verification=run.verified,
        )
        for path in export.paths:
            self.get_logger().info(f"written: {path}")
        if export.refusal is not None:
            self.get_logger().warning(export.refusal)

    def _publish_parameters(self) -> None:
        verified = self.run.verified
        state = VerificationState.NOT_VERIFIED if verified is None else verified.state
        message = DynamicParameters()
        fill(message, self.run.estimate, self._newest, state)
        self._parameters_topic.publish(message)

    def _publish_diagnostics(self) -> None:
        self._estimates_topic.publish(
            diagnostics(self.run.estimate, self._newest, self.get_name(), self.robot.name)
        )

    def _publish_status(
        self, effort: tuple[float, float] = (0.0, 0.0), command: tuple[float, float] = (0.0, 0.0)
    ) -> None:
        status = status_message(self.run, self._newest, effort, command)
        if self._arena is not None:
            status.arena[:] = (self._arena.length, self._arena.width)
        status.duration = self.values.duration
        status.message = self.run.problem or self.stopped_by
        status.refused = self.refused
        status.estimates = self._parameters_topic.count
        self._status_topic.publish(status)
