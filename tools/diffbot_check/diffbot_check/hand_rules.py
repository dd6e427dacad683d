# SPDX-License-Identifier: Apache-2.0
"""Which wheel is which, and which direction is forward: from a robot that a person pushes.

Nothing is commanded: the person pushes it forward and then turns it to the left. A joint whose
angle falls when pushed forward has the sign -1; in a left turn the right wheel is ahead.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum

import numpy as np

from arc_odometry.number_range import Array
from diffbot_check.check_finding import CheckFinding, Part, Severity
from diffbot_check.joint_rules import columns, file_of, several, sides_of, usable
from diffbot_check.observation import CheckedRobot, TopicStream
from diffbot_description.spoken import spoken

# Turn of a wheel that shows its direction, rad; motion of the odometry that does, m and rad.
TURNED, MOVED = 0.3, (0.03, 0.2)


class Push(Enum):
    """What the person is asked to do."""

    FORWARD = "push the robot forward by 20 cm"
    LEFT = "turn it to the left by a quarter turn"


Begins = Mapping[Push, tuple[float, float]]
"""Begin and end of each push, times of arrival, s."""


def turns_of(stream: TopicStream, names: Sequence[str], within: tuple[float, float]) -> Array:
    """Return how far joints turned between two times of arrival, rad, as published."""
    begin, end = within
    places = [place for place in usable(stream, names) if begin <= stream.arrivals[place] <= end]
    steps = np.diff(columns(stream, places, "position", names), axis=0)
    wrapped = np.remainder(steps + math.pi, math.tau) - math.pi
    total: Array = np.where(np.abs(steps) > math.pi, wrapped, steps).sum(axis=0)
    return total


def moved(stream: TopicStream, within: tuple[float, float]) -> tuple[float, float]:
    """Return distance, m, and angle, rad, of odometry between two times of arrival."""
    begin, end = within
    rows = [
        (stamp, *value)
        for arrival, stamp, value in zip(stream.arrivals, stream.stamps, stream.values, strict=True)
        if begin <= arrival <= end
    ]
    if len(rows) < 2:
        return 0.0, 0.0
    stamps, v, omega = np.array(rows).T
    steps = np.diff(stamps)
    return float(v[1:] @ steps), float(omega[1:] @ steps)


def is_enough(subject: CheckedRobot, push: Push, within: tuple[float, float]) -> bool:
    """Whether the robot has moved so far that the push can be judged."""
    odometry = subject.stream(subject.topics.odom)
    if odometry is not None and odometry.values:
        axis = [*Push].index(push)
        if abs(moved(odometry, within)[axis]) < 2.0 * MOVED[axis]:
            return False
    stream, sides = subject.stream(subject.topics.joint_states), sides_of(subject)
    if stream is None or sides is None:
        return odometry is not None
    turns = np.abs(turns_of(stream, (*sides[0], *sides[1]), within))
    return bool((turns.min() if push is Push.FORWARD else turns.max()) > 2.0 * TURNED)


def pushed(subject: CheckedRobot, pushes: Begins) -> Iterator[CheckFinding]:
    """Yield what is wrong with wheels or odometry of a robot that was pushed."""
    yield from _wheels(subject, pushes)
    yield from _odometry(subject, pushes)


def _wheels(subject: CheckedRobot, pushes: Begins) -> Iterator[CheckFinding]:
    stream, sides = subject.stream(subject.topics.joint_states), sides_of(subject)
    if stream is None or sides is None or not usable(stream, (*sides[0], *sides[1])):
        return
    names = (*sides[0], *sides[1])
    forward, left = (turns_of(stream, names, pushes[push]) for push in Push)
    still = [name for name, turn in zip(names, forward, strict=True) if abs(turn) < TURNED]
    if still:
        alike = len(still) == len(names)
        yield CheckFinding(
            Severity.WARNING if alike else Severity.FAULT,
            Part.WHEELS,
            f"pushed forward, {several(still)} turned by less than {TURNED:g} rad",
            "it was not pushed, or no encoder counts"
            if alike
            else "its encoder does not count, or the wheel was off the ground",
            "repeat it; then check the encoder's cable",
        )
        return
    signs = [1 if turn > 0.0 else -1 for turn in forward]
    count = len(sides[0])
    ahead = np.array(signs) * left
    difference = float(ahead[count:].mean() - ahead[:count].mean())
    if abs(difference) < TURNED:
        yield CheckFinding(
            Severity.WARNING,
            Part.WHEELS,
            f"turned to the left, the wheels differ by {spoken(abs(difference))} rad only",
            "which wheel is the right one is not known",
            "repeat it",
        )
        return
    robot = subject.robot
    described = robot.joints.directions if robot is not None else (1,) * len(names)
    swapped = difference < 0.0
    if not swapped and tuple(signs) == tuple(described):
        return
    reversed_names = [
        name for name, own, sign in zip(names, described, signs, strict=True) if own != sign
    ]
    said = ["left and right are exchanged"] * swapped
    said += [f"{several(reversed_names)} counts the other way"] * bool(reversed_names)
    corrected = [*zip(names, signs, strict=True)]
    if swapped:
        corrected = [*corrected[count:], *corrected[:count]]
    own_left, own_right = (
        ", ".join(name for name, _ in part) for part in (corrected[:count], corrected[count:])
    )
    yield CheckFinding(
        Severity.FAULT,
        Part.WHEELS,
        f"pushed by hand, {' and '.join(said)}",
        "a controller would drive the robot away from where it should go, faster and faster",
        f"joints: {{left: [{own_left}], right: [{own_right}], signs: "
        f"{[sign for _, sign in corrected]}}}   ({file_of(subject)})",
    )


def _odometry(subject: CheckedRobot, pushes: Begins) -> Iterator[CheckFinding]:
    odometry = subject.stream(subject.topics.odom)
    if odometry is None or not odometry.values:
        return
    for axis, (push, wrong) in enumerate(
        ((Push.FORWARD, "backward"), (Push.LEFT, "a turn to the right"))
    ):
        amount = moved(odometry, pushes[push])[axis]
        if amount < -MOVED[axis]:
            yield CheckFinding(
                Severity.FAULT,
                Part.ODOMETRY,
                f"{odometry.topic} says {wrong} when a person did: {push.value}",
                "a controller would drive the robot away from where it should go",
                "in the driver: x forward, angles positive to the left (REP 103)",
            )
        elif amount < MOVED[axis]:
            yield CheckFinding(
                Severity.WARNING,
                Part.ODOMETRY,
                f"{odometry.topic} did not move when a person did: {push.value}",
                "it was not moved, or odometry is computed from commands",
                "repeat it",
            )
