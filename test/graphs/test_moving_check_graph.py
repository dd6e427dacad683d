# SPDX-License-Identifier: Apache-2.0
"""`diffbot check --moving` on a running graph: zero is the last command, however it ends."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip("rclpy")

from moving_stand_in import moving
from stand_in_robot import StandIn
from std_msgs.msg import Float64MultiArray

from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind
from diffbot_description.loading import save_robot

EFFORT, VELOCITY = CommandKind.EFFORT, CommandKind.VELOCITY
PATIENCE = 60.0
COMMAND = (
    "import sys; from diffbot_check.command import main; sys.exit(main(sys.argv[1:], 'check'))"
)


def started(*words):
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "--moving", "--yes", "--seconds", "3", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=dict(os.environ),
    )


def begun(robot, *words):
    """A check that turns a wheel now; on a busy machine it may refuse, and gets more tries."""
    for _ in range(4):
        process = started(*words)
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            if any(any(command) for command in robot.received[-1:]):
                return process
            time.sleep(0.005)
        process.kill()
    raise AssertionError(process.communicate())


@pytest.mark.full_speed
@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, signal.SIGTSTP, signal.SIGSTOP, signal.SIGKILL]
)
def test_zero_is_the_last_command_however_it_ends(domain, number):
    with StandIn(moving(EFFORT, friction=2.0)) as robot:
        process = begun(robot, "robot:=twil")
        process.send_signal(number)
        deadline = time.monotonic() + PATIENCE
        while robot.received[-3:] != [(0.0, 0.0)] * 3 and time.monotonic() < deadline:
            time.sleep(0.005)
        if number == signal.SIGSTOP:
            time.sleep(0.3)  # between two tries there are zeros, too
            process.send_signal(signal.SIGCONT)
        said, errors = process.communicate(timeout=PATIENCE)
        assert robot.received[-1] == (0.0, 0.0)
    # On a busy machine it may have stopped by itself just before the signal.
    stopped = process.returncode == 1 and "stopped: " in said
    if number == signal.SIGSTOP:
        assert stopped, (said, errors)
    else:
        expected = {signal.SIGKILL: -signal.SIGKILL}.get(number, 130)
        assert stopped or process.returncode == expected, (said, errors)


@pytest.mark.full_speed
def test_a_second_commander_ends_it(domain):
    with StandIn(moving(EFFORT, friction=2.0)) as robot:
        process = begun(robot, "robot:=twil", "--json")
        other = StandIn(
            lambda own: own.node.create_publisher(
                Float64MultiArray, "effort_controller/commands", 10
            ),
            "teleop",
        )
        with other:
            report = json.loads(process.communicate(timeout=PATIENCE)[0])
        assert "1 other node publishes" in report["moving"]["ended"]
        assert process.returncode == 1 and robot.received[-1] == (0.0, 0.0)


@pytest.mark.full_speed
@pytest.mark.parametrize("kind", [EFFORT, VELOCITY])
def test_a_sound_robot_is_measured_and_its_file_written(domain, tmp_path, kind):
    file = tmp_path / "mine.yaml"
    save_robot(load_robot("twil" if kind is EFFORT else "turtlebot2"), file)
    before = file.read_text()
    for _ in range(4):  # a busy machine may hold it up
        with StandIn(moving(kind)) as robot:
            file.write_text(before)
            process = started(f"robot:={file}", "--json", "--write")
            report = json.loads(process.communicate(timeout=2 * PATIENCE)[0])
            turned = robot.plant.farthest
        if not process.returncode:
            break
    assert process.returncode == 0, report["moving"]
    assert turned < 1.58
    measured = load_robot(file).measured
    assert measured is not None and measured.timeout == report["moving"]["timeout"]
    assert [*measured.least] == [*report["moving"]["least"].values()]
    assert {old.read_text() for old in tmp_path.glob("mine.yaml.*.old")} == {before}


@pytest.mark.full_speed
def test_nothing_moves_without_the_word(domain):
    with StandIn(moving(EFFORT)) as robot:
        process = subprocess.run(
            [sys.executable, "-c", COMMAND, "--moving", "--seconds", "1", "robot:=twil"],
            input="y\n",
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        assert process.returncode == 1 and "nothing was moved" in process.stderr
        assert robot.received == []


def test_a_rehearsal_names_the_fault_that_is_planted(tmp_path):
    """The guide sees the simulated robot, copies its file, and finds other joint names."""
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "diffbot_bringup.cli", "start", str(tmp_path), "--rehearse"),
            *("--fault", "names"),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    said = process.communicate("\ntwil\n\nm\nq\n", timeout=2 * PATIENCE)[0]
    assert process.returncode == 1
    assert "may be 'wheel_left'" in said and "Mended: its driver uses the joint names" in said
    assert "Left at 'check'" in said
    assert json.loads((tmp_path / "check.json").read_text())["ready"] is False
