"""What an estimator of K5..K8 gives: values, confidence, and whether they may be used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Protocol

from arc_odometry import JointSample

NAMES = ("k5", "k6", "k7", "k8")
UNITS = ("m", "1/m", "1/(kg m)", "1/(kg m^2)")
# 95 % of a normal distribution, in standard deviations.
NORMAL_95 = 1.959964
FRICTION_NAMES = ("viscous_left", "viscous_right", "coulomb_left", "coulomb_right")
FRICTION_UNITS = ("N m s/rad", "N m s/rad", "N m", "N m")


class State(IntEnum):
    """Whether an estimate may be used; the numbers are those of DynamicParameters.msg."""

    UNESTIMATED = 0
    ESTIMATED = 1
    INVALID = 2


@dataclass(frozen=True)
class Friction:
    """Friction of the wheels that an estimate found, T = tau - viscous w - coulomb sign(w).

    Attributes:
        values: [viscous left, viscous right in N m s/rad, Coulomb left, Coulomb right in N m].
        variances: of the values, in their units squared; infinite where not identifiable.
    """

    values: tuple[float, float, float, float]
    variances: tuple[float, float, float, float]


@dataclass(frozen=True)
class Estimate:
    """Values of K5..K8 with their confidence.

    Attributes:
        values: [K5 in m, K6 in 1/m, K7 in 1/(kg m), K8 in 1/(kg m^2)].
        covariance: of the values, 4 rows of 4, in their units; of what the data say, even where
            a parameter is not identifiable.
        parameter_states: of each parameter. UNESTIMATED: not identifiable from the data.
        parameter_reasons: why a parameter's state is not ESTIMATED; empty where it is.
        state: whether the values may be used as a set. It may be ESTIMATED though K5 and K6 are
            not identifiable: the centre of mass is then on the axle, and 0 may be used for both.
        reason: why the state is not ESTIMATED and what to do; empty when it is.
        warnings: what is odd though the values may be used.
        samples: joint samples that the estimate rests on.
        residual_std: standard deviations of the prediction errors, [m/s^2, rad/s^2].
        residual_correlation: largest autocorrelation of the prediction errors, [linear, angular],
            over lags that should have none; NaN before there are enough.
        coverage: share of the excitation that each parameter needs that was seen, 0 to 1.
        delay: control periods between a torque's report and its action; NaN where unknown.
        friction: of the wheels; None where the estimator does not model it.
    """

    values: tuple[float, float, float, float]
    covariance: tuple[tuple[float, ...], ...]
    parameter_states: tuple[State, State, State, State]
    parameter_reasons: tuple[str, str, str, str]
    state: State
    reason: str
    samples: int
    residual_std: tuple[float, float]
    warnings: tuple[str, ...] = ()
    residual_correlation: tuple[float, float] = (math.nan, math.nan)
    coverage: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    delay: float = math.nan
    friction: Friction | None = field(default=None)

    @property
    def variances(self) -> tuple[float, float, float, float]:
        """Variances of the values, in their units squared; infinite where not identifiable."""
        found: Sequence[float] = [
            math.inf if state is State.UNESTIMATED else row[i]
            for i, (state, row) in enumerate(
                zip(self.parameter_states, self.covariance, strict=True)
            )
        ]
        return (found[0], found[1], found[2], found[3])


class Estimator(Protocol):
    """Estimates K5..K8 from joint samples, one control period after another."""

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity (v in m/s, omega in rad/s); None before there is one."""

    def reset(self) -> None:
        """Forget everything."""

    def update(self, sample: JointSample) -> bool:
        """Take in one joint sample; returns whether the estimate may have changed.

        Raises:
            ValueError: the sample cannot be used; the message says why. The estimate is unchanged
                and goes on from the next good sample.
        """

    def estimate(self) -> Estimate:
        """The estimate as it stands."""

    def suspicion(self) -> str:
        """What is probably wrong with a robot that ran away from its guard; empty: no idea."""


# ---
# The precision at which an identification may stop, such as "K5 5% K6 5% K7 1% K8 1%".

EXAMPLE = "K5 5% K6 5% K7 1% K8 1%"


@dataclass(frozen=True)
class Precision:
    """Largest half widths of the 95 % intervals, relative to the values.

    Attributes:
        limits: by parameter, "k5" to "k8", each > 0.
    """

    limits: dict[str, float]

    @classmethod
    def parse(cls, text: str) -> Precision | None:
        """Read names and percentages; None where the text is empty.

        Raises:
            ValueError: the text is not pairs of a parameter and a percentage > 0.
        """
        words = text.replace("=", " ").replace(",", " ").replace("%", " ").split()
        if not words:
            return None
        limits: dict[str, float] = {}
        if len(words) % 2:
            raise ValueError(
                f"until = {text!r}: must be pairs of a parameter and a percentage, "
                f"such as {EXAMPLE!r}"
            )
        for name, number in zip(words[::2], words[1::2], strict=True):
            key = name.lower()
            if key not in NAMES or key in limits:
                raise ValueError(
                    f"until = {text!r}: {name!r} must be one of K5, K6, K7, K8, each once; for "
                    f"example {EXAMPLE!r}"
                )
            limits[key] = cls._share(number, text)
        return cls(limits)

    @staticmethod
    def _share(number: str, text: str) -> float:
        try:
            share = 0.01 * float(number)
        except ValueError:
            share = math.nan
        if not 0.0 < share < math.inf:
            raise ValueError(
                f"until = {text!r}: {number!r} must be a percentage > 0; for example {EXAMPLE!r}"
            )
        return share

    def missing(self, estimate: Estimate) -> str:
        """What is not precise enough yet; empty when everything is.

        K5 and K6 of a robot whose centre of mass is on the axle are as precise as can be.
        """
        if estimate.state is not State.ESTIMATED:
            return estimate.reason
        for name, value, variance in zip(NAMES, estimate.values, estimate.variances, strict=True):
            half = NORMAL_95 * math.sqrt(variance)
            limit = self.limits.get(name, math.inf)
            if math.isfinite(half) and half > limit * abs(value):
                return (
                    f"{name.upper()} = {value:.4g} is known to +- {half:.2g}, asked for "
                    f"{100.0 * limit:g} %"
                )
        return ""
