# SPDX-License-Identifier: Apache-2.0
"""What a commanding node does while something is missing, and how it ends."""

import math
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray  # noqa: E402
from effort_graph import TORQUE, drive, made_graphs  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from diffbot_node import (  # noqa: E402  # noqa: E402
    CommandNode,
    CommandParameters,
    PairLimiter,
    RobotInterface,
    presence,
    state_age,
    topic_nodes,
)
from diffbot_node.stop_states import GuardState  # noqa: E402
from diffbot_node.topic_nodes import LATCHED  # noqa: E402

ZERO = (0.0, 0.0)


class Listener:
    """Keeps what a node logs."""

    def __init__(self, node, monkeypatch):
        self.said = []
        for level in ("info", "warning", "error"):
            setattr(self, level, self.said.append)
        monkeypatch.setattr(node, "get_logger", lambda: self)

    def heard(self, words):
        return any(words in text for text in self.said)


@pytest.fixture
def make_graph():
    with made_graphs() as make:
        yield make


@pytest.fixture
def graph(make_graph):
    return make_graph()


def test_a_sample_waits_for_what_belongs_to_it(graph):
    drive(graph)
    graph.node.missing = "a reference"
    count = len(graph.commands)
    graph.stamp += 0.01
    graph.publish()
    graph.spin_until(lambda: graph.node.loop.pending, "the sample")
    graph.publish()  # said again, as a simulator does
    graph.node.loop.resume()
    assert graph.node.loop.pending and len(graph.commands) == count
    graph.node.missing = ""
    graph.node.loop.resume()
    assert not graph.node.loop.pending
    graph.spin_until(lambda: len(graph.commands) > count, "the answer")
    assert graph.commands[-1] == TORQUE
    graph.node.loop.resume()  # nothing waits


def test_a_repeated_state_is_looked_at_again(graph):
    drive(graph)
    graph.node.missing = "a reference"
    graph.stamp += 0.01
    graph.publish()
    graph.spin_until(lambda: graph.node.loop.pending, "the sample")
    graph.node.missing = ""
    graph.publish()
    graph.spin_until(lambda: not graph.node.loop.pending, "the answer")


def test_a_sample_without_an_answer_is_refused_by_the_next_one(graph):
    drive(graph)
    graph.node.missing = "a reference"
    graph.stamp += 0.01
    graph.publish()
    graph.spin_until(lambda: graph.node.loop.pending, "the sample")
    assert graph.say() == ZERO
    assert graph.node.refused == 1 and graph.node.silences == 1 and graph.node.loop.pending


def test_motion_over_a_sample_that_was_left_out_is_not_compared_with_torque(graph, monkeypatch):
    anews = []
    robot = graph.node.loop.robot
    monkeypatch.setattr(robot, "contradiction", lambda sample, torque, anew: anews.append(anew))
    drive(graph)
    # A busy machine's periods are so long that they are compared with nothing, either.
    for name in ("_step_problem", "_age_problem"):
        monkeypatch.setattr(graph.node.loop._age.stamps, name, lambda *times: "")

    def say_until(condition):
        for _ in range(100):
            graph.say()
            if condition():
                break
        assert condition()

    say_until(lambda: anews[-1] is False)
    graph.node.missing = "a reference"
    graph.stamp += 0.01
    graph.publish()
    graph.spin_until(lambda: graph.node.loop.pending, "the sample")
    assert graph.say() == ZERO
    count, graph.node.missing = len(anews), ""
    say_until(lambda: len(anews) > count)
    assert anews[count] is True
    say_until(lambda: anews[-1] is False)


def test_a_stop_does_not_wait_for_what_is_missing(graph):
    drive(graph)
    graph.node.missing = "a reference"
    graph.node.output.stop("for a test")
    assert graph.say() == ZERO and not graph.node.loop.pending


def test_it_says_what_it_waits_for(make_graph, monkeypatch):
    monkeypatch.setattr(presence, "WAITING_PERIOD", 0.1)
    graph = make_graph()
    log = Listener(graph.node, monkeypatch)
    graph.spin_until(lambda: log.heard("waiting: no new message on /joint_states"), "the reminder")
    graph.node.missing = "the seventh wheel"
    graph.stamp += 0.01
    graph.publish()
    graph.spin_until(lambda: log.heard("waiting: the seventh wheel"), "the reminder")


