# SPDX-License-Identifier: Apache-2.0
"""The steps of `diffbot start`, and how far a person is with them. Knows no ROS and no terminal.

Each step is a command of the suite; nothing is done here that the command does not do.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from diffbot_description import Robot
from diffbot_description.arena import Arena
from diffbot_description.command_kind import CommandKind
from diffbot_description.files import (
    parse_json,
    parse_yaml,
    read_text,
    write_atomically,
    write_json,
)
from diffbot_description.spoken_commands import spoken
from diffbot_node.topic_types import TWIST

STATE, COMMANDS, ROBOT_FILE = "start.json", "commands.txt", "robot.yaml"
CONNECTED, SEEN, MOVED = "connect.json", "check.json", "check_moving.json"
VERSION = 1


class StartStep(str, Enum):
    """A step: its name, what happens, how much room and how many seconds it takes."""

    CONNECT = (
        "connect",
        "Look which nodes and topics of a robot are there. Nothing moves.",
        "no room",
        10.0,
    )
    DESCRIBE = (
        "describe",
        "Make the robot's file from a URDF, from /robot_description, or take a file that there is. "
        "Nothing moves.",
        "no room",
        60.0,
    )
    CHECK = (
        "check",
        "Compare the robot with its file, and say what each task lacks. Nothing moves.",
        "no room",
        10.0,
    )
    MOVING = (
        "check moving",
        "Turn one wheel at a time by less than a quarter turn: which motor turns which wheel, in "
        "which direction, and does the driver stop by itself? The result goes into the robot's "
        "file.",
        "wheels lifted, or 20 cm on all sides",
        60.0,
    )
    ROOM = (
        "room",
        "Say how large the free rectangle around the robot is. It starts in the middle, heading "
        "along the length; what follows stays inside.",
        "measure it",
        60.0,
    )
    IDENTIFY = (
        "identify",
        "The robot shakes forward, backward and in turns; its parameters are computed with their "
        "intervals. Wheels on the ground.",
        "the rectangle",
        120.0,
    )
    CALIBRATE = (
        "calibrate",
        "The robot drives squares; radii and track are computed. It needs a gyro on imu/data or a "
        "pose source.",
        "the rectangle",
        240.0,
    )
    DRIVE = (
        "drive a test",
        "The robot drives a figure-8 with what was identified.",
        "the rectangle",
        120.0,
    )
    EXPORT = (
        "export",
        "Write the results as files for ros2_control and Nav2. Nothing moves.",
        "no room",
        10.0,
    )

    text: str
    room: str
    seconds: float

    def __new__(cls, value: str, text: str, room: str, seconds: float) -> StartStep:
        member = str.__new__(cls, value)
        member._value_ = value
        member.text, member.room, member.seconds = text, room, seconds
        return member

    @property
    def time(self) -> str:
        minutes = round(self.seconds / 60.0)
        if not minutes:
            return f"{self.seconds:g} s"
        return f"{minutes} minute{'s' if minutes > 1 else ''}"

    @property
    def moves(self) -> bool:
        return self in (StartStep.MOVING, *IN_THE_ROOM)

    @property
    def asks(self) -> str:
        """The question whose answer the step needs; empty if it needs none."""
        return QUESTIONS.get(self, "")


IN_THE_ROOM = (StartStep.IDENTIFY, StartStep.CALIBRATE, StartStep.DRIVE)
"""Steps that move the robot within the free rectangle."""
CHANGE_FILE = (StartStep.DESCRIBE, StartStep.MOVING)
"""Steps that write the robot's file."""
REPORTS = {StartStep.CONNECT: CONNECTED, StartStep.CHECK: SEEN, StartStep.MOVING: MOVED}
"""Files of what a step has seen."""
QUESTIONS = {
    StartStep.DESCRIBE: "URDF, xacro or robot file (.yaml), or auto for /robot_description",
    StartStep.ROOM: "length x width in m, such as 3x3",
}
NEXT_TO_REFUSAL = {
    StartStep.CONNECT: "Start the robot's driver in this ROS_DOMAIN_ID, then repeat.",
    StartStep.DESCRIBE: "Type the missing values into the file that it names, or name another one.",
    StartStep.CHECK: "Do what stands below each fault, X, then repeat.",
    StartStep.MOVING: "Mend each fault, X, then repeat; go on only when none is left.",
    StartStep.IDENTIFY: "Read the reason above and in report.html; often more room helps: go back "
    "to room.",
    StartStep.CALIBRATE: "Without a gyro or a pose source, skip it.",
    StartStep.DRIVE: "If nothing was identified, repeat identify first.",
    StartStep.EXPORT: "It needs the results of identify.",
}
"""What to do when a step's command refuses or fails."""


