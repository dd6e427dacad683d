# SPDX-License-Identifier: Apache-2.0
"""The guide's part of the live view's page: what a browser may ask for, and what it shows.

A browser sends the name of a button, of a step, and an answer; the commands are the guide's own.
Knows no ROS.
"""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from importlib.resources import files
from pathlib import Path
from typing import Any

from diffbot_check.robot_numbers import RobotNumbers, form_of
from diffbot_check.start_guide import QUESTIONS, StartGuide, StartStep
from diffbot_check.start_run import Rehearsal, StepEnd, do_step
from diffbot_description import Robot, load_robot
from diffbot_description.loading import known_robots
from diffbot_description.spoken_commands import spoken
from diffbot_description.terminal_text import printable
from diffbot_sim.child_processes import ChildProcess, stop_all
from diffbot_view.live_values import shape_of
from diffbot_view.server import PageAddition
from diffbot_view.store import Store

LONGEST_ANSWER = 300  # characters
MOST_LINES, LONGEST_LINE = 120, 300  # of a command's output that are shown
SHOWN = 0.25  # s between two looks at the output
CONSENT = "yes"
BY_HAND = "by hand"
BY_HAND_FILE = "by_hand.yaml"
REPORT, REPORTS = "report.html", "/report/"


class GuideButton(str, Enum):
    """Buttons of the guide."""

    RUN = "run"
    SKIP = "skip"
    UNDO = "undo"
    END = "end"
    """End the command that runs."""
    DRAW = "draw"
    """Draw the robot that the numbers describe."""
    MEND = "mend"
    LEAVE = "leave"


@dataclass(frozen=True)
class GuideRequest:
    """A valid message of a browser to the guide."""

    button: GuideButton
    step: StartStep | None = None
    answer: str = ""
    values: Mapping[str, float | str] = field(default_factory=dict)


def parse_request(message: dict[str, Any]) -> GuideRequest | None:
    """Return the request in a message of a browser; None: none of the guide's; else ValueError."""
    name = message.get("do")
    if not isinstance(name, str) or name not in {each.value for each in GuideButton}:
        return None
    button = GuideButton(name)
    known = {"do"}
    step, answer = None, ""
    values: Any = {}
    if button in (GuideButton.RUN, GuideButton.SKIP, GuideButton.UNDO):
        known.add("step")
        named = message.get("step")
        step = next((each for each in StartStep if each.value == named), None)
        if step is None:
            raise ValueError("step must be a step of the guide")
    if button is GuideButton.RUN:
        known.add("answer")
        answer = message.get("answer", "")
        if not isinstance(answer, str) or len(answer) > LONGEST_ANSWER or not answer.isprintable():
            raise ValueError(
                f"answer must be a printable text, {LONGEST_ANSWER} characters at most"
            )
    if button is GuideButton.DRAW:
        known.add("values")
        values = message.get("values")
        if not isinstance(values, dict):
            raise ValueError("values must be an object")
    if message.keys() - known:
        raise ValueError("the message has parts that its button does not")
    return GuideRequest(button, step, answer.strip(), values)


