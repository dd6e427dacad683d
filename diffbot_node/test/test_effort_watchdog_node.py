# SPDX-License-Identifier: Apache-2.0
"""The watchdog on a real ROS graph: what reaches the wheels for what is commanded."""

import math
import threading
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from rosgraph_msgs.msg import Clock  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray  # noqa: E402

from diffbot_node.effort_watchdog_node import EffortWatchdogNode  # noqa: E402

ZERO = (0.0, 0.0)
TORQUE = (0.2, -0.1)
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Graph:
    """The node under test, a controller, and wheels that come and go."""

    def __init__(self, *parameters):
        # A busy machine must not look like a controller that fell silent.
        words = [word for text in ("timeout:=5.0", *parameters) for word in ("-p", text)]
        rclpy.init(args=["--ros-args", *words])
        self.other = rclpy.create_node("other")
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.other)
        self.commands, self.statuses, self.errors = [], [], []
        self.other.create_subscription(DiagnosticArray, "diagnostics", self.on_diagnostics, 10)
        self.node = EffortWatchdogNode()
        self.executor.add_node(self.node)

    def on_diagnostics(self, array):
        self.statuses.extend(array.status)

    def add_controller(self):
        return self.other.create_publisher(Float64MultiArray, "effort_watchdog/commands", 10)

    def add_wheels(self):
        return self.other.create_subscription(
            Float64MultiArray,
            "effort_controller/commands",
            lambda message: self.commands.append(tuple(message.data)),
            10,
        )

    def spin_until(self, condition, what):
        end = time.monotonic() + 10.0
        while not condition():
            assert time.monotonic() < end, f"waited in vain for {what}"
            self.executor.spin_once(timeout_sec=0.01)

    def spin(self, duration):
        end = time.monotonic() + duration
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def start(self):
        """A controller and wheels that are connected."""
        self.controller = self.add_controller()
        self.wheels = self.add_wheels()
        self.spin_until(self.controller.get_subscription_count, "the controller to be heard")

    def say(self, *torque):
        """Publish a command and return what reaches the wheels."""
        count = len(self.commands)
        self.controller.publish(Float64MultiArray(data=list(torque)))
        self.spin_until(lambda: len(self.commands) > count, "an answer")
        assert len(self.commands) == count + 1
        return self.commands[-1]

    def close(self):
        self.node.destroy_node()
        self.other.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def make_graph():
    made = []

    def make(*parameters):
        made.append(Graph(*parameters))
        return made[-1]

    yield make
    for graph in made:
        graph.close()


@pytest.fixture
def graph(make_graph):
    graph = make_graph()
    graph.start()
    return graph


def test_one_goes_out_for_each_that_comes_itself_or_zero(graph, monkeypatch):
    monkeypatch.setattr(graph.node, "get_logger", lambda: LOGGER)
    LOGGER.said.clear()
    assert graph.say(*TORQUE) == TORQUE
    for bad in ((math.nan, 0.0), (0.1,), (0.1, 0.1, 0.1), (5.1, 0.0)):
        assert graph.say(*bad) == ZERO
    assert len(LOGGER.said) == 1 and "must be finite" in LOGGER.said[0]  # one line for the trip
    assert graph.say(0.3, 0.3) == ZERO
    assert graph.say(*TORQUE) == TORQUE
    assert graph.node.watchdog.trips == 1


class LOGGER:
    said = []
    error = staticmethod(said.append)
    info = staticmethod(said.append)


def test_controllers_are_told_that_it_holds_and_again_when_it_does_not(graph):
    reported, changes = [], []

    def hear(message):
        reported.append(message.data)
        if changes[-1:] != [message.data]:
            changes.append(message.data)

    graph.other.create_subscription(Bool, "effort_watchdog/holds", hear, LATCHED)
    graph.spin_until(lambda: changes == [False], "the latched state")
    graph.say(math.nan, 0.0)
    graph.spin_until(lambda: changes == [False, True], "word")
    graph.say(0.0, 0.0)
    graph.spin_until(lambda: changes == [False, True, False], "word")
    # And again though nothing has changed, which controllers take for a sign of life.
    heard = len(reported)
    graph.spin_until(lambda: len(reported) >= heard + 5, "signs of life")
    assert changes == [False, True, False]


