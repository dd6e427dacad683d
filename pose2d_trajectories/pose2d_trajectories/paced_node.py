# SPDX-License-Identifier: Apache-2.0
"""Base class of nodes that publish references or commands at the pace of the robot.

With `driven_by` = joint_states, or odom for a robot with velocity commands, such a node answers
each message there with the content for its stamp plus `lead`. No clock is read: a controller that
waits for the one with the stamp of its state receives the same in every run. With `driven_by` =
clock it publishes at `rate` by the node's clock.

Its time begins once `listeners` subscribers are present. A jump of the stamps is no progress: the
content continues where it was, also when the stamps return. When their time goes back otherwise, it
begins again. It ends `hold` s after the end of its content, or, with `leave_when_alone`, when no
subscriber is left.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, TypeVar

from builtin_interfaces.msg import Time as Stamp
from nav_msgs.msg import Odometry
from rclpy.duration import Duration
from rclpy.publisher import Publisher
from rclpy.time import Time
from sensor_msgs.msg import JointState

from arc_odometry.joints import LONGEST_PROGRESS
from diffbot_node import Node, declare, parameter, subscribe_to_states
from diffbot_node.presence import Complaints, Presence
from diffbot_node.robot_messages import NANOSECONDS, create_wall_timer, stamp_problem
from diffbot_node.topic_nodes import Subscribers

# Message types of the robot's state, by the name of their topic.
STATES = {"joint_states": JointState, "odom": Odometry}
# Stamps older by less, ns, are another publisher's.
DISORDER = NANOSECONDS // 10
# Longer steps of the stamps, ns, do not count as time of the content.
JUMP = round(LONGEST_PROGRESS * NANOSECONDS)
# Wall time between two checks of subscribers, s.
LOOK_PERIOD = 0.05
# Maximum wall time for the last message to arrive, for which the process waits, s.
ARRIVAL_PATIENCE = 1.0


HOLD = (
    "robot time for which the last value is published after the end, s; then the node ends with "
    "status 0; negative: forever"
)


@dataclass(frozen=True)
class PaceParameters:
    """Parameters of nodes that publish references or commands at the pace of the robot."""

    driven_by: str = parameter(
        "joint_states",
        "what is answered: each message on joint_states or odom, or ticks of the clock",
        choices=(*STATES, "clock"),
    )
    rate: float = parameter(100.0, "messages per s with driven_by = clock, Hz", above=0.0)
    lead: float = parameter(
        0.0,
        "lead of stamp and content over the answered state, s; with one control period each "
        "answer is there before its state",
        minimum=0.0,
    )
    listeners: int = parameter(1, "subscribers to wait for before starting", minimum=0)
    hold: float = parameter(-1.0, HOLD)
    leave_when_alone: bool = parameter(
        False, "end with status 0 when all subscribers have left, or all that command the robot"
    )
    patience: float = parameter(
        20.0,
        "with leave_when_alone: wall time to wait for the listeners, s; then status 1",
        above=0.0,
    )


P_co = TypeVar("P_co", bound=PaceParameters, covariant=True)


class PacedNode(Node, ABC, Generic[P_co]):
    """Answers joint states, or ticks of the clock, until its content has ended.

    A subclass sets in its constructor `title`, the name of its content for messages, `duration`,
    after which the content does not change, s (math.inf: never), and `topics`, its publishers.
    """

    title: str
    duration: float
    topics: tuple[Publisher[Any], ...]

    def __init__(self, name: str, parameters: type[P_co]) -> None:
        super().__init__(name)
        self.values: P_co = declare(self, parameters)
        self._lead = round(self.values.lead * NANOSECONDS)
        self._start: int | None = None  # stamp at which the time is 0, ns
        self._newest = 0  # newest stamp, ns
        self._jumped: tuple[int, int] | None = None  # stamps before and after the last jump, ns
        self._ended = False
        self._complaints = Complaints()
        self._listeners = Presence(self.values.patience)
        if self.values.driven_by == "clock":
            self.create_timer(1.0 / self.values.rate, self._on_timer)
        else:
            driver = self.values.driven_by
            subscribe_to_states(self, STATES[driver], driver, self._on_state)
        create_wall_timer(self, LOOK_PERIOD, self._check_listeners)

    def begins(self, state: JointState | Odometry | None) -> None:
        """Called before the time begins, with the answered state of the robot, if there is one."""

    @abstractmethod
    def publish(self, stamp: Stamp, t: float) -> None:
        """Publish the content for time t, s since the beginning, with this stamp."""

    def listened_to(self) -> bool:
        return self._subscribers.count() >= self.values.listeners

    def close(self) -> None:
        """Wait until the last message is delivered."""
        for topic in self.topics:
            topic.wait_for_all_acked(Duration(seconds=ARRIVAL_PATIENCE))

    def _on_timer(self) -> None:
        self._advance(self.get_clock().now().nanoseconds)

    def _on_state(self, message: JointState | Odometry) -> None:
        stamp = message.header.stamp
        if problem := stamp_problem(stamp):
            self._tell(f"a message on {self.values.driven_by}: {problem}")
            return
        self._advance(stamp.sec * NANOSECONDS + stamp.nanosec, message)

    def _advance(self, now: int, state: JointState | Odometry | None = None) -> None:
        """Publish the content for the stamp `now` plus the lead, ns; `state` is the robot's."""
        if self.exit_code is not None:
            return
        if self._start is not None and not self._follow_clock(now, self._start):
            return
        at = now + self._lead
        start = self._start
        if start is None:
            if not self.listened_to():
                return
            self.begins(state)
            start = self._begin(at)
        self._newest = now
        # Exact to the ns, also since 1970.
        t = (at - start) / NANOSECONDS
        self.publish(Time(nanoseconds=at).to_msg(), t)
        self._check_end(t)

    def _follow_clock(self, now: int, start: int) -> bool:
        """Move the beginning where the stamps jump to `now`, ns; False: `now` is to be skipped."""
        step = now - self._newest
        if step > JUMP:
            self._jumped = self._newest, now
            self._start = start + step
            self._tell(f"{self._went(now)}, which does not count: {self.title} continues")
        elif -DISORDER < step < 0:
            return False
        elif step < 0 and self._jumped and 0 <= now - self._jumped[0] <= JUMP:
            before, after = self._jumped
            self._start, self._jumped = start - (after - before), None
            self._tell(f"{self._went(now)}, as before its jump: {self.title} continues")
        elif step < 0:
            self._start = None
            self._tell(f"{self._went(now)}: {self.title} starts again")
        return True

    def _went(self, now: int) -> str:
        direction = "ahead" if now > self._newest else "back"
        return (
            f"time went {direction} from {self._newest / NANOSECONDS:g} s to "
            f"{now / NANOSECONDS:g} s"
        )

    def _tell(self, what: str) -> None:
        if self._complaints.due(what):
            self.get_logger().warning(what)

    def _begin(self, at: int) -> int:
        self._start, self._ended = at, False
        length = f"takes {self.duration:.6g} s" if self.duration < float("inf") else "has no end"
        self.get_logger().info(f"{self.title} begins at {at / NANOSECONDS:g} s and {length}")
        return at

    def _check_end(self, t: float) -> None:
        hold = self.values.hold
        if not self._ended and t >= self.duration:
            self._ended = True
            kept = f"{hold:g} s" if hold >= 0.0 else "as long as the node runs"
            self.get_logger().info(f"{self.title} has ended; it is held for {kept}")
        if hold >= 0.0 and t >= self.duration + hold:
            self.exit_code = 0

    @cached_property
    def _subscribers(self) -> Subscribers:
        return Subscribers(self, *self.topics, followers=True)

    def _check_listeners(self) -> None:
        if self.exit_code is not None:
            return
        count, wanted = self._subscribers.count(), max(self.values.listeners, 1)
        if self.values.leave_when_alone:
            # Once all listeners were present, one is enough to continue.
            self.exit_code = self._listeners.leave(
                count >= (1 if self._listeners.met else wanted),
                self.get_logger(),
                f"no subscriber is left; {self.title} ends",
                f"gave up after {self.values.patience:g} s of wall time without {self._wanted()}",
            )
        if self._start is None and self.exit_code is None and self._listeners.reminds():
            self.get_logger().info(f"waiting for {self._missing()}")

    def _wanted(self) -> str:
        names = " or ".join(topic.topic_name for topic in self.topics)
        return (
            f"{max(self.values.listeners, 1)} subscriber(s) of {names}; start a controller, or "
            "remap the topics to it"
        )

    def _missing(self) -> str:
        if not self.listened_to():
            return self._wanted()
        if self.values.driven_by == "clock":
            return "the clock to run; with use_sim_time a node has to publish /clock"
        return f"{self.values.driven_by}; start the robot, or set driven_by to clock"
