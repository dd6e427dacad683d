# SPDX-License-Identifier: Apache-2.0
"""References and run of nodes that follow references, for any kind of command."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from std_msgs.msg import Header

from arc_odometry import Anomaly, AnomalyKind, Pose
from arc_odometry.joints import LONGEST_PROGRESS, STAMP_TOLERANCE, RateLimit
from diffbot_controllers.laws.tracking_errors import SETTLED_HEADING, SETTLED_POSITION
from diffbot_controllers.nodes.reference_input import ReferenceInput
from diffbot_description import Robot
from diffbot_description.arena import Arena, reach
from diffbot_msgs.msg import ControllerState, PoseReference
from diffbot_node import CommandNode, CommandParameters, CountedTopic, parameter, seconds, to_stamp
from diffbot_node.presence import Presence
from diffbot_node.robot_messages import create_wall_timer
from diffbot_node.topic_nodes import LATCHED
from diffbot_node.verdicts import GOOD, Level, Verdict
from pose2d_trajectories import Reference
from pose2d_trajectories.pose_message import Pose2D
from pose2d_trajectories.reference import FIELDS

T = TypeVar("T")


@dataclass(frozen=True)
class ReferenceParameters(CommandParameters):
    """Parameters of nodes that follow references, for any kind of command."""

    duration: float = parameter(
        0.0, "robot time after which the node ends, s; 0: never, or with the reference", minimum=0.0
    )
    arrival_time: float = parameter(
        0.0,
        "robot time by which `duration` is extended at most while the robot has not rested at its "
        "set point for a second, s; 0: not extended",
        minimum=0.0,
    )
    wait_for_reference: bool = parameter(
        False,
        "lock-step: answer each state of the robot only with the reference for its stamp; else "
        "take the newest reference, advanced to the stamp",
    )
    leave_with_reference: bool = parameter(
        False,
        "end when no node publishes references any more although further ones are needed: with "
        "status 0 if the last one is at rest, else 1",
    )
    reference_timeout: float = parameter(
        0.06,
        "age of the newest stamped reference, by its stamp and since its arrival, after which "
        "zero is commanded, s",
        above=0.0,
        maximum=10.0,
    )
    arena: str = parameter(
        "none",
        "area that the whole robot must stay in, length x width in m, such as 3x3, around where it "
        "starts, along its heading; if robot or reference leave it, the node ends with status 1; "
        "none: no bound",
    )
    listeners: int = parameter(0, "subscribers of ~/status to wait for before starting", minimum=0)


R_co = TypeVar("R_co", bound=ReferenceParameters, covariant=True)


class ReferenceSource(ABC, Generic[T]):
    """Source of a node's references, stored in `input`; they arrive on `stream` with stamps."""

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
            values.reference_timeout, advance, node.loop.robot.state_name, values.input_timeout
        )

    @abstractmethod
    def subscribe(self) -> None:
        """Subscribe to `stream`, once the robot can be driven; publishers wait for this."""

    @abstractmethod
    def at_rest(self, reference: T) -> bool:
        """Whether a reference is at rest."""

    def arrived(self, pose: Pose) -> bool:
        """Whether the robot rests at its set point, if there is one."""
        return True

    def take(self, stamp: float | None, make: Callable[..., T], values: dict[str, float]) -> None:
        """Process a received reference, made by `make` of the message's fields, or a ValueError.

        `stamp`, s; None: it lasts.
        """
        reference: T | ValueError
        try:
            reference = make(**values)
        except ValueError as error:
            self._node.output.refused += 1
            reference = ValueError(f"{error}; send another one")
        if stamp is None:
            self.input.hold(reference)
        else:
            self.input.add(stamp, reference)
        self._node.loop.resume()


STANDSTILL = 1e-9  # a reference up to this speed, m/s and rad/s, is at rest
ARRIVED = (SETTLED_POSITION, SETTLED_HEADING)  # largest errors at a set point, m and rad
# A robot that moves by more, m and rad plus one encoder count, is still approaching.
RESTS = (0.001, math.radians(0.1))


