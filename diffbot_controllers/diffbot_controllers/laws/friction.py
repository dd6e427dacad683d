# SPDX-License-Identifier: Apache-2.0
"""Friction of the wheels and of the floor in a control law: feed-forward, breakaway, and rest.

The friction law itself is FrictionLaw of diffbot_description. A law adds to the torque of (5) or
(62), G^-1 (u' - f), what friction takes over the period that begins:

    tau = G^-1 (u' - f) + viscous w + s dry(w),    w the mean speed of the wheel in the period,

with s, from -1 to 1, where the wheel is to go. That is the way it turns, unless it is slow: then
it is the way that it is wanted to turn, which is smooth while the measured speed is noise about 0.
The moment with which the floor resists the turning of a robot on four wheels (skid steer) is added
in the same way, by the yaw rate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul

from arc_odometry import UNLIMITED_RIMS, RimLimit, Velocity, WheelGeometry
from arc_odometry.geometry import check_finite, check_limit, check_positive, within
from diffbot_description import DynamicParameters, FrictionLaw, Robot, Torque, wheel_friction
from diffbot_description.dynamics import NO_FRICTION, turning_resistance

Laws = tuple[FrictionLaw[float], FrictionLaw[float]]

# Speeds of a wheel's rim, m/s. Below SLOW it is to go where it is wanted to; friction is
# compensated in full from SMOOTH on, in proportion below: at a goal 0.3 mm away laws still want
# about 0.5 mm/s.
SLOW, SMOOTH = 0.02, 5e-4
# A wheel that is to start and stands gets more and more torque, so that friction that is larger
# than described does not hold it: its friction in START s, and at most MOST of it.
START, MOST = 0.5, 0.6
STILL = 1e-4  # m/s of the rim; a slower wheel stands
BREAK = 1.02  # of the static friction lets a wheel go
ITERATIONS = 20  # of the two wheels' friction


@dataclass(frozen=True)
class KnownWheels:
    """What a law may know of the wheels, besides K5..K8.

    Attributes:
        geometry: radii and separation.
        friction: laws of the wheels [left, right].
        torque: largest of a wheel, N m, > 0: the observer's noise is a share of it.
        counts: of the encoders, per revolution; 0: exact.
        delay: from a command to its torque, s, >= 0; predicted by the observer only.
        observer: whether the motion is observed; else it is as the State says.
        integral: whether what the observer cannot explain is made up for.
        limit: largest torque of a wheel that is commanded, N m, > 0; infinite: `torque`.
        rise: time that a law's torque takes from 0 to its limit at the least, s, >= 0; 0: none.
        turning: moment with which the floor resists turning, by the yaw rate, N m (skid steer).
        rims: how fast those of the wheels may move; tuning.py's laws keep to it.

    Raises:
        ValueError: a number is outside its range, the friction as of check_breakaway, or both
            wheels together could not turn the robot.
    """

    geometry: WheelGeometry
    friction: Laws
    torque: float
    counts: int = 0
    delay: float = 0.0
    observer: bool = True
    integral: bool = True
    limit: float = math.inf
    rise: float = 0.0
    turning: FrictionLaw[float] = NO_FRICTION
    rims: RimLimit = UNLIMITED_RIMS

    def __post_init__(self) -> None:
        check_positive("wheels", torque=self.torque)
        check_limit("wheels", limit=self.limit)
        check_finite("wheels", counts=self.counts, delay=self.delay, rise=self.rise)
        for name, value in (("counts", self.counts), ("delay", self.delay), ("rise", self.rise)):
            if value < 0.0:
                raise ValueError(f"wheels: {name} = {value}: must be >= 0")
        check_breakaway(self.friction, self.torque)
        if not self.turning_torque <= self.torque:
            raise ValueError(
                f"turning.coulomb = {self.turning.coulomb:g} N m takes {self.turning_torque:g} N m "
                f"of each wheel: must be <= {self.torque:g} N m, their largest torque, else the "
                "robot never turns; correct turning, or limits.torque, in the robot's YAML"
            )

    @classmethod
    def of(cls, robot: Robot, counts: int | None = None, delay: float = 0.0) -> KnownWheels:
        """As the robot's file describes them.

        Args:
            robot: the robot.
            counts: of its encoders; None: the robot's own.
            delay: from a command to its torque, s.
        """
        return cls(
            robot.geometry,
            wheel_friction(robot),
            robot.limits.torque,
            robot.encoder.counts if counts is None else counts,
            delay,
            turning=turning_resistance(robot),
            rims=robot.rim_limit,
        )

    @property
    def resolution(self) -> float:
        """Way of a wheel in one count, m; 0 with exact encoders."""
        radius = max(self.geometry.left_radius, self.geometry.right_radius)
        return radius * math.tau / self.counts if self.counts else 0.0

    @property
    def turning_torque(self) -> float:
        """What the floor takes of each wheel, at the least, while the robot turns, N m."""
        return self.torque_of_moment(self.turning.coulomb)

    def torque_of_moment(self, moment: float) -> float:
        """What a moment against turning takes of the wheel that bears more of it, N m, >= 0."""
        return max(map(abs, self.geometry.wheel_torque(0.0, moment)))

    @property
    def hold(self) -> bool:
        """Whether friction holds both wheels at rest."""
        return holds(self.friction)


def check_breakaway(laws: Laws, torque: float) -> None:
    """Refuse friction that no torque of the wheels could break away from.

    Made up for, it would be all torque for wheels that may turn freely.

    Args:
        laws: of the wheels.
        torque: largest of a wheel, N m.

    Raises:
        ValueError: names wheel, value and limit.
    """
    for side, law in zip(("left", "right"), laws, strict=True):
        most = max(law.breakaway(way) for way in (1.0, -1.0))
        if not most <= torque:
            raise ValueError(
                f"friction of the {side} wheel at rest = {most:g} N m: must be <= {torque:g} N m, "
                "the wheel's largest torque, else it never starts; correct static and coulomb "
                "friction, or limits.torque, in the robot's YAML"
            )


def holds(laws: Laws) -> bool:
    """Whether dry friction holds both wheels at rest."""
    return all(law.breakaway(way) > 0.0 for law in laws for way in (1.0, -1.0))


def are_none(laws: Sequence[FrictionLaw[float]]) -> bool:
    """Whether there is no friction at all."""
    return not any(law.viscous or law.coulomb or law.coulomb_backward or law.static for law in laws)


def without_static(laws: Laws) -> Laws:
    """The same with viscous and Coulomb friction only."""
    left, right = (FrictionLaw(law.viscous, law.coulomb) for law in laws)
    return left, right


def with_moment(torque: Torque, moment: float, geometry: WheelGeometry) -> Torque:
    """Torques of the wheels [left, right] and those of a moment besides, N m."""
    left, right = geometry.wheel_torque(0.0, moment)
    return torque[0] + left, torque[1] + right


def wheel_mobility(dynamics: DynamicParameters, geometry: WheelGeometry) -> tuple[Torque, Torque]:
    """Rows of the wheels' accelerations, rad/s^2, per torque [left, right], 1/(kg m^2)."""
    k7, k8 = dynamics.k7, dynamics.k8
    by_left = geometry.wheel_velocity(k7, k8)
    by_right = geometry.wheel_velocity(k7, -k8)
    return (by_left[0], by_right[0]), (by_left[1], by_right[1])


