# SPDX-License-Identifier: Apache-2.0
"""A node that always asks for the same torque, and a robot for it, in one process."""

import time
from contextlib import contextmanager

import rclpy
from rclpy.executors import SingleThreadedExecutor
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from diffbot_node import EffortNode, EffortParameters
from diffbot_node.verdicts import Level, judged

TORQUE = (0.3, -0.2)
NOTICED = 0.4  # s of wall time without a state, which the node soon takes for silence
# A busy machine must not look like a robot that fell silent, and this robot never moves.
QUIET = ("input_timeout:=0.5", "wheel_watch:=false")


class SteadyNode(EffortNode):
    """Asks for the same torque for ever, or for what a test puts into `wanted`.

    A sample waits for what a test puts into `missing`, and the start for `lacking`.
    """

    def __init__(self):
        super().__init__("steady", EffortParameters)
        self.wanted = TORQUE
        self.missing = self.lacking = ""
        self.silences = 0

    def on_sample(self, sample):
        return self.wanted

    def awaits(self, sample):
        return judged(Level.WAIT, self.missing)

    def needs(self):
        return judged(Level.WAIT, self.lacking)

    def on_silence(self):
        super().on_silence()
        self.silences += 1


class Graph:
    """The node under test, and a robot that publishes joint states and keeps the commands."""

    def __init__(self):
        self.context = rclpy.get_default_context()
        self.robot = rclpy.create_node("robot")
        self.node = SteadyNode()
        self.executor = SingleThreadedExecutor()
        self.executor.add_node(self.robot)
        self.executor.add_node(self.node)
        self.states = self.robot.create_publisher(JointState, "joint_states", 10)
        self.commands = []
        self.robot.create_subscription(
            Float64MultiArray,
            "effort_controller/commands",
            lambda message: self.commands.append(tuple(message.data)),
            10,
        )
        self.stamp, self.said = 100.0, time.monotonic()
        self.spin_until(lambda: not self.node.waits_for(), "the graph to match")

    def spin_until(self, condition, what, timeout=10.0):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f"waited {timeout} s in vain for {what}"
            self.executor.spin_once(timeout_sec=0.01)

    def say(self, **fields):
        """Publish the next joint state and return the command that answers it."""
        self.go_on()
        return self.ask(**fields)

    def go_on(self):
        """Let the robot's time go on, as it does while it is silent, and on a busy machine."""
        now = time.monotonic()
        self.stamp += max(0.01, now - self.said)
        self.said = now

    def ask(self, **fields):
        """Publish a joint state with the present stamp and return the command that answers it."""
        count = len(self.commands)
        self.publish(**fields)
        self.spin_until(lambda: len(self.commands) > count, "an answer")
        return self.commands[-1]

    def repeat(self, times):
        """Publish the newest joint state again."""
        for _ in range(times):
            self.publish()

    def publish(self, **fields):
        """Publish a joint state with the present stamp."""
        state = {"position": [0.0, 0.0], "velocity": [0.0, 0.0], "effort": [0.0, 0.0], **fields}
        names = state.pop("name", ["left_wheel_joint", "right_wheel_joint"])
        message = JointState(name=names, **state)
        message.header.stamp.sec = int(self.stamp)
        message.header.stamp.nanosec = round((self.stamp - int(self.stamp)) * 1e9)
        self.states.publish(message)


@contextmanager
def made_graphs():
    """What makes graphs with parameters and remappings.

    `before` is called with a node of its own, made before.
    """
    graphs, nodes = [], []

    def make(*parameters, remaps=(), before=lambda node: None):
        words = [word for text in (*QUIET, *parameters) for word in ("-p", text)]
        words += [word for remap in remaps for word in ("-r", remap)]
        rclpy.init(args=["--ros-args", *words])
        nodes.append(rclpy.create_node("early"))
        before(nodes[-1])
        graphs.append(Graph())
        return graphs[-1]

    try:
        yield make
    finally:
        # The garbage collector comes later to graphs, which are circles. What they publish must end
        # now, as later tests of this process are in the same domain.
        for graph in graphs:
            nodes += [graph.node, graph.robot]
        for node in nodes:
            node.destroy_node()
        rclpy.try_shutdown()


def drive(graph):
    """Let the robot be driven by the torque that the node asks for."""
    assert undisturbed(graph.say, 3) == TORQUE


def undisturbed(say, count):
    """The answer to the last of so many states; again where the machine stood still meanwhile."""
    for _ in range(10):
        longest = 0.0
        for _ in range(count):
            begun = time.monotonic()
            answer = say()
            longest = max(longest, time.monotonic() - begun)
        if longest < NOTICED:
            break
    return answer
