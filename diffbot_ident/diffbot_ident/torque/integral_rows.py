# SPDX-License-Identifier: Apache-2.0
"""From joint samples to rows of the integrated model, and to their sums in constant memory.

The model, (41) of Lages (2017) less the wheels' friction, integrated over a window:

    v(t+h) - v(t)         = K5 int omega^2 + K7 int (T_l + T_r)
    omega(t+h) - omega(t) = K6 int v omega + K8 int (T_l - T_r),    T = tau - c w - f sign(w)

Differences over a window are far less noisy than accelerations, and the integrals keep the times
straight. The difference of two wheel angles is the mean speed of a period, hence the speed at its
middle; from one middle to the next the torque of either period acts for half of its length
("encoder-matched torque"). Both ends of a window are means over some such windows, which divides
the noise of the angles.

Products of velocities. A control period's torque is constant, so that a velocity x is a line in it,
whose slope jumps where the torque does: x = b - a s before the end of period k and x = b + a' s
after it, s the time from there as a share of a period. What an encoder gives are the means of the
periods, x(k) = b - a / 2 and x(k+1) = b + a' / 2. Their difference is the integral of dx/dt under a
triangle over both periods, so a product has to be averaged under the same triangle. With y likewise
(c, e, e'), d = a' - a and a bar = (a + a') / 2:

    mean of x y = [x(k) y(k+1) + y(k) x(k+1)] / 2
                  - (b d_y + c d_x) / 12 + 5 / 12 (a bar)(e bar) - d_x d_y / 48

The jumps d come from the torques, b = [x(k) + x(k+1)] / 2 - d / 4, and a bar twice, from either
neighbour period. Only velocities of different periods are multiplied: the noise of a square would
raise its mean.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_description.dynamics import accelerations
from diffbot_ident.torque.estimate import Array
from diffbot_ident.torque.torque_delay import (
    DELAYS,
    delay_columns,
    delay_weights,
    delayed,
    spread_weights,
)
from diffbot_ident.torque.wheel_speeds import (
    UNKNOWN_RESPONSE,
    TorqueResponse,
    WheelSpeeds,
    level_side,
    wheel_speeds,
)

Flags = NDArray[np.bool_]

# Columns of a row: regressors, which are integrals over the window, and the two outputs.
OMEGA_SQUARED, V_OMEGA, V, OMEGA, SIGN_LEFT, SIGN_RIGHT, DV, DOMEGA = range(8)
# What the model does not know of, see residual_patterns: duration, the signs of the wheels' speeds
# at low speed, and the direction of the motion over the floor; v^2, which wheels that differ bring
# into domega/dt; and the second differences of the torques' sum and difference, which torques that
# change within a period bring in.
ONE, SLOW_LEFT, SLOW_RIGHT, DRAG_V, DRAG_OMEGA, V_SQUARED, BENT_SUM, BENT_DIFFERENCE = range(8, 16)
# Of robots with skid steer, else 0.
SIGN_OMEGA = 16
TORQUES = 17
# Torques of the wheels that acted some time earlier, late ones last; see `delay_weights`.
SUM, DIFFERENCE = slice(TORQUES, None, 2), slice(TORQUES + 1, None, 2)
# The same at whole delays less that at one delay, of sums that hold them: `RowSums.delayed`.
SPREAD_SUM = tuple(range(TORQUES + 2, TORQUES + 2 + 2 * DELAYS, 2))
SPREAD_DIFFERENCE = tuple(column + 1 for column in SPREAD_SUM)

# Control periods within which dry friction of the floor would stop a robot that may be held by it.
SLOW_TURNS = 2.0
# Share of what dry friction can do to a wheel up to which it may hold it: it is known roughly.
HELD_SHARE = 1.3
# Speed up to which friction may differ from that at speed, as a share of the speed to expect.
SLOW_SHARE = 0.05
# Periods from one sample to the next beyond which one was lost.
LONG_STEP = 1.5


class IntegralRows:
    """Turns a stretch of joint samples into rows, one beginning with each sample.

    Args:
        geometry: of the wheels.
        window: control periods from one end of a window to the other, >= 1.
        smoothing: control periods over which either end is averaged, >= 1.
        fine: samples in one of these periods, >= 1: torques are known at each of them, of the
            angles only the last one counts.
        period: of the control, s; how many periods are taken together to find when a wheel turns
            round, and which are so long that a sample was lost.
        slow: wheel speed below which friction may be another one, rad/s.
        turning: whether the floor resists turning (skid steer).

    Attributes:
        overlap: control periods that a stretch shares with the one before it so that no row is
            lost.
        first: control periods of a stretch before the first one that a row begins in.
        columns: of a row.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        window: int,
        smoothing: int,
        fine: int = 1,
        period: float = 0.01,
        slow: float = 1.0,
        turning: bool = False,
    ) -> None:
        self._geometry = geometry
        self._turning = turning
        self.window = window
        self.smoothing = smoothing
        self.fine = fine
        self._period = period
        self._slow = slow
        self._side = level_side(period)
        # The ends of a stretch, where less is known, reach twice as far: into the first guess of
        # when a wheel turns round, and from there into the second.
        self.first = max(DELAYS, 2 * self._side)
        self._back = 2 * self._side + 1
        self.overlap = window + smoothing + self.first + self._back - 1
        self._delays = delay_columns(fine)
        self.columns = TORQUES + 2 * self._delays

    def make(
        self, samples: Array, response: TorqueResponse = UNKNOWN_RESPONSE
    ) -> tuple[Array, Flags, Flags]:
        """Rows of a stretch of consecutive samples.

        Args:
            samples: stamp (s), angles [left, right] (rad) and torques [left, right] (N m) that
                acted over the period that ends with the sample, shape (n fine, 5).
            response: of the velocities to the torques.

        Returns:
            Rows, shape (max(n - overlap, 0), columns), and for each whether both wheels, and the
            robot with skid steer, keep turning one way in it: where one turns round, the integral
            of its sign is uncertain. A row in which friction may hold a wheel, or the floor the
            robot against turning, is 0, which says nothing. And for each whether no sample was
            lost in it: where one was, a part of the torque is not known.
        """
        if len(samples) <= self.overlap * self.fine:
            return np.empty((0, self.columns)), np.empty(0, dtype=bool), np.empty(0, dtype=bool)
        steps, turning, held, lost, period = self._steps(samples, response)
        ends = _means(steps, period, self.smoothing)
        rows = ends[self.window :] - ends[: -self.window]
        length = self.window + self.smoothing - 1
        turns = moving_sum((~turning).astype(float)[:, None], length)
        if held.any():
            rows[moving_sum(held.astype(float)[:, None], length)[:, 0] > 0.0] = 0.0
        losses = moving_sum(lost.astype(float)[:, None], length)
        return rows, turns[:, 0] == 0.0, losses[:, 0] == 0.0

    def _steps(
        self, samples: Array, response: TorqueResponse
    ) -> tuple[Array, Flags, Flags, Flags, Array]:
        """The columns from the middle of each of n periods to that of the next.

        Also whether the wheels keep turning one way; whether friction may hold a wheel, or the
        floor the robot against turning; whether a sample was lost; and the n + 1 periods, s.
        """
        fine = self.fine
        kept = samples[fine - 1 :: fine]
        period = np.diff(kept[:, 0])
        turned = turns(kept[:, 1:3])
        length, angle = np.array(self._geometry.body_velocity(*turned.T))
        lasting = np.diff(samples[fine - 1 :, 0])
        impulse = samples[fine:, 3:5] * lasting[:, None]
        pair = np.column_stack((impulse[:, 0] + impulse[:, 1], impulse[:, 0] - impulse[:, 1]))
        whole = pair.reshape(-1, fine, 2).sum(axis=1)
        late = delayed(whole.T, response.delay)
        v = _Velocity(length / period, response.k7 * np.diff(late[0]))
        omega = _Velocity(angle / period, response.k8 * np.diff(late[1]))
        first, last = self.first, len(period) - self._back  # steps from period k to k + 1
        at = slice(first, last)
        gap = 0.5 * (period[:-1] + period[1:])[at]
        steps = np.empty((last - first, self.columns))
        inner = slice(first - 1, last - 1)
        steps[:, OMEGA_SQUARED] = gap * _mean_product(omega, omega)[inner]
        steps[:, V_OMEGA] = gap * _mean_product(v, omega)[inner]
        steps[:, V_SQUARED] = gap * _mean_product(v, v)[inner]
        steps[:, V] = _halves(length)[at]
        steps[:, OMEGA] = _halves(angle)[at]
        steps[:, ONE] = gap
        wheels = wheel_speeds(
            turned / period[:, None], period, late, response, self._geometry, self._side
        )
        rising, falling = wheels.sign_integrals()
        steps[:, SIGN_LEFT : SIGN_RIGHT + 1] = (rising[:-1] + falling[1:])[at]
        self._add_pattern_columns(steps, wheels, at)
        speeds = wheels
        held = self._held_wheels(wheels.middle, late, response, period)
        if self._turning:
            yaw = wheels.of_yaw(self._geometry, response)
            held |= self._held(yaw.middle[:, 0], response.k8 * late[1] / period, response, period)
            rising, falling = yaw.sign_integrals()
            steps[:, SIGN_OMEGA] = (rising[:-1] + falling[1:])[at, 0]
            speeds = wheels.beside(yaw)
        else:
            steps[:, SIGN_OMEGA] = 0.0
        self._add_torques(steps, pair, first)
        steps[:, BENT_SUM : BENT_DIFFERENCE + 1] = np.diff(whole[first - 1 : last + 1], 2, axis=0)
        steps[:, DV] = np.diff(v.mean)[at]
        steps[:, DOMEGA] = np.diff(omega.mean)[at]
        sign = np.sign(speeds.begin) + np.sign(speeds.end)
        turning = np.all((sign[:-1] * sign[1:]) > 3.0, axis=1)
        held = (held[:-1] | held[1:])[at]
        lost = self._lost(lasting, response.delay)
        lost = (lost[:-1] | lost[1:])[at]
        return steps, turning[at], held, lost, period[first : last + 1]

    def _lost(self, lasting: Array, delay: float) -> Flags:
        """Periods with a torque that is not known, as a sample was lost when it was told.

        Args:
            lasting: time from each sample to the next, s, shape (n fine,).
            delay: of the torque, control periods.
        """
        long = lasting > LONG_STEP * self._period / self.fine
        told: Flags = np.any(long.reshape(-1, self.fine), axis=1)
        lost = told.copy()
        for late in range(1, math.ceil(delay) + 1):
            lost[late:] |= told[:-late]
        return lost

    def _held_wheels(
        self, speeds: Array, late: Array, response: TorqueResponse, period: Array
    ) -> Flags:
        """Periods in which Coulomb friction may hold a wheel, shape (n,).

        It is whatever else moves the wheel then, up to f: taken for none or for f, it makes K5 and
        K6 of robots with much friction some per cent too large, and K7 too small.

        Args:
            speeds: of the wheels, rad/s, shape (n, 2).
            late: the torques' sum and difference as they acted, times the period, shape (2, n).
            response: how the torques act, and friction, as far as they are known.
            period: s.
        """
        viscous, coulomb = np.reshape(response.friction, (2, 2))
        held: Flags = np.zeros(len(period), dtype=bool)
        if not coulomb.any():
            return held
        b, k = self._geometry.half_track, (*response.products, response.k7, response.k8)
        radius = 0.5 * (self._geometry.left_radius + self._geometry.right_radius)
        v, omega = np.array(self._geometry.body_velocity(*speeds.T))
        torques = 0.5 * np.column_stack((late[0] + late[1], late[0] - late[1])) / period[:, None]
        most = (response.k7 + b * abs(response.k8)) / radius * coulomb
        slow = np.abs(speeds) < SLOW_TURNS * most * period[:, None]
        against = np.where(slow, np.clip(torques, -coulomb, coulomb), np.sign(speeds) * coulomb)
        resisted = torques - against - speeds * viscous
        for side, way in enumerate((-b, b)):
            # What a wheel would do without its own friction, and what that may keep it from.
            left, right = np.where(np.arange(2) == side, torques, resisted).T
            dv, domega = accelerations(k, v, omega, left, right)
            freely = np.abs(dv + way * domega) / radius
            held |= slow[:, side] & (freely < HELD_SHARE * most[side])
        return held

    def _held(self, omega: Array, drive: Array, response: TorqueResponse, period: Array) -> Flags:
        """Periods in which the floor may hold the robot against turning.

        Its friction is then whatever the torques ask for, up to f_w, and no sign of omega tells it.

        Args:
            omega: rad/s.
            drive: acceleration by the torques, rad/s^2.
            response: how the torques act, and what the floor and the wheels do.
            period: s.
        """
        radius = 0.5 * (self._geometry.left_radius + self._geometry.right_radius)
        lever = radius / self._geometry.half_track
        most = abs(response.k8) * lever * response.holding
        wheels = abs(response.k8) * (response.friction[2] + response.friction[3])
        slow: Flags = np.abs(omega) < SLOW_TURNS * most * period
        return slow & (np.abs(drive) < most + wheels)

    def _add_pattern_columns(self, steps: Array, wheels: WheelSpeeds, at: slice) -> None:
        """Columns of frictions that the model does not know of."""
        speed, period = wheels.middle, wheels.period[:, None]
        slow = np.sign(speed) * np.exp(-np.square(speed / self._slow)) * period
        v, turn = speed[:, 0] + speed[:, 1], speed[:, 1] - speed[:, 0]
        size = np.sqrt(np.square(v) + np.square(turn)) + 1e-9
        drag = np.column_stack((v, turn)) / size[:, None] * period
        steps[:, SLOW_LEFT : SLOW_RIGHT + 1] = _halves(slow)[at]
        steps[:, DRAG_V : DRAG_OMEGA + 1] = _halves(drag)[at]

    def _add_torques(self, steps: Array, pair: Array, first: int) -> None:
        """Torques under the triangle over both periods of a step, and the same ones later."""
        count, fine = len(steps), self.fine
        out = steps[:, TORQUES:].reshape(count, self._delays, 2)
        if fine == 1:
            for late in range(self._delays):
                out[:, late] = pair[first + 1 - late : first + 1 - late + count]
            return
        weights = np.concatenate((np.arange(fine) + 0.5, fine - 0.5 - np.arange(fine))) / fine
        cells = np.arange(count)[:, None] * fine + np.arange(2 * fine)
        for late in range(self._delays):
            out[:, late] = np.einsum("c,ncw->nw", weights, pair[first * fine - late + cells])


