# SPDX-License-Identifier: Apache-2.0
"""Detects whether two sources publish the states of one robot (docs/wheel_faults.md).

**By sender**, if senders are known: another one publishes, and then the previous one again. **By
content**, as a relay or a merged recording is one sender: messages are sorted into lines, in which
stamps rise and wheels turn no faster than wheels can. A message that does not follow its line,
while the line continues without a gap, is surplus. Within a line an angle that returns at once from
where no wheel can have been is a spike; smaller ones count in succession. A single sign raises a
doubt: zero for SETTLING.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from arc_odometry.odometry import MAX_WHEEL_SPEED, wheel_turn
from diffbot_node.senders import Origin, Senders

if TYPE_CHECKING:
    from arc_odometry.number_range import Array

# How long zero is commanded after a doubt, s.
SETTLING = 0.3
# A sender that resumes after another one within this time has not been replaced, s.
RECENT = 1.0
# Longest step of the stamps within a line, and longest time without a message in it, s.
LONGEST_STEP = 0.2
# Surplus messages within WITHIN, s, that prove a second source; the second of several publishers.
TOO_MANY, TOO_MANY_OF_SEVERAL, WITHIN = 3, 2, 5.0
# Spikes within SPIKES_WITHIN, s, that prove a second source.
SPIKES, SPIKES_WITHIN = 4, 1.0
# Small spikes within SMALL_WITHIN, s, that raise a doubt; within SPIKES_WITHIN that prove one.
SMALL_SPIKES, SMALL_WITHIN, MOST_SMALL_SPIKES = 2, 0.1, 12
# Plausible deviation from the neighbours, as a fraction of the turn between them.
FRACTION = 0.3
# Largest resolution that an encoder is credited with, counts per turn.
FINEST = 256
LINES, POINTS = 3, 16  # number of lines, and of points in each, that are kept

Values = tuple[float, ...]
Number = TypeVar("Number", float, "Array")


class Deviation(NamedTuple):
    """Plausible deviation: encoder counts, rad, and wheel acceleration, rad/s^2."""

    counts: float
    rounding: float
    acceleration: float


# Beyond which one sample is a spike, and beyond which several in succession are.
ONCE, OFTEN = Deviation(2.0, 0.01, 1500.0), Deviation(1.5, 0.005, 500.0)


class Finding(NamedTuple):
    """A sign of a second source.

    Attributes:
        text: What was observed, as part of a sentence.
        significant: Whether no single source can cause it.
        replaced: Whether another publisher continues alone: a driver was restarted.
    """

    text: str
    significant: bool
    replaced: bool = False


class _Line:
    """Messages that can follow each other; `number` counts all messages up to its newest."""

    def __init__(self, stamp: float, values: Values) -> None:
        self.points: deque[tuple[float, Values]] = deque([(stamp, values)], maxlen=POINTS)
        self.number, self.came = 0, 0.0
        self._step, self._turn = 0.0, (0.0,) * len(values)

    def turn(self, stamp: float, values: Values) -> Values | None:
        """Return the wheels' turns since the newest message, rad; None if this cannot follow it."""
        last, before = self.points[-1]
        step = stamp - last
        if not 0.0 < step <= LONGEST_STEP or len(values) != len(before):
            return None
        try:
            return tuple(
                wheel_turn("", old, new, MAX_WHEEL_SPEED * step)
                for old, new in zip(before, values, strict=True)
            )
        except ValueError:
            return None

    def misfit(self, step: float, turn: Values) -> float:
        """Return how far a message is from the line's extrapolation, periods of 10 ms plus rad."""
        fraction = step / self._step if self._step else 0.0
        return 100.0 * step + sum(
            abs(new - fraction * old) for new, old in zip(turn, self._turn, strict=True)
        )

    def period(self) -> float:
        """Return the time between two messages if none is lost, s; 0: not known yet."""
        stamps = [stamp for stamp, _ in self.points]
        steps = sorted(after - before for before, after in zip(stamps, stamps[1:], strict=False))
        return steps[len(steps) // 5] if len(steps) > 1 else 0.0

    def misses(self, stamp: float) -> bool:
        """Whether a message of this stamp, s, is missing among the line's last ones."""
        apart = min(abs(stamp - known) for known, _ in self.points)
        among = self.points[0][0] < stamp < self.points[-1][0]
        return among and apart > 0.6 * self.period() > 0.0

    def without_newest(self, stamp: float, values: Values) -> _Line | None:
        """Return a copy in which this message replaces the newest, should that not belong to it."""
        if len(self.points) < 2 or stamp <= self.points[-2][0]:
            return None
        other = _Line(stamp, values)
        other.points = deque([*self.points], maxlen=POINTS)
        other.points[-1] = (stamp, values)
        other.number, other.came = self.number - 1, self.came
        return other

    def add(
        self, stamp: float, values: Values, turn: Values
    ) -> tuple[float, float, Values, Values]:
        result = self._step, stamp - self.points[-1][0], self._turn, turn
        self.points.append((stamp, values))
        self._step, self._turn = result[1], turn
        return result


def spike(
    before: Number,
    after: Number,
    first: Number,
    second: Number,
    count: float,
    plausible: Deviation = ONCE,
) -> Number:
    """Return how far a reading is beyond what a wheel can do between its neighbours, rad.

    Above 0 it is a spike. With arrays, of each element.

    Args:
        before, after: Turns from the reading before, and to the one after it, rad.
        first, second: Times between them, s, > 0.
        count: Resolution of the encoder, rad.
    """
    total, fraction = before + after, first / (first + second)
    acceleration = 0.5 * plausible.acceleration * first * second
    allowed = plausible.counts * count + plausible.rounding + acceleration
    return abs(before - fraction * total) - (allowed + FRACTION * abs(total))


class SourceWatch:
    """Checks each message about the robot for signs of a second source.

    Args:
        publishers: Returns how many nodes publish the topic, called only in doubt.
        counts: Encoder counts per turn; 0: unknown.

    Attributes:
        count: Resolution that the encoder is credited with, rad.
    """

    def __init__(self, publishers: Callable[[], int], counts: int = 0) -> None:
        self._publishers = publishers
        self.count = math.tau / min(counts or FINEST, FINEST)
        self._smallest = math.tau / (counts or FINEST)
        self._senders = Senders()
        self._sender: object = None
        self._heard: dict[object, float] = {}
        self._lines: list[_Line] = []
        self._last: tuple[float, Values] | None = None
        self._number = 0
        self._signs: deque[float] = deque()  # when messages were too many, s
        self._spikes: deque[float] = deque()
        self._small_spikes: deque[float] = deque()
        self._doubt, self._doubted = "", 0.0
        self._replaced: float | None = None  # when another publisher began, s

    @property
    def settled(self) -> bool:
        """Whether all recent messages follow each other."""
        return len(self._lines) == 1

    @property
    def knows_senders(self) -> bool:
        return self._sender is not None

    def update(
        self,
        stamp: float,
        values: Values | None,
        now: float,
        came_from: Origin = None,
        by_content: bool = True,
    ) -> Finding | None:
        """Process a message about the robot; return a new sign of a second source, or None.

        Args:
            values: Wheel angles, rad, or () if only stamps (s) are judged; None: the message is
                broken.
            now: Time of arrival by any monotonic clock, s.
            by_content: Whether stamp and values are looked at; else, only the sender.
        """
        sender = self._senders.identify(came_from)
        finding = self._by_sender(now, sender)
        if finding is None and by_content:
            finding = self._by_content(stamp, values, now, sender)
        if finding is None and self._replaced is not None and now - self._replaced > SETTLING:
            self._replaced = None
            finding = Finding("another publisher sends them now", False, replaced=True)
        if finding is not None:
            self._doubt, self._doubted = finding.text, now
        return finding

    def doubt(self, now: float) -> str:
        """Why zero must be commanded for now; empty without a recent sign of a second source."""
        if self._doubt and self._replaced is None and now - self._doubted > SETTLING:
            self._doubt = ""
        return self._doubt

    def _by_sender(self, now: float, sender: object) -> Finding | None:
        if sender is None:
            return None
        before, self._sender = self._sender, sender
        last = self._heard.pop(sender, None)
        self._heard[sender] = now
        if before in (None, sender):
            return None
        if last is not None and now - last <= RECENT:
            self._replaced = None
            return Finding("two publishers take turns", True)
        self._heard = {key: at for key, at in self._heard.items() if now - at <= RECENT}
        self._replaced = now
        return Finding("another publisher has begun to send them", False)

    def _by_content(
        self, stamp: float, values: Values | None, now: float, sender: object
    ) -> Finding | None:
        if values is None:
            self._number += 1
            return None
        if (stamp, values) == self._last:
            return None  # repeated, as simulators do while they wait
        self._last = (stamp, values)
        self._lines = [line for line in self._lines if now - line.came <= LONGEST_STEP]
        if not self._lines:
            self._begin(stamp, values, now)
            return None
        if len(self._lines) == 1 and (turn := self._lines[0].turn(stamp, values)) is not None:
            return self._follow(0, stamp, values, turn, now, sender)  # the usual case
        followed = [
            (line.misfit(stamp - line.points[-1][0], turn), index, turn)
            for index, line in enumerate(self._lines)
            if (turn := line.turn(stamp, values)) is not None
        ]
        if not followed:
            newest = self._lines[0]
            if not newest.misses(stamp):
                self._begin(stamp, values, now)
            elif other := newest.without_newest(stamp, values):
                # Keep both lines until the next message decides which of the two is the line's.
                self._lines = [newest, other, *self._lines[1 : LINES - 1]]
            return None
        _, index, nearest = min(followed)
        return self._follow(index, stamp, values, nearest, now, sender)

    def _begin(self, stamp: float, values: Values, now: float) -> None:
        self._number += 1
        line = _Line(stamp, values)
        line.number, line.came = self._number, now
        self._lines = [line, *self._lines[: LINES - 1]]

    def _follow(
        self, index: int, stamp: float, values: Values, turn: Values, now: float, sender: object
    ) -> Finding | None:
        line = self._lines.pop(index)
        self._lines.insert(0, line)
        self._number += 1
        others = self._number - line.number - 1
        # Before the message is appended; expensive.
        period, step = line.period() if others else 0.0, stamp - line.points[-1][0]
        line.number, line.came = self._number, now
        added = line.add(stamp, values, turn)
        if others and period and others > max(0, round(step / period) - 1):
            several = sender is None and self._publishers() > 1
            enough = TOO_MANY_OF_SEVERAL if several else TOO_MANY
            significant = _count(self._signs, now, WITHIN) >= enough
            return Finding("messages of two different motions alternate", significant)
        return self._spike(now, *added)

    def _spike(
        self, now: float, first: float, second: float, before: Values, after: Values
    ) -> Finding | None:
        if first <= 0.0:
            return None
        wheels = list(zip(before, after, strict=True))
        is_large = any(spike(*each, first, second, self.count) > 0.0 for each in wheels)
        if not is_large and all(
            spike(*each, first, second, self._smallest, OFTEN) <= 0.0 for each in wheels
        ):
            return None
        small = _count(self._small_spikes, now, SPIKES_WITHIN)
        significant = small >= MOST_SMALL_SPIKES
        if is_large:
            significant |= _count(self._spikes, now, SPIKES_WITHIN) >= SPIKES
        elif small < SMALL_SPIKES or now - self._small_spikes[-SMALL_SPIKES] > SMALL_WITHIN:
            return None
        return Finding("the wheels' angles jump back and forth", significant)


def _count(times: deque[float], now: float, within: float) -> int:
    times.append(now)
    while now - times[0] > within:
        times.popleft()
    return len(times)
