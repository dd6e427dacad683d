"""The ident_report node: shows an identification run and writes its report.

Subscribes to `ident/dynamic_parameters`, `ident/status`, `ident/verification` and, where a
simulator publishes it, `ground_truth/dynamic_parameters`. Ends with the run: status 0 when it was
completed or stopped by the user, 1 when it failed.
"""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.serialization import deserialize_message
from rich.console import Console, RenderableType

from diffbot_description import RobotModel
from diffbot_msgs.msg import DynamicParameters, IdentStatus, Verification
from diffbot_node import Parameter, seconds
from diffbot_report import ident_recording as samples
from diffbot_report.drawing import Drawing
from diffbot_report.ident_recording import (
    EXCITING,
    IdentRecording,
    Pair,
    ParameterSample,
    PredictionErrors,
    StatusSample,
    VerificationSample,
)
from diffbot_report.ident_table import (
    confidence_entries,
    confidence_notes,
    parameter_table,
    state_notes,
    verification_entry,
    verification_state,
)
from diffbot_report.polled_node import stamp_fields
from diffbot_report.quantity import (
    Quantity,
    friction_quantities,
    meanings,
    parameter_quantities,
    physical_quantities,
)
from diffbot_report.run_end import Ending
from diffbot_report.summary import RunDescription, hand_over, headline, summary
from diffbot_report.watching_node import WatchingNode

# ---
# From the ident node's messages to the samples of a report.

STATES = {
    DynamicParameters.UNESTIMATED: samples.UNESTIMATED,
    DynamicParameters.ESTIMATED: samples.ESTIMATED,
    DynamicParameters.INVALID: samples.INVALID,
}
PHASES = {
    IdentStatus.WAITING: samples.WAITING,
    IdentStatus.EXCITING: samples.EXCITING,
    IdentStatus.VERIFYING: samples.VERIFYING,
    IdentStatus.DONE: samples.DONE,
    IdentStatus.STOPPED: samples.STOPPED,
}
VERIFICATIONS = {
    DynamicParameters.VERIFIED: samples.VERIFIED,
    DynamicParameters.REFUTED: samples.REFUTED,
}


def parameter_sample(message: DynamicParameters) -> ParameterSample:
    """The sample of a message.

    A publisher may fill in no more than K5..K8, their variances and the state; what is all zero
    then counts as unknown.
    """
    variances = tuple(message.covariance_diagonal.tolist())
    covariance = tuple(message.covariance.tolist())
    friction = tuple(message.friction.tolist())
    friction_variances = tuple(message.friction_variance.tolist())
    modelled = any(math.isfinite(f) for f in friction) and any((*friction, *friction_variances))
    coverage = tuple(message.coverage.tolist())
    states = message.parameter_state.tolist()
    return ParameterSample(
        time=seconds(message.header.stamp),
        values=(message.k5, message.k6, message.k7, message.k8),
        variances=variances,
        state=STATES.get(message.state, samples.INVALID),
        reason=message.reason,
        samples=message.samples,
        residual_std=tuple(message.residual_std.tolist()),
        covariance=covariance if any(covariance) else None,
        states=tuple(STATES.get(s, samples.INVALID) for s in states) if any(states) else None,
        reasons=tuple(message.parameter_reason),
        warnings=tuple(message.warnings),
        friction=friction if modelled else None,
        friction_variances=friction_variances,
        verification=VERIFICATIONS.get(message.verification, samples.NOT_VERIFIED),
        coverage=coverage if any(coverage) else None,
        residual_correlation=tuple(message.residual_correlation.tolist()),
        torque_delay=message.torque_delay,
    )


def status_sample(message: IdentStatus) -> StatusSample:
    """The sample of a message."""
    arena = tuple(message.arena.tolist())
    return StatusSample(
        time=seconds(message.header.stamp),
        phase=PHASES.get(message.phase, samples.STOPPED),
        message=message.message,
        elapsed=message.elapsed,
        duration=message.duration,
        velocity=(message.linear_velocity, message.angular_velocity),
        effort=tuple(message.effort.tolist()),
        guarded=message.guarded,
        refused=message.refused,
        position=tuple(message.pose[:2].tolist()),
        arena=arena if min(arena) > 0.0 else None,
        information=(message.information, message.predicted_information),
        count=message.count,
        estimates=message.estimates,
    )


def verification_sample(message: Verification) -> VerificationSample:
    """The sample of a message."""

    def errors(*fields: str) -> PredictionErrors:
        pairs: list[Pair] = [tuple(getattr(message, field).tolist()) for field in fields]
        return PredictionErrors(*pairs)

    return VerificationSample(
        message.passed,
        message.reason,
        message.duration,
        message.horizon,
        errors("one_step", "one_step_nominal", "one_step_no_model"),
        errors("horizon_error", "horizon_nominal", "horizon_no_model"),
    )


def stamp_of(serialized: bytes) -> float:
    """Stamp of a serialized message whose first field is a std_msgs/Header, s."""
    stamp = stamp_fields(serialized)
    return stamp["sec"] + 1e-9 * stamp["nanosec"]


# ---
# The end of a run: the final table, the pictures and summary.json.