@dataclass(frozen=True)
class _Velocity:
    """Means of a velocity over periods, shape (n,), and the jumps of its slope, (n - 1,).

    A jump is what the velocity gains by torque in period k + 1 less that in period k.
    """

    mean: Array
    jump: Array

    def at_boundary(self) -> Array:
        """At the end of period k, for k = 1 to n - 3: b."""
        return 0.5 * (self.mean[1:-2] + self.mean[2:-1]) - 0.25 * self.jump[1:-1]

    def gained(self) -> tuple[Array, Array]:
        """Gained in a period, the mean of k and k + 1, by the period before them and after."""
        mean, jump = self.mean, self.jump
        before = mean[1:-2] - mean[:-3] + 0.5 * (jump[1:-1] + jump[:-2])
        after = mean[3:] - mean[2:-1] - 0.5 * (jump[1:-1] + jump[2:])
        return before, after


def _mean_product(x: _Velocity, y: _Velocity) -> Array:
    """Mean of x y under the triangle over periods k and k + 1, for k = 1 to n - 3."""
    near = 0.5 * (x.mean[1:-2] * y.mean[2:-1] + y.mean[1:-2] * x.mean[2:-1])
    jump_x, jump_y = x.jump[1:-1], y.jump[1:-1]
    (x_before, x_after), (y_before, y_after) = x.gained(), y.gained()
    gained = 0.5 * (x_before * y_after + x_after * y_before)
    bent = x.at_boundary() * jump_y + y.at_boundary() * jump_x
    return near - bent / 12.0 + 5.0 / 12.0 * gained - jump_x * jump_y / 48.0