class StepOutcome(str, Enum):
    """What has become of a step."""

    OPEN = "open"
    DONE = "done"
    SKIPPED = "skipped"
    FAILED = "failed"


@dataclass(frozen=True)
class StartState:
    """How far a person is; it is stored after each step.

    Attributes:
        kind: What the robot takes; None: not known yet.
        arena: Free rectangle, such as 3x3; empty: not given yet.
        outcomes: By the name of the step; a missing one is open.
        runs: How often a step was begun, by its name: each has its own folder.
        results: Folder of the last complete run, by the name of the step, relative to the state's.
        lines: Commands that have succeeded, as typed.
    """

    kind: CommandKind | None = None
    arena: str = ""
    outcomes: Mapping[str, str] = field(default_factory=dict)
    runs: Mapping[str, int] = field(default_factory=dict)
    results: Mapping[str, str] = field(default_factory=dict)
    lines: tuple[str, ...] = ()

    def outcome(self, step: StartStep) -> StepOutcome:
        return StepOutcome(self.outcomes.get(step.value, StepOutcome.OPEN.value))

    @property
    def next_step(self) -> StartStep | None:
        """The first step that is open or has failed; None: all are done or skipped."""
        ended = (StepOutcome.DONE, StepOutcome.SKIPPED)
        return next((step for step in StartStep if self.outcome(step) not in ended), None)


