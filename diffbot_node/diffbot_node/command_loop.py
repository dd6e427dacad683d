# SPDX-License-Identifier: Apache-2.0
"""The loop of every node that commands a robot: each state that arrives is answered by a command.

CommandLoop combines parts with one responsibility each:

- RobotInterface (command_interfaces.py): what the robot's messages mean, and whether the robot
  obeys its commands.
- CommandLaw (command_interfaces.py): computes the desired command, and names the inputs that must
  arrive first.
- StateSubscription: receives the states and checks whether two sources publish them
  (source_watch.py).
- StateClock (command_guard.py): how old the newest state is.
- CommandOutput: applies the guard and the limits to the desired command and publishes the result.
- Presence (presence.py): how long to wait for partners, and whether they have left.

Each state is answered once; a repeated state, such as that of a paused simulator, gets the same
answer again.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.publisher import Publisher

from diffbot_node.command_diagnostics import CommandDiagnostics
from diffbot_node.command_guard import CommandGuard, GuardState, Pair, PairLimiter, StateClock
from diffbot_node.command_interfaces import CommandLaw, RobotInterface
from diffbot_node.intra_process import Foreigners, Node
from diffbot_node.launch_supervision import STARTER, reported_failures
from diffbot_node.parameters import CommandParameters
from diffbot_node.presence import PARTING, Presence, Subscribers, beyond_discovery, full_name
from diffbot_node.robot_messages import (
    NodeClock,
    create_wall_timer,
    seconds,
    stamp_problem,
    subscribe_to_states,
)
from diffbot_node.senders import Origin, WithOrigin
from diffbot_node.source_watch import Finding, SourceWatch
from diffbot_node.stop_inputs import LAST_PERIOD, LAST_ZEROS, WATCHDOG, StopInputs, zero_to_wheels

# Period of the timer that checks the age of the inputs, s of wall time.
WATCH_PERIOD = 0.01
# A real robot may repeat a stamp for at most so long, s of wall time.
LONGEST_REPEAT = 1.0
_ABANDONED = (
    "the process that started this node is stopped (Ctrl-Z, SIGSTOP), so that nobody can end it; "
    "let that continue first"
)
# After its process was stalled a node answers only the newest state, after so many timer ticks.
LOOKS_AFTER_STALL = 2


class CommandLoop:
    """Answers each state of a robot by the law's desired command, as far as the guard allows it.

    Args:
        node: The node that subscribes and publishes.
        values: The node's parameters.
        robot: Interface of the robot to command.
        law: Law that computes the commands.

    Attributes:
        robot: As given.
        output: The command output, which owns the `guard`.
        states: The subscription to the states.
        clock: The node's clock.
        presence: Presence of the robot, judged by the usable states that arrive.
        ended: Whether the law has finished; no state is answered any more.
    """

    def __init__(
        self,
        node: Node,
        values: CommandParameters,
        robot: RobotInterface,
        law: CommandLaw,
    ) -> None:
        self._node, self.robot, self._law = node, robot, law
        self.ended = False
        self.output = CommandOutput(
            node,
            values,
            robot.commands,
            robot.limiter,
            message_of=robot.message_of,
            what=robot.command_name,
            hardware=robot.hardware,
        )
        self.guard = self.output.guard
        self.clock = NodeClock(node)
        self._age = StateClock(self.clock, values.input_timeout, robot.state_name)
        self._stall = Stall(values.input_timeout)
        self.presence = Presence(values.patience, PARTING)
        self._alone = Presence(0.0, PARTING)
        self._next_state = Presence(0.0)
        self._pending: Any = None
        self._left_out = False  # whether samples were skipped since the last answered one
        self.states = StateSubscription(
            node, robot.states, self._on_state, robot.state_name, robot.counts
        )
        create_wall_timer(node, WATCH_PERIOD, self._watch)

    @property
    def pending(self) -> Any | None:
        """The sample that still waits for its answer, mostly for an input; None if there is none.

        `CommandLaw.awaits` names the missing input.
        """
        return self._pending

    @property
    def stopped_by(self) -> str:
        """Why the node is stopped until somebody enables it; empty when it is not stopped."""
        return self.guard.reason if self.guard.state is GuardState.STOPPED else ""

    def waits_for(self) -> str:
        """Which of clock, robot and command subscribers is missing; empty when none is.

        Counts the matched endpoints without blocking, as discovery may take seconds.
        """
        if clockless := self.clock.missing():
            return clockless
        elsewhere = "" if self._node.composed else beyond_discovery()
        if not self.states.publishers():
            what = "the simulator or the robot's driver"
            return f"no node publishes {self.states.topic}; start {what}{elsewhere}"
        if rivals := self.output.rivals():
            return rivals
        if not self.output.has_subscribers():
            subscriber = self.robot.subscriber
            return f"no node subscribes to {self.output.topic}; start {subscriber}{elsewhere}"
        return ""

    def has_left(self) -> str:
        """A sentence that the simulator has gone; empty while it is there.

        Always empty for a real robot: its driver may come back, whereas a simulated robot ends
        with its simulator.
        """
        if not self.clock.is_simulated:
            return ""
        if not self.states.publishers():
            return f"no node publishes {self.states.topic} any more: the simulator has ended"
        return ""

    def end(self, why: str) -> None:
        """Send zero, and no command after it."""
        self.output.end(why)
        self.ended = True

    # From a state to the command that answers it.

    def _on_state(self, message: Any, came_from: Origin = None) -> None:
        """Skip messages that are not new, do not concern this robot, or cannot be used."""
        if self.ended or not self.robot.concerns(message):
            return
        self._age.hear()
        stamp = seconds(message.header.stamp)
        sample = self._read(stamp, message)
        self._check_for_second_source(stamp, sample, came_from)
        if problem := stamp_problem(message.header.stamp):
            self._leave_out(f"{self.robot.state_name}: {problem}")
        elif stamp == self._age.stamps.newest:
            self._repeated(stamp)
        elif self._age.began or not self._law.waits_for():
            self._take(stamp, sample)

    def _read(self, stamp: float, message: Any) -> Any:
        """Return the sample in a message, or the ValueError that explains why there is none."""
        try:
            return self.robot.read(stamp, message)
        except ValueError as error:
            return error

    def _check_for_second_source(self, stamp: float, sample: Any, came_from: Origin) -> None:
        """Stop when the states of this robot come from two sources."""
        wheel_angles = None if isinstance(sample, ValueError) else self.robot.wheel_angles(sample)
        finding = self.states.take(stamp, wheel_angles, self._age.heard, came_from)
        if finding is None or not (self.guard.may_command or self._node.composed):
            return
        if finding.significant:
            self.output.stop_for_another(self.states.two_sources(finding))
        elif finding.replaced and self.guard.began and not self.clock.is_simulated:
            # Meanwhile the robot or its encoder angles may have been moved, and a person may be
            # near it.
            self.output.stop(
                f"another publisher sends {self.states.topic}: the robot's driver was "
                "restarted, or a second one runs; check that the robot may move"
            )

    def _take(self, stamp: float, sample: Any) -> None:
        """Queue a new state, or the ValueError in its place, for its answer."""
        if self._pending is not None:
            older = f"a newer {self.robot.state_name} arrived while this process was suspended"
            why = self._law.awaits(self._pending) or older
            self._law.on_left_out(self._pending)
            self._leave_out(why)
            self._pending, self._left_out = None, True
        self.guard.begin()
        self._age.take(stamp)
        if isinstance(sample, ValueError):
            self._leave_out(str(sample))
            return
        self.presence.keep_waiting()
        self._next_state.keep_waiting()
        self._pending = sample
        self._stall.notice()
        self.resume()

    def resume(self) -> None:
        """Answer the waiting sample if no input is missing any more."""
        sample = self._pending
        if sample is None or self._stall.lasts:
            return
        if self.stopped_by or not self._law.awaits(sample):
            self._pending = None
            self._answer(sample)

    def _answer(self, sample: Any) -> None:
        # Another torque than the zero that answered a skipped sample may have acted meanwhile.
        late = not self._law.in_lock_step and self._age.answer_is_late()
        anew = late or bool(self.stopped_by or self._age.stamps.problem or self._left_out)
        self._left_out = False
        if contradiction := self.robot.contradiction(sample, self.guard.command, anew):
            if self._law.in_lock_step:  # nobody can repair the wheels of a simulated robot
                self._law.finish(1, contradiction)
                return
            self.output.stop(contradiction)
        if self.stopped_by:
            self.output.send(self.guard.command)
            self._law.on_stopped(sample)
            return
        try:
            wanted = self._law.on_sample(sample)
            if problem := self._age.problem() or self._held_by():
                raise ValueError(problem)
            command = self.guard.apply(wanted, self._age.stamps.period)
        except ValueError as error:
            self._refuse(str(error))
            self._law.on_refused(sample)
            return
        if not self.ended:
            self.output.send(command)
        self._law.on_commanded(sample, command)

    def _held_by(self) -> str:
        """Why zero is commanded for now although the state is good; empty when it need not be."""
        doubt = self.states.doubt(time.monotonic())
        return doubt or self.robot.held_by() or self._law.held_by()

    def _leave_out(self, why: str) -> None:
        """Answer an unusable message by zero; do not answer it before the start."""
        if not self.guard.began:
            self._law.refused += 1
            self._law.complain(why)
            return
        self._refuse(why)
        self._law.on_silence()

    def _refuse(self, why: str) -> None:
        self._law.refused += 1
        self.output.hold(why)
        self._law.complain(f"{why}; zero {self.robot.command_name}")

    def _repeated(self, stamp: float) -> None:
        """Handle a repeated state; a simulator whose time stands still repeats its state."""
        if self._pending is not None:
            self.resume()
            return
        self.output.answer_again()
        if self.clock.is_simulated:
            # A paused simulator repeats its state.
            self.presence.keep_waiting()
            if self._next_state.waits_long and self.presence.reminds():
                self._node.get_logger().info(
                    f"the simulated time stands still at {stamp:g} s: the simulator waits for "
                    "another node (a busy machine) or is paused; if paused, press its play button "
                    "or call simulator/set_paused with data: false"
                )
        elif self.presence.waited > LONGEST_REPEAT:
            self._law.refused += 1
            self._law.complain(
                f"{self.robot.state_name}s repeat the stamp {stamp} s: time step must be > 0; "
                "check that the driver gives each its own stamp"
            )

    # Called every WATCH_PERIOD: checks for missing states and missing partners.

    def _watch(self) -> None:
        if self.ended:
            return
        if self._stall.look():
            self.resume()
        self.output.look(lambda: self._law.waits_for() or self.robot.unrelated(), self._law.refused)
        if why := self._why_to_end():
            self._law.finish(1, why)
            return
        if not self.clock.is_simulated:
            if why := self.robot.cut_off():
                self.output.stop_cut_off(why)
            if self.guard.may_command and STARTER.is_stopped():
                self.output.stop(_ABANDONED)
        if self.presence.waits_long and self.presence.reminds():
            awaited = self._missing("no new message")
            self._node.get_logger().info(f"waiting: {awaited}")
        if self._age.began:
            self._look_for_silence()

    def _why_to_end(self) -> str:
        """Why the run must end early; empty while it may continue."""
        if self._law.in_lock_step and self.output.met:
            return self.output.met
        if self._age.began:
            left = self._law.has_left()
            if self.presence.have_left(not left):
                return left
        elif self._node.composed and self._alone.have_left(not (rivals := self.output.rivals())):
            return rivals  # nobody can join a run in one process, so nobody will make room
        if self.presence.gave_up:
            missing = self._missing("no usable message")
            return f"gave up after {self.presence.waited:.1f} s of wall time: {missing}"
        return ""

    def _missing(self, messages: str) -> str:
        """What is awaited; `messages` says so of the states if nothing else is."""
        pending = "" if self._pending is None else self._law.awaits(self._pending)
        missing = self._law.waits_for() or pending or self.robot.unrelated()
        return missing or f"{messages} on {self.states.topic}"

    def _look_for_silence(self) -> None:
        """Send zero once when no state has arrived in time."""
        if not self.guard.may_command or self.guard.silent:
            return
        if silence := self._age.silence(self._law.in_lock_step):
            why = (
                f"{silence}: zero {self.robot.command_name} until they arrive again; check "
                "the robot's driver"
            )
            self.output.hold(why, silent=True)
            self._law.on_silence()
            self._law.complain(why)


class StateSubscription:
    """Receives the states of one robot and detects a second source of them; see SourceWatch.

    Args:
        node: The node that subscribes.
        states: Message type and topic name.
        callback: Called with each message and its origin.
        name: Name of a state, for messages.
        counts: Encoder counts per turn; 0: unknown.
    """

    def __init__(
        self,
        node: Node,
        states: tuple[type, str],
        callback: Callable[[Any, Origin], None],
        name: str,
        counts: int,
    ) -> None:
        self._node, self._name = node, name
        self._watch = SourceWatch(self.publishers, counts)
        self.topic = subscribe_to_states(node, *states, WithOrigin(callback)).topic_name
        self._foreigners = Foreigners(node, self.topic)

    def publishers(self) -> int:
        """Return the number of publishers of the topic."""
        return self._node.count_publishers(self.topic)

    @property
    def knows_senders(self) -> bool:
        """Whether senders are told apart reliably."""
        return self._watch.knows_senders

    def take(
        self, stamp: float, wheel_angles: tuple[float, ...] | None, now: float, came_from: Origin
    ) -> Finding | None:
        """Process a message; see SourceWatch.update.

        In one process with a simulator, any message from another process is a second source.
        """
        if self._foreigners.include(came_from):
            return Finding("another process sends them, too", True)
        return self._watch.update(stamp, wheel_angles, now, came_from)

    def doubt(self, now: float) -> str:
        """Why the newest states may come from two sources; empty without a sign of that.

        Args:
            now: Wall time, s.
        """
        doubt = self._watch.doubt(now)
        return doubt and f"two sources may publish {self._name}s on {self.topic}: {doubt}"

    def two_sources(self, finding: Finding) -> str:
        """Return a sentence about a certain finding of a second source, with the node names."""
        names = sorted(
            full_name(info) for info in self._node.get_publishers_info_by_topic(self.topic)
        )
        publish = "publishes" if len(names) == 1 else "publish"
        return (
            f"two sources tell {self._name}s of this robot: {finding.text}; {len(names)} {publish} "
            f"{self.topic} ({', '.join(names)}); stop all sources but one"
        )


class Stall:
    """Detects that this process was stalled, so that only the newest waiting state is answered.

    The states before it are as old as the stall was long. A simulator's clock would not show that,
    as its messages wait in the queue, too.

    Args:
        limit: Time between two calls of `look` above which the process counts as stalled, s.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._looked = time.monotonic()
        self._looks_due = 0

    @property
    def lasts(self) -> bool:
        """Whether older states may still arrive; until then no state is answered."""
        return self._looks_due > 0

    def notice(self) -> None:
        """Check for a stall; called when a state has arrived."""
        if time.monotonic() - self._looked > self._limit:
            self._looks_due = LOOKS_AFTER_STALL

    def look(self) -> bool:
        """Return whether the newest state may be answered from now on; called every few ms."""
        self._looked = time.monotonic()
        if not self._looks_due:
            return False
        self._looks_due -= 1
        return not self._looks_due


