# SPDX-License-Identifier: Apache-2.0
"""A node that is interrupted while it is made: it waits for other programs, which may take long."""

import gc
import os
import signal
import subprocess
import sys

import pytest
from rclpy.node import Node

from diffbot_node import run_node, running


@pytest.fixture(autouse=True)
def handlers():
    """The signal handlers of pytest come back."""
    before = {number: signal.getsignal(number) for number in running.ENDING_SIGNALS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def interrupt(number=signal.SIGINT):
    # To this thread; os.kill may take another one, and Python's handler then comes later.
    signal.raise_signal(number)


@pytest.mark.parametrize("number", running.ENDING_SIGNALS)
def test_a_signal_ends_the_making_at_once_and_lets_it_clean_up(number):
    done = []

    def create():
        try:
            interrupt(number)
            done.append("went on")
        finally:
            interrupt(number)  # impatient people press Ctrl-C twice
            done.append("cleaned up")

    assert run_node(create, args=[], interrupted=7) == 7
    assert done == ["cleaned up"]


@pytest.mark.parametrize("number", running.ENDING_SIGNALS)
def test_in_a_launch_the_status_tells_of_the_signal(number, monkeypatch):
    """The launch knows whether it has sent one: if not, the run has not reached its end."""
    monkeypatch.setenv(running.VARIABLE, "/nowhere")
    assert run_node(lambda: interrupt(number), args=[]) == 128 + number


@pytest.mark.parametrize(("found", "status"), [(0, 143), (1, 1), (None, 143)])
def test_a_node_that_ends_well_after_a_signal_has_not_reached_its_end(monkeypatch, found, status):
    monkeypatch.setenv(running.VARIABLE, "/nowhere")

    class Interrupted(Node):
        exit_code = None

        def __init__(self):
            super().__init__("interrupted")
            self.create_timer(0.01, lambda: interrupt(signal.SIGTERM))

        def close(self):
            self.exit_code = found

    assert run_node(Interrupted, args=[]) == status


def test_a_library_that_makes_an_error_of_the_interruption_is_not_blamed(capfd):
    def create():
        try:
            interrupt()
        except:  # noqa: E722  (as xacro does)
            raise KeyError("of the library") from None

    assert run_node(create, args=[], interrupted=7) == 7
    assert "of the library" not in capfd.readouterr().err


def test_a_signal_while_a_wrong_argument_is_reported_leaves_the_report_whole(monkeypatch):
    said = []

    class Logger:
        def fatal(self, text):
            interrupt()
            said.append(text)

    def create():
        raise ValueError("duration = 0: must be > 0")

    monkeypatch.setattr(running, "get_logger", lambda name: Logger())
    assert run_node(create, args=[]) == 1
    assert said == ["duration = 0: must be > 0"]


def test_a_program_that_does_not_start_is_reported_in_a_sentence(capfd, tmp_path, monkeypatch):
    def create():
        raise ConnectionError("gzserver has ended (status 255)")

    monkeypatch.setenv(running.VARIABLE, str(tmp_path / "failures"))
    assert run_node(create, args=[]) == 1
    (told,) = tmp_path.iterdir()  # for the others of its launch
    assert told.read_text() == "gzserver has ended (status 255)"
    errors = capfd.readouterr().err
    assert "gzserver has ended (status 255)" in errors and "Traceback" not in errors


@pytest.mark.parametrize("number", running.ENDING_SIGNALS)
def test_a_signal_ends_long_work_and_is_heeded_as_before_afterwards(number):
    noted = []
    signal.signal(number, lambda *of: noted.append(of[0]))
    with pytest.raises(running.Interrupted), running.interruptible():
        interrupt(number)
    assert noted == [number]
    interrupt(number)
    assert noted == [number, number]


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
    ("question", "number"),
    [("is_stopped", signal.SIGSTOP), ("launch_has_gone", signal.SIGKILL)],
)
def test_a_process_notices_that_its_starter_is_stopped_or_gone(question, number):
    environment = {**os.environ, running.VARIABLE: "/nowhere"}
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


def test_a_stopped_launch_is_woken_to_end_its_run():
    """Also while its guard is stopped, too."""
    environment = {**os.environ, running.VARIABLE: "/nowhere"}
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


@pytest.fixture
def thawed():
    """Nothing is excluded from garbage collection yet, as in a node's process."""
    gc.unfreeze()  # what the top level's conftest.py has frozen
    yield
    gc.freeze()


def test_while_a_node_runs_no_collection_looks_through_what_was_imported(thawed):
    frozen = []

    class Counting(Node):
        exit_code = None

        def __init__(self):
            super().__init__("counting")
            self.create_timer(0.01, self.count)

        def count(self):
            frozen.append(gc.get_freeze_count())
            self.exit_code = 0

        def close(self):
            pass

    before = gc.get_freeze_count()
    assert run_node(Counting, args=[]) == 0
    assert frozen[0] > before + 10_000
    assert gc.get_freeze_count() == 0


def test_a_process_that_cannot_leave_ends_with_its_status():
    """The main thread waits for ever and holds Python's lock, as in a destructor of Fast DDS."""
    code = (
        "import ctypes; from diffbot_node.running import exit_after\n"
        "with exit_after(1, 7): pass\n"
        "ctypes.CDLL(None).usleep(1500000)\n"
        "print('left in time', flush=True)\n"
        "with exit_after(1, 7): ctypes.PyDLL(None).pause()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.returncode) == ("left in time\n", 7), done.stderr
