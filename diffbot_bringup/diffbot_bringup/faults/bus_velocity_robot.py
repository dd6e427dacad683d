"""A simulated robot on a bus that takes velocity commands and tells its odometry."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from geometry_msgs.msg import TwistStamped
from nav_msgs.msg import Odometry

from diffbot_bringup.faults.bus import Bus
from diffbot_bringup.faults.bus_robot import PERIOD
from diffbot_bringup.faults.bus_time import nanoseconds
from diffbot_bringup.faults.bus_topics import BusTimer
from diffbot_bringup.faults.command_history import CommandHistory, Pair
from diffbot_ident.velocity.sigma import Sigma
from diffbot_node import to_stamp
from diffbot_sim.velocity_robot import VelocityRobot

SIGMA = (0.35, 0.25, 1.0, 1.0)  # sigma1, sigma2 in s, sigma3, sigma4
LIMITS = (0.7, 3.14)  # of v and omega, m/s and rad/s; defaults of the node's parameters


class BusVelocityRobot:
    """Publishes `odom` every control period and takes `cmd_vel`; the last command holds.

    Args:
        bus: that it is on.

    Attributes:
        held: command that holds until the next, m/s and rad/s.
        history: of the commands, as shares of LIMITS.
        limit: largest share that a node may command.
        rate: largest change of it per s; there is none.
        unit: of what is told of commands.
        driver: what is published for each odometry message.
    """

    unit = "of limit"

    def __init__(self, bus: Bus) -> None:
        self.simulator = VelocityRobot(Sigma(*SIGMA), speed_limits=LIMITS)
        self.held: Pair = (0.0, 0.0)
        self.limit, self.rate = 1.0, math.inf
        self.history = CommandHistory(LIMITS, 1.0)
        self.driver: Callable[[Odometry], Sequence[Odometry]] = lambda message: (message,)
        self._bus = bus
        self.states = bus.publisher(Odometry, "odom")
        bus.subscribe(TwistStamped, "cmd_vel", self._on_command)
        period = nanoseconds(PERIOD)
        BusTimer(bus, None, period, self._step, bus.now_ns + period)

    def close(self) -> None:
        """Nothing has to be ended."""

    def _on_command(self, message: TwistStamped) -> None:
        command = (message.twist.linear.x, message.twist.angular.z)
        self.history.add(self._bus.time, command)
        if all(map(math.isfinite, command)):
            self.held = command

    def _step(self) -> None:
        self.simulator.step(self.held, PERIOD)
        message = Odometry(child_frame_id="base_link")
        message.header.frame_id = "odom"
        message.header.stamp = to_stamp(self._bus.time)
        x, y, theta = self.simulator.pose()
        position, orientation = message.pose.pose.position, message.pose.pose.orientation
        position.x, position.y = x, y
        orientation.z, orientation.w = math.sin(0.5 * theta), math.cos(0.5 * theta)
        message.twist.twist.linear.x, message.twist.twist.angular.z = self.simulator.velocity()
        for each in self.driver(message):
            self.states.publish(each)
