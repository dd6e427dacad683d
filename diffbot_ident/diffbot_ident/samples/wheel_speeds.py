# SPDX-License-Identifier: Apache-2.0
"""Wheel turns and speeds from angles and torques, to find when wheels reverse.

Over some 80 ms the torques give the change of speed, and coarse angles its level;
docs/theory/integral_estimator.md#rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import Array, Four, Pair, Three
from diffbot_ident.samples.series import differences

# [left, right] times this matrix are [left + right, left - right].
SUM_AND_DIFFERENCE = np.array([[1.0, 1.0], [1.0, -1.0]])
# Time over which the speed level is averaged, s, and the most periods in it.
LEVEL_TIME, MOST_PERIODS = 0.08, 11
# Passes that locate the reversals by the friction of the one before; a fourth changes nothing.
PASSES = 3


def turns(angles: Array) -> Array:
    """Return the wheels' rotation, rad, (n - 1, 2), from angles (n, 2) that may wrap."""
    return np.remainder(differences(angles) + np.pi, 2.0 * np.pi) - np.pi


def wraps(angles: Array) -> bool:
    """Whether angles (n, 2), rad, jump by more than half a turn from sample to sample."""
    return bool((np.abs(differences(angles)) > np.pi).any())


class Heading:
    """Heading of a robot by its wheels' angles, also after lost samples.

    Encoders that have never jumped by more than half a turn, unless `wrap`, count turns.
    """

    def __init__(self, geometry: WheelGeometry, wrap: bool = False) -> None:
        self._geometry = geometry
        self._wrap = wrap
        self.begin(0.0)

    def begin(self, heading: float) -> None:
        """Note that the robot was moved by hand: at the next angles it has this heading, rad."""
        self._heading, self._gap = heading, False
        self._angles: Array | None = None  # the newest, shape (1, 2), rad

    def interrupt(self) -> None:
        self._gap = True

    def at(self, angles: Array) -> Array:
        """Return the headings at the next angles, shape (n, 2), rad; 0 at the first of all."""
        before = angles[:1] if self._angles is None else self._angles
        every = np.concatenate((before, angles))
        self._wrap = self._wrap or wraps(angles if self._gap else every)
        turned = turns(every)
        if self._gap and not self._wrap:
            turned[0] = every[1] - every[0]
        headings: Array = self._heading + np.cumsum(self._geometry.body_velocity(*turned.T)[1])
        self._angles, self._heading, self._gap = angles[-1:], float(headings[-1]), False
        return headings


@dataclass(frozen=True)
class TorqueResponse:
    """What is known about the response of the velocities to the torques; 0: not known.

    Attributes:
        k7, k8: m/s^2 per N m of the wheels' sum, rad/s^2 per N m of their difference.
        delay: Delay of the torques, control periods, >= 0.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m].
        turning: Resistance of the floor against turning, [c_w in N m s/rad, f_w in N m].
        products: [K5 in m, K6 in 1/m].
        holding: Moment up to which the floor may hold the robot, N m: f_w, or more while uncertain.
        gear_loss: Share of the torque that each wheel's gear loses.
        lag: Time constant with which motors follow behind the delay, control periods.
        stiction: Static friction beyond Coulomb's [left, right], N m.
        beside: Accelerations beside the torques' [m/s^2, rad/s^2], by 1, cosine and sine of the
            heading: unreported torques and gravity.
    """

    k7: float = 0.0
    k8: float = 0.0
    delay: float = 0.0
    friction: Four = (0.0, 0.0, 0.0, 0.0)
    turning: tuple[float, float] = (0.0, 0.0)
    products: tuple[float, float] = (0.0, 0.0)
    holding: float = 0.0
    gear_loss: Pair = (0.0, 0.0)
    lag: float = 0.0
    stiction: Pair = (0.0, 0.0)
    beside: tuple[Three, Three] = ((0.0, 0.0, 0.0), (0.0, 0.0, 0.0))

    def pull(self, heading: Array) -> Array:
        """Return the accelerations beside the torques', m/s^2 and rad/s^2, (n, 2)."""
        by = np.column_stack((np.ones_like(heading), np.cos(heading), np.sin(heading)))
        result: Array = by @ np.transpose(self.beside)
        return result

    def dry_friction(self, impulse: Array, period: Array) -> Array:
        """Return Coulomb friction and gear loss, N m, (2,) or (n, 2), by impulses, N m s."""
        coulomb = np.array(self.friction[2:])
        if not any(self.gear_loss):
            return coulomb
        result: Array = coulomb + self.gear_loss * np.abs(impulse) / period[:, None]
        return result


