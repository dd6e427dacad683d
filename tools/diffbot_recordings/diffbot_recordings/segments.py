# SPDX-License-Identifier: Apache-2.0
"""Resample streams of samples into segments in which all channels share their instants.

Measured channels are interpolated linearly; a command is its mean over the period that follows.
"""

from __future__ import annotations

import math
from array import array
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_recordings.counter_wraps import continuous
from diffbot_recordings.samples import (
    COMMANDS,
    EFFORTS,
    POSITIONS,
    SET_BACK,
    TORQUE_COMMANDS,
    WHEELS,
    Array,
    Batch,
    Mask,
    RecordingError,
    SteadyRate,
    body_velocity,
    is_number,
    newest_by,
)
from diffbot_recordings.sent_commands import SentCommands

# Most resampled samples for each recorded one.
FINEST = 20
ENOUGH_SAMPLES = 200
# A turn is judged over AROUND before and after, s; up to FLICKER, rad, an encoder may flicker.
AROUND, FLICKER = 0.25, 0.05
# Tolerances for rounded stamps: of limits, and of instants as shares of a period.
LONGER, WITHIN = 1.01, 0.25
# Share of repeated samples above which a sensor is slower than its recording.
REPEATED = 0.3

Intervals = list[tuple[float, float]]
"""Begin and end of each interval, s, in the order of time."""


@dataclass(frozen=True)
class SegmentSettings:
    """Settings of the segmentation.

    Attributes:
        period: Period of a segment's samples, s; None: that of the slowest measured stream.
        gap: Longest time between two measured samples that is bridged, s; None: 3 periods, and at
            least 0.1 s (no minimum with `nearest`).
        hold: Longest time for which a command holds, s.
        shortest: Shorter segments are dropped, s, unless they have ENOUGH_SAMPLES samples.
        longest: A segment is cut after this time, s.
        still: Largest size that counts as no motion, by channel; empty: standstill is kept.
        rest: Longest standstill that is kept, s.
        uniform: Whether samples are equally spaced; else at the instants of the first stream.
        nearest: Whether measured streams take the sample nearest to an instant, for drivers that
            publish one reading in several topics.
    """

    period: float | None = None
    gap: float | None = None
    hold: float = 0.5
    shortest: float = 1.0
    longest: float = 60.0
    still: Mapping[str, float] = field(default_factory=dict)
    rest: float = 1.0
    uniform: bool = True
    nearest: bool = False


@dataclass(frozen=True)
class Segment:
    """An uninterrupted part of a recording.

    Attributes:
        times: Instants, shape (n,), s.
        period: Spacing (or median spacing) of the instants, s.
        channels: Values at these instants, shape (n,) each; a command's is its mean over the period
            that begins there.
        sent: Commands as they were sent; empty if the instants are not equally spaced.
    """

    times: Array
    period: float
    channels: Mapping[str, Array]
    run: str | None = None
    sent: Mapping[str, SentCommands] = field(default_factory=dict)

    def pair(self, names: tuple[str, str]) -> Array:
        """Return two channels, shape (n, 2)."""
        return np.column_stack([self.channels[name] for name in names])

    @property
    def efforts(self) -> tuple[str, str]:
        """Names of the torques of the wheels: as reported, or else as commanded."""
        return EFFORTS if {*EFFORTS} <= {*self.channels} else TORQUE_COMMANDS

    @property
    def duration(self) -> float:
        return float(self.times[-1] - self.times[0])


class Cause(Enum):
    """Why a part of a recording was left out, as a text for the user."""

    GAP = "samples missing"
    BACKWARDS = "time steps back"
    DOUBLED = "stamps that do not increase"
    NOT_FINITE = "values that are not finite, or 1e20 and more"
    NO_COMMAND = "no command known"
    STANDSTILL = "standstill"
    SHORT = "pieces too short"