class GuidePage:
    """Leads through a guide in a browser, with a simulated robot, or, without one, a real one."""

    def __init__(self, guide: StartGuide, rehearsal: Rehearsal | None) -> None:
        self._guide, self._rehearsal = guide, rehearsal
        self._requests: queue.SimpleQueue[GuideRequest] = queue.SimpleQueue()
        self._process: ChildProcess | None = None
        self._running: StartStep | None = None
        self._begun, self._handled = 0.0, 0
        self._ends: dict[StartStep, StepEnd] = {}
        self._said, self._drawn = "", RobotNumbers()
        self.left = threading.Event()
        web = files("diffbot_check") / "web"
        html, style, script = (
            (web / f"guide.{suffix}").read_text(encoding="utf-8")
            for suffix in ("html", "css", "js")
        )
        self.addition = PageAddition(html, style, script, self._take, self._document)

    def begin(self, store: Store, show_robot: Callable[[Robot], None]) -> None:
        """Show the guide in a view's store, and begin to work in a thread of its own."""
        self._store, self._show_robot = store, show_robot
        store.set(
            robot=None,
            standing=[0.0, 0.0, 0.0],
            title=f"{self._guide.folder.name}: a robot's first drive",
            guide_lines=[],
            guide_form={"fields": form_of(), "robots": known_robots(), "files": self._files()},
            guide_drawn=None,
        )
        if self._guide.robot_file.exists():
            self._show_file()
        self._show()
        threading.Thread(target=self._work, name="guide", daemon=True).start()

    def close(self) -> None:
        """End the command that runs."""
        self.left.set()
        if (process := self._process) is not None:
            stop_all([process])

    # The server's thread.

    def _take(self, message: dict[str, Any]) -> bool:
        request = parse_request(message)
        if request is None:
            if message.get("do") == "stop":
                self._interrupt()
            return False
        if request.button is GuideButton.END:
            self._interrupt()
        elif request.button is GuideButton.LEAVE:
            self.left.set()
        elif self._running is None:
            self._requests.put(request)
        return True

    def _interrupt(self) -> None:
        if (process := self._process) is not None:
            process.signal(signal.SIGINT)

    def _document(self, path: str) -> bytes | None:
        """Return the report of a step's last run."""
        for step in StartStep:
            folder = self._guide.state.results.get(step.value)
            if folder and path == REPORTS + step.name.lower():
                try:
                    return (self._guide.folder / folder / REPORT).read_bytes()
                except OSError:
                    return None
        return None

    # The guide's thread.

    def _work(self) -> None:
        while True:
            request = self._requests.get()
            try:
                self._do(request)
            except (ValueError, OSError) as error:
                self._said = str(error)
            self._running = None
            self._handled += 1
            self._show()

    def _do(self, request: GuideRequest) -> None:
        step, guide = request.step, self._guide
        if request.button is GuideButton.DRAW:
            self._draw(request.values)
        elif request.button is GuideButton.MEND and self._rehearsal is not None:
            self._said = f"Mended: {self._rehearsal.mend() or 'there was nothing'}."
        elif step is not None:
            self._said = ""
            if request.button is GuideButton.SKIP:
                guide.skipped(step)
            elif request.button is GuideButton.UNDO:
                self._ends.pop(step, None)
                self._said = guide.undone(step)
                self._show_file()
            elif request.button is GuideButton.RUN:
                self._run_step(step, request.answer)

    def _run_step(self, step: StartStep, answer: str) -> None:
        if step.moves and self._store.get("pressed"):
            raise ValueError("The stop is pressed: release it first.")
        if step is StartStep.MOVING and answer != CONSENT:
            raise ValueError("Say first that the wheels are lifted, or that there is room.")
        if step is StartStep.DESCRIBE and answer == BY_HAND:
            answer = str(self._drawn.written(self._guide.folder / BY_HAND_FILE))
        self._running, self._begun = step, time.time()
        self._store.set(guide_lines=[])
        self._ends.pop(step, None)
        self._show()
        self._ends[step] = do_step(self._guide, step, answer, self._run, may_move=True)
        if step in (StartStep.DESCRIBE, StartStep.MOVING):
            self._show_file()

    def _run(self, words: list[str]) -> int:
        """Run a command of the suite, and show what it prints; return its exit status."""
        log = self._log
        log.write_text("")
        command = [sys.executable, "-m", "diffbot_bringup.cli", *words]
        variables = {"PYTHONUNBUFFERED": "1", "COLUMNS": "80"}
        self._process = ChildProcess("step", command, variables, output=log)
        while (status := self._process.wait(SHOWN)) is None:
            self._store.set(guide_lines=_lines(log))
        self._process = None
        self._store.set(guide_lines=_lines(log))
        return status

    @property
    def _log(self) -> Path:
        return self._guide.folder / "last_step.log"

    def _draw(self, values: Mapping[str, Any]) -> None:
        try:
            self._drawn = RobotNumbers.of(values)
            robot = self._drawn.robot(self._guide.folder / BY_HAND_FILE)
        except ValueError as error:
            self._store.set(guide_drawn={"problem": str(error)})
            return
        self._store.set(guide_drawn={"problem": ""}, robot=shape_of(robot))

    def _show_file(self) -> None:
        try:
            robot = load_robot(self._guide.robot_file)
        except ValueError:
            self._store.set(robot=None)
            return
        self._show_robot(robot)

    def _files(self) -> list[str]:
        """Files near the guide that may describe a robot."""
        places = {Path.cwd(), self._guide.folder.parent.absolute()}
        suffixes = (".urdf", ".xacro", ".yaml")
        near = [each for place in places for each in place.iterdir() if each.suffix in suffixes]
        return sorted(os.path.relpath(each) for each in near)[:20]

    # What is shown.

    def _show(self) -> None:
        guide, state = self._guide, self._guide.state
        following = state.next_step
        self._store.set(
            guide={
                "folder": str(guide.folder),
                "apply": guide.to_apply,
                "kind": None if state.kind is None else state.kind.value,
                "arena": state.arena,
                "steps": [self._content(step) for step in StartStep],
                "next": None if following is None else following.value,
                "running": None if self._running is None else self._running.value,
                "begun": self._begun,
                "handled": self._handled,
                "said": printable(self._said),
                "rehearsal": None if self._rehearsal is None else self._rehearsal.robot,
                "again": spoken("start", str(guide.folder)),
            }
        )

    def _content(self, step: StartStep) -> dict[str, Any]:
        guide, state = self._guide, self._guide.state
        refusal, end = guide.refusal(step), self._ends.get(step)
        runnable = not refusal and step not in QUESTIONS
        results = state.results.get(step.value, "")
        return {
            "name": step.value,
            "text": step.text,
            "room": step.room,
            "time": step.time,
            "seconds": step.seconds,
            "moves": step.moves,
            "outcome": state.outcome(step).value,
            "refusal": refusal,
            "command": spoken(*guide.command(step)) if runnable else "",
            "said": "" if end is None else printable(end.said),
            "findings": guide.findings(step),
            "results": results,
            "report": REPORTS + step.name.lower()
            if results and (guide.folder / results / REPORT).exists()
            else "",
        }


def _lines(log: Path) -> list[str]:
    text = log.read_text(encoding="utf-8", errors="replace")
    return [printable(line[:LONGEST_LINE]) for line in text.splitlines()[-MOST_LINES:]]
