# SPDX-License-Identifier: Apache-2.0
"""From samples with clocks of their own to segments in which all channels share their instants.

Measured channels are interpolated between neighbours; commands hold until the next one, and what a
segment says of a command is its mean over the period that begins at the sample, so that no part of
a command is lost between two instants. A segment ends at a gap, where time jumps, where no command
is known, at standstill, and after `longest` seconds. What is left out is counted by its cause.
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
from diffbot_ident.recording.samples import (
    COMMANDS,
    POSITIONS,
    SET_BACK,
    WHEELS,
    Array,
    Block,
    Mask,
    RecordingError,
    body_velocity,
    newest_by,
)

# Samples made of one that was recorded, at most: more only repeat it.
FINEST = 20
# Samples with which a segment is long enough, however short it is.
ENOUGH_SAMPLES = 200
# Time before and after an instant in which a wheel turns, s; largest flicker of counts, rad.
AROUND, FLICKER = 0.25, 0.05
# Share of repeated samples beyond which a sensor is slower than its recording.
REPEATED = 0.3

Intervals = list[tuple[float, float]]
"""Begin and end of each, s, in the order of time."""


@dataclass(frozen=True)
class SegmentSettings:
    """How segments are made.

    Attributes:
        period: between the samples of a segment, s; None: the median spacing of the measured
            stream that comes least often.
        gap: longest time between two measured samples that is bridged, s; None: 3 periods, and at
            least 0.1 s.
        hold: for how long a command holds at most, s.
        shortest: segments below this are dropped, s, unless they have ENOUGH_SAMPLES samples.
        longest: a segment is cut after this, s.
        still: what counts as no motion, by channel, in its unit; standstill is kept if empty.
        rest: longest standstill that is kept, s.
        uniform: whether segments have equal periods; otherwise the instants of the first measured
            stream are kept.
        nearest: whether other measured streams count by the sample nearest to an instant, as of
            drivers that publish one reading in several topics; otherwise between samples.
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
        times: instants, shape (n,), s; equally spaced but where the settings keep instants.
        period: between two of them, s; else their median spacing.
        channels: values at these instants, shape (n,) each. A command's is its mean over the
            period that begins there; the last one repeats the one before.
        run: recording that it is of; None: there is only one.
    """

    times: Array
    period: float
    channels: Mapping[str, Array]
    run: str | None = None

    @property
    def duration(self) -> float:
        """From the first sample to the last, s."""
        return float(self.times[-1] - self.times[0])


class Cause(Enum):
    """Why a part of a recording was left out, for people."""

    GAP = "samples missing"
    BACKWARDS = "time steps back"
    DOUBLED = "stamps that do not increase"
    NOT_FINITE = "values that are not finite"
    NO_COMMAND = "no command known"
    STANDSTILL = "standstill"
    SHORT = "pieces too short"


class Exclusions:
    """What of a recording was left out.

    Attributes:
        seconds: of recording time left out, by cause, s.
        counts: how many times, by cause.
    """

    def __init__(self) -> None:
        self.seconds: defaultdict[Cause, float] = defaultdict(float)
        self.counts: defaultdict[Cause, int] = defaultdict(int)

    def add(self, cause: Cause, seconds: float = 0.0, count: int = 1) -> None:
        """Count something left out: for so long (s), so many times."""
        if count:
            self.seconds[cause] += seconds
            self.counts[cause] += count

    def lines(self) -> list[str]:
        """One line for each cause, what cost most time first."""
        found = sorted(self.counts, key=lambda cause: -self.seconds[cause])
        return [
            f"{cause.value}: {self.counts[cause]} ×"
            + (f", {self.seconds[cause]:.1f} s" if self.seconds[cause] else "")
            for cause in found
        ]


class Segmenter:
    """Makes segments of blocks.

    Args:
        settings: how.

    Attributes:
        excluded: what was left out so far.
        period: of the segments, s; NaN before there are samples of each measured stream.
        seconds: recording time so far, without gaps, s.
    """

    def __init__(self, settings: SegmentSettings = SegmentSettings()) -> None:
        self._settings = settings
        self._streams: dict[tuple[str, ...], _Stream] = {}
        self.excluded = Exclusions()
        self.period = np.nan
        self.seconds = 0.0
        self._run: str | None = None

    def segments(self, blocks: Iterable[Block], channels: Iterable[str]) -> Iterator[Segment]:
        """Segments, once all samples until the end, or until the clock was set back, are there.

        Args:
            blocks: of one or more streams.
            channels: that segments must have; others are ignored.

        Raises:
            RecordingError: a channel never came, or there are too few samples to tell the period.
        """
        wanted = tuple(channels)
        for block in blocks:
            key = tuple(name for name in wanted if name in block.channels)
            if not key or not len(block.times):
                continue
            if block.run != self._run:
                # The time of another recording says nothing of how long it was until then.
                if self._streams and not self._missing(wanted):
                    yield from self._cut()
                self._streams = {each: _Stream(each) for each in self._streams}
                self._run = block.run
            stream = self._streams.setdefault(key, _Stream(key))
            part = stream.finite(block, self.excluded)
            if stream.is_before(part):
                self.excluded.add(Cause.BACKWARDS)
                if not self._missing(wanted):
                    yield from self._cut()
                self._streams = {each: _Stream(each) for each in self._streams}
            self._streams[key].append(part, self.excluded)
        if missing := self._missing(wanted):
            raise RecordingError(f"the recording holds no sample of {', '.join(missing)}")
        yield from self._cut()

    def _missing(self, wanted: Sequence[str]) -> list[str]:
        """Channels that never came."""
        have = {name for key in self._streams for name in key}
        return [name for name in wanted if name not in have]

    def _cut(self) -> Iterator[Segment]:
        """Segments of the samples that are there."""
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
        for begin, end in together:
            yield from self._segments_of(begin, end)

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
        """Segments of a time in which all is known."""
        times = self._instants(begin, end)
        if len(times) < 2:
            self.excluded.add(Cause.SHORT, end - begin)
            return
        channels: dict[str, Array] = {}
        for stream in self._streams.values():
            channels |= stream.at(times, self._settings.nearest)
        parts = moving_parts(times, channels, self._settings.still, self._settings.rest)
        whole = times[-1] - times[0]
        moving = sum(float(times[b - 1] - times[a]) for a, b in parts)
        self.excluded.add(Cause.STANDSTILL, whole - moving, int(moving < whole))
        longest = max(2, round(self._settings.longest / self.period))
        for a, b in parts:
            for start in range(a, b, longest):
                piece = slice(start, min(start + longest, b))
                length = float(times[piece][-1] - times[start])
                enough = len(times[piece]) >= ENOUGH_SAMPLES
                if length < self._settings.shortest and not enough:
                    self.excluded.add(Cause.SHORT, length)
                    continue
                # Copies: who keeps a short segment must not keep all that it was cut from.
                yield Segment(
                    times[piece].copy(),
                    self.period,
                    {name: values[piece].copy() for name, values in channels.items()},
                    self._run,
                )

    def _instants(self, begin: float, end: float) -> Array:
        if self._settings.uniform:
            # A rounding error must not cost the last instant.
            count = int((end - begin) / self.period + 1e-6) + 1
            return begin + np.float64(self.period) * np.arange(count)
        times = next(s.times for s in self._streams.values() if not s.is_command)
        return times[(times >= begin) & (times <= end)]


class _Stream:
    """The samples of some channels that share their instants, in the order of time.

    Args:
        names: of the channels.
    """

    def __init__(self, names: tuple[str, ...]) -> None:
        self.is_command = names[0] in COMMANDS
        self._newest = -np.inf
        # Grown in place: there is no room for two copies of all.
        self._stamps = array("d")
        self._values = {name: array("d") for name in names}

    def finite(self, block: Block, excluded: Exclusions) -> Block:
        """The samples of a block that are finite."""
        finite = np.isfinite(block.times)
        for name in self._values:
            finite &= np.isfinite(block.channels[name])
        excluded.add(Cause.NOT_FINITE, count=int(np.sum(~finite)))
        values = {name: block.channels[name][finite] for name in self._values}
        return Block(block.times[finite], values)

    def is_before(self, block: Block) -> bool:
        """Whether a block begins before what is there, as after a reset of the clock."""
        return len(block.times) > 0 and bool(block.times[0] < self._newest - SET_BACK)

    def append(self, block: Block, excluded: Exclusions) -> None:
        """Keep what is newer than all before."""
        newest = newest_by(block.times, self._newest)
        newer = block.times > newest[:-1]
        excluded.add(Cause.DOUBLED, count=int(np.sum(~newer)))
        self._stamps.frombytes(block.times[newer].tobytes())
        for name, values in self._values.items():
            values.frombytes(block.channels[name][newer].tobytes())
        self._newest = float(newest[-1])

    @cached_property
    def times(self) -> Array:
        """Instants, shape (n,), s; once all samples are there."""
        return np.asarray(self._stamps)

    @cached_property
    def _columns(self) -> dict[str, Array]:
        return {name: np.asarray(values) for name, values in self._values.items()}

    @property
    def spacing(self) -> float:
        """Median time between samples, s; NaN where there are too few."""
        return float(np.median(np.diff(self.times))) if len(self.times) > 2 else float("nan")

    def known(self, longest: float) -> Intervals:
        """Intervals in which the channels are known.

        Args:
            longest: time between samples that is bridged, or for which a command holds, s.
        """
        times = self.times
        if not len(times):
            return []
        breaks = np.flatnonzero(np.diff(times) > longest)
        begins = times[np.concatenate(([0], breaks + 1))]
        ends = times[np.concatenate((breaks, [len(times) - 1]))]
        if self.is_command:
            ends = ends + longest
        return list(zip(begins.tolist(), ends.tolist(), strict=True))

    def at(self, instants: Array, nearest: bool = False) -> dict[str, Array]:
        """Values at instants that lie inside `known`; of commands, means over what follows."""
        found = {}
        for name, values in self._columns.items():
            if name in COMMANDS:
                found[name] = self._means(name, instants)
            elif nearest or name in self._slow:
                found[name] = values[np.searchsorted(self._midpoints, instants)]
            else:
                found[name] = np.interp(instants, self.times, values)
        return found

    @cached_property
    def _slow(self) -> set[str]:
        """Channels that repeat themselves: who fits a model must see which samples are new."""
        found = set()
        for name, values in self._columns.items():
            moving = values[1:] != 0.0
            repeated = np.sum(moving & (values[1:] == values[:-1]))
            if repeated > REPEATED * max(1, np.sum(moving)):
                found.add(name)
        return found

    @cached_property
    def _midpoints(self) -> Array:
        return 0.5 * (self.times[1:] + self.times[:-1])

    @cached_property
    def _integrals(self) -> dict[str, Array]:
        """Of held channels, from the first sample to each, shape (n,)."""
        steps = np.diff(self.times)
        return {
            name: np.concatenate(([0.0], np.cumsum(values[:-1] * steps)))
            for name, values in self._columns.items()
        }

    def _means(self, name: str, instants: Array) -> Array:
        """Means of a held channel over the periods between instants."""
        newest = self.times[-1]
        last = max(float(instants[-1]), float(newest)) + 1.0
        integral = self._integrals[name]
        end = integral[-1] + self._columns[name][-1] * (last - newest)
        knots, total = np.append(self.times, last), np.append(integral, end)
        means = np.diff(np.interp(instants, knots, total)) / np.diff(instants)
        return np.append(means, means[-1])


def common(each: Sequence[Intervals]) -> Intervals:
    """Intervals that all have in common."""
    if not each:
        return []
    found = each[0]
    for others in each[1:]:
        both: Intervals = []
        i = j = 0
        while i < len(found) and j < len(others):
            begin, end = max(found[i][0], others[j][0]), min(found[i][1], others[j][1])
            if begin < end:
                both.append((begin, end))
            if found[i][1] < others[j][1]:
                i += 1
            else:
                j += 1
        found = both
    return found


def moving_parts(
    times: Array, channels: Mapping[str, Array], still: Mapping[str, float], rest: float
) -> list[tuple[int, int]]:
    """Index ranges [first, last) between standstills.

    Args:
        times: instants, shape (n,), s.
        channels: values, shape (n,) each.
        still: largest size that counts as none, by channel; empty: nothing is standstill.
        rest: standstill up to this long is kept; of a longer one half of it at either end, s.
    """
    count = len(times)
    if not still:
        return [(0, count)]
    moving = np.zeros(count, bool)
    for name, least in still.items():
        if name in channels:
            moving |= np.abs(channels[name]) > least
    # Drivers that publish positions leave velocities empty, or 0.
    silent = [pair for pair in zip(POSITIONS, WHEELS, strict=True) if not _tells(channels, *pair)]
    for position, velocity in silent:
        if position in channels and velocity in still:
            moving |= _turns(times, channels[position], still[velocity])
    indices = np.flatnonzero(moving)
    if not len(indices):
        return []
    breaks = np.flatnonzero(np.diff(times[indices]) > rest)
    firsts = indices[np.concatenate(([0], breaks + 1))]
    lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
    begins = np.searchsorted(times, times[firsts] - 0.5 * rest)
    ends = np.searchsorted(times, times[lasts] + 0.5 * rest, side="right")
    return [(int(a), int(b)) for a, b in zip(begins, ends, strict=True)]


def _tells(channels: Mapping[str, Array], position: str, velocity: str) -> bool:
    """Whether a velocity is there, and not always 0 beside a position that changes."""
    if velocity not in channels:
        return False
    return bool(np.any(channels[velocity] != 0.0)) or position not in channels


def _turns(times: Array, position: Array, least: float) -> Mask:
    """Whether a wheel turns by more than a count, and faster than least, around each instant."""
    steps = np.abs(np.diff(position))
    count = float(np.min(steps[steps > 0.0], initial=math.inf))
    if not math.isfinite(count):
        return np.zeros(len(position), bool)
    before, after = (np.searchsorted(times, times + side * AROUND) for side in (-1.0, 1.0))
    after = np.minimum(after, len(times) - 1)
    moved = np.abs(position[after] - position[before])
    # An encoder between two counts goes to and fro; exact positions have no counts.
    turns: Mask = moved > np.maximum(
        least * (times[after] - times[before]), min(1.5 * count, FLICKER)
    )
    return turns


def evenly_chosen(segments: Sequence[Segment], most: float) -> list[Segment]:
    """Every segment, every other one, or every fourth …, so that they last `most` s together.

    A single segment is always kept.
    """
    chosen = list(segments)
    while len(chosen) > 1 and sum(segment.duration for segment in chosen) > most:
        chosen = chosen[::2]
    return chosen


# Readings that a slow sensor repeats until it has a new one (sample and hold).
#
# Wheels that take turns to say how fast they turn, more slowly than the rows come, would make a
# body velocity of a new reading and an old one: `between_readings` takes each wheel on a straight
# line between its own readings.

FRESH = "fresh"
"""Channel that is 1 where a segment's velocity rests on a new reading, else 0."""

