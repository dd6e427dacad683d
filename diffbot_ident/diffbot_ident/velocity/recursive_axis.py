"""Recursive least squares of one axis of (3), on blocks of measured velocity.

Integrated from the beginning t0 of a block, (3) is linear in a = 1 / inertia, c = drag / inertia
and the unknown velocity at t0, and nothing is differentiated:

    v(t) = v(t0) + a int command(s - d) ds - c int v(s) ds        for s from t0 to t, dead time d

Each sample is a row whose noise is that of one velocity: white where the sensor's is. Differences
of two velocities have twice its variance and only the ends of a window; over 2 s at 100 Hz the rows
of a block tell 33 times as much. v(t0) is eliminated by taking the block's mean from all columns.
The command may depend on measured velocities: a row holds earlier ones only, so that noise does not
bias the result in a closed loop.

The block's rows are turned to the axes of their 2 x 2 moments, which leaves at most two rows with
independent noise; those that the motion did not excite are left out. Then (57)-(59) of Lages (2017)
follow, with P the covariance itself:

    K = P phi / (R + phi' P phi)     theta <- theta + K (y - phi' theta)     P <- P - K phi' P

Only directions in which there was news are forgotten (Cao and Schwartz, 2000), so that P cannot
grow while the robot stands or drives at constant speed.

Not all that is measured is of the robot. A reading that lies far outside both its neighbours is
replaced by the nearer one. A block that what is known does not explain, as of a wheel that was
held, is kept aside until the next block: only a new load is still there then.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

# Samples that the prior noise counts for.
PRIOR_SAMPLES = 20.0
# Mean square of what a block does not follow, over what is expected, that shows a new load.
SURPRISE = 4.0
# Samples after which the noise is known well enough to tell a new load by it.
SETTLED_SAMPLES = 500.0
# Standard deviations of the noise outside both its neighbours at which a reading is none.
SPIKE = 20.0
# Relative standard deviation that a and c get back after a surprise.
REOPENED = 0.5


@dataclass(frozen=True)
class Block:
    """Samples of one axis between two instants, n of them.

    Attributes:
        time: s, rising, shape (n,).
        asked: integral of the command that acted, from the first sample on, m or rad, shape (n,).
        velocity: measured, m/s or rad/s, shape (n,).
    """

    time: Array
    asked: Array
    velocity: Array

    def moments(self) -> tuple[Array, Array]:
        """Regressors [int command, -int v], shape (n, 2), and v, both less their mean."""
        steps = 0.5 * np.diff(self.time) * (self.velocity[1:] + self.velocity[:-1])
        driven = np.concatenate(([0.0], np.cumsum(steps)))
        phi = np.column_stack((self.asked, -driven))
        return phi - phi.mean(axis=0), self.velocity - self.velocity.mean()


class RecursiveAxis:
    """Estimates (inertia, drag) of one axis.

    Args:
        start: (inertia in s, drag) to begin with.
        covariance: of the start, shape (2, 2), in s^2, s and 1; None: nothing is known.
        noise: standard deviation of the measured velocity that is assumed until it shows.
        memory: time constant of forgetting, s of excited motion; math.inf: never.
        excitation: least root mean square of a direction of the regressors in a block, m or rad.
    """

    def __init__(
        self,
        start: tuple[float, float],
        covariance: Array | None,
        noise: float,
        memory: float,
        excitation: float,
    ) -> None:
        inertia, drag = start
        self.theta = np.array([1.0 / inertia, drag / inertia])
        if covariance is None:
            self.p = np.eye(2) * (10.0 * self.theta.max()) ** 2
        else:
            slope = np.array([[-1.0 / inertia**2, 0.0], [-drag / inertia**2, 1.0 / inertia]])
            self.p = slope @ covariance @ slope.T
        self._memory, self._excitation = memory, excitation
        self._assumed_noise = noise
        self._squares, self._products, self._samples = noise**2 * PRIOR_SAMPLES, 0.0, PRIOR_SAMPLES
        self._period = 0.0
        self._aside: Block | None = None
        self.surprises = 0
        self.excited = np.zeros(0)

    @property
    def noise_variance(self) -> float:
        """Of a measured velocity, from what is left of it."""
        return self._squares / self._samples

    @property
    def covariance(self) -> Array:
        """Of [inertia in s, drag], shape (2, 2), with the residuals' correlation in time.

        Neighbouring residuals with the correlation r carry less than independent ones, by
        (1 + r) / (1 - r) for an autoregressive process; the regressors change slowly.
        """
        r = min(max(self._products / max(self._squares, 1e-300), 0.0), 0.98)
        a, c = self.theta
        if a == 0.0:
            return np.full((2, 2), math.inf)
        slope = np.array([[-1.0 / a**2, 0.0], [-c / a**2, 1.0 / a]])
        return slope @ self.p @ slope.T * (1.0 + r) / (1.0 - r)

    @property
    def values(self) -> tuple[float, float]:
        """Inertia in s and drag; of any sign, infinite where a is 0.

        Sums instead of integrals of v: for a held command the trapezoids are exact with
        c = (2 / T) tanh(T / (2 tau)), which is solved for tau here.
        """
        a, c = self.theta.tolist()
        if a == 0.0:
            return math.inf, math.inf
        x = 0.5 * self._period * c
        stretch = math.atanh(x) / x if 1e-6 < abs(x) < 0.99 else 1.0
        return 1.0 / (a * stretch), c / a

    def without_spikes(self, velocity: Array) -> Array:
        """Velocities with the median of three for each that is far outside both its neighbours."""
        padded = np.pad(velocity, 1, mode="edge")
        median = np.median([padded[:-2], padded[1:-1], padded[2:]], axis=0)
        # A quick robot's turning points are no spikes, however little its sensor's noise is.
        noise = max(self._assumed_noise, math.sqrt(self.noise_variance))
        spikes = np.abs(velocity - median) > SPIKE * noise
        return np.where(spikes, median, velocity)

    def update(self, block: Block) -> None:
        """Take in a block; one without excitation changes nothing but what is known of the noise.

        Raises:
            ValueError: the block holds a number that is not finite or overflows.
        """
        self._period = float(block.time[-1] - block.time[0]) / (len(block.time) - 1)
        aside, self._aside = self._aside, None
        if self._explains(*block.moments()):
            self._take(block)
        elif aside is None:
            self._aside = block
        else:
            if self._samples >= SETTLED_SAMPLES:
                self.surprises += 1
                self.p = self.p + np.diag((REOPENED * self.theta) ** 2)
            self._take(aside)
            self._take(block)

    def _explains(self, phi: Array, y: Array) -> bool:
        """Whether what is known explains a block."""
        with np.errstate(over="ignore", invalid="ignore"):
            gram = phi.T @ phi
            missed = y - phi @ self.theta
            squares = float(missed @ missed)
            expected = self.noise_variance * len(y) + float(np.trace(gram @ self.p))
        if not (np.isfinite(gram).all() and math.isfinite(squares)):
            raise ValueError("a block of velocities or commands: must be finite and of usual size")
        return squares < SURPRISE * expected

    def _take(self, block: Block) -> None:
        phi, y = block.moments()
        n = len(y)
        powers, directions = np.linalg.eigh(phi.T @ phi)
        self.excited = np.sqrt(np.maximum(powers, 0.0) / n)
        # The integral of the noise alone walks this far from its mean; three times it is motion.
        walk = 3.0 * self._period * math.sqrt(self.noise_variance * n / 6.0)
        least = max(self._excitation, walk)
        rows = [
            (math.sqrt(power) * w, float(w @ (phi.T @ y)) / math.sqrt(power), w)
            for power, w, size in zip(powers, directions.T, self.excited, strict=True)
            if size > least
        ]
        if rows:
            forget = math.exp(-float(block.time[-1] - block.time[0]) / self._memory)
            self._forget([w for _, _, w in rows], forget)
            for row, value, _ in rows:
                self._step(row, value)
        self._learn_noise(y - phi @ self.theta, all_known=len(rows) == 2 or not rows)

    def _step(self, phi: Array, y: float) -> None:
        p_phi = self.p @ phi
        scale = self.noise_variance + float(phi @ p_phi)
        gain = p_phi / scale
        self.theta = self.theta + gain * (y - float(phi @ self.theta))
        # Joseph's form: P stays positive whatever the sizes.
        left = np.eye(2) - np.outer(gain, phi)
        self.p = left @ self.p @ left.T + self.noise_variance * np.outer(gain, gain)

    def _forget(self, directions: list[Array], keep: float) -> None:
        """Divide what is known in some directions by keep, with the information as matrix."""
        information = np.linalg.inv(self.p)
        for w in directions:
            known = information @ w
            information -= (1.0 - keep) * np.outer(known, known) / float(w @ known)
        p = np.linalg.inv(information)
        self.p = 0.5 * (p + p.T)

    def _learn_noise(self, residual: Array, all_known: bool) -> None:
        if not all_known:
            return  # an error in what the block does not tell is no noise
        # Changes of the noise itself are followed over some thousand samples.
        keep = 1.0 if self._samples < 5000.0 else 0.95
        self._squares = keep * self._squares + float(residual @ residual)
        self._products = keep * self._products + float(residual[1:] @ residual[:-1])
        self._samples = keep * self._samples + len(residual) - 1
