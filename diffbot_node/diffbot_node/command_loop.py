# SPDX-License-Identifier: Apache-2.0
"""The loop of every node that commands a robot: a state comes, the command that answers it goes.

CommandLoop puts together parts with one topic each:

- RobotInterface (command_interfaces.py): what the robot's messages mean, and whether the robot does
  what it is told.
- CommandLaw (command_interfaces.py): gives the command that is wanted, and says what has to come
  first.
- StateSubscription: the states, and whether two sources tell them (source_watch.py).
- StateClock (command_guard.py): how old the newest state is.
- CommandOutput: what the guard and the limits let out of what is wanted.
- Presence (robot_messages.py): how long partners are waited for, and that they have left.

Each state is answered once, by a command that names it (robot_messages.py); a state that comes
again is told the same answer again. So a simulator in lock-step, which says a state until it is
answered, goes on whatever was lost or late, and zero that a timer sends never stands for an answer.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from rclpy.node import Node
from rclpy.publisher import Publisher

from diffbot_node.command_diagnostics import CommandDiagnostics
from diffbot_node.command_guard import CommandGuard, GuardState, Pair, PairLimiter, StateClock
from diffbot_node.command_interfaces import CommandLaw, RobotInterface
from diffbot_node.own_run import PARTING, ROBOT, OwnRun
from diffbot_node.parameters import CommandParameters
from diffbot_node.robot_messages import (
    NOTHING,
    NodeClock,
    Presence,
    Takers,
    WithSender,
    create_wall_timer,
    seconds,
    stamp_problem,
    subscribe_to_states,
)
from diffbot_node.running import told_failures
from diffbot_node.source_watch import Finding, SourceWatch
from diffbot_node.stopping import LAST_PERIOD, LAST_ZEROS, WATCHDOG, StopInputs, zero_to_wheels

# How often the age of the inputs is looked at, s of wall time.
WATCH_PERIOD = 0.01
# A stamp may be repeated for so long, as simulators do while they wait, s of wall time.
LONGEST_REPEAT = 1.0
# After its process stood still a node answers the newest state only, at this look of its timer.
LOOKS_AFTER_STALL = 2


class CommandLoop:
    """Answers each state of a robot by what a law wants and the guard allows.

    Args:
        node: subscribes and publishes.
        values: the node's parameters.
        robot: that is commanded.
        law: that commands it.
        own_run: that the node belongs to.

    Attributes:
        robot: as given.
        output: the way of commands out, and its `guard`.
        states: the way of states in.
        clock: of the node.
        presence: of the robot, as far as good states of it come.
        ended: whether the law has finished; nothing is answered any more.
    """

    def __init__(
        self,
        node: Node,
        values: CommandParameters,
        robot: RobotInterface,
        law: CommandLaw,
        own_run: OwnRun,
    ) -> None:
        self._node, self.robot, self._law, self._own_run = node, robot, law, own_run
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
        self._left_out = False  # a sample before the next one that is answered
        self.states = StateSubscription(
            node, robot.states, self._on_state, robot.state_name, robot.counts
        )
        create_wall_timer(node, WATCH_PERIOD, self._watch)

    @property
    def pending(self) -> Any | None:
        """The sample that waits, mostly for what `CommandLaw.awaits` names; None when none does."""
        return self._pending

    @property
    def stopped_by(self) -> str:
        """Why it is stopped until somebody enables it; empty when it is not."""
        return self.guard.reason if self.guard.state is GuardState.STOPPED else ""

    def waits_for(self) -> str:
        """What is missing of robot, clock and those who take commands; empty when nothing is.

        Matches are counted and never slept for: discovery takes up to seconds.
        """
        if clockless := self.clock.missing():
            return clockless
        if partner := self._own_run.missing():
            return partner
        if not self.states.publishers():
            what = "the simulator or the robot's driver"
            return f"nobody publishes {self.states.topic}; start {what}"
        if rivals := self.output.rivals():
            return rivals
        if not self.output.has_takers():
            return f"nobody subscribes to {self.output.topic}; start {self.robot.taker}"
        return ""

    def has_left(self) -> str:
        """That the simulator has gone; empty while it has not.

        The driver of a real robot may come back; a simulator takes the robot with it.
        """
        if not self.clock.is_simulated:
            return ""
        if not (self.states.publishers() and self._own_run.has(ROBOT)):
            return f"nobody publishes {self.states.topic} any more: the simulator has gone"
        return ""

    def end(self, why: str) -> None:
        """Zero, and nothing after it."""
        self.output.end(why)
        self.ended = True

    # From a state to the command that answers it.

    def _on_state(self, message: Any, sender: Any = None) -> None:
        """Leave out what is not new, not about this robot, or not to be used."""
        if self.ended or not self.robot.concerns(message):
            return
        self._age.hear()
        stamp = seconds(message.header.stamp)
        sample = self._read(stamp, message)
        self._look_for_second_source(stamp, sample, sender)
        if problem := stamp_problem(message.header.stamp):
            self._leave_out(f"{self.robot.state_name}: {problem}")
        elif stamp == self._age.stamps.newest:
            self._repeated(stamp)
        elif self._age.began or not self._law.waits_for():
            self._take(stamp, sample)

    def _read(self, stamp: float, message: Any) -> Any:
        """The sample in a message, or the ValueError that says why it has none."""
        try:
            return self.robot.read(stamp, message)
        except ValueError as error:
            return error

    def _look_for_second_source(self, stamp: float, sample: Any, sender: Any) -> None:
        """Stop where the states of this robot come from two sources."""
        outline = None if isinstance(sample, ValueError) else self.robot.outline(sample)
        finding = self.states.take(stamp, outline, self._age.heard, sender)
        if finding is None or not self.guard.may_command:
            return
        if finding.sure:
            self.output.stop_for_another(self.states.two_sources(finding))
        elif finding.replaced and self.guard.began and not self.clock.is_simulated:
            # A person may be at the robot by now, whose wheels and angles may be elsewhere.
            self.output.stop(
                f"another publisher tells {self.states.topic}: the robot's driver was started "
                "anew, or a second one runs; look whether the robot may move"
            )

    def _take(self, stamp: float, sample: Any) -> None:
        """Let a new state, or the ValueError in its place, wait for its answer."""
        if self._pending is not None:
            self._name_newest()
            older = f"a newer {self.robot.state_name} came while this process stood still"
            why = self._law.awaits(self._pending) or older
            self._law.on_left_out(self._pending)
            self._leave_out(why)
            self._pending, self._left_out = None, True
        self.guard.begin()
        self._age.take(stamp)
        if isinstance(sample, ValueError):
            self._name_newest()
            self._leave_out(str(sample))
            return
        self.presence.keep_waiting()
        self._next_state.keep_waiting()
        self._pending = sample
        self._stall.notice()
        self.resume()

    def resume(self) -> None:
        """Answer the sample that waits, if nothing is missing any more."""
        sample = self._pending
        if sample is None or self._stall.lasts:
            return
        if self.stopped_by or not self._law.awaits(sample):
            self._pending = None
            self._answer(sample)

    def _answer(self, sample: Any) -> None:
        self._name_newest()
        # While a sample was left out another torque acted than the zero that answered it.
        anew = bool(self.stopped_by or self._age.stamps.problem or self._left_out)
        self._left_out = False
        if contradiction := self.robot.contradiction(sample, self.guard.command, anew):
            if self._law.in_lock_step:  # nobody mends the wheels of a simulated robot
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
        """Why zero is commanded for now, though the state is good; empty when it need not be."""
        doubt = self.states.doubt(time.monotonic())
        return doubt or self.robot.held_by() or self._law.held_by()

    def _name_newest(self) -> None:
        """Commands from now on answer the newest state."""
        newest = self._age.stamps.newest
        assert newest is not None, "a state that is answered has come"
        self.output.answered = newest

    def _leave_out(self, why: str) -> None:
        """Answer a message that has no sample by zero; before the start, by nothing."""
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
        """A lock-step simulator says a state again until the answer has arrived."""
        if self._pending is not None:
            self.resume()
            return
        self.output.answer_again()
        if self.clock.is_simulated:
            # A simulator that is paused says its state again and again.
            self.presence.keep_waiting()
            if self._next_state.waits_long and self.presence.reminds():
                self._node.get_logger().info(
                    f"the simulator's time stands still at {stamp:g} s: it waits for another node "
                    "(a busy machine), or it is paused; then press its play button, or, where it "
                    "has one, call simulator/set_paused with data: false"
                )
        elif self.presence.waited > LONGEST_REPEAT:
            self._law.refused += 1
            self._law.complain(
                f"{self.robot.state_name}s repeat the stamp {stamp} s: time step must be > 0; "
                "check that the driver stamps each of them"
            )

    # Every WATCH_PERIOD: what does not come, and who is not there.

    def _watch(self) -> None:
        if self.ended:
            return
        if self._stall.look():
            self.resume()
        self.output.look(self._law.waits_for, self._law.refused)
        if why := self._why_to_end():
            self._law.finish(1, why)
            return
        if not self.clock.is_simulated and (why := self.robot.cut_off()):
            self.output.stop_cut_off(why)
        if self.presence.waits_long and self.presence.reminds():
            awaited = self._missing() or f"nothing new on {self.states.topic}"
            self._node.get_logger().info(f"waiting: {awaited}")
        if self._age.began:
            self._look_for_silence()

    def _why_to_end(self) -> str:
        """Why the run has no sense any more; empty while it has."""
        if self._law.in_lock_step and self.output.met:
            return self.output.met
        if met := self._own_run.met():
            return met
        if self._age.began:
            left = self._law.has_left()
            if self.presence.have_left(not left):
                return left
        elif self._own_run.named and (why := self._why_not_to_begin()):
            return why
        if self.presence.gave_up:
            missing = self._missing() or f"nothing that can be used comes on {self.states.topic}"
            return f"gave up after {self.presence.waited:.1f} s of wall time: {missing}"
        return ""

    def _why_not_to_begin(self) -> str:
        """Why a run of which nobody else can become a part will never begin; empty if it may."""
        rivals = self.output.rivals()
        if self._alone.have_left(not rivals):
            return rivals
        return self._own_run.left()

    def _missing(self) -> str:
        pending = "" if self._pending is None else self._law.awaits(self._pending)
        return self._law.waits_for() or pending

    def _look_for_silence(self) -> None:
        """Zero, once, where no state has come in time."""
        if not self.guard.may_command or self.guard.silent:
            return
        if silence := self._age.silence():
            why = (
                f"{silence}: zero {self.robot.command_name} until they come again; check the "
                "robot's driver"
            )
            self.output.hold(why, silent=True)
            self._law.on_silence()
            self._law.complain(why)


class StateSubscription:
    """The states of one robot, watched for a second source of them; see SourceWatch.

    Args:
        node: subscribes.
        states: type of message and name of the topic.
        callback: is called with a message and what tells its sender.
        name: of a state, for messages.
        counts: of the encoders per turn; 0: not known.
    """

    def __init__(
        self,
        node: Node,
        states: tuple[type, str],
        callback: Callable[[Any, Any], None],
        name: str,
        counts: int,
    ) -> None:
        self._node, self._name = node, name
        self._watch = SourceWatch(self.publishers, counts)
        self.topic = subscribe_to_states(node, *states, WithSender(callback)).topic_name

    def publishers(self) -> int:
        """How many nodes publish the topic."""
        return self._node.count_publishers(self.topic)

    @property
    def knows_senders(self) -> bool:
        """Whether the middleware says who sends states, so that two are told apart for sure."""
        return self._watch.knows_senders

    def take(
        self, stamp: float, outline: tuple[float, ...] | None, now: float, sender: object
    ) -> Finding | None:
        """Take in a message; see SourceWatch.update."""
        return self._watch.update(stamp, outline, now, sender)

    def doubt(self, now: float) -> str:
        """Why the newest states may come from two sources; empty where nothing speaks for it.

        Args:
            now: wall time, s.
        """
        doubt = self._watch.doubt(now)
        return doubt and f"two sources may tell {self._name}s on {self.topic}: {doubt}"

    def two_sources(self, finding: Finding) -> str:
        """The sentence about a sign of a second source that is sure, with who they are."""
        names = sorted(
            f"{info.node_namespace.rstrip('/')}/{info.node_name}"
            for info in self._node.get_publishers_info_by_topic(self.topic)
        )
        publish = "publishes" if len(names) == 1 else "publish"
        return (
            f"two sources tell {self._name}s of this robot: {finding.text}; {len(names)} {publish} "
            f"{self.topic} ({', '.join(names)}); stop all sources but one"
        )


class Stall:
    """Lets the newest alone of the states be answered that waited while this process stood still.

    Those before it are as old as the stop was long, and by a simulator's clock, which waits, too,
    nobody would see that.

    Args:
        limit: time between two looks from which on the process stood still, s.
    """

    def __init__(self, limit: float) -> None:
        self._limit = limit
        self._looked = time.monotonic()
        self._looks_due = 0

    @property
    def lasts(self) -> bool:
        """Whether older states may still come: nothing is answered."""
        return self._looks_due > 0

    def notice(self) -> None:
        """A state has come."""
        if time.monotonic() - self._looked > self._limit:
            self._looks_due = LOOKS_AFTER_STALL

    def look(self) -> bool:
        """Called every few ms; whether the newest state may be answered from now on."""
        self._looked = time.monotonic()
        if not self._looks_due:
            return False
        self._looks_due -= 1
        return not self._looks_due


class CommandOutput:
    """Publishes commands, and zero whenever there is a reason to.

    Args:
        node: publishes.
        values: the node's parameters.
        commands: type of message and name of the topic.
        limiter: of the commands.
        message_of: see RobotInterface.
        what: is commanded, for messages.
        hardware: name of the robot, for `diagnostics`; empty where it is not known.

    Attributes:
        guard: says what may be commanded.
        topic: name of the topic.
        answered: stamp of the newest state that was answered, s; see robot_messages.py.
        met: what another run that this one has met did, which stopped it; empty while none has.
    """

    def __init__(
        self,
        node: Node,
        values: CommandParameters,
        commands: tuple[type, str],
        limiter: PairLimiter,
        message_of: Callable[[Pair, float], Any],
        what: str,
        hardware: str = "",
    ) -> None:
        self._node, self._message_of, self._what = node, message_of, what
        self._commands = commands
        self.guard = CommandGuard(limiter)
        self._publisher: Publisher[Any] = node.create_publisher(*commands, 10)
        self._takers = Takers(node, self._publisher)
        self.topic = self._publisher.topic_name
        self.answered = NOTHING
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
        self._publisher.publish(self._message_of(command, self.answered))

    def answer_again(self) -> None:
        """Say again what was last commanded: the answer may have been lost."""
        self.send(self.guard.command)

    def hold(self, why: str, silent: bool = False) -> None:
        """Zero until the next good state; see CommandGuard.hold."""
        self.send(self.guard.hold(why, silent))

    def stop(self, why: str) -> None:
        """Zero until somebody enables it; sent only where a robot has been commanded."""
        first = self.guard.may_command
        zero = self.guard.stop(why)
        if self.guard.began:
            self.send(zero)
        if first:
            self._node.get_logger().error(
                f"stopped: {why}. Zero {self._what} until "
                f"{self._node.get_fully_qualified_name()}/enable is called with data: true"
            )

    def stop_for_another(self, why: str) -> None:
        """Stop because somebody else drives the same robot, or tells its states."""
        self.met = self.met or why
        self.stop(why)

    def stop_cut_off(self, why: str) -> None:
        """Stop, and tell the wheels themselves, once: who passes commands on to them is dead."""
        if self.through_watchdog and self.guard.began and self.guard.may_command:
            self.stop(why)
            self._tell_wheels()

    def end(self, why: str) -> None:
        """Zero for ever; not sent where it never began because another node drives the robot."""
        zero = self.guard.end(why)
        if self.guard.began or not self.rivals():
            self.send(zero)

    def close(self, refused: int) -> None:
        """Zero as the last thing on the wire; see `look` for what was refused."""
        for _ in range(LAST_ZEROS):
            self.end("the process ends")
            time.sleep(LAST_PERIOD)
        if self._is_cut_off():
            self._tell_wheels()
        self._diagnostics.publish(self.guard, "", refused)

    def _tell_wheels(self) -> None:
        zero = self._message_of((0.0, 0.0), self.answered)
        zero_to_wheels(self._node, self._commands, zero, self._what)

    @property
    def through_watchdog(self) -> bool:
        """Whether commands go to the watchdog, which passes them on to the wheels."""
        return self.topic.endswith(f"/{WATCHDOG}/commands")

    def _is_cut_off(self) -> bool:
        """Whether the watchdog, which passes commands on to the wheels, is dead.

        DDS counts a node that was killed for 20 s more; the launch knows it at once.
        """
        died = any(name.startswith(WATCHDOG) for name in told_failures())
        return self.guard.began and self.through_watchdog and (died or not self.has_takers())

    def rivals(self) -> str:
        """What is wrong when others command the same robot; empty when nobody does."""
        others = self._node.count_publishers(self.topic) - 1
        if others <= 0:
            return ""
        return (
            f"{others} other node{'s publish' if others > 1 else ' publishes'} {self.topic}; "
            "leave one, or give each robot its own namespace or ROS_DOMAIN_ID (a node that was "
            "killed outright counts for some 20 s more)"
        )

    def has_takers(self) -> bool:
        """Whether anybody takes the commands; see Takers."""
        return self._takers.are_there()

    def look(self, waits_for: Callable[[], str], refused: int) -> None:
        """Called every few ms: notices rivals and a lost emergency stop, and tells the state.

        Args:
            waits_for: what is missing before anything may be commanded.
            refused: states and inputs that could not be used so far.
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