def turning_mobility(
    dynamics: DynamicParameters, geometry: WheelGeometry
) -> tuple[tuple[float, float, float], ...]:
    """wheel_mobility with a third row and column: yaw acceleration and moment; symmetric."""
    k8 = dynamics.k8
    (ll, lr), (rl, rr) = wheel_mobility(dynamics, geometry)
    pushed = dynamics.input_acceleration(geometry.wheel_torque(0.0, 1.0))
    left, right = geometry.wheel_velocity(*pushed)
    return (ll, lr, left), (rl, rr, right), (k8, -k8, pushed.omega)


@dataclass(frozen=True)
class PeriodFriction:
    """What friction did to the wheels over a period.

    Attributes:
        torque: mean that acted against each, N m.
        held: whether each stood at the end.
    """

    torque: tuple[float, ...]
    held: tuple[bool, ...]


def friction_over(
    laws: Sequence[FrictionLaw[float]],
    mobility: Sequence[Sequence[float]],
    speeds: Sequence[float],
    free: Sequence[float],
    dt: float,
) -> PeriodFriction:
    """Friction over a period, which may stop what moves, but not turn it round.

    Of the two wheels, or of these and the floor's moment against turning, whose speed is the yaw
    rate.

    Time stepping with the friction at the end of the period (Moreau 1988), by projected
    Gauss-Seidel iterations: exact for wheels that stay at rest and for those that go on.

    Args:
        laws: of each.
        mobility: of wheel_mobility or turning_mobility.
        speeds: at the beginning, rad/s.
        free: at the end, were there no friction, rad/s.
        dt: s.
    """
    if are_none(laws):
        return PeriodFriction((0.0,) * len(laws), (False,) * len(laws))
    bounds, torque = [], []
    for law, speed in zip(laws, speeds, strict=True):
        standing = abs(speed) < 1e-9
        forward, backward = (
            (law.breakaway(way) if standing else law.dry(speed, way)) for way in (1.0, -1.0)
        )
        drag = law.viscous * speed
        bounds.append((drag - backward, drag + forward))
        torque.append(drag if standing else drag + (forward if speed > 0.0 else -backward))
    for _ in range(ITERATIONS):
        change = 0.0
        for i, row in enumerate(mobility):
            gain = dt * row[i]
            end = free[i] - dt * sum(map(mul, row, torque))
            new = max(bounds[i][0], min(bounds[i][1], torque[i] + end / gain))
            change = max(change, abs(new - torque[i]) * gain)
            torque[i] = new
        if change < 1e-9:
            break
    held = (low < t < high for (low, high), t in zip(bounds, torque, strict=True))
    return PeriodFriction(tuple(torque), tuple(held))


