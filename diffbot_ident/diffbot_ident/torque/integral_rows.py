# SPDX-License-Identifier: Apache-2.0
"""Builds the rows of the integrated model from joint samples, and their sums in constant memory.

The model is (41) of Lages (2017) with the wheels' friction, integrated over a window:

    v(t+h) - v(t)         = K5 int omega^2 + K7 int (T_l + T_r)
    omega(t+h) - omega(t) = K6 int v omega + K8 int (T_l - T_r),    T = tau - c w - f sign(w)

Differences over a window are far less noisy than accelerations, and the integrals align velocities
and torques in time. The difference of two wheel angles gives the mean speed over a period, hence
the speed at its middle. Between the middles of two successive periods, the torque of each of them
acts for half of its period ("encoder-matched torque"). Each end of a window is averaged over
several successive periods, which reduces the noise of the angles.

Products of velocities. The torque is constant within a control period, so a velocity x is linear
in it, and its slope jumps where the torque does: x = b - a s before the end of period k and
x = b + a' s after it, with s the time from there as a share of a period. An encoder measures the
means over the periods, x(k) = b - a / 2 and x(k+1) = b + a' / 2. Their difference is the integral
of dx/dt under a triangle over both periods, so a product has to be averaged under the same
triangle. With y likewise (c, e, e'), d = a' - a and a bar = (a + a') / 2:

    mean of x y = [x(k) y(k+1) + y(k) x(k+1)] / 2
                  - (b d_y + c d_x) / 12 + 5 / 12 (a bar)(e bar) - d_x d_y / 48

The jumps d follow from the torques, b = [x(k) + x(k+1)] / 2 - d / 4, and a bar is computed twice,
from the period before and from the period after. Only velocities of different periods are
multiplied: the noise of a square would raise its mean.
"""

from __future__ import annotations

import math
from collections import deque
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
    BLOCKS,
    DELAYS,
    FINE_DELAYS,
    REACH,
    delay_columns,
    delay_weights,
    delayed,
)
from diffbot_ident.torque.wheel_speeds import (
    SUM_AND_DIFFERENCE,
    UNKNOWN_RESPONSE,
    TorqueResponse,
    WheelSpeeds,
    differences,
    each_wheel,
    level_side,
    turns,
    wheel_speeds,
)

Flags = NDArray[np.bool_]

# Columns of a row: the regressors, integrated over the window, and the two outputs DV and DOMEGA.
OMEGA_SQUARED, V_OMEGA, V, OMEGA, SIGN_LEFT, SIGN_RIGHT, DV, DOMEGA = range(8)
# Columns for effects outside the model, see residual_patterns: duration; the signs of the wheels'
# speeds at low speed; the direction of motion over the floor; v^2, which enters domega/dt if the
# wheels differ; the second differences of the torques' sum and difference, which enter if torques
# change within a period: about the first period of a step, and about the second.
ONE, SLOW_LEFT, SLOW_RIGHT, DRAG_V, DRAG_OMEGA, V_SQUARED, BENT_SUM, BENT_DIFFERENCE = range(8, 16)
NEXT_BENT_SUM, NEXT_BENT_DIFFERENCE = 16, 17
# Cosine and sine of the heading, along which gravity acts if the floor is not level.
COS_HEADING, SIN_HEADING = 18, 19
# Sign of the yaw rate.
SIGN_OMEGA = 20
# Cosine and sine of each wheel's angle [cos left, cos right, sin left, sin right]: their rates are
# in the measured speed if the encoder sits off centre, and they are in the torque if the wheel is
# out of balance.
OFF_CENTRE, OFF_BALANCE = tuple(range(21, 25)), tuple(range(25, 29))
# Sizes of the wheels' torques times the signs of their speeds, for gears that lose a share of them.
GEAR_LEFT, GEAR_RIGHT = 29, 30
# Gains in the slip of wheels that slip in proportion to their torque: speed times torque; and what
# they change in the products of velocities of the linear and of the angular axis.
# The force on a wheel is less than its torque by what turns the wheel itself, which the other
# wheel's torque drives as well: a column each.
SLIP_RATES = tuple(range(31, 35))
SLIP_LINEAR, SLIP_ANGULAR = 35, 36
# Gains in the rates of the places within gears that have play, [left, right] each: the side on
# which they touch; that side where it has just changed, as the play may not be crossed yet; the
# same times the size of the torque that crosses it; and where it changed some time before.
PLAY_PLACES = tuple(range(37, 45))
# What the rates of the sides change in the products of velocities of both axes.
PLAY_LINEAR, PLAY_ANGULAR = 45, 46
# Torques of the wheels times their sizes, for motors that saturate.
LARGE_LEFT, LARGE_RIGHT = 47, 48
TORQUES = 49
# First torque column. Sum and difference alternate, for increasing delays; see `delay_weights`.
SUM, DIFFERENCE = slice(TORQUES, None, 2), slice(TORQUES + 1, None, 2)

