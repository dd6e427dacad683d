# SPDX-License-Identifier: Apache-2.0
"""The in-process graph: real nodes, the robot's time, and messages as DDS would deliver them."""

import io
import math
import re
from dataclasses import dataclass

import pytest

rclpy = pytest.importorskip("rclpy")

from rclpy.node import Node  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy  # noqa: E402
from rich.console import Console  # noqa: E402
from std_msgs.msg import Bool, Float64MultiArray  # noqa: E402

from diffbot_controllers.nodes.backstep_node import BackstepNode  # noqa: E402
from diffbot_node import declare, parameter  # noqa: E402
from diffbot_report.progress import Progress  # noqa: E402
from diffbot_sim.faults.fault import Fault  # noqa: E402
from diffbot_sim.faults.injector import FaultInjector  # noqa: E402
from faults.bus import Bus  # noqa: E402
from faults.bus_topics import BusTimer  # noqa: E402
from faults.robots import (  # noqa: E402
    BusRobot,
    CommandHistory,
)
from pose2d_trajectories.pose_message import Pose2D  # noqa: E402

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


@pytest.fixture
def bus():
    with Bus() as opened:
        yield opened


@dataclass(frozen=True)
class GainParameters:
    gain: float = parameter(1.0, "factor", above=0.0)


class Echo(Node):
    """Says what it hears, and counts its timer."""

    def __init__(self):
        super().__init__("echo")
        self.exit_code = None
        self.closed = False
        self.ticks = []
        self.values = declare(self, GainParameters)
        self.out = self.create_publisher(Float64MultiArray, "out", 10)
        self.create_subscription(Float64MultiArray, "in", self.on_message, 10)
        self.create_timer(0.1, lambda: self.ticks.append(self.get_clock().now().nanoseconds))

    def on_message(self, message):
        if not message.data:
            raise RuntimeError("nothing came")
        self.out.publish(Float64MultiArray(data=[self.values.gain * x for x in message.data]))

    def close(self):
        self.closed = True


def test_messages_parameters_remaps_and_namespaces_are_those_of_ros(bus):
    heard = []
    bus.subscribe(Float64MultiArray, "robot/other", heard.append)
    echo = bus.add(Echo, remap={"out": "other"}, namespace="/robot", gain=2.0)
    assert echo.name == "/robot/echo"
    sent = Float64MultiArray(data=[1.0, math.nan])
    bus.publish("/robot/in", sent)
    sent.data[0] = 5.0
    assert heard[0].data[0] == 2.0 and math.isnan(heard[0].data[1])
    assert echo.node.count_publishers("in") == 1


def test_time_is_the_robots(bus):
    echo = bus.add(Echo, phase=0.03)
    bus.advance(bus.time + 0.25)
    assert echo.node.ticks == [10_030_000_000, 10_130_000_000, 10_230_000_000]


def test_who_waits_at_the_terminal_is_told_of_the_true_time(bus):
    bus.add(Echo)
    with Progress("faults", 2.0, Console(file=io.StringIO())) as progress:
        bus.advance(bus.time + 3600.0)
        progress.advance()
        # Seconds of a busy machine, and not the hour of the bus.
        assert re.match(r"50 %, \d{1,2} s\b", progress.times()), progress.times()


def test_a_timer_that_is_reset_fires_a_period_later(bus):
    ticks = []
    timer = BusTimer(bus, None, 100_000_000, lambda: ticks.append(bus.time), bus.now_ns)
    bus.advance(10.05)
    timer.reset()
    bus.advance(10.3)
    assert ticks == pytest.approx([10.0, 10.15, 10.25])
    timer.cancel()
    bus.advance(11.0)
    assert len(ticks) == 3


def test_what_a_node_refuses_and_an_exception_end_it_as_in_a_process(bus):
    refused = bus.add(Echo, gain=-1.0)
    assert refused.status == 1 and refused.node is None and refused.said("'gain' = -1.0")
    echo = bus.add(Echo)
    node = echo.node
    bus.publish("in", Float64MultiArray(data=[1.0]))
    assert echo.status is None
    bus.publish("in", Float64MultiArray())
    assert echo.status == 1 and node.closed and echo.said("RuntimeError: nothing came")
    assert not bus.publishers("/out")


def test_latched_and_best_effort_publishers_reach_whom_they_reach_in_dds(bus):
    latched, volatile, reliable = [], [], []
    bus.publish("button", Bool(data=True), LATCHED)
    bus.subscribe(Bool, "button", latched.append, LATCHED)
    bus.subscribe(Bool, "button", volatile.append)
    bus.settle()
    assert (len(latched), len(volatile)) == (1, 0)
    bus.publish("button", Bool(data=False), LATCHED)
    assert (len(latched), len(volatile)) == (2, 1)
    best = QoSProfile(depth=1, reliability=ReliabilityPolicy.BEST_EFFORT)
    bus.subscribe(Bool, "sensor", reliable.append)
    publisher = bus.publisher(Bool, "sensor", best)
    publisher.publish(Bool(data=True))
    bus.settle()
    assert not reliable and publisher.get_subscription_count() == 0


def test_an_injector_stands_between_publisher_and_subscriber(bus):
    heard = []
    bus.subscribe(Bool, "topic", lambda message: heard.append(bus.time))
    bus.inject("topic", FaultInjector([Fault("topic", "delayed", delay=0.05)]))
    bus.publish("topic", Bool())
    assert not heard
    bus.advance(bus.time + 0.1)
    assert heard == pytest.approx([10.05], abs=0.0011)


def test_a_real_controller_parks_a_robot_and_repeats_to_the_last_digit():
    def park(until):
        with Bus() as bus:
            robot = BusRobot(bus, "ideal")
            bus.add(BackstepNode)
            bus.publish("backstep_controller/command", Pose2D(x=0.4, y=0.1))
            bus.advance(until)
            return robot.simulator.pose(), list(robot.history.entries)

    pose, commands = park(12.5)
    assert pose == pytest.approx((0.4, 0.1, 0.0), abs=0.01)
    assert len(commands) > 200
    again = park(10.5)[1]
    assert again and again == commands[: len(again)]


def test_two_buses_at_once_are_refused(bus):
    with pytest.raises(RuntimeError, match="another bus"), Bus():
        pass


def test_the_history_finds_zero_that_stays_and_what_is_not_finite():
    history = CommandHistory((2.0, 2.0), 2.0)
    for time, values in ((1.0, (1.0, -1.5)), (1.1, (0.0, 0.0)), (1.2, (0.5, 0.0))):
        history.add(time, values)
    assert history.zero_after(1.05, 1.15) == pytest.approx(0.05)
    assert history.zero_after(1.05, 1.25) is None
    assert history.worst() == history.worst(1.05) == 1.5 and history.worst(1.15) == 0.5
    history.add(1.3, (0.0,))
    assert math.isnan(history.worst())
    assert history.kept(1.4) == (0.5, 0.0)
