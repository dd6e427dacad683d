# SPDX-License-Identifier: Apache-2.0
"""The simulator node for Gazebo, the ident node, and a fake Gazebo on a ROS graph."""

import itertools
import time

import pytest

rclpy = pytest.importorskip("rclpy")

import fake_gz  # noqa: E402
from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from diffbot_description import load_robot  # noqa: E402
from diffbot_ident.ident_node import IdentNode  # noqa: E402
from diffbot_sim.gz import gz_simulator_node  # noqa: E402
from diffbot_sim.gz.gz_simulator_node import steps_per_period  # noqa: E402


class Graph:
    """Nodes in one executor; the fake is there from `meet` on."""

    def __init__(self, *parameters, robot="twil", **fake):
        fake_gz.start("start_gazebo:=false", f"robot:={robot}", *parameters)
        self.simulator = gz_simulator_node.GzSimulatorNode()
        self.fake = fake_gz.FakeGz(load_robot(robot), **fake)
        self.node = rclpy.create_node("driver")
        self.executor = SingleThreadedExecutor()
        for node in (self.simulator, self.fake, self.node):
            self.executor.add_node(node)
        self.nodes = [self.simulator, self.fake, self.node]
        self.states, self.poses = [], []
        self.node.create_subscription(JointState, "joint_states", self.states.append, 100)
        self.node.create_subscription(Odometry, "ground_truth", self.poses.append, 100)

    def meet(self):
        fake_gz.FakeWorld.fake = self.fake

    def add(self, node):
        self.nodes.append(node)
        self.executor.add_node(node)
        return node

    def drive(self):
        """A commander; it is found."""
        commands = self.node.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
        self.spin(lambda: commands.get_subscription_count() and self.states)
        return commands

    def spin(self, condition, timeout=30.0):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f"waited {timeout} s in vain"
            self.executor.spin_once(timeout_sec=0.01)

    def step(self, commands, *torque):
        now = self.states[-1].header.stamp
        commands.publish(Float64MultiArray(data=torque))
        self.spin(lambda: self.states[-1].header.stamp != now)
        return self.states[-1]

    def close(self):
        self.simulator.close()
        for node in self.nodes:
            node.destroy_node()
        rclpy.shutdown()


@pytest.fixture
def make(monkeypatch, domain):
    monkeypatch.setattr(gz_simulator_node, "GzWorld", fake_gz.FakeWorld)
    monkeypatch.setattr(gz_simulator_node, "SETTLING", 0.1)
    fake_gz.FakeWorld.fake = None
    made = []

    def graph(*arguments, **fake):
        made.append(Graph(*arguments, **fake))
        return made[-1]

    yield graph
    for one in made:
        one.close()


def test_identifies_within_one_percent(make):
    graph = make(
        "duration:=5.0",
        "verification:=0.0",
        "seed:=1",
        "encoder_counts:=0",
        "leave_when_alone:=true",
        "ident:use_sim_time:=true",
    )
    graph.meet()
    ident = graph.add(IdentNode())
    graph.spin(lambda: ident.exit_code is not None, timeout=100.0)
    assert ident.exit_code == 0
    truth = graph.fake.engine.parameters()
    result = ident.run.estimate.values
    for value, wanted in zip(result, (truth.k5, truth.k6, truth.k7, truth.k8), strict=True):
        assert value == pytest.approx(wanted, rel=0.01)
    assert graph.fake.lost == [0, 0]
    graph.executor.remove_node(ident)
    graph.nodes.remove(ident)
    ident.destroy_node()
    graph.spin(lambda: graph.simulator.exit_code is not None)
    assert graph.simulator.exit_code == 0


def test_one_state_per_period_with_the_torque_that_acted(make):
    graph = make("encoder_counts:=0", "start:=1,2,0")
    graph.meet()
    commands = graph.drive()
    torques = [(0.3, -0.2), (0.3, -0.2), (9.0, 0.0), (-0.1, 0.4)]
    for number, torque in enumerate(torques, start=1):
        state = graph.step(commands, *torque)
        assert state.header.stamp.sec * 10**9 + state.header.stamp.nanosec == number * 10**7
        assert list(state.name) == ["left_wheel_joint", "right_wheel_joint"]
        limited = [min(t, 5.0) for t in torque]
        assert list(state.effort) == limited == graph.fake.torque
        assert tuple(state.position) == pytest.approx(graph.fake.engine.wheel_angles(), abs=1e-12)
    graph.spin(lambda: len(graph.poses) > 4)
    first = graph.poses[0]
    assert (first.pose.pose.position.x, first.pose.pose.position.y) == (1.0, 2.0)
    assert {(p.header.frame_id, p.child_frame_id) for p in graph.poses} == {("odom", "base_link")}


