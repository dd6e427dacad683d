# SPDX-License-Identifier: Apache-2.0
"""Two sources of one robot's states, and similar situations that are no second source."""

from __future__ import annotations

import math
from collections.abc import Callable
from copy import deepcopy
from dataclasses import replace
from typing import Any

from sensor_msgs.msg import JointState

from diffbot_node import seconds, to_stamp
from diffbot_sim.faults.fault import Fault
from faults.bus_time import nanoseconds
from faults.bus_topics import BusTimer
from faults.robots import PERIOD
from faults.row import Outcome, Promise
from faults.rows.making import INSTANT, borne, rows
from faults.rows.stopping import enable
from faults.scene import (
    BACKSTEP,
    DRIVERS,
    FAULT,
    IDENT,
    NOBODY_DRIVES,
    VELOCITY_DRIVERS,
    Scene,
    Subject,
)

GROUP = "Two sources"
ALONE = "One source"
ALL = (*DRIVERS, *VELOCITY_DRIVERS)
BOTH = (IDENT, BACKSTEP)
SECONDS = 1.0  # duration of the second source, s
MISLED = (0.5, 0.3)  # bounds of the error afterwards, m or m/s
PHASE = 0.0037  # delay of the second source after the robot, s

Change = Callable[[Any, float], None]
"""Makes what a second source says of the robot's newest state and of the time, s."""


# Messages of the second source.


def _stamped(ahead: float) -> Change:
    def change(message: Any, now: float) -> None:
        message.header.stamp = to_stamp(seconds(message.header.stamp) + ahead)

    return change


def _now(message: Any, now: float) -> None:
    message.header.stamp = to_stamp(now)


def _always_of(stamp: float) -> Change:
    def change(message: Any, now: float) -> None:
        message.header.stamp = to_stamp(stamp)

    return change


def _moved(angle: Callable[[float], float], stamp: Change = _now) -> Change:
    """Shift the wheel angles or the position by a function of time, rad or m."""

    def change(message: Any, now: float) -> None:
        stamp(message, now)
        if isinstance(message, JointState):
            message.position = [angle(now), 0.5 * angle(now)]
        else:
            message.pose.pose.position.x = angle(now)

    return change


def _broken(value: float) -> Change:
    def change(message: Any, now: float) -> None:
        _now(message, now)
        if isinstance(message, JointState):
            message.position = [value, value]
        else:
            message.pose.pose.position.x = value

    return change


def _short(message: Any, now: float) -> None:
    _now(message, now)
    if isinstance(message, JointState):
        message.position = message.position[:1]
    else:
        message.header.frame_id = "elsewhere"


class Second:
    """Publishes states of the robot in addition to its driver.

    Args:
        scene: Running scene.
        change: Makes its messages from the robot's newest state.
        period: Period of the messages, s.
        relayed: Whether it uses the robot's own publisher, as after a relay that merges topics;
            otherwise it is a separate node.

    Attributes:
        said: Whether it has published yet.
        newest: The robot's newest state; None before the first.
    """

    def __init__(self, scene: Scene, change: Change, period: float, relayed: bool) -> None:
        robot, bus = scene.robot, scene.bus
        self.newest: Any = None
        self.said = False
        self._bus, self._change, self._says = bus, change, True

        def driver(message: Any) -> tuple[Any]:
            self.newest = message
            return (message,)

        robot.driver = driver
        kind = robot.states.msg_type
        self._topic = robot.states if relayed else bus.publisher(kind, scene.subject.states)
        first = bus.now_ns + nanoseconds(PERIOD + PHASE)
        BusTimer(bus, None, nanoseconds(period), self._say, first)

    def _say(self) -> None:
        if self._says and self.newest is not None:
            message = deepcopy(self.newest)
            self._change(message, self._bus.time)
            self._topic.publish(message)
            self.said = True

    def end(self) -> None:
        """Stop publishing; its publisher stays, as after SIGKILL."""
        self._says = False


def _two(change: Change, period: float = PERIOD, relayed: bool = False, start: bool = False):
    """A second source appears in mid-run, or from the start."""

    def run(subject: Subject, engine: str) -> Outcome:
        # The second source's wheel angles remain in the controller's odometry.
        bounds = MISLED if subject.references else subject.bounds
        with Scene(replace(subject, bounds=bounds), engine) as scene:
            if not start:
                scene.advance(FAULT - PHASE + INSTANT)
            second = Second(scene, change, period, relayed)
            since = scene.bus.time + PERIOD + PHASE - INSTANT
            scene.advance(since + SECONDS)
            result = [] if scene.member.node.stopped_by else ["it is not stopped"]
            second.end()
            scene.advance(since + SECONDS + 0.5)
            outcome = scene.zero(since, scene.bus.time, "two sources tell", subject.states)
            if start:  # possibly no time for any torque
                kept = tuple(text for text in outcome.problems if text != NOBODY_DRIVES)
                outcome = replace(outcome, problems=kept)
            if not enable(scene, True):
                result.append("not enabled after the second source fell silent")
            scene.advance(scene.bus.time + 3.0)
            after = scene.on(since)
            problems = (*outcome.problems, *result, *after.problems)
            return replace(outcome, problems=problems)

    return run


def _bolts(now: float) -> float:
    return 3.0 * math.sin(40.0 * now)


