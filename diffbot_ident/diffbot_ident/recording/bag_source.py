"""Topics of a rosbag2 recording as a stream."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np

from diffbot_ident.recording.bag import Bag
from diffbot_ident.recording.bag_part import Topic
from diffbot_ident.recording.message_fields import Reader, stamp_of
from diffbot_ident.recording.robot_clock import RobotClock
from diffbot_ident.recording.stream import BLOCK, Block, Progress
from diffbot_ident.recording.stream_buffer import SET_BACK

# Messages without a stamp after which a driver is taken for one that gives none. A simulation says
# 0, which is none, until its time runs.
PATIENCE = 5000


@dataclass(frozen=True)
class Feed:
    """A topic and what is read of it.

    Attributes:
        topic: to read.
        channels: that a message gives.
        read: gives their values, or None for a message that has none.
    """

    topic: Topic
    channels: tuple[str, ...]
    read: Reader


class BagSource:
    """Reads topics; see stream.Source. Their blocks end together, so that none runs ahead.

    Args:
        bag: to read; it is used up.
        feeds: topics; stamps of the first one tell the robot's time, so it should be measured.
    """

    def __init__(self, bag: Bag, feeds: tuple[Feed, ...]) -> None:
        self._bag = bag
        self._feeds = {feed.topic.name: feed for feed in feeds}
        self._leading = feeds[0].topic.name
        self._clock = RobotClock()
        self._done = 0
        self._total = sum(feed.topic.count for feed in feeds)
        self.channels = tuple(name for feed in feeds for name in feed.channels)
        self.name = f"{bag.path.name} ({', '.join(self._feeds)})"

    @property
    def warnings(self) -> list[str]:
        """What was odd so far."""
        return self._bag.warnings

    @property
    def progress(self) -> Progress:
        """Messages read, and all."""
        return Progress(self._done, max(self._total, self._done))

    def blocks(self) -> Iterator[Block]:
        """See stream.Source."""
        stamped = self._has_stamps()
        decoders = {name: self._bag.decoder(feed.topic) for name, feed in self._feeds.items()}
        rows: dict[str, list[tuple[float, ...]]] = {name: [] for name in self._feeds}
        for name, logged, data in self._bag.messages(self._feeds):
            self._done += 1
            message = decoders[name](data)
            values = None if message is None else self._feeds[name].read(message)
            if values is None:
                continue
            time = self._time(name, 1e-9 * logged, stamp_of(message), stamped)
            if time is None:
                continue
            kept = rows[name]
            if len(kept) == BLOCK or (kept and time < kept[-1][0] - SET_BACK):
                yield from self._flush(rows)
                kept = rows[name]
            kept.append((time, *values))
        yield from self._flush(rows)

    def _has_stamps(self) -> bool:
        """Whether the leading topic tells the robot's time; else wall time is all there is."""
        look, leading = Bag(self._bag.path), self._feeds[self._leading].topic
        decode = look.decoder(leading)
        messages = look.messages([leading.name])
        try:
            found = (decode(data) for _, _, data in islice(messages, PATIENCE))
            return any(m is not None and stamp_of(m) is not None for m in found)
        finally:
            messages.close()

    def _time(self, name: str, logged: float, stamp: float | None, stamped: bool) -> float | None:
        """Robot time of a message, s; None while it is not known."""
        if name == self._leading and stamp is not None:
            self._clock.stamped(logged, stamp)
        if stamp is not None:
            return stamp
        if self._clock.running:
            return self._clock.time(logged)
        return None if stamped or self._clock.begun else logged

    def _flush(self, rows: dict[str, list[tuple[float, ...]]]) -> Iterator[Block]:
        for name, kept in rows.items():
            if kept:
                table = np.array(kept)
                channels = self._feeds[name].channels
                yield Block(table[:, 0], dict(zip(channels, table[:, 1:].T, strict=True)))
                rows[name] = []
