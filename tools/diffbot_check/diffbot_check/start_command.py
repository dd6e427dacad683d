# SPDX-License-Identifier: Apache-2.0
"""``diffbot start``: the guide in the terminal, from the first look to exported files."""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack

from rich.console import Console

from diffbot_check.rehearsal_faults import RehearsalFault
from diffbot_check.start_guide import StartGuide, StartStep, StepOutcome
from diffbot_check.start_run import DONE, LEFT, Rehearsal, do_step
from diffbot_description.command_parser import CommandParser
from diffbot_description.named_paths import expanded
from diffbot_description.run_folder import make_writable
from diffbot_description.spoken_commands import spoken
from diffbot_description.standard_streams import keep_streams
from diffbot_description.terminal_text import complain, printable

USAGE, INTERRUPTED = 2, 128 + signal.SIGINT
REHEARSAL_ROOM = "4x4"
PORT = 8765
# Runs of a step that fails without a fault, in a rehearsal without questions.
ATTEMPTS = 4

_EPILOG = """\
Each step says what will happen and shows its command. Enter runs it, s skips it, b goes back one
step, a step's name goes there, q leaves: the same command with the same folder continues.
exit status: 0 all steps are done or skipped, 1 left before, 2 wrong arguments, 130 Ctrl-C"""


