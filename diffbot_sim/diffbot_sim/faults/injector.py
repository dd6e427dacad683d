"""The messages of one topic, with faults put on them. It reads no clock and knows no ROS."""

from __future__ import annotations

import copy
import heapq
from collections.abc import Sequence
from itertools import count
from random import Random
from typing import Any

from diffbot_sim.faults.fault import NANOSECONDS, Fault
from diffbot_sim.faults.stages import Parcel, Stage, make_stage

# Messages that wait at most; more are lost, as in any queue, so that memory stays bounded.
CAPACITY = 10_000


class FaultInjector:
    """Takes messages, and gives them back as the faults make them, when their time has come.

    A message passes the faults in the order of the list. Which faults hit it is decided by the time
    at which it is pushed. Chances are drawn for messages during a fault only, and from a source of
    each fault's own: equal messages at equal times with equal seeds give equal results. Without an
    active fault each message comes out as it came, at once.

    Messages come out in the order of their release. Unless a fault lets them overtake, that is the
    order in which they were pushed, also when a delay has ended.

    When time goes back, as after a reset of a simulator, all begins anew and what waited is lost.

    Args:
        faults: of one topic.
        seed: of all chances.

    Attributes:
        active: faults that are on at the newest time told.
        lost: messages that found no room to wait.

    Raises:
        ValueError: the faults are of several topics.
    """

    def __init__(self, faults: Sequence[Fault], seed: int = 0) -> None:
        topics = sorted({fault.topic for fault in faults})
        if len(topics) > 1:
            raise ValueError(f"topic = {', '.join(topics)}: one injector is for one topic")
        self.faults = tuple(faults)
        self.seed = seed
        self.lost = 0
        self.reset()

    def reset(self) -> None:
        """Begin anew: no message waits, chances are as at the first time."""
        self._stages: list[Stage] = [
            make_stage(fault, Random(f"{self.seed}/{fault.topic}/{fault.seed}/{place}"))
            for place, fault in enumerate(self.faults)
        ]
        self._waiting: list[tuple[int, int, Any]] = []
        self._numbers = count()
        self._now: int | None = None
        self._floor = 0  # release of the last message in order, ns
        self.active: tuple[Fault, ...] = ()

    def push(self, now: float, message: Any) -> None:
        """Take a message.

        Args:
            now: time, s.
            message: is copied.

        Raises:
            ValueError: a fault names a field that the message has not.
        """
        time = self._advance(now)
        parcels = [Parcel(copy.deepcopy(message), time)]
        for stage in self._stages:
            parcels = [result for parcel in parcels for result in stage.take(time, parcel)]
        for parcel in parcels:
            self._queue(parcel)

    def due(self, now: float) -> list[Any]:
        """Return the messages whose time has come, in its order.

        Args:
            now: time, s.
        """
        time = self._advance(now)
        ready = []
        while self._waiting and self._waiting[0][0] <= time:
            ready.append(heapq.heappop(self._waiting)[2])
        return ready

    @property
    def next_release(self) -> float | None:
        """Time at which the next message comes out, s; None when none waits."""
        return self._waiting[0][0] / NANOSECONDS if self._waiting else None

    def _advance(self, now: float) -> int:
        # Whole ns: the sum of a time and a delay is the same however it is written.
        time = round(now * NANOSECONDS)
        if self._now is not None and time < self._now:
            self.reset()
        self._now = time
        self.active = tuple(fault for fault in self.faults if fault.covers(time))
        return time

    def _queue(self, parcel: Parcel) -> None:
        if len(self._waiting) >= CAPACITY:
            self.lost += 1
            return
        release = parcel.release
        if not parcel.overtakes:
            release = self._floor = max(release, self._floor)
        heapq.heappush(self._waiting, (release, next(self._numbers), parcel.message))
