"""What the simulator nodes share that move a robot themselves: its time.

In lock-step such a node publishes a state, waits for the command that answers it, and advances by
one control period: a run repeats to the last digit and is as fast as its nodes. Commands name the
state that they answer (diffbot_node/stamps.py); what answers another one moves nothing, and a
state is said again until its answer has come. Else it runs on by itself with the latest command, as
a robot does. It serves `~/set_paused` (std_srvs/SetBool), to let the robot's time stand still or go
on. It ends with status 1 when somebody else publishes its robot's states, too, and obeys nobody
while two nodes command.
"""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable

from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from std_srvs.srv import SetBool

from diffbot_node import KeptTopic, Parameter, declare
from diffbot_node.kept_topic import HURRIED_PATIENCE, LAST_PATIENCE
from diffbot_node.stamps import answers
from diffbot_sim.virtual_robot import LEAVE_WHEN_ALONE

# ---
# Real-time pacing: when robot time may go on, and how far it lags behind.


class Pacer:
    """Ties robot time to a wall clock; it never sleeps itself.

    Args:
        speed: robot seconds per wall second, >= 0; 1 is real time, 0 is as fast as possible.
        largest_lag: robot time that is further behind the wall clock than this (s of wall time)
            is not made up for: the schedule starts anew, so that no burst follows a stall.
        clock: monotonic wall clock, s.

    Raises:
        ValueError: an argument is outside its range.
    """

    def __init__(
        self,
        speed: float,
        largest_lag: float = 0.1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if not (math.isfinite(speed) and speed >= 0.0):
            raise ValueError(
                f"speed = {speed}: must be finite and >= 0; 1.0 is real time, 0 as fast as possible"
            )
        if not largest_lag >= 0.0:
            raise ValueError(f"largest_lag = {largest_lag} s: must be >= 0")
        self._speed = float(speed)
        self._largest_lag = float(largest_lag)
        self._clock = clock
        self.restart(0.0)

    def restart(self, robot_time: float) -> None:
        """Begin at this robot time (s) now; clears the report."""
        self._begin = (self._clock(), robot_time)
        self._anchor = self._begin
        self._last = robot_time
        self.largest_lag = 0.0
        self.stalls = 0

    def delay(self, robot_time: float) -> float:
        """Wall time (s, >= 0) to wait before robot_time (s) may come; 0 means now.

        Also keeps the report: `largest_lag` (s of wall time) and `stalls` (schedules given up).
        """
        self._last = robot_time
        if self._speed == 0.0:
            return 0.0
        wall, start = self._anchor
        now = self._clock()
        ahead = wall + (robot_time - start) / self._speed - now
        if ahead >= 0.0:
            return ahead
        self.largest_lag = max(self.largest_lag, -ahead)
        if -ahead > self._largest_lag:
            self.stalls += 1
            self._anchor = (now, robot_time)
        return 0.0

    def real_time_factor(self) -> float:
        """Robot time per wall time since the restart; nan before any time has passed."""
        wall, start = self._begin
        passed = self._clock() - wall
        return (self._last - start) / passed if passed > 0.0 else math.nan


# ---
# Whether anybody is there to command a simulated robot, and whether it is one only.

# Who commanded so lately, s of wall time, commands still.
RECENT = 1.0


class CommandWatch:
    """Counts who publishes a topic of commands; it subscribes to nothing.

    Args:
        node: asks for it.
        topic: name of the topic, relative to the node's namespace.
        patience: wall time to wait for the first commander, s.
        what: is commanded, for messages.
    """

    def __init__(self, node: Node, topic: str, patience: float, what: str = "torque") -> None:
        self._what = what
        self._node = node
        self._topic = node.resolve_topic_name(topic)
        self._patience = patience
        self._met = False
        self._since = time.monotonic()
        self._heard: dict[object, float] = {}  # when each sender last commanded, s of wall time

    def keep_waiting(self) -> None:
        """What is waited for is on its way: patience begins anew."""
        self._since = time.monotonic()

    def heard(self, sender: object) -> None:
        """Note who has commanded; None where the middleware does not tell."""
        self._heard[sender] = time.monotonic()

    def crowd(self) -> str:
        """What is wrong while more than one node commands; empty while none or one does.

        Where senders are not known all count who publish the topic.
        """
        now = time.monotonic()
        self._heard = {who: at for who, at in self._heard.items() if now - at <= RECENT}
        publishers = self._node.count_publishers(self._topic)
        count = publishers if None in self._heard else min(len(self._heard), publishers)
        if count < 2:
            return ""
        return (
            f"{count} nodes command on {self._topic}, limit 1: zero {self._what} until one is "
            "left; stop the others, or give each run its own ROS_DOMAIN_ID"
        )

    def end(self) -> int | None:
        """Exit status when nobody commands any more (0) or never did (1); None to go on."""
        if self._node.count_publishers(self._topic):
            self._met = True
            return None
        if self._met:
            self._node.get_logger().info(
                f"nobody commands {self._what} any more; the simulation ends"
            )
            return 0
        if time.monotonic() - self._since > self._patience:
            self._node.get_logger().error(
                f"nobody commanded {self._what} within {self._patience:g} s of wall time: start a "
                f"node that publishes {self._topic}"
            )
            return 1
        return None


PACE = (
    Parameter("period", 0.01, "control period, s", above=0.0, maximum=0.1),
    Parameter("lock_step", True, "wait for the command that answers each state of the robot"),
    Parameter("speed", 0.0, "robot time per wall time; 0: as fast as lock-step goes", minimum=0.0),
    Parameter("paused", False, "begin with the robot's time standing still, until ~/set_paused"),
    Parameter(
        "listeners",
        0,
        "in lock-step: subscribers of ground_truth to wait for before the first state, and "
        "whenever they fall behind; see kept_topic.py",
        minimum=0,
    ),
    Parameter(
        "parameter_listeners",
        0,
        "the same of ground_truth/dynamic_parameters, or velocity_parameters",
        minimum=0,
    ),
    LEAVE_WHEN_ALONE,
    Parameter(
        "patience",
        20.0,
        "with leave_when_alone: wall time to wait for the first commands, s; then status 1",
        above=0.0,
    ),
)

# How often the node looks who is there, and says a state again, s of wall time.
LOOK_PERIOD = 0.05
# Silence in lock-step is reported after this, s of wall time.
SILENCE = 2.0


class PacedSimulator(Node, ABC):
    """Moves a robot period by period.

    Args:
        name: name of the node.
        parameters: all of the node; PACE is among them.

    Attributes:
        exit_code: see RunnableNode.
        values: the parameters.
        paused: whether the robot's time is to stand still.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    paused = False

    def __init__(self, name: str, parameters: tuple[Parameter, ...]) -> None:
        super().__init__(name)
        self.exit_code: int | None = None
        self.values = declare(self, parameters)
        if not self.values.lock_step and self.values.speed == 0.0:
            raise ValueError(
                "parameter 'speed' = 0.0: must be > 0 without lock_step, which alone can go as "
                "fast as possible; set speed to 1.0 for real time"
            )
        self._command = (0.0, 0.0)
        self._unanswered = False
        self._answered = False
        self._warned = False
        self._crowded = False
        self._last_answer = self._said = time.monotonic()
        self._pacer = Pacer(self.values.speed)

    def run(self, commands: str, what: str) -> None:
        """Let time begin, once the robot and its topics are there.

        Args:
            commands: topic of the commands.
            what: is commanded, for messages.
        """
        self._topic = commands
        self._watch = CommandWatch(self, commands, self.values.patience, what)
        self.create_service(SetBool, "~/set_paused", self._on_set_paused)
        if self.values.paused:
            self.paused = True
            self.get_logger().info(
                f"paused; to go on: ros2 service call {self.get_fully_qualified_name()}/set_paused "
                "std_srvs/srv/SetBool '{data: false}', or Gazebo's play button"
            )
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._look_around, clock=steady)
        if not self.values.lock_step:
            self.create_timer(self.values.period / self.values.speed, self._run_on, clock=steady)

    # What a subclass gives.

    @property
    @abstractmethod
    def stamp(self) -> float:
        """Robot time of the newest state, s."""

    @abstractmethod
    def advance(self, command: tuple[float, float]) -> None:
        """Move on by one period with a command."""

    @abstractmethod
    def publish_state(self) -> None:
        """Publish the newest state."""

    @abstractmethod
    def rival(self) -> str | None:
        """What is wrong when somebody else publishes states, too; else None."""

    @abstractmethod
    def awaits(self) -> str:
        """In lock-step: what has to come before time goes on; empty when nothing has to."""

    # What a subclass may use.

    def awaits_listeners(self, motion: KeptTopic, parameters: KeptTopic) -> str:
        """Listeners of these topics that are not there yet, or have fallen behind."""
        if not self.values.lock_step:
            return ""
        if not self._answered:
            values = self.values
            missing = parameters.missing(values.parameter_listeners)
            missing = missing or motion.missing(values.listeners)
            if missing:
                return missing
        return parameters.holds() or motion.holds()

    def await_arrival(self, *topics: KeptTopic) -> None:
        """Wait until listeners have all messages of these, which an ending process loses."""
        for topic in topics:
            topic.await_readers(HURRIED_PATIENCE if self.exit_code is None else LAST_PATIENCE)

    def resume(self) -> None:
        """Go on if nothing is awaited any more."""
        self._go_on()

    # Time.

    def take_command(
        self, command: tuple[float, float], named: float | None, sender: object
    ) -> None:
        """Take a command that has come; in lock-step only one that answers the newest state.

        Args:
            command: as it came.
            named: stamp of the state that it names, s; None: the newest.
            sender: who has sent it; None: not known.
        """
        self._watch.heard(sender)
        if self.values.lock_step and not answers(named, self.stamp):
            return
        self._command = (0.0, 0.0) if self._crowded else command
        if self.values.lock_step:
            self._unanswered = True
            self._go_on()

    def _go_on(self) -> None:
        """Answer the command that waits, unless time stands still."""
        if self._unanswered and not self.paused and not self.awaits():
            self._unanswered = False
            self._answer()

    def _answer(self) -> None:
        """Advance in lock-step by the period that the command just taken is for."""
        now = time.monotonic()
        if not self._answered:
            self._answered = True
            self._pacer.restart(self.stamp)
        self._last_answer, self._warned = now, False
        self.advance(self._command)
        if (delay := self._pacer.delay(self.stamp)) > 0.0:
            time.sleep(delay)
        self._say_state()

    def _say_state(self) -> None:
        self.publish_state()
        self._said = time.monotonic()

    def _run_on(self) -> None:
        """Advance without lock-step, with the latest command."""
        if not self.paused:
            self.advance(self._command)
            self._say_state()

    def _look_around(self) -> None:
        paused = self.paused
        if paused:
            self._last_answer = time.monotonic()
        self._go_on()
        if self.exit_code is None and self.values.leave_when_alone:
            self.exit_code = self._watch.end()
        if self.exit_code is None and (rival := self.rival()):
            self.get_logger().error(rival)
            self.exit_code = 1
        if self.exit_code is not None:
            return
        self._look_for_crowd()
        if self.values.lock_step and not self._answered and (missing := self.awaits()):
            if not self._warned and time.monotonic() - self._last_answer > SILENCE:
                self._warned = True
                self.get_logger().info(f"waiting: {missing}")
            return
        if self.values.lock_step or paused:
            # A state or its answer may have been lost, and a robot whose time stands still is not
            # to be taken for a dead one; the stamp stays the same.
            if time.monotonic() - self._said >= LOOK_PERIOD:
                self._say_state()
            if not self._warned and self._answered and self._is_silent():
                self._warned = True
                self.get_logger().warning(
                    f"no command for {SILENCE} s of wall time: the robot's time stands still in "
                    "lock-step until one comes"
                )

    def _look_for_crowd(self) -> None:
        """Obey nobody while two nodes command: neither knows what the other makes of the robot."""
        crowd = self._watch.crowd()
        if crowd and not self._crowded:
            self._command = (0.0, 0.0)
            self.get_logger().error(crowd)
        self._crowded = bool(crowd)

    def _is_silent(self) -> bool:
        """Whether those who command say nothing."""
        silence = time.monotonic() - self._last_answer
        return silence > SILENCE and self.count_publishers(self._topic) > 0

    def _on_set_paused(
        self, request: SetBool.Request, response: SetBool.Response
    ) -> SetBool.Response:
        self.paused = request.data
        response.success = True
        response.message = "time stands still" if request.data else "time goes on"
        return response
