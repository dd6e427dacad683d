"""Readings of a run of the robot, and driving it while they are taken."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffbot_ident.omni.kinematics import Array, body_velocities, wheel_velocities
from diffbot_ident.omni.robot import OmniRobot
from diffbot_ident.omni.sensors import OmniSensors
from diffbot_ident.omni.simulation import OmniState, simulate
from diffbot_ident.omni.speed_loop import SpeedLoop


@dataclass(frozen=True)
class OmniRecording:
    """n readings of each run; the leading dimensions count runs.

    Attributes:
        period: between two readings, s.
        velocity: [V, Vn, W] from the wheels' readings by the inverse of (12), (..., n, 3).
        current: readings of the motors' currents, (..., n, 4) A.
        duty: that the motors get from each reading to the next, in steps, (..., n, 4).
        driven: whether the motors are on after each reading, (n,).
    """

    period: float
    velocity: Array
    current: Array
    duty: Array
    driven: Array

    @property
    def time(self) -> Array:
        """Of the readings from the first on, (n,) s."""
        return self.period * np.arange(len(self.driven))


def record(
    robot: OmniRobot,
    wanted: ArrayLike,
    driven: ArrayLike,
    period: float,
    sensors: OmniSensors,
    random: np.random.Generator,
) -> OmniRecording:
    """Drive robots from rest with the speed loop on what the sensors read.

    Args:
        robot: all runs are of this one.
        wanted: [V, Vn, W], (..., 3); the leading dimensions are the runs.
        driven: whether the motors are on, for each period, (n,).
        period: of loop and readings, s.
        sensors: noise and quantisation.
        random: source of the noise.
    """
    wanted, driven = np.asarray(wanted, dtype=float), np.asarray(driven, dtype=bool)
    state, loop = OmniState.at_rest(*wanted.shape[:-1]), SpeedLoop(robot, period)
    velocities, currents, duties = [], [], []
    for on in driven:
        rims = wheel_velocities(state.velocity, robot.wheel_distance)
        read = body_velocities(sensors.wheel_speed.of(rims, random), robot.wheel_distance)
        duty = loop.update(wanted, read) if on else np.zeros_like(state.current)
        velocities.append(read)
        currents.append(sensors.current.of(state.current, random))
        duties.append(duty)
        state = simulate(robot, state, robot.motor.voltage(duty) if on else None, period)
    velocity, current, duty = (np.stack(rows, axis=-2) for rows in (velocities, currents, duties))
    return OmniRecording(period, velocity, current, duty, driven)
