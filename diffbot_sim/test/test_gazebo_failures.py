# SPDX-License-Identifier: Apache-2.0
"""Gazebo's server is killed, late, or cannot start: a clear error, nothing hangs or stays."""

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing

import pytest
from gazebo_helpers import children, gentle, runs, servers, use_server

from diffbot_sim.engines.gazebo_engine import GazeboSimulator
from diffbot_sim.gazebo import server
from diffbot_sim.gazebo.installation import GazeboError


@pytest.fixture(autouse=True)
def nothing_is_left():
    before = set(children())
    yield
    left = set(children()) - before
    for number, _ in left:
        os.kill(number, signal.SIGKILL)
    assert not left


@pytest.fixture
def sim(gazebo, twil):
    with closing(GazeboSimulator(twil)) as made:
        yield made


@pytest.mark.wall_time
@pytest.mark.parametrize("paused", [False, True])
def test_a_killed_server_is_an_error_that_says_so_at_once(sim, paused):
    for k in range(20):
        sim.step(gentle(0.4, k), 0.01)
    sim.paused = paused
    (number,) = servers()
    os.kill(number, signal.SIGKILL)
    start = time.monotonic()
    with pytest.raises(GazeboError, match="gzserver has ended .killed by signal 9"):
        # The kernel may take a moment to end it.
        while time.monotonic() < start + 5.0:
            assert sim.paused is paused
            if not paused:
                sim.step((0.1, 0.1), 0.01)
    assert time.monotonic() - start < 1.0
    for call in (lambda: sim.paused, lambda: sim.step((0.0, 0.0), 0.01), sim.reset):
        with pytest.raises(GazeboError, match="killed by signal 9"):
            call()


@pytest.mark.wall_time
def test_a_server_that_is_killed_in_the_middle_of_a_step_does_not_hang(sim):
    (number,) = servers()
    killer = subprocess.Popen(["sh", "-c", f"sleep 0.3; kill -9 {number}"])
    start = time.monotonic()
    with pytest.raises(GazeboError, match="killed by signal 9"):
        while time.monotonic() < start + 10.0:
            sim.step((0.001, -0.001), 1.0)
    assert time.monotonic() - start < 5.0
    killer.wait()


def test_a_server_that_stops_answering_is_an_error(sim, monkeypatch):
    monkeypatch.setattr(server, "ANSWER_PATIENCE", 0.5)
    monkeypatch.setattr(server, "END_PATIENCE", 0.3)
    (number,) = servers()
    os.kill(number, signal.SIGSTOP)
    with pytest.raises(GazeboError, match="has not answered for 0.5 s"):
        for _ in range(100):  # the signal may come after an answer
            sim.step((0.0, 0.0), 0.01)
    sim.close()  # three times END_PATIENCE: it hears nothing but SIGKILL


@pytest.mark.parametrize("paused", [False, True])
def test_close_ends_the_server(gazebo, twil, paused):
    sim = GazeboSimulator(twil)
    sim.paused = paused
    folder = sim._folder.name
    assert len(servers()) == 1 and os.path.isdir(folder)
    sim.close()
    assert servers() == [] and not os.path.exists(folder)


PARENT = """
import time
from diffbot_description import load_robot
from diffbot_sim.engines.gazebo_engine import GazeboSimulator
sim = GazeboSimulator(load_robot("twil"))
print("ready", flush=True)
while True:
    sim.step((0.0, 0.0), 0.01)
"""


def test_the_server_ends_with_a_parent_that_is_killed(gazebo):
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    try:
        assert parent.stdout.readline() == "ready\n"
        (number,) = servers(parent.pid)
    finally:
        parent.kill()
        parent.wait()
    end = time.monotonic() + 2.0
    while runs(number):
        assert time.monotonic() < end, "gzserver outlived its parent by 2 s"
        time.sleep(0.02)


def test_a_server_that_starts_late_is_waited_for(gazebo, twil, tmp_path, monkeypatch):
    use_server(monkeypatch, gazebo, tmp_path, 'sleep 3; exec "{real}" "$@"')
    start = time.monotonic()
    with closing(GazeboSimulator(twil)) as sim:
        assert time.monotonic() - start > 3.0
        sim.step((0.1, 0.1), 0.01)
        assert sim.velocity()[0] == pytest.approx(0.002 * sim.parameters().k7, rel=1e-3)


@pytest.mark.parametrize(
    ("script", "says"),
    [
        ("echo no such library >&2; exit 127", r"ended .status 127.*no such library"),
        ("kill -SEGV $$", "ended .killed by signal 11"),
        ("echo thinking; exec sleep 60", "not answered for 1 s.*thinking"),
        # It hears neither the closed socket nor SIGINT.
        ("trap '' INT; echo deaf; while :; do sleep 0.1; done", "not answered for 1 s.*deaf"),
    ],
)
@pytest.mark.wall_time
def test_a_server_that_never_starts_is_an_error_with_its_last_words(
    gazebo, twil, tmp_path, monkeypatch, script, says
):
    monkeypatch.setattr(server, "START_PATIENCE", 1.0)
    monkeypatch.setattr(server, "END_PATIENCE", 0.3)
    use_server(monkeypatch, gazebo, tmp_path, script)
    start = time.monotonic()
    with pytest.raises(GazeboError, match=f"(?s){says}"):
        GazeboSimulator(twil)
    assert time.monotonic() - start < 6.0


@pytest.fixture
def taken():
    """A port on which somebody else listens."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        yield other.getsockname()[1]


def test_a_chosen_port_that_is_taken_is_an_error_that_names_the_variable(
    gazebo, twil, taken, monkeypatch
):
    monkeypatch.setenv("GAZEBO_MASTER_URI", f"http://127.0.0.1:{taken}")
    with pytest.raises(GazeboError, match=f"GAZEBO_MASTER_URI = .*:{taken} is taken"):
        GazeboSimulator(twil)


def test_a_port_that_is_taken_before_the_server_starts_is_replaced(
    gazebo, twil, taken, monkeypatch
):
    free = server.free_port
    offers = [taken]
    monkeypatch.setattr(server, "free_port", lambda: offers.pop() if offers else free())
    with closing(GazeboSimulator(twil)) as sim:
        assert not offers and len(servers()) == 1
        sim.step((0.1, 0.1), 0.01)
        assert sim.velocity()[0] > 0.0


def test_ports_that_are_always_taken_end_the_attempts(gazebo, twil, taken, monkeypatch):
    monkeypatch.setattr(server, "_ATTEMPTS", 2)
    monkeypatch.setattr(server, "free_port", lambda: taken)
    with pytest.raises(GazeboError, match="Address already in use|is taken"):
        GazeboSimulator(twil)