class Exclusions:
    """Parts of a recording that were left out, by cause: seconds and counts."""

    def __init__(self) -> None:
        self.seconds: defaultdict[Cause, float] = defaultdict(float)
        self.counts: defaultdict[Cause, int] = defaultdict(int)

    def add(self, cause: Cause, seconds: float = 0.0, count: int = 1) -> None:
        if count:
            self.seconds[cause] += seconds
            self.counts[cause] += count

    def lines(self) -> list[str]:
        """Return one line for each cause, the one that cost most time first."""
        result = sorted(self.counts, key=lambda cause: -self.seconds[cause])
        return [
            f"{cause.value}: {self.counts[cause]} ×"
            + (f", {self.seconds[cause]:.1f} s" if self.seconds[cause] else "")
            for cause in result
        ]


class Segmenter:
    """Makes segments from blocks.

    Attributes:
        excluded: What was left out so far.
        period: Period of the segments, s; NaN before it is known.
        seconds: Recording time so far, without gaps, s.
        notes: What was changed in the samples, for people.
        two_clocks: Which channels have no time in common with others; empty: none.
    """

    def __init__(self, settings: SegmentSettings = SegmentSettings()) -> None:
        self._settings = settings
        self._streams: dict[tuple[str, ...], _Stream] = {}
        self.excluded = Exclusions()
        self.period = np.nan
        self.seconds = 0.0
        self.notes: list[str] = []
        self.two_clocks = ""
        self._optional: frozenset[str] = frozenset()
        self._run: str | None = None
        self._rate = SteadyRate()

    def segments(
        self, batches: Iterable[Batch], channels: Iterable[str], optional: Iterable[str] = ()
    ) -> Iterator[Segment]:
        """Yield the segments, each time the recording ends or its clock was set back.

        Args:
            channels: Channels that segments must have; others are ignored.
            optional: Channels among them that are left out where a sample has no number.

        Raises:
            RecordingError: A channel has no sample, the period is too short, or the rate changes.
        """
        wanted, self._optional = tuple(channels), frozenset(optional)
        for batch in batches:
            key = tuple(name for name in wanted if name in batch.channels)
            if not key or not len(batch.times):
                continue
            if batch.run != self._run:
                yield from self._end_clock(wanted)
                self._run, self._rate = batch.run, SteadyRate()
            stream = self._streams.setdefault(key, _Stream(key, self._optional))
            part = stream.finite(batch, self.excluded)
            if stream.is_before(part):
                self.excluded.add(Cause.BACKWARDS)
                yield from self._end_clock(wanted)
            self._streams[key].append(part, self.excluded)
        if missing := self._missing(wanted):
            raise RecordingError(f"the recording holds no sample of {', '.join(missing)}")
        yield from self._cut()

    def _end_clock(self, wanted: Sequence[str]) -> Iterator[Segment]:
        if self._streams and not self._missing(wanted):
            yield from self._cut()
        self._streams = {each: _Stream(each, self._optional) for each in self._streams}

    def _missing(self, wanted: Sequence[str]) -> list[str]:
        have = {name for key in self._streams for name in key}
        return [name for name in wanted if name not in have]

    def _cut(self) -> Iterator[Segment]:
        streams = self._streams.values()
        measured = [s for s in streams if not s.is_command]
        self._find_period([s for s in measured if len(s.times)])
        if not np.isfinite(self.period):
            return
        least = 0.0 if self._settings.nearest else 0.1
        gap = self._settings.gap or max(3.0 * self.period, least)
        driven = common([s.known(gap) for s in measured])
        commanded = [s.known(self._settings.hold) for s in streams if s.is_command]
        together = common([driven, *commanded])
        self._account(driven, together)
        if not together:
            self._note_clocks()
        for begin, end in together:
            yield from self._segments_of(begin, end)
        for stream in measured:
            self.notes += stream.notes

    def _note_clocks(self) -> None:
        ends = [
            (s.names, *s.times[[0, -1]].tolist()) for s in self._streams.values() if len(s.times)
        ]
        first, last = min(ends, key=lambda each: each[2]), max(ends, key=lambda each: each[1])
        if first[2] < last[1]:
            self.two_clocks = (
                f"{', '.join(first[0])} end at {first[2]:.6g} s, and {', '.join(last[0])} begin at "
                f"{last[1]:.6g} s: their times have nothing in common, as if of two clocks; give "
                "both the same clock"
            )

    def _find_period(self, measured: Sequence[_Stream]) -> None:
        if np.isfinite(self.period):
            return
        recorded = max((s.spacing for s in measured), default=np.nan)
        if not np.isfinite(recorded):
            return
        self.period = self._settings.period or recorded
        if self.period < recorded / FINEST:
            raise RecordingError(
                f"--period {self.period:g} s: must be at least {recorded / FINEST:.3g} s, as the "
                f"samples are {recorded:.3g} s apart"
            )

    def _account(self, driven: Intervals, kept: Intervals) -> None:
        self.seconds += sum(end - begin for begin, end in driven)
        for (_, end), (begin, _) in zip(driven[:-1], driven[1:], strict=True):
            self.excluded.add(Cause.GAP, begin - end)
        lacking = sum(b - a for a, b in driven) - sum(b - a for a, b in kept)
        if lacking > 0:
            self.excluded.add(Cause.NO_COMMAND, lacking, max(1, len(kept) - len(driven)))

    def _segments_of(self, begin: float, end: float) -> Iterator[Segment]:
        times = self._instants(begin, end)
        if len(times) < 2:
            self.excluded.add(Cause.SHORT, end - begin)
            return
        channels: dict[str, Array] = {}
        sent: dict[str, SentCommands] = {}
        for stream in self._streams.values():
            channels |= stream.at(times, self._settings.nearest)
            sent |= stream.sent() if self._settings.uniform else {}
        moved = moving_parts(times, channels, self._settings.still, self._settings.rest)
        whole = times[-1] - times[0]
        moving = sum(float(times[b - 1] - times[a]) for a, b in moved)
        self.excluded.add(Cause.STANDSTILL, whole - moving, int(moving < whole))
        longest = max(2, round(self._settings.longest / self.period))
        for a, b in moved:
            for start in range(a, b, longest):
                piece = slice(start, min(start + longest, b))
                length = float(times[piece][-1] - times[start])
                enough = len(times[piece]) >= ENOUGH_SAMPLES
                if length < self._settings.shortest - WITHIN * self.period and not enough:
                    self.excluded.add(Cause.SHORT, length)
                    continue
                within = float(times[start]), float(times[piece][-1]) + self.period
                # Copies, so that a short segment does not keep the whole arrays in memory.
                yield Segment(
                    times[piece].copy(),
                    self.period,
                    {name: values[piece].copy() for name, values in channels.items()},
                    self._run,
                    {name: each.between(*within) for name, each in sent.items()},
                )

    def _instants(self, begin: float, end: float) -> Array:
        times = next(s.times for s in self._streams.values() if not s.is_command)
        if self._settings.uniform:
            # At a regular sensor's stamps nothing is interpolated.
            begin = float(times[np.searchsorted(times, begin)])
            count = int((end - begin) / self.period + 1e-6) + 1
            return begin + np.float64(self.period) * np.arange(count)
        kept: Array = times[(times >= begin) & (times <= end)]
        self._rate.check(kept)
        return kept


