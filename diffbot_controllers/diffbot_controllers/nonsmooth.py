"""The published backstepping law in continuous time, Lages (2018), (8)-(34)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import Pose
from diffbot_controllers import rates
from diffbot_controllers.approach import PolarError
from diffbot_controllers.checks import check_positive
from diffbot_controllers.motion import Velocity
from diffbot_controllers.rates import Rate


@dataclass(frozen=True)
class NonsmoothGains:
    """lambda_1..5 and gamma_1..4; the defaults are those of section 6.

    Attributes:
        lambdas: weights of V_1, (28), each > 0; only their ratios matter for the law.
        gammas: rates, 1/s, each > 0.

    Raises:
        ValueError: a gain is not finite or not > 0, or their number is wrong.
    """

    lambdas: tuple[float, ...] = (200.0, 6.0, 6.0, 500.0, 10000.0)
    gammas: tuple[float, ...] = (10.0, 1.0, 10.0, 50.0)

    def __post_init__(self) -> None:
        for name, values, number in (("lambda", self.lambdas, 5), ("gamma", self.gammas, 4)):
            if len(values) != number:
                raise ValueError(f"backstepping gains: {name} = {values}: must be {number} numbers")
            check_positive(
                "backstepping gains", **{f"{name}_{i}": v for i, v in enumerate(values, start=1)}
            )


def polar_error(offset: Pose) -> PolarError:
    """(8)-(10) of the 2018, (75)-(77) of the 2017 paper; psi from -pi to pi, alpha not wrapped."""
    psi = math.atan2(offset.y, offset.x)
    return PolarError(math.hypot(offset.x, offset.y), psi, offset.theta - psi)


def eta(error: PolarError, gains: NonsmoothGains) -> Velocity:
    """(14), (15): velocities that stabilise the kinematics, m/s and rad/s."""
    first, second = eta_rates(Rate(error.e), Rate(error.psi), Rate(error.alpha), gains)
    return Velocity(first.value, second.value)


def eta_rates(e: Rate, psi: Rate, alpha: Rate, gains: NonsmoothGains) -> tuple[Rate, Rate]:
    """(14), (15) and how fast they change."""
    gamma1, gamma2 = gains.gammas[:2]
    ratio = gains.lambdas[2] / gains.lambdas[1]
    cos = rates.cos(alpha)
    return -gamma1 * e * cos, (
        -gamma2 * alpha - gamma1 * cos * (rates.sin(alpha) - ratio * psi * rates.sinc(alpha))
    )


def backstep_command(error: PolarError, backstep: Velocity, gains: NonsmoothGains) -> Velocity:
    """v_bar of (30), (31), m/s^2 and rad/s^2; backstep: e_1, e_2 of (22), (23).

    At e = 0, where (30) is undefined, its terms with 1 / e are left out, as in Listing 3.
    """
    l1, l2, l3, l4, l5 = gains.lambdas
    e, psi, alpha = error
    first = -gains.gammas[2] * backstep.v - l1 / l4 * e * math.cos(alpha)
    if e > 0.0:
        first += (l2 * alpha - l3 * psi) / l4 * math.sin(alpha) / e
    return Velocity(first, -gains.gammas[3] * backstep.omega - l2 / l5 * alpha)


def polar_rates(error: PolarError, u: Velocity) -> tuple[Rate, Rate, Rate]:
    """e, psi, alpha with their rates, (16)-(18), while the robot moves with u; e > 0."""
    turn = math.sin(error.alpha) / error.e * u.v
    return (
        Rate(error.e, math.cos(error.alpha) * u.v),
        Rate(error.psi, turn),
        Rate(error.alpha, u.omega - turn),
    )


def acceleration(error: PolarError, u: Velocity, gains: NonsmoothGains) -> Velocity:
    """The command v of (33), (34) with **plus** eta', as (24), (25) demand; the paper prints minus.

    Args:
        error: e > 0.
        u: velocity now.
        gains: of the law.
    """
    eta1, eta2 = eta_rates(*polar_rates(error, u), gains)
    backstep = Velocity(u.v - eta1.value, u.omega - eta2.value)
    bar = backstep_command(error, backstep, gains)
    return Velocity(bar.v + eta1.rate, bar.omega + eta2.rate)


def lyapunov(error: PolarError, backstep: Velocity, gains: NonsmoothGains) -> float:
    """V_1 of (28)."""
    l1, l2, l3, l4, l5 = gains.lambdas
    return 0.5 * (
        l1 * error.e**2
        + l2 * error.alpha**2
        + l3 * error.psi**2
        + l4 * backstep.v**2
        + l5 * backstep.omega**2
    )
