# SPDX-License-Identifier: Apache-2.0
"""The record of a run in real time, and the effect of a fault computed from it; without ROS.

Wall times are sending times, s since 1970, so that neither transport nor a slow subscriber affects
them. Robot time comes from the stamps of the joint states.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from dataclasses import dataclass, field
from itertools import pairwise

Pair = tuple[float, float]
ZERO: Pair = (0.0, 0.0)


def largest(torques: list[Pair]) -> float:
    """Return the largest magnitude of a torque in a list of pairs; NaN if one is; 0 for none."""
    sizes = [abs(value) for pair in torques for value in pair]
    return math.nan if any(map(math.isnan, sizes)) else max(sizes, default=0.0)


@dataclass(frozen=True)
class Measured:
    """Effect of a fault on the wheels up to a later time.

    Attributes:
        time_to_zero: Robot time from the fault until zero was sent permanently and, according to
            the joint states, if any, acts on the wheels, s; None: the last command was not zero.
        worst_torque: Largest torque sent or acting after the fault, N m; NaN if one was NaN.
    """

    time_to_zero: float | None
    worst_torque: float


@dataclass
class Record:
    """Commands on the wheels' topic and joint states, in the order of arrival.

    Attributes:
        period: Period of the joint states, s.
        sent: Wall times of the commands, s.
        torques: The commands, [left, right], N m.
        reported: Wall times of the joint states, s.
        stamps: Stamps of the joint states, s.
        efforts: Torques that acted in the period before each joint state, [left, right], N m.
    """

    period: float
    sent: list[float] = field(default_factory=list)
    torques: list[Pair] = field(default_factory=list)
    reported: list[float] = field(default_factory=list)
    stamps: list[float] = field(default_factory=list)
    efforts: list[Pair] = field(default_factory=list)

    def add_command(self, wall: float, torque: Pair) -> None:
        """Add a command."""
        self.torques.append(torque)
        self.sent.append(wall)

    def add_state(self, wall: float, stamp: float, effort: Pair) -> None:
        """Add a joint state."""
        self.stamps.append(stamp)
        self.efforts.append(effort)
        self.reported.append(wall)

    def robot_time(self, wall: float) -> float:
        """Return the robot time at a wall time, s; extrapolated at the wall's rate at the end."""
        after = bisect_right(self.reported, wall)
        if after == 0:
            return -math.inf
        before = after - 1
        stamp, lag = self.stamps[before], wall - self.reported[before]
        if after == len(self.reported) or self.stamps[after] < stamp:
            return stamp + lag
        fraction = lag / (self.reported[after] - self.reported[before])
        return stamp + fraction * (self.stamps[after] - stamp)

    def elapsed(self, since: float, until: float) -> float:
        """Return robot time between two wall times, s; wall time if the simulation restarted."""
        reported = self.stamps[
            bisect_right(self.reported, since) - 1 : bisect_right(self.reported, until)
        ]
        if any(b < a for a, b in pairwise(reported)):
            return until - since
        return max(0.0, self.robot_time(until) - self.robot_time(since))

    def between(self, since: float, until: float) -> list[Pair]:
        """Return the commands sent from one wall time to before another."""
        return self.torques[bisect_left(self.sent, since) : bisect_left(self.sent, until)]

    def measure(self, fault: float, until: float) -> Measured:
        """Return the effect of a fault up to a later wall time, s."""
        first, end = bisect_left(self.sent, fault), bisect_left(self.sent, until)
        commands = self.torques[first:end]
        acting = self._acting(fault, until)
        times = [self._zero_sent(fault, first, end), self._zero_acts(fault, acting)]
        known = [time for time in times if time is not None]
        return Measured(
            max(known) if times[0] is not None else None,
            largest([*commands, *(effort for _, effort in acting)]),
        )

    def hurry(self, rate: float, since: float, until: float) -> float:
        """Return the maximum robot time by which a torque was earlier than a rate limit allows, s.

        A change from any earlier command needs its time at the limit; below 0: always slower. A
        change to zero is always allowed.

        Args:
            rate: Largest rate of change of a torque, N m/s.
            since: Wall time of the first command that counts, s.
            until: Wall time after the last one, s.
        """
        worst = -math.inf
        begun: list[float] | None = None
        first, end = bisect_left(self.sent, since), bisect_left(self.sent, until)
        for index in range(max(first - 1, 0), end):
            torque, time = self.torques[index], self.robot_time(self.sent[index])
            costs = [sign * value / rate - time for value in torque for sign in (1.0, -1.0)]
            if torque == ZERO or begun is None:
                begun = costs
                continue
            worst = max(worst, *(new - old for new, old in zip(costs, begun, strict=True)))
            begun = [min(pair) for pair in zip(costs, begun, strict=True)]
        return worst

    def _zero_sent(self, fault: float, first: int, end: int) -> float | None:
        """Return the robot time from the fault to the first of the final zero commands, s."""
        if first == end or self.torques[end - 1] != ZERO:
            return None
        index = end - 1
        while index > first and self.torques[index - 1] == ZERO:
            index -= 1
        return self.elapsed(fault, self.sent[index])

    def _acting(self, fault: float, until: float) -> list[tuple[float, Pair]]:
        """Return stamps and efforts of the periods after the fault, of one simulation."""
        results = []
        start = self.robot_time(fault)
        for index in range(bisect_left(self.reported, fault), bisect_left(self.reported, until)):
            if index and self.stamps[index] < self.stamps[index - 1]:
                break
            if self.stamps[index] - self.period >= start:
                results.append((self.stamps[index], self.efforts[index]))
        return results

    def _zero_acts(self, fault: float, acting: list[tuple[float, Pair]]) -> float | None:
        """Return the robot time from the fault until no torque acts on the wheels any more, s."""
        if not acting:
            return None
        last = max((stamp for stamp, effort in acting if effort != ZERO), default=None)
        return 0.0 if last is None else last - self.robot_time(fault)
