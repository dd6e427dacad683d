# SPDX-License-Identifier: Apache-2.0
"""Drives of robots that differ from their YAML file, or with wrongly wired wheels."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample, Velocity
from diffbot_controllers import LinearizingController, State, tuned_backstepping, tuned_polar_pose
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import Robot, Torque, closed_form
from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.excitation.excitations import make_excitation, nominal_prior
from diffbot_node.wheel_watch import WheelWatch
from diffbot_sim.simulator import Simulator
from diffbot_sim.virtual_robot import SlopedFloor
from diffbot_study.driving import Law, simulate_drive
from pose2d_trajectories import Reference, make_trajectory


@dataclass(frozen=True)
class Impairment:
    """Impairments between commanded torque and wheels, and between wheels and encoders.

    Attributes:
        start: Time from which wiring, swapped and stuck apply, s.
        wiring: Matrix from commanded to acting torques.
        swapped: Whether the wheels' angles are exchanged.
        stuck: Wheels whose angle does not change: 0 for the left, 1 for the right one.
        delay: Delay of the torque, control periods.
        slope: Slope of the floor, downhill along +x, degrees.
        wraps: Whether encoders wrap after a turn.
    """

    start: float = 0.0
    wiring: tuple[tuple[float, float], tuple[float, float]] = ((1.0, 0.0), (0.0, 1.0))
    swapped: bool = False
    stuck: tuple[int, ...] = ()
    delay: int = 0
    slope: float = 0.0
    wraps: bool = False


class ImpairedRobot:
    """A Simulator that adds impairments to an engine.

    Args:
        engine: Engine of the unimpaired robot.
        robot: Simulated robot.
        impairment: Its impairments.
    """

    def __init__(self, engine: Simulator, robot: Robot, impairment: Impairment) -> None:
        self._engine, self._impairment = engine, impairment
        self._floor = SlopedFloor(robot, impairment.slope)
        self.reset()

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def reset(self, pose: tuple[float, float, float] = (0.0, 0.0, 0.0)) -> None:
        """See Simulator.reset."""
        self._engine.reset(pose)
        self._late = deque([(0.0, 0.0)] * self._impairment.delay)
        self.log: list[tuple[float, ...]] = []
        self._kept: dict[int, float] = {}
        self._zero = (0.0, 0.0)

    @property
    def faulty(self) -> bool:
        """Whether the fault has begun."""
        return self._engine.time >= self._impairment.start - 1e-9

    def step(self, torque: tuple[float, float], duration: float) -> None:
        """See Simulator.step."""
        self._late.append(torque)
        commanded = left, right = self._late.popleft()
        if self.faulty:
            (a, b), (c, d) = self._impairment.wiring
            left, right = a * left + b * right, c * left + d * right
        self.log.append((*commanded, left, right, *self._engine.wheel_velocities()))
        self._floor.step(self._engine, (left, right), duration)

    def wheel_angles(self) -> tuple[float, float]:
        """See Simulator.wheel_angles; as measured by the encoders."""
        angles = list(self._engine.wheel_angles())
        if self.faulty:
            for side in self._impairment.stuck:
                angles[side] = self._kept.setdefault(side, angles[side])
            if self._impairment.swapped:
                if self._zero == (0.0, 0.0):
                    # Incremental encoders do not jump when they are swapped.
                    self._zero = (angles[0] - angles[1], angles[1] - angles[0])
                angles = [angles[1] + self._zero[0], angles[0] + self._zero[1]]
        if self._impairment.wraps:
            angles = [math.remainder(angle, math.tau) for angle in angles]
        return angles[0], angles[1]


class ExcitationLaw:
    """An excitation of ident as a law; it needs no reference."""

    def __init__(self, robot: Robot, kind: str, seed: int, hold: int | None, period: float) -> None:
        wheels = robot.wheels
        self._to_wheels = lambda v, omega: (
            (v - omega * wheels.half_track) / wheels.radius,
            (v + omega * wheels.half_track) / wheels.radius,
        )
        self._excitation = make_excitation(
            kind, robot, seed, hold=hold, prior=nominal_prior(robot), period=period
        )

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Torque [left, right], N m."""
        velocity = (state.velocity.v, state.velocity.omega)
        pose = (state.pose[0], state.pose[1], state.pose[2])
        motion = Motion(pose, velocity, self._to_wheels(*velocity))
        return self._excitation.torque(motion)


