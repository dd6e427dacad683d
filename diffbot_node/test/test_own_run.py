# SPDX-License-Identifier: Apache-2.0
"""Nodes tell those of their own run from another run's, and end where they meet one."""

import time

import pytest

rclpy = pytest.importorskip("rclpy")

from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from diffbot_node import EffortNode, EffortParameters, own_run  # noqa: E402
from diffbot_node.own_run import (  # noqa: E402
    COMMANDER,
    ESTIMATOR,
    REPORT,
    ROBOT,
    VARIABLE,
    OwnRun,
    run_name,
)

PATIENCE = 10.0


@pytest.fixture
def graph(monkeypatch):
    """Makes an OwnRun on a node of its own, for the run of a name."""
    monkeypatch.setattr(own_run, "LOOK_PERIOD", 0.0)
    rclpy.init()
    nodes = []

    def make(name, role=""):
        monkeypatch.setenv(VARIABLE, name)
        node = rclpy.create_node(f"n{len(nodes)}")
        nodes.append(node)
        run = OwnRun(node, role)
        if role == ROBOT:
            node.create_publisher(Odometry, "ground_truth", 1)
        return run, node

    yield make
    for node in nodes:
        node.destroy_node()
    rclpy.shutdown()


def until(condition):
    deadline = time.monotonic() + PATIENCE
    while not (found := condition()):
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.02)
    return found


def test_only_partners_of_the_own_run_count(graph):
    robot, _ = graph("a", ROBOT)
    other, _ = graph("b", COMMANDER)
    looker, _ = graph("a")
    until(lambda: robot._robots() == 1)
    assert robot.missing() == "the node of this run that commands the robot has not started yet"
    assert other.missing() == "the simulator of this run has not started yet"
    commander, _ = graph("a", COMMANDER)
    until(lambda: not (robot.missing() or commander.missing() or looker.missing()))
    assert not (robot.met() or commander.met() or looker.met())


def test_two_simulators_end_all_nodes_of_both_runs(graph):
    runs = [graph(name, role)[0] for name in "ab" for role in (ROBOT, COMMANDER, REPORT, "")]
    for run in runs:
        said = until(run.met)
        assert "2 simulators publish /ground_truth" in said and "ROS_DOMAIN_ID" in said
        assert run.missing() == said


def test_who_finds_only_another_run_ends(graph, monkeypatch):
    monkeypatch.setattr(own_run, "FINDING_TIME", 0.3)
    graph("a", ROBOT)
    commander, _ = graph("b", COMMANDER)
    begun = time.monotonic()
    assert "its simulator publishes /ground_truth, that of this run does not" in until(
        commander.met
    )
    assert time.monotonic() - begun >= 0.3


def test_another_run_may_come_after_the_own_one(graph, monkeypatch):
    monkeypatch.setattr(own_run, "FINDING_TIME", 0.1)
    robot, node = graph("a", ROBOT)
    graph("a", COMMANDER)
    report, _ = graph("a", REPORT)
    until(lambda: not report.missing())
    node.destroy_node()
    until(lambda: not report.has(ROBOT))
    other, _ = graph("b", ROBOT)
    until(lambda: report._robots() == 1)
    time.sleep(0.2)
    assert not report.met()
    assert until(report.left) == "the simulator of this run has ended"


def test_who_waits_for_somebody_that_never_comes_ends(graph, monkeypatch):
    monkeypatch.setattr(own_run, "COMING_TIME", 0.2)
    robot, _ = graph("a", ROBOT)
    assert not robot.left()
    absent = "the node of this run that commands the robot has not started"
    assert until(robot.left).startswith(absent)


@pytest.mark.parametrize("role", [REPORT, ESTIMATOR])
def test_a_run_need_not_have_all_but_keeps_whom_it_has(graph, monkeypatch, role):
    monkeypatch.setattr(own_run, "COMING_TIME", 0.1)
    graph("a", ROBOT)
    commander, _ = graph("a", COMMANDER)
    until(lambda: commander.has(ROBOT))
    time.sleep(0.2)
    assert not commander.left()
    _, node = graph("a", role)
    until(lambda: commander.has(role))
    node.destroy_node()
    assert until(commander.left) == f"the {role} of this run has ended"


