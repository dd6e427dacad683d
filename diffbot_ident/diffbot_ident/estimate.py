# SPDX-License-Identifier: Apache-2.0
"""Estimates of K5..K8: values, confidence, and whether they may be used."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum, IntEnum
from html import escape
from typing import Protocol

import numpy as np

from arc_odometry import JointSample
from arc_odometry.number_range import Array as Array

Four = tuple[float, float, float, float]
"""One number for each of K5..K8, or for each friction coefficient."""
Pair = tuple[float, float]
"""One number for each wheel, [left, right]."""
Three = tuple[float, float, float]

NAMES = ("k5", "k6", "k7", "k8")
UNITS = ("m", "1/m", "1/(kg m)", "1/(kg m^2)")
MIN_SAMPLES = 100
"""Number of joint samples below which nothing is estimated."""
NORMAL_95 = 1.959964
"""Half width of the 95 % interval of a normal distribution, in standard deviations."""
FRICTION_NAMES = ("viscous_left", "viscous_right", "coulomb_left", "coulomb_right")
GEAR_NAMES = ("gear_loss_left", "gear_loss_right")
TURNING_NAMES = ("turning_viscous", "turning_coulomb")
TURNING_UNITS = ("N m s/rad", "N m")
FRICTION_UNITS = ("N m s/rad", "N m s/rad", "N m", "N m")


class EstimateState(IntEnum):
    """Whether an estimate may be used; the numbers are those of DynamicParameters.msg."""

    UNESTIMATED = 0
    ESTIMATED = 1
    INVALID = 2


class Advice(Enum):
    """What follows from an estimate that may not be used, beyond its reason."""

    NONE = ""
    WAIT = "wait"
    TORQUE_OFF = "torque stays off"
    RECORD_LONGER = "give a longer recording"
    EXCITE_LONGER = "identify for longer (duration)"

    @property
    def of_finished_run(self) -> Advice:
        return Advice.EXCITE_LONGER if self is Advice.WAIT else self

    @property
    def of_recording(self) -> Advice:
        return Advice.RECORD_LONGER if self is Advice.WAIT else Advice.NONE


@dataclass(frozen=True)
class FrictionEstimate:
    """Estimated friction of the wheels, T = tau - viscous w - (coulomb + gear_loss |tau|) sign(w).

        >>> friction = FrictionEstimate((0.1, 0.1, 0.5, 0.5), (0.01,) * 4)
        >>> friction.widened(2.0).variances
        (0.04, 0.04, 0.04, 0.04)

    Attributes:
        values: [viscous left, viscous right in N m s/rad, Coulomb left, Coulomb right in N m].
        variances: Variances of the values; infinite where not identifiable.
        covariance: Covariance of the values, or of these and gear losses; None: not known.
        gear_loss: Share of its torque that each wheel's gear loses; 0 where none was found. Coulomb
            friction is then that at the mean size of the torque.
        gear_variances: Variances of these shares; infinite where no such loss was found.
    """

    values: Four
    variances: Four
    covariance: tuple[tuple[float, ...], ...] | None = None
    gear_loss: Pair = (0.0, 0.0)
    gear_variances: Pair = (math.inf, math.inf)

    @classmethod
    def of(cls, values: Array, covariance: Array) -> FrictionEstimate:
        """Return the estimate by values, (4,), or with gear losses (6,), and their covariance."""
        rows = tuple(map(tuple, covariance.tolist()))
        result, variances = values.tolist(), covariance.diagonal().tolist()
        plain = cls(tuple(result[:4]), tuple(variances[:4]), rows)
        if len(result) == 4:
            return plain
        return replace(plain, gear_loss=tuple(result[4:]), gear_variances=tuple(variances[4:]))

    def widened(self, factor: float) -> FrictionEstimate:
        """Return the same values with deviations times this factor."""
        return self if factor == 1.0 else self._scaled((1.0,) * 6, (factor,) * 6)

    def less_certain(self, viscous: float, coulomb: float) -> FrictionEstimate:
        """Return the same values with these relative standard deviations added, in squares."""
        more = np.square(np.array(self.values) * (viscous, viscous, coulomb, coulomb))
        a, b, c, d = (np.array(self.variances) + more).tolist()
        rows = self.covariance
        if rows is not None:
            wider = np.array(rows)
            wider[np.arange(4), np.arange(4)] += more
            rows = tuple(map(tuple, wider.tolist()))
        return replace(self, variances=(a, b, c, d), covariance=rows)

    def of_uneven_wheels(self, difference: float) -> FrictionEstimate:
        """Return each wheel's friction from that of equal wheels, by `torque_difference`."""
        factors = (1.0 / (1.0 - difference), 1.0 / (1.0 + difference)) * 3
        return self._scaled(factors, factors)

    def _scaled(self, values: Sequence[float], deviations: Sequence[float]) -> FrictionEstimate:
        a, b, c, d, left, right = (
            factor * each
            for factor, each in zip(values, (*self.values, *self.gear_loss), strict=True)
        )
        every = (*self.variances, *self.gear_variances)
        e, f, g, h, i, j = (
            factor**2 * each for factor, each in zip(deviations, every, strict=True)
        )
        rows = self.covariance and tuple(
            tuple(one * other * each for other, each in zip(deviations, row, strict=False))
            for one, row in zip(deviations, self.covariance, strict=False)
        )
        return FrictionEstimate((a, b, c, d), (e, f, g, h), rows, (left, right), (i, j))