def test_joint_states_of_other_joints_are_named(make_graph, monkeypatch):
    """50 a second may arrive, and "no new message" would be said of them."""
    monkeypatch.setattr(presence, "WAITING_PERIOD", 0.1)
    graph = make_graph()
    log = Listener(graph.node, monkeypatch)
    names = ["wheel_l", "wheel_r\x1b[31m"]

    def heard():
        graph.stamp += 0.01
        graph.publish(name=names)
        return log.heard(
            r"waiting: the joint states that arrive are of ['wheel_l', 'wheel_r\x1b[31m'], and the "
            "wheels are ['left_wheel_joint', 'right_wheel_joint']: correct the names"
        )

    graph.spin_until(heard, "the reminder")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        (
            {"name": ["left_wheel_joint", "wheel_right"]},
            "joint 'right_wheel_joint' appears 0 times in the joint states ['left_wheel_joint', "
            "'wheel_right']: must appear once; check the names given for the wheels; "
            "'right_wheel_joint' may be 'wheel_right'",
        ),
        ({"effort": []}, "joint states hold 0 values of effort"),
    ],
)
def test_why_no_message_can_be_used_is_what_it_waits_for(make_graph, monkeypatch, fields, said):
    monkeypatch.setattr(presence, "WAITING_PERIOD", 0.1)
    graph = make_graph()
    log = Listener(graph.node, monkeypatch)

    def heard():
        graph.stamp += 0.01
        graph.publish(**fields)
        return log.heard(f"waiting: no message on /joint_states can be used: {said}")

    graph.spin_until(heard, "the reminder")


def test_a_driver_of_another_namespace_is_named(make_graph, monkeypatch):
    monkeypatch.setattr(topic_nodes.Instead, "LOOK_PERIOD", 0.0)
    graph = make_graph()
    graph.robot.destroy_publisher(graph.states)
    graph.robot.create_publisher(JointState, "/one/joint_states", 10)
    wanted = "; there is /one/joint_states of /robot: if it is this robot's"
    graph.spin_until(lambda: wanted in graph.node.waits_for().reason, "the other topic")


@pytest.mark.parametrize(
    ("variables", "closed"),
    [
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}, True),
        ({"ROS_LOCALHOST_ONLY": "1"}, True),
        (
            {
                "ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT",
                "FASTDDS_DEFAULT_PROFILES_FILE": "/here/config/fastdds_local.xml",
            },
            True,
        ),
        ({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}, False),
        ({}, False),
    ],
)
def test_a_driver_on_another_computer_is_looked_for_where_discovery_is_closed(variables, closed):
    said = topic_nodes.beyond_discovery(variables)
    assert said.endswith("ROS_AUTOMATIC_DISCOVERY_RANGE=SUBNET opens it)") == closed
    assert bool(said) == closed


def test_it_waits_for_states_and_for_somebody_who_takes_commands(graph, monkeypatch):
    for topic in list(graph.robot.publishers):
        graph.robot.destroy_publisher(topic)
    graph.spin_until(
        lambda: "no node publishes" in graph.node.waits_for().reason, "the robot to leave"
    )
    assert "no node publishes /joint_states; start the simulator" in graph.node.waits_for().reason
    monkeypatch.setattr(graph.node, "count_publishers", lambda topic: 1)
    for subscription in list(graph.robot.subscriptions):
        graph.robot.destroy_subscription(subscription)
    graph.spin_until(
        lambda: "no node subscribes" in graph.node.waits_for().reason, "the wheels to leave"
    )
    assert graph.node.waits_for().reason.startswith(
        "no node subscribes to /effort_controller/commands; start the effort controller"
    )


def test_a_state_that_comes_before_all_is_there_is_not_answered(graph):
    graph.node.lacking = "somebody"
    graph.stamp += 0.01
    graph.publish()
    for _ in range(10):
        graph.executor.spin_once(timeout_sec=0.01)
    assert graph.commands == [] and not graph.node.output.guard.began


