"""Dynamics (41) of Lages (2017) with viscous and Coulomb friction of the wheels.

    v'     = K5 omega^2   + K7 (T_left + T_right)
    omega' = K6 v omega   + K8 (T_left - T_right)
    T = tau - viscous w - coulomb sign(w),   w_left, w_right = (v -+ b omega) / r

A wheel at rest holds as long as the friction that this needs is within its Coulomb limit. The
wheel accelerations depend on the torques through a symmetric positive definite matrix, so exactly
one choice of holding and slipping wheels is consistent (a linear complementarity problem).
Every quantity is a row in the basis [omega^2, v omega, v, omega, 1], see motion_series.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from diffbot_description import DynamicParameters

HOLDING = 0
"""Mode of a wheel at rest; +1 and -1 are the directions of a turning one."""

# Friction may exceed its limit by rounding before a wheel counts as released.
ROUNDING = 1e-12


@dataclass(frozen=True)
class PlanarDynamics:
    """Rows of v', omega' and of the friction torques (N m) that hold the wheels [left, right]."""

    acceleration: tuple[list[float], list[float]]
    holding: tuple[list[float], list[float]]


class WheelFriction:
    """Equations of motion for given modes of the wheels, and the choice of those modes.

    Args:
        parameters: K5..K8.
        radius: wheel radius, m.
        half_track: b, m.
        viscous, coulomb: friction of the wheels [left, right], N m s/rad and N m, >= 0.
    """

    def __init__(
        self,
        parameters: DynamicParameters,
        radius: float,
        half_track: float,
        viscous: tuple[float, float],
        coulomb: tuple[float, float],
    ) -> None:
        self.parameters = parameters
        self.coulomb = coulomb
        self._viscous = viscous
        k7, k8 = parameters.k7, parameters.k8
        self._input = np.array([[k7, k7], [k8, -k8]])  # wheel torques -> [v', omega']
        self._wheels = np.array([[1.0, -half_track], [1.0, half_track]]) / radius
        # Rows of the wheel speeds [left, right], rad/s.
        self.wheel_speed = [[0.0, 0.0, *speeds, 0.0] for speeds in self._wheels.tolist()]

    def dynamics(self, torque: tuple[float, float], modes: list[int]) -> PlanarDynamics:
        """Equations of motion while the modes of the wheels [left, right] last."""
        torques = np.zeros((2, 5))
        for i in range(2):
            torques[i, 2:4] = -self._viscous[i] * self._wheels[i]
            torques[i, 4] = torque[i] - self.coulomb[i] * modes[i]
        drift = np.zeros((2, 5))
        drift[0, 0], drift[1, 1] = self.parameters.k5, self.parameters.k6
        free = drift + self._input @ torques
        holding = np.zeros((2, 5))
        held = [i for i in range(2) if modes[i] == HOLDING]
        if held:
            gain = self._wheels[held] @ self._input[:, held]
            holding[held] = -np.linalg.solve(gain, self._wheels[held] @ free)
        rows = (free + self._input @ holding).tolist()
        if len(held) == 2:
            rows = [[0.0] * 5, [0.0] * 5]
        return PlanarDynamics((rows[0], rows[1]), tuple(holding.tolist()))

    def choose_modes(
        self, v: float, omega: float, torque: tuple[float, float], modes: list[int]
    ) -> list[int]:
        """Modes from now on: turning wheels keep theirs, wheels at rest hold or start to turn.

        Args:
            v, omega: body velocity, m/s and rad/s.
            torque: acting from now on, N m.
            modes: HOLDING for each wheel that is at rest now, else its direction.
        """
        if HOLDING not in modes:
            return list(modes)
        basis = np.array([omega * omega, v * omega, v, omega, 1.0])
        choices = [(HOLDING, 1, -1) if mode == HOLDING else (mode,) for mode in modes]
        for candidate in map(list, product(*choices)):
            dynamics = self.dynamics(torque, candidate)
            wheel_acceleration = self._wheels @ (np.array(dynamics.acceleration) @ basis)
            friction = np.abs(np.array(dynamics.holding) @ basis)
            if all(
                friction[i] <= self.coulomb[i] * (1.0 + ROUNDING)
                if candidate[i] == HOLDING
                else candidate[i] * wheel_acceleration[i] > 0.0
                for i in range(2)
                if modes[i] == HOLDING
            ):
                return candidate
        return list(modes)  # only rounding on the limit of holding leads here
