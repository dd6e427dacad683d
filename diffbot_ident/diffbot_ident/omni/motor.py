"""A DC motor with gear and wheel, driven by pulse-width modulation of a limited supply.

    (9)   u = L_a di/dt + R_a i + K_v w_m       armature; w_m = l v / r is the rotor's speed
    (10)  T_m = K_t i                           torque at the rotor
    (8)   T = l K_t i,  (7)  f = T / r          torque and force at the wheel

The paper writes T both for the rotor's torque in (10) and for the wheel's in (8).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike

from diffbot_ident.omni.kinematics import Array


@dataclass(frozen=True)
class Motor:
    """Constants of one motor, its gear and its wheel.

    The paper prints none of them. These stand in: a 24 V motor whose currents, duty and saturation
    are of the size that Figs. 2-4 and 10-12 show. Only l K_t / r = 6 N/A enters the forces.

    Attributes:
        reduction: l, turns of the rotor per turn of the wheel.
        wheel_radius: r, m.
        torque_constant: K_t, N m/A.
        emf_constant: K_v, V/(rad/s).
        resistance: R_a, ohm.
        inductance: L_a, H.
        supply: voltage at full duty, V.
        duty_steps: steps of the duty cycle from 0 to full, whole.

    Raises:
        ValueError: a value is not finite or not > 0.
    """

    reduction: float = 12.0
    wheel_radius: float = 0.05
    torque_constant: float = 0.025
    emf_constant: float = 0.025
    resistance: float = 4.0
    inductance: float = 0.5e-3
    supply: float = 24.0
    duty_steps: int = 255

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"motor {field.name} = {value}: must be finite and > 0")

    @property
    def force_per_ampere(self) -> float:
        """(7), (8): l K_t / r, N/A."""
        return self.reduction * self.torque_constant / self.wheel_radius

    def wheel_force(self, current: ArrayLike) -> Array:
        """(7), (8): the force f at the wheel's rim, N, from the current i, A."""
        return self.force_per_ampere * np.asarray(current, dtype=float)

    def duty(self, voltage: ArrayLike) -> Array:
        """The step of the duty cycle nearest to a wanted voltage, within +-duty_steps."""
        steps = np.round(np.asarray(voltage, dtype=float) / self.supply * self.duty_steps)
        return np.clip(steps, -self.duty_steps, self.duty_steps)

    def voltage(self, duty: ArrayLike) -> Array:
        """The mean voltage u of a duty cycle given in steps, V."""
        return self.supply * np.asarray(duty, dtype=float) / self.duty_steps

    def advance(
        self, current: ArrayLike, voltage: ArrayLike, wheel_velocity: ArrayLike, duration: float
    ) -> tuple[Array, Array]:
        """(9) over a time in which voltage and speed are constant; exact.

        Args:
            current: i at the start, A.
            voltage: u, V.
            wheel_velocity: v of the rim, m/s.
            duration: s, > 0.

        Returns:
            The current at the end and its mean over the time, A.
        """
        rotor = self.reduction / self.wheel_radius * np.asarray(wheel_velocity, dtype=float)
        steady = (np.asarray(voltage, dtype=float) - self.emf_constant * rotor) / self.resistance
        time_constant = self.inductance / self.resistance
        gone = -math.expm1(-duration / time_constant)
        off = np.asarray(current, dtype=float) - steady
        return steady + off * (1.0 - gone), steady + off * (time_constant / duration * gone)
