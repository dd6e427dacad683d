"""The robot in motion: (1)-(12) advanced in small steps, for any number of robots at once.

    (1)  F_v   = M (dV/dt  - W Vn) + B_v  V  + C_v  sgn V
    (2)  F_vn  = M (dVn/dt + W V)  + B_vn Vn + C_vn sgn Vn
    (3)  Gamma = J  dW/dt          + B_w  W  + C_w  sgn W

The paper's (1), (2) leave out W Vn and W V, by which the axes of the body turn under a velocity
that keeps its direction in the world. With one of V, Vn, W at a time, as in its experiments, they
are 0.

A step turns the axes, then solves motors and friction exactly for the voltages and the speed at its
start. Standstill, saturation and coasting along one axis are therefore exact; the rest is first
order in the step, some 0.1 % of a change of speed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from diffbot_ident.omni.kinematics import (
    Array,
    advance_pose,
    body_forces,
    columns,
    wheel_velocities,
)
from diffbot_ident.omni.robot import OmniRobot
from diffbot_ident.omni.viscous_coulomb import advance

STEP = 2e-3
"""Largest step, s."""


@dataclass(frozen=True)
class OmniState:
    """Where robots are and how they move; the leading dimensions count robots.

    Attributes:
        velocity: [V, Vn, W], (..., 3) m/s, m/s, rad/s.
        current: of the armatures 1 to 4, (..., 4) A.
        pose: [x, y, theta] in the world, (..., 3) m, m, rad.
    """

    velocity: Array
    current: Array
    pose: Array

    @classmethod
    def at_rest(cls, *runs: int) -> OmniState:
        """Robots at the origin, without speed or current; `runs` are the leading dimensions."""
        return cls(np.zeros((*runs, 3)), np.zeros((*runs, 4)), np.zeros((*runs, 3)))


def simulate(
    robot: OmniRobot, state: OmniState, voltage: ArrayLike | None, duration: float
) -> OmniState:
    """The state after a time with constant voltages.

    Args:
        robot: all robots are alike.
        state: at the start.
        voltage: u of the motors, (..., 4) V; None: the motors are off, their circuits open. (With
            u = 0 they would brake.)
        duration: s, > 0.

    Raises:
        ValueError: the duration is not > 0.
    """
    if not duration > 0.0:
        raise ValueError(f"duration = {duration} s: must be > 0")
    steps = int(np.ceil(duration / STEP - 1e-9))
    for _ in range(steps):
        state = _step(robot, state, voltage, duration / steps)
    return state


def _step(
    robot: OmniRobot, state: OmniState, voltage: ArrayLike | None, duration: float
) -> OmniState:
    if voltage is None:
        current = mean = np.zeros_like(state.current)
    else:
        rims = wheel_velocities(state.velocity, robot.wheel_distance)
        current, mean = robot.motor.advance(state.current, voltage, rims, duration)
    force = body_forces(robot.motor.wheel_force(mean), robot.wheel_distance)
    velocity = advance(
        _turned(state.velocity, duration), force, robot.masses, robot.viscous, robot.coulomb,
        duration,
    )  # fmt: skip
    pose = advance_pose(state.pose, 0.5 * (state.velocity + velocity), duration)
    return OmniState(velocity, current, pose)


def _turned(velocity: Array, duration: float) -> Array:
    """[V, Vn, W] in the axes of the body after it has turned by W times the duration."""
    v, vn, w = columns(velocity)
    cos, sin = np.cos(w * duration), np.sin(w * duration)
    return np.stack((cos * v + sin * vn, cos * vn - sin * v, w), axis=-1)
