# SPDX-License-Identifier: Apache-2.0
"""What nodes have that follow references, whatever they command: the references, and their run.

A ReferenceSource subscribes to references, a ReferenceInput says which one holds for a stamp. A
ReferenceRun begins with the first state of the robot for which there is a reference. It ends after
`duration`, or with `leave_with_reference` when nobody publishes references any more.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from geometry_msgs.msg import Pose2D

from arc_odometry import Anomaly, AnomalyKind, Pose
from arc_odometry.joints import RateLimit
from diffbot_msgs.msg import ControllerState, PoseReference
from diffbot_node import CommandNode, CommandParameters, KeptTopic, parameter, seconds
from diffbot_node.kept_topic import await_readers_of
from diffbot_node.robot_messages import create_wall_timer
from pose2d_trajectories import Reference
from pose2d_trajectories.reference import FIELDS

# References as they come: for the stamp of the robot's state, at another pace, late, or wrong.

T = TypeVar("T")
TOLERANCE = 1e-6  # s, between equal stamps
KEPT_REFERENCES = 16  # references; the trajectory node is a few ahead at most


class ReferenceInput(Generic[T]):
    """Gives the reference for a joint state's stamp.

    Either a lasting one (a set point, without a stamp) or a stream of stamped ones. Of a stream
    the one with the joint state's stamp is taken, else the newest before it, advanced to it.

    That a stream has stopped shows in two ways. The newest reference is old by its stamp; or, as
    one that is stamped ahead of time would only be old by its stamp when it is too late, nothing
    has come for as long. That time is counted by the stamps of the states, from the first that was
    answered after a reference came: no clock is read, so a run in lock-step repeats, and may pause.

    Args:
        timeout: age of the newest stamped reference from which on it is refused, s; and how long
            none may come, s.
        advance: what a reference has become after a time, s.
        state_name: what tells the state of the robot, for messages.
        state_age: how old a state may be when it comes, s, >= 0; references of the same clock are
            so far ahead of it. More than `timeout` beyond that is refused.
    """

    def __init__(
        self,
        timeout: float,
        advance: Callable[[T, float], T],
        state_name: str = "joint state",
        state_age: float = 0.0,
    ) -> None:
        self._state_name = state_name
        self._timeout = timeout
        self._furthest = timeout + state_age
        self._advance = advance
        self._lasting: T | None = None
        self._stream: deque[tuple[float, T | ValueError]] = deque(maxlen=KEPT_REFERENCES)
        self._problem: ValueError | None = None
        self._came = False  # since the last state that was answered
        self._heard = self._asked = 0.0  # stamps: first state after one came, last state, s

    def hold(self, reference: T | ValueError) -> None:
        """Take a lasting reference, or the reason why what came is none."""
        self._stream.clear()
        self._lasting = self._problem = None
        if isinstance(reference, ValueError):
            self._problem = reference
        else:
            self._lasting = reference

    def add(self, stamp: float, reference: T | ValueError) -> None:
        """Take a reference for a stamp, s, or the reason why what came is none."""
        self._lasting = self._problem = None
        if self._stream and stamp < self._stream[-1][0]:
            self._stream.clear()  # time was reset
        self._stream.append((stamp, reference))
        self._came = True

    @property
    def empty(self) -> bool:
        """Whether nothing has come yet."""
        return self._lasting is None and self._problem is None and not self._stream

    @property
    def is_stream(self) -> bool:
        """Whether what came last is for a stamp, so that more has to come."""
        return bool(self._stream)

    @property
    def newest(self) -> T | ValueError | None:
        """What came last; None before."""
        return self._stream[-1][1] if self._stream else self._lasting or self._problem

    def reaches(self, stamp: float) -> bool:
        """Whether what is there answers a joint state of this stamp, s, without being advanced."""
        if self._stream:
            return self._stream[-1][0] >= stamp - TOLERANCE
        return not self.empty

    def at(self, stamp: float) -> T | None:
        """The reference for a stamp, s; None while a stream has not begun yet, or nothing came.

        Raises:
            ValueError: what came is not a reference, is too old, is for a time that is far ahead,
                as of another clock, or came too long ago.
        """
        if self._problem is not None:
            raise self._problem
        if not self._stream:
            return self._lasting
        silence, longest = self._silence(stamp)
        self._check_newest(stamp)
        latest = next((e for e in reversed(self._stream) if e[0] <= stamp + TOLERANCE), None)
        if latest is None:
            self._check_beginning(stamp)
            return None
        at, reference = latest
        if isinstance(reference, ValueError):
            raise reference
        age = stamp - at
        self._check_age(age, silence, longest)
        return reference if age <= TOLERANCE else self._advance(reference, age)

    def _check_age(self, age: float, silence: float, longest: float) -> None:
        if age > self._timeout:
            raise ValueError(
                f"the newest reference is {age:.3f} s older than the {self._state_name}, limit "
                f"{self._timeout:g} s: publish references at a higher rate and with the stamps of "
                f"the {self._state_name}s' clock"
            )
        if silence > longest + TOLERANCE:
            raise ValueError(
                f"no reference has come for {silence:.3f} s, limit {longest:g} s, after some that "
                "were ahead of time: publish references at a higher rate and with the stamps of "
                f"the {self._state_name}s' clock"
            )

    def _silence(self, stamp: float) -> tuple[float, float]:
        """How long nothing has come, and how long that may be, s.

        Between two states that are further apart than `timeout` one may be missed: in lock-step
        the one that comes early enough for the next state may come before this one.
        """
        if self._came or stamp < self._heard:  # or time was reset
            self._came, self._heard = False, stamp
        period, self._asked = stamp - self._asked, stamp
        return stamp - self._heard, max(self._timeout, period)

    def _check_newest(self, stamp: float) -> None:
        ahead = self._stream[-1][0] - stamp
        if ahead > self._furthest:
            # Until another comes: its clock is not right because time catches up with it.
            self._problem = ValueError(self._ahead("newest", ahead, self._furthest))
            raise self._problem

    def _check_beginning(self, stamp: float) -> None:
        ahead = self._stream[0][0] - stamp
        if ahead > self._timeout:
            raise ValueError(self._ahead("oldest", ahead, self._timeout))

    def _ahead(self, which: str, ahead: float, limit: float) -> str:
        return (
            f"the {which} reference is {ahead:.3f} s ahead of the {self._state_name}, limit "
            f"{limit:g} s: publish references with the stamps of the {self._state_name}s' clock, "
            "or raise reference_timeout where they are to be so early"
        )


@dataclass(frozen=True)
class ReferenceParameters(CommandParameters):
    """Of nodes that follow references, whatever they command."""

    duration: float = parameter(
        0.0, "robot time after which the node ends, s; 0: never, or with the reference", minimum=0.0
    )
    arrival_time: float = parameter(
        0.0,
        "how much longer than `duration` the node goes on while the robot has not rested at its "
        "set point for a second, robot time, s; 0: no longer",
        minimum=0.0,
    )
    wait_for_reference: bool = parameter(
        False,
        "lock-step: answer each state of the robot only with the reference for its stamp; else "
        "take the newest reference, advanced to the stamp",
    )
    leave_with_reference: bool = parameter(
        False,
        "end when nobody is left who publishes references that more have to follow: with status "
        "0 where the last one stands, else 1",
    )
    reference_timeout: float = parameter(
        0.06,
        "age of the newest stamped reference, by its stamp and since it came, after which zero is "
        "commanded, s",
        above=0.0,
        maximum=10.0,
    )
    listeners: int = parameter(0, "subscribers of ~/status to wait for before starting", minimum=0)


class ReferenceSource(ABC, Generic[T]):
    """Where a node's references come from.

    Args:
        node: follows them; it is connected to its robot.
        topic: that stamped references come on.
        advance: what a reference has become after a time, s.

    Attributes:
        input: where they go.
        stream: full name of the topic.
    """

    def __init__(
        self,
        node: CommandNode[ReferenceParameters],
        topic: str,
        advance: Callable[[T, float], T],
    ) -> None:
        values = node.values
        self._node = node
        self.stream = node.resolve_topic_name(topic)
        self.input = ReferenceInput[T](
            values.reference_timeout, advance, node.state_name, values.input_timeout
        )

    @abstractmethod
    def subscribe(self) -> None:
        """Subscribe to `stream`: the robot can be driven, and references begin when one listens."""

    @abstractmethod
    def at_rest(self, reference: T) -> bool:
        """Whether a reference says that the robot should stand."""

    def arrived(self, pose: Pose) -> bool:
        """Whether the robot is and rests where the reference wants it to stay, by its odometry.

        Args:
            pose: of the robot, m and rad, in the odom frame.

        Returns:
            True, too, where references are no set points.
        """
        return True

    def take(self, stamp: float | None, make: Callable[..., T], values: dict[str, float]) -> None:
        """Take a reference that has come.

        Args:
            stamp: that it is for, s; None: it lasts.
            make: makes a reference of the values, or raises a ValueError that says what is wrong.
            values: fields of the message.
        """
        reference: T | ValueError
        try:
            reference = make(**values)
        except ValueError as error:
            self._node.refused += 1
            reference = ValueError(f"{error}; send another one")
        if stamp is None:
            self.input.hold(reference)
        else:
            self.input.add(stamp, reference)
        self._node.resume()


STANDSTILL = 1e-9  # m/s and rad/s
ARRIVED = (0.01, math.radians(1.0))  # from a set point, m and rad: as reports say "settled"
# A robot that moves by more than this, m and rad, and what one count of an encoder tells, while it
# should stay, still comes nearer.
RESTS = (0.001, math.radians(0.1))


class PoseReferences(ReferenceSource[Reference]):
    """Poses on `~/reference` (diffbot_msgs/PoseReference: a moving reference, stamped).

    Args:
        node: follows them.
        frame: that they have to be in.
        set_points: whether `~/command` (geometry_msgs/Pose2D: a set point, which lasts) counts.
        count: what one count of an encoder tells of way and turn, m and rad, >= 0.
    """

    def __init__(
        self,
        node: CommandNode[ReferenceParameters],
        frame: str,
        set_points: bool = False,
        count: tuple[float, float] = (0.0, 0.0),
    ) -> None:
        super().__init__(node, "~/reference", Reference.after)
        self._frame = frame
        self._rests = (RESTS[0] + count[0], RESTS[1] + count[1])
        self._rest: Pose | None = None  # where the robot came near its set point, or moved to there
        if set_points:  # one that comes early is taken
            node.create_subscription(Pose2D, "~/command", self._on_command, 10)

    def subscribe(self) -> None:
        """Moving references."""
        self._node.create_subscription(PoseReference, "~/reference", self._on_reference, 10)

    def at_rest(self, reference: Reference) -> bool:
        """Whether it stands."""
        return max(abs(reference.v), abs(reference.omega)) <= STANDSTILL

    def arrived(self, pose: Pose) -> bool:
        """See ReferenceSource; within ARRIVED of the goal, and RESTS of where it has been since."""
        goal = self.input.newest
        if self.input.is_stream or not isinstance(goal, Reference):
            return True
        if not _are_near(goal, pose, ARRIVED):
            self._rest = None
            return False
        if self._rest is None or not _are_near(self._rest, pose, self._rests):
            self._rest = pose
            return False
        return True

    def _on_command(self, message: Pose2D) -> None:
        if self._node.count_publishers(self.stream):
            self._node.complain(
                f"set point left out: references come on {self.stream}; stop their publisher first"
            )
            return
        self.take(None, Reference, {name: getattr(message, name) for name in FIELDS[:3]})

    def _on_reference(self, message: PoseReference) -> None:
        fields: dict[str, float] = {name: getattr(message, name) for name in FIELDS}
        given = message.header.frame_id
        if given not in ("", self._frame):
            self._node.complain(
                f"reference in frame '{given}': must be in '{self._frame}'; transform it first"
            )
            fields["x"] = math.nan
        self.take(seconds(message.header.stamp), Reference, fields)


def _are_near(one: Reference | Pose, other: Pose, bounds: tuple[float, float]) -> bool:
    """Whether two poses are no further apart than so many m and rad."""
    way = math.hypot(one.x - other.x, one.y - other.y)
    turn = abs(math.remainder(one.theta - other.theta, math.tau))
    return way < bounds[0] and turn < bounds[1]


STAY = 1.0  # s that a robot has to be at its set point to have arrived
ROUNDING = 1e-6  # of stamps, s: it must not add a control period
STATE_RATE = 10.0  # messages on ~/state per s of robot time
LOOK_PERIOD = 0.05  # s of wall time between two looks at who is there


class ReferenceRun:
    """The run of a node that follows references: begin, pace and end.

    Args:
        node: whose run it is.
        references: that are followed.
        kept_topics: gives the topics that a report must have every message of.
        publish_state: publishes `~/state`: stamp of the newest state of the robot (s), phase,
            message.
        lone_topics: names of topics besides the references' that one node alone may publish.

    Attributes:
        newest: stamp of the newest state of the robot, s.
    """

    def __init__(
        self,
        node: CommandNode[ReferenceParameters],
        references: ReferenceSource[Any],
        kept_topics: Callable[[], tuple[KeptTopic, ...]],
        publish_state: Callable[[float, int, str], None],
        lone_topics: tuple[str, ...] = (),
    ) -> None:
        self._node, self._values, self._references = node, node.values, references
        self._kept_topics, self._publish_state = kept_topics, publish_state
        self._lone_topics = (references.stream, *lone_topics)
        self.newest = 0.0
        self._start: float | None = None
        self._ended = False
        self._arrival: float | None = None  # since when the robot is at its set point, s
        self._left_since: float | None = None
        self._subscribed = False
        self._said = ""
        self._state_rate = RateLimit(STATE_RATE)
        create_wall_timer(node, LOOK_PERIOD, self._look_around)

    @property
    def began(self) -> bool:
        """Whether the robot has begun to be driven."""
        return self._start is not None

    @property
    def elapsed(self) -> float:
        """Robot time since the robot began to be driven, s."""
        return 0.0 if self._start is None else self.newest - self._start

    # What the node has to wait for.

    def waits_for(self) -> str:
        """Which listeners are missing before anything may be commanded; empty when none are."""
        for topic in self._kept_topics():
            if missing := topic.missing(self._values.listeners):
                return missing
        return ""

    def has_left(self) -> str:
        """That the report is gone that the run waited for; empty while it is not."""
        for topic in self._kept_topics():
            if left := topic.left_by(self._values.listeners):
                return left
        return ""

    def awaits(self, stamp: float) -> str:
        """In lock-step: listeners that have fallen behind, and the reference for a stamp, s."""
        if not self._values.wait_for_reference:
            return ""
        for topic in self._kept_topics():
            if behind := topic.holds():
                return behind
        if self._references.input.reaches(stamp):
            return ""
        name, stream = self._node.state_name, self._references.stream
        return f"no reference for the {name} of {stamp:.3f} s on {stream}"

    # Its time.

    def advance_to(self, stamp: float, anomaly: Anomaly | None) -> None:
        """Take the time of a sample, s.

        Raises:
            ValueError: the sample is odd, and to be refused.
        """
        if anomaly is not None and anomaly.kind is AnomalyKind.RESET and self._start is not None:
            self._start += stamp - self.newest
        if anomaly is None or anomaly.kind is not AnomalyKind.LATE:
            self.newest = stamp
        if anomaly is not None:
            if anomaly.kind is AnomalyKind.RESTART and not self._node.loop.clock.is_simulated:
                self._node.loop.output.stop(anomaly.text)
            raise ValueError(anomaly.text)

    def begin(self, stamp: float) -> bool:
        """Whether the run begins with this stamp, s, as it has not begun yet."""
        begins = self._start is None
        if begins:
            self._start = stamp
        return begins

    def ends_now(self, arrived: bool = True) -> bool:
        """Whether the `duration` is over; the node then ends.

        Args:
            arrived: whether the robot is where it should stay; unless it has been so for STAY,
                `arrival_time` is added.
        """
        if not arrived:
            self._arrival = None
        elif self._arrival is None:
            self._arrival = self.elapsed
        stays = self._arrival is not None and self.elapsed - self._arrival >= STAY - ROUNDING
        longest = self._values.duration + (0.0 if stays else self._values.arrival_time)
        over = self._values.duration > 0.0 and longest <= self.elapsed + ROUNDING
        if over:
            self._end(ControllerState.DONE, 0, "")
        return over

    def tell_state(self, stamp: float) -> None:
        """Publish now and then that the robot is driven."""
        if self._start is not None and self._state_rate.due(stamp):
            self._said = ""
            self._publish_state(self.newest, ControllerState.DRIVING, "")

    def crowd(self, topic: str) -> str:
        """What is wrong where more than one node publishes a topic; empty where none does."""
        if self._node.count_publishers(topic) <= 1:
            return ""
        return (
            f"more than one node publishes {topic}; stop all but one (a node that was killed "
            "outright counts for some 20 s more)"
        )

    # The end.

    def _look_around(self) -> None:
        """Say what is waited for, and notice when the reference has left."""
        node = self._node
        if node.exit_code is not None:
            return
        if not self._subscribed and not node.waits_for():
            self._subscribed = True
            self._references.subscribe()
        for topic in self._lone_topics:
            if crowd := self.crowd(topic):
                node.complain(crowd)
        if self._start is None or node.stopped_by:
            self._publish_waiting()
        if self.began and self._values.leave_with_reference and self._reference_left():
            self._end_without_reference()

    def _publish_waiting(self) -> None:
        text = self._node.stopped_by or self._node.waits_for() or "a reference"
        if text != self._said:
            self._said = text
            self._publish_state(self.newest, ControllerState.WAITING, text)

    def _reference_left(self) -> bool:
        """Whether nobody has published references for two looks, though more are needed."""
        references = self._references
        in_lock_step = self._values.wait_for_reference
        needed = self._lacks_reference() if in_lock_step else references.input.is_stream
        if self._node.count_publishers(references.stream) or not needed:
            self._left_since = None
        elif self._left_since is None:
            self._left_since = time.monotonic()
        return self._left_since is not None and time.monotonic() - self._left_since > LOOK_PERIOD

    def _lacks_reference(self) -> bool:
        """Whether a sample waits for its reference; it may wait for something else."""
        pending = self._node.pending
        return pending is not None and not self._references.input.reaches(pending.stamp)

    def _end_without_reference(self) -> None:
        newest = self._references.input.newest
        if not isinstance(newest, ValueError) and self._references.at_rest(newest):
            self._end(ControllerState.DONE, 0, "")
            return
        self._end(
            ControllerState.STOPPED, 1, "the reference's publisher left while it was in motion"
        )

    def _end(self, phase: int, exit_code: int, message: str) -> None:
        self._ended = True
        self._node.finish(
            exit_code, f"{message or 'done'} after {self.elapsed:.2f} s of robot time"
        )
        self._publish_state(self.newest, phase, message)

    def close(self) -> None:
        """On every way out, after zero has gone out: say why, and wait until all have heard it."""
        node = self._node
        if not self._ended:
            self._publish_state(self.newest, ControllerState.STOPPED, node.interruption())
        await_readers_of(self._kept_topics(), node.exit_code is not None)
        for publisher in node.publishers:
            if publisher.topic_name == node.resolve_topic_name("~/state"):
                node.await_arrival(publisher)