# Dry friction may hold a motion that it would stop within this many control periods.
SLOW_TURNS = 2.0
# Dry friction may hold a wheel up to this multiple of its estimate, which is uncertain.
HELD_SHARE = 1.3
# Wheel speed up to which low-speed friction may differ, as a share of the expected speed.
SLOW_SHARE = 0.05
# Square of a wheel's speed, as a multiple of that one, beyond which nothing of it is left. What a
# wheel that is never slower would leave is so little that its inverse overflows.
FASTEST = 50.0
# A sample was lost if the time between two exceeds this many periods.
LONG_STEP = 1.5


class IntegralRows:
    """Turns a segment of joint samples into rows, one starting at each sample.

    Args:
        geometry: Wheel radii and separation.
        window: Control periods from one end of a window to the other, >= 1.
        smoothing: Control periods over which each end is averaged, >= 1.
        fine: Samples per control period, >= 1. The torques of all of them are used, but only the
            angles of the last one.
        period: Control period, s; it determines how many periods are averaged to find when a wheel
            reverses, and from which step on a sample was lost.
        slow: Wheel speed below which friction may differ, rad/s.
        turning: Whether the floor resists turning (skid steer).

    Attributes:
        turning: As given; it may be set later.
        overlap: Control periods by which a segment must overlap the previous one so that no row
            is lost.
        first: Control periods of a segment before the first one in which a row starts.
        columns: Number of columns of a row.
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
        self.turning = turning
        self.window = window
        self.smoothing = smoothing
        self.fine = fine
        self._period = period
        self._slow = slow
        self._side = level_side(period)
        # Fewer periods are averaged near the ends of a segment. This affects the first guess of
        # when a wheel reverses and through it the second: skip twice the averaging side.
        self.first = max(FINE_DELAYS, 2 * self._side)
        self._back = 2 * self._side + 1
        self.overlap = window + smoothing + self.first + self._back - 1
        self._delays = delay_columns(fine)
        self.columns = TORQUES + 2 * self._delays

    def make(
        self,
        samples: Array,
        response: TorqueResponse = UNKNOWN_RESPONSE,
        past: Array | None = None,
    ) -> tuple[Array, Flags, Flags]:
        """Build the rows of a segment of consecutive samples.

        Args:
            samples: Stamp (s), angles [left, right] (rad), torques [left, right] (N m) that acted
                over the period that ends with the sample, and heading (rad), shape (n fine, 6).
            response: Response of the velocities to the torques.
            past: Samples of the segment before these, whose torques may still act; the first torque
                stands for those before.

        Returns:
            Rows, shape (max(n - overlap, 0), columns), and for each row whether both wheels, and
            the yaw rate with skid steer, keep their direction: where one reverses, the integral of
            its sign is uncertain. A row during which friction may hold a wheel, or the floor may
            hold the robot against turning, is all 0 and thus carries no information. And for each
            row whether it is complete: where a sample was lost, a part of the torque is unknown.
        """
        if len(samples) <= self.overlap * self.fine:
            return np.empty((0, self.columns)), np.empty(0, dtype=bool), np.empty(0, dtype=bool)
        if past is None:
            past = samples[:0]
        steps, flags, period = self._steps(samples, response, past)
        ends = _means(steps, period, self.smoothing)
        rows = ends[self.window :] - ends[: -self.window]
        within = moving_sum(flags.astype(float), self.window + self.smoothing - 1) > 0.0
        reverses, held, lost = within.T
        rows[held] = 0.0
        return rows, ~reverses, ~lost

    def _steps(
        self, samples: Array, response: TorqueResponse, past: Array
    ) -> tuple[Array, Flags, Array]:
        """Return the columns from the middle of each of n periods to that of the next.

        Also returns whether a direction reverses; whether friction may hold a wheel, or the floor
        may hold the robot against turning; and whether a sample was lost, shape (n, 3); and the
        n + 1 periods, s.
        """
        fine = self.fine
        kept = samples[fine - 1 :: fine]
        period = differences(kept[:, 0])
        turned = turns(kept[:, 1:3])
        speed = turned / period[:, None]
        moved = np.array(self._geometry.body_velocity(*turned.T))  # [path, angle]
        lasting = differences(samples[fine - 1 :, 0])
        impulse = samples[fine:, 3:5] * lasting[:, None]
        every = np.concatenate((self._impulses_before(past, samples[:fine]), impulse))
        pair = every @ SUM_AND_DIFFERENCE
        reported = pair.reshape(-1, fine, 2).sum(axis=1)
        whole = reported[REACH:]
        sizes = np.abs(every).reshape(-1, fine, 2).sum(axis=1)
        acting = delayed(np.concatenate((reported, sizes), axis=1).T, response.delay, response.lag)[
            :, REACH:
        ]
        late, size = acting[:2], acting[2:].T / period[:, None]
        first, last = self.first, len(period) - self._back  # steps from period k to k + 1
        at = slice(first, last)
        gap = _halves(period)[at]
        steps = np.empty((last - first, self.columns))
        gains = np.array([[response.k7], [response.k8]])
        mean = moved / period
        steps[:, DV : DOMEGA + 1] = differences(mean.T)[at]
        products = _mean_products(mean, gains * (late[:, 1:] - late[:, :-1]))
        (v_squared, v_omega), (_, omega_squared) = products
        inner = slice(first - 1, last - 1)
        steps[:, OMEGA_SQUARED] = gap * omega_squared[inner]
        steps[:, V_OMEGA] = gap * v_omega[inner]
        steps[:, V_SQUARED] = gap * v_squared[inner]
        steps[:, V : OMEGA + 1] = _halves(moved.T)[at]
        steps[:, ONE] = gap
        heading = kept[1:-1, 5][at]
        steps[:, COS_HEADING] = gap * np.cos(heading)
        steps[:, SIN_HEADING] = gap * np.sin(heading)
        wheels = wheel_speeds(speed, period, late, response, self._geometry, self._side)
        rising, falling = wheels.sign_integrals()
        steps[:, SIGN_LEFT : SIGN_RIGHT + 1] = (rising[:-1] + falling[1:])[at]
        geared = size[:-1] * rising[:-1] + size[1:] * falling[1:]
        steps[:, GEAR_LEFT : GEAR_RIGHT + 1] = geared[at]
        self._add_pattern_columns(steps, wheels, at)
        torques = each_wheel(late)
        dry = response.dry_friction(torques, period)
        torques /= period[:, None]
        expected = self._expected_gains(steps, wheels.middle, torques, dry, response, period, at)
        around = _circle(kept[first : last + 2, 1:3])
        steps[:, OFF_BALANCE] = gap[:, None] * around[1:-1]
        steps[:, OFF_CENTRE] = _rates(
            around, period[first : last + 1], differences(speed)[at] - expected
        )
        driven = torques - response.friction[:2] * wheels.middle
        large = torques * np.abs(torques) * period[:, None]
        steps[:, LARGE_LEFT : LARGE_RIGHT + 1] = _halves(large)[at]
        self._add_slip(steps, wheels.middle, driven - dry * np.sign(wheels.middle), at)
        self._add_play(steps, every, _halves(wheels.middle)[at], response, period, first)
        speeds = wheels
        held = self._held_wheels(wheels.middle, torques, dry, response, period)
        yaw = wheels.of_yaw(self._geometry, response)
        rising, falling = yaw.sign_integrals()
        steps[:, SIGN_OMEGA] = (rising[:-1] + falling[1:])[at, 0]
        if self.turning:
            held |= self._held(yaw.middle[:, 0], response.k8 * late[1] / period, response, period)
            speeds = wheels.beside(yaw)
        self._add_torques(steps, pair, first)
        bent = differences(differences(whole[first - 1 : last + 2]))
        steps[:, BENT_SUM : BENT_DIFFERENCE + 1] = bent[:-1]
        steps[:, NEXT_BENT_SUM : NEXT_BENT_DIFFERENCE + 1] = bent[1:]
        sign = np.sign(speeds.begin) + np.sign(speeds.end)
        lost = self._lost(lasting, response.delay)
        flags = np.empty((last - first, 3), dtype=bool)
        flags[:, 0] = ~(sign[:-1] * sign[1:] > 3.0).all(axis=1)[at]
        flags[:, 1] = (held[:-1] | held[1:])[at]
        flags[:, 2] = (lost[:-1] | lost[1:])[at]
        return steps, flags, period[first : last + 1]

    def _impulses_before(self, past: Array, first: Array) -> Array:
        """Return the integrals of the wheels' torques over REACH periods before a segment, N m s.

        Args:
            past: Samples before, as far as there are any, shape (m fine, 6).
            first: The first samples of the segment, shape (fine, 6).

        Returns:
            Shape (REACH fine, 2).
        """
        told = np.concatenate((past, first))[-REACH * self.fine - 1 :]
        known = told[1:, 3:5] * differences(told[:, 0])[:, None]
        missing = REACH * self.fine - len(known)
        unknown = told[:1, 3:5] * (self._period / self.fine)
        return np.concatenate((np.repeat(unknown, missing, axis=0), known))

    def _expected_gains(
        self,
        steps: Array,
        speeds: Array,
        torques: Array,
        dry: Array,
        response: TorqueResponse,
        period: Array,
        at: slice,
    ) -> Array:
        """Return the gains in the wheels' speeds per step, rad/s, (m, 2), by the model (41).

        Args:
            steps: Columns of m steps, with the products of velocities.
            speeds: Wheel speeds, rad/s, shape (n, 2).
            torques: Torques of the wheels as they acted, N m, shape (n, 2).
            dry: `TorqueResponse.dry_friction` of the wheels.
            response: How the torques act, and friction, as far as they are known.
            period: Control periods, s, shape (n,).
            at: The m steps of all.
        """
        acting = (torques - response.friction[:2] * speeds - dry * np.sign(speeds)) * period[
            :, None
        ]
        total, difference = _halves(acting @ SUM_AND_DIFFERENCE)[at].T
        k5, k6 = response.products
        dv = k5 * steps[:, OMEGA_SQUARED] + response.k7 * total
        domega = k6 * steps[:, V_OMEGA] + response.k8 * difference
        return np.array(self._geometry.wheel_velocity(dv, domega)).T

    def _lost(self, lasting: Array, delay: float) -> Flags:
        """Return the periods whose torque is unknown because a sample was lost.

        Args:
            lasting: Time from each sample to the next, s, shape (n fine,).
            delay: Torque delay, control periods.
        """
        long = lasting > LONG_STEP * self._period / self.fine
        told: Flags = np.logical_or.reduce(long.reshape(-1, self.fine), axis=1)
        lost = told.copy()
        for late in range(1, math.ceil(delay) + 1):
            lost[late:] |= told[:-late]
        return lost

    def _held_wheels(
        self, speeds: Array, torques: Array, dry: Array, response: TorqueResponse, period: Array
    ) -> Flags:
        """Return the periods in which Coulomb friction may hold a wheel, shape (n,).

        Friction then balances whatever else drives the wheel, up to f. Assuming 0 or f instead
        makes K5 and K6 of robots with much friction some per cent too large, and K7 too small.

        Args:
            speeds: Wheel speeds, rad/s, shape (n, 2).
            torques: Torques of the wheels as they acted, N m, shape (n, 2).
            dry: `TorqueResponse.dry_friction` of the wheels.
            response: How the torques act, and friction, as far as they are known.
            period: Control periods, s, shape (n,).
        """
        if not dry.any():
            return np.zeros(len(period), dtype=bool)
        b, k = self._geometry.half_track, (*response.products, response.k7, response.k8)
        radius = 0.5 * (self._geometry.left_radius + self._geometry.right_radius)
        v, omega = self._geometry.body_velocity(*speeds.T)
        most = (response.k7 + b * abs(response.k8)) / radius * dry
        slow = np.abs(speeds) < SLOW_TURNS * most * period[:, None]
        holding = np.minimum(np.maximum(torques, -dry), dry)
        resistance = np.where(slow, holding, np.sign(speeds) * dry) + speeds * response.friction[:2]
        dv, domega = accelerations(k, v, omega, *(torques - resistance).T)
        rims = dv[:, None] + domega[:, None] * (-b, b)
        # A wheel may be held if friction can cancel the acceleration it would have without.
        freely = np.abs(rims + (response.k7 - b * response.k8) * resistance) / radius
        held = slow & (freely < HELD_SHARE * most)
        either: Flags = held[:, 0] | held[:, 1]
        return either

    def _held(self, omega: Array, drive: Array, response: TorqueResponse, period: Array) -> Flags:
        """Return the periods in which the floor may hold the robot against turning.

        Its friction then balances the torques, up to f_w; the sign of omega does not determine it.

        Args:
            omega: Yaw rates, rad/s.
            drive: Yaw accelerations caused by the torques, rad/s^2.
            response: How the torques act, and the friction of the floor and the wheels.
            period: Control periods, s.
        """
        radius = 0.5 * (self._geometry.left_radius + self._geometry.right_radius)
        lever = radius / self._geometry.half_track
        most = abs(response.k8) * lever * response.holding
        wheels = abs(response.k8) * (response.friction[2] + response.friction[3])
        slow: Flags = np.abs(omega) < SLOW_TURNS * most * period
        return slow & (np.abs(drive) < most + wheels)

    def _add_pattern_columns(self, steps: Array, wheels: WheelSpeeds, at: slice) -> None:
        """Fill in the columns of frictions outside the model."""
        speed, period = wheels.middle, wheels.period[:, None]
        share = np.square(speed / self._slow)
        slow = np.sign(speed) * np.where(share < FASTEST, np.exp(-share), 0.0) * period
        way = speed @ (SUM_AND_DIFFERENCE * (1.0, -1.0))  # in proportion to [v, b omega]
        drag = way / (np.hypot(*way.T)[:, None] + 1e-9) * period
        steps[:, SLOW_LEFT : SLOW_RIGHT + 1] = _halves(slow)[at]
        steps[:, DRAG_V : DRAG_OMEGA + 1] = _halves(drag)[at]

    def _add_slip(self, steps: Array, speeds: Array, drive: Array, at: slice) -> None:
        """Fill in the columns of wheels that slip.

        Args:
            steps: Columns of m steps.
            speeds: Wheel speeds, rad/s, shape (n, 2).
            drive: Torques of the wheels without friction, N m, shape (n, 2).
            at: The m steps of all.
        """
        slip = np.abs(speeds) * drive
        gap = steps[:, ONE : ONE + 1]
        beside = np.abs(speeds) * drive[:, ::-1]
        steps[:, SLIP_RATES] = differences(np.concatenate((slip, beside), axis=1))[at]
        steps[:, SLIP_LINEAR : SLIP_ANGULAR + 1] = gap * self._changed_products(
            _halves(speeds)[at], _halves(slip)[at]
        )

    def _changed_products(self, speeds: Array, change: Array) -> Array:
        """Return how changes of the wheels' speeds change omega^2 and v omega, shape (m, 2).

        Args:
            speeds: Wheel speeds, rad/s, shape (m, 2).
            change: Their small changes, in proportion, shape (m, 2).
        """
        v, omega = self._geometry.body_velocity(*speeds.T)
        along, around = self._geometry.body_velocity(*change.T)
        return np.column_stack((2.0 * omega * around, v * around + omega * along))

    def _add_play(
        self,
        steps: Array,
        impulse: Array,
        speeds: Array,
        response: TorqueResponse,
        period: Array,
        first: int,
    ) -> None:
        """Fill in the columns of gears that have play.

        Args:
            steps: Columns of m steps.
            impulse: Integrals of the wheels' torques over the samples, from REACH periods before
                the segment on, N m s, shape (k fine, 2).
            speeds: Wheel speeds of the steps, rad/s, shape (m, 2).
            response: How the torques act.
            period: Control periods of the segment, s, shape (n,).
            first: Period of the segment in which the first step begins.
        """
        fine = self.fine
        torque = delayed(impulse.T, response.delay * fine, response.lag * fine).T
        side = np.sign(torque)
        turned = np.zeros_like(side)
        turned[1:] = differences(side)
        before = moving_sum(turned, fine)  # in the samples before each, from sample `fine` on
        # At the last sample of each period of the steps, and of two before.
        at = (REACH + first - 1 + np.arange(len(steps) + 2)) * fine + fine - 1
        size = np.abs(torque[at]) * fine / self._period
        places = (side[at], turned[at], turned[at] * size, before[at - fine])
        rates = differences(np.concatenate(places, axis=1))
        rates /= period[first : first + len(rates), None]
        steps[:, PLAY_PLACES] = differences(rates)
        changed = self._changed_products(speeds, _halves(rates[:, :2]))
        steps[:, PLAY_LINEAR : PLAY_ANGULAR + 1] = steps[:, ONE : ONE + 1] * changed

    def _add_torques(self, steps: Array, pair: Array, first: int) -> None:
        """Fill in the torques of a step for every delay; see `acting_weights`.

        Args:
            steps: Columns of m steps.
            pair: Integrals of the torques' sum and difference, from REACH periods before the
                segment on, shape (n fine, 2).
            first: Period of the segment in which the first step begins.
        """
        count, fine = len(steps), self.fine
        out = steps[:, TORQUES:].reshape(count, self._delays, 2)
        reach = REACH - 1
        if fine == 1:
            far = pair[first + 2 : first + 2 + reach + count]
            near, single = 0, range(DELAYS + 1)
        else:
            weights = np.concatenate((np.arange(fine) + 0.5, fine - 0.5 - np.arange(fine))) / fine
            start = (first + REACH) * fine
            cells = np.arange(count)[:, None] * fine + np.arange(2 * fine)
            near, single = (FINE_DELAYS - 1) * fine + 2, range(FINE_DELAYS, DELAYS)
            for late in range(near):
                out[:, late] = np.einsum("c,ncw->nw", weights, pair[start - late + cells])
            # Under the triangles of whole periods, from those of `reach` periods before on.
            cells = np.arange(reach + count)[:, None] * fine + np.arange(2 * fine)
            far = np.einsum("c,ncw->nw", weights, pair[start - reach * fine + cells])
        for column, late in enumerate(single, near):
            out[:, column] = far[reach - late : reach - late + count]
        late, column = single[-1], near + len(single)
        for size in BLOCKS:
            late += size
            part = far[reach - late : reach - late + count + size - 1]
            out[:, column] = moving_sum(part, size) / size
            column += 1


def _mean_products(mean: Array, jump: Array) -> Array:
    """Return the means of [[v v, v omega], [omega v, omega omega]], shape (2, 2, n - 3).

    They are taken under the triangle over periods k and k + 1, for k = 1 to n - 3.

    Args:
        mean: Means of [v, omega] over n periods, shape (2, n).
        jump: Jumps of their slopes, shape (2, n - 1): the velocity gained by torque in period k + 1
            minus that gained in period k.
    """
    one, other, bent = mean[:, 1:-2], mean[:, 2:-1], jump[:, 1:-1]
    at_boundary = 0.5 * (one + other) - 0.25 * bent  # the velocities b at the end of period k
    # Two estimates of a bar, the mean gain per period over k and k + 1: by the period before them,
    # and by the period after.
    before = one - mean[:, :-3] + 0.5 * (bent + jump[:, :-2])
    after = mean[:, 3:] - other - 0.5 * (bent + jump[:, 2:])
    found = _products(one, other) - _products(at_boundary, bent) / 6.0
    return found + 5.0 / 12.0 * _products(before, after) - bent[:, None] * bent / 48.0


def _products(x: Array, y: Array) -> Array:
    """Return (x_i y_j + y_i x_j) / 2 for every pair of rows, shape (2, 2, n)."""
    found = x[:, None] * y
    symmetric: Array = 0.5 * (found + found.swapaxes(0, 1))
    return symmetric


def _means(steps: Array, period: Array, count: int) -> Array:
    """Return means over `count` periods, weighted by time, of the columns accumulated so far.

    The mean of a velocity is distance over time: stamps that jitter by e shift it by
    e / (count period), where the mean of the periods' own velocities would be too large by
    2 (e / period)^2.

    Args:
        steps: Columns from each period's middle to that of the next, shape (n, columns).
        period: Length of each period, s, shape (n + 1,).
        count: Periods of a mean, >= 1.

    Returns:
        Shape (n + 2 - count, columns), up to a constant per column.
    """
    gathered = np.zeros((len(steps) + 1, steps.shape[1]))
    steps.cumsum(axis=0, out=gathered[1:])
    lasting = period[:, None]
    found: Array = moving_sum(lasting * gathered, count) / moving_sum(lasting, count)
    return found


def _circle(angles: Array) -> Array:
    """Return [cos left, cos right, sin left, sin right] of wheel angles, shape (n, 4)."""
    return np.concatenate((np.cos(angles), np.sin(angles)), axis=1)


def _rates(around: Array, period: Array, unexpected: Array) -> Array:
    """Return the gains per step in the rates of cosine and sine of the wheels' angles, (m, 4).

    The gain in a wheel's speed is part of them. That expected of the torques takes its place, as
    the measured one contains the errors of the output.

    Args:
        around: `_circle` of the wheels' angles, shape (m + 2, 4).
        period: Control periods, s, shape (m + 1,).
        unexpected: Measured less expected gains in the wheels' speeds, rad/s, shape (m, 2).
    """
    found = differences(differences(around) / period[:, None])
    found[:, :2] += around[1:-1, 2:] * unexpected
    found[:, 2:] -= around[1:-1, :2] * unexpected
    return found


def _halves(per_period: Array) -> Array:
    """Return the means of each period's value and the next one's."""
    return 0.5 * (per_period[:-1] + per_period[1:])


def moving_sum(columns: Array, length: int, add: np.ufunc = np.add) -> Array:
    """Return sums over `length` successive rows, shape (n - length + 1, columns).

    With np.minimum instead of np.add it returns the least of them.
    """
    count = max(len(columns) - length + 1, 0)
    # Composed of sums over 1, 2, 4, ... rows: faster than differences of a cumulative sum, and free
    # of drift.
    power, size = columns, 1
    while not length & size:
        power = add(power[size:], power[:-size])
        size *= 2
    found, first = power[:count], size
    while first < length:
        power = add(power[size:], power[:-size])
        size *= 2
        if length & size:
            found = add(found, power[first : first + count])
            first += size
    return found


@lru_cache(maxsize=256)
def torque_weights(delays: tuple[float, ...], fine: int, lag: float = 0.0) -> Array:
    """Return the weights of the torque columns that `RowSums.at` replaces them by.

    Args:
        delays: Delays of the torque, control periods.
        fine: Samples per control period.
        lag: Time constant of a lag behind each delay, control periods.

    Returns:
        Shape (torque columns, 2 delays); columns of sum and difference alternate.
    """
    weights = np.column_stack([delay_weights(delay, fine, lag) for delay in delays])
    found = np.zeros((2 * len(weights), 2 * weights.shape[1]))
    for side in (0, 1):
        found[side::2, side::2] = weights
    return found


def weighted_products(products: Array, weights: Array) -> Array:
    """Return products of columns with the torque columns replaced by weighted sums of them.

    Args:
        products: Sums of products of the columns of rows, shape (..., columns, columns).
        weights: From `torque_weights`.
    """
    size = TORQUES + weights.shape[1]
    found = np.empty((*products.shape[:-2], size, size))
    mixed = products[..., TORQUES:] @ weights
    found[..., :TORQUES, :TORQUES] = products[..., :TORQUES, :TORQUES]
    found[..., :TORQUES, TORQUES:] = mixed[..., :TORQUES, :]
    found[..., TORQUES:, :TORQUES] = mixed[..., :TORQUES, :].swapaxes(-1, -2)
    found[..., TORQUES:, TORQUES:] = weights.T @ mixed[..., TORQUES:, :]
    return found


# Weight of a row in which a wheel reverses, as the time of reversal is known only to some
# milliseconds: with full weight 92 % of the intervals of K8 contained the true value over random
# robots with friction, with half of it 95 % (benchmarks/trust.py --random, seeds 0 to 59). The
# error grows with the period, so beyond TURNING_PERIOD (s) the weight falls with its square.
TURNING_WEIGHT, TURNING_PERIOD = 0.5, 0.02
# Weight of a row in which a sample was lost: a torque that changed during the gap is wrong for a
# whole period. With full weight and 1 % of the samples lost, intervals were 2.5 to 5 times as wide.
# It is not 0, because with one lost sample in five there is hardly any other row.
GAP_WEIGHT = 1e-4
# Parts of half a window over which rows are averaged to tell the noises apart. The more, the less
# the readings' noise matters, but the fewer independent means there are.
AVERAGED_PARTS = 9


class RowSums:
    """Sums over the rows that an estimate needs, with exponential forgetting.

    Rows that start one sample apart share most of their window, so their errors are correlated in
    a known way. The errors have two independent sources: torques that differ from the reported
    ones, independently in each period, and errors of the angles, independent in each reading. Both
    enter a row through a kernel, so the covariance of the sum of x e over the rows is

        Omega = s_torque sum psi_t psi_t' + s_reading sum psi_r psi_r'

    where psi is the regressors weighted by the kernel of a single period or reading.

    The two variances follow from the squares of the residuals of rows, and of means of successive
    rows: errors of the angles hardly remain in the means, those of the torques do. With coarse
    encoders and short periods the rows alone do not tell the torques' part, on which the intervals
    of K5 and K6 depend.

    Args:
        window: Control periods from one end of a window to the other.
        smoothing: Control periods over which each end is averaged.
        period: Control period, s.
        fine: Samples per control period.

    Attributes:
        products: `squares` (2), `torque` and `reading`, shape (4, columns, columns).
        part: Rows of a part; see AVERAGED_PARTS.
        weights: Sums of the weights of rows, and of means of successive rows, shape (2,).
        rows: Number of rows, reduced by forgetting.
    """

    def __init__(self, window: int, smoothing: int, period: float, fine: int = 1) -> None:
        self.window = window
        self.smoothing = smoothing
        self.fine = fine
        self._turning_weight = TURNING_WEIGHT * min(1.0, TURNING_PERIOD / period) ** 2
        self.part = max(window // 2, 1)
        size = self._columns = TORQUES + 2 * delay_columns(fine)
        self.products = np.zeros((4, size, size))
        self.weights = np.zeros(2)
        self.rows = 0.0
        self.interrupt()

    @property
    def moments(self) -> Array:
        """Weighted sum of z z' over the rows z, shape (columns, columns)."""
        moments: Array = self.products[0]
        return moments

    @property
    def squares(self) -> Array:
        """Weighted sums of z z' over the rows z and over their means, (2, columns, columns)."""
        squares: Array = self.products[:2]
        return squares

    @property
    def torque(self) -> Array:
        """Sum of psi_t psi_t', (columns, columns), per unit gain of v or omega in a period."""
        torque: Array = self.products[2]
        return torque

    @property
    def reading(self) -> Array:
        """Sum of psi_r psi_r', (columns, columns).

        It is per unit of the mean path or turn at one reading, divided by a period.
        """
        reading: Array = self.products[3]
        return reading

    def interrupt(self) -> None:
        """Start a new segment: the next rows do not continue the previous ones."""
        self._rest, self._rest_weight = np.empty((0, self._columns)), np.empty(0)
        self._means = np.zeros((AVERAGED_PARTS - 1, self._columns))
        self._least = np.zeros(AVERAGED_PARTS - 1)
        self._weighted = np.zeros((self.window + self.smoothing, self._columns))

    def delayed(self, delay: float, lag: float = 0.0) -> RowSums:
        """Return these sums for torques delayed by so many control periods, 0 to DELAYS - 1.

        They have one column of the torques' sum, SUM.start, and one of their difference.
        """
        return self.at((delay,), lag)

    def at(self, delays: tuple[float, ...], lag: float = 0.0) -> RowSums:
        """Return these sums with a pair of torque columns for each of the delays."""
        seen = copy(self)
        seen.products = weighted_products(self.products, torque_weights(delays, self.fine, lag))
        return seen

    def moments_at(self, delays: Sequence[float], lag: float = 0.0) -> Array:
        """Return the moments with a pair of torque columns for each of the delays."""
        return weighted_products(self.moments, torque_weights(tuple(delays), self.fine, lag))

    def forget(self, factor: float) -> None:
        """Scale the weight of everything so far by this factor (0 to 1)."""
        self.products[:2] *= factor
        # Sums of squares of weighted rows: a weight counts twice.
        self.products[2:] *= factor * factor
        self.weights *= factor
        self.rows *= factor

    def add(self, rows: Array, turning: Flags, whole: Flags | None = None) -> None:
        """Add rows of shape (n, columns) that continue the previous ones.

        Args:
            rows: Rows from IntegralRows.
            turning: Whether all directions are kept in a row, shape (n,).
            whole: Whether no sample was lost in a row, shape (n,); None if none was.
        """
        # Rows without information are all 0.
        told = rows.any(axis=1)
        weight = np.where(turning, 1.0, self._turning_weight) * told
        if whole is not None:
            weight *= np.where(whole, 1.0, GAP_WEIGHT)
        weighted = weight[:, None] * rows
        moments = self.moments
        moments += weighted.T @ rows
        self.rows += np.count_nonzero(told)
        self.weights[0] += weight.sum()
        self._add_means(rows, weight)
        self._add_noise(weighted)

    def _add_means(self, rows: Array, weight: Array) -> None:
        """Add means of AVERAGED_PARTS successive parts, each with the least weight of its rows."""
        rows = np.concatenate((self._rest, rows))
        weight = np.concatenate((self._rest_weight, weight))
        size, count = self.part, len(rows) // self.part
        end = count * size
        self._rest, self._rest_weight = rows[end:], weight[end:]
        if not count:
            return
        means = rows[:end].reshape(count, size, -1).sum(axis=1) / (size * AVERAGED_PARTS)
        least = weight[:end].reshape(count, size).min(axis=1)
        means, least = np.concatenate((self._means, means)), np.concatenate((self._least, least))
        self._means, self._least = means[count:], least[count:]
        means = moving_sum(means, AVERAGED_PARTS)
        least = moving_sum(least, AVERAGED_PARTS, np.minimum)
        # Each of them stands for the rows of a part.
        squares = self.products[1]
        squares += (size * least[:, None] * means).T @ means
        self.weights[1] += size * least.sum()

    def _add_noise(self, weighted: Array) -> None:
        tail = self.window + self.smoothing
        x = np.concatenate((self._weighted, weighted))
        self._weighted = x[-tail:]
        through = 0.5 * (x[1:] + x[:-1])
        for length in (self.window, self.smoothing):
            through = moving_sum(through, length)
        through = through[-len(weighted) :] / self.smoothing
        torque, reading = self.torque, self.reading
        torque += through.T @ through
        count = len(weighted)
        p, m = self.smoothing, self.window
        seen = x[tail:] - x[tail - p : tail - p + count] - x[tail - m : tail - m + count]
        seen = (seen + x[:count]) / p
        reading += seen.T @ seen