class StartGuide:
    """The guide of one folder with state, robot file, results and exports.

    `rehearsal`: whether the robot is simulated: the excitation is shorter. ValueError: the folder's
    state cannot be read.
    """

    def __init__(self, folder: Path, rehearsal: bool = False) -> None:
        self.folder, self._rehearsal = folder, rehearsal
        self.state = _read(folder / STATE)

    @property
    def robot_file(self) -> Path:
        """The robot's file; it may not exist yet."""
        return self.folder / ROBOT_FILE

    def results_of(self, step: StartStep) -> Path:
        """Return the folder for the next run of a step."""
        word = step.value.split()[0]
        return self.folder / f"{word}-{self.state.runs.get(step.value, 0) + 1}"

    def refusal(self, step: StartStep) -> str:
        """Return why a step cannot begin yet; empty if it can."""
        needs_file = (*StartStep,)[(*StartStep,).index(StartStep.CHECK) :]
        if step in needs_file and step is not StartStep.ROOM and not self.robot_file.exists():
            return f"it needs {self.robot_file}: describe comes first"
        if step in IN_THE_ROOM and not self.state.arena:
            return "it needs the free rectangle: room comes first"
        needs_values = (StartStep.DRIVE, StartStep.EXPORT)
        if step in needs_values and StartStep.IDENTIFY.value not in self.state.results:
            return "it needs identified values: identify comes first"
        if step is StartStep.DRIVE and self.state.kind is CommandKind.EFFORT:
            return "" if self._verified() else "the identified values are not verified: identify"
        return ""

    def command(self, step: StartStep, answer: str = "") -> list[str]:
        """Return the command of a step without a refusal, as after `diffbot`; empty: none.

        `answer`: to the step's question; ValueError if it cannot be one.
        """
        robot = f"robot:={self.robot_file}"
        if step is StartStep.CONNECT:
            return ["check", "--seconds", "3", "--output", str(self.folder / CONNECTED)]
        if step is StartStep.DESCRIBE:
            return self._describe(answer)
        if step is StartStep.CHECK:
            return ["check", robot, "--output", str(self.folder / SEEN)]
        if step is StartStep.MOVING:
            report = str(self.folder / MOVED)
            return ["check", robot, "--moving", "--write", "--output", report]
        if step is StartStep.EXPORT:
            used = (StartStep.IDENTIFY.value, StartStep.CALIBRATE.value)
            results = [self.state.results[each] for each in used if each in self.state.results]
            words = ["export", *(str(self.folder / each) for each in results)]
            words += ["--to", "ros2_control", "nav2"]
            words += ["--robot", str(self.robot_file)]
            return [*words, "--output", str(self.folder / step.value)]
        return [] if step is StartStep.ROOM else self._launch(step, robot)

    @property
    def to_apply(self) -> str:
        """The line that gives what was exported to running controllers; empty without it."""
        file = self.folder / StartStep.EXPORT.value / "ros2_control.yaml"
        return spoken("apply", str(file)) if file.exists() else ""

    def _describe(self, answer: str) -> list[str]:
        if answer.startswith("-"):
            raise ValueError(f"{answer!r}: give {QUESTIONS[StartStep.DESCRIBE]}")
        if answer == "auto":
            return ["run", "diffbot_check", "draft", "--folder", str(self.folder)]
        if answer.endswith((".yaml", ".yml")) or "." not in answer:
            return []  # it is copied
        return ["describe", answer, "--output", str(self.robot_file)]

    def _launch(self, step: StartStep, robot: str) -> list[str]:
        name = step.value.split()[0]
        words = ["launch", "ident" if step is StartStep.IDENTIFY else name, "sim:=none", robot]
        words.append(
            f"arena:={self._square() if step is StartStep.CALIBRATE else self.state.arena}"
        )
        if step is StartStep.IDENTIFY and self._rehearsal:
            words.append("duration:=30")
        if step is StartStep.DRIVE:
            results = self.folder / self.state.results[StartStep.IDENTIFY.value]
            velocity = self.state.kind is CommandKind.VELOCITY
            file = "velocity_parameters.yaml" if velocity else "dynamic_parameters.yaml"
            words += [f"parameters:={results / file}", "laps:=1"]
            if velocity and self._takes_twist():
                words.append("stamped:=false")
        return [*words, f"results:={self.results_of(step)}"]

    def _square(self) -> str:
        """The side of the largest square in the free rectangle, which calibrate takes, m."""
        arena = Arena.parse(self.state.arena)
        assert arena is not None  # a refusal otherwise
        return f"{min(arena.length, arena.width):g}"

    def _takes_twist(self) -> bool:
        """Whether the robot's driver takes Twist, and not TwistStamped, as check has seen."""
        try:
            return TWIST in parse_json(read_text(self.folder / SEEN))["cmd_vel"]
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _verified(self) -> bool:
        """Whether the identified torque parameters were verified, which controllers demand."""
        file = (
            self.folder / self.state.results[StartStep.IDENTIFY.value] / "dynamic_parameters.yaml"
        )
        try:
            values = parse_yaml(read_text(file))["/**"]["ros__parameters"]
            return bool(values["verification"]["state"] == "verified")
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def findings(self, step: StartStep) -> list[dict[str, str]]:
        """Return what a step's last run has found: severity, part, what, why and line of each."""
        if step not in REPORTS or self.state.outcome(step) in (
            StepOutcome.OPEN,
            StepOutcome.SKIPPED,
        ):
            return []
        try:
            content = parse_json(read_text(self.folder / REPORTS[step]))
            listed = (content.get("moving") or content)["findings"]
            keys = ("severity", "part", "what", "why", "line")
            return [{key: str(each[key]) for key in keys} for each in listed]
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return []

    # What has happened.

    def begun(self, step: StartStep) -> None:
        """Note that a run of a step begins: its folder is not used again."""
        if step in CHANGE_FILE and self.robot_file.exists():
            shutil.copy2(self.robot_file, self._file_before(step))
        runs = {**self.state.runs, step.value: self.state.runs.get(step.value, 0) + 1}
        self._store(replace(self.state, runs=runs))

    def ended(self, step: StartStep, status: int, words: list[str], folder: Path) -> StepOutcome:
        """Note the exit status of a step's command; return the outcome."""
        outcome = StepOutcome.FAILED if status else StepOutcome.DONE
        state = self._with(step, outcome)
        if not status and words:
            state = replace(state, lines=(*state.lines, spoken(*words)))
        if not status and folder.is_dir():
            state = replace(state, results={**state.results, step.value: folder.name})
        self._store(state)
        return outcome

    def skipped(self, step: StartStep) -> None:
        """Note that a step is left out."""
        self._store(self._with(step, StepOutcome.SKIPPED))

    def reopened(self, step: StartStep) -> None:
        """Note that a step is to be done again."""
        self._store(self._with(step, StepOutcome.OPEN))

    def undone(self, step: StartStep) -> str:
        """Take back what a step has left; return what was taken back, a sentence or empty.

        Folders of results stay; the steps after it do not use them any more.
        """
        said, state = "", self._with(step, StepOutcome.OPEN)
        if step in CHANGE_FILE:
            before = self._file_before(step)
            if before.exists():
                os.replace(before, self.robot_file)
                said = f"{self.robot_file} is as it was before."
            elif step is StartStep.DESCRIBE and self.robot_file.exists():
                aside = self.robot_file.with_suffix(".undone")
                os.replace(self.robot_file, aside)
                said = f"{self.robot_file} is now {aside}."
        if step is StartStep.ROOM:
            state = replace(state, arena="")
        results = {name: folder for name, folder in state.results.items() if name != step.value}
        self._store(replace(state, results=results))
        return said

    def _file_before(self, step: StartStep) -> Path:
        """The robot's file as it was before a step."""
        return self.folder / f"robot.before_{step.name.lower()}"

    def described(self, robot: Robot) -> None:
        """Note the kind of the robot that has a file now."""
        kind = CommandKind.VELOCITY if robot.takes_velocity else CommandKind.EFFORT
        self._store(replace(self.state, kind=kind))

    def measured(self, arena: str) -> None:
        """Note the free rectangle."""
        self._store(replace(self._with(StartStep.ROOM, StepOutcome.DONE), arena=arena))

    def _with(self, step: StartStep, outcome: StepOutcome) -> StartState:
        return replace(self.state, outcomes={**self.state.outcomes, step.value: outcome.value})

    def _store(self, state: StartState) -> None:
        self.state = state
        content: dict[str, Any] = {"version": VERSION, **asdict(state)}
        write_json(self.folder / STATE, content)
        head = "# The commands of this folder that have succeeded, in their order.\n"
        text = "".join(f"{line}\n" for line in state.lines)
        write_atomically(self.folder / COMMANDS, head + text)


def _read(path: Path) -> StartState:
    if not path.exists():
        return StartState()
    try:
        content = parse_json(read_text(path))
        if content.pop("version") != VERSION:
            raise ValueError("it is of another version of the suite")
        kind = content.pop("kind")
        lines = tuple(map(str, content.pop("lines")))
        state = StartState(kind=None if kind is None else CommandKind(kind), lines=lines, **content)
        for step in StartStep:
            state.outcome(step)
        return state
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ValueError(f"{path} cannot be read ({error}); remove it to begin anew") from None
