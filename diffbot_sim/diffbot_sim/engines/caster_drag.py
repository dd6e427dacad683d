# SPDX-License-Identifier: Apache-2.0
"""What drags over the floor: casters, and the wheels of a robot with skid steer.

Casters do by dry friction of coefficient x load at their ground points, wheels that slide sideways
by a moment against turning.

The load is that of the robot at rest. Contact engines do not use their own friction for it:
MuJoCo's lifts what slides (its soft cone couples slip to normal force), so that a caster with
coefficient 0.2 hops; ODE's has a square and no round cone, which drags harder along the diagonals.
"""

from __future__ import annotations

import math

from arc_odometry import Velocity
from diffbot_description import DynamicParameters, Robot
from diffbot_description.dynamics import NO_FRICTION, turning_resistance
from diffbot_description.ground_loads import ground_loads

# A speed is sqrt(speed^2 + CREEP^2), m/s: a caster that holds half of what it can moves by half of
# this.
CREEP = 1e-9
# The search for the velocity after a step ends after so many rounds, or changes (relative) below.
MOST_ROUNDS = 60
PRECISION = 1e-12


class CasterDrag:
    """Forces of the casters that touch the ground, step by step.

    The velocity u after a step is the one that makes (u - u_free)' M (u - u_free) / 2 +
    h (sum of limit |velocity of the ground point| + c_w omega^2 / 2 + f_w |omega|) least, with
    u_free that without drag: casters that slide are braked by their limit, and a robot that they
    can hold is stopped within the step as a whole. There is one such u, though not one set of
    forces where several casters hold. It is found by Newton's method with steps halved until they
    lead down.

    Args:
        robot: its casters and loads.
        parameters: K5 to K8, with the payload.
        mass: of a payload, kg.
        x: of the payload, m ahead of the axle.

    Attributes:
        casters: x, y (m) and limit (N) of each caster that drags.
        turning: moment against turning, N m; by the yaw rate, rad/s.
        mass: M_e, kg.
        inertia: I_e, kg m^2.
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

    def wrench(self, u: Velocity, torque: tuple[float, float], step: float) -> tuple[float, float]:
        """Drag over the next step: force along the robot (N), moment about the axle's middle (N m).

        The wheels hold against the force across, which does nothing.

        Args:
            u: at the start of the step.
            torque: of the wheels [left, right] in it, N m.
            step: s.
        """
        drift, push = self._parameters.drift(u), self._parameters.input_acceleration(torque)
        free_v = u.v + step * (drift.v + push.v)
        free_omega = u.omega + step * (drift.omega + push.omega)
        v, omega = self.after(free_v, free_omega, step)
        return self.mass * (v - free_v) / step, self.inertia * (omega - free_omega) / step

    def after(self, free_v: float, free_omega: float, step: float) -> Velocity:
        """Velocity after a step (s) that would be free_v (m/s), free_omega (rad/s) without drag.

        With a step of 1 s the same of accelerations from rest.
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
        """What the velocity after a step makes least, J."""
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
        """Towards where the derivatives of the cost vanish."""
        down_v, down_omega = self.mass * (free_v - v), self.inertia * (free_omega - omega)
        a, b, c = self.mass, 0.0, self.inertia
        for x, y, limit in self.casters:
            along, across = v - y * omega, x * omega
            speed = math.hypot(along, across, CREEP)
            along, across = along / speed, across / speed
            force, stiff = step * limit, step * limit / speed
            # By v and by omega: the slopes of the speed, and what it bends.
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
