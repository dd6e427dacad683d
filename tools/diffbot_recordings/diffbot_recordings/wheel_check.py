# SPDX-License-Identifier: Apache-2.0
"""Find stuck encoders and efforts that are always 0, which a fit takes for another robot's.

Friction may hold a wheel, too: under less effort than usually turns it, or under no more than
breaks it away if it comes to rest and leaves again gradually, as a stuck reading does not.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from diffbot_ident.estimate import NORMAL_95, FrictionEstimate
from diffbot_ident.samples.wheel_speeds import turns
from diffbot_recordings.samples import EFFORTS, POSITIONS, SIDES, Array, Mask
from diffbot_recordings.segments import Segment
from diffbot_recordings.wheel_sources import WheelSources

# Stuck: the same angle for this time, s, while the other wheel turns by this, rad.
LASTS, OTHER_TURNS = 1.0, math.pi
# Quantile of efforts; share of the usual effort that counts as about as much.
QUANTILE, AS_MUCH = 0.9, 0.8
# Most effort of a wheel that friction holds, as a multiple of its Coulomb friction: static friction
# is up to twice as large, and other wheel and centre of mass push against it, as is only believed
# where the wheel is seen to come to rest and to leave. Time after which a wheel that breaks away is
# still slow, s, and how slow, as a share of its usual speed.
STATIC, BREAKS_AWAY, STARTS, SLOW = 2.0, 5.0, 0.05, 0.35


@dataclass(frozen=True)
class _KeptAngle:
    begin: float
    end: float
    angle: float
    other: float
    effort: float
    gradual: bool  # whether the wheel comes to rest and leaves as one that friction holds
    seen: bool  # whether it does both within the segment

    def stiction_explains(self, value: float, std: float) -> bool:
        """Whether Coulomb friction, N m, known to this standard deviation, may hold the wheel."""
        if self.seen:
            most = BREAKS_AWAY * (value + NORMAL_95 * std)
        else:
            most = STATIC * (value + NORMAL_95 * min(std, value))  # unknown: hardly any
        return self.gradual and self.effort <= most


class WheelCheck:
    """Checks the wheels while the segments of a recording pass on to the analysis."""

    def __init__(self, names: tuple[str, str] = POSITIONS) -> None:
        self._sources = WheelSources(names)
        self._first = math.nan
        self._efforts: tuple[str, str] = EFFORTS
        self._largest = [0.0, 0.0]
        self._turned = [0.0, 0.0]
        self._kept_angles: tuple[list[_KeptAngle], list[_KeptAngle]] = ([], [])
        # Effort with which each wheel turns, by segment.
        self._usual: tuple[list[float], list[float]] = ([], [])

    def watched(self, segments: Iterable[Segment]) -> Iterator[Segment]:
        for segment in segments:
            self._check(segment)
            yield segment

    def _check(self, segment: Segment) -> None:
        if math.isnan(self._first):
            self._first = float(segment.times[0])
            self._efforts = segment.efforts
        self._sources.check(segment, self._efforts)
        angles = segment.pair(POSITIONS)
        efforts = np.abs(segment.pair(self._efforts)).T
        path = np.abs(turns(angles))
        paths = [_Path(segment.times, path[:, i]) for i in range(2)]
        for i in range(2):
            self._largest[i] = max(self._largest[i], float(efforts[i].max()))
            self._turned[i] += float(path[:, i].sum())
            moving = path[:, i] > 0.0
            if moving.any():
                self._usual[i].append(float(np.quantile(efforts[i, 1:][moving], QUANTILE)))
            for a, b in _kept(segment.times, moving):
                other = float(path[a:b, 1 - i].sum())
                effort = float(np.quantile(efforts[i, a : b + 1], QUANTILE))
                if other > OTHER_TURNS and effort > 0.0:
                    begin, end = (segment.times[[a, b]] - self._first).tolist()
                    gradual = paths[i].moves and _is_gradual(paths[i], a, b)
                    seen = _is_seen(paths[1 - i], a, b)
                    kept = _KeptAngle(begin, end, float(angles[a, i]), other, effort, gradual, seen)
                    self._kept_angles[i].append(kept)

    def wrong(self, verified: bool, friction: FrictionEstimate | None = None) -> str | None:
        """Return the message about wheels that cannot be used, if any.

        `verified`: whether the model predicts all the same; `friction`: None: it is not known.
        """
        if (stuck := self.stuck(friction)) is not None or verified:
            return stuck
        return self.no_effort() or self._sources.alternating() or self._sources.identical()

    def stuck(self, friction: FrictionEstimate | None = None) -> str | None:
        """Return the message about a stuck encoder, if there is one."""
        for i, (side, other) in enumerate(zip(SIDES, reversed(SIDES), strict=True)):
            usual = float(np.median(self._usual[i])) if self._usual[i] else 0.0
            value, std = 0.0, math.inf
            if friction is not None:
                value = max(friction.values[2 + i], 0.0)
                std = math.sqrt(max(friction.variances[2 + i], 0.0))
            results = [
                each
                for each in self._kept_angles[i]
                if each.effort >= AS_MUCH * usual and not each.stiction_explains(value, std)
            ]
            if results:
                longest = max(results, key=lambda each: each.end - each.begin)
                return (
                    f"{POSITIONS[i]} stays at {longest.angle:.4g} rad from {longest.begin:.1f} "
                    f"to {longest.end:.1f} s, while the {other} wheel turns by "
                    f"{longest.other:.3g} rad under a {self._efforts[i]} of up to "
                    f"{longest.effort:.3g}: the {side} wheel's encoder sticks, or the wheel is "
                    "blocked; repair it and record again, or remove that part"
                )
        return None

    def no_effort(self) -> str | None:
        none = [i for i in range(2) if self._largest[i] == 0.0 and self._turned[i] > OTHER_TURNS]
        if not none:
            return None
        names = " and ".join(self._efforts[i] for i in none)
        turning = f"the {SIDES[none[0]]} wheel turns" if len(none) == 1 else "both wheels turn"
        return (
            f"{names}: always 0, while {turning}, so it is not the torque: choose the right "
            "column or topic (--columns, --joint-states, --effort-source commands)"
        )


class _Path:
    """How far a wheel turns over STARTS, from its path in each step, rad."""

    def __init__(self, times: Array, path: Array) -> None:
        self.last = len(path)
        self._within = max(2, math.ceil(STARTS * len(path) / float(times[-1] - times[0])))
        self._sum = np.concatenate(([0.0], np.cumsum(path)))
        windows = self._sum[self._within :] - self._sum[: -self._within]
        moving = windows[windows > 0.0]
        self.moves = len(moving) > 0
        self._slow = 0.0
        if self.moves:  # a window of as much motion may have a count more
            self._slow = SLOW * float(np.median(moving)) + float(path[path > 0.0].min())

    def is_slow_after(self, sample: int) -> bool:
        later = min(sample + self._within, len(self._sum) - 1)
        return bool(self._sum[later] - self._sum[sample] <= self._slow)

    def is_slow_before(self, sample: int) -> bool:
        return bool(self._sum[sample] - self._sum[max(sample - self._within, 0)] <= self._slow)


def _is_gradual(own: _Path, first: int, last: int) -> bool:
    """Whether a wheel comes to rest gradually at sample `first`, and leaves so at `last`.

    Where the segment begins or ends with the rest, nothing speaks against it.
    """
    stops = first == 0 or own.is_slow_before(first)
    return stops and (last == own.last or own.is_slow_after(last))


def _is_seen(other: _Path, first: int, last: int) -> bool:
    """Whether both ends of a rest are seen: where the segment ends, if the other wheel is slow."""
    begins = first > 0 or other.is_slow_after(0)
    return begins and (last < other.last or other.is_slow_before(last))


def _kept(times: Array, moving: Mask) -> list[tuple[int, int]]:
    """Return first and last index of each interval of LASTS or longer in which a wheel rests."""
    bounds = np.concatenate(([-1], np.flatnonzero(moving), [len(moving)]))
    pairs = zip((bounds[:-1] + 1).tolist(), bounds[1:].tolist(), strict=True)
    return [(a, b) for a, b in pairs if times[b] - times[a] >= LASTS]
