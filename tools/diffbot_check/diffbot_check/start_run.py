# SPDX-License-Identifier: Apache-2.0
"""Doing a step of `diffbot start` for any front end; the simulated robot of a rehearsal."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

from diffbot_check.rehearsal_faults import RehearsalFault
from diffbot_check.start_guide import NEXT_TO_REFUSAL, StartGuide, StartStep, StepOutcome
from diffbot_description import load_robot
from diffbot_description.arena import Arena
from diffbot_description.loading import save_robot

DONE, LEFT = 0, 1  # exit status of the guide: all steps are done or skipped, or some are left
REFUSED = 2  # exit status of a step that was refused before its command ran
# Time for the simulated robot to end, s.
ENDING = 5.0


@dataclass(frozen=True)
class StepEnd:
    """How a step ended: its outcome, and what to tell the person, a sentence or empty."""

    outcome: StepOutcome
    said: str = ""


def do_step(
    guide: StartGuide,
    step: StartStep,
    answer: str,
    run: Callable[[list[str]], int],
    may_move: bool = False,
) -> StepEnd:
    """Do a step of a guide, note what has become of it, and return that.

    A step that the guide refuses is not begun, nor one without an answer to its question. `run`
    runs a command, the words after `diffbot`, and returns its exit status; `may_move`: the person
    has said that there is room, so that the command does not ask again.
    """
    before = guide.state.outcome(step)
    if refusal := guide.refusal(step):
        return StepEnd(before, f"It cannot begin: {refusal}.")
    if step.asks and not answer:
        return StepEnd(before, f"It needs an answer: {step.asks}.")
    try:
        if step is StartStep.ROOM:
            guide.measured(_rectangle(answer))
            return StepEnd(StepOutcome.DONE)
        words, folder = guide.command(step, answer), guide.results_of(step)
    except ValueError as error:
        return StepEnd(before, str(error))
    guide.begun(step)
    said = ""
    try:
        status = run(_with_consent(words, may_move)) if words else _take(guide, answer)
        if step is StartStep.DESCRIBE and not status:
            guide.described(load_robot(guide.robot_file))
    except ValueError as error:
        said, status = f"{error} ", REFUSED
    if guide.ended(step, status, words, folder) is StepOutcome.DONE:
        return StepEnd(StepOutcome.DONE)
    return StepEnd(StepOutcome.FAILED, said + NEXT_TO_REFUSAL.get(step, "Repeat it, or skip it."))


def _rectangle(answer: str) -> str:
    if Arena.parse(answer) is None:
        raise ValueError(f"arena = {answer!r}: give length x width in m, such as 3x3")
    return answer


def _with_consent(words: list[str], may_move: bool) -> list[str]:
    return [*words, "--yes"] if may_move and "--moving" in words else words


def _take(guide: StartGuide, answer: str) -> int:
    """Copy a robot's file, or that of a robot of the package."""
    save_robot(load_robot(answer), guide.robot_file)
    return 0


class Rehearsal:
    """A simulated robot in a process, as a context manager."""

    def __init__(self, robot: str, fault: str) -> None:
        self.robot, self.fault = robot, RehearsalFault(fault)
        load_robot(robot)

    def __enter__(self) -> Rehearsal:
        words = ["-m", "diffbot_check.rehearsal_robot", self.robot, self.fault.value]
        self._process = subprocess.Popen([sys.executable, *words], start_new_session=True)
        return self

    def __exit__(self, *error: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(ENDING)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def mend(self) -> str:
        """Start the robot again without its fault; return what was mended."""
        said = self.fault.mending
        self.__exit__()
        self.fault = RehearsalFault.NONE
        self.__enter__()
        return said
