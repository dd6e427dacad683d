# SPDX-License-Identifier: Apache-2.0
"""How the nodes at the robot's pace end, as processes: by themselves, alone, by signals."""

import signal
import subprocess
import sys

import pytest
import rclpy
from geometry_msgs.msg import TwistStamped
from paced_graph import DOMAIN, PATIENCE, PERIOD, Graph, arguments, nanoseconds, start
from std_msgs.msg import Float64MultiArray

from diffbot_msgs.msg import PoseReference
from pose2d_trajectories import make_trajectory
from pose2d_trajectories.pose_message import Pose2D

OUTPUTS = {
    "trajectory_publisher": (PoseReference, "reference"),
    "velocity_steps": (TwistStamped, "cmd_vel"),
}
WAITS = {
    "trajectory_publisher": "1 subscriber(s) of /command or /reference",
    "velocity_steps": "1 subscriber(s) of /cmd_vel",
}
both = pytest.mark.parametrize("executable", OUTPUTS)


@pytest.fixture
def graph(monkeypatch):
    monkeypatch.setenv("ROS_DOMAIN_ID", str(DOMAIN))
    made = Graph()
    yield made
    made.close()


def ended(process):
    """Status and what was said, once the process has ended."""
    _, errors = process.communicate(timeout=PATIENCE)
    assert "Traceback" not in errors, errors
    return process.returncode, errors


def test_a_trajectory_is_held_and_then_ends_with_every_answer_delivered(graph):
    line = ("trajectory:=line", "length:=0.1", "speed:=1.0", "hold:=0.2")
    references, _ = graph.hear(PoseReference, "reference")
    process = start("trajectory_publisher", *arguments(*line), stderr=-1)
    graph.begin(references, 0)
    duration = make_trajectory("line", length=0.1, speed=1.0).duration
    last = next(k for k in range(10_000) if k * 0.01 >= duration + 0.2)
    for k in range(1, last + 1):
        graph.step(references, k * PERIOD)
    graph.spin_until(lambda: process.poll() is not None)
    status, errors = ended(process)
    assert status == 0 and "it is held for 0.2 s" in errors
    assert [nanoseconds(each) for each in references] == [k * PERIOD for k in range(1, last + 1)]
    end = references[-1]
    assert (end.x, end.v, end.omega, end.dv, end.domega) == (0.1, 0.0, 0.0, 0.0, 0.0)


def test_without_hold_it_stays(graph):
    references, _ = graph.hear(PoseReference, "reference")
    line = ("trajectory:=line", "length:=0.1")
    process = start("trajectory_publisher", *arguments(*line), stderr=-1)
    graph.begin(references, 0)
    graph.step(references, 10**9 * 1000)
    graph.step(references, 10**9 * 1001)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 0


@both
@pytest.mark.parametrize("onlooker", [None, "recorder"])
def test_it_leaves_when_the_listener_has_left(graph, executable, onlooker):
    """Whoever only looks on may stay: it waits for this node itself."""
    kind, topic = OUTPUTS[executable]
    heard, subscription = graph.hear(kind, topic)
    if onlooker:
        looking = rclpy.create_node(onlooker, context=graph.other.context)
        looking.create_subscription(kind, topic, lambda message: None, 10)
    process = start(executable, *arguments("leave_when_alone:=true"), stderr=-1)
    graph.begin(heard, 0)
    graph.step(heard, PERIOD)
    assert process.poll() is None
    graph.other.destroy_subscription(subscription)
    graph.spin_until(lambda: process.poll() is not None)
    status, errors = ended(process)
    assert status == 0 and "no subscriber is left" in errors
    if onlooker:
        looking.destroy_node()


def test_whoever_commands_no_robot_does_not_keep_it(graph):
    """A logger or a plot of any name may stay when the controller has ended."""
    heard, _ = graph.hear(PoseReference, "reference")
    graph.hear(Pose2D, "command")
    law = rclpy.create_node("law", context=graph.other.context)
    law.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    law.create_subscription(PoseReference, "reference", lambda message: None, 10)
    process = start("trajectory_publisher", *arguments("leave_when_alone:=true"), stderr=-1)
    graph.begin(heard, 0)
    graph.step(heard, PERIOD)
    graph.spin_for(0.5)
    assert process.poll() is None
    law.destroy_node()
    graph.spin_until(lambda: process.poll() is not None)
    status, errors = ended(process)
    assert status == 0 and "no subscriber is left" in errors


@both
def test_it_fails_when_nobody_ever_listens(graph, executable):
    process = start(executable, *arguments("leave_when_alone:=true", "patience:=0.5"), stderr=-1)
    status, errors = ended(process)
    assert status == 1
    assert f"gave up after 0.5 s of wall time without {WAITS[executable]}; start a" in errors


def test_one_of_two_topics_is_enough_to_stay(graph):
    heard, _ = graph.hear(Pose2D, "command")
    process = start("trajectory_publisher", *arguments("leave_when_alone:=true"), stderr=-1)
    graph.begin(heard, 0)
    graph.spin_for(0.5)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == 0


def test_it_says_what_it_waits_for_and_signals_end_it_cleanly(graph):
    """All executables run in `run_node`: each gets two of the four signals here.

    They wait side by side, as each one says what it waits for after 3 s only.
    """
    signals = {
        "SIGTERM": "trajectory_publisher",
        "SIGHUP": "trajectory_publisher",
        "SIGINT": "velocity_steps",
        "SIGQUIT": "velocity_steps",
    }
    processes = {name: start(executable, stderr=-1) for name, executable in signals.items()}
    try:
        for name, process in processes.items():
            said = process.stderr.readline()
            assert f"waiting for {WAITS[signals[name]]}; start a controller" in said, name
            process.send_signal(getattr(signal, name))
        for name, process in processes.items():
            assert ended(process)[0] == 0, name
    finally:
        for process in processes.values():
            process.kill()


def test_nothing_big_is_loaded_before_signals_are_set():
    code = (
        "import sys, pose2d_trajectories.executables; print({'numpy', 'rclpy'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


LOADING = """
import time
from diffbot_node import executables
from pose2d_trajectories.executables import velocity_steps
def load(module):
    print(module, flush=True)
    time.sleep(60)
executables.import_module = load
velocity_steps()
"""


def test_ctrl_c_while_it_loads_leaves_no_traceback(graph):
    process = subprocess.Popen([sys.executable, "-c", LOADING], text=True, stdout=-1, stderr=-1)
    assert process.stdout.readline() == "pose2d_trajectories.trajectory_node\n"
    process.send_signal(signal.SIGINT)
    assert ended(process)[0] == -signal.SIGINT


def test_interrupted_steps_stop_the_robot(graph):
    heard, _ = graph.hear(TwistStamped, "cmd_vel")
    process = start("velocity_steps", stderr=-1)
    graph.begin(heard, 0)
    graph.step(heard, 10**9)
    heard.clear()
    assert graph.step(heard, 2 * 10**9).twist.angular.z == 2.0
    process.send_signal(signal.SIGTERM)
    graph.spin_until(lambda: process.poll() is not None)
    graph.spin_for(0.2)
    assert ended(process)[0] == 0
    last = heard[-1]
    assert len(heard) == 2 and nanoseconds(last) == 2 * 10**9
    assert (last.twist.linear.x, last.twist.angular.z) == (0.0, 0.0)