@lru_cache
def kernels(window: int, smoothing: int) -> tuple[Array, Array]:
    """Return what one period's torque and one reading add to successive rows; see RowSums."""
    torque = np.convolve(np.ones(window), (0.5, 0.5))
    torque = np.convolve(torque, np.ones(smoothing)) / smoothing
    reading = np.zeros(window + smoothing + 1)
    np.add.at(reading, [0, smoothing, window, window + smoothing], (1.0, -1.0, -1.0, 1.0))
    return torque, reading / smoothing


class Opening:
    """The newest samples of the opening.

    Attributes:
        parts: Pairs of whether a part continues the one before, and its samples, shape (n, 6).
    """

    def __init__(self, most: int) -> None:
        self.parts: deque[tuple[bool, Array]] = deque()
        self._most = most
        self._kept = 0
        self._follows = False

    def interrupt(self) -> None:
        """Start a new segment: the next sample does not continue the previous ones."""
        self._follows = False

    def add(self, part: Array) -> None:
        """Store samples and drop the oldest parts that exceed the limit."""
        if not len(part):
            return
        self.parts.append((self._follows, part))
        self._follows = True
        self._kept += len(part)
        while self._kept - len(self.parts[0][1]) >= self._most:
            self._kept -= len(self.parts.popleft()[1])


