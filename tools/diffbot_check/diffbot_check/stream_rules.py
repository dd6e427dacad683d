# SPDX-License-Identifier: Apache-2.0
"""Rates, pauses and stamps of a topic's messages."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from arc_odometry.joints import LONGER, LONGEST_STEP
from diffbot_check.check_finding import CheckFinding, Part, Severity
from diffbot_check.observation import CheckedRobot, TopicStream
from diffbot_description.spoken import spoken
from diffbot_description.spoken_commands import spoken as spoken_line

# Clocks that differ by less count as one, s; as diffbot_node/state_age.py.
SAME_CLOCK = 1.0
# An unstamped computer's clock is later than this, s: 2001.
EPOCH = 1e9
# Largest deviation of the pace of the stamps from the computer's clock, and least span that shows
# it, s.
PACE, PACE_SPAN = 0.05, 1.0
# Messages that are needed to judge their times.
FEW = 5


def clock_of(stream: TopicStream, simulated: bool) -> str:
    """Return by which clock messages are stamped, in two or three words."""
    if not any(stream.stamps):
        return "no stamps"
    offset = _offset(stream)
    if abs(offset) < SAME_CLOCK:
        return "this clock"
    if simulated:
        return "simulator's clock"
    return "own clock" if stream.stamps[-1] < EPOCH else f"clock {spoken(-offset, 2)} s ahead"


def _offset(stream: TopicStream) -> float:
    """Return how far arrivals are behind stamps, median, s."""
    return float(np.median(np.subtract(stream.arrivals, stream.stamps)))


def rates_and_stamps(subject: CheckedRobot, topic: str, part: Part) -> Iterator[CheckFinding]:
    """Yield findings about the times of the messages that tasks answer."""
    stream = subject.stream(topic)
    if stream is None:
        return
    if stream.count < FEW:
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"{topic}: only {stream.count} messages in {subject.seen.seconds:g} s",
            "a robot is commanded in answer to its states: 20 or more a second are needed",
            f"ros2 topic hz {topic}",
        )
        return
    stamped = list(_stamps(subject, stream, part))
    yield from stamped
    if not any(each.severity is Severity.FAULT for each in stamped):
        yield from _rates(stream, part)


def _stamps(subject: CheckedRobot, stream: TopicStream, part: Part) -> Iterator[CheckFinding]:
    topic, stamps = stream.topic, np.array(stream.stamps)
    if not np.all(stamps > 0.0):
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"{topic}: header.stamp is 0 in {np.mean(stamps <= 0.0):.0%} of the messages",
            "time comes from stamps: no message can be used without one",
            "in the driver: message.header.stamp = node.get_clock().now().to_msg()",
        )
        return
    steps = np.diff(stamps)
    if np.mean(steps <= 0.0) > 0.02:
        kind = "repeat" if np.mean(steps == 0.0) > np.mean(steps < 0.0) else "step back"
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"{topic}: stamps {kind} in {np.mean(steps <= 0.0):.0%} of the messages",
            "each reading needs its own stamp; two publishers, or one that stamps a whole batch",
            spoken_line("echo", topic, "--field", "header.stamp"),
        )
        return
    yield from _against_this_clock(subject, stream, part)


def _against_this_clock(
    subject: CheckedRobot, stream: TopicStream, part: Part
) -> Iterator[CheckFinding]:
    topic, simulated = stream.topic, subject.seen.is_simulated
    span = stream.arrivals[-1] - stream.arrivals[0]
    pace = (stream.stamps[-1] - stream.stamps[0]) / span if span > PACE_SPAN else 1.0
    if abs(pace - 1.0) > PACE:
        ratio = f"{topic}: the stamps advance {spoken(pace, 2)} s in a second of this computer"
        if simulated or subject.seen.recording:
            yield CheckFinding(Severity.NOTE, part, ratio, "the simulator is slower or faster")
        else:
            yield CheckFinding(
                Severity.FAULT,
                part,
                ratio,
                "speeds and accelerations would be wrong by this factor",
                "in the driver: stamp in seconds and nanoseconds of its clock, at the reading",
            )
        return
    offset = _offset(stream)
    late = np.subtract(stream.arrivals, stream.stamps)
    late = late - late.min()
    if simulated or subject.seen.recording:
        return
    if SAME_CLOCK > offset > LONGEST_STEP:
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"{topic}: messages arrive {offset:.3f} s after their stamp",
            f"older than {LONGEST_STEP:g} s they are not answered: zero is commanded instead",
            "chronyc tracking   (on both computers: are their clocks synchronised?)",
        )
    elif abs(offset) >= SAME_CLOCK and stream.stamps[-1] > EPOCH:
        yield CheckFinding(
            Severity.WARNING,
            part,
            f"{topic}: its clock is {spoken(abs(offset))} s "
            f"{'behind' if offset > 0.0 else 'ahead of'} this computer's",
            "ages can then only be compared with each other, and tf rejects the transforms",
            "sudo chronyc makestep   (on the robot)",
        )
    if float(np.quantile(late, 0.98)) > LONGEST_STEP:
        yield CheckFinding(
            Severity.WARNING,
            part,
            f"{topic}: some messages arrive {float(late.max()):.2f} s later than others",
            "a message that comes so late is not answered: the robot gets zero now and then",
            f"ros2 topic delay {topic}",
        )


def _rates(stream: TopicStream, part: Part) -> Iterator[CheckFinding]:
    topic, steps = stream.topic, stream.steps
    usual, longest = float(np.median(steps)), float(steps.max())
    if usual > LONGER * LONGEST_STEP:
        yield CheckFinding(
            Severity.FAULT,
            part,
            f"{topic}: {1.0 / usual:.3g} messages a second",
            f"at least {math.ceil(1.0 / LONGEST_STEP) + 3} are needed; the robot gets zero when "
            "none comes in time",
            "in the driver: publish at 50 Hz or more (ros2_control: update_rate, publish_rate)",
        )
    elif longest > max(LONGER * LONGEST_STEP, 3.0 * usual):
        yield CheckFinding(
            Severity.WARNING,
            part,
            f"{topic}: {1.0 / usual:.3g} Hz, with a pause of {longest:.2f} s",
            "zero is commanded in such a pause",
            f"ros2 topic hz {topic}",
        )