class _Stream:
    def __init__(self, names: tuple[str, ...], optional: frozenset[str] = frozenset()) -> None:
        self.names = names
        self._optional = optional
        self.is_command = names[0] in COMMANDS
        self._newest = -np.inf
        # Memory would not hold two copies of a long recording.
        self._stamps = array("d")
        self._values = {name: array("d") for name in names}
        self.notes: list[str] = []

    def finite(self, batch: Batch, excluded: Exclusions) -> Batch:
        finite = np.isfinite(batch.times)
        for name in self._values:
            if name not in self._optional:
                finite &= is_number(batch.channels[name])
        excluded.add(Cause.NOT_FINITE, count=int(np.sum(~finite)))
        values = {name: batch.channels[name][finite] for name in self._values}
        return Batch(batch.times[finite], values)

    def is_before(self, batch: Batch) -> bool:
        return len(batch.times) > 0 and bool(batch.times[0] < self._newest - SET_BACK)

    def append(self, batch: Batch, excluded: Exclusions) -> None:
        newest = newest_by(batch.times, self._newest)
        newer = batch.times > newest[:-1]
        excluded.add(Cause.DOUBLED, count=int(np.sum(~newer)))
        self._stamps.frombytes(batch.times[newer].tobytes())
        for name, values in self._values.items():
            values.frombytes(batch.channels[name][newer].tobytes())
        self._newest = float(newest[-1])

    @cached_property
    def times(self) -> Array:
        """Instants, shape (n,), s; read only after all samples were appended."""
        return np.asarray(self._stamps)

    @cached_property
    def _columns(self) -> dict[str, Array]:
        columns = {name: np.asarray(values) for name, values in self._values.items()}
        for name in self._optional & {*columns}:
            lacking = int(np.count_nonzero(~is_number(columns[name])))
            if lacking:
                del columns[name]
                if lacking < len(self.times):
                    self.notes.append(f"{name} is not used: {lacking} of its samples are no number")
        for name in POSITIONS:
            if name in columns:
                columns[name], wraps = continuous(self.times, columns[name])
                if wraps is not None:
                    self.notes.append(wraps.sentence(name, float(self.times[0])))
        return columns

    @property
    def spacing(self) -> float:
        """Median time between samples, s, beyond rounding of stamps (0.2 us); NaN: too few."""
        if len(self.times) < 3:
            return float("nan")
        steps = np.diff(self.times)
        usual = float(np.median(steps))
        rounding = 4.0 * float(np.spacing(np.abs(self.times).max()))
        regular = steps[np.abs(steps - usual) <= rounding]
        return float(np.mean(regular)) if len(regular) > 0.5 * len(steps) else usual

    def known(self, longest: float) -> Intervals:
        times = self.times
        if not len(times):
            return []
        breaks = np.flatnonzero(np.diff(times) > LONGER * longest)
        begins = times[np.concatenate(([0], breaks + 1))]
        ends = times[np.concatenate((breaks, [len(times) - 1]))]
        if self.is_command:
            ends = ends + longest
        return list(zip(begins.tolist(), ends.tolist(), strict=True))

    def at(self, instants: Array, nearest: bool = False) -> dict[str, Array]:
        results = {}
        for name, values in self._columns.items():
            if name in COMMANDS:
                results[name] = self._means(name, instants)
            elif nearest or name in self._slow:
                results[name] = values[np.searchsorted(self._midpoints, instants)]
            else:
                results[name] = np.interp(instants, self.times, values)
        return results

    def sent(self) -> dict[str, SentCommands]:
        if not self.is_command:
            return {}
        return {name: SentCommands(self.times, values) for name, values in self._columns.items()}

    @cached_property
    def _slow(self) -> set[str]:
        def repeats(values: Array) -> bool:
            moving = values[1:] != 0.0
            repeated = np.sum(moving & (values[1:] == values[:-1]))
            return bool(repeated > REPEATED * max(1, np.sum(moving)))

        return {name for name, values in self._columns.items() if repeats(values)}

    @cached_property
    def _midpoints(self) -> Array:
        return 0.5 * (self.times[1:] + self.times[:-1])

    @cached_property
    def _integrals(self) -> dict[str, Array]:
        steps = np.diff(self.times)
        return {
            name: np.concatenate(([0.0], np.cumsum(values[:-1] * steps)))
            for name, values in self._columns.items()
        }

    def _means(self, name: str, instants: Array) -> Array:
        newest = self.times[-1]
        last = max(float(instants[-1]), float(newest)) + 1.0
        integral = self._integrals[name]
        end = integral[-1] + self._columns[name][-1] * (last - newest)
        knots, total = np.append(self.times, last), np.append(integral, end)
        means = np.diff(np.interp(instants, knots, total)) / np.diff(instants)
        return np.append(means, means[-1])