@dataclass(frozen=True)
class MotionScale:
    """The size of motions and torques of a robot under identification.

    Attributes:
        velocity: Speed, m/s.
        yaw_rate: Yaw rate, rad/s.
        torque: Torque of one wheel, N m.
    """

    velocity: float
    yaw_rate: float
    torque: float


# Windows after which a bucket of the coverage is full.
FULL_BUCKET = 10
# The buckets of K5..K8: pairs of directions. 0 to 3 are v, omega and the torques' sum and
# difference forward, 4 to 7 the same backward.
BUCKETS = (((1, 1), (5, 5)), ((0, 1), (0, 5), (4, 1), (4, 5)), ((2, 2), (6, 6)), ((3, 3), (7, 7)))


class Coverage:
    """How much of the motion that each parameter needs has been seen: windows in buckets.

    K5 needs turning in both directions, K6 driving while turning in all four combinations, K7
    common torques in both directions and K8 opposite ones.

    Args:
        scale: Size of the motions and torques. A window counts beyond a tenth of the velocities,
            and beyond a fifth of the torque.
    """

    def __init__(self, scale: MotionScale) -> None:
        # Sizes of v, omega and the torques' sum and difference from which on a window counts.
        self._least = np.array(
            [0.1 * scale.velocity, 0.1 * scale.yaw_rate, *[0.2 * scale.torque] * 2]
        )
        # Windows with each pair of directions: of those four forward, then of those four backward.
        self._counts = np.zeros((8, 8))

    def add(self, rows: Array, span: float) -> None:
        """Count windows by their rows; span is the length of a window, s."""
        seen = rows[:, [V, OMEGA, SUM.start, DIFFERENCE.start]] / span
        ways = np.concatenate((seen > self._least, seen < -self._least), axis=1).astype(float)
        self._counts += ways.T @ ways

    def forget(self, factor: float) -> None:
        """Scale the counts so far by this factor (0 to 1)."""
        self._counts *= factor

    def shares(self) -> tuple[float, float, float, float]:
        """Return how full the buckets of [K5, K6, K7, K8] are, 0 to 1."""
        filled = np.minimum(self._counts / FULL_BUCKET, 1.0).tolist()
        k5, k6, k7, k8 = (sum(filled[i][j] for i, j in own) / len(own) for own in BUCKETS)
        return k5, k6, k7, k8
