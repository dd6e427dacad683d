# SPDX-License-Identifier: Apache-2.0
"""Equations of motion with wheel friction, and the choice of the wheels that hold.

docs/theory/simulators.md#wheels-that-hold
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import product

import numpy as np
from numpy.typing import NDArray

from arc_odometry import Velocity
from diffbot_description import (
    DynamicParameters,
    FrictionLaw,
    Robot,
    RobotModel,
    closed_form,
    wheel_friction,
)
from diffbot_description.dynamics import NO_FRICTION
from diffbot_description.robot import Pair
from diffbot_sim.engines.caster_drag import CasterDrag
from diffbot_sim.engines.motion_series import Slip, StateFunction, Stribeck
from diffbot_sim.simulator import Triple

HOLDING = 0
"""Mode of a wheel at rest; +1 and -1 are the directions of a turning one."""

# Relative rounding error of limits and of coefficients that are exactly 0.
ROUNDING = 1e-12
# Share of its free acceleration that dragging casters must leave to a robot that starts.
STARTS = 1e-6


@dataclass(frozen=True)
class PlanarDynamics:
    """Rows (motion_series.py) of v', omega' and of the friction torques (N m) that hold the wheels.

    With skid steer a third row of `holding` is the floor's moment against turning.
    """

    acceleration: tuple[list[float], list[float]]
    holding: tuple[list[float], ...]


class WheelFriction:
    """Equations of motion, with a payload, for modes of the wheels, and the choice of the modes.

    Attributes:
        parameters: K5..K8, including the payload.
        wheel_speed: Rows of the wheel speeds [left, right], rad/s.
        functions: Decay of each wheel's static friction, and direction of each dragging caster.
        holds: Whether each wheel, and the floor, has dry friction.
        floor_acceleration: Yaw acceleration by the floor's dry friction, rad/s^2.
    """

    def __init__(
        self, robot: Robot, mass: float = 0.0, x: float = 0.0, yaw_inertia: float = 0.0
    ) -> None:
        model, radii = robot.model, robot.wheels.rolling_radii
        half_track, laws = model.half_track, wheel_friction(robot, mass, x)
        self.parameters = parameters = closed_form(model.with_payload(mass, x, yaw_inertia))
        self.drag = drag = CasterDrag(robot, parameters, mass, x)
        self._half_track = half_track
        self._laws: tuple[FrictionLaw[float], ...] = (
            laws if drag.turning == NO_FRICTION else (*laws, drag.turning)
        )
        k7, k8 = parameters.k7, parameters.k8
        # Maps wheel torques to [v', omega']; the force of a torque is proportional to 1 / radius.
        self._input = np.array([[k7, k7], [k8, -k8]]) * (model.wheel_radius / np.array(radii))
        self._wheels = np.array([[1.0, -half_track], [1.0, half_track]]) / np.array([radii]).T
        if len(self._laws) > 2:
            self._input = np.column_stack((self._input, (0.0, 1.0 / drag.inertia)))
            self._wheels = np.vstack((self._wheels, (0.0, 1.0)))
        # Without coupling, for the start of a robot with dragging casters.
        self._starting = self._input
        self._coupling = _coupling(parameters, model, radii)
        self._input = self._coupling @ self._input
        self._lost = (0.0, 0.0, 0.0)  # by the gears of each contact, N m
        self.holds = [
            max(law.breakaway(1.0), law.breakaway(-1.0), law.gear_loss) > 0.0 for law in self._laws
        ]
        self.floor_acceleration = drag.turning.breakaway(1.0) / drag.inertia
        self._falling = [i for i in range(2) if laws[i].stribeck_velocity is not None]
        self.functions: list[StateFunction] = [
            Stribeck(*(self._wheels[i] / laws[i].stribeck_velocity).tolist()) for i in self._falling
        ]
        self.functions += [Slip(x, y) for x, y, _ in drag.casters]
        self._columns = 5 + len(self._falling) + 2 * len(drag.casters)
        self._by_modes: dict[tuple[int, ...], list[tuple[list[float], list[float]]]] = {}
        self.wheel_speed = [
            [0.0, 0.0, *speeds, *(0.0,) * (self._columns - 4)] for speeds in self._wheels.tolist()
        ]

    def load_gears(self, torque: Pair) -> None:
        """Set the motors' torques [left, right], N m, of which the gears lose a share."""
        left, right = self._laws[:2]
        self._lost = left.lost(torque[0]), right.lost(torque[1]), 0.0

    def dynamics(self, torque: Pair, modes: list[int]) -> PlanarDynamics:
        """Return the equations of motion for these modes of the wheels [left, right]."""
        if modes.count(HOLDING) == 3:
            still = [0.0] * self._columns
            stuck = self._resting(torque)
            return PlanarDynamics(
                (still, still), tuple([0.0] * 4 + [each] + still[5:] for each in stuck)
            )
        own = self._by_modes.get(tuple(modes))
        if own is None:
            own = self._by_modes[tuple(modes)] = self._equations(modes)
        left, right = torque[0] - modes[0] * self._lost[0], torque[1] - modes[1] * self._lost[1]
        rows = []
        for row, (by_left, by_right) in own:
            row = row.copy()
            row[4] += by_left * left + by_right * right
            rows.append(row)
        return PlanarDynamics((rows[0], rows[1]), tuple(rows[2:]))

    def _equations(self, modes: list[int]) -> list[tuple[list[float], list[float]]]:
        """Return the rows of PlanarDynamics without torque, and their constants per torque."""
        torques = np.zeros((len(self._laws), self._columns))
        for i, law in enumerate(self._laws):
            torques[i, 2:4] = -law.viscous * self._wheels[i]
            torques[i, 4] = -law.sliding(modes[i]) * modes[i]
        for column, i in enumerate(self._falling, start=5):
            law = self._laws[i]
            torques[i, column] = -modes[i] * (law.breakaway(modes[i]) - law.sliding(modes[i]))
        drift = np.zeros((2, self._columns))
        drift[0, 0], drift[1, 1] = self.parameters.k5, self.parameters.k6
        first = 5 + len(self._falling)
        for column, (x, y, limit) in enumerate(self.drag.casters):
            along = first + 2 * column  # the next column is that of the lateral direction
            drift[0, along] = -limit / self.drag.mass
            drift[1, along] = limit * y / self.drag.inertia
            drift[1, along + 1] = -limit * x / self.drag.inertia
        # Two more columns: the effect of 1 N m of each wheel.
        free = np.hstack((self._coupling @ drift + self._input @ torques, self._input[:, :2]))
        holding = np.zeros((len(self._laws), self._columns + 2))
        stuck = [i for i, mode in enumerate(modes) if mode == HOLDING]
        if stuck:
            gain = self._wheels[stuck] @ self._input[:, stuck]
            holding[stuck] = -np.linalg.solve(gain, self._wheels[stuck] @ free)
        rows = free + self._input @ holding
        if len(stuck) >= 2:
            rows = np.zeros_like(rows)
        return [(row[:-2], row[-2:]) for row in (*rows.tolist(), *holding.tolist())]

    def _resting(self, torque: Pair) -> Triple:
        """Return frictions that hold wheels and floor at rest, N m; the floor's is the smallest."""
        fraction = -np.linalg.solve(self._input[:, :2], self._input[:, 2])
        least, most = -math.inf, math.inf
        for side in (0, 1):
            ends = [
                (push * self.limit(side, push) + torque[side]) / fraction[side]
                for push in (-1.0, 1.0)
            ]
            least, most = max(least, min(ends)), min(most, max(ends))
        moment = min(max(0.0, least), most) if least <= most else 0.5 * (least + most)
        return fraction[0] * moment - torque[0], fraction[1] * moment - torque[1], moment

    def choose_modes(self, v: float, omega: float, torque: Pair, modes: list[int]) -> list[int]:
        """Return the next modes: turning wheels keep theirs, wheels at rest hold or start to turn.

        `v`, `omega`: m/s, rad/s; `torque`: N m from now on; `modes`: HOLDING, or the direction.
        """
        if HOLDING not in modes:
            return list(modes)
        modes = self._all_at_rest(modes)
        values = (value for function in self.functions for value in function.values(v, omega))
        basis = np.array([omega * omega, v * omega, v, omega, 1.0, *values])
        choices = [(HOLDING, 1, -1) if mode == HOLDING else (mode,) for mode in modes]
        for candidate in map(list, product(*choices)):
            if candidate != self._all_at_rest(candidate):
                continue
            dynamics = self.dynamics(torque, candidate)
            wheel_acceleration = self._wheels @ (np.array(dynamics.acceleration) @ basis)
            friction = np.array(dynamics.holding) @ basis
            if all(
                abs(friction[i]) <= self.limit(i, friction[i]) * (1.0 + ROUNDING)
                if candidate[i] == HOLDING
                else candidate[i] * wheel_acceleration[i] > 0.0
                for i in range(len(modes))
                if modes[i] == HOLDING
            ):
                return candidate
        return list(modes)  # reached only by rounding at the limit of holding

    def _all_at_rest(self, modes: list[int]) -> list[int]:
        """Return the modes; if two contacts hold, all that can hold do."""
        if sum(mode == HOLDING for mode in modes) < 2:
            return list(modes)
        return [HOLDING if holds else mode for mode, holds in zip(modes, self.holds, strict=True)]

    def limit(self, wheel: int, friction: float) -> float:
        """Return the largest magnitude of the torque that holds a wheel, N m.

        `wheel`: 0 left, 1 right, 2 the floor; `friction`: a torque of its sign.
        """
        return self._laws[wheel].breakaway(-friction) + self._lost[wheel]

    def departure(self, torque: Pair) -> tuple[Velocity, list[int]] | None:
        """Return accelerations and modes of a starting robot with dragging casters; None: it rests.

        A caster's friction opposes the acceleration; one choice of holding wheels is consistent.
        """
        for modes in ([HOLDING, 1], [HOLDING, -1], [1, HOLDING], [-1, HOLDING]):
            stuck = modes.index(HOLDING)
            if self.holds[stuck]:
                turn = self._pivoting(torque, stuck, modes[1 - stuck])
                if turn is not None:
                    return turn, modes
        for modes in map(list, product(*((1, -1) if holds else (1,) for holds in self.holds))):
            free = self._starting @ [
                tau - mode * (law.breakaway(mode) + lost)
                for tau, mode, law, lost in zip(torque, modes, self._laws, self._lost, strict=False)
            ]
            start = self.drag.after(float(free[0]), float(free[1]), 1.0)
            speeds = self._wheels @ start
            if np.abs(speeds).max() > STARTS * np.abs(self._wheels @ free).max() and all(
                mode * speed > 0.0
                for mode, speed, holds in zip(modes, speeds, self.holds, strict=True)
                if holds
            ):
                return start, modes
        return None

    def _pivoting(self, torque: Pair, stuck: int, mode: int) -> Velocity | None:
        """Return the accelerations about the contact point of a held wheel, if it then holds."""
        turning = 1 - stuck
        b = self._half_track
        v, omega = mode * b, mode * (1.0 if turning == 1 else -1.0)
        net = list(torque)
        net[turning] -= mode * (self._laws[turning].breakaway(mode) + self._lost[turning])
        mass, inertia = self.drag.mass, self.drag.inertia
        force, moment = (self._starting @ net * (mass, inertia)).tolist()
        for x, y, limit in self.drag.casters:
            forward, left = Slip(x, y).values(v, omega)
            force -= limit * forward
            moment -= limit * (x * left - y * forward)
        size = (force * v + moment * omega) / (mass * v * v + inertia * omega * omega)
        if size <= 0.0:
            return None
        start = Velocity(size * v, size * omega)
        holding = (mass * start.v - force) / (mass * self.parameters.k7)
        return start if abs(holding) <= self.limit(stuck, holding) else None


def _coupling(parameters: DynamicParameters, model: RobotModel, radii: Pair) -> NDArray[np.float64]:
    """Return the matrix that maps [v', omega'] of equal wheels to those of unequal ones, (2, 2).

    The wheels' kinetic energy J (w_l^2 + w_r^2) / 2, w = (v -+ b omega) / r_i, contains v omega.
    """
    if radii[0] == radii[1]:
        return np.eye(2)
    radius, half_track = model.wheel_radius, model.half_track
    spin_inertia = model.wheel_inertia_spin
    equal = np.diag((1.0 / parameters.k7, -half_track / parameters.k8)) / radius
    left, right = (spin_inertia / each**2 for each in radii)
    more = left + right - 2.0 * spin_inertia / radius**2
    product_term = half_track * (right - left)
    unequal = equal + [[more, product_term], [product_term, half_track**2 * more]]
    return np.asarray(np.linalg.solve(unequal, equal))
