# SPDX-License-Identifier: Apache-2.0
"""Programs that a node starts and ends, also when it is itself killed."""

import os
import signal
import subprocess
import sys
import time

import pytest

from diffbot_sim.child_processes import ChildProcess, stop_all


def wait(condition, timeout=10.0):
    end = time.monotonic() + timeout
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


def running(number):
    try:
        with open(f"/proc/{number}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_status_and_environment():
    one = ChildProcess("one", ["sh", "-c", 'exit "$CODE"'], {"CODE": "3"})
    wait(lambda: one.status is not None)
    assert one.status == 3


def test_missing_program_is_an_error():
    with pytest.raises(OSError):
        ChildProcess("none", ["/no/such/program"])


def test_stops_programs_and_their_children(tmp_path):
    script = f"sleep 100 & echo $! > {tmp_path}/child; wait"
    one = ChildProcess("one", ["sh", "-c", script])
    wait(lambda: (tmp_path / "child").exists() and (tmp_path / "child").read_text().strip())
    child = int((tmp_path / "child").read_text())
    stop_all([one], grace=(0.3, 1.0))  # a shell's background job ignores SIGINT
    assert one.status is not None
    assert not running(child)


def test_stubborn_program_is_killed():
    script = "import signal, time\nfor s in (2, 15): signal.signal(s, signal.SIG_IGN)\n"
    script += "print('ready', flush=True)\ntime.sleep(100)"
    one = ChildProcess("one", [sys.executable, "-c", script])
    time.sleep(0.5)
    stop_all([one], grace=(0.2, 0.2))
    wait(lambda: one.status is not None)
    assert one.status == -signal.SIGKILL


def test_children_of_a_killed_process_end(tmp_path):
    script = (
        "from diffbot_sim.child_processes import ChildProcess\n"
        "import time\n"
        "print(ChildProcess('one', ['sleep', '100']).pid, flush=True)\n"
        "time.sleep(100)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    child = int(parent.stdout.readline())
    assert running(child)
    os.kill(parent.pid, signal.SIGKILL)
    parent.wait()
    wait(lambda: not running(child))
