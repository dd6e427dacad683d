# SPDX-License-Identifier: Apache-2.0
"""Information that a motion gives about K5..K8, in bits; docs/theory/excitation.md#information.

With the information matrices before and after, J0 and J1,

    joint bits    (1/2) log2(det J1 / det J0)    (D-optimality)
    sum of bits   sum_i (1/2) log2(var0_i / var1_i)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_ident.estimate import Array
from diffbot_ident.excitation.body_model import BodyModel, BodyPrior, Motion, Paths


def log2_determinant(information: Array) -> Array:
    """Return log2 det of symmetric positive definite matrices, shape (...)."""
    natural: Array = np.linalg.slogdet(information)[1]
    bits: Array = natural / np.log(2.0)
    return bits


def joint_bits(before: Array, after: Array, of: Sequence[int] | None = None) -> Array:
    """Return the joint bits gained about the parameters `of` (None: all), shape (...).

        >>> float(joint_bits(np.eye(2), 4.0 * np.eye(2)))
        2.0

    Information before and after, (..., n, n), must be positive definite.
    """
    if of is None:
        return 0.5 * (log2_determinant(after) - log2_determinant(before))
    # det of a Schur complement.
    rest = [i for i in range(before.shape[-1]) if i not in set(of)]
    gained = joint_bits(before, after)
    if rest:
        gained = gained - joint_bits(
            before[..., rest, :][..., rest], after[..., rest, :][..., rest]
        )
    return gained


def bits_each(before: Array, after: Array) -> Array:
    """Return the bits gained about each parameter, with all others unknown, shape (..., n)."""
    variances = [
        np.diagonal(np.linalg.inv(information), axis1=-2, axis2=-1)
        for information in (before, after)
    ]
    bits: Array = 0.5 * np.log2(variances[0] / variances[1])
    return bits


def sum_of_bits(before: Array, after: Array, of: Sequence[int] | None = None) -> Array:
    """Return the sum of `bits_each` over the parameters `of` (None: all), shape (...)."""
    each = bits_each(before, after)
    bits: Array = (each if of is None else each[..., list(of)]).sum(axis=-1)
    return bits


# Of the SIZE parameters of each equation the first two are K's, the others friction.
OF_INTEREST = (0, 1)
SIZE = 6
# Prior deviation of friction, and deviation of a period's torque, as shares of the torque.
FRICTION_FRACTION = 0.1
TORQUE_ERROR = 0.03
# Counts per revolution that stand for perfect encoders, as other errors remain.
PERFECT_COUNTS = 50_000


class BodyInformation:
    """Information about [K5, K7] and [K6, K8], (2, 6, 6), in units of their prior deviations.

    Args:
        prior: K5..K8 and their possible errors, half of which are used as standard deviations.
        radius, half_track: Wheel radius and b, m.
        amplitude: Torque of the excitation, N m; `speed`: typical wheel speed, rad/s.
        counts: Encoder counts per revolution; 0 for perfect encoders.
        period: Control period, s; a window has `interval` of them.
    """

    def __init__(
        self,
        prior: BodyPrior,
        radius: float,
        half_track: float,
        amplitude: float,
        speed: float,
        counts: int,
        period: float,
        interval: int,
    ) -> None:
        k5, k6, k7, k8 = (
            max(0.5 * spread, 0.005) * abs(value)
            for value, spread in zip(prior.values, prior.spread, strict=True)
        )
        coulomb = FRICTION_FRACTION * amplitude
        rub = coulomb / (radius * speed)
        rows = []
        for own, torque, size in ((k5, k7, prior.values[2]), (k6, k8, -prior.values[3])):
            friction = [rub, rub * half_track, coulomb, coulomb]
            rows.append([own, torque, *(size * entry for entry in friction)])
        # Whole counts have a deviation of 1 / sqrt(12); a velocity is a difference of two angles.
        wheel = 2.0 * (math.tau / (counts or PERFECT_COUNTS)) / math.sqrt(12.0) / period
        noise = np.array([radius / math.sqrt(2.0), radius / (math.sqrt(2.0) * half_track)]) * wheel
        self._scale = np.array(rows) / noise[:, None]
        # Increase of a window's noise variance per (N m s)^2 of its torque.
        gains = np.array([prior.values[2], -prior.values[3]])
        self._torque_error = (TORQUE_ERROR * gains / noise) ** 2 * period / (interval * period)
        self._period, self._interval = period, interval
        self._start = np.stack([np.eye(SIZE)] * 2)
        self.information = self._start.copy()
        self.begin_window()

    def begin_window(self) -> None:
        """Start a new window: the next motion does not continue the previous ones."""
        self._window = np.zeros((2, SIZE))
        self._recorded = 0

    @property
    def bits(self) -> float:
        return float(joint_bits(self._start, self.information, OF_INTEREST).sum())

    def record(self, motion: Motion, torque: tuple[float, float]) -> None:
        row = regressors(np.array(motion.velocity), np.array(motion.wheel_speeds), np.array(torque))
        self._window += self._period * row
        self._recorded += 1
        if self._recorded == self._interval:
            self.add(self._window[None])
            self.begin_window()

    def add(self, windows: Array) -> None:
        """Add the regressors of k windows, shape (k, 2, 6); see `regressors`."""
        self.information = self.information + self._of(windows)

    def gain(self, windows: Array) -> Array:
        """Return the joint bits about K5..K8 that k windows would add, (k, n, 2, 6) -> (n,)."""
        after = self.information + self._of(windows)
        bits: Array = joint_bits(self.information, after, OF_INTEREST).sum(axis=-1)
        return bits

    def _of(self, windows: Array) -> Array:
        """Return the information summed over k: (k, ..., 2, 6) -> (..., 2, 6, 6)."""
        rows = windows * self._scale
        squares = 0.5 * (windows[..., 0, 1] ** 2 + windows[..., 1, 1] ** 2)
        rows = rows / np.sqrt(1.0 + squares[..., None] * self._torque_error)[..., None]
        information: Array = np.einsum("k...i,k...j->...ij", rows, rows)
        return information


def regressors(velocity: Array, wheel_speeds: Array, torque: Array) -> Array:
    """Return the rows of dv/dt and domega/dt, (..., 2, 6), of [left, right] speeds and torques.

    [omega^2 or v omega, torque, v, omega, sign w_l, w_r], in m/s, rad/s and N m.
    """
    v, omega = velocity
    left, right = torque
    friction = [v, omega, *np.sign(wheel_speeds)]
    return np.stack(
        [
            np.stack([omega * omega, left + right, *friction], axis=-1),
            np.stack([v * omega, left - right, *friction], axis=-1),
        ],
        axis=-2,
    )


def predicted_window(model: BodyModel, paths: Paths, torque: Array, duration: float) -> Array:
    """Return regressors of motions under constant torques (2, n) over time, (n, 2, 6)."""
    middle = 0.5 * (paths.velocity[:, 1:] + paths.velocity[:, :-1])
    torques = np.broadcast_to(torque[:, None, :], middle.shape)
    rows = regressors(middle, model.wheel_speeds(middle), torques)
    window: Array = duration * rows.mean(axis=0)
    return window