def test_commands_are_taken_only_while_somebody_takes_them_from_here(make_graph):
    graph = make_graph()
    controller = graph.add_controller()
    graph.spin_until(lambda: graph.node.count_publishers("effort_watchdog/commands"), "the graph")
    graph.spin(0.1)
    assert controller.get_subscription_count() == 0
    graph.spin_until(lambda: graph.statuses, "diagnostics")
    assert graph.statuses[-1].level == DiagnosticStatus.WARN
    assert "no node subscribes to /effort_controller/commands" in graph.statuses[-1].message
    wheels = graph.add_wheels()
    graph.spin_until(controller.get_subscription_count, "the controller to be heard")
    graph.other.destroy_subscription(wheels)
    graph.spin_until(lambda: not controller.get_subscription_count(), "the controller to be told")


def test_silence_is_followed_by_zero_and_said(make_graph):
    graph = make_graph("timeout:=0.2")
    graph.start()
    while graph.say(*TORQUE) != TORQUE:
        pass  # a machine so busy that even this was too slow
    graph.spin_until(lambda: graph.commands[-1] == ZERO, "zero")
    graph.spin_until(lambda: graph.statuses[-1].level == DiagnosticStatus.STALE, "diagnostics")
    status = graph.statuses[-1]
    assert "no command for 0.2" in status.message and status.hardware_id == "twil"
    assert status.name == "effort_watchdog: commands"
    values = {value.key: value.value for value in status.values}
    assert values["passed, N m"] == "[0.0, 0.0]" and int(values["trips"]) >= 1


def test_diagnostics_say_once_a_second_that_commands_pass(graph):
    graph.say(*TORQUE)
    level = DiagnosticStatus.OK
    graph.spin_until(lambda: graph.statuses and graph.statuses[-1].level == level, "OK")
    assert graph.statuses[-1].message == "passing"
    count = len(graph.statuses)
    graph.spin(1.3)
    assert len(graph.statuses) - count in (1, 2)


@pytest.mark.parametrize("qos", [10, LATCHED])
def test_the_emergency_stop_holds_zero(graph, qos):
    stop = graph.other.create_publisher(Bool, "emergency_stop", qos)
    graph.spin_until(stop.get_subscription_count, "the emergency stop to be heard")
    assert graph.say(*TORQUE) == TORQUE
    count = len(graph.commands)
    stop.publish(Bool(data=True))
    graph.spin_until(lambda: len(graph.commands) > count, "zero before any other command")
    assert graph.commands[-1] == ZERO and graph.say(*TORQUE) == ZERO
    graph.spin_until(lambda: graph.statuses[-1].level == DiagnosticStatus.ERROR, "diagnostics")
    assert "the emergency stop is pressed: release it" in graph.statuses[-1].message
    stop.publish(Bool(data=False))
    graph.spin_until(lambda: not graph.node._pressed, "the release")
    assert graph.say(0.4, 0.0) == ZERO
    assert graph.say(*TORQUE) == TORQUE


@pytest.mark.parametrize("name", ["recorder", "rosbag2_recorder", "_ros2cli_4711"])
def test_who_only_looks_on_does_not_count_as_the_wheels(make_graph, name):
    """A controller that began with a recorder alone would find that its wheels do not turn."""
    graph = make_graph()
    graph.controller = graph.add_controller()
    onlooker = rclpy.create_node(name)
    onlooker.create_subscription(Float64MultiArray, "effort_controller/commands", print, 10)
    wheels = graph.node._wheels
    graph.spin_until(wheels.get_subscription_count, "the onlooker to be found")
    graph.spin(1.5)
    assert not graph.controller.get_subscription_count()  # so that no controller begins
    graph.wheels = graph.add_wheels()
    graph.spin_until(graph.controller.get_subscription_count, "the controller to be heard")
    assert graph.say(*TORQUE) == TORQUE
    graph.other.destroy_subscription(graph.wheels)
    graph.spin_until(lambda: not graph.controller.get_subscription_count(), "the wheels' parting")
    onlooker.destroy_node()


def test_without_the_clock_that_it_shall_go_by_nothing_passes(make_graph):
    """By a clock that stands no command ever becomes old."""
    graph = make_graph("use_sim_time:=true")
    graph.controller, graph.wheels = graph.add_controller(), graph.add_wheels()
    graph.spin(0.5)
    assert not graph.controller.get_subscription_count()  # so that no controller begins
    clock = graph.other.create_publisher(Clock, "/clock", 10)
    graph.spin_until(graph.controller.get_subscription_count, "the controller to be heard")
    graph.spin_until(lambda: graph.say(*TORQUE) == TORQUE, "the clock to be seen")
    graph.other.destroy_publisher(clock)
    graph.spin_until(lambda: graph.commands[-1] == ZERO, "zero when it goes")


