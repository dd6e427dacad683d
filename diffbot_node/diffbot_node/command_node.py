"""The base of every node that commands a robot; it keeps the suite's promises on commands.

- What is sent is finite and inside its limits and rate limits.
- Nothing is commanded before somebody sends states and somebody takes commands.
- Zero is sent when a state cannot be used, within `input_timeout` when they stop, and as the last
  command on every way out of the process.
- Zero stays when somebody stops it (`emergency_stop`, `~/enable`), when another node commands the
  same robot, or when the robot does not do what it is commanded, until somebody enables it.

CommandGuard has the states that it goes through. Besides states and commands there are
`emergency_stop` (std_msgs/Bool, true: pressed), `~/enable` (std_srvs/SetBool) and `diagnostics`.

Each state is answered once, by a command that names it (answers.py); a state that comes again is
told the same answer again. So a simulator in lock-step, which says a state until it is answered,
goes on whatever was lost or late, and zero that a timer sends never stands for an answer.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from typing import Any

from rclpy.clock import Clock, ClockType
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.publisher import Publisher

from diffbot_node.command_guard import GuardState, StateAge
from diffbot_node.command_output import CommandOutput
from diffbot_node.complaints import Complaints
from diffbot_node.limiters import Pair, PairLimiter
from diffbot_node.parameters import Parameter, declare
from diffbot_node.stamps import missing_clock, seconds, stamp_problem
from diffbot_node.state_sources import SourceWatch, WithSender, subscribe_to_states, who_publishes

# How often the age of the inputs is looked at, s of wall time.
WATCH_PERIOD = 0.01
# A stamp may be repeated for so long, as simulators do while they wait, s of wall time.
LONGEST_REPEAT = 1.0
# What is still awaited at the start is reported this often, s of wall time.
WAITING_PERIOD = 3.0
# A simulator's clock stands while it is paused, or slow; after so long without a word of it, s of
# wall time, it has gone.
LONGEST_PAUSE = 3.0
# A partner of a run that has not been seen for so long does not come back, s of wall time.
PARTING = 1.0
# After its process stood still a node answers the newest state only, at this look of its timer.
LOOKS_AFTER_STALL = 2
OLDER = "a newer {} came while this process stood still"
# How long a last message may take to arrive, s of wall time.
ARRIVAL_PATIENCE = 0.5


class CommandNode(Node, ABC):
    """Reads the states of a robot, asks its subclass for a command, and sends it safely.

    A subclass calls `connect` in its constructor.

    Args:
        name: name of the node.
        parameters: all of the node; COMMAND_PARAMETERS are among them.

    Attributes:
        exit_code: see RunnableNode.
        last_words: why the node ended by itself.
        values: the parameters.
        refused: states and inputs that could not be used.

    Raises:
        ValueError: a parameter is wrong; the message says which and how.
    """

    state_name = "state"
    """What a message of the robot is, in the singular, for messages."""
    command_name = "command"
    """What is commanded, for messages."""
    taker = "the robot"
    """Who takes the commands, for messages."""

    def __init__(self, name: str, parameters: tuple[Parameter, ...]) -> None:
        super().__init__(name)
        self.exit_code: int | None = None
        self.last_words = ""
        self.values = declare(self, parameters)
        self.refused = 0
        self._age = StateAge(self.values.input_timeout, self.state_name)
        self._pending: Any = None
        self._received: float | None = None  # when the newest state came, the node's clock, s
        self._heard_wall = self._received_wall = time.monotonic()
        self._reminded = self._looked = time.monotonic()
        self._left: float | None = None  # when a partner was first missed, wall time, s
        self._looks_due = 0
        self._complaints = Complaints()

    def connect(
        self,
        states: tuple[type, str],
        commands: tuple[type, str],
        limiter: PairLimiter,
        hardware: str = "",
    ) -> None:
        """Subscribe to states and begin to watch over what is commanded.

        Args:
            states: type of message, with a header, and name of the topic.
            commands: type of message and name of the topic.
            limiter: of the commands.
            hardware: name of the robot, for `diagnostics`; empty where it is not known.
        """
        self._output = CommandOutput(
            self, commands, limiter, self.message_of, self.command_name, hardware
        )
        self._guard = self._output.guard
        self._sources = SourceWatch(
            lambda: self.count_publishers(self._states.topic_name), self.counts()
        )
        self._states = subscribe_to_states(self, *states, WithSender(self._on_state))
        self.create_timer(WATCH_PERIOD, self._watch, clock=Clock(clock_type=ClockType.STEADY_TIME))

    # What a subclass gives.

    @abstractmethod
    def read(self, stamp: float, message: Any) -> Any:
        """The sample in a message, with this stamp, s.

        Raises:
            ValueError: it cannot be used; zero is commanded and the reason is reported.
        """

    @abstractmethod
    def message_of(self, command: Pair, answered: float) -> Any:
        """The message that says a command; it may be the same object each time.

        Args:
            command: the command.
            answered: stamp of the state that it names, s; see answers.py.
        """

    @abstractmethod
    def on_sample(self, sample: Any) -> Pair:
        """The command for the next control period; the subclass's law.

        A ValueError refuses the sample: zero is commanded and the reason is reported. A sample
        whose stamp is late, or does not follow the last one, is asked for, too, and then refused.
        """

    def concerns(self, message: Any) -> bool:
        """Whether a message is about this robot."""
        return True

    def outline(self, sample: Any) -> tuple[float, ...]:
        """What tells states of two sources apart besides stamps: wheels' angles, rad."""
        return ()

    def counts(self) -> int:
        """Encoder counts per turn of these angles; 0: not known."""
        return 0

    def contradiction(self, sample: Any) -> str:
        """Why the robot does not do what it was commanded, which stops it; empty when it does."""
        return ""

    def held_by(self) -> str:
        """Why zero is to be commanded for now, though the state is good; empty otherwise."""
        return ""

    def on_commanded(self, sample: Any, command: Pair) -> None:
        """Called after the command is out, for telemetry; it is what was commanded."""

    def on_refused(self, sample: Any) -> None:
        """Called after zero was commanded because the sample was refused."""

    def on_stopped(self, sample: Any) -> None:
        """Called, instead of `on_sample`, after zero was commanded because the node is stopped."""

    def on_silence(self) -> None:
        """Called after zero was commanded because no state came in time, or none to be used."""

    def awaits(self, sample: Any) -> str:
        """What has to come before the sample can be answered; empty when nothing has to.

        Only for inputs that belong to a sample, where a run shall repeat to the last digit. The
        subclass calls `resume` when something has come. A sample that has no answer when the next
        one comes is refused.
        """
        return ""

    @property
    def in_lock_step(self) -> bool:
        """Whether the robot is a simulator in lock-step: a run that met another one ends then.

        Such a run is to repeat to the last digit, and nobody will enable it again.
        """
        return False

    # What a subclass may use.

    @property
    def commanded(self) -> Pair:
        """What was commanded last."""
        return self._guard.command

    @property
    def stopped_by(self) -> str:
        """Why it is stopped until somebody enables it; empty when it is not."""
        return self._guard.reason if self._guard.state is GuardState.STOPPED else ""

    @property
    def knows_senders(self) -> bool:
        """Whether the middleware says who sends states, so that two are told apart for sure."""
        return self._sources.knows_senders

    @property
    def is_pending(self) -> bool:
        """Whether a sample waits for what `awaits` names."""
        return self._pending is not None

    def resume(self) -> None:
        """Answer the sample that waits, if nothing is missing any more."""
        sample = self._pending
        if sample is None or self._looks_due:
            return
        if self.stopped_by or not self.awaits(sample):
            self._pending = None
            self._answer(sample)

    def waits_for(self) -> str:
        """What is missing before anything may be commanded; empty when nothing is.

        Matches are counted and never slept for: discovery takes up to seconds.
        """
        if clockless := missing_clock(self):
            return clockless
        if not self.count_publishers(self._states.topic_name):
            topic, what = self._states.topic_name, "the simulator or the robot's driver"
            return f"nobody publishes {topic}; start {what}"
        if rivals := self._output.rivals():
            return rivals
        if not self._output.has_takers():
            return f"nobody subscribes to {self._output.topic}; start {self.taker}"
        return ""

    def has_left(self) -> str:
        """Who of a run that has begun is gone, so that it ends with status 1; empty while none is.

        The driver of a real robot may come back; a simulator takes the robot with it.
        """
        topic = self._states.topic_name
        if self.get_clock().ros_time_is_active and not self.count_publishers(topic):
            return f"nobody publishes {topic} any more: the simulator has gone"
        return ""

    def keep_waiting(self) -> None:
        """What is waited for is on its way: `patience` begins anew."""
        self._received_wall = time.monotonic()

    def complain(self, what: str) -> None:
        """Warn, at most once a second for sentences that differ in numbers only."""
        if self._complaints.due(what):
            self.get_logger().warning(what)

    def finish(self, exit_code: int, last_words: str = "") -> None:
        """End the process after this callback; zero goes out on the way.

        Args:
            exit_code: status of the process.
            last_words: why; logged as an error when the status is not 0.
        """
        self._output.end(last_words or "done")
        self.last_words = last_words
        if last_words:
            (self.get_logger().error if exit_code else self.get_logger().info)(last_words)
        self.exit_code = exit_code

    def await_arrival(self, publisher: Publisher) -> None:
        """Wait a little until all who listen have a last message, which an ending process loses.

        Call it after zero has gone out.
        """
        publisher.wait_for_all_acked(Duration(seconds=ARRIVAL_PATIENCE))

    def close(self) -> None:
        """Zero as the last thing on the wire."""
        self._output.close(self.refused)

    # The loop.

    def _on_state(self, message: Any, sender: Any = None) -> None:
        if self.exit_code is not None or not self.concerns(message):
            return
        self._heard_wall = time.monotonic()
        stamp = seconds(message.header.stamp)
        sample = self._sample_of(stamp, message)
        self._watch_sources(stamp, sample, sender)
        if problem := stamp_problem(message.header.stamp):
            self._leave_out(f"{self.state_name}: {problem}")
            return
        if stamp == self._age.newest:
            self._repeated(stamp)
            return
        if self._received is None and self.waits_for():
            return
        if self._pending is not None:
            self._output.answered = self._age.newest
            self._leave_out(self.awaits(self._pending) or OLDER.format(self.state_name))
            self._pending = None
        now, simulated = self._now(), self.get_clock().ros_time_is_active
        # A simulator's clock that is behind its state is a message that is late.
        self._received = max(now, stamp) if simulated else now
        self._guard.begin()
        self._age.take(stamp, self._received, simulated)
        if isinstance(sample, ValueError):
            self._output.answered = stamp
            self._leave_out(str(sample))
            return
        self._received_wall = time.monotonic()
        self._pending = sample
        self._notice_stall()
        self.resume()

    def _leave_out(self, why: str) -> None:
        if not self._guard.began:
            self.refused += 1
            self.complain(why)
            return
        self._refuse(why)
        self.on_silence()

    def _sample_of(self, stamp: float, message: Any) -> Any:
        """The sample in a message, or the ValueError that says why it has none."""
        try:
            return self.read(stamp, message)
        except ValueError as error:
            return error

    def _watch_sources(self, stamp: float, sample: Any, sender: Any) -> None:
        """Stop where the states of this robot come from two sources."""
        outline = None if isinstance(sample, ValueError) else self.outline(sample)
        finding = self._sources.update(stamp, outline, self._heard_wall, sender)
        if finding is not None and finding.sure and self._guard.may_command:
            self._output.stop_for_another(
                f"two sources tell {self.state_name}s of this robot: {finding.text}; "
                f"{who_publishes(self, self._states.topic_name)}; stop all sources but one"
            )

    def _notice_stall(self) -> None:
        """Where this process stood still let the newest of the states that wait be answered.

        Those before it are as old as the stop was long, and by a simulator's clock, which waits,
        too, nobody would see that.
        """
        if time.monotonic() - self._looked > self.values.input_timeout:
            self._looks_due = LOOKS_AFTER_STALL

    def _answer(self, sample: Any) -> None:
        self._output.answered = self._age.newest
        contradiction = self.contradiction(sample)
        if contradiction:
            self._output.stop(contradiction)
        if self.stopped_by:
            self._output.send(self._guard.command)
            self.on_stopped(sample)
            return
        try:
            wanted = self.on_sample(sample)
            if (
                problem := self._age.problem
                or self._answered_late()
                or self._doubt()
                or self.held_by()
            ):
                raise ValueError(problem)
            command = self._guard.apply(wanted, self._age.period)
        except ValueError as error:
            self._refuse(str(error))
            self.on_refused(sample)
            return
        if self.exit_code is None:
            self._output.send(command)
        self.on_commanded(sample, command)

    def _doubt(self) -> str:
        """Why the newest states may come from two sources; empty where nothing speaks for it."""
        doubt = self._sources.doubt(time.monotonic())
        return doubt and (
            f"two sources may tell {self.state_name}s on {self._states.topic_name}: {doubt}"
        )

    def _answered_late(self) -> str:
        """Why the state that is answered now is too old for it; empty when it is not."""
        age = self._age_of(self._received)
        if age <= self.values.input_timeout:
            return ""
        return (
            f"the answer to a {self.state_name} was awaited for {age:.3f} s, limit "
            f"{self.values.input_timeout:g} s; see who sends what it needs"
        )

    def _now(self) -> float:
        """The node's clock, s."""
        return 1e-9 * self.get_clock().now().nanoseconds

    def _age_of(self, received: float) -> float:
        """Time since a state was received, s, by the node's clock.

        A clock that was set back hides it: that counts as old. A simulator's clock that is behind
        is a message that is late; when it was set back, so were the stamps of its states.
        """
        age = self._now() - received
        return max(age, 0.0) if self.get_clock().ros_time_is_active else abs(age)

    def _refuse(self, why: str) -> None:
        self.refused += 1
        self._output.hold(why)
        self.complain(f"{why}; zero {self.command_name}")

    def _repeated(self, stamp: float) -> None:
        # A lock-step simulator says a state again until the answer has arrived.
        if self._pending is not None:
            self.resume()
            return
        self._output.answer_again()
        if self.get_clock().ros_time_is_active:
            # A simulator that is paused says its state again and again.
            self.keep_waiting()
            if time.monotonic() - self._reminded > WAITING_PERIOD:
                self._reminded = time.monotonic()
                self.get_logger().info(
                    f"the simulator's time stands still at {stamp:g} s; to let it go on press its "
                    "play button, or call simulator/set_paused with data: false"
                )
        elif time.monotonic() - self._received_wall > LONGEST_REPEAT:
            self.refused += 1
            self.complain(
                f"{self.state_name}s repeat the stamp {stamp} s: time step must be > 0; check that "
                "the driver stamps each of them"
            )

    def _watch(self) -> None:
        if self.exit_code is not None:
            return
        self._looked = time.monotonic()
        if self._looks_due > 0:
            self._looks_due -= 1
            if not self._looks_due:
                self.resume()
        self._output.look(self.waits_for, self.refused)
        if self.in_lock_step and self._output.met:
            self.finish(1, self._output.met)
            return
        if self._received is not None and self._is_left():
            return
        silence = time.monotonic() - self._received_wall
        if 0.0 < self.values.patience < silence:
            missing = self._missing() or (
                f"nothing that can be used comes on {self._states.topic_name}"
            )
            self.finish(1, f"gave up after {silence:.1f} s of wall time: {missing}")
            return
        if silence > WAITING_PERIOD:
            self._remind()
        if self._received is not None:
            self._check_age(self._received)

    def _is_left(self) -> bool:
        """End when somebody without whom the run has no sense has left."""
        who, now = self.has_left(), time.monotonic()
        self._left = None if not who else self._left or now
        if self._left is None or now - self._left < PARTING:
            return False
        self.finish(1, who)
        return True

    def _remind(self) -> None:
        if time.monotonic() - self._reminded > WAITING_PERIOD:
            self._reminded = time.monotonic()
            topic = self._states.topic_name
            self.get_logger().info("waiting: " + (self._missing() or f"nothing new on {topic}"))

    def _missing(self) -> str:
        pending = "" if self._pending is None else self.awaits(self._pending)
        return self.waits_for() or pending

    def _check_age(self, received: float) -> None:
        # The node's clock is the simulator's where there is one: a robot time that stands still
        # lets no robot run away, and a simulator slower than real time is no fault. One that is
        # paused says so again and again.
        if not self._guard.may_command or self._guard.silent:
            return
        age, limit = self._age_of(received), f"{self.values.input_timeout} s"
        silence = time.monotonic() - self._heard_wall
        if self.get_clock().ros_time_is_active and silence > LONGEST_PAUSE:
            age, limit = silence, f"{LONGEST_PAUSE:g} s of wall time, whatever the simulator's is"
        elif age <= self.values.input_timeout:
            return
        why = (
            f"no {self.state_name} for {age:.3f} s, limit {limit}: zero {self.command_name} until "
            "they come again; check the robot's driver"
        )
        self._output.hold(why, silent=True)
        self.on_silence()
        self.complain(why)


# ---
# Parameters that every node has that commands a robot.

COMMAND_PARAMETERS = (
    Parameter(
        "input_timeout",
        0.07,
        "age of the newest state of the robot (joint state or odometry) after which zero is "
        "commanded, and longest time between two of them, s of the node's clock and of the stamps",
        above=0.0,
        maximum=1.0,
    ),
    Parameter(
        "patience",
        0.0,
        "wall time without good states of the robot after which the node ends with status 1, s; "
        "0: never",
        minimum=0.0,
    ),
    Parameter(
        "enabled",
        True,
        "whether it may command from the start; false: not before ~/enable is called with true",
    ),
    Parameter(
        "emergency_stop_timeout",
        0.0,
        "wall time within which something has to come on emergency_stop, else it counts as "
        "pressed, s; 0: only what comes counts",
        minimum=0.0,
    ),
)
