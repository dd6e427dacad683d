# SPDX-License-Identifier: Apache-2.0
"""A robot that takes velocity commands, (1) and (3) of Siwek et al. (2023), and its odometry.

    x' = v cos theta     y' = v sin theta     theta' = omega
    sigma1 v' + sigma3 v = command of v       sigma2 omega' + sigma4 omega = command of omega

Commands are held, limited by the robot's driver, and act after a dead time and through its dead
band. Motion is integrated by the Taylor series of the ideal engine, to float accuracy.
"""

from __future__ import annotations

import math
from collections import deque

import numpy as np

from arc_odometry import UNLIMITED_RIMS, Arc, Pose, RimLimit, WheelGeometry
from arc_odometry import Velocity as BodyVelocity
from arc_odometry.number_range import Array, within
from arc_odometry.pose_covariance import KNOWN, propagate
from diffbot_description.command_ramp import CommandRamp
from diffbot_description.dead_band import DeadBand, DeadBandKind
from diffbot_description.robot import Pair
from diffbot_description.sigma import Sigma
from diffbot_sim.engines.motion_series import MOST_PIECES, evaluate, motion_series
from diffbot_sim.simulator import Triple, check_duration, check_pose
from diffbot_sim.virtual_robot import Encoders

Velocity = tuple[float, float]
"""v in m/s and omega in rad/s, or commands of them."""

UNLIMITED = (math.inf, math.inf)
# Remaining dead time that is only rounding error, s.
ROUNDING = 1e-12