def test_two_who_command_are_held_at_zero_until_one_is_left(graph):
    assert graph.say(*TORQUE) == TORQUE
    rival = graph.add_controller()
    graph.spin_until(lambda: graph.commands[-1] == ZERO, "zero")
    assert "2 nodes publish /effort_watchdog/commands, limit 1" in graph.node.watchdog.reason
    for _ in range(3):  # also when it has looked again
        graph.spin(0.05)
        assert graph.say(*TORQUE) == ZERO
    graph.other.destroy_publisher(rival)
    graph.spin_until(lambda: graph.say(*TORQUE) == TORQUE, "commands to pass")


def test_who_goes_past_it_to_the_wheels_is_noticed(graph):
    assert graph.say(*TORQUE) == TORQUE
    graph.other.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    graph.spin_until(lambda: graph.commands[-1] == ZERO, "zero")
    assert "2 nodes publish /effort_controller/commands" in graph.node.watchdog.reason
    # Nor does a torque near zero pass while that lasts.
    for _ in range(20):
        assert graph.say(0.01, 0.01) == ZERO
        graph.spin(0.01)


def test_it_leaves_with_zero_when_those_who_command_have_left(make_graph):
    graph = make_graph("leave_when_alone:=true", "patience:=0.001")
    graph.start()
    assert graph.say(*TORQUE) == TORQUE
    graph.other.destroy_publisher(graph.controller)
    graph.spin_until(lambda: graph.node.exit_code is not None, "the end")
    graph.spin(0.05)  # looks that find the end
    assert graph.node.exit_code == 0
    graph.node.close()
    graph.spin_until(lambda: graph.commands[-3:] == [ZERO] * 3, "three zeros")


def test_asked_to_end_it_leaves_after_those_who_command(graph):
    """Ctrl-C reaches all at once; a controller that finds no watchdog takes it for dead."""
    assert graph.say(*TORQUE) == TORQUE
    closing = threading.Thread(target=graph.node.close)
    closing.start()
    closing.join(timeout=0.3)
    assert closing.is_alive()
    graph.other.destroy_publisher(graph.controller)
    closing.join(timeout=10.0)
    assert not closing.is_alive()
    graph.spin_until(lambda: graph.commands[-3:] == [ZERO] * 3, "three zeros")


@pytest.mark.wall_time
def test_a_controller_that_was_killed_does_not_keep_it_for_long(graph):
    """DDS lists it for 20 s."""
    begin = time.monotonic()
    graph.node.close()
    assert time.monotonic() - begin < 1.5


def test_who_is_listed_twice_for_a_moment_of_the_start_is_no_reason_to_hold(make_graph):
    graph = make_graph()
    graph.start()
    rival = graph.other.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    graph.spin_until(lambda: graph.node.count_publishers("effort_controller/commands") == 2, "it")
    graph.spin(0.1)
    assert "nodes publish" not in graph.node.watchdog.reason
    graph.other.destroy_publisher(rival)
    graph.spin_until(lambda: graph.node.count_publishers("effort_controller/commands") == 1, "one")
    assert graph.say(*TORQUE) == TORQUE


def test_two_at_the_start_are_one_too_many(graph):
    graph.other.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    graph.spin_until(lambda: "2 nodes publish" in graph.node.watchdog.reason, "the refusal")
    assert graph.say(*TORQUE) == ZERO


def test_it_gives_up_where_nobody_comes_to_command(make_graph):
    graph = make_graph("leave_when_alone:=true", "patience:=0.5")
    graph.spin_until(lambda: graph.node.exit_code is not None, "the end")
    assert graph.node.exit_code == 1


def test_the_limit_is_the_robots_or_a_lower_one(make_graph):
    graph = make_graph("torque_limit:=0.1")
    graph.start()
    assert graph.say(0.0, 0.0) == ZERO and graph.say(0.1, 0.0) == (0.1, 0.0)
    assert graph.say(0.11, 0.0) == ZERO


def test_a_limit_beyond_the_robots_is_refused():
    rclpy.init(args=["--ros-args", "-p", "torque_limit:=5.1"])
    try:
        with pytest.raises(ValueError, match=r"'torque_limit' = 5.1 N m: must be <= 5.0 N m"):
            EffortWatchdogNode()
    finally:
        rclpy.shutdown()
