# SPDX-License-Identifier: Apache-2.0
"""Commands and velocities that are not a robot's: of two nodes, or of no sensor.

A fit would explain them by a gain and a time constant, with narrow intervals.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffbot_recordings.samples import Array, Mask
from diffbot_recordings.segments import Segment
from diffbot_recordings.sent_commands import SentCommands

AXES = (("v", "command_v", "m/s"), ("w", "command_w", "rad/s"))
# Values are the same up to this share of the largest one.
SAME = 1e-6
# A foreign value differs by this share of the largest one, is back at once (s), and occurs so often
# beside so many other values.
APART, AT_ONCE, OFTEN, LEVELS = 0.05, 0.15, 5, 3
# Share of such values that are the same; a value between two foreign ones comes and goes, too.
CONSTANT = 0.4
# Changes of the command to be judged, each by a share of the largest one and followed for a while,
# s; readings between two commands per change that show a robot.
CHANGES, LARGE, FOLLOWED, BETWEEN = 5, 0.2, 1.0, 0.1


def wrong_source(segments: Sequence[Segment]) -> str | None:
    """Return what commands and velocities cannot be, in words; None: they may be a robot's."""
    for velocity, command, unit in AXES:
        pairs = [
            (segment, segment.sent[command])
            for segment in segments
            if command in segment.sent and velocity in segment.channels
        ]
        if not pairs:
            continue
        wrong = _two_nodes(pairs, velocity, command, unit) or _copied(pairs, velocity, command)
        if wrong is not None:
            return wrong
    return None


Pairs = Sequence[tuple[Segment, SentCommands]]


def _two_nodes(pairs: Pairs, velocity: str, command: str, unit: str) -> str | None:
    sent = [(own.times, own.values) for _, own in pairs]
    read = [(segment.times, segment.channels[velocity]) for segment, _ in pairs]
    for name, parts, exact in ((command, sent, True), (velocity, read, False)):
        foreign = _foreign(parts, exact)
        if foreign is None:
            continue
        value, often = foreign
        return (
            f"{name} jumps to {value:.3g} {unit} and back at once {often} times: a second node "
            "publishes it, or a reading that is lost is logged as that; stop that node and record "
            "again, or leave such rows out (--where)"
        )
    return None


def _foreign(parts: Sequence[tuple[Array, Array]], exact: bool) -> tuple[float, int] | None:
    """Return the value that comes and goes at once, and how often it does; None: there is none."""
    largest = max((float(np.abs(values).max(initial=0.0)) for _, values in parts), default=0.0)
    strangers, levels = [], []
    for times, values in parts:
        if len(values) < 3:
            continue
        steps = np.diff(values)
        first, second = steps[:-1], steps[1:]
        noise = 0.0 if exact else 6.0 * float(np.median(np.abs(second - first)))
        least = np.minimum(np.abs(first), np.abs(second))
        gone = np.abs(first + second)
        strange = (
            (first * second < 0.0)
            & (least > max(APART * largest, noise))
            & (gone <= (SAME * largest if exact else np.maximum(0.3 * least, noise)))
            & (times[2:] - times[1:-1] < AT_ONCE)
        )
        strangers += values[1:-1][strange].tolist()
        levels += values[:-2][strange].tolist()
    if len(strangers) < OFTEN:
        return None
    rounded, counts = np.unique(
        np.round(np.array(strangers) / (SAME * largest)), return_counts=True
    )
    value = float(rounded[np.argmax(counts)]) * SAME * largest
    same = np.abs(np.array(strangers) - value) <= SAME * largest
    others = np.unique(np.round(np.array(levels)[same] / (APART * largest)))
    if np.mean(same) < CONSTANT or len(others) < LEVELS:
        return None
    return value, int(np.count_nonzero(same))


def _copied(pairs: Pairs, velocity: str, command: str) -> str | None:
    """Look for readings between an old and a new command: a robot shows some, a copy none."""
    largest = max(float(np.abs(own.values).max(initial=0.0)) for _, own in pairs)
    changes = between = 0
    for segment, own in pairs:
        times, values = segment.times - segment.times[0], segment.channels[velocity]
        changed = own.times[1:][np.abs(np.diff(own.values)) > LARGE * largest]
        changed = changed[changed > 0.0]
        if not len(changed):
            continue
        changes += len(changed)
        latest = np.searchsorted(changed, times, side="right") - 1
        after = (latest >= 0) & (times - changed[np.maximum(latest, 0)] < FOLLOWED)
        between += int(np.count_nonzero(after & ~_is_sent(times, values, own, SAME * largest)))
    if changes < CHANGES or between >= BETWEEN * changes:
        return None
    return (
        f"{velocity} repeats {command} to the last digit over {changes} changes, and has no value "
        "in between: it is computed from the commands (open_loop of diff_drive_controller, a "
        "simulator without a drive), and measures nothing; record odometry of the encoders"
    )


def _is_sent(times: Array, values: Array, own: SentCommands, tolerance: float) -> Mask:
    """Return which readings equal a command that held within FOLLOWED before, shape (n,)."""
    last = np.searchsorted(own.times, times, side="right") - 1
    first = np.searchsorted(own.times, times - FOLLOWED, side="right") - 1
    result = np.zeros(len(times), dtype=bool)
    for back in range(int(np.max(last - first, initial=0)) + 1):
        at = np.maximum(last - back, 0)
        result |= (last - back >= first) & (np.abs(values - own.values[at]) <= tolerance)
    return result
