# SPDX-License-Identifier: Apache-2.0
"""The order in which a simulator with ros2_control is started, with stand-ins for its programs."""

import sys
import time
from pathlib import Path

import pytest

from diffbot_description import load_robot
from diffbot_sim.gz import launches
from diffbot_sim.gz.launches import check_installed, launch_ros2_control

# Writes down what it was called with; lasting programs wait, the others leave with CODE.
# By way of the shell, as the path may have spaces.
SCRIPT = """#!/bin/sh
'''exec' "{python}" -IS "$0" "$@"
' '''
import os, sys, time
name = os.path.basename(sys.argv[0])
with open({log!r}, "a") as file:
    print(name, *sys.argv[1:2], file=file)
fails = {log!r} + ".fail"
if name in ("gz", "gzserver", "parameter_bridge", "robot_state_publisher"):
    time.sleep(100)
if name == "spawner" and os.path.exists(fails):
    os.remove(fails)
    sys.exit(1)
"""
EXECUTABLES = {
    "ros_gz_sim": "create",
    "ros_gz_bridge": "parameter_bridge",
    "gazebo_ros": "spawn_entity.py",
    "controller_manager": "spawner",
    "robot_state_publisher": "robot_state_publisher",
}


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A prefix with stand-ins for every program; what they were called with."""
    text = SCRIPT.format(python=sys.executable, log=str(tmp_path / "log"))
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    for package in {p for names in launches.PACKAGES.values() for p in names}:
        (index / package).touch()
    paths = [tmp_path / "lib" / package / name for package, name in EXECUTABLES.items()]
    for path in (*paths, tmp_path / "bin" / "gz", tmp_path / "bin" / "gzserver"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path), prepend=":")
    monkeypatch.setenv("PATH", str(tmp_path / "bin"), prepend=":")
    return tmp_path / "log"


def run(sim, timeout=20.0):
    """Look after the launch until the robot can be driven; returns what went wrong."""
    check_installed(sim)
    launch = launch_ros2_control(sim, load_robot("twil"), (0.0, 0.0, 0.0), 1.0, False, 10.0)
    end = time.monotonic() + timeout
    try:
        while not launch.is_ready:
            assert time.monotonic() < end
            if said := launch.fault():
                return said
            time.sleep(0.02)
        return launch.fault()
    finally:
        launch.stop()


@pytest.mark.parametrize(
    "sim, server, spawn",
    [("gz_ros2_control", "gz sim", "create"), ("gazebo_ros", "gzserver", "spawn_entity.py")],
)
def test_torque_controller_before_joint_states_and_both_after_the_robot(log, sim, server, spawn):
    (log.parent / "log.fail").touch()  # the first spawner fails and is tried again
    assert run(sim) is None
    called = log.read_text().splitlines()
    assert any(line.startswith(server) for line in called)
    steps = [line for line in called if line.startswith((spawn, "spawner"))]
    assert steps[0].startswith(spawn)
    assert steps[1:] == ["spawner effort_controller"] * 2 + ["spawner joint_state_broadcaster"]


@pytest.mark.parametrize("own", [None, "/somewhere/else"])
def test_gazebo_finds_the_system_of_gz_ros2_control(log, monkeypatch, own):
    if own is None:
        monkeypatch.delenv("GZ_SIM_SYSTEM_PLUGIN_PATH", raising=False)
    else:
        monkeypatch.setenv("GZ_SIM_SYSTEM_PLUGIN_PATH", own)
    (log.parent / "lib" / "libgz_ros2_control-system.so").touch()
    text = f'#!/bin/sh\necho "$GZ_SIM_SYSTEM_PLUGIN_PATH" > "{log}.path"\nexec sleep 100\n'
    (log.parent / "bin" / "gz").write_text(text)
    assert run("gz_ros2_control") is None
    folders = Path(f"{log}.path").read_text().strip().split(":")
    assert folders[:-1] == ([] if own is None else [own])
    assert (Path(folders[-1]) / "libgz_ros2_control-system.so").exists()


def test_spawners_of_two_runs_do_not_wait_for_each_other(log, monkeypatch):
    monkeypatch.setenv("ROS_HOME", "/somewhere")
    monkeypatch.delenv("ROS_LOG_DIR", raising=False)
    text = f'#!/bin/sh\necho "$ROS_HOME,$ROS_LOG_DIR" >> "{log}.homes"\n'
    (log.parent / "lib" / "controller_manager" / "spawner").write_text(text)
    assert run("gz_ros2_control") is None
    assert run("gz_ros2_control") is None
    lines = Path(f"{log}.homes").read_text().splitlines()
    homes, logs = zip(*(line.split(",") for line in lines), strict=True)
    # A spawner locks a file in ROS_HOME while it waits for its controller manager.
    assert homes[0] == homes[1] != homes[2] == homes[3]
    assert set(logs) == {"/somewhere/log"}


def test_server_that_ends_is_told(log):
    (log.parent / "bin" / "gz").write_text("#!/bin/sh\nexit 7\n")
    (log.parent / "lib" / "ros_gz_sim" / "create").write_text("#!/bin/sh\nsleep 100\n")
    assert run("gz_ros2_control") == "gz server has ended with status 7"
