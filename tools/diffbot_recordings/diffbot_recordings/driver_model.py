# SPDX-License-Identifier: Apache-2.0
"""What a driver makes of a command before the axis follows it: a dead band, a power law, ramps.

    u -> dead band or power law -> ramp -> s_inertia dv/dt + s_drag v = c(t - d)

A ramp is a limit of acceleration, of the driver's own or of a smoother on the way to it;
docs/theory/velocity_robots.md#ramps.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from diffbot_description.dead_band import DeadBandKind, passed_of
from diffbot_recordings.first_order import Array, AxisSegment
from diffbot_recordings.sent_commands import SentCommands


class RampLaw(str, Enum):
    """How the limits of the two axes act together."""

    OWN = "each axis has its own limit"
    SCALED = "both axes are slowed down alike, so that they arrive at once"
    WHEELS = "each wheel has the limit"


class Parameter(str, Enum):
    """Parameter of a driver that a search may vary; limits vary by their logarithm."""

    EXPONENT = "exponent"
    BAND = "dead band"
    LIMIT = "acceleration limit"
    SPEEDING = "limit of speeding up"
    BRAKING = "limit of braking"
    OTHER = "acceleration limit of the other axis"


@dataclass(frozen=True)
class Ramp:
    """Limits of the change of a command, in its unit per second.

    Attributes:
        speeding: While its size grows, > 0.
        braking: While its size falls, > 0.
        other: Limit of the other axis, for laws that couple both; NaN: none.
        before_band: Whether the ramp comes before the dead band, as a smoother's does.
    """

    speeding: float
    braking: float
    other: float = math.nan
    law: RampLaw = RampLaw.OWN
    before_band: bool = False

    @property
    def symmetric(self) -> bool:
        """Whether one limit holds for both."""
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

    def with_values(self, parameters: Sequence[Parameter], values: Sequence[float]) -> DriverModel:
        """Return the driver with other values of some parameters."""
        exponent, band, ramp = self.exponent, self.dead_band, self.ramp
        for parameter, value in zip(parameters, values, strict=True):
            if parameter is Parameter.EXPONENT:
                exponent = float(value)
            elif parameter is Parameter.BAND:
                band = float(value)
            elif ramp is not None:
                limit = math.exp(float(value))
                if parameter is Parameter.LIMIT:
                    ramp = replace(ramp, speeding=limit, braking=limit)
                elif parameter is Parameter.SPEEDING:
                    ramp = replace(ramp, speeding=limit)
                elif parameter is Parameter.BRAKING:
                    ramp = replace(ramp, braking=limit)
                else:
                    ramp = replace(ramp, other=limit)
        return DriverModel(exponent, band, self.kind, ramp)

    def values(self, parameters: Sequence[Parameter]) -> tuple[float, ...]:
        """Return the values of some parameters, as a search varies them."""
        return tuple(self._value(parameter) for parameter in parameters)

    def _value(self, parameter: Parameter) -> float:
        if parameter is Parameter.EXPONENT:
            return self.exponent
        if parameter is Parameter.BAND:
            return self.dead_band
        if self.ramp is None:
            raise ValueError(f"{parameter.value}: the driver has no ramp")
        if parameter is Parameter.BRAKING:
            return math.log(self.ramp.braking)
        if parameter is Parameter.OTHER:
            return math.log(self.ramp.other)
        return math.log(self.ramp.speeding)

    def acting(self, segment: AxisSegment) -> AxisSegment:
        """Return a segment with the commands that act."""
        if self.ramp is None:
            return segment if self._is_static_identity else segment.acting(self._passed)
        if self.ramp.before_band:
            ramped = _ramped(segment, self.ramp)
            return ramped if self._is_static_identity else ramped.acting(self._passed)
        return _ramped(
            segment if self._is_static_identity else segment.acting(self._passed), self.ramp
        )

    @property
    def _is_static_identity(self) -> bool:
        return self.exponent == 1.0 and self.dead_band == 0.0

    def _passed(self, command: Array) -> Array:
        if self.dead_band != 0.0:
            return passed_of(command, self.dead_band, self.kind)
        return power_law(command, self.exponent)


def power_law(command: Array, exponent: float) -> Array:
    """Return sign(u) |u|^p, shape (n,)."""
    return command if exponent == 1.0 else np.sign(command) * np.abs(command) ** exponent


def _ramped(segment: AxisSegment, ramp: Ramp) -> AxisSegment:
    """Return a segment whose commands are means over each period of the limited ones."""
    period, count = segment.period, len(segment.velocity)
    own, other = _sent(segment), segment.beside
    if ramp.law is RampLaw.OWN or other is None:
        command = _means(*_ramp(own, ramp.speeding, ramp.braking), period, count)
    elif ramp.law is RampLaw.WHEELS:
        command = _wheels(own, other, ramp, period, count)
    else:
        command = _means(*_scaled(own, other, ramp), period, count)
    return replace(segment, command=command, sent=None)


def _sent(segment: AxisSegment) -> SentCommands:
    if segment.sent is not None:
        return segment.sent
    times = segment.period * np.arange(len(segment.command), dtype=np.float64)
    return SentCommands(times, segment.command)


def _steps(sent: SentCommands) -> tuple[list[float], list[float]]:
    """Return the times from which on commands are others, s, and these commands."""
    changes = np.concatenate(([True], np.diff(sent.values) != 0.0))
    return sent.times[changes].tolist(), sent.values[changes].tolist()


def _ramp(sent: SentCommands, speeding: float, braking: float) -> tuple[list[float], list[float]]:
    """Return corners of the limited command: times, s, and values."""
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
            # It brakes to rest first.
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


def _scaled(own: SentCommands, other: SentCommands, ramp: Ramp) -> tuple[list[float], list[float]]:
    """Return corners of a command that is slowed down with that of the other axis."""
    merged = np.union1d(own.times, other.times)
    first, second = (
        each.values[np.maximum(np.searchsorted(each.times, merged, side="right") - 1, 0)]
        for each in (own, other)
    )
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
    """Return means of a command of which each wheel's share is limited."""
    merged = np.union1d(own.times, other.times)
    first, second = (
        each.values[np.maximum(np.searchsorted(each.times, merged, side="right") - 1, 0)]
        for each in (own, other)
    )
    lever = ramp.speeding / ramp.other
    left, right = (
        _means(
            *_ramp(
                SentCommands(merged, first + side * lever * second), ramp.speeding, ramp.braking
            ),
            period,
            count,
        )
        for side in (-1.0, 1.0)
    )
    return 0.5 * (left + right)


def _means(corners: list[float], values: list[float], period: float, count: int) -> Array:
    """Return means over periods, from time 0 on, of a course of straight lines, shape (count,)."""
    end = max(corners[-1], period * count) + 1.0
    at = np.array([min(corners[0], 0.0) - 1.0, *corners, end])
    height = np.array([values[0], *values, values[-1]])
    lasts = np.diff(at)
    slope = np.diff(height) / np.where(lasts > 0.0, lasts, 1.0)
    passed = np.concatenate(([0.0], np.cumsum(0.5 * lasts * (height[1:] + height[:-1]))))
    knots = np.float64(period) * np.arange(count + 1)
    piece = np.searchsorted(at, knots, side="right") - 1
    since = knots - at[piece]
    until = passed[piece] + since * (height[piece] + 0.5 * since * slope[piece])
    means: Array = np.diff(until) / period
    return means