def _means(steps: Array, period: Array, count: int) -> Array:
    """Means over time, each over `count` periods, of what has gathered by their middles.

    A velocity's is the way over the time: stamps that jitter by e shift it by e / (count period),
    where the mean of the periods' own velocities would be too large by 2 (e / period)^2.

    Args:
        steps: from each period's middle to that of the next, shape (n, columns).
        period: length of each period, s, shape (n + 1,).
        count: periods of a mean, >= 1.

    Returns:
        Shape (n + 2 - count, columns), but for a number that all have in common.
    """
    gathered = np.zeros((len(steps) + 1, steps.shape[1]))
    np.cumsum(steps, axis=0, out=gathered[1:])
    lasting = period[:, None]
    found: Array = moving_sum(lasting * gathered, count) / moving_sum(lasting, count)
    return found


def turns(angles: Array) -> Array:
    """What the wheels turned from one sample to the next, rad, shape (n - 1, 2), from (n, 2).

    Encoders may wrap; half a turn in one period is far beyond any wheel's speed.
    """
    return np.remainder(np.diff(angles, axis=0) + np.pi, 2.0 * np.pi) - np.pi


def _halves(per_period: Array) -> Array:
    """Half of a period's share and half of the next one's."""
    return 0.5 * (per_period[:-1] + per_period[1:])