class PoseReferences(ReferenceSource[Reference]):
    """Poses on `~/reference` (diffbot_msgs/PoseReference: a moving reference, stamped).

    Args:
        frame: Required frame of the references.
        set_points: Whether to accept `~/command` too (geometry_msgs/Pose2D: a lasting set point).
        count: Path and turn per encoder count, m and rad, >= 0.
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
        self._rest: Pose | None = None  # pose near the set point since which the robot rests
        if set_points:  # subscribe at once: an early set point is accepted
            node.create_subscription(Pose2D, "~/command", self._on_command, 10)

    def subscribe(self) -> None:
        self._node.create_subscription(PoseReference, "~/reference", self._on_reference, 10)

    def at_rest(self, reference: Reference) -> bool:
        return max(abs(reference.v), abs(reference.omega)) <= STANDSTILL

    def arrived(self, pose: Pose) -> bool:
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
                f"set point ignored: references arrive on {self.stream}; stop their publisher first"
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
    path = math.hypot(one.x - other.x, one.y - other.y)
    turn = abs(math.remainder(one.theta - other.theta, math.tau))
    return path < bounds[0] and turn < bounds[1]


STAY = 1.0  # time at its set point after which a robot has arrived, s
STATE_RATE = 10.0  # maximum rate of ~/state in robot time, Hz
LOOK_PERIOD = 0.05  # wall time between two checks of publishers and subscribers, s


class ArenaGuard:
    """Tells when a robot, or the reference that it follows, leaves its arena.

    Args:
        text: See Arena.parse, also for errors.
        robot: Its size counts; None: only its axle's midpoint.
    """

    def __init__(self, text: str, robot: Robot | None) -> None:
        self._arena = Arena.parse(text)
        self._reach = 0.0 if robot is None else reach(robot)
        self._room = self._arena.room(self._reach) if self._arena else (math.inf, math.inf)
        self._start: Pose | None = None

    def left(self, pose: Pose, reference: Pose | None) -> str:
        """Return which of them has left the arena, and what to do; empty: none.

        The first pose, m and rad, is where the robot starts.
        """
        if self._arena is None:
            return ""
        if self._start is None:
            self._start = pose
        size = self._arena.length, self._arena.width
        for what, at, spare in (
            ("the robot", pose, self._arena.margin),
            ("the reference", reference, 0.0),
        ):
            if at is None:
                continue
            place = at.relative_to(self._start)
            for axis, name in enumerate(("length", "width")):
                if abs(place[axis]) > self._room[axis] + spare:
                    return (
                        "choose a nearer goal, a smaller trajectory or a larger arena, as "
                        f"{what} is {abs(place[axis]):.2f} m from the start along the arena's "
                        f"{name} of {size[axis]:g} m, of which {self._room[axis]:.2f} m are free "
                        "for the axle,"
                    )
        return ""


class ReferenceRun:
    """The run of a node that follows references, from the first answered state to its end.

    It ends after `duration`, or with the references' publisher.

    Args:
        lone_topics: Further topics, besides that of the references, with one publisher at most.
        robot: The robot, whose size counts in an arena; None: not known.

    Attributes:
        newest: Stamp of the newest state of the robot, s.
    """

    def __init__(
        self,
        node: ReferenceNode[ReferenceParameters],
        references: ReferenceSource[Any],
        lone_topics: tuple[str, ...] = (),
        robot: Robot | None = None,
    ) -> None:
        self._guard = ArenaGuard(node.values.arena, robot)
        self._node, self._values, self._references = node, node.values, references
        self._lone_topics = (references.stream, *lone_topics)
        self.newest = 0.0
        self._start: float | None = None
        self._ended = False
        self._arrival: float | None = None  # time at which the robot reached its set point, s
        self._publisher = Presence(0.0, LOOK_PERIOD)  # of references, where they are needed
        self._subscribed = False
        self._waiting_text = ""  # last published reason to wait
        self._state_rate = RateLimit(STATE_RATE)
        create_wall_timer(node, LOOK_PERIOD, self._look_around)

    @property
    def began(self) -> bool:
        return self._start is not None

    @property
    def elapsed(self) -> float:
        """Robot time since the start of the run, s."""
        return 0.0 if self._start is None else self.newest - self._start

    def advance_to(self, stamp: float, anomaly: Anomaly | None) -> None:
        """Process the time of a sample, s; a jump of it does not count as time of the run.

        Raises:
            ValueError: The sample has an anomaly and must be rejected.
        """
        reset = anomaly is not None and anomaly.kind is AnomalyKind.RESET
        jumped = reset or stamp - self.newest > LONGEST_PROGRESS
        if jumped and self._start is not None:
            self._start += stamp - self.newest  # a jump is no progress of the run
        if anomaly is None or anomaly.kind is not AnomalyKind.LATE:
            self.newest = stamp
        if anomaly is not None:
            if anomaly.kind is AnomalyKind.RESTART and not self._node.clock.is_simulated:
                self._node.output.stop(anomaly.text)
            raise ValueError(anomaly.text)

    def begin(self, stamp: float) -> bool:
        """Begin the run with this stamp, s, if it has not begun yet; return whether it does."""
        begins = self._start is None
        if begins:
            self._start = stamp
        return begins

    def ends_now(self, pose: Pose, reference: Pose | None, arrived: bool = True) -> bool:
        """Whether the arena was left or the `duration` is over; the node then ends.

        Unless the robot has rested at its set point (`arrived`) for STAY, `arrival_time` is added.
        """
        if problem := self._guard.left(pose, reference):
            self._end(ControllerState.STOPPED, 1, problem)
            return True
        if not arrived:
            self._arrival = None
        elif self._arrival is None:
            self._arrival = self.elapsed
        stays = self._arrival is not None and self.elapsed - self._arrival >= STAY - STAMP_TOLERANCE
        longest = self._values.duration + (0.0 if stays else self._values.arrival_time)
        over = self._values.duration > 0.0 and longest <= self.elapsed + STAMP_TOLERANCE
        if over:
            self._end(ControllerState.DONE, 0, "")
        return over

    def tell_state(self, stamp: float) -> None:
        if self._start is not None and self._state_rate.due(stamp):
            self._waiting_text = ""
            self._node.publish_state(self.newest, ControllerState.DRIVING, "")

    def crowd(self, topic: str) -> Verdict:
        if self._node.count_publishers(topic) <= 1:
            return GOOD
        return Verdict(
            Level.HOLD,
            f"more than one node publishes {topic}; stop all but one (a node that was killed "
            "outright counts for some 20 s more)",
        )

    def _look_around(self) -> None:
        node = self._node
        if node.exit_code is not None:
            return
        if not self._subscribed and not node.waits_for():
            self._subscribed = True
            self._references.subscribe()
        for topic in self._lone_topics:
            if crowd := self.crowd(topic):
                node.complain(crowd.reason)
        if self._start is None or node.stopped_by:
            self._publish_waiting()
        if self.began and self._values.leave_with_reference and self._reference_left():
            self._end_without_reference()

    def _publish_waiting(self) -> None:
        text = self._node.stopped_by or self._node.waits_for().reason or "a reference"
        if text != self._waiting_text:
            self._waiting_text = text
            self._node.publish_state(self.newest, ControllerState.WAITING, text)

    def _reference_left(self) -> bool:
        references = self._references
        waits = self._values.wait_for_reference
        needed = self._lacks_reference() if waits else references.input.is_stream
        return self._publisher.have_left(
            self._node.count_publishers(references.stream) > 0 or not needed
        )

    def _lacks_reference(self) -> bool:
        pending = self._node.loop.pending
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
        self._node.publish_state(self.newest, phase, message)

    def close(self) -> None:
        """Publish the reason of the end, and wait until it was received."""
        node = self._node
        if not self._ended:
            self._node.publish_state(self.newest, ControllerState.STOPPED, node.interruption())
        for topic in self._node.counted_topics:
            topic.await_arrival()
        node.await_arrival(node.state_topic)


class ReferenceNode(CommandNode[R_co]):
    """A CommandNode that follows references, and reports on `~/status` and `~/state` (latched).

    A subclass makes `references` and `run` after it is connected. `state` is what every message of
    `~/state` has in common.
    """

    run: ReferenceRun
    references: ReferenceSource[Any]

    def __init__(self, name: str, parameters: type[R_co], status_type: type) -> None:
        super().__init__(name, parameters)
        self.status_topic = CountedTopic(self, status_type, "~/status")
        self.state_topic = self.create_publisher(ControllerState, "~/state", LATCHED)
        self.state = ControllerState(duration=self.values.duration, law=self.law_name)

    @property
    @abstractmethod
    def law_name(self) -> str:
        """For `~/state`."""

    @property
    def counted_topics(self) -> tuple[CountedTopic, ...]:
        return (self.status_topic,)

    @abstractmethod
    def complete_state(self, state: ControllerState) -> None:
        """Called before a message of `~/state` is published; add what the law knows."""

    def publish_state(self, stamp: float, phase: int, message: str) -> None:
        state = copy(self.state)
        state.header = Header(stamp=to_stamp(stamp), frame_id=self.state.header.frame_id)
        state.phase, state.message = phase, message
        state.elapsed, state.refused = self.run.elapsed, self.refused
        state.statuses = self.status_topic.count
        self.complete_state(state)
        self.state_topic.publish(state)

    def needs(self) -> Verdict:
        for topic in self.counted_topics:
            if missing := topic.missing(self.values.listeners):
                return missing
        return GOOD

    def has_left(self) -> Verdict:
        for topic in self.counted_topics:
            if left := topic.left_by(self.values.listeners):
                return left
        return GOOD

    def awaits(self, sample: Any) -> Verdict:
        stamp, references = sample.stamp, self.references
        if not self.values.wait_for_reference or references.input.reaches(stamp):
            return GOOD
        name = self.loop.robot.state_name
        missing = f"no reference for the {name} of {stamp:.3f} s on {references.stream}"
        return Verdict(Level.WAIT, missing)

    def close(self) -> None:
        super().close()
        self.run.close()