@dataclass(frozen=True)
class TurningEstimate:
    """Resistance of the floor against turning, c_w omega + f_w sign(omega): skid steer.

    Values [c_w in N m s/rad, f_w in N m], and their variances; infinite where not identifiable.
    """

    values: tuple[float, float]
    variances: tuple[float, float]

    def widened(self, factor: float) -> TurningEstimate:
        viscous, coulomb = (factor**2 * each for each in self.variances)
        return TurningEstimate(self.values, (viscous, coulomb))


@dataclass(frozen=True)
class GyroFit:
    """Comparison of a gyro with the wheels; see yaw_gyro.

    Attributes:
        scale: Yaw rate of the gyro over that of the wheels with the file's radius and track.
        radius_difference: Right minus left radius, beyond the file's, as a share of it.
        bias: Mean bias of the gyro over the run, rad/s.
        delay: Delay of the gyro's stamps relative to the wheels', s.
        agreement: Share of the gyro's rotation that the wheels explain, 0 to 1.
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

        >>> estimate = Estimate(values=(0.08, -3.8, 2.6, -16.0), state=EstimateState.ESTIMATED)
        >>> estimate.as_a_whole(EstimateState.INVALID, "the wheels are swapped").explanation
        'the wheels are swapped'

    Attributes:
        values: [K5 in m, K6 in 1/m, K7 in 1/(kg m), K8 in 1/(kg m^2)].
        covariance: Covariance of the values, 4 rows of 4, also where a parameter is not
            identifiable.
        parameter_states: State of each; UNESTIMATED: not identifiable. `parameter_reasons`: why.
        state: Whether the values may be used as a set. It may be ESTIMATED though K5 and K6 are not
            identifiable: the centre of mass is then on the axle, and 0 may be used for both.
        reason: Why the state is not ESTIMATED; empty when it is.
        samples: Number of joint samples used.
        residual_std: Standard deviations of the prediction errors, [m/s^2, rad/s^2].
        warnings: Anomalies that do not prevent the use of the values.
        residual_correlation: Largest autocorrelation of the prediction errors, [linear, angular];
            NaN: not known.
        coverage: Share of the excitation needed for each parameter that has been seen, 0 to 1.
        delay: Control periods between a torque's report and its action; NaN where unknown.
        period: Control period of the samples, s; NaN where unknown.
        gyro: Gyro from which the yaw rate was taken; None if from the wheels alone.
        torque_difference: How much more a torque of the right wheel moves the robot than one of the
            left, as a share of their sum, and its standard deviation; NaN where not estimated.
        slope: Slope of the floor and heading downhill relative to the first, rad; None: level.
        since: Stamp from which on the robot is as estimated, s; NaN: it did not change.
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
    slope: tuple[float, float] | None = None
    advice: Advice = Advice.NONE
    since: float = math.nan

    @classmethod
    def unknown(cls, samples: int) -> Estimate:
        """For too few samples to have any value."""
        reason = f"{samples} of {max(MIN_SAMPLES, samples + 1)} samples"
        return cls(samples=samples).as_a_whole(EstimateState.UNESTIMATED, reason, Advice.WAIT)

    @property
    def explanation(self) -> str:
        """Reason and advice in one line; empty when the state is ESTIMATED."""
        return "; ".join(part for part in (self.reason, self.advice.value) if part)

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

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{name.upper()}</th><td>{value:.5g}</td>"
            f"<td>{NORMAL_95 * math.sqrt(variance):.2g}</td><td>{unit}</td>"
            f"<td>{escape(why or state.name.lower())}</td></tr>"
            for name, value, variance, unit, state, why in zip(
                NAMES,
                self.values,
                self.variances,
                UNITS,
                self.parameter_states,
                self.parameter_reasons,
                strict=True,
            )
        )
        notes = "<br>".join(map(escape, filter(None, (self.explanation, *self.warnings))))
        head = "<tr><th></th><th>value</th><th>&plusmn; 95 %</th><th>unit</th><th></th></tr>"
        return f"<table>{head}{rows}</table>{notes}"

    def with_values(self, values: Array, covariance: Array) -> Estimate:
        """Return this estimate with other values, shape (4,), and covariance, shape (4, 4)."""
        k5, k6, k7, k8 = values.tolist()
        rows = tuple(map(tuple, covariance.tolist()))
        return replace(self, values=(k5, k6, k7, k8), covariance=rows)

    def as_a_whole(
        self, state: EstimateState, reason: str, advice: Advice = Advice.NONE
    ) -> Estimate:
        """Return this estimate with one state and reason for the set and every parameter."""
        return replace(
            self,
            state=state,
            reason=reason,
            advice=advice,
            parameter_states=(state,) * 4,
            parameter_reasons=(reason,) * 4,
        )

    def without_numbers(self) -> Estimate:
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
            slope=None,
        )


class Estimator(Protocol):
    """Estimates K5..K8 from joint samples, one control period after another."""

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity (v in m/s, omega in rad/s); None before there is one."""

    def update(self, sample: JointSample) -> bool:
        """Process one joint sample; return whether the estimate may have changed.

        Raises:
            ValueError: The sample cannot be used, and why; the estimate is unchanged.
        """

    def interrupt(self) -> None:
        """Note that a sample was skipped: the next one does not follow the newest."""

    def estimate(self) -> Estimate:
        """Return the current estimate."""

    def suspicion(self) -> str | None:
        """Return the likely fault of a robot that ran away from its guard; None if unknown."""
