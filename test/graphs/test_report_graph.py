# SPDX-License-Identifier: Apache-2.0
"""Reports of whole graphs: stalled ones miss nothing, and what was killed is named."""

import json
import os
import signal
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import PATIENCE, processes_by_number, run, start  # noqa: E402

# Faster than a report that is stopped can notice: 800 samples in less than 1 s.
RUN = ("backstepping", "sim:=ideal", "goal:=1,0,0", "duration:=8", "torque_limit:=5.0")
WALL = ("started", "real_time_factor", "arguments")


def summary_of(folder):
    return json.loads((folder / "summary.json").read_text(encoding="utf-8"))


def number_of(node, domain):
    """Number of a node's process, waited for; it may still be loading."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        found = [n for n, words in processes_by_number(domain) if f"__node:={node} " in words]
        if found:
            return min(found)
        time.sleep(0.005)
    raise AssertionError(f"{node} was not started")


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


def told(summary):
    return {key: value for key, value in summary.items() if key not in WALL}


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    folder = tmp_path_factory.mktemp("undisturbed")
    status, output = run(RUN[0], folder, *RUN[1:])
    assert status == 0, output
    return summary_of(folder)


@pytest.mark.parametrize("when", ["start", "middle"])
def test_a_report_that_is_stalled_misses_nothing(undisturbed, domain, tmp_path, when):
    assert undisturbed["complete"] is True and undisturbed["missing"] == []
    process = start(RUN[0], tmp_path, *RUN[1:])
    report = number_of("drive_report", domain)
    if when == "middle":
        listened("driving robot", process)
    stall(report, 4.0)
    status, output = ended(process)
    assert status == 0, output
    assert told(summary_of(tmp_path)) == told(undisturbed)


@pytest.mark.parametrize(
    ("launch", "node", "begun"),
    [
        ("backstepping", "backstep_controller", "driving robot"),
        ("backstepping", "simulator", "driving robot"),
        ("backstepping", "trajectory_publisher", "driving robot"),
        ("ident", "ident", "exciting robot"),
    ],
)
def test_what_was_killed_is_named(domain, tmp_path, launch, node, begun):
    process = start(launch, tmp_path, "sim:=ideal", "duration:=600.0", "speed:=1.0")
    listened(begun, process)
    os.kill(number_of(node, domain), signal.SIGKILL)
    status, output = ended(process)
    assert status == 1, output
    said = summary_of(tmp_path)
    assert said["outcome"] == "failed"
    assert node in said["reason"] and "exit code -9" in said["reason"]


@pytest.mark.wall_time
def test_a_users_interruption_is_no_failure(domain, tmp_path):
    words = (*RUN[1:3], "duration:=600.0", "speed:=1.0")
    process = start(RUN[0], tmp_path, *words, pictures=True)  # what takes longest is loading
    listened("driving robot", process)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    status, output = ended(process)
    assert time.monotonic() - begin < 10.0
    assert status == 130, output
    said = summary_of(tmp_path)
    assert (said["outcome"], said["reason"]) == ("stopped", "interrupted")
    assert said["complete"] is True, said["missing"]
