# SPDX-License-Identifier: Apache-2.0
"""Online estimation of sigma1..sigma4, for which Siwek et al. (2023), section 3.3, use RLS.

Each axis of (3) is estimated separately, on blocks of measured velocity. Integrated from the
beginning t0 of a block, (3) is linear in a = 1 / inertia, c = drag / inertia and the unknown
velocity at t0, and nothing is differentiated:

    v(t) = v(t0) + a int command(s - d) ds - c int v(s) ds        for s from t0 to t, dead time d

Each sample is a row with the noise of one velocity, which is white if the sensor's noise is.
Differences of two velocities would have twice its variance and use only the ends of a window; over
2 s at 100 Hz the rows of a block carry 33 times as much information. v(t0) is eliminated by a
causal filter of all columns (causal_rows.py). The command may depend on measured velocities: a row
contains only earlier ones, so noise does not bias the result in a closed loop.

The block's rows are rotated to the principal axes of their 2 x 2 moments, which leaves at most two
rows with independent noise; those without excitation are dropped. Then (57)-(59) of Lages (2017)
are applied, with P the covariance itself:

    K = P phi / (R + phi' P phi)     theta <- theta + K (y - phi' theta)     P <- P - K phi' P

Only directions with new information are forgotten (Cao and Schwartz, 2000), so that P cannot grow
while the robot stands or drives at constant speed.

Disturbances are rejected. A reading far outside both its neighbours is replaced by the nearer one.
A block that the current estimate does not explain, e.g. of a wheel that was held, is set aside
until the next block: only a new load persists until then. A controller uses only `trusted`, in
which an axis is updated when its interval is narrow and its signs are right.

A known dead band is removed from the commands first; while driving it is identified from the same
blocks, see dead_band_estimate.py. So is the dead time, see dead_time_estimate.py. An error of the
dead time is one of a and c; its variance enters theirs, with the slope s of theta by it:

    covariance of theta = P + s s' var(d)

While the dead time is not known, neither are a and c. When dead time or dead band prove to be
others than assumed, the stored newest blocks are processed again.

The node imports this: nothing here may import SciPy, which doubles the time in which it starts.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from diffbot_description.dead_band import NO_DEAD_BAND, DeadBand
from diffbot_description.dynamics import AXES, Sigma
from diffbot_ident.torque.estimate import NORMAL_95, Array
from diffbot_ident.velocity.batch_moments import at_least
from diffbot_ident.velocity.constant_commands import ConstantCommands
from diffbot_ident.velocity.dead_band_estimate import DeadBandEstimator
from diffbot_ident.velocity.dead_time_estimate import STEP, DeadTimeEstimator, furthest
from diffbot_ident.velocity.recursive_axis import AxisBatch, RecursiveAxis, covariance_of_sigma

# Longest dead time that may be assumed, s.
MOST_DEAD_TIME = 1.0
# Minimum number of samples of a block.
LEAST_SAMPLES = 8
# Half width of a dead band's 95 % interval, relative to it, from which on it is used.
BAND_PRECISION = 0.1
# A change of an identified dead time by this, s, is not linear.
NEW_DEAD_TIME = 0.5 * STEP
# Integrals are approximations where commands act between samples: their relative error.
APPROXIMATE = 0.002
# Number of blocks that are stored to be processed again.
STORED = 16


@dataclass(frozen=True)
class RecursiveSettings:
    """Settings of the online fit; pairs are of (v, omega).

    Attributes:
        dead_time: Times from a command of (v, omega) to its effect, s, >= 0; None: not known. One
            that the motion contradicts is replaced.
        batch: Duration of motion of one update, s, > 0. The first block is a sixteenth of it and
            each following one twice as long, so that a bad start is corrected soon.
        memory: Time constant of forgetting, s of excited motion, > 0; math.inf: never.
        noise: Initially assumed standard deviations of measured velocities, m/s, rad/s.
        excitation: Minimum root mean square of the integrated regressors in a block, m and rad.
        precision: Half width of the 95 % interval, relative to the value, from which on an axis
            is trusted, > 0.
        rate: Typical rate of change of the velocities, 1/s, > 0. The drag's interval is compared
            with inertia * rate if that is larger than the drag, as this is the effect of a drag
            error at such rates.
        longest_gap: Maximum time between two samples of one segment, s, > 0.
        dead_band: Dead band of the commands, as far as it is known before.
        largest_dead_band: Largest offset that is searched, m/s and rad/s, > 0.

    Raises:
        ValueError: A setting is outside its limits.
    """

    dead_time: tuple[float, float] | None = (0.0, 0.0)
    batch: float = 4.0
    memory: float = 60.0
    noise: tuple[float, float] = (0.01, 0.02)
    excitation: tuple[float, float] = (0.001, 0.001)
    precision: float = 0.2
    rate: float = 1.0
    longest_gap: float = 0.5
    dead_band: tuple[DeadBand, DeadBand] = (NO_DEAD_BAND, NO_DEAD_BAND)
    largest_dead_band: tuple[float, float] = (0.25, 1.0)

    def __post_init__(self) -> None:
        for name in ("batch", "memory", "precision", "rate", "longest_gap"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"recursive fit: {name} = {getattr(self, name)}: must be > 0")
        if not all(0.0 <= value <= MOST_DEAD_TIME for value in self.dead_time or ()):
            raise ValueError(
                f"recursive fit: dead_time = {self.dead_time} s: must be 0 to {MOST_DEAD_TIME:g} s"
            )
        for name in ("noise", "excitation", "largest_dead_band"):
            if not all(0.0 < value < math.inf for value in getattr(self, name)):
                raise ValueError(f"recursive fit: {name} = {getattr(self, name)}: must be > 0")


class RecursiveFit:
    """Estimates sigma from one measured velocity after another.

    Args:
        start: Initial sigma, from a batch fit or a guess.
        covariance: Covariance of the start, [sigma1, sigma2, sigma3, sigma4], shape (4, 4), as
            from a batch fit; None: the start is a mere guess.
        settings: Settings of the fit.
    """

    def __init__(
        self,
        start: Sigma,
        covariance: Array | None = None,
        settings: RecursiveSettings = RecursiveSettings(),
    ) -> None:
        self.settings = settings
        self._start, self._covariance = start, covariance
        self._axes = [self._new_axis(index) for index in range(2)]
        self._trusted = [start.axis(index) for index in range(2)]
        self._bands = [
            DeadBandEstimator(
                AXES[index],
                max(settings.largest_dead_band[index], settings.dead_band[index].width),
                settings.memory,
                settings.dead_band[index],
                min(BAND_PRECISION, settings.precision),
            )
            for index in range(2)
        ]
        self._delays = [DeadTimeEstimator(AXES[index], settings.memory) for index in range(2)]
        assumed = settings.dead_time
        # Dead times that the fits of sigma assume, and whether these are given ones.
        self._dead_time = [0.0, 0.0] if assumed is None else [*assumed]
        self._given = [assumed is not None] * 2
        # Whether velocities are means over a period, where that is known.
        self._averaged = [False, False]
        self._dead_band = settings.dead_band
        self._stored: deque[_RawBatch] = deque(maxlen=STORED)
        self._length = settings.batch / 16.0
        self.batches = 0
        self.interrupt()

    def _new_axis(self, index: int) -> RecursiveAxis:
        settings = self.settings
        return RecursiveAxis(
            self._start.axis(index),
            None if self._covariance is None else self._covariance[index::2, index::2],
            settings.noise[index],
            settings.memory,
            settings.excitation[index],
        )

    @property
    def values(self) -> Array:
        """Estimate of [sigma1, sigma2, sigma3, sigma4], shape (4,), trusted or not."""
        (s1, s3), (s2, s4) = (self._values_of(index) for index in range(2))
        return np.array([s1, s2, s3, s4])

    @property
    def covariance(self) -> Array:
        """Covariance of the estimate, shape (4, 4); the axes are independent.

        Variances are infinite while the dead time of an axis is not known.
        """
        covariance = np.zeros((4, 4))
        for index in range(2):
            covariance[index::2, index::2] = self._covariance_of(index)
        return covariance

    @property
    def trusted(self) -> Sigma:
        """Values to use for control: each axis's newest estimate that passed, or the start."""
        return Sigma.of_axes(*self._trusted)

    @property
    def dead_band(self) -> tuple[DeadBand, DeadBand]:
        """Dead band of the commands that `trusted` assumes: identified, or known before."""
        return self._dead_band

    @property
    def dead_band_values(self) -> Array:
        """Dead bands of v and omega, m/s and rad/s, trusted or not, shape (2,); NaN: none."""
        return np.array([band.value for band in self._bands])

    @property
    def dead_band_variances(self) -> Array:
        """Variances of `dead_band_values`, shape (2,); infinite where not identifiable."""
        return np.array([band.variance for band in self._bands])

    def dead_band_reasons(self) -> tuple[str | None, str | None]:
        """Return why the dead band of each axis is not identifiable; None where it is."""
        return self._bands[0].reason, self._bands[1].reason

    @property
    def dead_time(self) -> tuple[float, float]:
        """Dead times that `trusted` assumes, s: identified, or as given, or 0 while not known."""
        v, omega = (self._dead_time_of(index)[0] for index in range(2))
        return v, omega

    @property
    def dead_time_variances(self) -> Array:
        """Variances of `dead_time`, s^2, shape (2,); 0 where given, infinite where not known."""
        return np.array([self._dead_time_of(index)[1] for index in range(2)])

    def dead_time_reasons(self) -> tuple[str | None, str | None]:
        """Return why the dead time of each axis is not known; None where it is."""
        v, omega = (
            None if given else delay.reason
            for given, delay in zip(self._given, self._delays, strict=True)
        )
        return v, omega

    def _dead_time_of(self, index: int) -> tuple[float, float]:
        """Return the dead time of an axis and its variance."""
        delay = self._delays[index]
        if self._given[index] or not delay.known:
            return self._dead_time[index], 0.0 if self._given[index] else math.inf
        return delay.value, delay.variance

    def _theta_of(self, index: int) -> Array:
        """Return [a, c] of an axis at its dead time, near which it is linear."""
        shift = self._dead_time_of(index)[0] - self._dead_time[index]
        return self._axes[index].theta + shift * self._delays[index].sensitivity

    def _values_of(self, index: int) -> tuple[float, float]:
        return self._axes[index].values_of(self._theta_of(index))

    def _covariance_of(self, index: int) -> Array:
        variance = self._dead_time_of(index)[1]
        theta, axis, delay = self._theta_of(index), self._axes[index], self._delays[index]
        if not math.isfinite(variance) or axis.too_fast or not theta[0] > 0.0:
            return np.diag([math.inf, math.inf])  # nor is there an axis without inertia
        result = axis.spread + np.outer(delay.sensitivity, delay.sensitivity) * variance
        if not self._given[index]:
            result = at_least(result, delay.covariance) + np.diag((APPROXIMATE * theta) ** 2)
        return covariance_of_sigma(theta, result)

    @property
    def surprises(self) -> tuple[int, int]:
        """Number of new loads detected on each axis."""
        return self._axes[0].surprises, self._axes[1].surprises

    def interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self._times: list[float] = []
        self._velocities: list[tuple[float, float]] = []
        # Commands as sent, each held until its stamp, back to the longest dead time before.
        self._sent: deque[tuple[float, float, float]] = deque()

    def update(
        self, stamp: float, velocity: tuple[float, float], command: tuple[float, float]
    ) -> None:
        """Process one sample.

        Args:
            stamp: Time, s, increasing.
            velocity: Measured v in m/s and omega in rad/s at that time.
            command: Command of v and omega that was held since the previous stamp.

        Raises:
            ValueError: A number is not finite; nothing has changed then.
        """
        if not all(map(math.isfinite, (stamp, *velocity, *command))):
            raise ValueError(f"stamp {stamp}, velocity {velocity}, command {command}: not finite")
        since = stamp - self._sent[-1][0] if self._sent else 0.0
        if self._sent and not 0.0 < since <= self.settings.longest_gap:
            self.interrupt()
        self._sent.append((stamp, *command))
        if stamp - max(self._dead_time) < self._sent[0][0]:
            return  # the command that acts now was sent before the first sample
        self._times.append(stamp)
        self._velocities.append((float(velocity[0]), float(velocity[1])))
        full = len(self._times) > LEAST_SAMPLES
        if full and self._times[-2] - self._times[0] >= self._length - 1e-9:
            self._finish_batch()

    def reasons(self) -> tuple[str | None, str | None]:
        """Return why the estimate of each axis is not trusted now; None where it is."""
        return self._judge(0), self._judge(1)

    def _finish_batch(self) -> None:
        # The newest sample is only used to check whether the one before is a spike.
        times, velocities = np.array(self._times[:-1]), np.array(self._velocities)
        sent = np.array(self._sent)
        period = float(times[-1] - times[0]) / (len(times) - 1)
        for index, axis in enumerate(self._axes):
            asked = period * float(np.ptp(sent[1:, 1 + index]))
            velocities[:, index] = axis.without_spikes(velocities[:, index], asked)
        raw = _RawBatch(times, velocities[:-1], sent[:, 0], sent[:, 1:])
        for index in range(2):
            if self._assumes_otherwise(index, raw):
                self._process_again(index)
            self._take(index, raw)
        self._stored.append(raw)
        for index in range(2):
            if self._judge(index) is None:
                inertia, drag = self._values_of(index)
                # The estimate of a drag near 0 may be negative.
                self._trusted[index] = inertia, max(drag, 0.0)
        self.batches += 1
        self._length = min(2.0 * self._length, self.settings.batch)
        # The last sample of this block is the first of the next one.
        del self._times[:-2], self._velocities[:-2]
        self._velocities[0] = tuple(velocities[-2].tolist())
        history = max(furthest(raw.period), *self._dead_time)
        while len(self._sent) > 2 and self._sent[1][0] <= times[-1] - history:
            self._sent.popleft()

    def _assumes_otherwise(self, index: int, raw: _RawBatch) -> bool:
        """Identify dead band and dead time; return whether what the fit assumes has changed."""
        band, delay = self._bands[index], self._delays[index]
        stamps, sent, velocities = raw.stamps, raw.sent[:, index], raw.velocities[:, index]
        band.update(raw.times, velocities, stamps, sent, self._dead_time[index])
        known = self._dead_band[index]
        if band.trusted != known:
            self._dead_band = (
                (band.trusted, self._dead_band[1]) if index == 0 else
                (self._dead_band[0], band.trusted)
            )  # fmt: skip
        acting = self._dead_band[index].passed_of(sent)
        delay.update(raw.times, velocities, stamps, acting)
        if delay.known and delay.rate_changed:
            # Once more with the rate, which corrects the integrals.
            delay.begin_anew()
            for old in (*self._stored, raw):
                acting = self._dead_band[index].passed_of(old.sent[:, index])
                delay.update(old.times, old.velocities[:, index], old.stamps, acting)
        if delay.known:
            assumed = self._dead_time[index]
            moved = abs(delay.value - assumed) > NEW_DEAD_TIME
            if delay.contradicts(assumed) if self._given[index] else moved:
                self._given[index], self._dead_time[index] = False, delay.value
                self._averaged[index] = delay.averaged
                return True
            if self._averaged[index] != delay.averaged:
                self._averaged[index] = delay.averaged
                return True
        return self._dead_band[index] != known

    def _process_again(self, index: int) -> None:
        """Begin anew with the stored blocks, by what is known of dead time and dead band now."""
        old, self._axes[index] = self._axes[index], self._new_axis(index)
        self._axes[index].surprises = old.surprises
        for raw in self._stored:
            self._take(index, raw)

    def _take(self, index: int, raw: _RawBatch) -> None:
        acting = self._dead_band[index].passed_of(raw.sent[:, index])
        axis, noticed = self._axes[index], self._axes[index].surprises
        late, window = self._dead_time[index], raw.period if self._averaged[index] else 0.0
        # Without the samples whose commands were sent before the first one that is known.
        known = raw.times - late - window >= raw.stamps[0]
        times, velocity = raw.times[known], raw.velocities[known, index]
        if len(times) < LEAST_SAMPLES:
            return
        commands, rate = ConstantCommands(raw.stamps, acting), self._delays[index].rate
        asked = commands.asked(times, np.array([late]), window, rate)[0]
        axis.update(AxisBatch(times, asked - asked[0], velocity))
        if axis.surprises > noticed:
            # Blocks with the load before do not belong to those with it.
            self._delays[index].begin_anew()
            self._stored.clear()

    def _judge(self, index: int) -> str | None:
        """Return why an axis is not trusted; None if it is."""
        (inertia, drag), covariance = self._values_of(index), self._covariance_of(index)
        if (unknown := self.dead_time_reasons()[index]) is not None:
            return unknown
        if self._axes[index].too_fast:
            return (
                f"{AXES[index]}: odometry every {self._axes[index].period:.2g} s is too slow for "
                f"the time constant {inertia / drag:.2g} s; publish it more often"
            )
        if not (0.0 < inertia < math.inf and math.isfinite(drag)):
            return f"{AXES[index]}: inertia = {inertia:.3g} s: must be finite and > 0"
        # An error of the drag acts like an error of the inertia times the rate of the motion.
        scales = (inertia, max(drag, inertia * self.settings.rate))
        for name, scale, variance in zip(
            ("inertia", "drag"), scales, covariance.diagonal(), strict=True
        ):
            width = NORMAL_95 * math.sqrt(variance) / scale if variance >= 0.0 else math.inf
            if not width <= self.settings.precision:
                return (
                    f"{AXES[index]}: {name} is known to {100.0 * width:.3g} % only, limit "
                    f"{100.0 * self.settings.precision:g} %; drive with more change of speed"
                )
        return None


@dataclass(frozen=True)
class _RawBatch:
    """n samples of both axes between two instants, and the m commands that act meanwhile.

    Attributes:
        times: Stamps, s, increasing, shape (n,).
        velocities: Measured velocities without spikes, m/s and rad/s, shape (n, 2).
        stamps: Ends of the commands, s, shape (m,).
        sent: Commands as sent, each held since the previous stamp, shape (m, 2).
    """

    times: Array
    velocities: Array
    stamps: Array
    sent: Array

    @property
    def period(self) -> float:
        """Mean time between two samples, s."""
        return float(self.times[-1] - self.times[0]) / (len(self.times) - 1)
