"""The simulator node for Gazebo (Ionic or newer), driven in lock-step through ros_gz_bridge.

The suite's side is that of the other simulators: publishes `joint_states` and `clock` once per
control period, `ground_truth` and `ground_truth/dynamic_parameters` (latched); subscribes to
`effort_controller/commands` ([left, right], N m). Gazebo's side is config/gz_bridge.yaml and the
service that controls the world. The node starts Gazebo, the bridge and the robot's spawning as its
companions, and ends them with itself.

Gazebo's world stands still between two control periods. A command is sent to Gazebo, again and
again until it was seen there; only then is the world stepped by one period; the state at its end is
published with the torque that acted, and awaits the next command. Nothing so depends on how long a
message takes. ros_gz_bridge answers within one to two ms, and a run is faster than real time.
"""

from __future__ import annotations

import time

from rclpy.clock import Clock, ClockType
from rclpy.node import Node

from arc_odometry import JointSample
from diffbot_description import load_robot
from diffbot_node import declare, pose_from_text
from diffbot_node.answers import answers
from diffbot_sim.command_topic import COMMANDS, CommandTopic
from diffbot_sim.command_watch import CommandWatch
from diffbot_sim.engines import make_simulator
from diffbot_sim.gz.parameters import PARAMETERS, steps_per_period
from diffbot_sim.gz.program import GzProgram
from diffbot_sim.gz.topics import GzTopics
from diffbot_sim.gz.world import GzWorld
from diffbot_sim.not_offered import refuse_not_offered
from diffbot_sim.pacing import Pacer
from diffbot_sim.simulator_parameters import make_actuator, make_encoders
from diffbot_sim.simulator_topics import SimulatorTopics
from diffbot_sim.stepped_robot import SteppedRobot, WheelReading

# How often the node looks around, s of wall time.
LOOK_PERIOD = 0.05
# A torque that was not seen in Gazebo is sent again after this, s of wall time.
REPEAT_PERIOD = 0.05
# Wall time between the first torque seen and the first period, s: the others meet, too.
SETTLING = 0.5
# Gazebo's silence ends the run after this, s of wall time.
SILENCE = 10.0


