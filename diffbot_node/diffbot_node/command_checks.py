# SPDX-License-Identifier: Apache-2.0
"""What each check of a commanding node asks, and which part knows."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from diffbot_node.checks import Check, Checklist, Moment, Question
from diffbot_node.command_interfaces import CommandLaw, RobotInterface
from diffbot_node.command_output import CommandOutput
from diffbot_node.launch_supervision import STARTER
from diffbot_node.presence import PARTING, Presence
from diffbot_node.robot_messages import NodeClock
from diffbot_node.state_age import StateClock
from diffbot_node.state_subscription import Arrival, StateSubscription
from diffbot_node.stop_states import GuardState
from diffbot_node.verdicts import GOOD, Level, Verdict, judged

_ABANDONED = Verdict(
    Level.STOP,
    "the process that started this node is stopped (Ctrl-Z, SIGSTOP), so that nobody can end it; "
    "let that continue first",
)


class CommandChecks:
    """Answers each Check from the parts of a commanding node; `composed`: with its simulator.

    Attributes:
        checklist: Ready to be made.
        unusable: Why the newest message about the robot could not be used; empty if it could.
    """

    def __init__(
        self,
        robot: RobotInterface,
        law: CommandLaw,
        states: StateSubscription,
        output: CommandOutput,
        clock: NodeClock,
        age: StateClock,
        presence: Presence,
        composed: bool,
    ) -> None:
        self._robot, self._law, self._states, self._output = robot, law, states, output
        self._clock, self._age, self._presence = clock, age, presence
        self._composed = composed
        self._alone = Presence(0.0, PARTING)
        self.unusable = ""
        self.checklist = Checklist(self._questions(), stops_end=composed)

    def _questions(self) -> Mapping[Check, Question]:
        robot, law, states, output = self._robot, self._law, self._states, self._output
        return {
            Check.SOURCES: self._second_source,
            Check.STAMP: lambda arrival: arrival.stamp_problem,
            Check.NEEDS: law.needs,
            Check.CLOCK: self._clock.missing,
            Check.STATES: states.missing,
            Check.OTHERS: output.rivals,
            Check.SUBSCRIBERS: output.missing,
            Check.CONTENT: lambda arrival: arrival.content_problem,
            Check.INPUT: law.awaits,
            Check.MOTION: lambda *about: robot.contradiction(*about),
            Check.AGE: self._age.problem,
            Check.DOUBT: lambda: states.doubt(time.monotonic()),
            Check.ROBOT: robot.held_by,
            Check.LAW: law.held_by,
            Check.RIVALS: self._rivals,
            Check.LEFT: self._left,
            Check.CROWD: self._crowd,
            Check.PATIENCE: self._patience,
            Check.WATCHDOG: self._watchdog,
            Check.STARTER: self._starter,
            Check.SILENCE: self._silence,
        }

    def missing(self, pending: Any = None) -> Verdict:
        """What is awaited: a partner, a waiting sample's input, states of this robot."""
        missing = self.checklist.first(Moment.BEGIN)
        if not missing and pending is not None:
            missing = self.checklist.first(Moment.INPUT, pending)
        return missing or self._robot.unrelated()

    def awaited(self, pending: Any, messages: str) -> str:
        """What is awaited; `messages` says so of the states if nothing else is."""
        topic, missing = self._states.topic, self.missing(pending).reason
        if not missing and self.unusable:
            missing = f"no message on {topic} can be used: {self.unusable}"
        if not missing and not self._age.began:
            missing = self._states.of_another_type().reason
        return missing or f"{messages} on {topic}"

    def _second_source(self, arrival: Arrival) -> Verdict:
        sample = arrival.sample
        angles = None if sample is None else self._robot.wheel_angles(sample)
        finding = self._states.take(arrival.stamp, angles, self._age.heard, arrival.came_from)
        state = self._output.guard
        if finding is None or not (state.may_command or self._composed):
            return GOOD
        if finding.significant:
            return self._states.two_sources(finding)
        if finding.replaced and state.began and not self._clock.is_simulated:
            # Meanwhile the robot may have been moved, and a person may be near it.
            return self._states.replaced()
        return GOOD

    def _rivals(self, pending: Any) -> Verdict:
        state = self._output.guard
        return self._output.rivals() if state.began and state.may_command else GOOD

    def _left(self, pending: Any) -> Verdict:
        if not self._age.began:
            return GOOD
        left = self._law.has_left()
        if not left and self._clock.is_simulated:
            # A real robot's driver may come back.
            left = self._states.left()
        return left if self._presence.have_left(not left) else GOOD

    def _crowd(self, pending: Any) -> Verdict:
        """Whether others command this robot before the start."""
        if self._age.began or not self._composed:
            return GOOD
        rivals = self._output.rivals()
        return rivals if self._alone.have_left(not rivals) else GOOD

    def _patience(self, pending: Any) -> Verdict:
        if not self._presence.gave_up:
            return GOOD
        waited = self._presence.waited
        missing = self.awaited(pending, "no usable message")
        return Verdict(Level.END, f"gave up after {waited:.1f} s of wall time: {missing}")

    def _watchdog(self, pending: Any) -> Verdict:
        if self._clock.is_simulated:
            return GOOD
        cut_off, state = self._robot.cut_off(), self._output.guard
        relevant = self._output.through_watchdog and state.began and state.may_command
        return cut_off if relevant else GOOD

    def _starter(self, pending: Any) -> Verdict:
        may_command = self._output.guard.may_command and not self._clock.is_simulated
        return _ABANDONED if may_command and STARTER.is_stopped() else GOOD

    def _silence(self, pending: Any) -> Verdict:
        state = self._output.guard
        if not self._age.began or not state.may_command or state.state is GuardState.SILENT:
            return GOOD
        silence = self._age.silence(self._composed).reason
        return judged(
            Level.HOLD,
            silence
            and f"{silence}: zero {self._robot.command_name} until they arrive again; check the "
            "robot's driver",
        )
