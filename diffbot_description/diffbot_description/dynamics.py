"""The closed form of the dynamic parameters K5 to K8."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffbot_description.robot_model import RobotModel


@dataclass(frozen=True)
class DynamicParameters:
    """Parameters of the dynamic model, equation (41) of the 2017 paper.

    v' = K5 w^2 + K7 (tau_left + tau_right), w' = K6 v w + K8 (tau_left - tau_right), with v [m/s]
    and w [rad/s] of the axle's midpoint and the wheel torques tau [N m]. Units: k5 m/rad^2, k6
    1/m, k7 m/(s^2 N m), k8 rad/(s^2 N m); k8 < 0.
    """

    k5: float
    k6: float
    k7: float
    k8: float


def closed_form(model: RobotModel) -> DynamicParameters:
    """Return K5 to K8 of a robot whose wheels roll without slip and without friction.

    K5 = m_b d / M_e, K6 = -m_b d / I_e, K7 = 1 / (r M_e), K8 = -b / (r I_e). K5 and K6 have
    opposite signs, as the coupling of v and w does no work: M_e K5 + I_e K6 = 0. The values of
    the papers break this; their signs and magnitudes cannot both belong to a robot.
    """
    mass, inertia = model.equivalent_mass, model.equivalent_inertia
    moment = model.mass_body * model.com_offset
    return DynamicParameters(
        k5=moment / mass,
        k6=-moment / inertia,
        k7=1 / (model.wheel_radius * mass),
        k8=-model.half_track / (model.wheel_radius * inertia),
    )


# ---
# The four parameters of a robot that takes velocity commands; (3) of Siwek et al. (2023).
#
#     sigma1 dv/dt     + sigma3 v     = command of v
#     sigma2 domega/dt + sigma4 omega = command of omega
#
# The first axis knows nothing of the second. sigma1 / sigma3 and sigma2 / sigma4 are the time
# constants, 1 / sigma3 and 1 / sigma4 what a constant command becomes in the end.

AXES = ("v", "omega")


@dataclass(frozen=True)
class Sigma:
    """Parameters of (3), ordered as in the paper.

    Attributes:
        s1: sigma1, inertia of the forward axis, s, > 0.
        s2: sigma2, inertia of the yaw axis, s, > 0.
        s3: sigma3, drag of the forward axis, 1, >= 0.
        s4: sigma4, drag of the yaw axis, 1, >= 0.

    Raises:
        ValueError: a value is not finite or has the wrong sign: (3) would run away, and the
            inverse dynamics (12) would push the robot away from its reference.
    """

    s1: float
    s2: float
    s3: float
    s4: float

    def __post_init__(self) -> None:
        for name in ("s1", "s2"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value > 0.0):
                raise ValueError(f"sigma: {name} = {value} s: must be finite and > 0")
        for name in ("s3", "s4"):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= 0.0):
                raise ValueError(f"sigma: {name} = {value}: must be finite and >= 0")

    @classmethod
    def of_axes(cls, linear: tuple[float, float], angular: tuple[float, float]) -> Sigma:
        """From (inertia in s, drag) of the forward and of the yaw axis."""
        return cls(linear[0], angular[0], linear[1], angular[1])

    def axis(self, index: int) -> tuple[float, float]:
        """(Inertia in s, drag) of axis 0, forward, or 1, yaw."""
        return ((self.s1, self.s3), (self.s2, self.s4))[index]

    def as_array(self) -> NDArray[np.float64]:
        """[sigma1, sigma2, sigma3, sigma4], shape (4,)."""
        return np.array([self.s1, self.s2, self.s3, self.s4])

    def acceleration(self, velocity: ArrayLike, command: ArrayLike) -> NDArray[np.float64]:
        """d[v, omega]/dt of (3), m/s^2 and rad/s^2, shape (2,).

        Args:
            velocity: [v, omega], m/s and rad/s.
            command: the same, as commanded.
        """
        v, omega = velocity
        command_v, command_omega = command
        return np.array(
            [(command_v - self.s3 * v) / self.s1, (command_omega - self.s4 * omega) / self.s2]
        )

    def command(self, velocity: ArrayLike, acceleration: ArrayLike) -> tuple[float, float]:
        """Command that gives an acceleration at a velocity: (3) solved for it, as in (12)."""
        (v, omega), (dv, domega) = velocity, acceleration
        return self.s1 * dv + self.s3 * v, self.s2 * domega + self.s4 * omega

    def after(
        self, velocity: tuple[float, float], command: tuple[float, float], duration: float
    ) -> tuple[float, float]:
        """[v, omega] after a constant command of a duration, s; exact for (3)."""
        end = []
        for index, (speed, asked) in enumerate(zip(velocity, command, strict=True)):
            inertia, drag = self.axis(index)
            share = duration * drag / inertia
            # (1 - e^-x) / x keeps its digits, and its value, where there is no drag.
            gain = -math.expm1(-share) / share if share > 0.0 else 1.0
            end.append(speed * math.exp(-share) + asked * gain * duration / inertia)
        return end[0], end[1]