class VelocityLaw:
    """The velocity loops as a law that follows the velocity of a reference."""

    def __init__(self, loops: LinearizingController) -> None:
        self._loops = loops

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Torque [left, right], N m."""
        return self._loops.update(state, Velocity(reference.v, reference.omega), dt)


def _steps(robot: Robot) -> Callable[[float], Reference]:
    """Return velocity steps of 1 s each."""
    v, omega = 0.3 * robot.limits.linear_velocity, 0.3 * robot.limits.angular_velocity
    values = ((v, 0.0), (v, omega), (0.0, -omega), (-v, 0.0), (0.0, 0.0), (0.5 * v, 0.5 * omega))
    return lambda time: Reference(
        v=values[int(time) % len(values)][0], omega=values[int(time) % len(values)][1]
    )


@dataclass(frozen=True)
class Conditions:
    """Conditions of a drive without impairment.

    Attributes:
        counts: Encoder counts per wheel revolution.
        noise: Standard deviation of the acting torque, relative to it.
        lost: Share of the samples that neither watch nor law receive.
        period: Control period, s.
    """

    counts: int = 4096
    noise: float = 0.0
    lost: float = 0.0
    period: float = 0.01


DRIVES = ("eight", "park", "pose", "steps", "prbs", "multisine")
HARMLESS = ("every sample", "saturated")  # for unimpaired robots


class Saturated:
    """Full torque for 2 s, then full torque in the opposite direction."""

    def __init__(self, limit: float) -> None:
        self._limit, self._time = limit, 0.0

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Torque [left, right], N m."""
        self._time += dt
        sign = 1.0 if self._time % 4.0 < 2.0 else -1.0
        return sign * self._limit, sign * self._limit


def make_drive(
    name: str, robot: Robot, limit: float, seed: int, conditions: Conditions
) -> tuple[Law, Callable[[float], Reference]]:
    """Return the law and the reference of one of DRIVES, for the robot of a YAML file."""
    dynamics = closed_form(robot.model)
    speeds = robot.limits.linear_velocity, robot.limits.angular_velocity
    wheels = KnownWheels.of(robot, conditions.counts)
    if name == "eight":
        eight = make_trajectory("figure_eight", amplitude_x=1.0, amplitude_y=0.5, period=20.0)
        law = tuned_backstepping(dynamics, limit, *speeds, mean_velocity=True, wheels=wheels)
        return law, eight.at
    if name == "steps":
        loops = LinearizingController(
            dynamics, torque_limit=limit, mean_velocity=True, wheels=wheels
        )
        return VelocityLaw(loops), _steps(robot)
    if name in ("park", "pose"):
        make = tuned_backstepping if name == "park" else tuned_polar_pose
        goals = [Reference(1.0, 0.0, 0.0), Reference(0.0, 1.0, 0.0), Reference(-1.0, -0.5, 2.0)]
        law = make(dynamics, limit, *speeds, mean_velocity=True, wheels=wheels)
        return law, lambda time: goals[(seed + int(time / 5.0)) % len(goals)]
    if name == "saturated":
        return Saturated(limit), lambda time: Reference()
    hold = 1 if name == "every sample" else None
    kind = "prbs" if name == "every sample" else name
    return ExcitationLaw(robot, kind, seed, hold, conditions.period), lambda time: Reference()


class HoldingLaw:
    """A law that holds its torque over lost samples, as nodes do.

    Attributes:
        lost: Whether the current sample is lost.
    """

    def __init__(self, law: Law) -> None:
        self._law, self.lost = law, False

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Torque [left, right], N m."""
        kept = state.torque if self.lost else None
        return kept or self._law.update(state, reference, dt)


class Watched(Exception):
    """Raised to end a drive when the watch stops the torque."""


@dataclass(frozen=True)
class Outcome:
    """Result of a watched drive.

    Attributes:
        why: The watch's message; empty if it did not stop the robot.
        log: For each period: commanded torques (delayed as they act), acting torques, and true
            wheel speeds at its start, each [left, right], N m and rad/s, shape (n, 6).
        limit: Torque limit, N m.
    """

    why: str
    log: NDArray[np.float64]
    limit: float


USUAL, AS_IT_SHOULD_BE = Conditions(), Impairment()


def torque_limit(robot: Robot, drive: str) -> float:
    """Return the largest torque that a drive commands, N m."""
    strong = drive in ("eight", "park", "pose", "steps", "saturated")
    return robot.limits.traction if strong else robot.excitation.amplitude


def watched_drive(
    engine: Simulator,
    real: Robot,
    believed: Robot,
    drive: str,
    seconds: float,
    impairment: Impairment = AS_IT_SHOULD_BE,
    conditions: Conditions = USUAL,
    seed: int = 0,
) -> Outcome:
    """Drive a robot until the watch stops it.

    Args:
        engine: Engine of the real robot.
        real: The real robot.
        believed: The robot of the YAML file, assumed by law, limits and watch.
        drive: One of DRIVES or HARMLESS.
        seconds: Longest robot time, s.
        impairment: Impairments of the real robot.
        conditions: Conditions of the drive.
        seed: Seed of all random values.
    """
    limit = torque_limit(believed, drive)
    law, reference = make_drive(drive, believed, limit, seed, conditions)
    holding = HoldingLaw(law)
    guard, random = WheelWatch(believed, limit), np.random.default_rng(seed)
    robot = ImpairedRobot(engine, real, impairment)

    def look(sample: JointSample) -> None:
        holding.lost = random.random() < conditions.lost
        if not holding.lost:
            why = guard.update(sample, sample.effort)
            if why:
                raise Watched(why)

    why = ""
    try:
        simulate_drive(
            robot,
            believed,
            holding,
            reference,
            seconds,
            encoder_counts=conditions.counts,
            torque_limit=limit,
            torque_noise=conditions.noise,
            seed=seed,
            period=conditions.period,
            on_sample=look,
        )
    except Watched as stop:
        why = str(stop)
    return Outcome(why, np.array(robot.log).reshape(-1, 6), limit)