BEGUN = FAULT - 0.5
SOURCES: tuple[tuple[str, Change, float], ...] = (
    ("the same 5 ms ahead", _stamped(0.005), PERIOD),
    ("the same 35 ms ahead", _stamped(0.035), PERIOD),
    ("the same 500 ms ahead", _stamped(0.5), PERIOD),
    ("the same 35 ms behind", _stamped(-0.035), PERIOD),
    ("equal stamps, elsewhere", _moved(lambda now: 0.3, _stamped(0.0)), PERIOD),
    ("one old stamp again and again", _always_of(BEGUN), PERIOD),
    ("a robot that stands", _moved(lambda now: 0.0), PERIOD),
    ("a robot that stands, 250 Hz", _moved(lambda now: 0.0), 0.004),
    ("a robot that stands, 30 Hz", _moved(lambda now: 0.0), 0.033),
    ("a robot that stands, 2 Hz", _moved(lambda now: 0.0), 0.5),
    ("a robot that moves otherwise", _moved(_bolts), PERIOD),
    ("NaN", _broken(math.nan), PERIOD),
    ("infinity", _broken(math.inf), PERIOD),
    ("1e300", _broken(1e300), PERIOD),
    ("messages of another shape", _short, PERIOD),
)
TOGETHER = {
    *("the same 35 ms ahead", "the same 500 ms ahead", "the same 35 ms behind"),
    *("equal stamps, elsewhere", "one old stamp again and again", "a robot that stands"),
    *("a robot that moves otherwise", "NaN", "messages of another shape"),
}
"""Those that show through one publisher, by content alone."""


# Situations without a second source.


def _other_joints(subject: Subject, engine: str) -> Outcome:
    """An arm publishes its joints on the same topic, at its own rate and with its own clock."""
    with Scene(subject, engine) as scene:
        topic = scene.bus.publisher(JointState, subject.states)

        def say() -> None:
            message = JointState(name=["shoulder", "elbow"], position=[math.nan, 1e9])
            message.header.stamp = to_stamp(scene.bus.time - 3.0)
            topic.publish(message)

        BusTimer(scene.bus, None, nanoseconds(0.0073), say, scene.bus.now_ns)
        scene.advance(FAULT + SECONDS)
        return _unstopped(scene)


def _silent(subject: Subject, engine: str) -> Outcome:
    """A silent publisher, as DDS counts one that was killed with SIGKILL."""
    with Scene(subject, engine) as scene:
        scene.advance(FAULT)
        scene.bus.publisher(scene.robot.states.msg_type, subject.states)
        scene.advance(FAULT + SECONDS)
        return _unstopped(scene)


def _driver_restarts(subject: Subject, engine: str) -> Outcome:
    """Another process publishes the states from now on; the old publisher is still counted.

    A person may be at the robot by now: it stands until enabled.
    """
    with Scene(subject, engine) as scene:
        scene.advance(FAULT)
        robot = scene.robot
        robot.states = scene.bus.publisher(robot.states.msg_type, subject.states)
        scene.advance(FAULT + SECONDS)
        stopped = scene.member.node.stopped_by
        result = [] if "driver was restarted" in stopped else [f"stopped by '{stopped}'"]
        outcome = scene.zero(FAULT, scene.bus.time, "driver was restarted", subject.states)
        if not enable(scene, True):
            result.append("not enabled")
        scene.advance(scene.bus.time + 3.0)
        after = scene.on(FAULT)
        return replace(outcome, problems=(*outcome.problems, *result, *after.problems))


def _glitches(subject: Subject, engine: str) -> Outcome:
    """Single glitches half a second apart: corrupt, late, doubled, angle, gap, clock step."""
    field = "position" if subject.states == "joint_states" else "pose.pose.position.x"
    at = [FAULT + 0.5 * k - 0.002 for k in range(6)]
    topic, stamp = subject.states, ("header.stamp",)
    faults = (
        Fault(topic, "garbage", at[0], 0.004, fields=(field,), value="nan"),
        Fault(topic, "delayed", at[1], 0.004, delay=0.012, overtake=True),
        Fault(topic, "intermittent", at[2], 0.004, probability=1.0, copies=3),
        Fault(topic, "wrong", at[3], 0.004, fields=(field,), offset=5.0),
        Fault(topic, "off", at[4], 0.2),
        Fault(topic, "wrong", at[5], fields=stamp, offset=0.02),
    )
    with Scene(subject, engine, faults=faults) as scene:
        scene.advance(at[-1] + 3.0)
        return _unstopped(scene)


def _unstopped(scene: Scene) -> Outcome:
    outcome, why = scene.on(FAULT), scene.member.node.stopped_by
    return replace(outcome, problems=(*outcome.problems, why)) if why else outcome


def _jittering(subject: Subject, engine: str) -> Outcome:
    fault = Fault(subject.states, "delayed", FAULT, 0.6, delay=0.0, jitter=0.03)
    return borne(subject, engine, 0.6, 0.5, fault)


ROWS = (
    *(
        row
        for name, change, period in SOURCES
        for row in (
            *rows(GROUP, name, Promise.ZERO, ALL, _two(change, period)),
            *rows(
                GROUP,
                f"{name}, from the start",
                Promise.ZERO,
                ALL,
                _two(change, period, start=True),
                ("ideal",),
            ),
        )
    ),
    *(
        row
        for name, change, period in SOURCES
        if name in TOGETHER
        for row in rows(
            GROUP,
            f"{name}, merged by a relay",
            Promise.ZERO,
            DRIVERS,
            _two(change, period, relayed=True),
            ("ideal",),
        )
    ),
    *rows(ALONE, "an arm on the same topic", Promise.DRIVES_ON, DRIVERS, _other_joints),
    *rows(ALONE, "a publisher that is silent", Promise.DRIVES_ON, ALL, _silent),
    *rows(ALONE, "the driver is started anew", Promise.ZERO, ALL, _driver_restarts),
    *rows(ALONE, "one glitch of each kind", Promise.DRIVES_ON, ALL, _glitches),
    *rows(ALONE, "states up to 30 ms late", Promise.DRIVES_ON, ALL, _jittering, ("ideal",)),
)
