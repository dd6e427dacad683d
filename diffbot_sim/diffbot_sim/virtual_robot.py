"""A simulated robot as its driver sees it: commands in, joint samples out, period by period."""

from __future__ import annotations

from arc_odometry import JointSample
from diffbot_sim.actuators import Actuator
from diffbot_sim.encoders import Encoders
from diffbot_sim.simulator import Simulator


class VirtualRobot:
    """An engine with actuators that saturate, lag and jitter, and encoders that count.

    Args:
        engine: the physics; it moves on from where it stands.
        actuator: from commanded to reported and acting torque.
        encoders: from wheel angles to measured angles and speeds.
        period: control period, s.
    """

    def __init__(
        self, engine: Simulator, actuator: Actuator, encoders: Encoders, period: float
    ) -> None:
        self.engine = engine
        self._actuator = actuator
        self._encoders = encoders
        self._period = period
        self._steps = 0
        self._start = engine.time
        self.sample = self._measure((0.0, 0.0))

    def advance(self, command: tuple[float, float]) -> JointSample:
        """Apply the command [left, right] in N m for one period; returns the sample at its end.

        Raises:
            ValueError: the command is not finite; nothing has moved.
        """
        reported, acting = self._actuator.apply(command)
        self.engine.step(acting, self._period)
        self._steps += 1
        self.sample = self._measure(reported)
        return self.sample

    def _measure(self, reported: tuple[float, float]) -> JointSample:
        position, velocity = self._encoders.read(
            self.engine.wheel_angles(), self.engine.wheel_velocities()
        )
        # Counted, not summed: a run of hours must not drift off the control grid.
        return JointSample(self._start + self._steps * self._period, position, velocity, reported)