class FrictionFeedforward:
    """Adds to a law's torque what friction takes.

    Args:
        wheels: their geometry and friction.

    Attributes:
        laws: of their friction, [left, right]; they may be replaced between two updates.
    """

    def __init__(self, wheels: KnownWheels) -> None:
        self._geometry = wheels.geometry
        self._torque = wheels.torque
        self._turning = wheels.turning
        self.laws = wheels.friction
        self.reset()

    @property
    def is_needed(self) -> bool:
        """Whether the wheels have any friction."""
        return any(law.viscous > 0.0 or law.breakaway(1.0) > 0.0 for law in self.laws)

    def check(self, laws: Laws) -> None:
        """Refuse laws that may not take the place of the present ones, as of check_breakaway."""
        check_breakaway(laws, self._torque)

    def at_least(self, u: Velocity) -> float:
        """Dry friction of both wheels together that slows a robot down from a velocity on, N m."""
        if are_none(self.laws):
            return 0.0
        return sum(
            min(law.dry(speed, way) for way in (1.0, -1.0))
            for law, speed in zip(self.laws, self._geometry.wheel_velocity(*u), strict=True)
        )

    def reset(self) -> None:
        """Forget wheels that could not be started."""
        self._extra = [0.0, 0.0]

    def add(
        self, torque: Torque, u: Velocity, wanted: Velocity, acceleration: Velocity, dt: float
    ) -> Torque:
        """The torque with friction, [left, right], N m.

        Args:
            torque: of a robot without friction, N m.
            u: velocity now.
            wanted: velocity wanted, m/s and rad/s: where the robot is to go.
            acceleration: asked for over the period, m/s^2 and rad/s^2.
            dt: control period, s.
        """
        end = Velocity(u.v + acceleration.v * dt, u.omega + acceleration.omega * dt)
        left, right = self._wheels(torque, u, wanted, end, dt) if self.is_needed else torque
        if self._turning == NO_FRICTION:
            return left, right
        moment = self._moment(u.omega, end.omega, wanted.omega)
        return with_moment((left, right), moment, self._geometry)

    def _moment(self, now: float, aim: float, wish: float) -> float:
        """Moment that the floor takes: yaw rates now, at the end of the period, wanted, rad/s."""
        half_track, law = self._geometry.half_track, self._turning
        to = wish if abs(aim) * half_track < SLOW else aim
        share = within(to * half_track / SMOOTH, 1.0)
        mean = 0.5 * (now + aim)
        return law.viscous * mean + share * law.dry(mean, share)

    def _wheels(
        self, torque: Torque, u: Velocity, wanted: Velocity, end: Velocity, dt: float
    ) -> Torque:
        left, right = (
            self._wheel(side, torque[side], now, aim, wish, dt)
            for side, (now, aim, wish) in enumerate(
                zip(
                    self._geometry.wheel_velocity(*u),
                    self._geometry.wheel_velocity(*end),
                    self._geometry.wheel_velocity(*wanted),
                    strict=True,
                )
            )
        )
        return left, right

    def _wheel(
        self, side: int, torque: float, now: float, aim: float, wish: float, dt: float
    ) -> float:
        """Torque of one wheel: speeds now, at the end of the period and wanted, rad/s."""
        law = self.laws[side]
        radius = (self._geometry.left_radius, self._geometry.right_radius)[side]
        to = wish if abs(aim) * radius < SLOW else aim
        share = within(to * radius / SMOOTH, 1.0)
        mean = 0.5 * (now + aim)
        total = torque + law.viscous * mean + share * law.dry(mean, share)
        if abs(now) * radius > STILL or share == 0.0:
            self._extra[side] = 0.0
            return total
        # It stands and is to go: breakaway, and ever more where that was not enough.
        way = math.copysign(1.0, share)
        hold = law.breakaway(way)
        if self._extra[side] * way < 0.0:
            self._extra[side] = 0.0
        grown = self._extra[side] + share * hold * dt / START
        self._extra[side] = within(grown, MOST * hold)
        needed = abs(share) * BREAK * hold
        return way * max(way * total, needed) + self._extra[side]


