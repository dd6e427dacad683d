# SPDX-License-Identifier: Apache-2.0
"""summary.json for scripts: what was run, how it ended and what it found."""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rich.console import Console, RenderableType

from diffbot_description.files import (
    SUMMARY,
    parse_json,
    read_text,
    read_yaml,
    strict,
    write_json,
)
from diffbot_description.named_paths import expanded
from diffbot_description.spoken_commands import spoken
from diffbot_report.display import say
from diffbot_report.drawing import Drawing, Picture
from diffbot_report.page import REPORT, Page, write_page
from diffbot_report.run_end import Ending

# Simulators that publish the truth.
TRUTHFUL_SIMULATORS = ("mujoco", "ideal", "gazebo", "velocity")
# Choices of the report's files, besides summary.json.
SHOWN = ("all", "html", "png")
WITHOUT_PICTURES = ("html",)
# Set by ./diffbot where ROS comes from wheels.
WHEELS_DISTRO = "DIFFBOT_DISTRO"
# Distributions that may change a result.
DISTRIBUTIONS = ("diffbot_bringup", "numpy", "mujoco", "matplotlib", "rclpy")


@dataclass(frozen=True)
class RunDescription:
    """What was run.

    Attributes:
        name: Kind of run, for example "ident", by `command` of diffbot.
        sim: Simulator; empty for a real robot.
        seed: Of excitation and noise; None if unknown.
        started: Date and time, ISO 8601.
        robot_file: How a command line specifies the robot; empty: by its name.
    """

    name: str = "ident"
    robot: str = ""
    sim: str = ""
    seed: int | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    started: str = ""
    robot_file: str = ""
    command: str = "launch"

    @property
    def truth_due(self) -> bool:
        """Whether the simulator publishes the true parameters and poses."""
        return self.simulator in TRUTHFUL_SIMULATORS

    @property
    def simulator(self) -> str:
        """The simulator; empty for a real robot."""
        return "" if self.sim == "none" else self.sim

    @property
    def label(self) -> str:
        """What is run, for example "ident twil (mujoco)"."""
        return f"{self.name} {self.robot}" + (f" ({self.simulator})" if self.simulator else "")

    @property
    def setting(self) -> str:
        """Robot, simulator and seed, for titles, for example "twil, mujoco, seed 1"."""
        seed = "" if self.seed is None else f"seed {self.seed}"
        return ", ".join(word for word in (self.robot, self.simulator, seed) if word)


def run_summary(
    run: RunDescription,
    ending: Ending,
    duration: float,
    real_time_factor: float | None,
    results: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
    missing: Sequence[str] = (),
) -> dict[str, Any]:
    """Return the content of summary.json: the keys common to all runs, and the run's.

    Args:
        duration: Robot time, s; `real_time_factor`: over wall time; None if unknown.
        results: Keys of this kind of run.
        more: Further keys; they never replace others.
        missing: Sentences on data that were not received.
    """
    content = {
        "name": run.name,
        "robot": run.robot,
        "sim": run.sim,
        "seed": run.seed,
        "started": run.started,
        "duration": duration,
        "real_time_factor": real_time_factor,
        "outcome": ending.outcome.value,
        "reason": ending.reason,
        "complete": not missing,
        "missing": list(missing),
        **results,
        "arguments": dict(run.arguments),
        **config_of(run.arguments),
        "versions": versions(),
    }
    finite: dict[str, Any] = strict({**content, **(more or {}), **content})
    return finite


