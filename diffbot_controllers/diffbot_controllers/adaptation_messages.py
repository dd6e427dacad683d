"""From the identification's messages to offers, and from judgements to AdaptationStatus."""

from __future__ import annotations

from diffbot_controllers.adaptation import Adaptation
from diffbot_controllers.gates import Offer
from diffbot_controllers.judgement import Judgement
from diffbot_msgs.msg import AdaptationStatus, DynamicParameters
from diffbot_node import seconds

VERIFIED = {DynamicParameters.VERIFIED: True, DynamicParameters.REFUTED: False}


def offer_of(message: DynamicParameters) -> Offer:
    """The estimate in a message."""
    v5, v6, v7, v8 = message.covariance_diagonal.tolist()
    c5, c6, c7, c8 = message.coverage.tolist()
    return Offer(
        stamp=seconds(message.header.stamp),
        values=(message.k5, message.k6, message.k7, message.k8),
        variances=(v5, v6, v7, v8),
        estimated=message.state == DynamicParameters.ESTIMATED,
        reason=message.reason,
        verified=VERIFIED.get(message.verification),
        coverage=(c5, c6, c7, c8),
    )


def fill_adaptation(
    status: AdaptationStatus, adaptation: Adaptation, offer: Offer, judgement: Judgement
) -> None:
    """Put all of a judgement but its stamp into a message."""
    status.state = int(judgement.state)
    status.reason = judgement.reason
    status.in_use[:] = adaptation.values
    status.offered[:] = offer.values
    status.offered_std[:] = offer.deviations
    status.lower[:] = adaptation.band.lower
    status.upper[:] = adaptation.band.upper
    status.follows = list(judgement.follows)
    status.gates = list(judgement.reasons)
    status.passed = [not reason for reason in judgement.reasons.values()]
    status.refused = adaptation.refused