def common(each: Sequence[Intervals]) -> Intervals:
    """Return the intersection of several lists of intervals."""
    if not each:
        return []
    intervals = each[0]
    for others in each[1:]:
        both: Intervals = []
        i = j = 0
        while i < len(intervals) and j < len(others):
            begin, end = max(intervals[i][0], others[j][0]), min(intervals[i][1], others[j][1])
            if begin < end:
                both.append((begin, end))
            if intervals[i][1] < others[j][1]:
                i += 1
            else:
                j += 1
        intervals = both
    return intervals


def moving_parts(
    times: Array, channels: Mapping[str, Array], still: Mapping[str, float], rest: float
) -> list[tuple[int, int]]:
    """Return the index ranges [first, last) between standstills.

    Args:
        still: Largest size that counts as no motion, by channel; empty: nothing is standstill.
        rest: Longest standstill that is kept, s; of a longer one, half this time at each end.
    """
    count = len(times)
    if not still:
        return [(0, count)]
    moving = np.zeros(count, bool)
    # Some drivers leave velocities empty: positions count where there are any.
    positions = dict(zip(WHEELS, POSITIONS, strict=True))
    for name, least in still.items():
        if positions.get(name) in channels:
            moving |= _turns(times, channels[positions[name]], least)
        elif name in channels:
            moving |= np.abs(channels[name]) > least
    indices = np.flatnonzero(moving)
    if not len(indices):
        return []
    slack = WITHIN * float(np.median(np.diff(times))) if count > 1 else 0.0
    breaks = np.flatnonzero(np.diff(times[indices]) > rest + slack)
    firsts = indices[np.concatenate(([0], breaks + 1))]
    lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
    begins = np.searchsorted(times, times[firsts] - 0.5 * rest - slack)
    ends = np.searchsorted(times, times[lasts] + 0.5 * rest + slack, side="right")
    return [(int(a), int(b)) for a, b in zip(begins, ends, strict=True)]


