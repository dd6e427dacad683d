"""From streams with clocks of their own to stretches in which all channels share their instants.

Measured channels are interpolated between neighbours; commands hold until the next one, and what a
stretch says of a command is its mean over the period that begins at the sample, so that no part of
a command is lost between two instants. A stretch ends where samples are missing, where time jumps,
where no command is known, at standstill, and after `longest` seconds: memory stays flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from diffbot_ident.recording.stream import (
    COMMANDS,
    GAP,
    NO_COMMAND,
    SHORT,
    STANDSTILL,
    Array,
    Block,
    Losses,
    Progress,
    RecordingError,
    Source,
    StreamBuffer,
    common,
)

# ---
# Stretches of a recording, and how they are made.


@dataclass(frozen=True)
class ResampleSettings:
    """How stretches are made.

    Attributes:
        period: between the samples of a stretch, s; None: the median spacing of the measured
            stream that comes least often.
        gap: longest time between two measured samples that is bridged, s; None: 3 periods, and at
            least 0.1 s.
        hold: for how long a command holds at most, s.
        shortest: stretches below this are dropped, s.
        longest: a stretch is cut after this, s.
        still: what counts as no motion, by channel, in its unit; standstill is kept if empty.
        rest: longest standstill that is kept, s.
        uniform: whether stretches have equal periods; otherwise the instants of the first measured
            stream are kept.
    """

    period: float | None = None
    gap: float | None = None
    hold: float = 0.5
    shortest: float = 1.0
    longest: float = 60.0
    still: Mapping[str, float] = field(default_factory=dict)
    rest: float = 1.0
    uniform: bool = True


@dataclass(frozen=True)
class UniformStretch:
    """An uninterrupted part of a recording.

    Attributes:
        times: instants, shape (n,), s; equally spaced but where the settings keep instants.
        period: between two of them, s; else their median spacing.
        channels: values at these instants, shape (n,) each. A command's is its mean over the
            period that begins there; the last one repeats the one before.
    """

    times: Array
    period: float
    channels: Mapping[str, Array]

    @property
    def duration(self) -> float:
        """From the first sample to the last, s."""
        return float(self.times[-1] - self.times[0])


# ---
# Where a robot stands still, told by small values of some channels for long enough.


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
    indices = np.flatnonzero(moving)
    if not len(indices):
        return []
    breaks = np.flatnonzero(np.diff(times[indices]) > rest)
    firsts = indices[np.concatenate(([0], breaks + 1))]
    lasts = indices[np.concatenate((breaks, [len(indices) - 1]))]
    begins = np.searchsorted(times, times[firsts] - 0.5 * rest)
    ends = np.searchsorted(times, times[lasts] + 0.5 * rest, side="right")
    return [(int(a), int(b)) for a, b in zip(begins, ends, strict=True)]


__all__ = ["ResampleSettings", "Resampler", "UniformStretch"]

DEFAULT = ResampleSettings()
# Samples made of one that was recorded, at most: more only repeat it.
FINEST = 20


class Resampler:
    """Makes stretches of blocks.

    Args:
        settings: how.

    Attributes:
        losses: what was left out so far.
        period: of the stretches, s; NaN before the first block of each measured stream is there.
        seconds: recording time so far, without gaps, s.
    """

    def __init__(self, settings: ResampleSettings = DEFAULT) -> None:
        self._settings = settings
        self._buffers: dict[tuple[str, ...], StreamBuffer] = {}
        self.losses = Losses()
        self.period = np.nan
        self.seconds = 0.0

    def stretches(
        self, blocks: Iterable[Block], channels: Iterable[str]
    ) -> Iterator[UniformStretch]:
        """Stretches, as soon as their samples are complete.

        Args:
            blocks: of one or more streams, see stream.merged.
            channels: that stretches must have; others are ignored.

        Raises:
            RecordingError: a channel never came, or there are too few samples to tell the period.
        """
        wanted = tuple(channels)
        for block in blocks:
            key = tuple(name for name in wanted if name in block.channels)
            if not key or not len(block.times):
                continue
            buffer = self._buffers.setdefault(key, StreamBuffer(key, self.losses))
            for part in buffer.parts(block):
                if buffer.steps_back(part):
                    yield from self._finish(wanted, at_end=False)
                buffer.append(part)
            if self._span() > 2.0 * self._settings.longest and self._all_came(wanted):
                yield from self._cut(self._horizon())
        yield from self._finish(wanted, at_end=True)

    def _complete(self, wanted: tuple[str, ...]) -> bool:
        return {name for key in self._buffers for name in key} == set(wanted)

    def _all_came(self, wanted: tuple[str, ...]) -> bool:
        """Whether all streams spoke, also since time stepped back: commands may come first."""
        return self._complete(wanted) and all(map(len, self._buffers.values()))

    def _finish(self, wanted: tuple[str, ...], at_end: bool) -> Iterator[UniformStretch]:
        """Use up what is there: the end, or time goes back."""
        if self._complete(wanted):
            yield from self._cut(np.inf)
        elif at_end:
            have = {name for key in self._buffers for name in key}
            missing = ", ".join(name for name in wanted if name not in have)
            raise RecordingError(f"the recording holds no sample of {missing}")
        for buffer in self._buffers.values():
            buffer.clear()

    def _span(self) -> float:
        filled = [buffer for buffer in self._buffers.values() if len(buffer)]
        return max(b.newest for b in filled) - min(b.oldest for b in filled) if filled else 0.0

    def _horizon(self) -> float:
        """Instant up to which nothing more will come of any stream that still speaks."""
        newest = {key: b.newest for key, b in self._buffers.items() if len(b)}
        latest = max(newest.values())
        # A stream that fell silent must not hold up the others for ever.
        least = max(min(newest.values()), latest - self._settings.longest)
        # The next stretch begins where this one ends: at a measured sample.
        return min(b.last_until(least) for b in self._measured().values())

    def _measured(self) -> dict[tuple[str, ...], StreamBuffer]:
        return {k: b for k, b in self._buffers.items() if k[0] not in COMMANDS and len(b)}

    def _cut(self, until: float) -> Iterator[UniformStretch]:
        if not self._find_period():
            return
        settings = self._settings
        gap = settings.gap or max(3.0 * self.period, 0.1)
        measured, held = [], []
        for key, buffer in self._buffers.items():
            kind = held if key[0] in COMMANDS else measured
            kind.append(buffer.runs(until, settings.hold if kind is held else gap, kind is held))
        driven = common(measured)
        together = common([driven, *held])
        self._account(driven, together)
        for begin, end in together:
            yield from self._stretches_of(begin, end)
        for buffer in self._buffers.values():
            buffer.forget(until)

    def _find_period(self) -> bool:
        if np.isfinite(self.period):
            return True
        recorded = max((b.spacing() for b in self._measured().values()), default=np.nan)
        if not np.isfinite(recorded):
            return False
        self.period = self._settings.period or recorded
        if self.period < recorded / FINEST:
            raise RecordingError(
                f"--period {self.period:g} s: must be at least {recorded / FINEST:.3g} s, as the "
                f"samples are {recorded:.3g} s apart"
            )
        return True

    def _account(self, driven: list[tuple[float, float]], kept: list[tuple[float, float]]) -> None:
        self.seconds += sum(end - begin for begin, end in driven)
        for (_, end), (begin, _) in zip(driven[:-1], driven[1:], strict=True):
            self.losses.add(GAP, begin - end)
        lacking = sum(b - a for a, b in driven) - sum(b - a for a, b in kept)
        self.losses.add(NO_COMMAND, lacking, max(1, len(kept) - len(driven)) if lacking > 0 else 0)

    def _stretches_of(self, begin: float, end: float) -> Iterator[UniformStretch]:
        """Stretches of a time in which all is known."""
        times = self._instants(begin, end)
        if len(times) < 2:
            self.losses.add(SHORT, end - begin)
            return
        channels: dict[str, Array] = {}
        for buffer in self._buffers.values():
            channels |= buffer.at(times)
        parts = moving_parts(times, channels, self._settings.still, self._settings.rest)
        moving = sum(float(times[b - 1] - times[a]) for a, b in parts)
        self.losses.add(
            STANDSTILL, (times[-1] - times[0]) - moving, int(moving < times[-1] - times[0])
        )
        for a, b in parts:
            for start in range(a, b, step := max(2, round(self._settings.longest / self.period))):
                stop = min(start + step, b)
                length = float(times[stop - 1] - times[start])
                if length < self._settings.shortest:
                    self.losses.add(SHORT, length)
                    continue
                # Copies: who keeps a short stretch must not keep all that it was cut from.
                yield UniformStretch(
                    times[start:stop].copy(),
                    self.period,
                    {name: values[start:stop].copy() for name, values in channels.items()},
                )

    def _instants(self, begin: float, end: float) -> Array:
        if self._settings.uniform:
            # A rounding error must not cost the last instant.
            count = int((end - begin) / self.period + 1e-6) + 1
            return begin + self.period * np.arange(count)
        return next(iter(self._measured().values())).instants(begin, end)


# ---
# A bounded choice of stretches, spread evenly over a recording of any length.


class StretchStore:
    """Keeps stretches up to a total duration.

    When it is full, every other one is dropped, and from then on only as large a share of what
    comes is taken.

    Args:
        most: duration kept, s, > 0.

    Attributes:
        stretches: that are kept, in the order of time.
        seen: duration of all that came, s.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._every = 1
        self._count = 0
        self.stretches: list[UniformStretch] = []
        self.seen = 0.0

    @property
    def kept(self) -> float:
        """Duration of what is kept, s."""
        return sum(stretch.duration for stretch in self.stretches)

    def add(self, stretch: UniformStretch) -> None:
        """Take a stretch in, or not."""
        self.seen += stretch.duration
        if self._count % self._every == 0:
            self.stretches.append(stretch)
            # A single stretch is always kept.
            while len(self.stretches) > 1 and self.kept > self._most:
                self.stretches = self.stretches[::2]
                self._every *= 2
        self._count += 1


