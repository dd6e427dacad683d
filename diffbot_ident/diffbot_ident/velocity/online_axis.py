# SPDX-License-Identifier: Apache-2.0
"""The online fit of one axis: inertia and drag, dead band and dead time; see sigma_fit.py."""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass

import numpy as np

from diffbot_description.dead_band import NO_DEAD_BAND, DeadBand
from diffbot_description.sigma import AXES
from diffbot_ident.estimate import NORMAL_95, Array
from diffbot_ident.velocity.batch_moments import at_least
from diffbot_ident.velocity.constant_commands import ConstantCommands
from diffbot_ident.velocity.dead_band_estimate import DeadBandEstimator
from diffbot_ident.velocity.dead_time_estimate import STEP, DeadTimeEstimator
from diffbot_ident.velocity.recursive_axis import AxisBatch, RecursiveAxis, covariance_of_sigma

# Longest dead time that may be assumed, s.
MOST_DEAD_TIME = 1.0
# Minimum number of samples of a block.
LEAST_SAMPLES = 8
# Relative half width of a dead band's interval from which on it is used.
BAND_PRECISION = 0.1
# Change of an identified dead time that is not linear, s.
NEW_DEAD_TIME = 0.5 * STEP
# Relative error of integrals where commands act between samples.
APPROXIMATE = 0.002
# Number of blocks that are stored to be processed again.
STORED = 16