class VelocityRobot:
    """Simulates one robot.

    Args:
        sigma: True parameters.
        speed_limits: Limits to which the driver clips commands of (v, omega), m/s and rad/s, > 0.
        rims: Limits of the wheels' rim speeds; faster commands are scaled down.
        ramp: Limits of the command's change, before the dead band.
        dead_time: Time from a command to its effect, s, 0 to 10.
        command_noise: Standard deviations of noise on the commands of each step, m/s and rad/s.
        dead_band: Dead band of the drive, with its static friction.
        seed: Seed of the noise, >= 0.

    Attributes:
        time: Time since the reset, s.
        distance: Signed path of the axle's midpoint since the reset, m.
    """

    LONGEST_DEAD_TIME = 10.0

    def __init__(
        self,
        sigma: Sigma,
        *,
        speed_limits: Pair = UNLIMITED,
        rims: RimLimit = UNLIMITED_RIMS,
        ramp: CommandRamp | None = None,
        dead_time: float = 0.0,
        command_noise: Pair = (0.0, 0.0),
        dead_band: DriveDeadBand | None = None,
        seed: int = 0,
    ) -> None:
        if not all(limit > 0.0 for limit in speed_limits):
            raise ValueError(f"speed_limits = {speed_limits}: must be > 0, math.inf for none")
        if not 0.0 <= dead_time <= self.LONGEST_DEAD_TIME:
            raise ValueError(
                f"dead_time = {dead_time} s: must be from 0 to {self.LONGEST_DEAD_TIME}"
            )
        if not all(0.0 <= deviation < math.inf for deviation in command_noise):
            raise ValueError(f"command_noise = {command_noise}: must be finite and >= 0")
        if seed < 0:
            raise ValueError(f"command noise seed = {seed}: must be >= 0")
        self._speed_limits, self._rims = speed_limits, rims
        self._ramp = ramp
        self._dead_time, self._noise, self._seed = dead_time, command_noise, seed
        self._dead_band = dead_band or DriveDeadBand()
        self.sigma = sigma
        self.reset()

    @property
    def sigma(self) -> Sigma:
        """True parameters; set others at any time to simulate a load."""
        return self._sigma

    @sigma.setter
    def sigma(self, sigma: Sigma) -> None:
        self._sigma = sigma
        self._rates = (
            (0.0, 0.0, -sigma.s3 / sigma.s1, 0.0),
            (0.0, 0.0, 0.0, -sigma.s4 / sigma.s2),
        )

    def reset(self, pose: Triple = (0.0, 0.0, 0.0)) -> None:
        """Put the robot at rest at a pose (m, m, rad); restart time, distance and noise."""
        self._pose = Pose(*check_pose(pose))
        self._v = self._omega = 0.0
        self.time, self.distance = 0.0, 0.0
        self._asked = (0.0, 0.0)
        self._acting = (0.0, 0.0)
        self._dead_band.reset()
        # Commands, and the time left until each acts, s.
        self._pending: deque[tuple[float, Velocity]] = deque()
        self._generator = np.random.default_rng(self._seed)

    def pose(self) -> Triple:
        """Return the true x, y in m and theta in rad, unwrapped, in the odom frame."""
        return self._pose.x, self._pose.y, self._pose.theta

    def velocity(self) -> Velocity:
        """Return the true v in m/s and omega in rad/s at this instant."""
        return self._v, self._omega

    def step(self, command: Velocity, duration: float) -> Velocity:
        """Hold a command of (v, omega), m/s and rad/s, for a duration in s, 0 to 1.

        Return the command that the driver accepted, within its limits and without noise.

        Raises:
            ValueError: The command or the duration is outside its range; nothing has changed then.
            FloatingPointError: The robot is too fast to be integrated.
        """
        if not all(map(math.isfinite, command)):
            raise ValueError(f"command = {tuple(command)}: must be finite; send 0 to stop")
        remaining = check_duration(duration)
        taken = self._asked = self._taken(command, duration)
        self._pending.append((self._dead_time, self._disturbed(taken)))
        while remaining > 0.0:
            while self._pending and self._pending[0][0] <= 0.0:
                begins = self._pending.popleft()[1]
                self._acting = self._dead_band.passed(begins, self.velocity())
            until = self._pending[0][0] if self._pending else math.inf
            piece = min(remaining, until)
            self._advance(piece)
            self._pending = deque(
                (left - piece if left - piece > ROUNDING else 0.0, waiting)
                for left, waiting in self._pending
            )
            remaining -= piece
        self.time += duration
        return taken

    def _taken(self, command: Velocity, duration: float) -> Velocity:
        limited = self._rims.within(BodyVelocity(*map(within, command, self._speed_limits)))
        if self._ramp is None:
            return limited.v, limited.omega
        v, omega = self._ramp.after(BodyVelocity(*self._asked), limited, duration)
        return v, omega

    def _disturbed(self, command: Velocity) -> Velocity:
        if self._noise == (0.0, 0.0):
            return command
        noise = self._generator.standard_normal(2) * self._noise
        return command[0] + float(noise[0]), command[1] + float(noise[1])

    def _advance(self, duration: float) -> None:
        (v, omega), sigma = self._acting, self._sigma
        rows = ((*self._rates[0], v / sigma.s1), (*self._rates[1], omega / sigma.s2))
        for _ in range(MOST_PIECES):
            series = motion_series(self._v, self._omega, self._pose.theta, rows, duration)
            piece = min(series.span, duration)
            self._pose = Pose(
                self._pose.x + evaluate(series.x, piece),
                self._pose.y + evaluate(series.y, piece),
                self._pose.theta + evaluate(series.theta, piece),
            )
            self.distance += evaluate(series.path, piece)
            self._v, self._omega = evaluate(series.v, piece), evaluate(series.omega, piece)
            duration -= piece
            if duration <= 0.0:
                return
        raise FloatingPointError(
            f"v = {self._v:.3g} m/s, omega = {self._omega:.3g} rad/s: too fast to integrate; "
            "limit the commands"
        )