def versions() -> dict[str, str]:
    """Return versions of Python, ROS, the middleware, and of packages that may change a result."""
    from importlib import metadata  # needed once, at the end

    results = {
        "python": platform.python_version(),
        "ros": os.environ.get("ROS_DISTRO") or os.environ.get(WHEELS_DISTRO, ""),
        "platform": platform.platform(),
    }
    if (rclpy := sys.modules.get("rclpy.utilities")) is not None:
        results["middleware"] = rclpy.get_rmw_implementation_identifier()
    for name in DISTRIBUTIONS:
        try:
            results[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return results


def parse_arguments(text: str) -> dict[str, Any]:
    """Parse launch arguments, "name:=value name:=value"; ValueError if the text is none."""
    text = text.strip()
    names = list(re.finditer(r"(?:^|\s)([A-Za-z_]\w*):=", text))
    before = text[: names[0].start()] if names else text
    if before:
        raise ValueError(f"arguments: {before!r} is not name:=value, in {text!r}")
    ends = [*(name.start() for name in names[1:]), len(text)]
    return {
        name[1]: _scalar(_unquoted(text[name.end() : end].strip()))
        for name, end in zip(names, ends, strict=False)  # empty if there are no arguments
    }


def config_of(arguments: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return {"config": parameters by NODE.NAME} of the file in the argument config, if any."""
    path = arguments.get("config")
    if path in (None, "", "none"):
        return {}
    try:
        content = read_yaml(expanded(str(path)))
        return {
            "config": {
                f"{str(node).rpartition('/')[2]}.{name}": value
                for node, section in content.items()
                for name, value in section["ros__parameters"].items()
            }
        }
    except (ValueError, AttributeError, TypeError, LookupError):  # changed since the nodes read it
        return {}


def _unquoted(text: str) -> str:
    quoted = len(text) > 1 and text[0] == text[-1] and text[0] in "'\""
    return text[1:-1] if quoted else text


def _scalar(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):  # ValueError: a number of more than 4300 digits
        return text
    return value if isinstance(value, (bool, int, float, str)) else text


@dataclass(frozen=True)
class RunFindings:
    """Findings of a run.

    Attributes:
        duration: Robot time, s.
        table: Returns the table of the results for a title.
        results: Keys of summary.json of this kind of run; `more`: further ones.
        missing: Sentences on data that were not received; results that need them are None.
        pictures: Returns the pictures, once matplotlib is loaded; None: nothing was recorded.
        page: Returns report.html for the run, its folder and its summary.
    """

    duration: float
    table: Callable[[str], RenderableType]
    results: Mapping[str, Any]
    more: Mapping[str, Any]
    missing: Sequence[str]
    pictures: Callable[[], Sequence[Picture]] | None
    page: Callable[[RunDescription, Path, Mapping[str, Any]], Page] | None = None


@dataclass
class _Unwritten:
    """Files that failed, or were left out."""

    failed: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReportWriter:
    """Shows and saves the findings of a run in an existing folder; `shown` is one of SHOWN."""

    run: RunDescription
    directory: Path
    console: Console
    drawing: Drawing
    shown: str = "all"

    def write(
        self, findings: RunFindings, ending: Ending, factor: float | None, deadline: float
    ) -> bool:
        """Print the table, write the files and print their paths; return whether all were written.

        `factor`: robot time over wall time; after time.monotonic() is `deadline`, s, no picture.
        """
        console, missing = self.console, findings.missing
        reason = f": {ending.reason}" if ending.reason else ""
        ended = f"{findings.duration:.1f} s, {ending.outcome.value}{reason}"
        console.print()
        table = findings.table(f"{self.run.label}, {ended}")
        console.print(table, markup=False, highlight=False)
        if missing:
            say(
                console,
                f"  incomplete: {'; '.join(missing)}. Figures that need them are omitted",
            )
        # The numbers first: a second Ctrl-C costs pictures only. What follows is missing until
        # written.
        unwritten = _Unwritten()
        content = run_summary(
            self.run, ending, findings.duration, factor, findings.results, findings.more, missing
        )
        content["missing_files"] = not_yet_written(
            findings.page is not None and self.shown != "png",
            findings.pictures is not None and self.shown not in WITHOUT_PICTURES,
        )
        if self._save(content, unwritten):
            say(console, str(self.directory / SUMMARY))
        advice = self._write_page(findings, content, unwritten)
        if findings.pictures is None:
            advice = ""  # nothing to see: how the run ended is printed above
        self._draw(findings, deadline, unwritten)
        content["missing_files"] = unwritten.failed + unwritten.left_out
        self._save(content, unwritten)
        for failure in unwritten.failed:
            say(console, failure)
        if advice:
            say(console, advice)
        return not unwritten.failed

    def _save(self, content: Mapping[str, Any], unwritten: _Unwritten) -> bool:
        try:
            write_json(self.directory / SUMMARY, content)
        except OSError as error:
            if str(error) not in unwritten.failed:
                unwritten.failed.append(str(error))
            return False
        return True

    def _draw(self, findings: RunFindings, deadline: float, unwritten: _Unwritten) -> None:
        console, drawing = self.console, self.drawing
        if self.shown in WITHOUT_PICTURES:
            return
        problem: str | None = "nothing was recorded"
        if findings.pictures is not None:
            for path in drawing.draw(findings.pictures, self.directory, deadline):
                say(console, str(path))
            problem = drawing.problem
        if problem:
            unwritten.left_out.append(f"pictures not written: {problem}")
            say(console, unwritten.left_out[-1])
        unwritten.failed += drawing.unwritten

    def _write_page(
        self, findings: RunFindings, content: Mapping[str, Any], unwritten: _Unwritten
    ) -> str:
        """Write report.html, if wanted; return what to do next."""
        if findings.page is None:
            return ""
        try:
            page = findings.page(self.run, self.directory, content)
            if self.shown == "png":
                return f"Next: look at the pictures in {self.directory}. {page.advice}"
            path = write_page(page, self.directory / REPORT)
        except ModuleNotFoundError as error:
            unwritten.left_out.append(f"{REPORT} not written: {error}; install plotly")
            say(self.console, unwritten.left_out[-1])
            return ""
        except OSError as error:
            unwritten.failed.append(str(error))
            return ""
        say(self.console, str(path))
        return f"Next: open {path} in a browser. {page.advice}"


def not_yet_written(page: bool, pictures: bool) -> list[str]:
    """Return the key `missing_files` of a summary before page and pictures, where wanted."""
    wanted = {REPORT: page, "pictures": pictures}
    return [f"{name}: not written" for name, is_wanted in wanted.items() if is_wanted]


@contextlib.contextmanager
def noted(unwritten: list[str]) -> Iterator[None]:
    """Go on after an OSError, such as that of a full disk, and add it to what was not written."""
    try:
        yield
    except OSError as error:
        unwritten.append(str(error))


def note_unwritten(folder: Path, unwritten: Sequence[str]) -> None:
    """Put what was not written into the summary of a command; a full disk leaves what is there."""
    content = {**parse_json(read_text(folder / SUMMARY)), "missing_files": list(unwritten)}
    with contextlib.suppress(OSError):
        write_json(folder / SUMMARY, content)


def texts_to_copy(run: RunDescription, folder: Path) -> dict[str, str]:
    """Return the command that repeats a run, and the YAML files that it wrote, by name."""
    return {"Repeat this run": repeat_command(run), **yaml_texts(folder)}


def yaml_texts(folder: Path) -> dict[str, str]:
    """Return the YAML files of a folder, by name."""
    return {
        path.name: path.read_text(encoding="utf-8", errors="replace")
        for path in sorted(folder.glob("*.yaml"))
    }


def repeat_command(run: RunDescription) -> str:
    """Return the command line that repeats a run from any folder."""
    own = {"robot": run.robot_file or run.robot, "sim": run.sim or "none", "seed": run.seed}
    files = {
        name: str(expanded(value).resolve())
        for name, value in run.arguments.items()
        if isinstance(value, str) and expanded(value).is_file()
    }
    return run_command(run.command, run.name, {**own, **run.arguments, **files})


def run_command(command: str, name: str, arguments: Mapping[str, Any]) -> str:
    """Return the command line of a launch or a simulated run, without empty arguments."""
    said = [
        f"{name}:={str(value).lower() if isinstance(value, bool) else value}"
        for name, value in arguments.items()
        if value not in ("", None)
    ]
    return spoken(command, name, *said)
