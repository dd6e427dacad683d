"""The estimator to trust: windowed integral regressors, friction, delay, honest intervals.

What the paper's estimator (rls) lacks: torques that are matched to the encoders' intervals, the
wheels' viscous and Coulomb friction, the torque's delay, intervals that hold the truth as often
as they say, and the knowledge of when a parameter cannot be known. Lages (2017), (41), integrated;
see integral_rows, row_sums, axis_fit, consistency and judgement for the steps.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.sample_check import SampleCheck
from diffbot_ident.torque.axis_fit import (
    ANGULAR,
    LINEAR,
    AxisFit,
    AxisPrior,
    Whiteness,
    fit,
    friction_terms,
    fuse_friction,
    residual_sums,
)
from diffbot_ident.torque.estimate import Estimate, State
from diffbot_ident.torque.integral_rows import (
    DELAYS,
    DOMEGA,
    DV,
    NO_KINKS,
    Array,
    Coverage,
    IntegralRows,
    Kinks,
    MotionScale,
    RowSums,
    Thinning,
)
from diffbot_ident.torque.judgement import (
    LIKELIER_RUNAWAY,
    MATURE,
    VAGUE,
    conclude,
    standing_wheel,
    wiring_problem,
)

# Samples after which the control period is known.
FIRST = 12
# Windows that share nothing after which the kinks of the velocities are looked at first.
FIRST_LOOK = 5
# Samples that are worked off together where nobody asks for an estimate.
BLOCK = 2048
# Gain in minus twice the log likelihood that makes a delay sure, and the least part of a control
# period that is told from none.
SURE, LEAST_PART = 25.0, 0.05
# Whole delays farther than this from the one found are others, in control periods.
ANOTHER = 0.75
# Least time between two samples that are worked off, s; faster ones are thinned.
PACE = 0.008
# Discretisation of the friction's sign and of the products leaves errors that no averaging takes
# away; relative standard deviation of K5..K8 that stands for them, up to a control period of
# FLOOR_PERIOD (s). Beyond, it grows as those errors do: with the period for K7 and K8, with its
# square for K5 and K6 (benchmarks/trust.py).
FLOOR, FLOOR_PERIOD = 2e-4, 0.01


@dataclass(frozen=True)
class Prior:
    """What is known before the first sample.

    Attributes:
        values: [K5, K6, K7, K8].
        relative: standard deviations of them, relative to their size, > 0.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m].
        friction_std: standard deviations of the friction, > 0.
    """

    values: tuple[float, float, float, float]
    relative: tuple[float, float, float, float] = (0.5, 0.5, 0.5, 0.5)
    friction: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    friction_std: tuple[float, float, float, float] = (math.inf,) * 4


class IntegralEstimator:
    """Estimates K5..K8 and the wheels' friction from joint samples.

    Args:
        geometry: of the wheels.
        scale: of the motions to expect, for the coverage.
        window: length of a window, s, > 0.
        smoothing: time over which the ends of a window are averaged, s, > 0.
        forgetting: what the past counts after each window, (0, 1]; 1 forgets nothing.
        prior: what is known beforehand; it is never forgotten, so that the covariance is bounded.
        min_samples: fewer tell nothing.

    Raises:
        ValueError: an argument is outside its range.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        scale: MotionScale,
        window: float = 0.1,
        smoothing: float = 0.05,
        forgetting: float = 1.0,
        prior: Prior | None = None,
        min_samples: int = 100,
    ) -> None:
        for name, value in (("window", window), ("smoothing", smoothing)):
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"{name} = {value} s: must be finite and > 0; 0.1 suits 100 Hz")
        if not 0.0 < forgetting <= 1.0:
            raise ValueError(
                f"forgetting = {forgetting}: must be > 0 and <= 1; 1 forgets nothing, 0.99 about "
                "100 windows"
            )
        self._geometry = geometry
        self._scale = scale
        self._window = window
        self._smoothing = smoothing
        self._forgetting = forgetting
        self._prior = prior
        self._min_samples = min_samples
        self._check = SampleCheck()
        self.reset()

    def reset(self) -> None:
        """Forget everything."""
        self._check.reset()
        self._pending: list[tuple[float, float, float, float, float]] = []
        self._tail = np.empty((0, 5))
        self._rows: IntegralRows | None = None
        self._coverage = Coverage(self._scale)
        self._white = Whiteness()
        self._delay = 0.0
        self._kinks = NO_KINKS
        self._samples = 0
        self._seen = 0  # rows, forgotten ones too
        # Samples to wait for before they are worked off.
        self._block = FIRST
        self._estimate: Estimate | None = None

    @property
    def velocity(self) -> tuple[float, float] | None:
        """Newest body velocity (v in m/s, omega in rad/s); None before there is one."""
        if len(self._pending) > 1:
            before, after = self._pending[-2:]
        elif self._pending and len(self._tail):
            before, after = self._tail[-1].tolist(), self._pending[-1]
        elif len(self._tail) > 1:
            before, after = self._tail[-2:].tolist()
        else:
            return None
        period = after[0] - before[0]
        turned = (math.remainder(after[i] - before[i], math.tau) / period for i in (1, 2))
        return self._geometry.body_velocity(*turned)

    def update(self, sample: JointSample) -> bool:
        """Take in one joint sample; see Estimator.update."""
        if not self._check.passes(sample):
            self._examine(sample)
        (left, right), (torque_left, torque_right) = sample.position, sample.effort
        self._samples += 1
        pending = self._pending
        pending.append((sample.stamp, left, right, torque_left, torque_right))
        if len(pending) < self._block:
            return False
        self._work_off()
        return True

    def _examine(self, sample: JointSample) -> None:
        """Say what is wrong with a sample, if anything, and bridge nothing."""
        try:
            self._check.values(sample)
        except ValueError:
            self._interrupt()
            self._check.reset()
            raise
        try:
            self._check.follows(sample)
        except ValueError:
            self._interrupt()
            self._pending.append((sample.stamp, *sample.position, *sample.effort))
            raise

    def _interrupt(self) -> None:
        """The next sample does not follow those before."""
        self._work_off()
        self._tail = self._tail[:0]
        if self._rows is not None:
            self._thinning.interrupt()
            self._sums.interrupt()
            self._white.interrupt()

    def _work_off(self) -> None:
        if not self._pending:
            return
        samples = np.array(self._pending)
        self._pending.clear()
        if self._rows is None and not self._start(samples):
            return
        for part in self._parts(self._thinning.take(samples)):
            self._learn(part)

    def _parts(self, samples: Array) -> Iterator[Array]:
        """Cut where the kinks are looked at, whoever asks for an estimate in between."""
        while len(samples):
            part, samples = samples[: self._until_look], samples[self._until_look :]
            self._until_look -= len(part)
            yield part
            if not self._until_look:
                self._look_at_kinks()

    def _learn(self, samples: Array) -> None:
        samples = np.concatenate((self._tail, samples))
        rows, turning = self._rows.make(samples, self._kinks)
        self._tail = samples[-self._rows.overlap :]
        if not len(rows):
            return
        self._estimate = None
        if self._forgetting < 1.0:
            self._forget(rows)
        self._sums.add(rows, turning)
        self._seen += len(rows)
        self._coverage.add(rows[:: self._rows.window], self._rows.window * self._period)
        self._white.add(rows, turning, self._sums, self._delay)

    def _look_at_kinks(self) -> None:
        """Take what the torques do to the velocities from what is known by now."""
        if self._has_rows():
            delay = self._best_delay()[0]
            linear, angular = (_known_gain(axis) for axis in self._fit(delay))
            self._kinks = Kinks(linear, angular, delay)
            if self._forgetting == 1.0:
                self._between *= 2
        self._until_look = self._between

    def _start(self, samples: Array) -> bool:
        """Choose the windows by the control period; whether it is known now."""
        if len(samples) < FIRST:
            return False
        period = float(np.median(np.diff(samples[:, 0])))
        self._thinning = Thinning(max(1, round(PACE / period)))
        self._period = period * self._thinning.factor
        window = max(2, round(self._window / self._period))
        smoothing = min(window, max(1, round(self._smoothing / self._period)))
        self._rows = IntegralRows(self._geometry, window, smoothing)
        self._sums = RowSums(window, smoothing, self._period)
        self._block = window * self._thinning.factor if self._forgetting < 1.0 else BLOCK
        self._between = self._until_look = math.ceil(FIRST_LOOK * (window + smoothing))
        if self._prior is not None:
            self._kinks = Kinks(*self._prior.values[2:])
        return True

    def _forget(self, rows: Array) -> None:
        """Forget with the windows that have something to teach; a parked robot keeps all."""
        gained = np.abs(rows[:, [DV, DOMEGA]]).max(axis=0)
        enough = gained > 0.01 * np.array([self._scale.velocity, self._scale.yaw_rate])
        if enough.any():
            factor = self._forgetting ** (len(rows) / self._rows.window)
            self._sums.forget(factor)
            self._coverage.forget(factor)
            self._white.forget(factor)

    def estimate(self) -> Estimate:
        """The estimate as it stands."""
        if self._rows is not None:
            self._work_off()
        if self._estimate is None:
            self._estimate = self._judged()
        return self._estimate

    def suspicion(self) -> str:
        """What is probably wired wrongly in a robot that ran away; see Estimator.suspicion."""
        if self._rows is None:
            return ""
        self._work_off()
        return wiring_problem(self._sums, LIKELIER_RUNAWAY)

    def _judged(self) -> Estimate:
        if self._rows is None or not self._has_rows():
            return nothing_yet(self._samples, self._min_samples)
        self._delay, sure = self._best_delay()
        linear, angular = self._fit(self._delay)
        values = np.array([linear.theta[0], angular.theta[0], linear.theta[1], angular.theta[1]])
        covariance = np.zeros((4, 4))
        covariance[np.ix_([0, 2], [0, 2])] = linear.covariance[:2, :2]
        covariance[np.ix_([1, 3], [1, 3])] = angular.covariance[:2, :2]
        slow = max(1.0, self._period / FLOOR_PERIOD)
        covariance += np.diag((FLOOR * np.array([slow**2, slow**2, slow, slow]) * values) ** 2)
        windows = self._windows()
        problem = wiring_problem(self._sums)
        if not problem and windows >= MATURE:
            problem = standing_wheel(self._sums)
        values, covariance, found = conclude(
            values,
            covariance,
            self._geometry.half_track,
            problem,
            self._samples,
            self._min_samples,
            windows,
        )
        span = self._rows.window * self._period
        correlation = self._white.correlation()
        return Estimate(
            values=tuple(values.tolist()),
            covariance=tuple(map(tuple, covariance.tolist())),
            parameter_states=found.parameter_states,
            parameter_reasons=found.parameter_reasons,
            state=found.state,
            reason=found.reason,
            samples=self._samples,
            residual_std=(math.sqrt(linear.variance) / span, math.sqrt(angular.variance) / span),
            warnings=self._warnings(sure) if found.state is State.ESTIMATED else (),
            residual_correlation=correlation,
            coverage=self._coverage.shares(),
            delay=self._delay * self._thinning.factor if sure else math.nan,
            friction=fuse_friction(linear, angular, self._geometry),
        )

    def _has_rows(self) -> bool:
        """Whether there are enough to fit anything to."""
        return self._sums.rows >= 2 * self._rows.overlap

    def _windows(self) -> float:
        """Windows so far that share nothing."""
        return self._seen / (self._rows.window + self._rows.smoothing)

    def _best_delay(self) -> tuple[float, bool]:
        """The delay of the torque with the least residuals, in rows, and whether it is sure."""
        cost = self._cost(range(DELAYS))
        best = int(np.argmin(cost))
        # Parts of a period count only when they are sure, too: most robots have whole ones.
        around = np.clip(best + np.arange(-9, 10) / 10.0, 0.0, DELAYS - 1.0)
        fine = self._cost(around)
        least = int(np.argmin(fine))
        found, lowest = float(best), cost[best]
        if cost[best] - fine[least] > SURE and abs(around[least] - best) > LEAST_PART:
            found, lowest = float(around[least]), fine[least]
        others = np.abs(np.arange(DELAYS) - found) > ANOTHER
        return found, bool((cost[others] - lowest > SURE).all())

    def _cost(self, delays: Sequence[float]) -> Array:
        """Minus twice the log likelihood of delays, but for what all share."""
        n = self._sums.rows / (self._rows.window + self._rows.smoothing)
        cost = np.zeros(len(delays))
        for axis in (LINEAR, ANGULAR):
            left = residual_sums(self._sums, axis, delays)
            cost += n * np.log(left + 1e-12 * self._sums.moments[axis.output, axis.output] + 1e-300)
        return cost

    def _fit(self, delay: float) -> tuple[AxisFit, AxisFit]:
        sums = self._sums.delayed(delay)
        linear, angular = (
            fit(sums, axis, prior)
            for axis, prior in zip((LINEAR, ANGULAR), self._axis_priors(), strict=True)
        )
        return linear, angular

    def _axis_priors(self) -> tuple[AxisPrior | None, AxisPrior | None]:
        prior = self._prior
        if prior is None:
            return None, None
        k, spread = np.array(prior.values), np.array(prior.relative) * np.abs(prior.values)
        friction, std = np.array(prior.friction), np.array(prior.friction_std)
        found = []
        for product, gain, terms in zip(
            (0, 1), (2, 3), friction_terms(self._geometry), strict=True
        ):
            mean = np.concatenate((k[[product, gain]], k[gain] * terms @ friction))
            # Zero coefficients keep an infinite uncertainty out.
            spreads = k[gain] * terms * np.where(terms != 0.0, std, 0.0)
            variance = np.square(spreads).sum(axis=1)
            found.append(AxisPrior(mean, np.concatenate((spread[[product, gain]] ** 2, variance))))
        return found[0], found[1]

    def _warnings(self, sure: bool) -> tuple[str, ...]:
        found = []
        if sure and self._delay:
            text = (
                f"torque acts {self._delay * self._thinning.factor:g} control periods "
                f"({1e3 * self._delay * self._period:.0f} ms) after it is reported"
            )
            found.append(
                f"{text} or more; shorten the delay"
                if self._delay == DELAYS - 1
                else f"{text}; the estimate takes that into account"
            )
        found.extend(self._white.warnings())
        return tuple(found)


def nothing_yet(samples: int, min_samples: int) -> Estimate:
    """The estimate before there is one."""
    reason = f"{samples} of {max(min_samples, samples + 1)} samples; wait"
    unknown = tuple(tuple(math.inf if i == j else 0.0 for j in range(4)) for i in range(4))
    return Estimate(
        values=(0.0,) * 4,
        covariance=unknown,
        parameter_states=(State.UNESTIMATED,) * 4,
        parameter_reasons=(reason,) * 4,
        state=State.UNESTIMATED,
        reason=reason,
        samples=samples,
        residual_std=(math.inf, math.inf),
    )


def _known_gain(axis: AxisFit) -> float:
    """The torque's effect on an axis, m/s^2 or rad/s^2 per N m; 0 where it is too uncertain."""
    gain, variance = float(axis.theta[1]), float(axis.covariance[1, 1])
    return gain if variance <= (VAGUE * gain) ** 2 else 0.0
