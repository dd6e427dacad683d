# SPDX-License-Identifier: Apache-2.0
"""Drag of casters that slide over the floor, and moment against turning of skid steer.

Both are dry friction: docs/theory/simulators.md#casters-that-drag.
"""

from __future__ import annotations

import math

from arc_odometry import Velocity
from diffbot_description import DynamicParameters, Robot
from diffbot_description.dynamics import NO_FRICTION, turning_resistance
from diffbot_description.ground_loads import ground_loads
from diffbot_description.robot import Pair

# Speeds are regularised to sqrt(speed^2 + CREEP^2), m/s: a caster that holds creeps this fast.
CREEP = 1e-9
# The iteration ends after MOST_ROUNDS, or at relative changes below PRECISION.
MOST_ROUNDS = 60
PRECISION = 1e-12


class CasterDrag:
    """Forces of the casters that touch the ground under a robot with a payload (kg, at x m).

    Attributes:
        casters: x, y (m) and limit (N) of each caster that drags.
        turning: Friction law of the moment against turning, N m, over the yaw rate, rad/s.
        mass, inertia: M_e, kg, and I_e, kg m^2.
    """

    def __init__(
        self, robot: Robot, parameters: DynamicParameters, mass: float = 0.0, x: float = 0.0
    ) -> None:
        self._parameters = parameters
        radius, half = robot.wheels.radius, robot.wheels.half_track
        self.mass = 1.0 / (radius * parameters.k7)  # M_e
        self.inertia = -half / (radius * parameters.k8)  # I_e
        coefficient = robot.contact.caster_friction
        loads = ground_loads(robot, mass, x).casters
        self.casters = [
            (caster.x, caster.y, coefficient * load)
            for caster, load in zip(robot.casters, loads, strict=True)
            if coefficient * load > 0.0
        ]
        self.turning = turning_resistance(robot)

    @property
    def exists(self) -> bool:
        """Whether anything drags."""
        return bool(self.casters) or self.turning != NO_FRICTION

    def wrench(self, u: Velocity, torque: Pair, step: float) -> Pair:
        """Return forward force, N, and moment about the axle's midpoint, N m, over a step, s.

        `u`: velocity at its start; `torque`: wheel torques [left, right] in it, N m.
        """
        drift, push = self._parameters.drift(u), self._parameters.input_acceleration(torque)
        free_v = u.v + step * (drift.v + push.v)
        free_omega = u.omega + step * (drift.omega + push.omega)
        v, omega = self.after(free_v, free_omega, step)
        return self.mass * (v - free_v) / step, self.inertia * (omega - free_omega) / step

    def after(self, free_v: float, free_omega: float, step: float) -> Velocity:
        """Return the velocity after a step, s, from that without drag, m/s and rad/s.

        With a step of 1 s it also maps accelerations from rest.
        """
        v, omega = free_v, free_omega
        least = self._cost(v, omega, free_v, free_omega, step)
        for _ in range(MOST_ROUNDS):
            dv, domega = self._newton_step(v, omega, free_v, free_omega, step)
            while (cost := self._cost(v + dv, omega + domega, free_v, free_omega, step)) > least:
                dv, domega = 0.5 * dv, 0.5 * domega
            v, omega, least = v + dv, omega + domega, cost
            if abs(dv) + abs(domega) <= PRECISION * (abs(v) + abs(omega)):
                break
        return Velocity(v, omega)

    def _cost(self, v: float, omega: float, free_v: float, free_omega: float, step: float) -> float:
        """Return the cost that the velocity after a step minimises, J."""
        a, b = v - free_v, omega - free_omega
        cost = 0.5 * (self.mass * a * a + self.inertia * b * b)
        for x, y, limit in self.casters:
            cost += step * limit * math.hypot(v - y * omega, x * omega, CREEP)
        turning = self.turning
        cost += 0.5 * step * turning.viscous * omega * omega
        return cost + step * turning.coulomb * math.hypot(omega, CREEP)

    def _newton_step(
        self, v: float, omega: float, free_v: float, free_omega: float, step: float
    ) -> Velocity:
        down_v, down_omega = self.mass * (free_v - v), self.inertia * (free_omega - omega)
        a, b, c = self.mass, 0.0, self.inertia
        for x, y, limit in self.casters:
            along, across = v - y * omega, x * omega
            speed = math.hypot(along, across, CREEP)
            along, across = along / speed, across / speed
            force, stiff = step * limit, step * limit / speed
            turning = x * across - y * along
            down_v -= force * along
            down_omega -= force * turning
            a += stiff * (1.0 - along * along)
            b += stiff * (-y - along * turning)
            c += stiff * (x * x + y * y - turning * turning)
        speed = math.hypot(omega, CREEP)
        across = omega / speed
        down_omega -= step * (self.turning.viscous * omega + self.turning.coulomb * across)
        c += step * (self.turning.viscous + self.turning.coulomb / speed * (1.0 - across * across))
        determinant = a * c - b * b
        return Velocity(
            (c * down_v - b * down_omega) / determinant,
            (a * down_omega - b * down_v) / determinant,
        )