# A robot that friction holds rests within this of its goal, m and rad, if its encoders count so
# finely, and leaves beyond LEAVE times as much.
ALONG, TURNED, LEAVE = 3e-4, 1e-3, 2.0
COUNTS = 0.75  # of a count, what it rests within at least


class Standstill:
    """Says when a robot at its goal may rest, without torque, held by its friction.

    A law that goes on correcting what friction hides from it would hunt round the goal for ever.

    Args:
        wheels: their geometry, friction and counts.

    Attributes:
        laws: of the friction; a robot without does not rest, it is held by its law.
        rests: whether it does.
    """

    def __init__(self, wheels: KnownWheels) -> None:
        self.laws = wheels.friction
        least = COUNTS * wheels.resolution
        self.along = max(ALONG, least)
        self.turned = max(TURNED, least / wheels.geometry.half_track)
        self.reset()

    def reset(self) -> None:
        """Forget that it rests."""
        self.rests = False

    def update(self, ahead: float, turn: float, u: Velocity, stop: Velocity) -> bool:
        """Whether the robot rests.

        Args:
            ahead: way to the goal along the robot's axis, m.
            turn: to the goal's heading, rad.
            u: velocity of the robot.
            stop: accelerations with which friction stops it, m/s^2 and rad/s^2, >= 0.
        """
        if not holds(self.laws) or stop.v <= 0.0 or stop.omega <= 0.0:
            self.rests = False
            return False
        factor = LEAVE if self.rests else 1.0
        # Where it would come to rest.
        ahead -= u.v * abs(u.v) / (2.0 * stop.v)
        turn -= u.omega * abs(u.omega) / (2.0 * stop.omega)
        self.rests = abs(ahead) <= factor * self.along and abs(turn) <= factor * self.turned
        return self.rests
