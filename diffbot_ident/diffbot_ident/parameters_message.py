"""From estimates and verifications to messages."""

from __future__ import annotations

import math

import numpy as np

from diffbot_ident.torque.estimate import Estimate
from diffbot_ident.verification import Verification
from diffbot_msgs.msg import DynamicParameters
from diffbot_msgs.msg import Verification as VerificationMessage
from diffbot_node import to_stamp

NOT_VERIFIED = DynamicParameters.NOT_VERIFIED


def fill(
    message: DynamicParameters, estimate: Estimate, stamp: float, verification: int = NOT_VERIFIED
) -> None:
    """Put an estimate into a message.

    Args:
        message: to be filled.
        estimate: of the robot.
        stamp: of the newest joint state that it rests on, s.
        verification: NOT_VERIFIED, VERIFIED or REFUTED.
    """
    message.header.stamp = to_stamp(stamp)
    message.header.frame_id = "base_link"
    message.k5, message.k6, message.k7, message.k8 = estimate.values
    message.covariance_diagonal[:] = estimate.variances
    message.covariance[:] = np.array(estimate.covariance).ravel()
    friction = estimate.friction
    message.friction[:] = (math.nan,) * 4 if friction is None else friction.values
    message.friction_variance[:] = (math.inf,) * 4 if friction is None else friction.variances
    message.state = int(estimate.state)
    message.reason = estimate.reason
    message.parameter_state[:] = np.array(list(map(int, estimate.parameter_states)), np.uint8)
    message.parameter_reason = list(estimate.parameter_reasons)
    message.warnings = list(estimate.warnings)
    message.verification = verification
    message.samples = estimate.samples
    message.residual_std[:] = estimate.residual_std
    message.coverage[:] = estimate.coverage
    message.residual_correlation[:] = estimate.residual_correlation
    message.torque_delay = float(estimate.delay)


def verification_message(found: Verification, stamp: float) -> VerificationMessage:
    """The message of a verification whose motion ended at this stamp (s)."""
    message = VerificationMessage(
        passed=found.passed,
        reason=found.reason,
        duration=float(found.duration),
        horizon=float(found.horizon),
    )
    message.header.stamp = to_stamp(stamp)
    message.header.frame_id = "base_link"
    for name in ("one_step", "horizon"):
        own = name if name == "one_step" else "horizon_error"
        getattr(message, own)[:] = getattr(found, own)
        for other in ("no_model", "nominal"):
            getattr(message, f"{name}_{other}")[:] = getattr(found, f"{name}_{other}")
    return message
