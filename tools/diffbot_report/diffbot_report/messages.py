# SPDX-License-Identifier: Apache-2.0
"""The only module that reads fields of messages for reports."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any, TypeVar

import numpy as np
from builtin_interfaces.msg import Time

from diffbot_ident.estimate import Estimate, EstimateState, FrictionEstimate, TurningEstimate
from diffbot_ident.verification import Verification, VerificationState
from diffbot_msgs import msg
from diffbot_msgs.msg import DynamicParameters, IdentStatus, VelocityParameters
from diffbot_report.controller_topics import StatusFields
from diffbot_report.run_end import ControllerState, IdentState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS, Rows, Stamps

T = TypeVar("T", FrictionEstimate, TurningEstimate)

LONGEST_RUN = 1e9  # s
# The constants of the messages are named like the phases.
PHASES = {
    kind: {getattr(kind, phase.name): phase for phase in RunPhase if hasattr(kind, phase.name)}
    for kind in (IdentStatus, msg.ControllerState)
}
# Like those of a Verification.
ERRORS = (
    "one_step", "one_step_no_model", "one_step_nominal",
    "horizon_error", "horizon_no_model", "horizon_nominal",
)  # fmt: skip


def nanoseconds(stamp: Time) -> int:
    """Convert a stamp to ns."""
    return int(stamp.sec) * NANOSECONDS + int(stamp.nanosec)


def tells_time(message: Any) -> bool:
    """Whether times of a state can be those of a run: anybody in the graph may publish it."""
    return 0.0 <= message.elapsed <= LONGEST_RUN and not math.isnan(message.duration)


class MessageReader:
    """Reads fields, numbers or arrays of fixed size, of batches of messages."""

    def __init__(self, names: Sequence[str]) -> None:
        self._fields = [attrgetter(name) for name in names]

    def read(self, messages: Sequence[Any]) -> tuple[Stamps, Rows]:
        """Return stamps, ns, shape (n,), and the fields side by side, (n, columns); n > 0."""
        stamps = [nanoseconds(message.header.stamp) for message in messages]
        rows = [np.hstack([field(message) for field in self._fields]) for message in messages]
        return np.array(stamps, np.int64), np.array(rows, float)


def gains_of(status: Any, fields: StatusFields) -> dict[str, Any]:
    """Return the gains in a status, by their names in the summary."""
    return {
        key: np.asarray(attrgetter(path)(status), float).tolist()
        for key, path in fields.gains.items()
    }


def ident_state(message: IdentStatus) -> IdentState:
    """Convert a status of the ident node."""
    arena = tuple(message.arena.tolist())
    return IdentState(
        **_common(message),
        statuses=message.count,
        velocity=(message.linear_velocity, message.angular_velocity),
        effort=tuple(message.effort.tolist()),
        position=tuple(message.pose[:2].tolist()),
        heading=float(message.pose[2]),
        information=(message.information, message.predicted_information),
        arena=arena if min(arena) > 0.0 else None,
        guarded=message.guarded,
        estimates=message.estimates,
    )


def controller_state(message: msg.ControllerState) -> ControllerState:
    """Convert a state of a controller."""
    return ControllerState(
        **_common(message),
        statuses=message.statuses,
        law=message.law,
        torque_limit=message.torque_limit,
        parameters=_four(message),
        parameters_source=message.parameters_source,
        judgements=message.judgements,
    )


def _common(message: Any) -> dict[str, Any]:
    names = ("message", "elapsed", "duration", "refused")
    return {
        "stamp": nanoseconds(message.header.stamp),
        "phase": PHASES[type(message)].get(message.phase, RunPhase.STOPPED),
        **{name: getattr(message, name) for name in names},
    }


def estimate_of(message: DynamicParameters) -> Estimate:
    """Return the estimate in a message, in which a publisher may leave fields 0."""
    state = _state(message.state)
    states = message.parameter_state.tolist()
    k5, k6, k7, k8 = map(_state, states) if any(states) else (state,) * 4
    slope, downhill = message.slope.tolist()
    covariance = message.covariance.reshape(4, 4)
    if not covariance.any():
        covariance = np.diag(message.covariance_diagonal)
    return Estimate(
        values=_four(message),
        covariance=tuple(map(tuple, covariance.tolist())),
        parameter_states=(k5, k6, k7, k8),
        parameter_reasons=tuple(message.parameter_reason),
        state=state,
        reason=message.reason,
        samples=message.samples,
        residual_std=tuple(message.residual_std.tolist()),
        warnings=tuple(message.warnings),
        residual_correlation=tuple(message.residual_correlation.tolist()),
        coverage=tuple(message.coverage.tolist()),
        delay=message.torque_delay,
        period=message.control_period,
        friction=_friction(message),
        turning=_known(TurningEstimate, message.turning, message.turning_variance),
        slope=(slope, downhill) if slope > 0.0 else None,  # neither 0 nor NaN
    )


def _friction(message: DynamicParameters) -> FrictionEstimate | None:
    friction = _known(FrictionEstimate, message.friction, message.friction_variance)
    losses, variances = message.gear_loss.tolist(), message.gear_loss_variance.tolist()
    if friction is None or not (np.isfinite(losses).all() and any(variances)):
        return friction
    return replace(friction, gear_loss=tuple(losses), gear_variances=tuple(variances))


def _known(kind: type[T], values: Any, variances: Any) -> T | None:
    if not (np.isfinite(values).any() and (values.any() or variances.any())):
        return None
    return kind(tuple(values.tolist()), tuple(variances.tolist()))


def _state(number: int) -> EstimateState:
    return EstimateState(number) if number in set(EstimateState) else EstimateState.INVALID


def _four(message: Any) -> tuple[float, float, float, float]:
    return message.k5, message.k6, message.k7, message.k8


def verdict_of(message: DynamicParameters) -> VerificationState:
    """Return whether the values in a message have been verified."""
    number = message.verification
    known = number in set(VerificationState)
    return VerificationState(number) if known else VerificationState.NOT_VERIFIED


def verification_of(message: msg.Verification) -> Verification:
    """Return the result of a held-out motion; without errors if it was too short."""
    errors = {name: tuple(getattr(message, name).tolist()) for name in ERRORS}
    state = VerificationState.NOT_VERIFIED
    if message.passed:
        state = VerificationState.VERIFIED
    elif np.isfinite(message.horizon_error).all():
        state = VerificationState.REFUTED
    return Verification(state, message.reason, message.duration, message.horizon, **errors)


def true_parameters(
    message: DynamicParameters | VelocityParameters,
) -> tuple[int, tuple[float, ...]]:
    """Return stamp, ns, and K5..K8 or sigma1..sigma4 of a simulator."""
    sigma = isinstance(message, VelocityParameters)
    values = tuple(message.sigma.tolist()) if sigma else _four(message)
    return nanoseconds(message.header.stamp), values
