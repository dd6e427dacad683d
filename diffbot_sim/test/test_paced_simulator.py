# SPDX-License-Identifier: Apache-2.0
"""Time of a simulated robot: in lock-step within a process, by the wall clock alone in one."""

import time
from functools import partial

import pytest

rclpy = pytest.importorskip("rclpy")

from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402
from std_srvs.srv import SetBool  # noqa: E402

from diffbot_node import Node, launch_supervision, seconds  # noqa: E402
from diffbot_node.intra_process import IntraProcess  # noqa: E402
from diffbot_node.node_process import make_executor  # noqa: E402
from diffbot_sim import paced_simulator  # noqa: E402
from diffbot_sim.paced_simulator import LOOK_PERIOD, Pacer  # noqa: E402
from diffbot_sim.simulator_node import SimulatorNode  # noqa: E402

PATIENCE = 15.0


class Process:
    """A simulator, a commanding node beside it if they are composed, and a node outside."""

    def __init__(self, composed, **parameters):
        given = {"engine": "ideal", "leave_when_alone": "false", **parameters}
        words = [word for key, value in given.items() for word in ("-p", f"{key}:={value}")]
        rclpy.init(args=["--ros-args", *words])
        self.room = Node.room = IntraProcess() if composed else None
        self.simulator, self.answers, self.stamps = SimulatorNode(), True, []
        self.executor = make_executor()
        self.executor.add_node(self.simulator)
        self.context = Context()
        rclpy.init(context=self.context)
        self.outside = rclpy.create_node("outside", context=self.context)
        self.their_executor = SingleThreadedExecutor(context=self.context)
        self.their_executor.add_node(self.outside)
        self.commander = Node("commander") if composed else self.outside
        self.commands = self.commander.create_publisher(
            Float64MultiArray, "effort_controller/commands", 10
        )
        self.commander.create_subscription(JointState, "joint_states", self.take, 10)
        if composed:
            self.executor.add_node(self.commander)

    def take(self, message):
        self.stamps.append(round(seconds(message.header.stamp), 6))
        if self.answers:
            self.commands.publish(Float64MultiArray(data=[0.1, 0.1]))

    def until(self, condition):
        end = time.monotonic() + PATIENCE
        while not (result := condition()):
            assert time.monotonic() < end, f"waited {PATIENCE} s in vain"
            if self.room is not None:
                self.room.deliver(0.01)
            self.executor.spin_once(timeout_sec=0.001)
            self.their_executor.spin_once(timeout_sec=0.001)
        return result

    def spin(self, duration):
        end = time.monotonic() + duration
        self.until(lambda: time.monotonic() >= end)

    def pause(self, on):
        client = self.outside.create_client(SetBool, "simulator/set_paused")
        self.until(client.service_is_ready)
        begun = time.monotonic()
        answer = client.call_async(SetBool.Request(data=on))
        self.until(answer.done)
        assert answer.result().success
        return time.monotonic() - begun

    def close(self):
        self.executor.shutdown()
        self.their_executor.shutdown()
        for node in {self.simulator, self.commander, self.outside}:
            node.destroy_node()
        rclpy.shutdown(context=self.context)
        rclpy.try_shutdown()
        Node.room = None


@pytest.fixture
def make(domain):
    made = []

    def create(composed=True, **parameters):
        made.append(Process(composed, **parameters))
        return made[-1]

    yield create
    for process in made:
        process.close()


def test_in_lock_step_each_command_gives_one_state(make):
    process = make()
    process.until(lambda: len(process.stamps) > 200)
    first = process.stamps.count(0.0)  # repeated until the commander was there
    assert process.stamps[first:] == [
        pytest.approx(0.01 * k) for k in range(1, len(process.stamps) - first + 1)
    ]


def test_in_lock_step_an_unanswered_state_is_repeated_and_time_stands_still(make):
    process = make()
    process.until(lambda: len(process.stamps) > 20)
    process.answers = False
    process.spin(4.0 * LOOK_PERIOD)
    *_, before, last = process.stamps
    assert before == last == round(process.simulator.stamp, 6)
    process.commands.publish(Float64MultiArray(data=[0.1, 0.1]))
    process.until(lambda: process.stamps[-1] > last)
    process.spin(2.0 * LOOK_PERIOD)
    assert process.stamps[-1] == pytest.approx(last + 0.01)  # one command, one period


@pytest.mark.wall_time
def test_set_paused_from_outside_acts_at_once_at_full_speed(make):
    process = make()
    process.until(lambda: process.stamps and process.stamps[-1] > 1.0)
    assert process.pause(True) < 0.1
    stood = process.simulator.stamp
    process.spin(0.2)
    assert process.simulator.stamp == stood
    process.pause(False)
    process.until(lambda: process.simulator.stamp > stood + 1.0)


class Clock:
    """A clock that each look moves on, so that no other program's work counts."""

    now = 100.0

    def __call__(self):
        self.now += 0.0005
        return self.now


def test_in_lock_step_speed_is_robot_time_over_wall_time(make, monkeypatch):
    clock = Clock()
    monkeypatch.setattr(paced_simulator, "Pacer", partial(Pacer, clock=clock))
    process = make(speed=4.0)
    process.until(lambda: process.simulator.stamp > 0.05)
    begun, start = clock.now, process.simulator.stamp
    process.until(lambda: process.simulator.stamp > start + 0.6)
    driven = process.simulator.stamp - start
    assert driven / (clock.now - begun) == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize(("speed", "pace"), [(4.0, 4.0), (0.0, 1.0)])
def test_alone_in_a_process_a_period_takes_its_time_over_the_speed_and_0_is_1(make, speed, pace):
    process = make(composed=False, speed=speed)
    periods = {timer.timer_period_ns for timer in process.simulator.timers}
    assert round(1e9 * 0.01 / pace) in periods


def test_alone_in_a_process_time_goes_on_without_a_command(make):
    process = make(composed=False)
    process.answers = False
    process.until(lambda: process.simulator.stamp > 0.2)
    assert process.simulator.exit_code is None


@pytest.mark.parametrize("composed", [True, False])
def test_a_second_publisher_of_its_states_ends_it(make, composed, monkeypatch):
    monkeypatch.setattr(launch_supervision, "_words", [])
    process = make(composed)
    process.until(lambda: process.simulator.stamp > 0.05)
    process.outside.create_publisher(JointState, "joint_states", 10)
    assert process.until(lambda: process.simulator.exit_code) == 1
    assert "another node publishes /joint_states" in launch_supervision.last_words()