class ReportWriter:
    """Shows and saves what a run found.

    Args:
        run: what is run.
        model: the robot's description, for masses and inertias.
        directory: where the files go; exists.
        console: where the table goes.
        drawing: makes the pictures.
    """

    def __init__(
        self,
        run: RunDescription,
        model: RobotModel,
        directory: Path,
        console: Console,
        drawing: Drawing,
    ) -> None:
        self._run = run
        self._model = model
        self._directory = directory
        self._console = console
        self._drawing = drawing

    def table(self, recording: IdentRecording, title: str = "") -> RenderableType:
        """The parameters as they are now."""
        sample = recording.latest
        parameters = self._parameters(recording)
        phrases = meanings(parameters, physical_quantities(sample, self._model))
        notes = confidence_notes(sample, recording.verification)
        return parameter_table(
            parameters,
            phrases,
            title,
            [*state_notes(parameters), *notes],
            self._console.width,
            tuple(friction_quantities(sample).values()),
        )

    def write(
        self, recording: IdentRecording, ending: Ending, factor: float | None, deadline: float
    ) -> bool:
        """Print the final table, write the files and print their paths; whether all were written.

        Args:
            recording: the run.
            ending: how it ended.
            factor: robot time over wall time; None where unknown.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        recording.finish()
        missing = recording.missing()
        if not recording.has_last:
            recording.latest = None  # no figure rests on one that is not the last
        parameters = self._parameters(recording)
        drawn = len(recording.motion()[0]) > 0
        return hand_over(
            self._console,
            self.table(recording, headline(self._run, recording.elapsed, ending)),
            self._summary(recording, ending, factor, parameters, missing),
            self._directory,
            self._drawing.draw(recording, parameters, self._run.setting, self._directory, deadline)
            if drawn
            else iter(()),
            lambda: self._drawing.problem if drawn else "nothing was recorded",
            missing,
            lambda: self._drawing.unwritten,
        )

    def _parameters(self, recording: IdentRecording) -> tuple[Quantity, ...]:
        return parameter_quantities(recording.latest, recording.last_truth())

    def _summary(
        self,
        recording: IdentRecording,
        ending: Ending,
        factor: float | None,
        parameters: tuple[Quantity, ...],
        missing: list[str],
    ) -> dict[str, Any]:
        sample, status, verification = recording.latest, recording.status, recording.verification
        more: dict[str, Any] = {}
        if sample is not None:
            more |= confidence_entries(sample)
        if status is not None:
            achieved, predicted = status.information
            more["information"] = {"achieved": achieved, "predicted": predicted}
            more["arena"] = status.arena
            more["guarded"] = status.guarded
            more["refused"] = status.refused
        return summary(
            self._run,
            ending,
            recording.elapsed,
            factor,
            parameters,
            physical_quantities(sample, self._model, recording.last_truth()),
            friction_quantities(sample),
            verification_entry(verification_state(sample, verification), verification),
            more,
            missing,
        )


PARAMETERS = (Parameter("name", "ident", "name of the run, for the summary"),)

LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class IdentReport(WatchingNode):
    """ROS side of the report; what it shows and writes is ReportWriter's."""

    def __init__(self) -> None:
        super().__init__("ident_report", PARAMETERS)
        self._status_topic = self.create_kept(IdentStatus, "ident/status", raw=True)
        self._truth_topic = self.create_kept(
            DynamicParameters, "ground_truth/dynamic_parameters", latched=True
        )
        self._parameters_topic = self.create_kept(
            DynamicParameters, "ident/dynamic_parameters", raw=True
        )
        self._verification_topic = self.create_polled(Verification, "ident/verification", LATCHED)
        drawing = Drawing()
        drawing.start()
        model = self.robot.model
        self._writer = ReportWriter(self.run, model, self.folder, self.console, drawing)
        self._recording = IdentRecording(truth_due=self.run.truth_due)
        self._newest: bytes | None = None
        self._received = time.monotonic()
        self.watch("ident", (self._status_topic, self._parameters_topic))

    def take_all(self, now: float) -> None:
        """Unpack what the pictures need and, always, the last status."""
        recording = self._recording
        before = recording.statuses, recording.estimates
        for message in self.take_kept(self._truth_topic):
            sample = parameter_sample(message)
            recording.add_truth(sample.time, sample.values)
        batch = self.take_kept(self._status_topic)
        recording.statuses += len(batch)
        for serialized in batch:
            # The last one counts whether or not it is drawn: it may say that the run is over.
            if serialized is batch[-1] or recording.wants_status(stamp_of(serialized)):
                recording.add_status(status_sample(deserialize_message(serialized, IdentStatus)))
        if batch and recording.status.phase == EXCITING:
            self.pace.update(recording.elapsed, now)
        for serialized in self.take_kept(self._parameters_topic):
            self._newest = serialized
            recording.estimates += 1
            recording.newest = stamp_of(serialized)
            if recording.wants_parameters(stamp_of(serialized)):
                self._unpack_newest()
        if (recording.statuses, recording.estimates) != before:
            self._received = now
        # Last, as it is sent before the status that ends the run.
        for message in self.take(self._verification_topic):
            recording.verification = verification_sample(message)

    def state(self) -> StatusSample | None:
        """The newest status."""
        return self._recording.status

    def newest(self) -> float | None:
        """Stamp of the newest estimate, s, once all before has come; see RunEnd."""
        return None if self.missing() else self._recording.newest

    def missing(self) -> list[str]:
        """What should have come and did not."""
        return self._recording.missing()

    def received(self) -> float:
        """When the newest message came."""
        return self._received

    def _unpack_newest(self) -> None:
        if self._newest is not None:
            message = deserialize_message(self._newest, DynamicParameters)
            self._recording.add_parameters(parameter_sample(message))

    def table(self) -> RenderableType:
        """K5..K8 as they are now."""
        self._unpack_newest()
        return self._writer.table(self._recording)

    def write(self, ending: Ending, deadline: float) -> bool:
        """The final table, the pictures and summary.json."""
        return self._writer.write(self._recording, ending, self.pace.factor, deadline)