class GzSimulatorNode(Node):
    """ROS side of the simulation; which torque acts when is SteppedRobot's."""

    def __init__(self) -> None:
        super().__init__("simulator")
        self.exit_code: int | None = None
        self.values = declare(self, PARAMETERS)
        refuse_not_offered(self.values)
        if self.values.start_gazebo:
            GzProgram.check()
        self.robot = load_robot(self.values.robot)
        self._start = pose_from_text("start", self.values.start)
        self._steps = steps_per_period(self.values.period)
        self._stepped = self._make_robot()
        self._sample: JointSample | None = None
        self._ignored = 0
        self._sending = False
        self._sent = self._progress = time.monotonic()
        self._answered = False
        self._first_seen: float | None = None
        self._pacer = Pacer(self.values.speed)
        self._topics = SimulatorTopics(self, self.robot)
        truth = make_simulator("ideal", self.robot).parameters()
        self._topics.publish_parameters(0.0, truth)
        self._gz = GzTopics(
            self, self.robot, self._on_reading, self._on_seen, self._topics.publish_motion
        )
        self._world = GzWorld(self, self._fail)
        self._commands = CommandTopic(self, self.robot, self._on_command)
        self._watch = CommandWatch(self, COMMANDS, self.values.patience)
        self._program = GzProgram(self.robot, self._start, self.values.gui)
        if self.values.start_gazebo:
            self._program.start()
            self.get_logger().info(f"Gazebo starts; GZ_PARTITION={self._program.partition}")
        steady = Clock(clock_type=ClockType.STEADY_TIME)
        self.create_timer(LOOK_PERIOD, self._look_around, clock=steady)

    def _make_robot(self) -> SteppedRobot:
        return SteppedRobot(
            make_actuator(self.robot, self.values),
            make_encoders(self.robot, self.values),
            self.values.period,
            grips=not any(self.robot.friction.coulomb),
        )

    # A control period: command, torque seen, step, state.

    def _on_command(
        self, command: tuple[float, float], named: float | None, _sender: object
    ) -> None:
        if self._sample is None or self._sending or self._stepped.is_moving:
            return  # no state awaits an answer
        if not answers(named, self._sample.stamp):
            return
        if not self._answered:
            self._answered = True
            self._pacer.restart(self._sample.stamp)
        self._stepped.command(command)
        self._sending = True
        self._progress = time.monotonic()
        self._send()
        self._on_seen()

    def _send(self) -> None:
        self._sent = time.monotonic()
        self._gz.send(self._stepped.acting)

    def _on_seen(self) -> None:
        if not self._gz.has_seen(self._stepped.acting):
            return
        if self._first_seen is None:
            self._first_seen = time.monotonic()
        if self._sending:
            self._sending = False
            self._stepped.step()
            self._world.step(self._steps)

    def _on_reading(self, reading: WheelReading) -> None:
        if self._sample is None:
            self._begin(reading)
            return
        sample = self._stepped.read(reading)
        if sample is None:
            return
        self._progress = time.monotonic()
        self._sample = sample
        if self._stepped.ignored > self._ignored:
            self._ignored = self._stepped.ignored
            self.get_logger().warning("Gazebo did not hear the torque yet; it is reported as 0")
        if (delay := self._pacer.delay(sample.stamp)) > 0.0:
            time.sleep(delay)
        self._topics.publish_sample(sample)

    def _begin(self, reading: WheelReading) -> None:
        self._program.is_spawned = True
        ready = self._first_seen is not None and self._world.is_ready()
        if not ready or time.monotonic() - self._first_seen < SETTLING:
            return
        self._sample = self._stepped.begin(reading)
        self.get_logger().info("Gazebo is ready")
        self._publish_first_state()

    def _publish_first_state(self) -> None:
        # Gazebo says no pose before it has moved.
        self._topics.publish_motion(self._sample.stamp, self._start, (0.0, 0.0))
        self._topics.publish_sample(self._sample)

    # The others.

    def _look_around(self) -> None:
        if self.exit_code is not None:
            return
        now = time.monotonic()
        if (said := self._program.fault()) is not None:
            self._fail(said)
            return
        if self._sample is None:
            self._send()  # zero; how the torques' way is known to be open
            self._watch.keep_waiting()
            if self.values.leave_when_alone:
                self.exit_code = self._watch.end()
            if now - self._progress > self.values.patience:
                self._fail(f"after {self.values.patience:g} s of wall time {self._missing()}")
            return
        if self.values.leave_when_alone:
            self.exit_code = self._watch.end()
        if rival := self._topics.rival():
            self._fail(rival)
        if not self._sending and not self._stepped.is_moving:
            # Said again until it is answered; the stamp stays the same.
            self._topics.publish_sample(self._sample)
            if not self._answered:
                self._topics.publish_motion(self._sample.stamp, self._start, (0.0, 0.0))
        elif self._sending and now - self._sent > REPEAT_PERIOD:
            self._send()
        if (self._sending or self._stepped.is_moving) and now - self._progress > SILENCE:
            what = "the torque was not seen" if self._sending else "the world did not step"
            self._fail(f"Gazebo is silent for {SILENCE:g} s of wall time: {what}")

    def _missing(self) -> str:
        if not self._world.is_ready():
            return "the bridge does not offer the control of Gazebo's world"
        if self._first_seen is None:
            return "torques do not get through the bridge to Gazebo"
        return (
            f"Gazebo does not tell of the joints of robot '{self.robot.name}': look at what was "
            "printed above, and whether ros_gz is built for the release that `gz sim` starts"
        )

    def _fail(self, why: str) -> None:
        if self.exit_code is None:
            self.get_logger().error(why)
            self.exit_code = 1

    def close(self) -> None:
        """No torque any more; end Gazebo, the bridge and what else was started."""
        self._gz.send((0.0, 0.0))
        self._program.stop()
