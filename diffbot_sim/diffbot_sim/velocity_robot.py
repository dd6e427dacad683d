"""A robot that takes velocity commands, (1) and (3) of Siwek et al. (2023), without any noise.

    x' = v cos theta     y' = v sin theta     theta' = omega
    sigma1 v' + sigma3 v = command of v       sigma2 omega' + sigma4 omega = command of omega

Commands are held, pass the limits of the robot's driver and act after a dead time. Each piece of a
step with one command is integrated by the Taylor series of order 18 that the ideal engine uses:
exact to floats, for steps of any length.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from arc_odometry import Pose
from diffbot_ident.velocity.sigma import Sigma
from diffbot_sim.engines.motion_series import motion_series
from diffbot_sim.engines.polynomial import evaluate
from diffbot_sim.simulator import check_duration, check_pose

UNLIMITED = (math.inf, math.inf)
# What is left of a dead time, s, when only rounding is left.
ROUNDING = 1e-12
# A robot that needs more pieces within one step is beyond any real one.
MOST_PIECES = 1000


class VelocityRobot:
    """Simulates one robot.

    Args:
        sigma: its true parameters.
        speed_limits: the driver clips commands of (v, omega) to these, m/s and rad/s, > 0.
        acceleration_limits: a command may differ from the one before by so much per second of the
            step, m/s^2 and rad/s^2, > 0, as drivers with a ramp do.
        dead_time: from a command to its effect, s, 0 to 10.
        command_noise: standard deviations that are added to the commands of (v, omega) of each
            step, m/s and rad/s, >= 0: what the drive makes of them.
        seed: of the noise, >= 0; equal seeds give equal noise.

    Raises:
        ValueError: an argument is outside its range.
    """

    LONGEST_DEAD_TIME = 10.0

    def __init__(
        self,
        sigma: Sigma,
        *,
        speed_limits: tuple[float, float] = UNLIMITED,
        acceleration_limits: tuple[float, float] = UNLIMITED,
        dead_time: float = 0.0,
        command_noise: tuple[float, float] = (0.0, 0.0),
        seed: int = 0,
    ) -> None:
        for name, limits in (("speed", speed_limits), ("acceleration", acceleration_limits)):
            if not all(limit > 0.0 for limit in limits):
                raise ValueError(f"{name}_limits = {limits}: must be > 0, math.inf for none")
        if not 0.0 <= dead_time <= self.LONGEST_DEAD_TIME:
            raise ValueError(
                f"dead_time = {dead_time} s: must be from 0 to {self.LONGEST_DEAD_TIME}"
            )
        if not all(0.0 <= deviation < math.inf for deviation in command_noise):
            raise ValueError(f"command_noise = {command_noise}: must be finite and >= 0")
        if seed < 0:
            raise ValueError(f"command noise seed = {seed}: must be >= 0")
        self._speed_limits, self._acceleration_limits = speed_limits, acceleration_limits
        self._dead_time, self._noise, self._seed = dead_time, command_noise, seed
        self.sigma = sigma
        self.reset()

    @property
    def sigma(self) -> Sigma:
        """True parameters; set others to load the robot at any time."""
        return self._sigma

    @sigma.setter
    def sigma(self, sigma: Sigma) -> None:
        self._sigma = sigma
        self._rates = (
            (0.0, 0.0, -sigma.s3 / sigma.s1, 0.0),
            (0.0, 0.0, 0.0, -sigma.s4 / sigma.s2),
        )

    def reset(self, pose: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        """Put the robot at rest at a pose (m, m, rad); time, way and noise begin anew."""
        self._pose = Pose(*check_pose(pose))
        self._v = self._omega = 0.0
        self.time, self.way = 0.0, 0.0
        self._asked = (0.0, 0.0)
        self._acting = (0.0, 0.0)
        # Commands under way: time left until each acts, s, and the command.
        self._under_way: deque[list] = deque()
        self._generator = np.random.default_rng(self._seed)

    def pose(self) -> tuple[float, float, float]:
        """True x, y in m and theta in rad, which counts whole turns, in the odom frame."""
        return tuple(self._pose)

    def velocity(self) -> tuple[float, float]:
        """True v in m/s and omega in rad/s at this instant."""
        return self._v, self._omega

    def step(self, command: tuple[float, float], duration: float) -> tuple[float, float]:
        """Hold a command of (v, omega), m/s and rad/s, for a duration in s, 0 to 1.

        Returns:
            The command that the driver took, within its limits and without noise.

        Raises:
            ValueError: the command is not finite, or the duration is outside its range; nothing
                has changed then.
            FloatingPointError: the robot is faster than can be integrated.
        """
        if not all(map(math.isfinite, command)):
            raise ValueError(f"command = {tuple(command)}: must be finite; send 0 to stop")
        remaining = check_duration(duration)
        taken = tuple(
            _within(_within(asked, speed) - before, slope * duration) + before
            for asked, speed, before, slope in zip(
                command, self._speed_limits, self._asked, self._acceleration_limits, strict=True
            )
        )
        self._asked = taken
        self._under_way.append([self._dead_time, self._disturbed(taken)])
        while remaining > 0.0:
            while self._under_way and self._under_way[0][0] <= 0.0:
                self._acting = self._under_way.popleft()[1]
            until = self._under_way[0][0] if self._under_way else math.inf
            piece = min(remaining, until)
            self._advance(piece)
            for waiting in self._under_way:
                left = waiting[0] - piece
                waiting[0] = left if left > ROUNDING else 0.0
            remaining -= piece
        self.time += duration
        return taken

    def _disturbed(self, command: tuple[float, float]) -> tuple[float, float]:
        if self._noise == (0.0, 0.0):
            return command
        noise = self._generator.standard_normal(2) * self._noise
        return command[0] + float(noise[0]), command[1] + float(noise[1])

    def _advance(self, duration: float) -> None:
        """Move under the acting command."""
        (v, omega), sigma = self._acting, self._sigma
        rows = ((*self._rates[0], v / sigma.s1), (*self._rates[1], omega / sigma.s2))
        for _ in range(MOST_PIECES):
            series = motion_series(self._v, self._omega, self._pose.theta, rows)
            piece = min(series.span, duration)
            self._pose = Pose(
                self._pose.x + evaluate(series.x, piece),
                self._pose.y + evaluate(series.y, piece),
                self._pose.theta + evaluate(series.theta, piece),
            )
            self.way += evaluate(series.path, piece)
            self._v, self._omega = evaluate(series.v, piece), evaluate(series.omega, piece)
            duration -= piece
            if duration <= 0.0:
                return
        raise FloatingPointError(
            f"v = {self._v:.3g} m/s, omega = {self._omega:.3g} rad/s: too fast to integrate; "
            "limit the commands"
        )


def _within(value: float, limit: float) -> float:
    return max(-limit, min(limit, value))