def _turns(times: Array, position: Array, least: float) -> Mask:
    """Return where a wheel turns by more than a count and faster than `least`, shape (n,)."""
    steps = np.abs(np.diff(position))
    count = float(np.min(steps[steps > 0.0], initial=math.inf))
    if not math.isfinite(count):
        return np.zeros(len(position), bool)
    slack = WITHIN * float(np.median(np.diff(times)))
    before, after = (np.searchsorted(times, times + side * AROUND - slack) for side in (-1.0, 1.0))
    after = np.minimum(after, len(times) - 1)
    moved = np.abs(position[after] - position[before])
    # An encoder flickers at a count's edge; exact positions have no counts.
    turns: Mask = moved > np.maximum(
        least * (times[after] - times[before]), min(1.5 * count, FLICKER)
    )
    return turns


def evenly_chosen(segments: Sequence[Segment], most: float) -> list[Segment]:
    """Return every segment, every other one, every fourth …, that last `most` s at most."""
    chosen = list(segments)
    while len(chosen) > 1 and sum(segment.duration for segment in chosen) > most:
        chosen = chosen[::2]
    return chosen


# A slow sensor repeats readings: each wheel is interpolated between its own new ones.

FRESH = "fresh"
"""Channel that is 1 where a segment's velocity rests on a new reading, 0 elsewhere."""

# A stale reading changes by less than this share of the changes around it.
SMALL = 0.2
# Longest hold, in samples; longer ones are standstill.
LONGEST = 40
# Share of holds of one length, within a sample or this share of it.
REGULAR, FRACTION = 0.7, 0.15
# Share of exactly equal holds that no encoder's scale makes.
EXACT = 0.95
# Changes up to this quantile are steps of the scale; FAST ones in LEAST_FAST samples tell repeats.
FINEST_STEPS, FAST, LEAST_FAST = 0.05, 2.0, 10
# Smaller changes, as a share of the largest, are rounding.
ROUNDING = 1e-9


