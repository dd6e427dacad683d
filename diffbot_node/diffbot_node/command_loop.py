# SPDX-License-Identifier: Apache-2.0
"""From a robot's state to the command that answers it: read, checks, law, limits, publish.

| step | part |
|---|---|
| read | RobotInterface (command_interfaces.py); `read` (state_subscription.py) |
| checks | Check, the list (checks.py); CommandChecks, what each asks (command_checks.py) |
| law | CommandLaw (command_interfaces.py) |
| limits | CommandGuard and PairLimiter (command_guard.py) |
| publish | CommandOutput (command_output.py) |

The parts do not know each other; CommandNode composes them. Each state is answered once; a repeated
state, such as that of a paused simulator, gets the same answer again.
"""

from __future__ import annotations

from typing import Any

from diffbot_description.spoken_commands import spoken
from diffbot_node.checks import Check, Moment
from diffbot_node.command_checks import CommandChecks
from diffbot_node.command_interfaces import CommandLaw, RobotInterface
from diffbot_node.command_output import CommandOutput
from diffbot_node.presence import Presence
from diffbot_node.robot_messages import NodeClock
from diffbot_node.senders import Origin
from diffbot_node.state_age import StateClock
from diffbot_node.state_subscription import Arrival, Stall, read
from diffbot_node.stop_states import GuardState
from diffbot_node.verdicts import Level, Verdict

# A real robot may repeat a stamp for at most so long, s of wall time.
LONGEST_REPEAT = 1.0


class CommandLoop:
    """Answers each state of a robot by the law's desired command, as far as the checks allow it.

    Args:
        lock_step: Whether the robot is a simulator that waits for each command.

    Attributes:
        pending: The sample that waits for its answer, mostly for an input; None if none does.
    """

    def __init__(
        self,
        robot: RobotInterface,
        checks: CommandChecks,
        law: CommandLaw,
        output: CommandOutput,
        age: StateClock,
        presence: Presence,
        clock: NodeClock,
        stall: Stall,
        lock_step: bool,
    ) -> None:
        self.robot, self._checks, self._law, self._output = robot, checks, law, output
        self._age, self._presence, self._clock, self._stall = age, presence, clock, stall
        self._lock_step = lock_step
        self._checklist = checks.checklist
        self._next_state = Presence(0.0)
        self.pending: Any = None
        self._left_out = False  # whether samples were skipped since the last answered one

    def on_state(self, message: Any, came_from: Origin = None) -> None:
        """Take a message, unless it is not new, of another robot, or cannot be used."""
        if self._output.ended or not self.robot.concerns(message):
            return
        self._age.hear()
        arrival = read(self.robot, message, came_from)
        for _, verdict in self._checklist.each(Moment.MESSAGE, arrival):
            if verdict.level is Level.HOLD:
                self._leave_out(verdict.reason)
                return
            self._halt(verdict)
            if self._output.ended:
                return
        if arrival.stamp == self._age.stamps.newest:
            self._repeated(arrival.stamp)
        elif self._age.began or not self._checklist.first(Moment.BEGIN):
            self._take(arrival)

    def _take(self, arrival: Arrival) -> None:
        if self.pending is not None:
            older = f"a newer {self.robot.state_name} arrived while this process was suspended"
            why = self._checklist.first(Moment.INPUT, self.pending).reason or older
            self._law.on_left_out(self.pending)
            self._leave_out(why)
            self.pending, self._left_out = None, True
        self._output.guard.begin()
        self._age.take(arrival.stamp)
        if problem := self._checklist.first(Moment.STATE, arrival):
            self._leave_out(problem.reason)
            return
        self._checks.unusable = ""
        self._presence.keep_waiting()
        self._next_state.keep_waiting()
        self.pending = arrival.sample
        self._stall.notice()
        self.resume()

    def resume(self) -> None:
        sample = self.pending
        if sample is None or self._stall.lasts:
            return
        if self._output.stopped_by or not self._checklist.first(Moment.INPUT, sample):
            self.pending = None
            self._answer(sample)

    def _answer(self, sample: Any) -> None:
        output = self._output
        # Another torque than the zero that answered a skipped sample may have acted meanwhile.
        late = not self._lock_step and self._age.answer_is_late()
        anew = late or bool(output.stopped_by or self._age.stamps.problem or self._left_out)
        self._left_out = False
        if wrong := self._checklist.first(Moment.MOTION, sample, output.guard.command, anew):
            self._halt(wrong)
            if output.ended:
                return
        if output.stopped_by:
            output.answer_again()
            self._law.on_stopped(sample)
            return
        try:
            wanted = self._law.on_sample(sample)
            if problem := self._checklist.first(Moment.ANSWER):
                raise ValueError(problem.reason)
            command = output.answer(wanted, self._age.stamps.period)
        except ValueError as error:
            output.refuse(str(error))
            self._law.on_refused(sample)
            return
        self._law.on_commanded(sample, command)

    def _halt(self, verdict: Verdict) -> None:
        if verdict.level is Level.END:
            self._law.finish(1, verdict.reason)
        else:
            self._output.stop(verdict.reason)

    def _leave_out(self, why: str) -> None:
        """Answer an unusable message by zero; do not answer it before the start."""
        self._checks.unusable = why
        if not self._output.guard.began:
            self._output.ignore(why)
            return
        self._output.refuse(why)
        self._law.on_silence()

    def _repeated(self, stamp: float) -> None:
        if self.pending is not None:
            self.resume()
            return
        self._output.answer_again()
        if self._clock.is_simulated:
            self._presence.keep_waiting()
            if self._next_state.waits_long and self._presence.reminds():
                self._output.inform(
                    f"the simulated time stands still at {stamp:g} s: the simulator waits for "
                    "another node (a busy machine) or is paused; if paused, press its play button "
                    "or call simulator/set_paused with data: false"
                )
        elif self._presence.waited > LONGEST_REPEAT:
            self._output.ignore(
                f"{self.robot.state_name}s repeat the stamp {stamp} s: time step must be > 0; "
                "check that the driver gives each its own stamp"
            )

    def look(self) -> None:
        output = self._output
        if output.ended:
            return
        if self._stall.look():
            self.resume()
        output.look()
        for check, verdict in self._checklist.each(Moment.LOOK, self.pending):
            if verdict.level is Level.HOLD:
                self._fall_silent(verdict.reason)
            else:
                self._halt(verdict)
            if check is Check.WATCHDOG:
                output.send_zero_to_wheels()
            if output.ended:
                return
        waiting = output.guard.state is GuardState.WAITING
        output.report(self._checks.missing().reason if waiting else "")
        if self._presence.waits_long and self._presence.reminds():
            awaited = self._checks.awaited(self.pending, "no new message")
            hint = "" if self._lock_step else f" ({spoken('check')} shows what is there)"
            output.inform(f"waiting: {awaited}{hint}")

    def _fall_silent(self, why: str) -> None:
        self._output.hold(why, silent=True)
        self._law.on_silence()
        self._output.complain(why)
