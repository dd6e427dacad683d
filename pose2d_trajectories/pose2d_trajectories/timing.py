# SPDX-License-Identifier: Apache-2.0
"""Time laws: trajectories from paths, within limits of speed and acceleration."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from itertools import accumulate
from numbers import Integral
from typing import NamedTuple

from arc_odometry import Pose
from pose2d_trajectories.paths import (
    MAX_SLOPE,
    ArcPath,
    Corner,
    Path,
    step,
    step_integral,
    step_slope,
)
from pose2d_trajectories.reference import Reference, Trajectory, positive, zero_or_positive

# Defaults of trajectories from rest to rest.
SPEED = 0.3  # m/s
ACCELERATION = 0.5  # m/s^2
TURN_RATE = 1.0  # rad/s
TURN_ACCELERATION = 2.0  # rad/s^2

UNITS = {
    "linear_velocity": "m/s",
    "angular_velocity": "rad/s",
    "linear_acceleration": "m/s^2",
    "angular_acceleration": "rad/s^2",
}


@dataclass(frozen=True)
class TrajectoryLimits:
    """Limits of a trajectory, > 0, else a ValueError; math.inf: no limit.

    Of |v|, m/s, |omega|, rad/s, |dv/dt|, m/s^2, and |domega/dt|, rad/s^2.

    Example:
        >>> TrajectoryLimits(linear_velocity=0.5).within(0.3, acceleration=0.2).linear_velocity
        0.3
    """

    linear_velocity: float = math.inf
    angular_velocity: float = math.inf
    linear_acceleration: float = math.inf
    angular_acceleration: float = math.inf

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value != math.inf:
                positive(f"limit of {field.name}", value, UNITS[field.name])

    def within(
        self,
        speed: float,
        acceleration: float,
        turn_rate: float = TURN_RATE,
        turn_acceleration: float = TURN_ACCELERATION,
    ) -> TrajectoryLimits:
        """Return the limits reduced to the given values, > 0, where these are smaller."""
        return TrajectoryLimits(
            min(self.linear_velocity, positive("speed", speed, "m/s")),
            min(self.angular_velocity, positive("turn_rate", turn_rate, "rad/s")),
            min(self.linear_acceleration, positive("acceleration", acceleration, "m/s^2")),
            min(
                self.angular_acceleration,
                positive("turn_acceleration", turn_acceleration, "rad/s^2"),
            ),
        )


class PathParameter(NamedTuple):
    """The path's parameter p at one time, and its first and second time derivatives."""

    p: float
    dp: float
    ddp: float


def _ramp(start: float, end: float, time: float, t: float) -> PathParameter:
    """Return the parameter t s after the beginning of a ramp between two rates in `time` s."""
    u, change = t / time, end - start
    return PathParameter(
        start * t + change * time * step_integral(u),
        start + change * step(u),
        change / time * step_slope(u),
    )