def test_without_a_name_all_that_is_there_counts(graph):
    robot, node = graph("", ROBOT)
    commander, _ = graph("", COMMANDER)
    graph("", ROBOT)
    until(lambda: robot._robots() == 2)
    for run in (robot, commander):
        assert run.has(ROBOT) and not (run.missing() or run.met() or run.left())
    assert not [name for name, _ in node.get_topic_names_and_types() if "_run" in name]


def test_the_marks_are_hidden_topics(graph):
    _, node = graph("a1", ROBOT)
    names = [name for name, _ in node.get_topic_names_and_types()]
    assert "/_run/ra1/robot" in names


@pytest.mark.parametrize("name", ["a b", "a/b", "ü", "a-b"])
def test_a_name_that_no_topic_can_have_is_refused(name):
    with pytest.raises(ValueError, match="DIFFBOT_RUN=.*must be letters and digits"):
        run_name({VARIABLE: name})


def test_keys_are_for_topics_that_are_known(monkeypatch):
    assert run_name({VARIABLE: "a", "ROS_SECURITY_ENABLE": "true"}) == ""
    assert run_name({VARIABLE: "a", "ROS_SECURITY_ENABLE": "false"}) == "a"
    assert run_name({}) == ""


class Robot:
    """A commanding node of the run "mine", and a robot of some run that tells its states."""

    def __init__(self, name, monkeypatch):
        monkeypatch.setattr(own_run, "FINDING_TIME", 0.3)
        monkeypatch.setattr(own_run, "LOOK_PERIOD", 0.0)
        rclpy.init()
        monkeypatch.setenv(VARIABLE, name)
        self.node = rclpy.create_node("robot")
        OwnRun(self.node, ROBOT)
        self.node.create_publisher(Odometry, "ground_truth", 1)
        self.states = self.node.create_publisher(JointState, "joint_states", 10)
        self.commands = []
        self.node.create_subscription(
            Float64MultiArray, "effort_controller/commands", self.commands.append, 10
        )
        monkeypatch.setenv(VARIABLE, "mine")
        self.law = Still("law", EffortParameters)
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.node)
        self.executor.add_node(self.law)
        self.stamp = 0

    def until(self, condition):
        deadline = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < deadline, "waited in vain"
            self.stamp += 1
            message = JointState(name=["left_wheel_joint", "right_wheel_joint"])
            message.position = message.velocity = message.effort = [0.0, 0.0]
            message.header.stamp.sec, rest = divmod(self.stamp, 100)
            message.header.stamp.nanosec = 10_000_000 * rest
            self.states.publish(message)
            for _ in range(5):
                self.executor.spin_once(timeout_sec=0.002)

    def close(self):
        self.law.destroy_node()
        self.node.destroy_node()
        rclpy.shutdown()


class Still(EffortNode):
    def on_sample(self, sample):
        return (0.0, 0.0)


@pytest.fixture
def robot(monkeypatch):
    made = []

    def make(name):
        made.append(Robot(name, monkeypatch))
        return made[-1]

    yield make
    for each in made:
        each.close()


def test_the_robot_of_another_run_is_not_commanded(robot):
    graph = robot("another")
    graph.until(lambda: graph.law.exit_code is not None or graph.commands)
    assert graph.law.exit_code == 1 and not graph.law.loop.guard.began
    assert "that of this run does not" in graph.law.last_words


def test_that_of_its_own_run_is(robot):
    graph = robot("mine")
    graph.until(lambda: graph.commands)
    assert graph.law.exit_code is None


def test_a_commander_that_waits_beside_another_ends(robot):
    graph = robot("mine")
    graph.node.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    graph.until(lambda: graph.law.exit_code is not None or graph.commands)
    assert graph.law.exit_code == 1 and not graph.law.loop.guard.began
    assert "1 other node publishes /effort_controller/commands" in graph.law.last_words