def moving_sum(columns: Array, length: int) -> Array:
    """Sums over `length` successive rows, shape (n - length + 1, columns)."""
    count = max(len(columns) - length + 1, 0)
    # By sums over 1, 2, 4, ... rows: quicker than differences of a cumulative sum, and they do not
    # drift.
    power, size = columns, 1
    while not length & size:
        power = power[size:] + power[:-size]
        size *= 2
    found, first = power[:count], size
    while first < length:
        power = power[size:] + power[:-size]
        size *= 2
        if length & size:
            found = found + power[first : first + count]
            first += size
    return found


@lru_cache(maxsize=256)
def _shift(delays: tuple[float, ...], fine: int) -> Array:
    """Takes columns to those with the torques late by each of the delays."""
    return _weighted(np.column_stack([delay_weights(delay, fine) for delay in delays]))


@lru_cache(maxsize=64)
def _spread(delay: float, fine: int) -> Array:
    """Takes columns to those with the torques late by this delay, and spread about it."""
    return _weighted(spread_weights(delay, fine))


def _weighted(weights: Array) -> Array:
    """Takes columns to those with torques of these weights, shape (delays, n)."""
    size, count = weights.shape
    shift = np.zeros((TORQUES + 2 * size, TORQUES + 2 * count))
    shift[:TORQUES, :TORQUES] = np.eye(TORQUES)
    for side in (0, 1):
        shift[TORQUES + side :: 2, TORQUES + side :: 2] = weights
    return shift