@dataclass(frozen=True)
class RampLaw:
    """A constant rate with smooth ramps at both ends; p has the unit of the path's parameter.

    Attributes:
        total: p at the end, > 0; math.inf: endless.
        rate: Rate of p between the ramps, per s, > 0.
        ramp_up: Time from start_rate (at t = 0) to rate, s, >= 0.
        ramp_down: Time from rate to end_rate, s, >= 0.
    """

    total: float
    rate: float
    ramp_up: float = 0.0
    ramp_down: float = 0.0
    start_rate: float = 0.0
    end_rate: float = 0.0

    @classmethod
    def endless(cls, rate: float, ramp_up: float = 0.0) -> RampLaw:
        """Return an endless law, from rest in ramp_up s; 0: at full rate from the start."""
        return cls(math.inf, rate, ramp_up, start_rate=0.0 if ramp_up else rate)

    @classmethod
    def timed(cls, total: float, rate: float, ramp_up: float, ramp_down: float) -> RampLaw:
        """Return a law with given ramp times to rest at `total`; slower on short paths."""
        rate = min(rate, 2.0 * total / (ramp_up + ramp_down))
        return cls(total, rate, ramp_up, ramp_down, start_rate=0.0 if ramp_up else rate)

    @classmethod
    def between(
        cls, total: float, start: float, rate: float, end: float, acceleration: float
    ) -> RampLaw:
        """Return a law between two rates with ramps whose largest slope is the acceleration.

        A ramp from a to b needs a path of (a + b) / 2 times MAX_SLOPE |b - a| / acceleration. So
        b^2 - a^2 grows with the path as in a trapezoidal profile with a smaller acceleration.

        Args:
            total: Path, > 0; long enough to get from start to end.
            rate: Maximum rate, >= start and end; not reached on short paths.
        """
        square = 0.5 * (start * start + end * end) + acceleration / MAX_SLOPE * total
        peak = max(min(rate, math.sqrt(square)), start, end)
        up, down = (MAX_SLOPE * (peak - slow) / acceleration for slow in (start, end))
        return cls(total, peak, up, down, start, end)

    def slowed(self, factor: float) -> RampLaw:
        """Return the law with the same p and all rates scaled by `factor` (0 to 1)."""
        return RampLaw(
            self.total,
            self.rate * factor,
            self.ramp_up / factor,
            self.ramp_down / factor,
            self.start_rate * factor,
            self.end_rate * factor,
        )

    @property
    def duration(self) -> float:
        """Time until the end, s; math.inf for an endless law."""
        ramps = 0.5 * (
            (self.start_rate + self.rate) * self.ramp_up
            + (self.end_rate + self.rate) * self.ramp_down
        )
        # Rounding may make the rest between two ramps negative.
        return self.ramp_up + max(self.total - ramps, 0.0) / self.rate + self.ramp_down

    def at(self, t: float) -> PathParameter:
        """Return the parameter at time t, s; at rest before 0, at the end from `duration` on."""
        if t < 0.0:
            return PathParameter(0.0, 0.0, 0.0)
        rest = self.duration - t
        if rest <= 0.0:
            return PathParameter(self.total, self.end_rate, 0.0)
        if t < self.ramp_up:
            return _ramp(self.start_rate, self.rate, self.ramp_up, t)
        if rest < self.ramp_down:
            # From the end, which is reached exactly.
            p, dp, ddp = _ramp(self.end_rate, self.rate, self.ramp_down, rest)
            return PathParameter(self.total - p, dp, -ddp)
        path = 0.5 * (self.start_rate + self.rate) * self.ramp_up
        return PathParameter(path + self.rate * (t - self.ramp_up), self.rate, 0.0)


@dataclass(frozen=True)
class PathTrajectory:
    """A trajectory along a path by a time law; derivatives by the chain rule."""

    path: Path
    law: RampLaw

    @property
    def duration(self) -> float:
        """Time until the end, s; math.inf for an endless law."""
        return self.law.duration

    def at(self, t: float) -> Reference:
        """Return the reference at time t, s."""
        p, dp, ddp = self.law.at(t)
        x, y, theta, ds, dds, dtheta, ddtheta = self.path.at(p)
        return Reference(
            x,
            y,
            theta,
            ds * dp,
            dtheta * dp,
            dds * dp * dp + ds * ddp,
            ddtheta * dp * dp + dtheta * ddp,
        )


class Chain:
    """A sequence of trajectories; each begins when, where and as fast as the previous one ends."""

    def __init__(self, parts: Sequence[Trajectory]) -> None:
        self.parts = tuple(parts)
        *self._starts, self._duration = accumulate((part.duration for part in parts), initial=0.0)

    @property
    def duration(self) -> float:
        """Time until the end of the last part, s."""
        return self._duration

    def at(self, t: float) -> Reference:
        """Return the reference at time t, s."""
        if t >= self._duration:
            # Rounding may make the sum of the durations smaller.
            return self.parts[-1].at(self.parts[-1].duration)
        index = max(bisect_right(self._starts, t) - 1, 0)
        return self.parts[index].at(t - self._starts[index])


def corner_speed(corner: Corner, limits: TrajectoryLimits) -> float:
    """Return the largest constant speed, m/s, at which a corner keeps the limits."""
    return min(
        limits.linear_velocity,
        limits.angular_velocity / corner.max_curvature,
        math.sqrt(limits.angular_acceleration / corner.max_sharpness),
    )