def new_readings(series: Sequence[Array]) -> tuple[list[Mask], float]:
    """Return which readings of a sensor are new, in several series of shape (n,) each.

    Also the number of samples for which a reading holds; 0, and all new, for a fast sensor.
    """
    masks = [_changes(np.asarray(values, float)) for values in series]
    holds = np.concatenate([np.diff(np.flatnonzero(mask)) for mask in masks] or [np.empty(0)])
    holds = holds[holds <= LONGEST]
    if len(holds) >= 3:
        usual = float(np.median(holds))
        # Two equal readings make a hold of a multiple of the usual one.
        times = np.maximum(np.round(holds / usual), 1.0)
        regular = np.mean(np.abs(holds - usual * times) <= max(1.0, FRACTION * usual))
        exact = np.mean(np.abs(holds - usual * times) < 0.5) >= EXACT
        slow = usual >= 2.0 and regular >= REGULAR
        if slow and (exact or _repeats_in_motion(series, masks, usual)):
            every = float(np.mean(holds[times == 1.0]))
            return [_with_equal_readings(mask, every) for mask in masks], every
    return [np.ones(len(mask), bool) for mask in masks], 0.0


def _with_equal_readings(mask: Mask, every: float) -> Mask:
    """Add the readings that equal the one before: without them, noise would choose the readings."""
    known = np.flatnonzero(mask)
    if not len(known):
        return mask
    passed = np.cumsum(np.maximum(np.round(np.diff(known, prepend=known[0]) / every), 1.0))
    at = np.round(np.interp(np.arange(passed[0], passed[-1] + 1.0), passed, known)).astype(int)
    filled = mask.copy()
    filled[at] = True
    return filled


def _repeats_in_motion(series: Sequence[Array], masks: Sequence[Mask], usual: float) -> bool:
    steps = np.concatenate([np.abs(np.diff(values)) for values in series])
    moving = steps[steps > ROUNDING * steps.max(initial=0.0)]
    step = float(np.quantile(moving, FINEST_STEPS)) if len(moving) else math.inf
    around = math.ceil(usual)
    new: list[Mask] = []
    for values, mask in zip(series, masks, strict=True):
        change = np.abs(values[2 * around :] - values[: -2 * around])
        new.append(mask[around : len(mask) - around][change >= 2 * around * FAST * step])
    fast = np.concatenate(new)
    return len(fast) >= LEAST_FAST and float(np.mean(fast)) <= 0.5 * (1.0 + 1.0 / usual)


def _changes(values: Array) -> Mask:
    steps = np.abs(np.diff(values, prepend=values[:1]))
    padded = np.pad(steps, 1)
    around = np.maximum(padded[:-2], padded[2:])
    least = ROUNDING * steps.max(initial=0.0)
    changes: Mask = (steps > least) & (steps >= SMALL * around)
    return changes


def between_readings(
    segments: Sequence[Segment], geometry: WheelGeometry, axes: Sequence[str]
) -> tuple[list[Segment], float]:
    """Compute body velocities from wheel speeds interpolated between slow readings.

    Return the segments with a channel FRESH (1 where a wheel has a new reading), and the time
    between two readings of a wheel, s; unchanged and 0 if the wheels are not slow.
    """
    results = [new_readings([segment.channels[wheel] for segment in segments]) for wheel in WHEELS]
    holds = [kept for _, kept in results if kept > 0.0]
    if not holds:
        return list(segments), 0.0
    changed = []
    for i, segment in enumerate(segments):
        left_new, right_new = (new[i] for new, _ in results)
        left = _interpolated(segment.channels[WHEELS[0]], left_new)
        right = _interpolated(segment.channels[WHEELS[1]], right_new)
        body = body_velocity(geometry, left, right)
        channels = {axis: body[axis] for axis in axes}
        channels[FRESH] = (left_new | right_new).astype(float)
        changed.append(replace(segment, channels={**segment.channels, **channels}))
    return changed, segments[0].period * float(np.mean(holds))


def _interpolated(values: Array, fresh: Mask) -> Array:
    known = np.flatnonzero(fresh)
    if not len(known):
        return values
    return np.interp(np.arange(len(values)), known, values[known])