UNKNOWN_RESPONSE = TorqueResponse()


def each_wheel(pair: Array) -> Array:
    """Return values [left, right], shape (n, 2), from their sum and difference, shape (2, n)."""
    wheels: Array = 0.5 * (pair.T @ SUM_AND_DIFFERENCE)
    return wheels


# Speed below which a wheel has no direction, rad/s.
STILL = 1e-5
# Distance from a half that `nearest` takes for one, as stamps have rounding errors.
HALF = 0.05


def nearest(ratio: float) -> int:
    """Return the nearest whole number, and the even one of two that are about equally near.

    >>> nearest(2.5), nearest(3.49), nearest(3.5001)
    (2, 4, 4)
    """
    below = math.floor(ratio)
    part = ratio - below
    if abs(part - 0.5) < HALF:
        return below + below % 2
    return below + (part > 0.5)


def level_side(period: float) -> int:
    """Return over how many periods (s) on each side a level of the speed is averaged."""
    return max(1, min(MOST_PERIODS // 2, nearest(0.5 * (LEVEL_TIME / period - 1.0))))


def wheel_speeds(
    speed: Array,
    period: Array,
    impulse: Array,
    response: TorqueResponse,
    geometry: WheelGeometry,
    side: int,
) -> WheelSpeeds:
    """Estimate the wheels' speeds from the angles and the torques.

    Args:
        speed: Mean speeds over n periods from the angles [left, right], rad/s, shape (n, 2).
        period: Control periods, s, shape (n,).
        impulse: Integrals of the acting torques' sum and difference over them, N m s, (2, n).
        side: Periods on each side over which the level is averaged, see level_side.
    """
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    viscous = np.array(response.friction[:2])
    linear, angular = response.k7 / radius, geometry.half_track * response.k8 / radius
    # From a wheel's own torque and from the other's to its acceleration.
    own, other = linear - angular, linear + angular
    # A wheel with constant angle stands still, whatever its torque.
    near = _centred_mean(np.concatenate((speed, np.abs(speed)), axis=1), side)
    moves = near[:, 2:] > 0.0
    still = np.zeros_like(speed)
    result = WheelSpeeds.risen(near[:, :2], still, moves, still, period)
    if not own > 0.0:
        return result
    torque = each_wheel(impulse)
    coulomb = response.dry_friction(torque, period)
    torque -= viscous * speed * period[:, None]
    moment = 0.5 * radius / geometry.half_track * np.array([-1.0, 1.0])
    rubs, turns = bool(coulomb.any()), any(response.turning)
    if turns:
        omega = np.asarray(geometry.body_velocity(*speed.T)[1])
        torque -= moment * (response.turning[0] * omega * period)[:, None]
    # The yaw rate may reverse at full speed, where v omega matters within LEVEL_TIME.
    drift = _drift(speed, period, response, geometry) if turns else 0.0
    gains = np.array([[own, other], [other, own]])
    free = torque @ gains + drift  # speed that would be gained without dry friction
    half = 0.5 * free
    change = own * coulomb * period[:, None]
    for _ in range(PASSES):
        rising, whole = _frictions(result, coulomb, moment, response, geometry)
        gained = free - whole @ gains
        rest = half - rising @ gains
        after = gained.cumsum(axis=0)
        level = _centred_mean(speed - after + rest, side) + after
        result = WheelSpeeds.risen(level, gained, moves, change, period)
        again = rubs and result.turn_round()
        if not (again or (turns and result.of_yaw(geometry, response).turn_round())):
            break
    return result


def _frictions(
    wheel_speeds: WheelSpeeds,
    coulomb: Array,
    moment: Array,
    response: TorqueResponse,
    geometry: WheelGeometry,
) -> tuple[Array, Array]:
    """Return the integrals of dry friction over each period, as torques of the wheels, N m s.

    With a weight that rises from 0 to 1, and without; (n, 2), or zeros (1, 2) without friction.
    `moment`: torques that equal one of 1 N m against turning.
    """
    rising = whole = np.zeros((1, 2))
    if coulomb.any():
        first, second = wheel_speeds.sign_integrals()
        rising, whole = coulomb * first, coulomb * (first + second)
    if any(response.turning):
        floor = moment * response.turning[1]
        first, second = wheel_speeds.of_yaw(geometry, response).sign_integrals()
        rising, whole = rising + floor * first, whole + floor * (first + second)
    return rising, whole


def _drift(speed: Array, period: Array, response: TorqueResponse, geometry: WheelGeometry) -> Array:
    """Return the wheels' speed gains per period by K5 and K6, rad/s, (n, 2)."""
    v, omega = (np.asarray(each) for each in geometry.body_velocity(*speed.T))
    (k5, k6), b = response.products, geometry.half_track
    ahead, turn = k5 * omega**2 * period, b * k6 * v * omega * period
    radii = np.array([geometry.left_radius, geometry.right_radius])
    gained: Array = np.column_stack((ahead - turn, ahead + turn)) / radii
    return gained


@dataclass(frozen=True)
class WheelSpeeds:
    """Speeds of the wheels [left, right] at both ends of each period, rad/s, shape (n, 2) each.

    Attributes:
        change: Speed that dry friction takes over a period from a wheel that turns forward, rad/s.
        period: Control periods, s, shape (n,).
    """

    begin: Array
    end: Array
    middle: Array
    change: Array
    period: Array

    @classmethod
    def risen(
        cls,
        end: Array,
        gained: Array,
        moves: NDArray[np.bool_],
        change: Array,
        period: Array,
    ) -> WheelSpeeds:
        """Return speeds that change linearly by `gained` to `end`, rad/s, where wheels move."""
        end, gained = moves * end, moves * gained
        speeds = end - gained, end, end - 0.5 * gained
        # Counts that add up to 0 leave rounding errors.
        begin, end, middle = (np.where(np.abs(each) < STILL, 0.0, each) for each in speeds)
        return cls(begin, end, middle, change, period)

    def of_yaw(self, geometry: WheelGeometry, response: TorqueResponse) -> WheelSpeeds:
        """Return the same for the yaw rate, rad/s, instead of the wheels' speeds; shapes (n, 1)."""
        radius = 0.5 * (geometry.left_radius + geometry.right_radius)
        rates = (
            np.reshape(np.asarray(geometry.body_velocity(*speed.T)[1]), (-1, 1))
            for speed in (self.begin, self.end, self.middle)
        )
        still = STILL * radius / geometry.half_track
        begin, end, middle = (np.where(np.abs(each) < still, 0.0, each) for each in rates)
        friction = -radius * response.k8 / geometry.half_track * response.turning[1]
        return WheelSpeeds(begin, end, middle, friction * self.period[:, None], self.period)

    def beside(self, other: WheelSpeeds) -> WheelSpeeds:
        """Return these speeds with others of the same periods as further columns."""
        begin, end, middle, change = (
            np.hstack((getattr(self, name), getattr(other, name)))
            for name in ("begin", "end", "middle", "change")
        )
        return WheelSpeeds(begin, end, middle, change, self.period)

    @cached_property
    def _reversals(self) -> tuple[NDArray[np.intp], ...]:
        return (self.begin * self.end < 0.0).nonzero()

    def turn_round(self) -> bool:
        """Whether any speed changes its sign within a period."""
        return self._reversals[0].size > 0

    def sign_integrals(self) -> tuple[Array, Array]:
        """Return the integrals of the signs over each period, s, by rising and falling weights."""
        rising = 0.5 * np.sign(self.middle) * self.period[:, None]
        if not self.turn_round():
            return rising, rising
        falling, at = rising.copy(), self._reversals
        # After the share s of a period, with 2 f s^2 - (B + E + 2 f) s + B = 0 for the speeds B and
        # E at both ends, and friction f.
        begin, end, friction = self.begin[at], self.end[at], 2.0 * self.change[at]
        start = 2.0 * np.abs(begin)
        size = np.abs(end - begin) + friction
        root = np.sqrt(np.maximum(size * size - 2.0 * friction * start, 0.0))
        fraction = start / (size + root)
        after = np.sign(end) * self.period[at[0]]
        first = after * (0.5 - fraction * fraction)
        rising[at], falling[at] = first, after * (1.0 - 2.0 * fraction) - first
        return rising, falling


def _centred_mean(values: Array, side: int) -> Array:
    """Return means over `side` rows on each side, (n, m); near the ends over fewer."""
    count = len(values)
    sums = np.zeros((count + 2 * side + 1, values.shape[1]))
    values.cumsum(axis=0, out=sums[side + 1 : side + 1 + count])
    sums[side + 1 + count :] = sums[side + count]
    mean: Array = (sums[2 * side + 1 :] - sums[:count]) / _rows_near(count, side)
    return mean


@lru_cache(maxsize=64)
def _rows_near(count: int, side: int) -> Array:
    index = np.arange(count)
    near = np.minimum(index + side + 1, count) - np.maximum(index - side, 0)
    return near[:, None].astype(float)