# ---
# Readings that a slow sensor repeats until it has a new one (sample and hold).

# A reading is stale if it changes by less than this share of the changes around it: rows that are
# resampled change by a little just before the reading does.
SMALL = 0.2
# Samples between two changes that are long enough to be standstill, not a hold.
LONGEST = 40
# Share of the holds that must have the same length, within one sample or this share of it.
REGULAR, SHARE = 0.7, 0.15


def refreshed(series: Sequence[Array]) -> tuple[list[NDArray[np.bool_]], float]:
    """Which readings are new.

    Args:
        series: readings of one sensor in several stretches, shape (n,) each.

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


def _changes(values: Array) -> NDArray[np.bool_]:
    """Samples at which the reading changes by much, compared with the changes around."""
    steps = np.abs(np.diff(values, prepend=values[:1]))
    padded = np.pad(steps, 1)
    around = np.maximum(padded[:-2], padded[2:])
    return (steps > 0.0) & (steps >= SMALL * around)


def interpolated(values: Array, fresh: NDArray[np.bool_]) -> Array:
    """Readings between two new ones on the straight line between them, shape (n,)."""
    known = np.flatnonzero(fresh)
    if not len(known):
        return np.asarray(values, float)
    return np.interp(np.arange(len(values)), known, np.asarray(values, float)[known])


# ---
# Body velocities of robots that say only how fast their wheels turn.
#
# Wheels that take turns to say so, more slowly than the rows come, would make a velocity of a new
# reading and an old one: `continuous` takes each wheel on a straight line between its own readings.

WHEELS = ("left_velocity", "right_velocity")
FRESH = "fresh"


class BodyVelocitySource:
    """A source with v and w, worked out from the wheels where it has none of its own.

    Args:
        source: with left_velocity and right_velocity, rad/s.
        geometry: of the wheels.
        added: what the wheels tell, of "v" and "w".
    """

    def __init__(
        self, source: Source, geometry: WheelGeometry, added: Sequence[str] = ("v", "w")
    ) -> None:
        self._source = source
        self._geometry = geometry
        self._added = tuple(added)
        self.name = source.name
        self.channels = (*source.channels, *self._added)

    @property
    def warnings(self) -> list[str]:
        """See stream.Source."""
        return self._source.warnings

    @property
    def progress(self) -> Progress:
        """See stream.Source."""
        return self._source.progress

    def blocks(self) -> Iterator[Block]:
        """See stream.Source."""
        for block in self._source.blocks():
            if not all(name in block.channels for name in WHEELS):
                yield block
                continue
            v, w = self._geometry.body_velocity(*(block.channels[name] for name in WHEELS))
            found = {"v": v, "w": w}
            channels = {**block.channels, **{name: found[name] for name in self._added}}
            yield Block(block.times, channels)


def continuous(
    stretches: Sequence[UniformStretch], geometry: WheelGeometry, axes: Sequence[str]
) -> tuple[list[UniformStretch], float]:
    """Stretches whose velocities are made of wheel speeds between readings, where these are slow.

    Args:
        stretches: with the channels of WHEELS.
        geometry: of the wheels.
        axes: what the wheels tell, of "v" and "w".

    Returns:
        the stretches, with a channel FRESH (1 where one of the wheels has a new reading), and the
        time between two readings of a wheel, s; as they are, and 0, where wheels are not slow.
    """
    found = [refreshed([stretch.channels[wheel] for stretch in stretches]) for wheel in WHEELS]
    holds = [held for _, held in found if held > 0.0]
    if not holds:
        return list(stretches), 0.0
    changed = []
    for i, stretch in enumerate(stretches):
        masks = [new[i] for new, _ in found]
        speeds = [
            interpolated(stretch.channels[wheel], new)
            for wheel, new in zip(WHEELS, masks, strict=True)
        ]
        body = dict(zip(("v", "w"), geometry.body_velocity(*speeds), strict=True))
        channels = {axis: body[axis] for axis in axes}
        channels[FRESH] = np.logical_or(*masks).astype(float)
        changed.append(replace(stretch, channels={**stretch.channels, **channels}))
    return changed, stretches[0].period * float(np.mean(holds))
