"""References that keep a robot's wheels under torque all the time."""

from __future__ import annotations

import math

from geometry_msgs.msg import TwistStamped

from arc_odometry import Arc, Pose
from diffbot_bringup.faults.bus import Bus
from diffbot_bringup.faults.bus_robot import PERIOD
from diffbot_bringup.faults.bus_time import nanoseconds
from diffbot_bringup.faults.bus_topics import BusTimer
from diffbot_controllers.motion import Velocity
from diffbot_msgs.msg import PoseReference
from diffbot_node import to_stamp

# v = SPEED sin(2 pi t / SPEED_PERIOD), omega = TURN sin(2 pi t / TURN_PERIOD): m/s, rad/s, s.
SPEED, SPEED_PERIOD = 0.25, 2.0
TURN, TURN_PERIOD = 0.8, 1.4


class ReferenceSource:
    """Publishes a swinging motion once a control period, in the middle between two states.

    Args:
        bus: that it is on.
        topic: of the references.
        kind: PoseReference or TwistStamped.
        speed: factor on the motion.

    Attributes:
        pose: where the robot should be, m, m, rad.
        velocity: that it should have, m/s and rad/s.
        publisher: of the references.
    """

    def __init__(self, bus: Bus, topic: str, kind: type, speed: float = 1.0) -> None:
        self._bus, self._kind, self.speed = bus, kind, speed
        self.pose = Pose(0.0, 0.0, 0.0)
        self.velocity = Velocity(0.0, 0.0)
        self.publisher = bus.publisher(kind, topic)
        self._start = bus.time
        period = nanoseconds(PERIOD)
        self._timer = BusTimer(bus, None, period, self._send, bus.now_ns + period // 2)

    def stop(self) -> None:
        """Publish no more; the publisher stays."""
        self._timer.cancel()

    def _send(self) -> None:
        t, first = self._bus.time - self._start, self.velocity
        p, q = math.tau / SPEED_PERIOD, math.tau / TURN_PERIOD
        v, omega = SPEED * self.speed, TURN * self.speed
        self.velocity = Velocity(v * math.sin(p * t), omega * math.sin(q * t))
        path = 0.5 * (first.v + self.velocity.v) * PERIOD
        turn = 0.5 * (first.omega + self.velocity.omega) * PERIOD
        self.pose = Arc(path, turn).end(self.pose)
        message = self._kind()
        message.header.stamp = to_stamp(self._bus.time)
        if isinstance(message, TwistStamped):
            message.twist.linear.x, message.twist.angular.z = self.velocity
        else:
            self._fill(message, v * p * math.cos(p * t), omega * q * math.cos(q * t))
        self.publisher.publish(message)

    def _fill(self, message: PoseReference, dv: float, domega: float) -> None:
        message.header.frame_id = "odom"
        message.x, message.y, message.theta = self.pose
        message.v, message.omega = self.velocity
        message.dv, message.domega = dv, domega
