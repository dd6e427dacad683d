# SPDX-License-Identifier: Apache-2.0
"""Periods in which dry friction may hold a wheel, or the robot against turning.

Friction then balances whatever drives the motion, whatever the sign of the speed.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from diffbot_description.dynamics import accelerations
from diffbot_ident.torque.effects import StepMotion
from diffbot_ident.torque.estimate import Array

# Dry friction may hold a motion that it would stop within this many control periods,
SLOW_TURNS = 2.0
# up to this multiple of its estimate.
STUCK_FRACTION = 1.3


def stuck_wheels(motion: StepMotion) -> NDArray[np.bool_]:
    """Return the periods in which dry friction may hold a wheel, shape (n,)."""
    response, period = motion.response, motion.period
    dry = motion.dry + np.array(response.stiction)
    speeds, torques, geometry = motion.wheels.middle, motion.torques, motion.geometry
    if not dry.any():
        return np.zeros(len(period), dtype=bool)
    b, k = geometry.half_track, (*response.products, response.k7, response.k8)
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    v, omega = geometry.body_velocity(*speeds.T)
    most = (response.k7 + b * abs(response.k8)) / radius * dry
    slow = np.abs(speeds) < SLOW_TURNS * most * period[:, None]
    holding = np.minimum(np.maximum(torques, -dry), dry)
    resistance = np.where(slow, holding, np.sign(speeds) * dry) + speeds * response.friction[:2]
    dv, domega = accelerations(k, v, omega, *(torques - resistance).T)
    # The floor may resist turning by anything up to its friction.
    most_turning = abs(response.k8) * radius / b * response.holding
    turns_slowly = np.abs(motion.yaw.middle[:, 0]) < SLOW_TURNS * most_turning * period
    domega -= np.where(turns_slowly, 0.0, np.sign(omega) * most_turning)
    resisted = np.where(turns_slowly, b * most_turning, 0.0)[:, None]
    rims = dv[:, None] + domega[:, None] * (-b, b)
    # A wheel may be held if friction can cancel the acceleration it would have without.
    freely = np.abs(rims + (response.k7 - b * response.k8) * resistance)
    freely = np.maximum(freely - resisted, 0.0) / radius
    stuck = slow & (freely < STUCK_FRACTION * most)
    either: NDArray[np.bool_] = stuck[:, 0] | stuck[:, 1]
    return either


def stuck_turning(motion: StepMotion, drive: Array) -> NDArray[np.bool_]:
    """Return the periods in which the floor may hold the robot; `drive` is rad/s^2 by torques."""
    geometry, response = motion.geometry, motion.response
    radius = 0.5 * (geometry.left_radius + geometry.right_radius)
    lever = radius / geometry.half_track
    most = abs(response.k8) * lever * response.holding
    wheels = abs(response.k8) * (response.friction[2] + response.friction[3])
    slow: NDArray[np.bool_] = np.abs(motion.yaw.middle[:, 0]) < SLOW_TURNS * most * motion.period
    return slow & (np.abs(drive) < most + wheels)