def test_patience_ends_it_with_what_is_missing(make_graph):
    graph = make_graph("patience:=0.2")
    graph.spin_until(lambda: graph.node.exit_code == 1, "the end")
    assert "no usable message on /joint_states" in graph.node.last_words
    graph.stamp += 0.01
    graph.publish()
    for _ in range(10):
        graph.executor.spin_once(timeout_sec=0.01)
    assert set(graph.commands) <= {ZERO}


def test_patience_names_a_missing_part(make_graph, monkeypatch):
    graph = make_graph("patience:=0.3")
    graph.node.missing = "the seventh wheel"
    graph.stamp += 0.01
    graph.publish()
    graph.spin_until(lambda: graph.node.exit_code == 1, "the end")
    assert graph.node.last_words.endswith("the seventh wheel")


@pytest.mark.parametrize(("code", "words"), [(0, "done"), (1, "it failed"), (0, "")])
def test_it_ends_with_zero_and_says_why(graph, monkeypatch, code, words):
    drive(graph)
    log = Listener(graph.node, monkeypatch)
    graph.node.finish(code, words)
    graph.spin_until(lambda: graph.commands[-1] == ZERO, "zero")
    assert (graph.node.exit_code, graph.node.last_words) == (code, words)
    assert log.said == ([words] if words else [])


def test_a_law_that_ends_the_node_sends_nothing_after_zero(graph, monkeypatch):
    drive(graph)

    def end(sample):
        graph.node.finish(0)
        return TORQUE

    monkeypatch.setattr(graph.node, "on_sample", end)
    count = len(graph.commands)
    assert graph.say() == ZERO
    assert graph.commands[count:] == [ZERO]


def test_last_messages_are_awaited(graph):
    publisher = graph.node.create_publisher(Float64MultiArray, "last", 10)
    publisher.publish(Float64MultiArray())
    graph.node.await_arrival(publisher)


def make_simulated(make_graph):
    """A graph with a clock that stands at 100 s."""
    clocks, message = [], Clock()
    message.clock.sec = 100

    def publish_clock(node):
        clocks.append(node.create_publisher(Clock, "/clock", LATCHED))
        clocks[0].publish(message)

    graph = make_graph("use_sim_time:=true", before=publish_clock)
    graph.spin_until(clocks[0].get_subscription_count, "the clock to match")
    clocks[0].publish(message)
    graph.spin_until(lambda: graph.node.get_clock().now().nanoseconds > 0, "the clock")
    graph.clockless = clocks[0].destroy
    return graph


def test_without_the_clock_that_it_shall_go_by_nothing_is_commanded(make_graph):
    """By a clock that stands every state is new, however long ago it came."""
    graph = make_simulated(make_graph)
    assert not graph.node.waits_for()
    graph.clockless()
    graph.spin_until(graph.node.waits_for, "the clock's leaving")
    assert "use_sim_time is true and no node publishes /clock" in graph.node.waits_for().reason


def test_a_clock_may_have_a_name_of_its_own(make_graph):
    """As that of a simulated robot in a namespace, which a launch file remaps."""
    clocks = []
    graph = make_graph(
        "use_sim_time:=true",
        remaps=["/clock:=own/clock"],
        before=lambda node: clocks.append(node.create_publisher(Clock, "own/clock", 10)),
    )
    graph.spin_until(lambda: not graph.node.waits_for(), "the clock to be found")
    clocks[0].destroy()
    graph.spin_until(graph.node.waits_for, "the clock's leaving")
    assert "no node publishes /own/clock" in graph.node.waits_for().reason


def test_a_simulator_that_has_gone_is_noticed_though_its_time_stands(make_graph, monkeypatch):
    graph = make_simulated(make_graph)
    drive(graph)
    monkeypatch.setattr(state_age, "LONGEST_PAUSE", 0.3)
    graph.spin_until(lambda: graph.commands[-1] == ZERO, "zero")
    assert graph.node.output.guard.state is GuardState.SILENT
    assert (
        "limit 0.3 s of wall time, even if the simulator pauses" in graph.node.output.guard.reason
    )


