# SPDX-License-Identifier: Apache-2.0
"""Whether a robot that was seen stands. Knows no ROS."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from diffbot_check.observation import JointValues, Observation, TopicNames, TopicStream
from diffbot_node.verdicts import GOOD, Level, Verdict

# How long each topic is seen, and how long the graph is, as topics appear one after the other, s.
WINDOW, SHORTEST = 1.0, 2.0
# What still counts as standing: a joint's turn in that time, rad; speeds of a joint without
# angles, rad/s, and of the robot, m/s and rad/s.
TURN, JOINT_SPEED, SPEED, YAW_RATE = 0.02, 0.05, 0.01, 0.02


def is_long_enough(seen: Observation, topics: TopicNames) -> bool:
    """Whether every topic that tells it was seen for WINDOW."""
    streams = _streams(seen, topics)
    return bool(streams) and seen.seconds >= SHORTEST and all(map(_lasts, streams))


def standstill(seen: Observation, topics: TopicNames) -> Verdict:
    """Return GOOD if every topic that tells it says that the robot stands."""
    streams = [stream for stream in _streams(seen, topics) if _lasts(stream)]
    if not streams:
        return Verdict(
            Level.WAIT,
            f"neither {topics.joint_states} nor {topics.odom} is published, so that nothing says "
            "whether the robot stands; name its topic by --joint-states or --odom",
        )
    for stream in streams:
        if reason := _motion(stream):
            return Verdict(Level.WAIT, f"{stream.topic} says that {reason}; let the robot stand")
    return GOOD


def _streams(seen: Observation, topics: TopicNames) -> list[TopicStream]:
    names = (topics.joint_states, topics.odom)
    return [seen.streams[name] for name in names if name in seen.streams]


def _lasts(stream: TopicStream) -> bool:
    return len(stream.values) >= 3 and stream.arrivals[-1] - stream.arrivals[0] >= WINDOW


def _motion(stream: TopicStream) -> str:
    """Return what moves; empty if nothing does."""
    if not isinstance(stream.values[0], JointValues):
        v, omega = np.max(np.abs(np.asarray(stream.values, dtype=float)), axis=0)
        if v <= SPEED and omega <= YAW_RATE:
            return ""
        return f"the robot moves at up to {v:.3g} m/s, {omega:.3g} rad/s"
    names = stream.values[0].names
    turned = _spread([each.column("position", names) for each in stream.values])
    speeds = _largest([each.column("velocity", names) for each in stream.values])
    for name, turn, speed in zip(names, turned, speeds, strict=True):
        if turn > TURN or np.isnan(turn) and not speed <= JOINT_SPEED:
            if np.isnan(turn) and np.isnan(speed):
                return f"{name} has neither an angle nor a speed"
            return f"{name} turns by {turn:.3g} rad in {WINDOW:g} s, or at {speed:.3g} rad/s"
    return ""


def _spread(rows: Sequence[Sequence[float]]) -> np.ndarray:
    values = np.asarray(rows, dtype=float)
    return np.asarray(values.max(axis=0) - values.min(axis=0))


def _largest(rows: Sequence[Sequence[float]]) -> np.ndarray:
    return np.asarray(np.abs(np.asarray(rows, dtype=float)).max(axis=0))
