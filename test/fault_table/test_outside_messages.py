# SPDX-License-Identifier: Apache-2.0
"""Nodes of one process, and messages of another process on their topics."""

import contextlib
import time

import pytest

rclpy = pytest.importorskip("rclpy")

from one_process import Together  # noqa: E402
from rclpy.context import Context  # noqa: E402
from sensor_msgs.msg import JointState  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from diffbot_controllers.nodes.backstep_node import BackstepNode  # noqa: E402
from diffbot_node.intra_process import Node  # noqa: E402
from diffbot_node.topic_nodes import full_name  # noqa: E402
from diffbot_sim import paced_simulator  # noqa: E402
from diffbot_sim.simulator_node import SimulatorNode  # noqa: E402

OWN, FOREIGN = (0.1, 0.1), (0.5, 0.5)  # N m
COMMANDS = "effort_controller/commands"


@contextlib.contextmanager
def outside(kind, topic):
    """A publisher in a context of its own, as in another process."""
    context = Context()
    rclpy.init(context=context)
    node = rclpy.create_node("outside", context=context, use_global_arguments=False)
    try:
        yield node.create_publisher(kind, topic, 10)
    finally:
        node.destroy_node()
        context.try_shutdown()


@pytest.fixture
def together(domain):
    made = []

    def make(*words):
        made.append(Together(["--ros-args", "-p", "engine:=ideal", *words]))
        return made[-1]

    yield make
    for each in made:
        each.close()


def names_of_publishers(node):
    return {full_name(each) for each in node.get_publishers_info_by_topic("/joint_states")}


class Commander(Node):
    """Answers each state with OWN."""

    def __init__(self):
        super().__init__("commander")
        self.efforts = []
        self.commands = self.create_publisher(Float64MultiArray, COMMANDS, 10)
        self.create_subscription(JointState, "joint_states", self.on_state, 10)

    def on_state(self, message):
        self.efforts.append(tuple(message.effort))
        self.commands.publish(Float64MultiArray(data=list(OWN)))


@pytest.mark.parametrize("first", ["the commander", "the simulator"])
def test_the_robot_obeys_no_commander_outside(together, first):
    nodes = together("-p", "simulator:speed:=1.0")
    kinds = [Commander, SimulatorNode] if first == "the commander" else [SimulatorNode, Commander]
    made = [nodes.add(kind()) for kind in kinds]
    commander, simulator = made if first == "the commander" else made[::-1]
    # Otherwise it stops both of them when it sees the second one.
    simulator._commanders.conflict = lambda: None
    nodes.spin(lambda: OWN in commander.efforts)
    with outside(Float64MultiArray, COMMANDS) as foreign:
        nodes.spin(lambda: foreign.get_subscription_count())
        count = len(commander.efforts)

        def drive():
            foreign.publish(Float64MultiArray(data=list(FOREIGN)))
            return len(commander.efforts) > count + 50

        nodes.spin(drive)
    assert set(commander.efforts[count:]) == {OWN}


def test_a_state_from_outside_ends_the_run(together, monkeypatch):
    # Otherwise the simulator ends the run first.
    monkeypatch.setattr(paced_simulator, "second_publisher", lambda *_: None)
    nodes = together("-p", "simulator:speed:=1.0", "-p", "backstep_controller:use_sim_time:=true")
    controller, simulator = nodes.add(BackstepNode()), nodes.add(SimulatorNode())
    names = list(simulator.robot.joints.names)
    nodes.spin(lambda: controller.output.guard.began)
    with outside(JointState, "joint_states") as foreign:
        nodes.spin(lambda: foreign.get_subscription_count())
        nodes.spin(lambda: "/outside" in names_of_publishers(controller))
        state = JointState(name=names, position=[0.0, 0.0], velocity=[0.0, 0.0], effort=[0.0, 0.0])
        foreign.publish(state)
        begin = time.monotonic()
        nodes.spin(lambda: controller.exit_code is not None)
    assert controller.exit_code == 1 and time.monotonic() - begin < 1.0
    assert "another process sends them, too" in controller.last_words
    assert "/outside" in controller.last_words


def test_the_robot_of_this_process_is_one_source_however_its_wheels_jump(together):
    """A law that loses its robot makes it spin and slip: no second source is to be blamed."""
    nodes = together("-p", "backstep_controller:use_sim_time:=true")
    controller, _ = nodes.add(BackstepNode()), nodes.add(SimulatorNode())
    nodes.spin(lambda: controller.output.guard.began)
    (origin,) = controller.room.origins("/joint_states")
    for k in range(100):
        angles = 0.5 * (k % 2), -0.5 * (k % 2)
        finding = controller.states.take(100.0 + 0.01 * k, angles, time.monotonic(), origin)
        assert finding is None
    assert controller.states.knows_senders
