# SPDX-License-Identifier: Apache-2.0
"""Nodes of a launch that nobody supervises end when one of them fails, whatever it died of."""

import os
import signal
import subprocess
import sys
import tempfile
import time

import pytest

from diffbot_description.run_folder import LAUNCH
from diffbot_node import launch_supervision as peers
from diffbot_node.launch_supervision import KEPT, PREFIX, VARIABLE, Peers

# A node by the executables' way: what it does is in its first argument.
NODE = """
import os, sys, time
from diffbot_node import executables
class Node:
    pass
def work():
    print("there", flush=True)
    exec(sys.argv[1])
    return 0
executables.import_module = lambda module: sys.modules["__main__"]
sys.exit(executables.Executable("any", "work")())
"""


@pytest.fixture
def launch(tmp_path, monkeypatch):
    """Starts nodes of one launch; the test itself is one, too, as `watcher`."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    monkeypatch.delenv(VARIABLE, raising=False)
    environment = {**os.environ, LAUNCH: "a1b2", "TMPDIR": str(tmp_path)}
    started = []

    def start(name, does="time.sleep(60)", **more):
        words = [sys.executable, "-c", NODE, does, "--ros-args", "-r", f"__node:={name}"]
        started.append(
            subprocess.Popen(words, stdout=subprocess.PIPE, text=True, env={**environment, **more})
        )
        assert started[-1].stdout.readline() == "there\n"
        return started[-1]

    yield start
    for process in started:
        process.kill()
        process.communicate()


@pytest.fixture
def watcher(launch):
    made = Peers()
    made.join("a1b2", "watcher")
    yield made
    made.leave(0)


def failures(watcher):
    time.sleep(peers.PEER_PERIOD)
    return watcher.failures()


def test_one_that_cannot_begin_is_known_with_its_reason(launch, watcher):
    why = "from diffbot_node.launch_supervision import tell_why; "
    why += "tell_why('duration = -5.0: must be > 0')"
    assert launch("ident", f"{why}; sys.exit(1)").wait(timeout=60) == 1
    assert failures(watcher) == ["ident (exit code 1): duration = -5.0: must be > 0"]


def test_one_that_raises_is_known(launch, watcher):
    assert launch("simulator", "1 / 0").wait(timeout=60) == 1
    assert failures(watcher) == ["simulator (exit code 1)"]


@pytest.mark.wall_time
def test_one_that_is_killed_is_known_at_once(launch, watcher):
    """DDS lists it for 20 s."""
    node = launch("backstep_controller")
    assert failures(watcher) == []
    node.kill()
    begin = time.monotonic()
    node.wait()
    while not watcher.failures():
        time.sleep(0.01)
    assert watcher.failures() == ["backstep_controller (killed)"]
    assert time.monotonic() - begin < 0.2


def test_one_that_ends_well_or_is_hidden_is_no_failure(launch, watcher):
    assert launch("pose_step", "pass").wait(timeout=60) == 0
    hidden = launch("_live_view")
    hidden.kill()
    hidden.wait()
    assert failures(watcher) == []


def test_ctrl_c_while_one_loads_is_no_failure_of_the_others(launch, watcher):
    node = launch("simulator")
    node.send_signal(signal.SIGINT)
    node.wait()
    watcher.interrupted = True
    assert failures(watcher) == []


def test_other_launches_and_supervised_ones_are_not_watched(launch, watcher, tmp_path):
    for more in ({LAUNCH: "other"}, {LAUNCH: ""}, {VARIABLE: "/nowhere"}):
        launch("ident", "sys.exit(1)", **more).wait(timeout=60)
    assert failures(watcher) == []


def test_the_last_one_removes_the_folder_and_old_ones_of_failed_launches(launch, tmp_path):
    launch("ident", "sys.exit(1)").wait(timeout=60)
    folder = tmp_path / f"{PREFIX}a1b2"
    assert folder.is_dir()
    peers.sweep()
    assert folder.is_dir()  # a node that is slow to start shall still see it
    os.utime(folder, (time.time() - 2.0 * KEPT,) * 2)
    alone = Peers()
    alone.join("other", "alone")
    assert [path.name for path in tmp_path.iterdir()] == [f"{PREFIX}other"]
    alone.leave(0)
    assert list(tmp_path.iterdir()) == []
