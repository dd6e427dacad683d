# SPDX-License-Identifier: Apache-2.0
"""A floor with a slope, under the robot of any engine: docs/theory/simulators.md#a-sloped-floor."""

from __future__ import annotations

import math

from diffbot_description import Robot
from diffbot_description.ground_loads import GRAVITY
from diffbot_sim.simulator import Simulator, check_duration, check_torque

STEEPEST = 20.0
"""Steepest slope, degrees."""
# Longest time with the heading of its middle, s: at 3 rad/s the force is wrong by 1e-5 of itself.
LONGEST_PART = 0.005


class SlopedFloor:
    """A floor under a robot that falls by `slope` degrees, 0 to STEEPEST.

    Args:
        robot: The robot on it.
        slope: Slope, degrees.
        downhill: Direction in which it falls, in odom, degrees, counter-clockwise from x.

    Raises:
        ValueError: A value is outside its range.
    """

    def __init__(self, robot: Robot, slope: float, downhill: float = 0.0) -> None:
        if not 0.0 <= slope <= STEEPEST:
            raise ValueError(f"slope = {slope:g} degrees: must be from 0 to {STEEPEST:g}")
        if not math.isfinite(downhill):
            raise ValueError(f"downhill = {downhill} degrees: must be finite")
        self._geometry = robot.geometry
        self._model = robot.model
        self._pull = GRAVITY * math.sin(math.radians(slope))
        self._downhill = math.radians(downhill)

    def step(self, engine: Simulator, torque: tuple[float, float], duration: float) -> None:
        """Advance an engine on this floor; arguments and errors as in Simulator.step."""
        if self._pull == 0.0:
            engine.step(torque, duration)
            return
        left, right = check_torque(torque)
        parts = math.ceil(check_duration(duration) / LONGEST_PART - 1e-9)
        part = duration / parts
        mass, moment = self._loads(engine)
        for _ in range(parts):
            heading = engine.pose()[2] + 0.5 * part * engine.velocity()[1]
            away = self._downhill - heading
            own_left, own_right = self._geometry.wheel_torque(
                mass * self._pull * math.cos(away), moment * self._pull * math.sin(away)
            )
            engine.step((left, right), part, (own_left, own_right))

    def _loads(self, engine: Simulator) -> tuple[float, float]:
        """Return mass (kg) and first moment about the axle (kg m), including the payload."""
        model, k = self._model, engine.parameters()
        r, b = model.wheel_radius, model.half_track
        # M_e = 1 / (r K7) = m + 2 J / r^2, and I_e = -b / (r K8) with K6 = -m_b d / I_e.
        mass = 1.0 / (r * k.k7) - 2.0 * model.wheel_inertia_spin / r**2
        return mass, k.k6 * b / (r * k.k8)