def joint_speeds(pieces: Sequence[ArcPath | Corner], limits: TrajectoryLimits) -> list[float]:
    """Return the speeds at the ends of n pieces, m/s: n + 1 values, 0 at both ends.

    Corners have a constant speed. The usual two passes: in the forward pass no straight may gain,
    in the backward pass none may lose more speed than its length allows (see RampLaw.between).
    """
    gain = 2.0 * limits.linear_acceleration / MAX_SLOPE  # of the squared speed per m
    speeds = [0.0, *[limits.linear_velocity] * (len(pieces) - 1), 0.0]
    for index, piece in enumerate(pieces):
        if isinstance(piece, Corner):
            speed = min(speeds[index], speeds[index + 1], corner_speed(piece, limits))
            speeds[index] = speeds[index + 1] = speed
        else:
            reached = math.sqrt(speeds[index] ** 2 + gain * piece.length)
            speeds[index + 1] = min(speeds[index + 1], reached)
    for index in reversed(range(len(pieces))):
        piece = pieces[index]
        if isinstance(piece, Corner):
            speeds[index] = speeds[index + 1]
        else:
            reached = math.sqrt(speeds[index + 1] ** 2 + gain * piece.length)
            speeds[index] = min(speeds[index], reached)
    return speeds


def drive_through(pieces: Sequence[ArcPath | Corner], limits: TrajectoryLimits) -> Chain:
    """Return a trajectory from rest to rest without a stop, slower in corners if limits require it.

    The pieces are those of `rounded`, with a straight at each end; limits are finite.
    """
    speeds = joint_speeds(pieces, limits)
    parts = []
    for piece, start, end in zip(pieces, speeds, speeds[1:], strict=False):
        if isinstance(piece, Corner):
            law = RampLaw(piece.length, start, start_rate=start, end_rate=start)
        else:
            law = RampLaw.between(
                piece.length, start, limits.linear_velocity, end, limits.linear_acceleration
            )
        parts.append(PathTrajectory(piece, law))
    return Chain(parts)


class Route:
    """Straights, arcs and turns on the spot, each from rest to rest, within finite limits.

    Attributes:
        end: Pose at the end of what was added so far.
        parts: Parts added so far.
    """

    def __init__(self, limits: TrajectoryLimits, start: Pose = Pose(0.0, 0.0, 0.0)) -> None:  # noqa: B008
        self._limits = limits
        self.end = start
        self.parts: list[PathTrajectory] = []

    def drive(self, length: float = 0.0, turn: float = 0.0) -> None:
        """Add an arc of a length, m (negative: backwards), and a turn, rad."""
        limits, total = self._limits, abs(length) or abs(turn)
        path = ArcPath(self.end, length / total, turn / total, total)
        ds, dtheta = abs(path.ds), abs(path.dtheta)
        law = RampLaw.between(
            total,
            0.0,
            min(_fraction(limits.linear_velocity, ds), _fraction(limits.angular_velocity, dtheta)),
            0.0,
            min(
                _fraction(limits.linear_acceleration, ds),
                _fraction(limits.angular_acceleration, dtheta),
            ),
        )
        self.parts.append(PathTrajectory(path, law))
        self.end = Pose(*path.at(total)[:3])


SAMPLES = 4096  # number of intervals at which peaks are searched
# Local maxima that are refined, and iterations, for an error of 1e-12 of the value.
CANDIDATES = 8
ITERATIONS = 30
_GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)


class Peaks(NamedTuple):
    """Largest |v| in m/s, |omega| in rad/s, |dv| in m/s^2, |domega| in rad/s^2."""

    v: float
    omega: float
    dv: float
    domega: float

    def time_factor(self, limits: TrajectoryLimits) -> float:
        """Return the factor by which time may run faster within the limits; math.inf without any.

        With time scaled by f, velocities are f times and accelerations f^2 times as large.
        """
        shares = (
            _fraction(limits.linear_velocity, self.v),
            _fraction(limits.angular_velocity, self.omega),
            math.sqrt(_fraction(limits.linear_acceleration, self.dv)),
            math.sqrt(_fraction(limits.angular_acceleration, self.domega)),
        )
        return min(shares)


def _fraction(limit: float, peak: float) -> float:
    return limit / peak if peak > 0.0 else math.inf


def find_peaks(trajectory: Trajectory, start: float, end: float) -> Peaks:
    """Return the peaks between two times, s: from samples, refined by golden-section search.

    Those narrower than (end - start) / SAMPLES may be missed.
    """
    times = [start + (end - start) * k / SAMPLES for k in range(SAMPLES + 1)]
    samples = [trajectory.at(t) for t in times]
    return Peaks(*(_peak(trajectory, name, times, samples) for name in Peaks._fields))