def test_an_answer_that_comes_too_late_is_zero(graph):
    drive(graph)
    graph.node.missing = "a reference"
    graph.stamp += 0.01
    graph.publish()
    graph.spin_until(lambda: graph.node.output.guard.state is GuardState.SILENT, "the silence")
    graph.node.missing = ""
    graph.node.loop.resume()
    assert graph.node.output.guard.command == ZERO
    assert "no answer to a joint state within 0." in graph.node.output.guard.reason


def test_time_that_stands_still_in_a_simulator_is_said_and_no_silence(make_graph, monkeypatch):
    # Only when it is due, however slow this machine is.
    monkeypatch.setattr(presence, "WAITING_PERIOD", 1000.0)
    graph = make_simulated(make_graph)
    drive(graph)
    log = Listener(graph.node, monkeypatch)
    received = graph.node.presence._since
    graph.publish()
    graph.spin_until(lambda: graph.node.presence._since > received, "patience to begin anew")
    graph.node.presence._reminded = -math.inf
    received = graph.node.presence._since
    graph.publish()
    graph.spin_until(lambda: graph.node.presence._since > received, "the one after it")
    assert not log.said  # a node that was busy finds a state that was said again meanwhile
    graph.node.loop._next_state._since = -math.inf
    graph.publish()
    # A busy machine may have driven for longer.
    still = f"the simulated time stands still at {graph.stamp:g} s"
    graph.spin_until(lambda: log.heard(still), "words")
    received = graph.node.presence._since
    graph.publish()
    graph.spin_until(lambda: graph.node.presence._since > received, "another one")
    assert len(log.said) == 1


def test_diagnostics_name_what_is_missing_at_the_start(make_graph):
    graph = make_graph()
    graph.node.lacking = "the seventh wheel"
    reported = []
    graph.robot.create_subscription(
        DiagnosticArray,
        "diagnostics",
        lambda message: reported.append(message.status[0].message),
        10,
    )
    graph.spin_until(lambda: "waiting: the seventh wheel" in reported, "diagnostics")


def test_reminders_are_apart(graph, monkeypatch):
    log = Listener(graph.node, monkeypatch)
    waiting = graph.node.presence
    waiting._since, waiting._reminded = -math.inf, time.monotonic()
    graph.node.loop.look()
    assert log.said == [] and waiting.waits_long


def test_a_repeated_stamp_is_no_complaint_at_once(graph):
    drive(graph)
    graph.publish()
    for _ in range(5):
        graph.executor.spin_once(timeout_sec=0.01)
    assert graph.node.refused == 0


class PlainRobot(RobotInterface):
    """Nothing but what every robot must give."""

    def read(self, stamp, message):
        return stamp

    def message_of(self, command):
        return Float64MultiArray(data=command)


class PlainNode(CommandNode):
    """Commands what it is told, with nothing but what a subclass must give."""

    def __init__(self):
        super().__init__("plain", CommandParameters)
        robot = PlainRobot(
            (JointState, "joint_states"),
            (Float64MultiArray, "plain_commands"),
            PairLimiter("speed", "m/s", (1.0, 1.0)),
        )
        self.connect(robot)

    def on_sample(self, sample):
        return TORQUE


def test_any_robot_can_be_commanded(graph):
    node = PlainNode()
    graph.executor.add_node(node)
    taken = []
    graph.robot.create_subscription(Float64MultiArray, "plain_commands", taken.append, 10)
    graph.spin_until(lambda: not node.waits_for(), "the graph to match")
    graph.stamp += 0.01
    graph.publish()
    graph.stamp += 0.01
    graph.publish()
    graph.spin_until(lambda: len(taken) == 2, "its commands")
    assert tuple(taken[1].data) == TORQUE == node.commanded
    node.destroy_node()


def test_torque_limits_are_checked_against_the_robot(make_graph):
    with pytest.raises(ValueError, match=r"'torque_limit' = 6.0 N m: must be <= 5.0 N m"):
        make_graph("torque_limit:=6.0")


def test_torque_beyond_traction_is_allowed_with_a_warning(make_graph):
    graph = make_graph("torque_limit:=2.0")
    graph.node.wanted = (9.0, -9.0)
    for _ in range(5):
        torque = graph.say()
    assert torque == (2.0, -2.0)
