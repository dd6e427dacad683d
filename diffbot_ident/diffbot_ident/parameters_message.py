# SPDX-License-Identifier: Apache-2.0
"""Conversion of estimates and verifications to messages, including `diagnostics`."""

from __future__ import annotations

import math

import numpy as np
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from diffbot_ident.estimate import NAMES, NORMAL_95, Estimate, EstimateState
from diffbot_ident.identification_run import Identification
from diffbot_ident.precision import AxisQuantities, Estimated
from diffbot_ident.verification import Verification, VerificationState
from diffbot_msgs.msg import DynamicParameters, IdentStatus, VelocityParameters
from diffbot_msgs.msg import Verification as VerificationMessage
from diffbot_node import to_stamp

LEVELS = {
    EstimateState.UNESTIMATED: DiagnosticStatus.WARN,
    EstimateState.ESTIMATED: DiagnosticStatus.OK,
    EstimateState.INVALID: DiagnosticStatus.ERROR,
}


def fill(
    message: DynamicParameters,
    estimate: Estimate,
    stamp: float,
    verification: VerificationState = VerificationState.NOT_VERIFIED,
) -> None:
    """Put an estimate into a message; `stamp` is that of the newest joint state in it, s."""
    message.header.stamp = to_stamp(stamp)
    message.header.frame_id = "base_link"
    message.k5, message.k6, message.k7, message.k8 = estimate.values
    message.covariance_diagonal[:] = estimate.variances
    message.covariance[:] = np.array(estimate.covariance).ravel()
    friction = estimate.friction
    message.friction[:] = (math.nan,) * 4 if friction is None else friction.values
    message.friction_variance[:] = (math.inf,) * 4 if friction is None else friction.variances
    lost = friction is not None and math.isfinite(sum(friction.gear_variances))
    message.gear_loss[:] = friction.gear_loss if friction and lost else (math.nan,) * 2
    message.gear_loss_variance[:] = (math.inf,) * 2 if friction is None else friction.gear_variances
    turning = estimate.turning
    message.turning[:] = (math.nan,) * 2 if turning is None else turning.values
    message.turning_variance[:] = (math.inf,) * 2 if turning is None else turning.variances
    message.slope[:] = (math.nan,) * 2 if estimate.slope is None else estimate.slope
    message.state = int(estimate.state)
    message.reason = estimate.explanation
    message.parameter_state[:] = np.array(estimate.parameter_states, np.uint8)
    message.parameter_reason = list(estimate.parameter_reasons)
    message.warnings = list(estimate.warnings)
    message.verification = int(verification)
    message.samples = estimate.samples
    message.residual_std[:] = estimate.residual_std
    message.coverage[:] = estimate.coverage
    message.residual_correlation[:] = estimate.residual_correlation
    message.torque_delay = float(estimate.delay)
    message.control_period = float(estimate.period)


def verification_message(verification: Verification, stamp: float) -> VerificationMessage:
    """Return the message of a verification whose motion ended at this stamp (s)."""
    message = VerificationMessage(
        passed=verification.passed,
        reason=verification.reason,
        duration=float(verification.duration),
        horizon=float(verification.horizon),
    )
    message.header.stamp = to_stamp(stamp)
    message.header.frame_id = "base_link"
    message.one_step[:] = verification.one_step
    message.one_step_no_model[:] = verification.one_step_no_model
    message.one_step_nominal[:] = verification.one_step_nominal
    message.horizon_error[:] = verification.horizon_error
    message.horizon_no_model[:] = verification.horizon_no_model
    message.horizon_nominal[:] = verification.horizon_nominal
    return message


def status_message(
    run: Identification, stamp: float, effort: tuple[float, float], command: tuple[float, float]
) -> IdentStatus:
    """Return the status of a run; duration, message, arena and counts are the node's."""
    status = IdentStatus(phase=int(run.phase), elapsed=run.elapsed, guarded=run.guarded)
    status.header.frame_id = "base_link"
    status.header.stamp = to_stamp(stamp)
    status.effort[:], status.command[:] = effort, command
    status.pose[:] = run.pose
    status.information = float(run.excitation.information)
    status.predicted_information = float(run.excitation.predicted_information)
    status.linear_velocity, status.angular_velocity = run.velocity
    return status


def diagnostics(estimate: Estimate, stamp: float, name: str, hardware: str) -> DiagnosticArray:
    """Return one status about the parameters K5..K8, by a node about a robot (hardware)."""
    status = DiagnosticStatus(
        level=LEVELS[estimate.state],
        name=f"{name}: dynamic parameters",
        message=estimate.explanation or "; ".join(estimate.warnings) or "estimated",
        hardware_id=hardware,
    )
    if status.level == DiagnosticStatus.OK and estimate.warnings:
        status.level = DiagnosticStatus.WARN
    for key, value, variance, state, reason in zip(
        NAMES,
        estimate.values,
        estimate.variances,
        estimate.parameter_states,
        estimate.parameter_reasons,
        strict=True,
    ):
        half = NORMAL_95 * variance**0.5
        text = f"{value:.6g} +- {half:.2g}" if state is EstimateState.ESTIMATED else reason
        status.values.append(KeyValue(key=key, value=f"{state.name.lower()}: {text}"))
    status.values.append(KeyValue(key="samples", value=str(estimate.samples)))
    status.values.append(KeyValue(key="torque delay, periods", value=f"{estimate.delay:g}"))
    array = DiagnosticArray(status=[status])
    array.header.stamp = to_stamp(stamp)
    return array


def quantities_of(message: VelocityParameters) -> tuple[AxisQuantities, AxisQuantities]:
    """Return lag, gain and dead time of v and of omega."""

    def deviation(variance: float) -> float:
        return math.sqrt(variance) if variance >= 0.0 else math.nan

    def of_axis(i: int) -> AxisQuantities:
        inertia, drag = float(message.sigma[i]), float(message.sigma[2 + i])
        spread = deviation(message.covariance_diagonal[2 + i])
        return AxisQuantities(
            Estimated(inertia / drag, deviation(message.time_constant_variance[i])),
            Estimated(1.0 / drag, spread / (drag * drag)),
            Estimated(float(message.dead_time[i]), deviation(message.dead_time_variance[i])),
            str(message.reason[i]),
        )

    return of_axis(0), of_axis(1)
