# SPDX-License-Identifier: Apache-2.0
"""Online estimation of sigma1..sigma4, for which Siwek et al. (2023), section 3.3, use RLS.

Integrated from the beginning t0 of a block, (3) is linear and nothing is differentiated:

    v(t) = v(t0) + a int command(s - d) ds - c int v(s) ds      a = 1 / inertia, c = drag / inertia

See docs/theory/velocity_robots.md#online-fit. Without SciPy, which doubles a node's start.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from diffbot_description.dead_band import DeadBand
from diffbot_description.sigma import Sigma
from diffbot_ident.estimate import Array
from diffbot_ident.velocity.dead_time_estimate import furthest
from diffbot_ident.velocity.online_axis import (
    LEAST_SAMPLES,
    STORED,
    OnlineAxis,
    RawBatch,
    RecursiveSettings,
)

__all__ = ["RecursiveFit", "RecursiveSettings"]


class RecursiveFit:
    """Estimates sigma from one measured velocity after another.

        >>> from diffbot_description.sigma import Sigma
        >>> fit, v = RecursiveFit(Sigma(0.3, 0.3, 1.0, 1.0)), 0.0
        >>> for k in range(1, 2000):  # both axes with an inertia of 0.5 s; 50 Hz
        ...     command = 1.0 if k % 200 < 100 else -1.0
        ...     v = command + (v - command) * math.exp(-0.02 / 0.5)
        ...     fit.update(0.02 * k, (v, v), (command, command))
        >>> fit.trusted.as_array().round(2).tolist()
        [0.5, 0.5, 1.0, 1.0]

    Args:
        start: Initial sigma, from a batch fit or a guess.
        covariance: Covariance of the start, (4, 4), as from a batch fit; None: a mere guess.
    """

    def __init__(
        self,
        start: Sigma,
        covariance: Array | None = None,
        settings: RecursiveSettings | None = None,
    ) -> None:
        self.settings = settings = settings or RecursiveSettings()
        self._stored: deque[RawBatch] = deque(maxlen=STORED)
        v, omega = (
            OnlineAxis(
                index,
                start.axis(index),
                None if covariance is None else covariance[index::2, index::2],
                settings,
                self._stored,
            )
            for index in range(2)
        )
        self.axes = v, omega
        self._length = settings.batch / 16.0
        self.batches = 0
        self.interrupt()

    @property
    def values(self) -> Array:
        """Estimate of [sigma1, sigma2, sigma3, sigma4], shape (4,), trusted or not."""
        (s1, s3), (s2, s4) = (axis.values for axis in self.axes)
        return np.array([s1, s2, s3, s4])

    @property
    def covariance(self) -> Array:
        """Covariance of `values`, (4, 4); infinite while the dead time of an axis is not known."""
        covariance = np.zeros((4, 4))
        for index, axis in enumerate(self.axes):
            covariance[index::2, index::2] = axis.covariance
        return covariance

    @property
    def trusted(self) -> Sigma:
        """Values to use for control: each axis's newest estimate that passed, or the start."""
        return Sigma.of_axes(*(axis.trusted for axis in self.axes))

    @property
    def dead_band(self) -> tuple[DeadBand, DeadBand]:
        """Dead band of the commands that `trusted` assumes: identified, or known before."""
        v, omega = self.axes
        return v.dead_band, omega.dead_band

    @property
    def dead_band_values(self) -> Array:
        """Dead bands of v and omega, m/s and rad/s, trusted or not, shape (2,); NaN: none."""
        return np.array([axis.band.value for axis in self.axes])

    @property
    def dead_band_variances(self) -> Array:
        """Variances of `dead_band_values`, shape (2,); infinite where not identifiable."""
        return np.array([axis.band.variance for axis in self.axes])

    @property
    def dead_time(self) -> tuple[float, float]:
        """Dead times that `trusted` assumes, s: identified, or as given, or 0 while not known."""
        v, omega = (axis.dead_time[0] for axis in self.axes)
        return v, omega

    @property
    def dead_time_variances(self) -> Array:
        """Variances of `dead_time`, s^2, shape (2,); 0 where given, infinite where not known."""
        return np.array([axis.dead_time[1] for axis in self.axes])

    @property
    def surprises(self) -> tuple[int, int]:
        v, omega = self.axes
        return v.recursion.surprises, omega.recursion.surprises

    def reasons(self) -> tuple[str | None, str | None]:
        """Return why the estimate of each axis is not trusted now; None where it is."""
        v, omega = self.axes
        return v.doubt(), omega.doubt()

    def interrupt(self) -> None:
        self._times: list[float] = []
        self._velocities: list[tuple[float, float]] = []
        # Each held until its stamp, back to the longest dead time before.
        self._sent: deque[tuple[float, float, float]] = deque()

    def update(
        self, stamp: float, velocity: tuple[float, float], command: tuple[float, float]
    ) -> None:
        """Process velocity and held command of (v, omega), m/s and rad/s, at increasing stamps, s.

        Raises:
            ValueError: A number is not finite; nothing has changed then.
        """
        if not all(map(math.isfinite, (stamp, *velocity, *command))):
            raise ValueError(f"stamp {stamp}, velocity {velocity}, command {command}: not finite")
        since = stamp - self._sent[-1][0] if self._sent else 0.0
        if self._sent and not 0.0 < since <= self.settings.longest_gap:
            self.interrupt()
        self._sent.append((stamp, *command))
        if stamp - max(axis.assumed for axis in self.axes) < self._sent[0][0]:
            return  # the command that acts now was sent before the first sample
        self._times.append(stamp)
        self._velocities.append((float(velocity[0]), float(velocity[1])))
        full = len(self._times) > LEAST_SAMPLES
        if full and self._times[-2] - self._times[0] >= self._length - 1e-9:
            self._finish_batch()

    def _finish_batch(self) -> None:
        # The newest sample only tells whether the one before is a spike.
        times, velocities = np.array(self._times[:-1]), np.array(self._velocities)
        sent = np.array(self._sent)
        period = float(times[-1] - times[0]) / (len(times) - 1)
        for index, axis in enumerate(self.axes):
            asked = period * float(np.ptp(sent[1:, 1 + index]))
            velocities[:, index] = axis.recursion.without_spikes(velocities[:, index], asked)
        batch = RawBatch(times, velocities[:-1], sent[:, 0], sent[:, 1:])
        for axis in self.axes:
            axis.add(batch)
        self._stored.append(batch)
        self.batches += 1
        self._length = min(2.0 * self._length, self.settings.batch)
        # The next batch begins with the last sample.
        del self._times[:-2], self._velocities[:-2]
        self._velocities[0] = tuple(velocities[-2].tolist())
        history = max(furthest(period), *(axis.assumed for axis in self.axes))
        while len(self._sent) > 2 and self._sent[1][0] <= times[-1] - history:
            self._sent.popleft()
