# SPDX-License-Identifier: Apache-2.0
"""The node beside a commanding node, in one process: it stops it, and nobody counts it."""

import json
import re
import time
from contextlib import contextmanager

import pytest

rclpy = pytest.importorskip("rclpy")
pytest.importorskip("websockets", minversion="13")

from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray  # noqa: E402
from test_server import NONSENSE  # noqa: E402
from websockets.exceptions import ConnectionClosed  # noqa: E402
from websockets.protocol import State  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from diffbot_msgs.msg import IdentStatus  # noqa: E402
from diffbot_node import (  # noqa: E402
    CountedTopic,
    EffortNode,
    EffortParameters,
)
from diffbot_node.topic_nodes import LATCHED  # noqa: E402
from diffbot_view.live_view_node import LiveView  # noqa: E402
from diffbot_view.server import Button, PageCommand  # noqa: E402

TORQUE, ZERO = (0.3, -0.2), (0.0, 0.0)
PATIENCE = 15.0


class Steady(EffortNode):
    """Always asks for the same torque."""

    def __init__(self):
        super().__init__("steady", EffortParameters)

    def on_sample(self, sample):
        return TORQUE


class Graph:
    """A commanding node, its robot, the view, and a browser."""

    def __init__(self):
        self.robot, self.steady, self.view = rclpy.create_node("robot"), Steady(), LiveView()
        self.executor = SingleThreadedExecutor()
        for node in (self.robot, self.steady, self.view):
            self.executor.add_node(node)
        self.states = self.robot.create_publisher(JointState, "joint_states", 10)
        self.commands, self.due, self.drives = [], 0.0, True
        self.browser, self.state = None, {}

    def take_commands(self):
        self.robot.create_subscription(
            Float64MultiArray,
            "effort_controller/commands",
            lambda message: self.commands.append((time.monotonic(), tuple(message.data))),
            10,
        )

    def open(self):
        address = re.search(r"//(.+?)/", self.view.url)[1]
        self.browser = connect(f"ws://{address}/live", origin=f"http://{address}").__enter__()

    def ask(self, what, **more):
        self.browser.send(json.dumps({"do": what, **more}))
        return time.monotonic()

    def spin(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert time.monotonic() < end, f"waited in vain for {what}: {self.state}"
            now = time.monotonic()
            if self.drives and now >= self.due:
                self.due = now + 0.01
                self.states.publish(self.joints())
            self.executor.spin_once(timeout_sec=0.005)
            self.read()

    def joints(self):
        message = JointState(name=["left_wheel_joint", "right_wheel_joint"])
        message.header.stamp = self.robot.get_clock().now().to_msg()
        message.position, message.velocity, message.effort = [0.0] * 2, [0.0] * 2, [0.0] * 2
        return message

    def read(self):
        while self.browser is not None:
            try:
                reported = json.loads(self.browser.recv(timeout=0.0))
            except (TimeoutError, ConnectionClosed):
                return
            self.state.update(reported.get("state", {}))

    def is_commanded(self, torque):
        return lambda: bool(self.commands) and self.commands[-1][1] == torque

    def buttons(self):
        return self.robot.count_publishers("/emergency_stop")

    def node(self, name):
        return next((each for each in self.state.get("nodes", ()) if each["name"] == name), {})


@contextmanager
def made(robot="robot:=twil"):
    words = ("port:=0", "input_timeout:=0.5", "wheel_watch:=false", robot)
    rclpy.init(args=["--ros-args", *(word for each in words for word in ("-p", each))])
    try:
        graph = Graph()
        try:
            yield graph
        finally:
            for node in (graph.steady, graph.view):
                node.close()
            for node in (graph.robot, graph.steady, graph.view):
                node.destroy_node()
    finally:
        rclpy.try_shutdown()


@pytest.fixture
def graph(domain):
    with made() as graph:
        yield graph


def test_the_view_is_no_driver_and_no_report(graph):
    counted = CountedTopic(graph.robot, IdentStatus, "ident/status")
    matched = counted._publisher.get_subscription_count
    graph.spin(matched, "the view to listen")
    assert (
        counted.missing(1) and counted.left_by(1) and not (counted.missing(0) or counted.left_by(0))
    )
    report = graph.steady.create_subscription(IdentStatus, "ident/status", lambda _: None, 10)
    graph.spin(lambda: not counted.missing(1), "a report")
    assert not counted.left_by(1)
    graph.steady.destroy_subscription(report)
    graph.spin(lambda: counted.left_by(1), "its end")
    assert matched() == 1  # the view
    assert "no node subscribes" in graph.steady.waits_for().reason
    assert not graph.commands


def test_stop_release_and_enable_of_a_browser(graph):
    graph.take_commands()
    graph.open()
    graph.spin(graph.is_commanded(TORQUE), "torque")
    graph.spin(lambda: graph.node("steady").get("text") == "active", "the node's state")
    graph.spin(lambda: graph.buttons() == 1, "the view's button")
    asked = graph.ask("stop")
    graph.spin(graph.is_commanded(ZERO), "zero")
    assert graph.commands[-1][0] - asked < 0.5  # the graph test asks for 0.1 s
    graph.spin(lambda: graph.node("steady").get("stopped"), "what the page shows")
    assert graph.state["pressed"]
    count = len(graph.commands)
    graph.spin(lambda: len(graph.commands) > count + 20, "more states")
    assert {torque for _, torque in graph.commands[count:]} == {ZERO}
    graph.ask("enable")
    graph.spin(graph.is_commanded(TORQUE), "torque again")
    graph.spin(lambda: graph.state["note"] == "steady: enabled", "what the page says")
    assert not graph.state["pressed"]


def test_many_presses_ask_the_other_nodes_few_times_and_the_last_one_counts(graph, monkeypatch):
    handled = []
    buttons = graph.view._buttons
    monkeypatch.setattr(buttons, "_handle", handled.append)
    for turn in range(300):
        buttons.press(PageCommand(Button.PAUSE, on=turn % 2 == 0))
    assert handled == [PageCommand(Button.PAUSE, on=True)]
    graph.spin(lambda: len(handled) > 1, "the newest one")
    assert handled[1] == PageCommand(Button.PAUSE, on=False)
    buttons.press(PageCommand(Button.RELEASE))
    buttons.press(PageCommand(Button.RELEASE))
    # A stop waits for nothing, and a release that waits is forgotten.
    buttons.press(PageCommand(Button.STOP))
    assert [each.button for each in handled[2:]] == [Button.RELEASE, Button.STOP]
    end = time.monotonic() + 0.3
    graph.spin(lambda: time.monotonic() > end, "a release")
    assert len(handled) == 4


def test_nothing_moves_by_a_release_alone(graph):
    graph.take_commands()
    graph.open()
    graph.spin(graph.is_commanded(TORQUE), "torque")
    graph.spin(lambda: graph.buttons() == 1, "the view's button")
    graph.ask("stop")
    graph.spin(graph.is_commanded(ZERO), "zero")
    graph.ask("release")
    graph.spin(lambda: not graph.steady.output.guard.pressed, "the release")
    count = len(graph.commands)
    graph.spin(lambda: len(graph.commands) > count + 20, "more states")
    assert {torque for _, torque in graph.commands[count:]} == {ZERO}


def test_the_view_leaves_the_topic_to_another_button_and_stops_all_the_same(graph):
    graph.take_commands()
    graph.open()
    graph.spin(graph.is_commanded(TORQUE), "torque")
    graph.spin(lambda: graph.buttons() == 1, "the view's button")
    other = graph.robot.create_publisher(Bool, "emergency_stop", LATCHED)
    graph.spin(lambda: graph.buttons() == 2, "both buttons")
    graph.spin(lambda: graph.buttons() == 1, "the view to step back")
    other.publish(Bool(data=True))
    graph.spin(graph.is_commanded(ZERO), "zero")
    other.publish(Bool(data=False))
    graph.spin(lambda: not graph.steady.output.guard.pressed, "the release of the other button")
    graph.ask("enable")
    graph.spin(graph.is_commanded(TORQUE), "torque again")
    asked = graph.ask("stop")
    graph.spin(graph.is_commanded(ZERO), "zero by the service")
    assert graph.commands[-1][0] - asked < 0.5


def test_what_the_page_may_not_do_is_not_done(graph):
    graph.take_commands()
    graph.open()
    graph.spin(graph.is_commanded(TORQUE), "torque")
    for nonsense in NONSENSE:
        graph.browser.send(nonsense)
        graph.spin(lambda: graph.browser.protocol.state is State.CLOSED, "the end of a browser")
        graph.open()
    assert graph.is_commanded(TORQUE)()
    graph.ask("payload", mass=1e4, x=-100.0)
    graph.spin(lambda: "set_payload" in graph.state.get("note", ""), "that nobody offers it")
    graph.ask("stop")
    graph.spin(graph.is_commanded(ZERO), "zero: the view and its button still work")


def test_the_robot_is_the_one_that_a_node_names(domain):
    with made("steady:robot:=agv") as graph:
        graph.open()
        graph.spin(lambda: graph.state.get("robot", {}).get("name") == "agv", "the nodes' robot")
        assert graph.state["title"].startswith("agv")