def test_robot_with_friction_reports_the_torque_that_it_was_told(make):
    graph = make(robot="agv", lost=0)
    graph.meet()
    commands = graph.drive()
    state = graph.step(commands, 4.0, 4.0)
    assert list(state.effort) == [4.0, 4.0]
    # Spin inertia 0.012 kg m^2, viscous friction 0.05 and 0.08 N m s/rad, steps of 1 ms.
    assert graph.fake.torque == pytest.approx([4.0 * (1 + 5e-5 / 0.012), 4.0 * (1 + 8e-5 / 0.012)])


def test_no_state_before_torques_get_through(make):
    graph = make(lost=10**9)
    graph.meet()
    graph.spin(lambda: graph.fake.steps == 0 and graph.fake.lost[0] < 10**9 - 5)
    assert not graph.states
    graph.fake.lost = [0, 0]
    graph.spin(lambda: graph.states)


def test_torque_that_did_not_act_is_not_reported(make):
    graph = make("encoder_counts:=0", deaf=2)
    graph.meet()
    commands = graph.drive()
    assert list(graph.step(commands, 0.4, 0.4).effort) == [0.0, 0.0]
    assert list(graph.step(commands, 0.4, 0.2).effort) == [0.4, 0.2]


def test_lost_torque_is_sent_again(make):
    graph = make("encoder_counts:=0")
    graph.meet()
    commands = graph.drive()
    graph.fake.lost = [2, 0]
    state = graph.step(commands, 0.2, 0.1)
    assert list(state.effort) == [0.2, 0.1] == graph.fake.torque


def test_state_is_not_said_again_before_its_answer_is_late(make, monkeypatch):
    graph = make("encoder_counts:=0")
    said = []  # stamp, and wall time
    topics = graph.simulator._topics
    publish = topics.publish_sample

    def note(sample):
        said.append((sample.stamp, time.monotonic()))
        publish(sample)

    monkeypatch.setattr(topics, "publish_sample", note)
    graph.meet()
    commands = graph.drive()
    # The node looks around at moments that have nothing to do with when it said a state.
    for number in range(12):
        graph.step(commands, 0.1, 0.1)
        end = time.monotonic() + (2.0 + 0.1 * number) * gz_simulator_node.LOOK_PERIOD
        while time.monotonic() < end:
            graph.executor.spin_once(timeout_sec=0.001)
    waits = [b[1] - a[1] for a, b in itertools.pairwise(said) if a[0] == b[0]]
    assert len(waits) >= 12
    assert min(waits) >= gz_simulator_node.LOOK_PERIOD


def test_bridge_that_does_not_come_ends_the_node(make):
    graph = make("patience:=1.0")
    graph.spin(lambda: graph.simulator.exit_code is not None)
    assert graph.simulator.exit_code == 1


def test_world_that_stops_ends_the_node(make, monkeypatch):
    monkeypatch.setattr(gz_simulator_node, "SILENCE", 0.5)
    monkeypatch.setattr(fake_gz.FakeWorld, "step", lambda self, count: None)
    graph = make()
    graph.meet()
    commands = graph.drive()
    commands.publish(Float64MultiArray(data=[0.1, 0.1]))
    graph.spin(lambda: graph.simulator.exit_code is not None)
    assert graph.simulator.exit_code == 1


def test_period_is_a_whole_number_of_steps():
    assert steps_per_period(0.005) == 5
    with pytest.raises(ValueError, match="whole number of ms"):
        steps_per_period(0.0155)


def test_two_simulators_do_not_mix(make):
    graph = make()
    graph.node.create_publisher(JointState, "joint_states", 10)
    graph.meet()
    graph.spin(lambda: graph.simulator.exit_code is not None)
    assert graph.simulator.exit_code == 1


def test_a_second_simulator_is_refused_while_its_gazebo_still_starts(make, capfd):
    graph = make()
    graph.node.create_publisher(JointState, "joint_states", 10)
    graph.spin(lambda: graph.simulator.exit_code is not None, timeout=10.0)
    assert graph.simulator.exit_code == 1
    assert "another node publishes /joint_states" in capfd.readouterr().err
