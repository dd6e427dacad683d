"""From the ident node's messages to the samples of a report."""

from __future__ import annotations

import math

from diffbot_bringup.report import samples
from diffbot_bringup.report.polled_node import stamp_fields
from diffbot_bringup.report.samples import (
    Pair,
    ParameterSample,
    PredictionErrors,
    StatusSample,
    VerificationSample,
)
from diffbot_msgs.msg import DynamicParameters, IdentStatus, Verification
from diffbot_node import seconds

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
