# SPDX-License-Identifier: Apache-2.0
"""When wheels turn round: their speeds from the angles and from what the torques do.

Coulomb friction changes its side when a wheel turns round. Encoders alone tell that time badly: a
wheel of 500 counts per revolution moves by less than a count for tens of milliseconds before and
after. Over some 80 ms the torques say by how much a speed changes from period to period, once K7,
K8 and the friction are roughly known, and the angles say at which level.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_ident.torque.estimate import Array, Four

# Time over which angles are taken together, s, and the most periods of it.
LEVEL_TIME, MOST_PERIODS = 0.08, 11
# Each pass places the turns with the friction of the one before; a fourth changes nothing.
PASSES = 3


@dataclass(frozen=True)
class TorqueResponse:
    """What is known of how torques act: where speeds change their slopes and wheels turn round.

    Attributes:
        k7: m/s^2 per N m of both wheels' sum; 0 while it is not known.
        k8: rad/s^2 per N m of the wheels' difference; 0 while it is not known.
        delay: control periods by which torques act late, >= 0.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m].
        turning: [c_w in N m s/rad, f_w in N m] of the floor against turning.
        products: [K5 in m, K6 in 1/m], of omega^2 and of v omega; 0 while they are not known.
        holding: the moment up to which the floor may hold the robot against turning, N m: f_w, or
            more while it is known roughly.
    """

    k7: float = 0.0
    k8: float = 0.0
    delay: float = 0.0
    friction: Four = (0.0, 0.0, 0.0, 0.0)
    turning: tuple[float, float] = (0.0, 0.0)
    products: tuple[float, float] = (0.0, 0.0)
    holding: float = 0.0


UNKNOWN_RESPONSE = TorqueResponse()


def level_side(period: float) -> int:
    """Periods (s) before and after one that tell the level of its speed."""
    return max(1, min(MOST_PERIODS // 2, round(0.5 * (LEVEL_TIME / period - 1.0))))


def wheel_speeds(
    speed: Array,
    period: Array,
    impulse: Array,
    response: TorqueResponse,
    geometry: WheelGeometry,
    side: int,
) -> WheelSpeeds:
    """The wheels' speeds by the angles and by the torques.

    Args:
        speed: means over n periods by the angles [left, right], rad/s, shape (n, 2).
        period: s, shape (n,).
        impulse: integrals over the periods of the torques' sum and of left less right, as they
            act, N m s, shape (2, n).
        response: of the velocities to the torques.
        geometry: of the wheels.
        side: periods on either side that the level is taken from, see level_side.
    """
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    viscous, coulomb = np.array(response.friction[:2]), np.array(response.friction[2:])
    linear, angular = response.k7 / radius, geometry.half_track * response.k8 / radius
    # From a wheel's own torque and from the other's to its acceleration.
    own, other = linear - angular, linear + angular
    # A wheel whose angle stays stands, whatever its torque would do to a free one.
    level, size = np.hsplit(_centred_mean(np.hstack((speed, np.abs(speed))), side), 2)
    moves = size > 0.0
    found = WheelSpeeds.risen(level, np.zeros_like(speed), moves, period, 0.0)
    if not own > 0.0:
        return found
    torque = 0.5 * np.column_stack((impulse[0] + impulse[1], impulse[0] - impulse[1]))
    torque -= viscous * speed * period[:, None]
    # A moment against turning is as much torque on the left wheel and against the right one.
    moment = 0.5 * radius / geometry.half_track * np.array([-1.0, 1.0])
    turns = any(response.turning)
    if turns:
        omega = np.asarray(geometry.body_velocity(*speed.T)[1])
        torque -= moment * (response.turning[0] * omega * period)[:, None]
    # The robot may turn round at full speed ahead, where v omega counts within the level's time.
    drift = _drift(speed, period, response, geometry) if turns else 0.0
    for _ in range(PASSES):
        rising, whole = _frictions(found, moment, response, geometry)
        acting = torque - whole
        gained = own * acting + other * acting[:, ::-1] + drift
        # From the mean of a period to its end; the course is bent where a wheel turns round.
        acting = 0.5 * torque - rising
        rest = own * acting + other * acting[:, ::-1] + 0.5 * drift
        after = np.cumsum(gained, axis=0)
        level = _centred_mean(speed - after + rest, side) + after
        found = WheelSpeeds.risen(level, gained, moves, period, own * coulomb)
        again = coulomb.any() and found.turn_round()
        if not (again or (turns and found.of_yaw(geometry, response).turn_round())):
            break
    return found


def _frictions(
    found: WheelSpeeds, moment: Array, response: TorqueResponse, geometry: WheelGeometry
) -> tuple[Array, Array]:
    """Dry friction as torques of the wheels, N m s: under a weight that rises over a period, whole.

    Args:
        found: the wheels' speeds in n periods.
        moment: torques of the wheels that stand for a moment against turning of 1 N m, shape (2,).
        response: with the friction.
        geometry: of the wheels.

    Returns:
        Shapes (n, 2), or zeros of (1, 2) where there is none.
    """
    rising, whole = np.zeros((1, 2)), np.zeros((1, 2))
    coulomb = np.array(response.friction[2:])
    if coulomb.any():
        first, second = found.sign_integrals()
        rising, whole = coulomb * first, coulomb * (first + second)
    if any(response.turning):
        floor = moment * response.turning[1]
        first, second = found.of_yaw(geometry, response).sign_integrals()
        rising, whole = rising + floor * first, whole + floor * (first + second)
    return rising, whole


def _drift(speed: Array, period: Array, response: TorqueResponse, geometry: WheelGeometry) -> Array:
    """What a centre of mass off the axle adds to the wheels' speeds in a period, rad/s, (n, 2)."""
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
        begin: at the beginning of a period.
        end: at its end.
        middle: mean of both.
        change: what friction takes from the acceleration times the time when a wheel turns
            forward, rad/s; as much is added when it turns backward. It bends the course of the
            speed where that is 0.
        period: s, shape (n,).
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
        period: Array,
        friction: Array | float,
    ) -> WheelSpeeds:
        """Course of the speeds that rise evenly over each period.

        Args:
            end: at the end of the periods, rad/s, shape (n, 2).
            gained: in each period, by all torques, rad/s, shape (n, 2).
            moves: whether the wheels move at all, shape (n, 2).
            period: s, shape (n,).
            friction: Coulomb friction as an acceleration, rad/s^2.
        """
        end, gained = moves * end, moves * gained
        change = np.broadcast_to(friction, end.shape) * period[:, None]
        return cls(end - gained, end, end - 0.5 * gained, change, period)

    def of_yaw(self, geometry: WheelGeometry, response: TorqueResponse) -> WheelSpeeds:
        """The same of the yaw rate, rad/s, in place of the wheels' speeds; shapes (n, 1)."""
        begin, end, middle = (
            np.reshape(np.asarray(geometry.body_velocity(*speed.T)[1]), (-1, 1))
            for speed in (self.begin, self.end, self.middle)
        )
        radius = 0.5 * (geometry.left_radius + geometry.right_radius)
        # 1 / I_e = -r K8 / b.
        friction = -radius * response.k8 / geometry.half_track * response.turning[1]
        return WheelSpeeds(begin, end, middle, friction * self.period[:, None], self.period)

    def beside(self, other: WheelSpeeds) -> WheelSpeeds:
        """These and others of the same periods, as further columns."""
        begin, end, middle, change = (
            np.hstack((getattr(self, name), getattr(other, name)))
            for name in ("begin", "end", "middle", "change")
        )
        return WheelSpeeds(begin, end, middle, change, self.period)

    def turn_round(self) -> bool:
        """Whether any does within a period."""
        return bool((self.begin * self.end < 0.0).any())

    def sign_integrals(self) -> tuple[Array, Array]:
        """Of the signs, under a weight that rises over a period to 1 and one that falls, s."""
        before, after = np.sign(self.begin), np.sign(self.end)
        turns = before * after < 0.0
        period = self.period[:, None]
        if not turns.any():
            both = 0.5 * np.sign(self.middle) * period
            return both, both
        # Before the wheel turns round friction adds to the torque, after it takes from it: B is
        # (d + f) s and E is (d - f) (1 - s). Without d, 2 f s^2 - (B + E + 2 f) s + B = 0.
        start = np.abs(self.begin)
        size = start + np.abs(self.end) + 2.0 * self.change
        root = np.sqrt(np.maximum(np.square(size) - 8.0 * self.change * start, 0.0))
        share = np.where(turns, 2.0 * start / np.where(turns, size + root, 1.0), 0.0)
        before = np.where(turns, before, np.sign(self.middle))
        after = np.where(turns, after, before)
        rising = 0.5 * (before * share**2 + after * (1.0 - share**2))
        falling = before * (share - 0.5 * share**2) + 0.5 * after * (1.0 - share) ** 2
        return rising * period, falling * period


def _centred_mean(values: Array, side: int) -> Array:
    """Means over as many rows on either side, shape (n, m); at the ends of what is there."""
    count = len(values)
    # Sums up to each row, with the first and the last repeated beyond the ends.
    sums = np.empty((count + 2 * side + 1, values.shape[1]))
    sums[: side + 1] = 0.0
    np.cumsum(values, axis=0, out=sums[side + 1 : side + 1 + count])
    sums[side + 1 + count :] = sums[side + count]
    mean: Array = (sums[2 * side + 1 :] - sums[:count]) / _rows_near(count, side)
    return mean


@lru_cache(maxsize=64)
def _rows_near(count: int, side: int) -> Array:
    """How many of `count` rows lie within `side` of each, shape (count, 1)."""
    index = np.arange(count)
    near = np.minimum(index + side + 1, count) - np.maximum(index - side, 0)
    return near[:, None].astype(float)
