"""Recordings as streams: blocks of samples, so that hours need no more memory than minutes.

A source is a file, or several files of one clock. Samples that belong to one instant (the columns
of a CSV file, the fields of a message) come in blocks together; what has instants of its own
(another topic) comes in blocks of its own, told apart by the channels that they hold. All is SI,
in the frame base_link (x forward, yaw counter-clockwise).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BLOCK = 4096
"""Samples in a block at most."""

COMMANDS = ("command_v", "command_w", "command_left", "command_right")
"""Channels that hold until the next sample: m/s, rad/s, and wheel torques in N m."""
MEASURED = (
    "v",
    "w",
    "left_position",
    "right_position",
    "left_velocity",
    "right_velocity",
    "left_effort",
    "right_effort",
)
"""Channels that were measured at the sample: m/s, rad/s, rad, rad/s, and N m of the wheels."""


@dataclass(frozen=True)
class Block:
    """Samples of one stream, in the order in which they were recorded.

    Attributes:
        times: shape (n,), s; may step back, where the recording does.
        channels: of each channel its values, shape (n,); names as in COMMANDS and MEASURED.
    """

    times: Array
    channels: Mapping[str, Array]


@dataclass(frozen=True)
class Progress:
    """How far a source has been read, in units of its own (bytes, or messages)."""

    done: int
    total: int


class Source(Protocol):
    """A recording that can be read once, from its beginning.

    Attributes:
        name: for people: the file, and the topics or columns.
        channels: that its blocks hold.
        warnings: what was odd so far, such as a file that ends early.
    """

    name: str
    channels: tuple[str, ...]
    warnings: list[str]

    def blocks(self) -> Iterator[Block]:
        """The samples.

        Raises:
            RecordingError: nothing can be read. What is damaged later ends the stream with a
                warning instead.
        """

    @property
    def progress(self) -> Progress:
        """How far `blocks` has come."""


class RecordingError(ValueError):
    """A recording cannot be used; the text says why, and what to do."""


def merged(sources: Iterable[Source]) -> Iterator[Block]:
    """Blocks of several sources, of which the one that lags behind in time is read next."""
    waiting = [(-np.inf, i, source.blocks()) for i, source in enumerate(sources)]
    while waiting:
        behind = min(waiting)
        waiting.remove(behind)
        block = next(behind[2], None)
        if block is not None:
            newest = float(block.times[-1]) if len(block.times) else behind[0]
            waiting.append((newest, *behind[1:]))
            yield block


# ---
# What of a recording was left out, and why.

GAP = "samples missing"
BACKWARDS = "time steps back"
DOUBLED = "stamps that do not increase"
NOT_FINITE = "values that are not finite"
NO_COMMAND = "no command known"
STANDSTILL = "standstill"
SHORT = "pieces too short"
FILTERED = "rows that --where leaves out"


class Losses:
    """Adds up times and numbers, by reason.

    Attributes:
        seconds: of recording time left out, by reason, s.
        counts: how many times, by reason.
    """

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.counts: Counter[str] = Counter()

    def add(self, reason: str, seconds: float = 0.0, count: int = 1) -> None:
        """Count something left out: for so long (s), so many times."""
        if count:
            self.seconds[reason] += seconds
            self.counts[reason] += count

    def lines(self) -> list[str]:
        """One line for each reason, what cost most time first."""
        found = sorted(self.counts, key=lambda reason: -self.seconds[reason])
        return [
            f"{reason}: {self.counts[reason]} ×"
            + (f", {self.seconds[reason]:.1f} s" if self.seconds[reason] else "")
            for reason in found
        ]


# ---
# The samples of one stream that are not used up yet.

# A step back by less is a sample out of order; by more the clock was set back, s.
SET_BACK = 0.5

# Share of repeated samples beyond which a sensor is slower than its recording.
REPEATED = 0.3

Runs = list[tuple[float, float]]


class StreamBuffer:
    """Keeps samples in the order of time.

    Args:
        names: channels of the stream.
        losses: counts what is refused.
    """

    def __init__(self, names: tuple[str, ...], losses: Losses) -> None:
        self._names = names
        self._losses = losses
        self.clear()

    def __len__(self) -> int:
        return len(self._times)

    @property
    def oldest(self) -> float:
        """First instant, s."""
        return float(self._times[0])

    @property
    def newest(self) -> float:
        """Last instant, s."""
        return float(self._times[-1])

    def last_until(self, instant: float) -> float:
        """The last sample up to an instant, s; the instant itself where there is none."""
        index = int(np.searchsorted(self._times, instant, side="right"))
        return float(self._times[index - 1]) if index else instant

    def clear(self) -> None:
        """Forget everything."""
        self._times = np.empty(0)
        self._values = {name: np.empty(0) for name in self._names}

    def parts(self, block: Block) -> Iterator[Block]:
        """The finite samples of a block, split where time is set back."""
        finite = np.isfinite(block.times)
        for name in self._names:
            finite &= np.isfinite(block.channels[name])
        self._losses.add(NOT_FINITE, count=int(np.sum(~finite)))
        times = block.times[finite]
        edges = [0, *(np.flatnonzero(np.diff(times) < -SET_BACK) + 1), len(times)]
        for a, b in zip(edges[:-1], edges[1:], strict=True):
            if b > a:
                values = {name: block.channels[name][finite][a:b] for name in self._names}
                yield Block(times[a:b], values)

    def steps_back(self, part: Block) -> bool:
        """Whether this begins before what is there, as after a reset of the clock."""
        back = len(self) > 0 and part.times[0] < self.newest - SET_BACK
        if back:
            self._losses.add(BACKWARDS)
        return back

    def append(self, part: Block) -> None:
        """Keep what is newer than all before."""
        last = self.newest if len(self) else -np.inf
        highest = np.maximum.accumulate(np.concatenate(([last], part.times)))
        newer = part.times > highest[:-1]
        self._losses.add(DOUBLED, count=int(np.sum(~newer)))
        self._times = np.concatenate((self._times, part.times[newer]))
        for name in self._names:
            self._values[name] = np.concatenate((self._values[name], part.channels[name][newer]))

    def spacing(self) -> float:
        """Median time between samples, s; NaN where there are too few."""
        return float(np.median(np.diff(self._times))) if len(self) > 2 else float("nan")

    def instants(self, begin: float, end: float) -> Array:
        """Times of the samples from `begin` to `end`, s."""
        return self._times[(self._times >= begin) & (self._times <= end)]

    def runs(self, until: float, longest: float, holds: bool) -> Runs:
        """Intervals in which the stream is known, up to an instant.

        Args:
            until: instant, s.
            longest: time between samples that is bridged, or for which one holds, s.
            holds: whether the last sample holds on.
        """
        times = self._times[self._times <= until]
        if not len(times):
            return []
        breaks = np.flatnonzero(np.diff(times) > longest)
        begins = times[np.concatenate(([0], breaks + 1))]
        ends = times[np.concatenate((breaks, [len(times) - 1]))]
        if holds:
            ends = np.minimum(ends + longest, until)
        return list(zip(begins.tolist(), ends.tolist(), strict=True))

    def at(self, instants: Array) -> dict[str, Array]:
        """Values at instants that lie inside the runs; of commands, means over what follows."""
        found = {}
        for name in self._names:
            if name in COMMANDS:
                found[name] = self._means(name, instants)
            elif self._is_refreshed_slowly(name):
                nearest = np.searchsorted(0.5 * (self._times[1:] + self._times[:-1]), instants)
                found[name] = self._values[name][nearest]
            else:
                found[name] = np.interp(instants, self._times, self._values[name])
        return found

    def _is_refreshed_slowly(self, name: str) -> bool:
        """Whether a sensor repeats itself: who fits a model must see which samples are new."""
        values = self._values[name]
        moving = values[1:] != 0.0
        repeated = np.sum(moving & (values[1:] == values[:-1]))
        return bool(repeated > REPEATED * max(1, np.sum(moving)))

    def _means(self, name: str, instants: Array) -> Array:
        """Means of a held channel over the periods between instants."""
        times, values = self._times, self._values[name]
        last = max(float(instants[-1]), float(times[-1])) + 1.0
        knots = np.append(times, last)
        total = np.concatenate(([0.0], np.cumsum(values * np.diff(knots))))
        means = np.diff(np.interp(instants, knots, total)) / np.diff(instants)
        return np.append(means, means[-1])

    def forget(self, until: float) -> None:
        """Drop what is older; the last sample before stays, as later ones refer to it."""
        keep = max(0, int(np.searchsorted(self._times, until, side="right")) - 1)
        self._times = self._times[keep:]
        self._values = {name: values[keep:] for name, values in self._values.items()}


def common(all_runs: Sequence[Runs]) -> Runs:
    """Intervals that all have in common, each list in the order of time."""
    if not all_runs:
        return []
    found = all_runs[0]
    for runs in all_runs[1:]:
        both: Runs = []
        i = j = 0
        while i < len(found) and j < len(runs):
            begin, end = max(found[i][0], runs[j][0]), min(found[i][1], runs[j][1])
            if begin < end:
                both.append((begin, end))
            if found[i][1] < runs[j][1]:
                i += 1
            else:
                j += 1
        found = both
    return found
