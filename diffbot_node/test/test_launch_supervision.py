# SPDX-License-Identifier: Apache-2.0
"""What a node tells its launch, and what it notices of it."""

import os
import signal
import subprocess
import sys

import pytest

pytest.importorskip("rclpy")

from diffbot_description.run_folder import LAUNCH
from diffbot_node import launch_supervision
from diffbot_node.launch_supervision import VARIABLE, last_words, reported_failures, tell_why


@pytest.fixture(autouse=True)
def own(monkeypatch):
    """Nothing was said or has failed yet in this process."""
    monkeypatch.setattr(launch_supervision, "_words", [])
    monkeypatch.setattr(launch_supervision, "FAILED_HERE", [])


def test_the_first_words_count_and_are_one_line(tmp_path):
    environment = {VARIABLE: str(tmp_path / "failures")}
    tell_why("duration = 0:\n  must be > 0", environment)
    tell_why("the simulator has ended", environment)
    (reported,) = tmp_path.iterdir()
    assert reported.name == f"failures.{os.getpid()}"
    assert reported.read_text() == last_words() == "duration = 0: must be > 0"


def test_without_a_launch_words_are_known_in_the_process_only(monkeypatch):
    assert last_words() == ""
    tell_why("no launch", {})
    assert last_words() == "no launch"


def test_failures_of_this_process_come_before_those_of_the_launch(tmp_path):
    path = tmp_path / "failures"
    environment = {VARIABLE: str(path)}
    assert reported_failures(environment) == []  # the file is made at the first failure
    path.write_text("view-2 (exit code 1)\n")
    launch_supervision.FAILED_HERE.append("ident (exit code 1): why")
    assert reported_failures(environment) == ["ident (exit code 1): why", "view-2 (exit code 1)"]


CHILD = """
import os, sys, time
from diffbot_node.launch_supervision import STARTER
print("there", flush=True)
for _ in range(2000):
    if STARTER.{question}():
        print("yes", flush=True)
        break
    time.sleep(0.01)
"""
PARENT = """
import signal, subprocess, sys, time
def woken(*_):
    print("woken", flush=True)
signal.signal(signal.SIGTSTP, woken)
subprocess.Popen([sys.executable, "-c", sys.argv[1]])
for _ in range(600):
    time.sleep(0.1)
"""


@pytest.mark.parametrize(
    ("question", "number", "launch"),
    [
        ("is_stopped", signal.SIGSTOP, VARIABLE),
        ("launch_has_gone", signal.SIGKILL, VARIABLE),
        ("launch_has_gone", signal.SIGKILL, LAUNCH),  # that of `ros2 launch`
    ],
)
def test_a_process_notices_that_its_starter_is_stopped_or_gone(question, number, launch):
    environment = {**os.environ, launch: "/nowhere"}
    code = CHILD.format(question=question)
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, code], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        try:
            assert parent.stdout.readline() == "there\n"
            parent.send_signal(number)
            assert parent.stdout.readline() == "yes\n"
        finally:
            parent.kill()


@pytest.mark.parametrize("lost", [False, True])
def test_without_a_launch_the_starter_may_go_unless_it_took_the_output(monkeypatch, lost):
    for name in (VARIABLE, LAUNCH):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launch_supervision, "have_lost_reader", lambda: lost)
    assert launch_supervision.Starter(os.getpid()).launch_has_gone() is lost
    assert launch_supervision.Starter(os.getppid()).launch_has_gone() is False


def test_a_stopped_launch_is_woken_to_end_its_run():
    """Also while its guard is stopped, too."""
    environment = {**os.environ, VARIABLE: "/nowhere"}
    code = CHILD.format(question="wake_launch")
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, code], stdout=subprocess.PIPE, text=True, env=environment
    ) as parent:
        try:
            assert parent.stdout.readline() == "there\n"
            parent.send_signal(signal.SIGSTOP)
            assert parent.stdout.readline() == "woken\n"
        finally:
            parent.kill()
