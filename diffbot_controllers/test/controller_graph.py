# SPDX-License-Identifier: Apache-2.0
"""A controller's node and a simulated robot in one process, for tests of what is commanded."""

import gc
import math
import time

import rclpy
from nav_msgs.msg import Odometry
from rclpy.qos import DurabilityPolicy, QoSProfile
from rosgraph_msgs.msg import Clock
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray

from diffbot_controllers.nodes.backstep_node import BackstepNode
from diffbot_controllers.nodes.linearizing_node import LinearizingNode
from diffbot_controllers.nodes.pose_node import PoseNode
from diffbot_description import load_robot
from diffbot_msgs.msg import (
    BackstepStatus,
    ControllerState,
    LinearizingStatus,
    PoseControllerStatus,
    PoseReference,
)
from diffbot_node import to_stamp
from diffbot_node.node_process import make_executor
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot

STATUS = {
    BackstepNode: ("backstep_controller", BackstepStatus),
    PoseNode: ("pose_controller", PoseControllerStatus),
    LinearizingNode: ("linearizing_controller", LinearizingStatus),
}
LATCHED = QoSProfile(depth=10, durability=DurabilityPolicy.TRANSIENT_LOCAL)


class Graph:
    """A controller, and a simulated robot that answers it, in one process."""

    def __init__(self, kind, period=0.01, **parameters):
        # Time is the robot's: however busy the machine is, it never looks late.
        given = {"use_sim_time": "true", **parameters}
        words = [w for k, v in given.items() for w in ("-p", f"{k}:={v}")]
        rclpy.init(args=["--ros-args", *words])
        self.period = period
        self.name, status_type = STATUS[kind]
        self.peer = rclpy.create_node("peer", use_global_arguments=False)
        self.node = kind()
        self.executor = make_executor()
        self.executor.add_node(self.peer)
        self.executor.add_node(self.node)
        robot = load_robot("twil")
        self.limit = given.get("torque_limit", robot.limits.traction)
        self.robot = VirtualRobot(
            make_simulator("ideal", robot),
            Actuator(robot.limits.torque, 0, 0.0, 0),
            Encoders(0, period, 0),
            period,
        )
        self.clock = self.peer.create_publisher(Clock, "/clock", 10)
        self.states = self.peer.create_publisher(JointState, "joint_states", 10)
        self.commands, self.status, self.state, self.odom = [], [], [], []
        self._listen(Float64MultiArray, "effort_controller/commands", self.commands)
        self._listen(status_type, f"{self.name}/status", self.status)
        self._listen(Odometry, f"{self.name}/odom", self.odom)
        self._listen(ControllerState, f"{self.name}/state", self.state, LATCHED)

    @property
    def references(self):
        return self.node.references.input

    def _listen(self, kind, topic, store, qos=10):
        self.peer.create_subscription(kind, topic, store.append, qos)

    def publisher(self, kind, topic, qos=10):
        publisher = self.peer.create_publisher(kind, topic, qos)
        self.until(publisher.get_subscription_count, f"a subscriber of {topic}")
        return publisher

    def until(self, condition, what, timeout=10.0):
        end = time.monotonic() + timeout
        while not condition():
            assert time.monotonic() < end, f"waited {timeout} s in vain for {what}"
            self.executor.spin_once(timeout_sec=0.01)

    def spin(self, seconds=0.1):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.01)

    def publish_state(self, **fields):
        sample = self.robot.sample
        message = JointState(name=["left_wheel_joint", "right_wheel_joint"])
        message.header.stamp = to_stamp(fields.get("stamp", sample.stamp))
        message.position = fields.get("position", sample.position)
        message.velocity = fields.get("velocity", ())
        self.clock.publish(Clock(clock=message.header.stamp))
        self.states.publish(message)

    def answer(self, **fields):
        """Publish the robot's state, wait for the answer, and return it."""
        self.until(lambda: not self.node.waits_for(), "the graph to match")
        count = len(self.commands)
        self.publish_state(**fields)
        self.until(lambda: len(self.commands) > count, "an answer")
        return tuple(self.commands[count].data)

    def step(self, **fields):
        """Drive by the answer to the robot's state; returns the torque."""
        torque = self.answer(**fields)
        assert all(math.isfinite(t) and abs(t) <= self.limit for t in torque)
        self.robot.advance(torque)
        return torque

    def run(self, seconds):
        return [self.step() for _ in range(round(seconds / self.period))]


def controllers():
    """For a fixture: what makes a graph with a controller."""
    graphs, asked = [], 0

    def create(kind, **parameters):
        nonlocal asked
        asked += 1
        graphs.append(Graph(kind, **parameters))
        return graphs[-1]

    yield create
    for graph in graphs:
        graph.executor.shutdown()
        graph.node.destroy_node()
        graph.peer.destroy_node()
    if len(graphs) < asked:
        # A controller that refused its parameters is known to nobody here, and would publish until
        # the garbage collector comes: two publish commands then, for later tests of this process.
        gc.collect()
    rclpy.try_shutdown()


def moving(time, **fields):
    """A reference that drives straight at 0.3 m/s."""
    reference = PoseReference(**{"x": 0.3 * time, "v": 0.3, **fields})
    reference.header.stamp = to_stamp(time)
    return reference
