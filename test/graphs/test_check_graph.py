# SPDX-License-Identifier: Apache-2.0
"""`diffbot check` looks at a running stand-in of a robot, and only looks."""

import json
import signal
import subprocess
import sys
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from geometry_msgs.msg import Twist  # noqa: E402
from launched import default_signals  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from stand_in_robot import BEST_EFFORT, StandIn  # noqa: E402
from std_msgs.msg import Float64MultiArray, String  # noqa: E402

from diffbot_bringup import cli  # noqa: E402

BEGUN = """
import signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
print("begun", flush=True)
from diffbot_bringup import cli
sys.exit(cli.main(sys.argv[1:]))
"""


def torque_robot(robot):
    robot.joint_states(qos=BEST_EFFORT)
    robot.takes(Float64MultiArray, "effort_controller/commands")


def checked(capsys, expected, *words):
    """(status, report) of a check in which `expected` holds; a busy machine gets more tries."""
    for seconds in (1, 3, 6, 9):
        status = cli.main(["check", "--seconds", f"{seconds}", "--json", *words])
        report = json.loads(capsys.readouterr().out)
        if expected(report):
            break
    return status, report


def says(words):
    return lambda report: any(words in each["what"] for each in report["findings"])


@pytest.mark.full_speed
def test_a_sound_robot_is_ready_and_gets_nothing(domain, capsys):
    topic = "/effort_controller/commands"
    with StandIn(torque_robot) as robot:
        status, report = checked(capsys, lambda report: report["ready"], "robot:=twil")
        assert robot.received == [] and robot.node.count_publishers(topic) == 0
    assert status == 0, report
    assert "/joint_states of /driver" in report["seen"][0]["text"]


@pytest.mark.full_speed
@pytest.mark.parametrize(
    ("make", "words"),
    [
        (
            lambda robot: robot.joint_states(("wheel_left", "wheel_right")),
            "'left_wheel_joint' may be 'wheel_left'",
        ),
        (
            lambda robot: robot.joint_states(topic="/one/joint_states"),
            "there is /one/joint_states of /driver",
        ),
        (
            lambda robot: robot.node.create_publisher(String, "joint_states", 10),
            "/driver publishes it as std_msgs/msg/String",
        ),
        (lambda robot: None, "no node"),
    ],
)
def test_what_a_beginner_meets_is_named(domain, make, words, capsys):
    def unsound(robot):
        make(robot)
        if words != "no node":
            robot.takes(Float64MultiArray, "effort_controller/commands")

    with StandIn(unsound):
        status, report = checked(capsys, says(words), "robot:=twil", "commands:=effort")
    assert status == 1 and says(words)(report), report


@pytest.mark.full_speed
def test_the_timeout_of_a_velocity_driver_is_asked_for(domain, capsys):
    def velocity_robot(robot):
        robot.publishes(Odometry, "odom", child_frame_id="base_link")
        robot.takes(Twist, "cmd_vel")
        robot.node.declare_parameter("cmd_vel_timeout", 0.0)

    with StandIn(velocity_robot):
        words = "/driver cmd_vel_timeout = 0 s"
        _, report = checked(capsys, says(words), "robot:=turtlebot2")
    assert report["commands"] == "velocity" and says(words)(report), report


@pytest.mark.full_speed
@pytest.mark.parametrize("after", [0.3, 2.5])
def test_ctrl_c_ends_it_at_once_without_a_traceback(domain, after):
    process = subprocess.Popen(
        [sys.executable, "-c", BEGUN, "check", "--seconds", "600"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=default_signals,
    )
    # Python itself leaves a traceback while it starts, which takes long on a busy machine.
    assert process.stdout.readline() == "begun\n"
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=60.0)
    assert "Traceback" not in output
    assert process.returncode in (130, -signal.SIGINT)


@pytest.mark.parametrize(("rates", "faults"), [((1.0, 2.0), 0), ((2.0, 1.0), 1)])
def test_a_push_by_hand_shows_the_wiring(domain, rates, faults, capsys):
    """Wheels that turn forward, the right one ahead, answer both; others: test_pushed_robots.py."""

    def turning(robot):
        def change(message, now):
            message.position = [rate * (now % 1000.0) for rate in rates]
            message.velocity = list(rates)

        robot.joint_states(change=change)
        robot.takes(Float64MultiArray, "effort_controller/commands")

    with StandIn(turning) as robot:
        cli.main(["check", "--by-hand", "--seconds", "1", "--json", "robot:=twil"])
        assert robot.received == []
    said = capsys.readouterr()
    report = json.loads(said.out)
    assert "push the robot forward" in said.err and "turn it to the left" in said.err
    wrong = [each for each in report["findings"] if "pushed by hand" in each["what"]]
    assert len(wrong) == faults, report["findings"]
