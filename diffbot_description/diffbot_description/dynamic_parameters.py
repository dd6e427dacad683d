"""The closed form of the dynamic parameters K5 to K8."""

from __future__ import annotations

from dataclasses import dataclass

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