class CommandOutput:
    """Publishes commands, and zero whenever there is a reason to stop.

    Args:
        node: The node that publishes.
        values: The node's parameters.
        commands: Message type and topic name.
        limiter: Limiter of the commands.
        message_of: Makes a message from a command; see RobotInterface.
        what: The commanded quantity, for messages.
        hardware: Name of the robot, for `diagnostics`; empty if unknown.

    Attributes:
        guard: State machine that decides what may be commanded.
        topic: Name of the topic.
        met: How another node met in the graph commanded the same robot or published its states,
            which stopped this one; empty if none did.
    """

    def __init__(
        self,
        node: Node,
        values: CommandParameters,
        commands: tuple[type, str],
        limiter: PairLimiter,
        message_of: Callable[[Pair], Any],
        what: str,
        hardware: str = "",
    ) -> None:
        self._node, self._message_of, self._what = node, message_of, what
        self._commands = commands
        self.guard = CommandGuard(limiter)
        self._publisher: Publisher[Any] = node.create_publisher(*commands, 10)
        self._subscribers = Subscribers(node, self._publisher)
        self.topic = self._publisher.topic_name
        self.met = ""
        self._diagnostics = CommandDiagnostics(node, limiter.unit, hardware)
        if not values.enabled:
            self.stop("disabled from the start")
        self._inputs = StopInputs(
            node,
            values.emergency_stop_timeout,
            self._press,
            self.guard.release,
            self._on_enable,
        )

    def send(self, command: Pair) -> None:
        """Publish a command that the guard has allowed."""
        self._publisher.publish(self._message_of(command))

    def answer_again(self) -> None:
        """Repeat the last command, as the answer may have been lost."""
        self.send(self.guard.command)

    def hold(self, why: str, silent: bool = False) -> None:
        """Send zero until the next good state; see CommandGuard.hold."""
        self.send(self.guard.hold(why, silent))

    def stop(self, why: str) -> None:
        """Command zero until somebody enables the node.

        Zero is sent only if the robot has been commanded before.
        """
        first = self.guard.may_command
        zero = self.guard.stop(why)
        if self.guard.began:
            self.send(zero)
        ends = self._node.composed and self.met  # with this sentence, see CommandLoop
        if first and not ends:
            self._node.get_logger().error(
                f"stopped: {why}. Zero {self._what} until "
                f"{self._node.get_fully_qualified_name()}/enable is called with data: true"
            )

    def stop_for_another(self, why: str) -> None:
        """Stop because another node commands the same robot or publishes its states."""
        self.met = self.met or why
        self.stop(why)

    def stop_cut_off(self, why: str) -> None:
        """Stop as the watchdog is dead, and send zero directly to the wheels, once."""
        if self.through_watchdog and self.guard.began and self.guard.may_command:
            self.stop(why)
            self._send_zero_to_wheels()

    def end(self, why: str) -> None:
        """Command zero for ever.

        Zero is not sent if this node never began because another node commands the robot.
        """
        zero = self.guard.end(why)
        if self.guard.began or not self.rivals():
            self.send(zero)

    def close(self, refused: int) -> None:
        """Send zero as the last command; see `look` for `refused`."""
        # First to the wheels if the way to them is known to be cut off: they hold the last torque.
        if cut_off := self._is_cut_off():
            self._send_zero_to_wheels()
        for _ in range(1 if self._node.composed else LAST_ZEROS):
            self.end("the process ends")
            time.sleep(0.0 if self._node.composed else LAST_PERIOD)
        if not cut_off and self._is_cut_off():
            self._send_zero_to_wheels()
        self._diagnostics.publish(self.guard, "", refused)

    def _send_zero_to_wheels(self) -> None:
        zero = self._message_of((0.0, 0.0))
        zero_to_wheels(self._node, self._commands, zero, self._what)

    @property
    def through_watchdog(self) -> bool:
        """Whether commands go to the watchdog, which forwards them to the wheels."""
        return bool(self.topic.endswith(f"/{WATCHDOG}/commands"))

    def _is_cut_off(self) -> bool:
        """Whether the watchdog, which forwards commands to the wheels, is dead.

        DDS still counts a killed node for 20 s; the launch reports it at once.
        """
        died = any(name.startswith(WATCHDOG) for name in reported_failures())
        return self.guard.began and self.through_watchdog and (died or not self.has_subscribers())

    def rivals(self) -> str:
        """Why it is wrong that other nodes command the same robot; empty when none does."""
        others = self._node.count_publishers(self.topic) - 1
        if others <= 0:
            return ""
        return (
            f"{others} other node{'s publish' if others > 1 else ' publishes'} {self.topic}; "
            "stop all but one, or give each robot its own namespace or ROS_DOMAIN_ID (a node that "
            "was killed outright counts for some 20 s more)"
        )

    def has_subscribers(self) -> bool:
        """Whether any node takes the commands; see Subscribers."""
        return self._subscribers.are_there()

    def look(self, waits_for: Callable[[], str], refused: int) -> None:
        """Check for rivals and a lost emergency stop, and publish diagnostics; every few ms.

        Args:
            waits_for: Returns what is missing before commands may begin.
            refused: Number of states and inputs so far that could not be used.
        """
        self._inputs.look()
        guard = self.guard
        if guard.began and guard.may_command and (rivals := self.rivals()):
            self.stop_for_another(rivals)
        missing = waits_for() if guard.state is GuardState.WAITING else ""
        self._diagnostics.look(guard, missing, refused)

    def _press(self, why: str) -> None:
        self.stop(why)
        self.guard.press(why)

    def _on_enable(self, on: bool) -> str:
        if not on:
            self.stop("stopped by ~/enable")
            return ""
        problem = self.rivals() or self.guard.enable()
        if not problem:
            self._node.get_logger().info("enabled")
        return problem