# Weight of a row in which a wheel turns round. When it does so is known to some milliseconds only:
# with full weight 92 % of the intervals of K8 held the truth over random robots with friction, with
# half of it 95 % (benchmarks/trust.py --random, seeds 0 to 59). The error grows with the period,
# hence the weight falls with its square beyond TURNING_PERIOD.
TURNING_WEIGHT, TURNING_PERIOD = 0.5, 0.02
# Weight of a row in which a sample was lost. A torque that changed meanwhile is an error of a whole
# period's: with full weight and 1 % of the samples lost, intervals were 2.5 to 5 times as wide. It
# is not 0, for where one sample of five is lost there is hardly any other row.
GAP_WEIGHT = 1e-4


class RowSums:
    """Everything that an estimate needs to know of the rows so far, with exponential forgetting.

    Rows that begin one sample apart share most of their window, so their errors are correlated, in
    a way that is known: they come from torques that acted a little differently than reported, each
    period's for itself, and from the reading of the angles, each reading's for itself. A row takes
    either in through a kernel, so that the covariance of sums of x e over the rows is

        Omega = s_torque sum psi_t psi_t' + s_reading sum psi_r psi_r'

    with psi the regressors seen through the kernel from a single period or reading.

    Args:
        window: control periods from one end of a window to the other.
        smoothing: control periods over which either end is averaged.
        period: control period, s.
        fine: samples in a control period.

    Attributes:
        products: moments, lagged (3), torque and reading, shape (6, columns, columns).
        lags: lags in rows at which `lagged` is kept: 0, half a window, a window.
        pairs: sums of the products of weights' roots at these lags, shape (3,).
        rows: number of rows, forgotten ones less.
    """

    def __init__(self, window: int, smoothing: int, period: float, fine: int = 1) -> None:
        self.window = window
        self.smoothing = smoothing
        self.fine = fine
        self._turning_weight = TURNING_WEIGHT * min(1.0, TURNING_PERIOD / period) ** 2
        self.lags = (0, window // 2, window)
        size = self._columns = TORQUES + 2 * delay_columns(fine)
        self.products = np.zeros((6, size, size))
        self.pairs = np.zeros(3)
        self.rows = 0.0
        self.interrupt()

    @property
    def moments(self) -> Array:
        """Weighted sum of z z' over the rows z, shape (columns, columns)."""
        moments: Array = self.products[0]
        return moments

    @property
    def lagged(self) -> Array:
        """Sums of z(k) z(k + lag)' over rows times their weights' roots, (3, columns, columns)."""
        lagged: Array = self.products[1:4]
        return lagged

    @property
    def torque(self) -> Array:
        """Sum of psi_t psi_t', (columns, columns), for a unit gained in v or omega in a period."""
        torque: Array = self.products[4]
        return torque

    @property
    def reading(self) -> Array:
        """Sum of psi_r psi_r', for a unit of the mean path or turn at one reading, over a period.

        Shape (columns, columns).
        """
        reading: Array = self.products[5]
        return reading

    def interrupt(self) -> None:
        """The next rows do not follow those before."""
        self._plain = np.zeros((self.window, self._columns))
        self._roots = np.zeros(self.window)
        self._weighted = np.zeros((self.window + self.smoothing, self._columns))

    def delayed(self, delay: float, spread: bool = False) -> RowSums:
        """These sums as seen with torques that act so many control periods late, 0 to DELAYS - 1.

        There is one column of the torques' sum, SUM.start, and one of their difference then; with
        `spread` those of SPREAD_SUM and SPREAD_DIFFERENCE follow.
        """
        shift = _spread(delay, self.fine) if spread else _shift((delay,), self.fine)
        seen = copy(self)
        seen.products = shift.T @ self.products @ shift
        return seen

    def moments_at(self, delays: Sequence[float]) -> Array:
        """The moments with a pair of torque columns for each of the delays."""
        shift = _shift(tuple(delays), self.fine)
        moved: Array = shift.T @ self.moments @ shift
        return moved

    def forget(self, factor: float) -> None:
        """Let everything so far count by this factor (0 to 1) only."""
        self.products[:4] *= factor
        # Sums of squares of weighted rows: a weight counts twice.
        self.products[4:] *= factor * factor
        self.pairs *= factor
        self.rows *= factor

    def add(self, rows: Array, turning: Flags, whole: Flags | None = None) -> None:
        """Take in rows of shape (n, columns) that follow those before.

        Args:
            rows: from IntegralRows.
            turning: whether both wheels keep turning one way, shape (n,).
            whole: whether no sample was lost in it, shape (n,); None: none was.
        """
        # Rows that say nothing are 0 in all.
        told = rows.any(axis=1)
        weight = (np.where(turning, 1.0, self._turning_weight) * told)[:, None]
        if whole is not None:
            weight *= np.where(whole, 1.0, GAP_WEIGHT)[:, None]
        weighted = weight * rows
        self.products[0] += weighted.T @ rows
        self.rows += int(told.sum())
        root = np.sqrt(weight)
        self._add_lagged(root * rows, root[:, 0])
        self._add_noise(weighted)

    def _add_lagged(self, rows: Array, root: Array) -> None:
        plain = np.concatenate((self._plain, rows))
        roots = np.concatenate((self._roots, root))
        first = self.window
        for i, lag in enumerate(self.lags):
            before = slice(first - lag, len(plain) - lag)
            self.products[1 + i] += plain[before].T @ rows
            self.pairs[i] += roots[before] @ root
        self._plain, self._roots = plain[-self.window :], roots[-self.window :]

    def _add_noise(self, weighted: Array) -> None:
        tail = self.window + self.smoothing
        x = np.concatenate((self._weighted, weighted))
        self._weighted = x[-tail:]
        through = 0.5 * (x[1:] + x[:-1])
        for length in (self.window, self.smoothing):
            through = moving_sum(through, length)
        through = through[-len(weighted) :] / self.smoothing
        self.products[4] += through.T @ through
        count = len(weighted)
        p, m = self.smoothing, self.window
        seen = x[tail:] - x[tail - p : tail - p + count] - x[tail - m : tail - m + count]
        seen = (seen + x[:count]) / p
        self.products[5] += seen.T @ seen


@lru_cache
def kernels(window: int, smoothing: int) -> tuple[Array, Array]:
    """What one period's torque and one reading add to successive rows, as in RowSums."""
    torque = np.convolve(np.ones(window), (0.5, 0.5))
    torque = np.convolve(torque, np.ones(smoothing)) / smoothing
    reading = np.zeros(window + smoothing + 1)
    np.add.at(reading, [0, smoothing, window, window + smoothing], (1.0, -1.0, -1.0, 1.0))
    return torque, reading / smoothing


@dataclass(frozen=True)
class MotionScale:
    """The size of motions and torques of a robot under identification.

    Attributes:
        velocity: m/s.
        yaw_rate: rad/s.
        torque: of one wheel, N m.
    """

    velocity: float
    yaw_rate: float
    torque: float


# Windows that fill a bucket.
FULL_BUCKET = 10


class Coverage:
    """How much of the motion that each parameter needs has been seen: windows in buckets.

    K5 needs turning to both sides, K6 driving while turning in all four combinations, K7 torques in
    common to both sides and K8 opposite ones.

    Args:
        scale: of the motion; a window counts beyond a tenth of it.
    """

    def __init__(self, scale: MotionScale) -> None:
        self._scale = scale
        self._counts = [np.zeros(2), np.zeros(4), np.zeros(2), np.zeros(2)]

    def add(self, rows: Array, span: float) -> None:
        """Count rows; span is the length of a row's window, s."""
        scale = self._scale
        v = _side(rows[:, V] / span, 0.1 * scale.velocity)
        omega = _side(rows[:, OMEGA] / span, 0.1 * scale.yaw_rate)
        total = _side(rows[:, SUM.start] / span, 0.2 * scale.torque)
        difference = _side(rows[:, DIFFERENCE.start] / span, 0.2 * scale.torque)
        for counts, side in ((0, omega), (2, total), (3, difference)):
            self._counts[counts] += (np.sum(side > 0), np.sum(side < 0))
        self._counts[1] += [np.sum((v == a) & (omega == b)) for a in (1, -1) for b in (1, -1)]

    def forget(self, factor: float) -> None:
        """Let the counts so far be worth this factor (0 to 1) only."""
        for counts in self._counts:
            counts *= factor

    def shares(self) -> tuple[float, float, float, float]:
        """Share of the buckets of [K5, K6, K7, K8] that is full, 0 to 1."""
        k5, k6, k7, k8 = (float(np.minimum(c / FULL_BUCKET, 1.0).mean()) for c in self._counts)
        return k5, k6, k7, k8


def _side(values: Array, threshold: float) -> Array:
    """+1, 0 or -1: on which side of the threshold."""
    return np.where(np.abs(values) > threshold, np.sign(values), 0.0)