class VelocityOdometry:
    """Reads a VelocityRobot once per period: pose by dead reckoning, mean velocity, and noise.

    The covariance of the pose grows with the driven path, as in DiffOdometry, plus that of noise.

    Args:
        robot: The robot to read; at rest, at the initial pose of the odometry.
        period: Time between two readings, s, > 0.
        geometry, wheels: Wheel geometry that the odometry assumes, and the true one if it differs.
        counts: Encoder counts per turn of a wheel; 0: exact pose, and velocity at the instant.
        velocity_noise, pose_noise: Standard deviations of (v, omega) and (x, y, theta), m and rad.
        seed: Seed of noise and encoders, >= 0.
        path_noise: Variance of a wheel's path per path driven, m^2/m, >= 0, for the covariance.

    Attributes:
        pose, velocity, velocity_covariance: By the last reading, m and rad.
        wheels: Angles (rad) and speeds (rad/s) of the wheels [left, right] by the encoders.
    """

    def __init__(
        self,
        robot: VelocityRobot,
        period: float,
        geometry: WheelGeometry = WheelGeometry(0.0352, 0.0352, 0.23),  # noqa: B008  (frozen)
        *,
        counts: int = 0,
        velocity_noise: Pair = (0.0, 0.0),
        pose_noise: Triple = (0.0, 0.0, 0.0),
        seed: int = 0,
        wheels: WheelGeometry | None = None,
        path_noise: float = 0.0,
    ) -> None:
        for name, noise in (("velocity_noise", velocity_noise), ("pose_noise", pose_noise)):
            if not all(0.0 <= deviation < math.inf for deviation in noise):
                raise ValueError(f"{name} = {noise}: must be finite and >= 0")
        self._robot, self._geometry = robot, geometry
        self._true_geometry = wheels or geometry
        self._exact = counts == 0
        self._encoders = Encoders(counts, period, seed)
        self._noise = (*velocity_noise, *pose_noise)
        self._path_noise, self._pose_noise = path_noise, np.diag(np.square(pose_noise))
        # Two readings, each with a uniformly distributed error of half a count.
        count = math.tau / counts if counts else 0.0
        speeds = (geometry.left_radius * count / period) ** 2 / 6.0
        quantised = np.array([0.5, 2.0 / geometry.separation**2]) * speeds
        self.velocity_covariance: Array = np.diag(quantised + np.square(velocity_noise))
        self._generator = np.random.default_rng((seed, 1))
        self.reset()

    def reset(self) -> None:
        """Restart at the robot's true pose, as after a stop there."""
        self.pose = self._reckoned = Pose(*self._robot.pose())
        self.velocity: Velocity = (0.0, 0.0)
        self._spread = KNOWN
        self._met = False  # whether it has been read
        angles = self._true_angles()
        self._encoders.reset(angles)
        self.wheels: tuple[Pair, Pair] = (angles, (0.0, 0.0))

    @property
    def covariance(self) -> Array:
        """Covariance of the pose, (3, 3), m and rad."""
        return np.asarray(self._spread.matrix() + self._pose_noise)

    def read(self) -> tuple[Pose, Velocity]:
        """Return the measured pose and velocity (m/s, rad/s)."""
        before = self.pose
        self.pose, self.velocity = self._disturbed(*self._measured())
        if self._met and self._path_noise:
            separation = self._geometry.separation
            turn = self.pose.theta - before.theta
            chord = math.hypot(self.pose.x - before.x, self.pose.y - before.y)
            left = self._path_noise * abs(chord - 0.5 * turn * separation)
            right = self._path_noise * abs(chord + 0.5 * turn * separation)
            arc = Arc(math.copysign(chord, self.velocity[0]), turn)
            self._spread = propagate(self._spread, before, arc, (left, right), separation)
        self._met = True
        return self.pose, self.velocity

    def _measured(self) -> tuple[Pose, Velocity]:
        if self._exact:
            velocity = self._robot.velocity()
            self.wheels = self._true_angles(), self._true_geometry.wheel_velocity(*velocity)
            return Pose(*self._robot.pose()), velocity
        angles, speeds = self._encoders.read(self._true_angles(), (0.0, 0.0))
        before = self.wheels[0] if self._met else angles
        turned = (angles[0] - before[0], angles[1] - before[1])
        self._reckoned = Arc(*self._geometry.body_velocity(*turned)).end(self._reckoned)
        self.wheels = angles, speeds
        return self._reckoned, self._geometry.body_velocity(*speeds)

    def _disturbed(self, pose: Pose, velocity: Velocity) -> tuple[Pose, Velocity]:
        if not any(self._noise):
            return pose, velocity
        values = (*velocity, *pose) + self._generator.standard_normal(5) * self._noise
        v, omega, x, y, theta = values.tolist()
        return Pose(x, y, theta), (v, omega)

    def _true_angles(self) -> Pair:
        return self._true_geometry.wheel_velocity(self._robot.distance, self._robot.pose()[2])