def _parser(program: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        program, "Lead through a robot's first ten minutes, one command after the other.", _EPILOG
    )
    add = parser.add_argument
    add("folder", nargs="?", default="my_robot", help="for robot file, results (default: my_robot)")
    add("--rehearse", action="store_true", help="with a simulated robot in real time")
    add("--robot", metavar="NAME", help="of the rehearsal: twil (default), agv or turtlebot2")
    add(
        "--fault",
        choices=[each.value for each in RehearsalFault],
        default=RehearsalFault.NONE.value,
        help="of the rehearsal, to be found",
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument(
        "--browser", action="store_true", help="lead in a browser (default where one can be opened)"
    )
    where.add_argument("--terminal", action="store_true", help="lead in this terminal")
    add("--port", metavar="N", type=int, help="of the guide in a browser (default: 8765)")
    add("--yes", action="store_true", help="of the rehearsal: run all steps without a question")
    return parser


def main(
    argv: Sequence[str], program: str, claim: Callable[[str], AbstractContextManager[object]]
) -> int:
    """Lead; return the exit status.

    `claim` sets a domain of its own for a rehearsal while its context lasts.
    """
    parser = _parser(program)
    options = parser.parse_args(argv)
    if not options.rehearse and (options.robot or options.yes or options.fault != "none"):
        parser.error("--robot, --fault and --yes need --rehearse")
    folder = expanded(options.folder)
    keep_streams()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    try:
        make_writable(folder)
        guide = StartGuide(folder, options.rehearse)
        with ExitStack() as stack:
            rehearsal = None
            if options.rehearse:
                stack.enter_context(claim("start"))
                rehearsal = stack.enter_context(Rehearsal(options.robot or "twil", options.fault))
            if _in_browser(options):
                return _lead_in_browser(guide, rehearsal, options)
            return TerminalGuide(guide, rehearsal, options.yes).lead()
    except KeyboardInterrupt:
        return INTERRUPTED
    except EndedError as ended:
        return 128 + int(ended.args[0])
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE


def _in_browser(options: argparse.Namespace) -> bool:
    from diffbot_check.start_browser import has_browser

    return options.browser or not (options.terminal or options.yes) and has_browser()


def _lead_in_browser(
    guide: StartGuide, rehearsal: Rehearsal | None, options: argparse.Namespace
) -> int:
    from diffbot_check.start_browser import lead_in_browser

    port = PORT if options.port is None else options.port
    return lead_in_browser(guide, rehearsal, port, lambda text: print(text, flush=True))


class EndedError(Exception):
    """A signal ends the guide, and the command that runs; the argument is its number."""


def _end(number: int, frame: object) -> None:
    raise EndedError(number)


class TerminalGuide:
    """Asks, runs the steps' commands, and says what comes next."""

    def __init__(self, guide: StartGuide, rehearsal: Rehearsal | None, yes: bool) -> None:
        self._guide, self._rehearsal, self._yes = guide, rehearsal, yes
        self._console = Console(highlight=False, markup=False)

    def lead(self) -> int:
        """Lead through the steps that are left; return the exit status."""
        self._say(f"Folder {self._guide.folder}: robot file, results and commands.txt.")
        while (step := self._guide.state.next_step) is not None:
            if not self._step(step):
                where = spoken("start", str(self._guide.folder))
                self._say(f"Left at '{step.value}'. To continue: {where}")
                return LEFT
        self._say(
            f"All steps are done. {self._guide.folder / 'commands.txt'} has the commands that "
            "repeat them."
        )
        if line := self._guide.to_apply:
            self._say(f"To give the exported values to running controllers: {line}")
        return DONE

    def _say(self, text: str, style: str = "") -> None:
        self._console.print(printable(text), style=style or None, soft_wrap=True)

    def _step(self, step: StartStep) -> bool:
        """Do one step; return False to leave."""
        guide = self._guide
        self._announce(step)
        if refusal := guide.refusal(step):
            self._say(f"It cannot begin: {refusal}.", "yellow")
        answer = self._ask(step, bool(refusal))
        if answer is None or answer == "q":
            return False
        if answer == "s":
            guide.skipped(step)
        elif answer == "b":
            self._back(step)
        elif answer in {each.value for each in StartStep}:
            guide.reopened(next(each for each in StartStep if each.value == answer))
        elif answer == "m" and self._rehearsal is not None:
            self._say(f"Mended: {self._rehearsal.mend() or 'there was nothing'}.", "green")
        elif answer and not step.asks:
            self._say(f"'{answer}' is none of the choices.", "yellow")
        elif not refusal:
            self._do(step, answer)
        return True

    def _announce(self, step: StartStep) -> None:
        steps = [*StartStep]
        self._console.rule(f"{steps.index(step) + 1} of {len(steps)}: {step.value}", align="left")
        self._say(step.text)
        self._say(f"Room: {step.room}. Time: about {step.time}.", "dim")

    def _ask(self, step: StartStep, refused: bool) -> str | None:
        """Return the answer: a letter of the choices, or that to the step's question."""
        guide, question = self._guide, step.asks
        choices = "s skip, b back, q leave, or the name of an earlier step"
        if self._rehearsal is not None:
            choices += ", m mend the simulated robot"
        if not question and not refused:
            self._say(f"    {spoken(*guide.command(step))}", "cyan")
        if self._yes:
            return self._by_itself(step, refused)
        begin = f"{question}; " if question else "" if refused else "Enter run, "
        self._console.print(f"{begin}{choices}: ", end="")
        line = sys.stdin.readline()
        return line.strip() if line else None

    def _by_itself(self, step: StartStep, refused: bool) -> str | None:
        """The answer of a rehearsal without questions: a fault is mended once a step has failed."""
        assert self._rehearsal is not None
        if step is StartStep.DESCRIBE:
            return self._rehearsal.robot
        if step is StartStep.ROOM:
            return REHEARSAL_ROOM
        if refused and step is StartStep.DRIVE:
            runs = self._guide.state.runs.get(StartStep.IDENTIFY.value, 0)
            return StartStep.IDENTIFY.value if runs < ATTEMPTS else None
        if refused or step is StartStep.CALIBRATE:
            return "s"
        if self._guide.state.outcome(step) is StepOutcome.FAILED:
            if self._rehearsal.fault is not RehearsalFault.NONE:
                return "m"
            return "" if self._guide.state.runs.get(step.value, 0) < ATTEMPTS else None
        return ""

    def _back(self, step: StartStep) -> None:
        steps = [*StartStep]
        self._guide.reopened(steps[max(steps.index(step) - 1, 0)])

    def _do(self, step: StartStep, answer: str) -> None:
        end = do_step(self._guide, step, answer, self._run, may_move=self._yes)
        if end.said:
            self._say(end.said, "yellow")
        elif step is StartStep.DESCRIBE:
            self._say(f"written: {self._guide.robot_file}")

    def _run(self, words: list[str]) -> int:
        self._console.file.flush()
        command = [sys.executable, "-m", "diffbot_bringup.cli", *words]
        # It takes Ctrl-C once it can end without a traceback, see diffbot_bringup/cli.py.
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT,))
        try:
            process = subprocess.Popen(command, env=dict(os.environ))
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))
        interrupted = False
        while process.poll() is None:
            try:
                process.wait()
            except KeyboardInterrupt:
                interrupted = True  # the command got it, too, and ends by itself
            except EndedError:
                process.send_signal(signal.SIGINT)
                process.send_signal(signal.SIGCONT)  # it may be stopped
                process.wait()
                raise
        if interrupted and self._yes:  # nobody is asked whether to go on
            raise KeyboardInterrupt
        return process.returncode