@dataclass(frozen=True)
class RecursiveSettings:
    """Settings of the online fit; pairs are of (v, omega).

    Attributes:
        dead_time: Times from a command to its effect, s, >= 0; None: not known. One that the motion
            contradicts is replaced.
        batch: Duration of motion of one update, s, > 0; the first ones are shorter.
        memory: Time constant of forgetting, s of excited motion, > 0; math.inf: never.
        noise: Initially assumed standard deviations of measured velocities, m/s, rad/s.
        excitation: Minimum rms of the integrated regressors in a block, m and rad.
        precision: Half width of the 95 % interval, relative to the value, from which on an axis is
            trusted, > 0.
        rate: Typical rate of change of the velocities, 1/s, > 0; the drag's interval is compared
            with inertia * rate if that is larger.
        longest_gap: Maximum time between two samples of one segment, s, > 0.
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


@dataclass(frozen=True)
class RawBatch:
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
        return float(self.times[-1] - self.times[0]) / (len(self.times) - 1)


class OnlineAxis:
    """Estimates one axis, its dead band and its dead time, batch by batch.

    Args:
        index: 0 for v, 1 for omega.
        start: Initial inertia, s, and drag, 1; with no covariance (2, 2) a mere guess.
        stored: Newest batches, of one load, shared by the axes; a new load clears it.

    Attributes:
        recursion: Recursive estimate at the assumed dead time and dead band.
        trusted: Inertia and drag of the newest estimate that passed, or of the start.
        dead_band: Dead band that the recursion assumes: identified, or known before.
        assumed: Dead time that the recursion assumes, s.
    """

    def __init__(
        self,
        index: int,
        start: tuple[float, float],
        covariance: Array | None,
        settings: RecursiveSettings,
        stored: deque[RawBatch],
    ) -> None:
        self._index, self._name = index, AXES[index]
        self._start, self._covariance = start, covariance
        self._settings = settings
        self.recursion = self._new_recursion()
        self.trusted = start
        self.dead_band = settings.dead_band[index]
        self.band = DeadBandEstimator(
            self._name,
            max(settings.largest_dead_band[index], self.dead_band.width),
            settings.memory,
            self.dead_band,
            min(BAND_PRECISION, settings.precision),
        )
        self._delay = DeadTimeEstimator(self._name, settings.memory)
        self._given = settings.dead_time is not None
        self.assumed = 0.0 if settings.dead_time is None else settings.dead_time[index]
        self._averaged = False
        self._stored = stored

    def _new_recursion(self) -> RecursiveAxis:
        settings = self._settings
        return RecursiveAxis(
            self._start,
            self._covariance,
            settings.noise[self._index],
            settings.memory,
            settings.excitation[self._index],
        )

    @property
    def dead_time(self) -> tuple[float, float]:
        """In s, with its variance, s^2; 0 if given, infinite if not known."""
        if self._given or not self._delay.known:
            return self.assumed, 0.0 if self._given else math.inf
        return self._delay.value, self._delay.variance

    @property
    def dead_time_reason(self) -> str | None:
        return None if self._given else self._delay.reason

    @property
    def _theta(self) -> Array:
        """[a, c] at the dead time."""
        shift = self.dead_time[0] - self.assumed
        return self.recursion.theta + shift * self._delay.sensitivity

    @property
    def values(self) -> tuple[float, float]:
        """Inertia, s, and drag, 1, trusted or not."""
        return self.recursion.values_of(self._theta)

    @property
    def covariance(self) -> Array:
        """Covariance of `values`, shape (2, 2)."""
        variance = self.dead_time[1]
        theta, recursion, delay = self._theta, self.recursion, self._delay
        if not math.isfinite(variance) or recursion.too_fast or not theta[0] > 0.0:
            return np.diag([math.inf, math.inf])  # nor is there an axis without inertia
        result = recursion.spread + np.outer(delay.sensitivity, delay.sensitivity) * variance
        if not self._given:
            result = at_least(result, delay.covariance) + np.diag((APPROXIMATE * theta) ** 2)
        return covariance_of_sigma(theta, result)

    def add(self, batch: RawBatch) -> None:
        if self._assumes_otherwise(batch):
            self._process_again()
        self._take(batch)
        if self.doubt() is None:
            inertia, drag = self.values
            # That of a drag near 0 may be negative.
            self.trusted = inertia, max(drag, 0.0)

    def _assumes_otherwise(self, batch: RawBatch) -> bool:
        """Identify dead band and dead time; return whether what the fit assumes has changed."""
        delay, known = self._delay, self.dead_band
        velocities, sent = batch.velocities[:, self._index], batch.sent[:, self._index]
        self.band.update(batch.times, velocities, batch.stamps, sent, self.assumed)
        self.dead_band = self.band.trusted
        self._update_delay(batch)
        if delay.known and delay.rate_changed:
            # By this rate the integrals are corrected.
            delay.begin_anew()
            for old in (*self._stored, batch):
                self._update_delay(old)
        if delay.known:
            moved = abs(delay.value - self.assumed) > NEW_DEAD_TIME
            if delay.contradicts(self.assumed) if self._given else moved:
                self._given, self.assumed = False, delay.value
                self._averaged = delay.averaged
                return True
            if self._averaged != delay.averaged:
                self._averaged = delay.averaged
                return True
        return self.dead_band != known

    def _update_delay(self, batch: RawBatch) -> None:
        acting = self.dead_band.passed_of(batch.sent[:, self._index])
        velocities = batch.velocities[:, self._index]
        self._delay.update(batch.times, velocities, batch.stamps, acting)

    def _process_again(self) -> None:
        old, self.recursion = self.recursion, self._new_recursion()
        self.recursion.surprises = old.surprises
        for batch in tuple(self._stored):  # a new load, seen on the way, clears them
            self._take(batch)

    def _take(self, batch: RawBatch) -> None:
        acting = self.dead_band.passed_of(batch.sent[:, self._index])
        noticed = self.recursion.surprises
        late, window = self.assumed, batch.period if self._averaged else 0.0
        # Of the others, the command is not known.
        known = batch.times - late - window >= batch.stamps[0]
        times, velocity = batch.times[known], batch.velocities[known, self._index]
        if len(times) < LEAST_SAMPLES:
            return
        commands, rate = ConstantCommands(batch.stamps, acting), self._delay.rate
        asked = commands.asked(times, np.array([late]), window, rate)[0]
        self.recursion.update(AxisBatch(times, asked - asked[0], velocity))
        if self.recursion.surprises > noticed:
            # Batches with the load before.
            self._delay.begin_anew()
            self._stored.clear()

    def doubt(self) -> str | None:
        """Why the estimate is not trusted; None if it is."""
        (inertia, drag), covariance = self.values, self.covariance
        if self.dead_time_reason is not None:
            return self.dead_time_reason
        if self.recursion.too_fast:
            return (
                f"{self._name}: odometry every {self.recursion.period:.2g} s is too slow for "
                f"the time constant {inertia / drag:.2g} s; publish it more often"
            )
        if not (0.0 < inertia < math.inf and math.isfinite(drag)):
            return f"{self._name}: inertia = {inertia:.3g} s: must be finite and > 0"
        # An error of the drag acts like one of the inertia times the rate.
        scales = (inertia, max(drag, inertia * self._settings.rate))
        for name, scale, variance in zip(
            ("inertia", "drag"), scales, covariance.diagonal(), strict=True
        ):
            width = NORMAL_95 * math.sqrt(variance) / scale if variance >= 0.0 else math.inf
            if not width <= self._settings.precision:
                return (
                    f"{self._name}: {name} is known to {100.0 * width:.3g} % only, limit "
                    f"{100.0 * self._settings.precision:g} %; drive with more change of speed"
                )
        return None