# A reading is stale if it changes by less than this share of the changes around it: rows that are
# resampled change by a little just before the reading does.
SMALL = 0.2
# Samples between two changes that are long enough to be standstill, not a hold.
LONGEST = 40
# Share of the holds that must have the same length, within one sample or this share of it.
REGULAR, SHARE = 0.7, 0.15


def new_readings(series: Sequence[Array]) -> tuple[list[Mask], float]:
    """Which readings are new.

    Args:
        series: readings of one sensor in several segments, shape (n,) each.

    Returns:
        for each of the series, which readings are new, shape (n,), and how many samples a reading
        holds; all and 0 where the sensor is no slower than its rows.
    """
    masks = [_changes(np.asarray(values, float)) for values in series]
    holds = np.concatenate([np.diff(np.flatnonzero(mask)) for mask in masks] or [np.empty(0)])
    holds = holds[holds <= LONGEST]
    if len(holds) >= 3:
        usual = float(np.median(holds))
        # Now and then a reading is lost, or happens to be the same.
        times = np.maximum(np.round(holds / usual), 1.0)
        regular = np.mean(np.abs(holds - usual * times) <= max(1.0, SHARE * usual))
        if usual >= 2.0 and regular >= REGULAR:
            return masks, float(np.mean(holds[times == 1.0]))
    return [np.ones(len(mask), bool) for mask in masks], 0.0


