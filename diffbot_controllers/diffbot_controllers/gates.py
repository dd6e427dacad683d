"""What a live estimate of K5..K8 has to be before a control law may follow it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from diffbot_controllers.adaptation_settings import AdaptationSettings, Four
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.parameter_file import NAMES, usable_dynamics
from diffbot_ident.estimate import NORMAL_95

# What stands for a parameter that is not identifiable when the others' signs are looked at.
UNKNOWN = (0.0, 0.0, 1.0, -1.0)


@dataclass(frozen=True)
class Offer:
    """An estimate of [K5, K6, K7, K8] as an estimator offers it.

    Attributes:
        stamp: of the newest joint state that it rests on, s.
        values: in m, 1/m, 1/(kg m), 1/(kg m^2).
        variances: of the values, in their units squared; infinite where not identifiable.
        estimated: whether the estimator calls the set as a whole estimated.
        reason: why it does not.
        verified: whether a motion that the values were not made from agreed with them; None:
            there was none yet.
        coverage: share of the excitation that each needs that has been seen, 0 to 1.
    """

    stamp: float
    values: Four
    variances: Four
    estimated: bool = True
    reason: str = ""
    verified: bool | None = None
    coverage: Four = (1.0, 1.0, 1.0, 1.0)

    @property
    def deviations(self) -> Four:
        """Standard deviations of the values; infinite or NaN where they are not known."""
        s5, s6, s7, s8 = (math.sqrt(v) if v >= 0.0 else math.nan for v in self.variances)
        return s5, s6, s7, s8


@dataclass(frozen=True)
class Band:
    """Bounds of K5..K8 in use.

    Attributes:
        lower: least values.
        upper: largest values.
        scale: size of a change that counts as the whole parameter, > 0.
    """

    lower: Four
    upper: Four
    scale: Four

    @staticmethod
    def around(nominal: BodyDynamics, half_track: float, settings: AdaptationSettings) -> Band:
        """The band around the nominal parameters.

        K5 = m_b d / M_e and K6 = -m_b d / I_e = K5 K8 / (b K7) are widened by what a move of the
        whole equivalent mass by `offset_margin` would do.

        Args:
            nominal: K5..K8 of the robot as it is known without adaptation.
            half_track: b, m, > 0.
            settings: `band` and `offset_margin`.
        """
        margin = settings.offset_margin
        turned = margin * abs(nominal.k8) / (half_track * nominal.k7)
        rows = []
        for value, more in zip(
            (nominal.k5, nominal.k6, nominal.k7, nominal.k8),
            (margin, turned, 0.0, 0.0),
            strict=True,
        ):
            low, high = sorted((value / settings.band, value * settings.band))
            rows.append((low - more, high + more, max(abs(value), more, 1e-12)))
        lower, upper, scale = zip(*rows, strict=True)
        return Band(lower, upper, scale)

    def clip(self, index: int, value: float) -> float:
        """A finite value of parameter 0 to 3 (K5 to K8), moved into its band."""
        return max(self.lower[index], min(self.upper[index], value))


class PrecisionGate:
    """Opens for one parameter at its limit of the relative interval and shuts beyond a larger one.

    Args:
        name: of the parameter, for the reason.
        limit: largest relative half width of the 95 % interval that opens.
        hysteresis: factor on the limit beyond which it shuts, >= 1.
        scale: size that a width is compared with at least, in the parameter's unit.
    """

    def __init__(self, name: str, limit: float, hysteresis: float, scale: float) -> None:
        self._name = name
        self._limit = limit
        self._hysteresis = hysteresis
        self._scale = scale
        self.is_open = False

    def judge(self, value: float, deviation: float) -> str:
        """Why the estimate is not precise enough; empty when it is."""
        limit = self._limit * (self._hysteresis if self.is_open else 1.0)
        width = NORMAL_95 * deviation / max(abs(value), self._scale)
        self.is_open = width <= limit  # False for NaN
        if self.is_open:
            return ""
        if not math.isfinite(width):
            return f"{self._name} is not identifiable from the motion so far"
        return (
            f"{self._name}: half the 95 % interval is {100.0 * width:.3g} % of it, limit "
            f"{100.0 * limit:g} %; drive with more change of speed and yaw rate"
        )


def judge_set(offer: Offer, settings: AdaptationSettings) -> dict[str, str]:
    """Reasons against the estimate as a whole, by gate; empty where it passes.

    What is not identifiable is not looked at: its own gate keeps it.
    """
    reasons = dict.fromkeys(("finite", "estimated", "physical", "verified"), "")
    for name, value in zip(NAMES, offer.values, strict=True):
        if not math.isfinite(value):
            reasons["finite"] = f"{name} = {value}: must be finite"
    if math.isnan(offer.stamp) or any(math.isnan(v) or v < 0.0 for v in offer.variances):
        reasons["finite"] = reasons["finite"] or (
            f"variances = {list(offer.variances)}: must be >= 0, or infinite where not identifiable"
        )
    if not offer.estimated:
        reasons["estimated"] = offer.reason or "the estimator does not call it estimated yet"
    if not reasons["finite"]:
        reasons["physical"] = _unphysical(offer.values, offer.variances)
    if offer.verified is False:
        reasons["verified"] = "a motion that it was not made from refutes it; identify anew"
    elif settings.require_verified and offer.verified is None:
        reasons["verified"] = (
            "not verified by a motion of its own yet, as require_verified demands; let ident drive "
            "one, or start from a trusted set with parameters = adaptive"
        )
    return reasons


def _unphysical(values: Sequence[float], variances: Sequence[float]) -> str:
    pairs = [
        (float(value), float(variance)) if math.isfinite(variance) else (stand_in, 0.0)
        for value, variance, stand_in in zip(values, variances, UNKNOWN, strict=True)
    ]
    try:
        usable_dynamics(*zip(*pairs, strict=True))
    except ValueError as error:
        return str(error)
    return ""
