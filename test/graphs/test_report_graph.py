# SPDX-License-Identifier: Apache-2.0
"""Reports of whole runs: a stalled one misses nothing, and what was killed is named."""

import os
import signal
import time

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from launched import (  # noqa: E402
    PATIENCE,
    CommandRecorder,
    processes_by_number,
    processes_of,
    run,
    start,
    summary,
)

# Faster than a report that is stopped can notice: 800 samples in less than 1 s.
RUN = ("backstepping", "sim:=ideal", "goal:=1,0,0", "duration:=8", "torque_limit:=5.0")
WALL = ("started", "real_time_factor", "arguments")


def number_of(program, domain):
    """Number of a process by a part of its command line, waited for; it may still be loading."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        results = [n for n, words in processes_by_number(domain) if program in words]
        if results:
            return min(results)
        time.sleep(0.005)
    raise AssertionError(f"{program} was not started")


def listened(phrase, process):
    """Output of a launch until a phrase comes."""
    said = ""
    while phrase not in said:
        line = process.stdout.readline()
        assert line, said
        said += line
    return said


def ended(process):
    output, _ = process.communicate(timeout=PATIENCE)
    return process.returncode, output


def stall(number, seconds):
    os.kill(number, signal.SIGSTOP)
    time.sleep(seconds)
    os.kill(number, signal.SIGCONT)


def reported(summary):
    return {key: value for key, value in summary.items() if key not in WALL}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory, own_domain):
    folder = tmp_path_factory.mktemp("undisturbed")
    with own_domain():
        status, output = run(RUN[0], folder, *RUN[1:])
    assert status == 0, output
    return summary(folder)


def test_a_run_that_is_stalled_at_the_start_and_in_the_middle_is_the_same(
    undisturbed, domain, tmp_path
):
    assert undisturbed["complete"] is True and undisturbed["missing"] == []
    process = start(RUN[0], tmp_path, *RUN[1:])
    number = number_of("/composed ", domain)
    stall(number, 1.0)
    listened("driving robot", process)
    stall(number, 1.0)
    status, output = ended(process)
    assert status == 0, output
    assert reported(summary(tmp_path)) == reported(undisturbed)


@pytest.mark.parametrize(
    ("launch", "node"),
    [("backstepping", "backstep_controller"), ("ident", "simulator")],
)
def test_what_was_killed_is_named_and_who_commands_leaves_zero_torque(
    domain, tmp_path, launch, node
):
    words = ("sim:=ideal", "duration:=600.0", "composed:=false")
    process = start(launch, tmp_path, *words)
    recorder = CommandRecorder()
    try:
        assert recorder.spin(lambda: any(map(any, recorder.commands[100:])))
        os.kill(number_of(f"__node:={node} ", domain), signal.SIGKILL)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
    finally:
        recorder.close()
    status, output = ended(process)
    assert status == 1, output
    # Of a commander only a watchdog notices the end, see test_watchdog_graph.py.
    commands = node == "backstep_controller"
    assert commands or recorder.commands[-1] == (0.0, 0.0), output
    said = summary(tmp_path)
    assert said["outcome"] == "failed"
    assert node in said["reason"] and "exit code -9" in said["reason"]
    if launch == "ident":  # the estimate so far is kept
        with open(tmp_path / "dynamic_parameters.yaml", encoding="utf-8") as file:
            assert yaml.safe_load(file)["/**"]["ros__parameters"]["samples"] > 50
    assert processes_of(domain) == []


def test_a_killed_run_leaves_nothing_and_a_summary_that_says_so(domain, tmp_path):
    process = start("ident", tmp_path, "sim:=ideal", "duration:=600.0", "until:=none")
    listened("exciting robot", process)
    os.kill(number_of("/composed ", domain), signal.SIGKILL)
    status, output = ended(process)
    assert status == 1, output
    said = summary(tmp_path)
    assert said["outcome"] == "failed" and said["complete"] is False
    assert processes_of(domain) == []