def _changes(values: Array) -> Mask:
    """Samples at which the reading changes by much, compared with the changes around."""
    steps = np.abs(np.diff(values, prepend=values[:1]))
    padded = np.pad(steps, 1)
    around = np.maximum(padded[:-2], padded[2:])
    changes: Mask = (steps > 0.0) & (steps >= SMALL * around)
    return changes


def between_readings(
    segments: Sequence[Segment], geometry: WheelGeometry, axes: Sequence[str]
) -> tuple[list[Segment], float]:
    """Segments whose velocities are made of wheel speeds between readings, where these are slow.

    Args:
        segments: with the channels of WHEELS.
        geometry: of the wheels.
        axes: what the wheels tell, of "v" and "w".

    Returns:
        the segments, with a channel FRESH (1 where one of the wheels has a new reading), and the
        time between two readings of a wheel, s; as they are, and 0, where wheels are not slow.
    """
    found = [new_readings([segment.channels[wheel] for segment in segments]) for wheel in WHEELS]
    holds = [held for _, held in found if held > 0.0]
    if not holds:
        return list(segments), 0.0
    changed = []
    for i, segment in enumerate(segments):
        left_new, right_new = (new[i] for new, _ in found)
        left = _interpolated(segment.channels[WHEELS[0]], left_new)
        right = _interpolated(segment.channels[WHEELS[1]], right_new)
        body = body_velocity(geometry, left, right)
        channels = {axis: body[axis] for axis in axes}
        channels[FRESH] = (left_new | right_new).astype(float)
        changed.append(replace(segment, channels={**segment.channels, **channels}))
    return changed, segments[0].period * float(np.mean(holds))


def _interpolated(values: Array, fresh: Mask) -> Array:
    """Readings between two new ones on the straight line between them, shape (n,)."""
    known = np.flatnonzero(fresh)
    if not len(known):
        return values
    return np.interp(np.arange(len(values)), known, values[known])
