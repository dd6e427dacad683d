# SPDX-License-Identifier: Apache-2.0
"""The graph of launch/ident.launch.xml with Gazebo: results, pauses, interruption, a killed server.

All runs end with no process left, Gazebo's server included.
"""

import os
import signal
import socket
import subprocess
import sys
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import (  # noqa: E402
    PATIENCE,
    CommandRecorder,
    config,
    processes_by_number,
    processes_of,
    run,
    start,
    summary,
)
from rosgraph_msgs.msg import Clock  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

RUN = ("sim:=gazebo", "seed:=3", "duration:=4.0", "verification:=2.0")
EXACT = {"encoder_counts": 0}
LONG = ("sim:=gazebo", "speed:=1.0", "duration:=600.0")


@pytest.fixture(autouse=True)
def nothing_is_left(gazebo, domain):
    yield
    left = processes_by_number(domain)
    for number, _ in left:
        os.kill(number, signal.SIGKILL)
    assert left == []


class Watcher(CommandRecorder):
    """Keeps commands and robot times, and pauses."""

    def __init__(self):
        super().__init__()
        self.times = []
        self.node.create_subscription(Clock, "clock", self.on_clock, 100)
        self.pause = self.node.create_client(SetBool, "simulator/set_paused")

    def on_clock(self, message):
        self.times.append(message.clock.sec + 1e-9 * message.clock.nanosec)

    def set_paused(self, value):
        assert self.spin(self.pause.service_is_ready)
        future = self.pause.call_async(SetBool.Request(data=value))
        assert self.spin(future.done) and future.result().success

    def is_still(self, wall_time):
        """Whether robot time stands still for this long, s."""
        self.spin(lambda: False, 0.2)
        before = self.times[-1]
        self.spin(lambda: False, wall_time)
        return self.times[-1] == before


@pytest.fixture
def watcher(domain):
    made = Watcher()
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain(gazebo, tmp_path_factory, own_domain):
    """Summary of a run with nothing special."""
    results = tmp_path_factory.mktemp("plain")
    with own_domain():
        status, output = run("ident", results, *RUN, config(results, simulator=EXACT))
    assert status == 0, output
    assert "Traceback" not in output
    return summary(results)


def test_ident_finds_the_closed_form(plain):
    assert (plain["outcome"], plain["sim"], plain["robot"]) == ("completed", "gazebo", "twil")
    for number in (5, 6, 7, 8):
        said = plain["parameters"][f"K{number}"]
        assert said["value"] == pytest.approx(said["closed_form"], rel=0.01)


def test_pauses_stop_time_and_a_run_repeats_to_the_last_digit(plain, tmp_path, watcher):
    """Paused from the start, and again in the middle by the service."""
    paused = config(tmp_path, simulator={**EXACT, "paused": True})
    process = start("ident", tmp_path, *RUN, paused)
    assert watcher.spin(lambda: watcher.commands and len(watcher.times) > 2)
    assert watcher.is_still(0.5) and watcher.times[-1] == 0.0
    watcher.set_paused(False)
    assert watcher.spin(lambda: watcher.times[-1] > 1.0)
    watcher.set_paused(True)
    assert 1.0 < watcher.times[-1] < 4.0 and watcher.is_still(0.5)
    assert process.poll() is None
    watcher.set_paused(False)
    assert watcher.spin(lambda: process.poll() is not None), "the launch did not end"
    output = process.stdout.read()
    assert process.returncode == 0, output
    assert summary(tmp_path)["parameters"] == plain["parameters"]


@pytest.mark.wall_time
def test_a_killed_server_ends_the_run_with_zero_torque_and_the_reason(tmp_path, domain, watcher):
    process = start("ident", tmp_path, *LONG)
    assert watcher.spin(lambda: len(watcher.commands) > 100 and any(watcher.commands[-1]))
    (server,) = [pid for pid, command in processes_by_number(domain) if "gzserver" in command]
    os.kill(server, signal.SIGKILL)
    begin = time.monotonic()
    assert watcher.spin(lambda: process.poll() is not None), "the launch did not end"
    assert time.monotonic() - begin < 20.0
    watcher.spin(lambda: False, timeout=0.5)
    output = process.stdout.read()
    assert process.returncode == 1, output
    assert "gzserver has ended (killed by signal 9)" in output and "Traceback" not in output
    assert watcher.commands[-1] == (0.0, 0.0)


@pytest.mark.wall_time
def test_an_interrupted_run_ends_with_zero_torque_and_without_server(tmp_path, domain, watcher):
    process = start("ident", tmp_path, *LONG)
    assert watcher.spin(lambda: len(watcher.commands) > 100 and any(watcher.commands[-1]))
    process.send_signal(signal.SIGINT)
    begin = time.monotonic()
    assert watcher.spin(lambda: process.poll() is not None), "the launch did not end"
    assert time.monotonic() - begin < 20.0
    watcher.spin(lambda: False, timeout=0.5)
    output = process.stdout.read()
    assert watcher.commands[-1] == (0.0, 0.0), output
    assert "Traceback" not in output
    assert processes_of(domain) == []


def start_simulator(*parameters, **how):
    words = [sys.executable, "-m", "diffbot_bringup.cli", "run", "diffbot_sim", "simulator"]
    words += ["--ros-args", "-p", "engine:=gazebo"]
    for parameter in parameters:
        words += ["-p", parameter]
    return subprocess.Popen(words, start_new_session=True, text=True, **how)


@pytest.mark.wall_time
def test_free_running_keeps_the_pace_of_the_wall_clock(domain, watcher):
    """3 s without commands, a pause, a go, a pause, and Ctrl-C in it."""
    process = start_simulator("speed:=1.0")
    try:
        assert watcher.spin(lambda: watcher.times and watcher.times[-1] > 0.5)
        begin, first = time.monotonic(), watcher.times[-1]
        watcher.spin(lambda: False, timeout=3.0)
        passed = time.monotonic() - begin
        assert watcher.times[-1] - first == pytest.approx(passed, rel=0.1)
        watcher.set_paused(True)
        assert watcher.is_still(0.5)
        watcher.set_paused(False)
        now = watcher.times[-1]
        assert watcher.spin(lambda: watcher.times[-1] > now + 0.2)
        watcher.set_paused(True)
    finally:
        process.send_signal(signal.SIGINT)
    assert process.wait(15.0) == 0


def test_a_port_that_is_taken_ends_the_simulator_with_a_clear_message(monkeypatch):
    """The end of a run whose simulator refuses is tested in test_ident_graph.py."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        monkeypatch.setenv("GAZEBO_MASTER_URI", f"http://127.0.0.1:{other.getsockname()[1]}")
        process = start_simulator(stderr=subprocess.PIPE)
        _, output = process.communicate(timeout=PATIENCE)
    assert process.returncode == 1, output
    assert "GAZEBO_MASTER_URI" in output and "is taken" in output and "Traceback" not in output
