# SPDX-License-Identifier: Apache-2.0
"""Which files a reader walks through: docs/walks.md lists those that these tests find.

Each test follows real calls, and takes the project's files whose functions ran until the message
that was waited for went out. What Python does to load a module does not count.
"""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("rclpy")

from faults.scene import BACKSTEP, FAULT, IDENT, Scene, Subject

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "walks.md"


def of_the_project(file: str) -> str | None:
    """Path below the project's packages, as diffbot_node/presence.py; None for other files."""
    match = re.search(r"/((?:diffbot_\w+|arc_odometry|pose2d_trajectories)/[\w/]+\.py)$", file)
    if match is None:
        return None
    parts = match[1].split("/")
    return "/".join(parts[1:] if parts[0] == parts[1] else parts)


class Walk:
    """Remembers the project's files whose functions run in a with statement, and their lines."""

    def __init__(self) -> None:
        self.files: set[str] = set()
        self.lines: set[tuple[str, int]] = set()

    def __enter__(self) -> Walk:
        sys.setprofile(self._on_call)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _on_call(self, frame, event, argument) -> None:
        code = frame.f_code
        if (
            event != "call"
            or not code.co_flags & inspect.CO_OPTIMIZED
            or "/msg/_" in code.co_filename
        ):
            return
        if file := of_the_project(code.co_filename):
            self.files.add(file)
            last = max(line for *_, line in code.co_lines() if line)
            self.lines |= {(file, line) for line in range(code.co_firstlineno, last + 1)}


def walked(subject: Subject, topic: str, **parameters) -> Walk:
    """What one joint state takes in a node that drives, until `topic` has a new message."""
    walk = Walk()
    with Scene(subject, "ideal", **parameters) as scene:
        scene.advance(FAULT)
        (states,) = (
            each for each in scene.bus.subscriptions("/joint_states") if each.owner is scene.member
        )
        callback = states.callback

        def follow(*message) -> None:
            with walk:
                callback(*message)

        states.callback = follow
        said = []
        (publisher,) = (p for p in scene.bus.publishers(topic) if p.owner is scene.member)
        publish = publisher.publish

        def leave(message) -> None:
            walk.__exit__()  # what comes after it is not on the way
            said.append(message)
            publish(message)

        publisher.publish = leave
        scene.advance(FAULT + 0.5)
        assert said and scene.member.status is None
    return walk


def section(heading: str) -> str:
    text = PAGE.read_text(encoding="utf-8")
    match = re.search(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", text, re.M | re.S)
    assert match is not None, f"{PAGE.name} has no section {heading!r}"
    return match[1]


def listed(heading: str) -> set[str]:
    """Files that a section of the page links, in backquotes."""
    return set(re.findall(r"`([\w/]+\.py)`", section(heading)))


def check(heading: str, files: set[str]) -> None:
    assert files == listed(heading), f"write these into {PAGE.name}: {sorted(files)}"


def check_walk(heading: str, walk: Walk) -> None:
    """Compare the files, and the stated lines, which may differ by what other samples need."""
    check(heading, walk.files)
    stated = re.search(r"functions that run have (\d+) lines", section(heading))
    assert stated is not None
    assert abs(len(walk.lines) - int(stated[1])) <= 0.1 * len(walk.lines), len(walk.lines)


def test_one_joint_state_to_its_torque():
    check_walk("From a joint state to a torque", walked(BACKSTEP, "/effort_controller/commands"))


def test_one_joint_state_to_the_parameters():
    heading = "From a joint state to the dynamic parameters"
    check_walk(heading, walked(IDENT, "/ident/dynamic_parameters"))


LAUNCH = """
import os, runpy, sys
files = set()
def follow(frame, event, argument):
    if event == "call" and frame.f_code.co_flags & 1:
        files.add(frame.f_code.co_filename)
def stop(*_):
    sys.setprofile(None)
    print("\\n".join(sorted(files)), file=sys.stderr)
    os._exit(0)
os.execve = stop
import subprocess
class Popen(subprocess.Popen):
    def __init__(self, words, *rest, **options):
        if "/lib/diffbot_" in str(words):  # a node of the launch, not a $(command)
            stop()
        super().__init__(words, *rest, **options)
subprocess.Popen = Popen
sys.argv = sys.argv[1:]
if sys.argv[0] == "-m":
    sys.argv = sys.argv[1:]
    sys.setprofile(follow)
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
else:
    sys.setprofile(follow)
    runpy.run_path(sys.argv[0], run_name="__main__")
"""


def ran(*words: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", LAUNCH, *words], cwd=ROOT, capture_output=True, text=True, timeout=60
    )
    return {file for line in done.stderr.splitlines() if (file := of_the_project(line))}


def test_a_launch_from_the_shell_to_its_processes(tmp_path):
    words = ("launch", "ident", f"results:={tmp_path}")
    files = ran("diffbot", *words) | ran("-m", "diffbot_bringup.cli", *words)
    # With a sourced ROS 2 there are fewer.
    heading = "A launch from the shell to its processes"
    assert "diffbot_bringup/xml_launch/processes.py" in files
    check(heading, files | listed(heading))
