# SPDX-License-Identifier: Apache-2.0
"""What an estimator of K5..K8 gives: values, confidence, and whether they may be used.

`Estimate` is the one type that estimators, identification, verification, parameter file and message
share. `Estimator` is what makes it, `Precision` says when it is good enough to stop.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample

Array = NDArray[np.float64]
Four = tuple[float, float, float, float]
"""One number for each of K5..K8, or for each friction coefficient."""

NAMES = ("k5", "k6", "k7", "k8")
UNITS = ("m", "1/m", "1/(kg m)", "1/(kg m^2)")
NORMAL_95 = 1.959964
"""Half width of the 95 % interval of a normal distribution, in standard deviations."""
FRICTION_NAMES = ("viscous_left", "viscous_right", "coulomb_left", "coulomb_right")
TURNING_NAMES = ("turning_viscous", "turning_coulomb")
TURNING_UNITS = ("N m s/rad", "N m")
FRICTION_UNITS = ("N m s/rad", "N m s/rad", "N m", "N m")


class EstimateState(IntEnum):
    """Whether an estimate may be used; the numbers are those of DynamicParameters.msg."""

    UNESTIMATED = 0
    ESTIMATED = 1
    INVALID = 2


@dataclass(frozen=True)
class FrictionEstimate:
    """Friction of the wheels that an estimate found, T = tau - viscous w - coulomb sign(w).

    Attributes:
        values: [viscous left, viscous right in N m s/rad, Coulomb left, Coulomb right in N m].
        variances: of the values, in their units squared; infinite where not identifiable.
        covariance: of the values, 4 rows of 4, in their units: too much of one friction is too
            little of the other. None where only the variances are known.
    """

    values: Four
    variances: Four
    covariance: tuple[tuple[float, ...], ...] | None = None

    @classmethod
    def of(cls, values: Array, covariance: Array) -> FrictionEstimate:
        """Values, shape (4,), with their covariance, shape (4, 4)."""
        rows = tuple(map(tuple, covariance.tolist()))
        return cls(tuple(values.tolist()), tuple(np.diag(covariance).tolist()), rows)

    def widened(self, factor: float) -> FrictionEstimate:
        """The same with standard deviations that are larger by this factor."""
        left, right, coulomb_left, coulomb_right = (factor**2 * each for each in self.variances)
        rows = self.covariance and tuple(
            tuple(factor**2 * each for each in row) for row in self.covariance
        )
        return FrictionEstimate(self.values, (left, right, coulomb_left, coulomb_right), rows)


@dataclass(frozen=True)
class TurningEstimate:
    """Resistance of the floor against turning, c_w omega + f_w sign(omega): skid steer.

    Attributes:
        values: [c_w in N m s/rad, f_w in N m], by the moment and the yaw rate of the robot.
        variances: of the values, in their units squared; infinite where not identifiable.
    """

    values: tuple[float, float]
    variances: tuple[float, float]

    def widened(self, factor: float) -> TurningEstimate:
        """The same with standard deviations that are larger by this factor."""
        viscous, coulomb = (factor**2 * each for each in self.variances)
        return TurningEstimate(self.values, (viscous, coulomb))


@dataclass(frozen=True)
class GyroFit:
    """What a gyro says beside the wheels; see yaw_gyro.

    Attributes:
        scale: yaw rate by the gyro over that by the wheels with the file's radius and track.
        scale_std: standard deviation of it.
        radius_difference: right radius less the left one beyond the file's, as a share of it.
        radius_difference_std: standard deviation of it.
        bias: mean over the run, rad/s.
        delay: of the gyro's stamps after the wheels', s.
        delay_std: standard deviation of it, s.
        agreement: share of the gyro's turns that the wheels explain, 0 to 1.
        windows: that the fit rests on.
    """

    scale: float
    scale_std: float
    radius_difference: float
    radius_difference_std: float
    bias: float
    delay: float
    delay_std: float
    agreement: float
    windows: int


NOTHING_KNOWN = tuple(tuple(math.inf if i == j else 0.0 for j in range(4)) for i in range(4))


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
        samples: joint samples that the estimate rests on.
        residual_std: standard deviations of the prediction errors, [m/s^2, rad/s^2].
        warnings: what is odd though the values may be used.
        residual_correlation: largest autocorrelation of the prediction errors, [linear, angular],
            over lags that should have none; NaN before there are enough.
        coverage: share of the excitation that each parameter needs that was seen, 0 to 1.
        delay: control periods between a torque's report and its action; NaN where unknown.
        period: control period of the samples, s; NaN where unknown.
        friction: of the wheels; None where the estimator does not model it.
        turning: resistance against turning; None where it is not looked for.
        gyro: that the yaw rate was taken from; None: from wheels, radius and track alone.
        torque_difference: how much more a reported torque of the right wheel moves the robot than
            the left one's, as a share of their sum, with its standard deviation
            (residual_patterns.torque_difference); NaN where it is not looked for.
    """

    values: Four = (0.0, 0.0, 0.0, 0.0)
    covariance: tuple[tuple[float, ...], ...] = NOTHING_KNOWN
    parameter_states: tuple[EstimateState, ...] = (EstimateState.UNESTIMATED,) * 4
    parameter_reasons: tuple[str, ...] = ("",) * 4
    state: EstimateState = EstimateState.UNESTIMATED
    reason: str = ""
    samples: int = 0
    residual_std: tuple[float, float] = (math.inf, math.inf)
    warnings: tuple[str, ...] = ()
    residual_correlation: tuple[float, float] = (math.nan, math.nan)
    coverage: Four = (0.0, 0.0, 0.0, 0.0)
    delay: float = math.nan
    period: float = math.nan
    friction: FrictionEstimate | None = None
    turning: TurningEstimate | None = None
    gyro: GyroFit | None = None
    torque_difference: tuple[float, float] = (math.nan, math.inf)

    @classmethod
    def unknown(cls, samples: int, min_samples: int) -> Estimate:
        """The estimate while there are samples, but too few for any value."""
        reason = f"{samples} of {max(min_samples, samples + 1)} samples; wait"
        return cls(samples=samples).as_a_whole(EstimateState.UNESTIMATED, reason)

    @property
    def variances(self) -> Four:
        """Variances of the values, in their units squared; infinite where not identifiable."""
        k5, k6, k7, k8 = (
            math.inf if state is EstimateState.UNESTIMATED else row[i]
            for i, (state, row) in enumerate(
                zip(self.parameter_states, self.covariance, strict=True)
            )
        )
        return k5, k6, k7, k8

    def with_values(self, values: Array, covariance: Array) -> Estimate:
        """This estimate with other values, shape (4,), and covariance, shape (4, 4)."""
        k5, k6, k7, k8 = values.tolist()
        rows = tuple(map(tuple, covariance.tolist()))
        return replace(self, values=(k5, k6, k7, k8), covariance=rows)

    def as_a_whole(self, state: EstimateState, reason: str) -> Estimate:
        """This estimate, none of whose parameters may be used, for the same reason."""
        return replace(
            self,
            state=state,
            reason=reason,
            parameter_states=(state,) * 4,
            parameter_reasons=(reason,) * 4,
        )

    def without_numbers(self) -> Estimate:
        """What there is to say of an invalid estimate: why it is, and what was seen."""
        return replace(
            self,
            values=(math.nan,) * 4,
            covariance=NOTHING_KNOWN,
            residual_std=(math.nan, math.nan),
            residual_correlation=(math.nan, math.nan),
            delay=math.nan,
            friction=None,
            turning=None,
            gyro=None,
            torque_difference=(math.nan, math.inf),
        )


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

    def interrupt(self) -> None:
        """The next sample does not follow the newest: one between them was left out."""

    def estimate(self) -> Estimate:
        """The estimate as it stands."""

    def suspicion(self) -> str | None:
        """What is probably wrong with a robot that ran away from its guard; None: no idea."""


EXAMPLE = "K5 5% K6 5% K7 1% K8 1%"


@dataclass(frozen=True)
class Precision:
    """Precision at which an identification may stop: half widths of the 95 % intervals.

    Attributes:
        limits: largest half width, relative to the value, by parameter, "k5" to "k8", each > 0.
    """

    limits: dict[str, float]

    @classmethod
    def parse(cls, text: str) -> Precision | None:
        """Read names and percentages, such as `EXAMPLE`; None where the text is empty.

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

    def is_reached(self, estimate: Estimate) -> bool:
        """Whether everything is precise enough.

        K5 and K6 of a robot whose centre of mass is on the axle are as precise as can be.
        """
        if estimate.state is not EstimateState.ESTIMATED:
            return False
        for name, value, variance in zip(NAMES, estimate.values, estimate.variances, strict=True):
            half = NORMAL_95 * math.sqrt(variance)
            limit = self.limits.get(name, math.inf)
            if math.isfinite(half) and half > limit * abs(value):
                return False
        return True