# Speed at which an axis or wheel without effective command sticks, per breakaway command.
STICKS = 0.02


class DriveDeadBand:
    """Maps commands to those that take effect.

    Small commands get lost by axis, in a driver that suppresses small v and omega, or by wheel,
    where the speed loop does not overcome friction: then a turning robot has no dead band forward.

    Args:
        axes: Dead bands of (v, omega), m/s and rad/s, >= 0.
        wheels: Dead bands of the (left, right) wheel, m/s at the rim, >= 0.
        kind: What remains of larger commands.
        stiction: Command that moves an axis or wheel at rest, per dead band, >= 1.
        track: Distance of the contact points, m, > 0.
    """

    def __init__(
        self,
        axes: Pair = (0.0, 0.0),
        wheels: Pair = (0.0, 0.0),
        kind: DeadBandKind = DeadBandKind.OFFSET,
        stiction: float = 1.0,
        track: float = 0.23,
    ) -> None:
        if not 1.0 <= stiction < math.inf:
            raise ValueError(f"stiction = {stiction}: must be finite and >= 1; 1 for none")
        if not 0.0 < track < math.inf:
            raise ValueError(f"track = {track} m: must be finite and > 0")
        self._axes = _BandPair(axes, kind, stiction)
        self._wheels = _BandPair(wheels, kind, stiction)
        self._half_track = 0.5 * track

    def reset(self) -> None:
        """Put all axes and wheels at rest."""
        self._axes.reset()
        self._wheels.reset()

    def passed(self, command: Pair, velocity: Pair) -> Pair:
        """Return the effective part of a command of (v, omega), m/s and rad/s, at a velocity."""
        command = self._axes.passed(command, velocity)
        if not self._wheels.there:
            return command
        left, right = self._wheels.passed(self._rims(command), self._rims(velocity))
        return 0.5 * (left + right), 0.5 * (right - left) / self._half_track

    def _rims(self, body: Pair) -> Pair:
        v, turn = body[0], self._half_track * body[1]
        return v - turn, v + turn


class _BandPair:
    """Two dead bands, and whether the axis or wheel behind each is at rest."""

    def __init__(self, widths: Pair, kind: DeadBandKind, stiction: float) -> None:
        self._moving = [DeadBand(width, kind) for width in widths]
        self._breakaway = [stiction * width for width in widths]
        self.there = any(width > 0.0 for width in widths)
        self.reset()

    def reset(self) -> None:
        self._stuck = [True, True]

    def passed(self, command: Pair, speed: Pair) -> Pair:
        if not self.there:
            return command
        return self._one(0, command[0], speed[0]), self._one(1, command[1], speed[1])

    def _one(self, index: int, command: float, speed: float) -> float:
        band, breakaway = self._moving[index], self._breakaway[index]
        free = band.passed(command)
        if free == 0.0 and abs(speed) <= STICKS * breakaway:
            self._stuck[index] = True
        elif abs(command) > breakaway:
            self._stuck[index] = False
        return 0.0 if self._stuck[index] and band.width > 0.0 else free
