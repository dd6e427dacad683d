"""The simulator node where ros2_control drives the robot inside the simulator.

The simulator itself obeys `effort_controller/commands` and publishes `joint_states`. This node
starts it and all that it needs as its companions, and ends them with itself; it publishes what the
other simulators publish besides: `clock` at the control rate, `ground_truth` and
`ground_truth/dynamic_parameters` (latched).

The simulator runs on by itself, as a robot does, and what it says of the torque is not to be
trusted (gz_ros2_control says nothing): identify with `effort_source: commands`.
"""

from __future__ import annotations

from nav_msgs.msg import Odometry
from rclpy.clock import Clock, ClockType
from rclpy.node import Node
from rosgraph_msgs.msg import Clock as ClockMessage

from diffbot_description import load_robot
from diffbot_node import Parameter, declare, pose_from_text, seconds
from diffbot_sim.companions import NOT_OFFERED, refuse_not_offered
from diffbot_sim.engines import make_simulator
from diffbot_sim.gz.gz_simulator_node import GzPose, yaw
from diffbot_sim.gz.program import STEP
from diffbot_sim.paced_simulator import CommandWatch
from diffbot_sim.ros2_control.program import HARDWARE, Ros2ControlProgram
from diffbot_sim.simulator_topics import COMMANDS, TruthTopics
from diffbot_sim.virtual_robot import (
    LEAVE_WHEN_ALONE,
    ROBOT,
    START,
)

PARAMETERS = (
    ROBOT,
    Parameter("sim", "gz_ros2_control", "simulator to start", choices=tuple(HARDWARE)),
    Parameter("speed", 1.0, "simulated time per wall time", above=0.0, maximum=10.0),
    START,
    Parameter("gui", False, "open the simulator's window"),
    *NOT_OFFERED,
    Parameter("start_simulator", True, "start the simulator; false: it runs already"),
    LEAVE_WHEN_ALONE,
    Parameter(
        "patience",
        60.0,
        "wall time for each thing that has to start, and with leave_when_alone to wait for the "
        "first commands, s; then status 1",
        above=0.0,
    ),
)

# How often the node looks around, s of wall time.
LOOK_PERIOD = 0.05
# Time between two messages on `clock`, s of simulated time; each costs every node some time.
CLOCK_PERIOD = 0.01


class Ros2ControlSimulatorNode(Node):
    """Starts, watches and ends the simulator, and passes on its time and the true pose."""

    def __init__(self) -> None:
        super().__init__("simulator")
        self.exit_code: int | None = None
        self.values = values = declare(self, PARAMETERS)
        refuse_not_offered(values)
        self.robot = load_robot(values.robot)
        start = pose_from_text("start", values.start)
        self._program = Ros2ControlProgram(
            values.sim, self.robot, start, values.speed, values.gui, values.patience
        )
        if values.start_simulator:
            self._program.check()
        self._said_ready = False
        self._time = float("-inf")
        self._clock = self.create_publisher(ClockMessage, "clock", 10)
        self._pose = GzPose(STEP)
        self._truth = TruthTopics(self)
        self._truth.publish_parameters(0.0, make_simulator("ideal", self.robot).parameters())
        self.create_subscription(ClockMessage, "gazebo/clock", self._on_clock, 10)
        self.create_subscription(Odometry, "gazebo/odometry", self._on_pose, 10)
        self._watch = CommandWatch(self, COMMANDS, values.patience)
        if values.start_simulator:
            self._program.start()
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._look_around, clock=steady)

    def _on_clock(self, message: ClockMessage) -> None:
        now = seconds(message.clock)
        # Half a physics step of tolerance: stamps are rounded.
        if now < self._time or now - self._time > CLOCK_PERIOD - 5e-4:
            self._time = now
            self._clock.publish(message)

    def _on_pose(self, message: Odometry) -> None:
        # Simulators differ in the frame of their velocities; differences of poses do not.
        stamp, pose = seconds(message.header.stamp), message.pose.pose
        theta = yaw(pose.orientation.z, pose.orientation.w)
        self._truth.publish_motion(
            stamp, *self._pose.update(stamp, pose.position.x, pose.position.y, theta)
        )

    def _look_around(self) -> None:
        if self.exit_code is not None:
            return
        if self.values.start_simulator:
            if (said := self._program.fault()) is not None:
                self.get_logger().error(said)
                self.exit_code = 1
                return
            if not self._program.is_ready:
                self._watch.keep_waiting()
                return
        if not self._said_ready:
            self._said_ready = True
            self.get_logger().info("the robot can be driven")
        if self.values.leave_when_alone:
            self.exit_code = self._watch.end()

    def close(self) -> None:
        """End the simulator and what else was started."""
        self._program.stop()