def _peak(trajectory: Trajectory, name: str, times: list[float], samples: list[Reference]) -> float:
    values: list[float] = [abs(getattr(sample, name)) for sample in samples]
    last = len(values) - 1
    tops = [
        k
        for k in range(last + 1)
        if values[k] >= values[max(k - 1, 0)] and values[k] >= values[min(k + 1, last)]
    ]
    tops = sorted(tops, key=values.__getitem__, reverse=True)[:CANDIDATES]
    refined = (
        _golden(
            lambda t: abs(getattr(trajectory.at(t), name)),
            times[max(k - 1, 0)],
            times[min(k + 1, last)],
        )
        for k in tops
    )
    return max(max(values), *refined)


def _golden(function: Callable[[float], float], low: float, high: float) -> float:
    inner = [high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)]
    values = [function(t) for t in inner]
    for _ in range(ITERATIONS):
        if values[0] >= values[1]:
            high, inner[1], values[1] = inner[1], inner[0], values[0]
            inner[0] = high - _GOLDEN * (high - low)
            values[0] = function(inner[0])
        else:
            low, inner[0], values[0] = inner[0], inner[1], values[1]
            inner[1] = low + _GOLDEN * (high - low)
            values[1] = function(inner[1])
    return max(values)


def drive_laps(
    path: Path, rate: float, laps: int, ramp_up: float, ramp_down: float, limits: TrajectoryLimits
) -> PathTrajectory:
    """Return a trajectory along a closed path, slower than the rate if the limits require it.

    First the rate is reduced until a whole lap keeps the limits. If the ramps then exceed a limit,
    they are made as long as the acceleration limits require for the ramps alone. If path and ramp
    together still exceed a limit, everything is slowed down once more, by a factor of at least 0.7.

    Args:
        rate: Rate of the path's parameter, per s, > 0.
        laps: Number of laps, >= 1; 0: endless.
        ramp_up: Time from rest to the rate, s, which may be extended; 0: in motion from the start.
        ramp_down: Time from the rate to rest at the end, s, > 0, which may be extended.
    """
    if isinstance(laps, bool) or not isinstance(laps, Integral) or laps < 0:
        raise ValueError(f"laps = {laps!r}: must be a whole number >= 0; 0 drives for ever")
    up = zero_or_positive("ramp_up", ramp_up, "s")
    down = positive("ramp_down", ramp_down, "s")
    if limits == TrajectoryLimits():
        return PathTrajectory(path, _law(path, rate, laps, up, down))
    lap = find_peaks(PathTrajectory(path, RampLaw.endless(1.0)), 0.0, path.length)
    rate = min(rate, lap.time_factor(limits))
    law = _law(path, rate, laps, up, down)
    factor = _factor(PathTrajectory(path, law), limits)
    if factor > 1.0 - 1e-9:  # the ramps keep the limits, up to rounding
        return PathTrajectory(path, law.slowed(factor))
    # Time of a ramp per rate that the acceleration limits require.
    slowness = MAX_SLOPE * max(
        lap.v / limits.linear_acceleration, lap.omega / limits.angular_acceleration
    )
    if laps and slowness:
        # Higher rates would leave no path between such ramps.
        rate = min(rate, math.sqrt((1.0 if up else 2.0) * laps * path.length / slowness))
    shortest = rate * slowness
    law = _law(path, rate, laps, max(up, shortest) if up else 0.0, max(down, shortest))
    return PathTrajectory(path, law.slowed(_factor(PathTrajectory(path, law), limits)))


def _law(path: Path, rate: float, laps: int, up: float, down: float) -> RampLaw:
    if laps == 0:
        return RampLaw.endless(rate, up)
    return RampLaw.timed(laps * path.length, rate, up, down)


def _factor(trajectory: PathTrajectory, limits: TrajectoryLimits) -> float:
    """Return the factor, <= 1, by which time must slow down for the ramps to keep the limits."""
    law, end = trajectory.law, trajectory.duration
    ramps = []
    if law.ramp_up:
        ramps.append((0.0, law.ramp_up))
    if law.ramp_down:
        ramps.append((end - law.ramp_down, end))
    factors = [find_peaks(trajectory, *ramp).time_factor(limits) for ramp in ramps]
    return min([1.0, *factors])
