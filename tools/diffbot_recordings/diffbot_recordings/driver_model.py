# SPDX-License-Identifier: Apache-2.0
"""What a driver or smoother makes of a command.

    u -> dead band or power law -> ramp -> s_inertia dv/dt + s_drag v = c(t - d)

See docs/theory/velocity_robots.md#ramps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from diffbot_description.command_ramp import RampCoupling
from diffbot_description.dead_band import DeadBandKind, passed_of
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.first_order import Array
from diffbot_recordings.sent_commands import SentCommands


class DriverParameter(str, Enum):
    """Parameter of a driver that a search may vary; limits vary by their logarithm."""

    EXPONENT = "exponent"
    BAND = "dead band"
    LIMIT = "acceleration limit"
    SPEEDING = "limit of speeding up"
    BRAKING = "limit of braking"
    OTHER = "acceleration limit of the other axis"


@dataclass(frozen=True)
class Ramp:
    """Limits of the change of a command, > 0, in its unit per second.

    Attributes:
        speeding, braking: While its size grows, and falls.
        other: Limit of the other axis, for laws that couple both; NaN: none.
        before_band: Whether the ramp comes before the dead band, as a smoother's does.
    """

    speeding: float
    braking: float
    other: float = math.nan
    law: RampCoupling = RampCoupling.OWN
    before_band: bool = False

    @property
    def symmetric(self) -> bool:
        return self.speeding == self.braking


@dataclass(frozen=True)
class DriverModel:
    """Driver of one axis.

    Attributes:
        exponent: p of the power law sign(u) |u|^p; 1: none.
        dead_band: In the command's unit; 0: none.
    """

    exponent: float = 1.0
    dead_band: float = 0.0
    kind: DeadBandKind = DeadBandKind.OFFSET
    ramp: Ramp | None = None

    def with_values(
        self, parameters: Sequence[DriverParameter], values: Sequence[float]
    ) -> DriverModel:
        exponent, band, ramp = self.exponent, self.dead_band, self.ramp
        for parameter, value in zip(parameters, values, strict=True):
            if parameter is DriverParameter.EXPONENT:
                exponent = float(value)
            elif parameter is DriverParameter.BAND:
                band = float(value)
            elif ramp is not None:
                limit = math.exp(float(value))
                if parameter is DriverParameter.LIMIT:
                    ramp = replace(ramp, speeding=limit, braking=limit)
                elif parameter is DriverParameter.SPEEDING:
                    ramp = replace(ramp, speeding=limit)
                elif parameter is DriverParameter.BRAKING:
                    ramp = replace(ramp, braking=limit)
                else:
                    ramp = replace(ramp, other=limit)
        return DriverModel(exponent, band, self.kind, ramp)

    def values(self, parameters: Sequence[DriverParameter]) -> tuple[float, ...]:
        """Return the values of some parameters, as a search varies them."""
        return tuple(self._value(parameter) for parameter in parameters)

    def _value(self, parameter: DriverParameter) -> float:
        if parameter is DriverParameter.EXPONENT:
            return self.exponent
        if parameter is DriverParameter.BAND:
            return self.dead_band
        if self.ramp is None:
            raise ValueError(f"{parameter.value}: the driver has no ramp")
        if parameter is DriverParameter.BRAKING:
            return math.log(self.ramp.braking)
        if parameter is DriverParameter.OTHER:
            return math.log(self.ramp.other)
        return math.log(self.ramp.speeding)

    def acting(self, segment: AxisSegment) -> AxisSegment:
        ramp = self.ramp
        if ramp is None or not ramp.before_band:
            if self.exponent != 1.0 or self.dead_band != 0.0:
                segment = segment.acting(self._passed)
            return segment if ramp is None else _ramped(segment, ramp, 0.0, self.kind)
        return _ramped(segment, ramp, self.dead_band, self.kind)

    def _passed(self, command: Array) -> Array:
        if self.dead_band != 0.0:
            return passed_of(command, self.dead_band, self.kind)
        return power_law(command, self.exponent)


def power_law(command: Array, exponent: float) -> Array:
    """Return sign(u) |u|^p, shape (n,)."""
    return command if exponent == 1.0 else np.sign(command) * np.abs(command) ** exponent


def _ramped(segment: AxisSegment, ramp: Ramp, band: float, kind: DeadBandKind) -> AxisSegment:
    """Return a segment of mean commands after ramp and band; a ramp of wheels is the last."""
    period, count = segment.period, len(segment.velocity)
    own, other = _sent(segment), segment.beside
    if ramp.law is RampCoupling.WHEELS and other is not None:
        command = _wheels(own, other, ramp, period, count)
    else:
        if ramp.law is RampCoupling.OWN or other is None:
            course = _ramp(own, ramp.speeding, ramp.braking)
        else:
            course = _scaled(own, other, ramp)
        command = _means(*_passed_course(*course, band, kind), period, count)
    return replace(segment, command=command, sent=None)


def _passed_course(
    corners: list[float], values: list[float], band: float, kind: DeadBandKind
) -> tuple[Array, Array, Array]:
    """Return times (m + 1,), s, and values (m,) at both ends of lines that a dead band leaves."""
    # A command that never changes has one corner.
    at, height = np.array([corners[0] - 1.0, *corners]), np.array([values[0], *values])
    if band != 0.0:
        size = abs(band)
        begin, change = height[:-1], np.diff(height)
        cuts = []
        for level in (-size, size):
            inside = (begin - level) * (height[1:] - level) < 0.0
            fraction = (level - begin[inside]) / change[inside]
            cuts.append(at[:-1][inside] + fraction * np.diff(at)[inside])
        more = np.unique(np.concatenate((at, *cuts)))
        height = np.interp(more, at, height)
        at = more
    begin, end = height[:-1], height[1:]
    if band != 0.0:
        middle = 0.5 * (begin + end)
        moves = np.abs(middle) > abs(band) if kind is DeadBandKind.THRESHOLD or band > 0.0 else True
        lost = 0.0 if kind is DeadBandKind.THRESHOLD else band * np.sign(middle)
        begin, end = np.where(moves, begin - lost, 0.0), np.where(moves, end - lost, 0.0)
    return at, begin, end


def _sent(segment: AxisSegment) -> SentCommands:
    if segment.sent is not None:
        return segment.sent
    times = np.float64(segment.period) * np.arange(len(segment.command))
    return SentCommands(times, segment.command)


def _steps(sent: SentCommands) -> tuple[list[float], list[float]]:
    changes = np.concatenate(([True], np.diff(sent.values) != 0.0))
    return sent.times[changes].tolist(), sent.values[changes].tolist()


def _ramp(sent: SentCommands, speeding: float, braking: float) -> tuple[list[float], list[float]]:
    times, targets = _steps(sent)
    now = targets[0]
    at, corners, values = times[0], [times[0]], [now]
    ends = [*times[2:], math.inf]
    # Without a change there is an end, but no begin.
    for begin, end, target in zip(times[1:], ends, targets[1:], strict=False):
        at = begin
        if corners[-1] < at:
            corners.append(at)
            values.append(now)
        if now != 0.0 and (now > 0.0) != (target > 0.0):
            at = begin + abs(now) / braking
            if at >= end:
                now -= math.copysign(braking * (end - begin), now)
                continue
            now = 0.0
            corners.append(at)
            values.append(now)
        change = target - now
        if change == 0.0:
            continue
        limit = speeding if abs(target) > abs(now) else braking
        done = at + abs(change) / limit
        if done > end:
            now += math.copysign(limit * (end - at), change)
            continue
        now = target
        corners.append(done)
        values.append(now)
    return corners, values


def _together(own: SentCommands, other: SentCommands) -> tuple[Array, Array, Array]:
    """Return all times of two series of commands, s, and the values of both there, (n,) each."""
    merged: Array = np.union1d(own.times, other.times)
    first, second = (
        each.values[np.maximum(np.searchsorted(each.times, merged, side="right") - 1, 0)]
        for each in (own, other)
    )
    return merged, first, second


def _scaled(own: SentCommands, other: SentCommands, ramp: Ramp) -> tuple[list[float], list[float]]:
    merged, first, second = _together(own, other)
    changes = np.concatenate(([True], (np.diff(first) != 0.0) | (np.diff(second) != 0.0)))
    times = merged[changes].tolist()
    targets = list(zip(first[changes].tolist(), second[changes].tolist(), strict=True))
    now, beside = targets[0]
    corners, values = [times[0]], [now]
    ends = [*times[2:], math.inf]
    for begin, end, (target, aside) in zip(times[1:], ends, targets[1:], strict=False):
        if corners[-1] < begin:
            corners.append(begin)
            values.append(now)
        change, sideways = target - now, aside - beside
        limit = ramp.speeding if abs(target) > abs(now) else ramp.braking
        lasts = max(abs(change) / limit, abs(sideways) / ramp.other)
        if lasts == 0.0:
            continue
        fraction = min((end - begin) / lasts, 1.0)
        now, beside = now + fraction * change, beside + fraction * sideways
        if fraction == 1.0:
            now, beside = target, aside
            corners.append(begin + lasts)
            values.append(now)
    return corners, values


def _wheels(own: SentCommands, other: SentCommands, ramp: Ramp, period: float, count: int) -> Array:
    merged, first, second = _together(own, other)
    lever = ramp.speeding / ramp.other
    means = []
    for side in (-1.0, 1.0):
        rim: Array = first + side * lever * second
        course = _ramp(SentCommands(merged, rim), ramp.speeding, ramp.braking)
        lines = _passed_course(*course, 0.0, DeadBandKind.OFFSET)
        means.append(_means(*lines, period, count))
    left, right = means
    return 0.5 * (left + right)


def _means(at: Array, begin: Array, end: Array, period: float, count: int) -> Array:
    """Return means over periods of m lines between times `at`, (m + 1,), s, shape (count,)."""
    first, last = min(float(at[0]), 0.0) - 1.0, max(float(at[-1]), period * count) + 1.0
    ends = (begin[0], end[-1]) if len(begin) else (0.0, 0.0)
    at = np.concatenate(([first], at, [last]))
    begin, end = (np.concatenate(([ends[0]], each, [ends[1]])) for each in (begin, end))
    lasts = np.diff(at)
    slope = (end - begin) / np.where(lasts > 0.0, lasts, 1.0)
    passed = np.concatenate(([0.0], np.cumsum(0.5 * lasts * (begin + end))))
    knots = np.float64(period) * np.arange(count + 1)
    piece = np.repeat(np.arange(len(lasts)), np.diff(np.searchsorted(knots, at)))
    since = knots - at[piece]
    until = passed[piece] + since * (begin[piece] + 0.5 * since * slope[piece])
    means: Array = np.diff(until) / period
    return means
