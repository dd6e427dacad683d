# SPDX-License-Identifier: Apache-2.0
"""The published backstepping law, Lages (2018), (8)-(34), exactly as in its Listing 3."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass

from arc_odometry import REST, Pose, Velocity
from arc_odometry.number_range import check_limit, check_positive
from diffbot_controllers.laws import dual
from diffbot_controllers.laws.backstepping_standard import BackstepRecord, Mode, pose_rate
from diffbot_controllers.laws.drivetrain import Drivetrain, DrivetrainLaw, limit_torque
from diffbot_controllers.laws.dual import Dual
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_controllers.laws.motion import State, check_period
from diffbot_controllers.laws.polar_approach import PolarError, offset_to_origin, turning
from diffbot_description import DynamicParameters, Torque
from pose2d_trajectories import Reference
from pose2d_trajectories.reference import check_reference


@dataclass(frozen=True)
class NonsmoothGains:
    """Gains lambda_1..5 and gamma_1..4, each > 0, else a ValueError; defaults of section 6.

    Only the ratios of the lambdas, the weights of V_1 (28), matter; gammas are rates, 1/s.
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
    """Return (8)-(10) of 2018, (75)-(77) of 2017; psi from -pi to pi, alpha not wrapped."""
    psi = math.atan2(offset.y, offset.x)
    return PolarError(math.hypot(offset.x, offset.y), psi, offset.theta - psi)


def eta(error: PolarError, gains: NonsmoothGains) -> Velocity:
    """Return the velocities (14), (15) that stabilise the kinematics, m/s and rad/s."""
    first, second = eta_rates(Dual(error.e), Dual(error.psi), Dual(error.alpha), gains)
    return Velocity(first.value, second.value)


def eta_rates(e: Dual, psi: Dual, alpha: Dual, gains: NonsmoothGains) -> tuple[Dual, Dual]:
    """Return (14), (15) with their rates of change."""
    gamma1, gamma2 = gains.gammas[:2]
    ratio = gains.lambdas[2] / gains.lambdas[1]
    return -gamma1 * e * dual.cos(alpha), turning(psi, alpha, gamma1, gamma2, ratio)


def backstep_command(error: PolarError, backstep: Velocity, gains: NonsmoothGains) -> Velocity:
    """Return v_bar of (30), (31), m/s^2 and rad/s^2; backstep: e_1, e_2 of (22), (23).

    At e = 0, where (30) is undefined, its terms with 1 / e are omitted, as in Listing 3.
    """
    l1, l2, l3, l4, l5 = gains.lambdas
    e, psi, alpha = error
    first = -gains.gammas[2] * backstep.v - l1 / l4 * e * math.cos(alpha)
    if e > 0.0:
        first += (l2 * alpha - l3 * psi) / l4 * math.sin(alpha) / e
    return Velocity(first, -gains.gammas[3] * backstep.omega - l2 / l5 * alpha)


def polar_rates(error: PolarError, u: Velocity) -> tuple[Dual, Dual, Dual]:
    """Return e, psi, alpha with their rates, (16)-(18), for a robot moving with u; e > 0."""
    turn = math.sin(error.alpha) / error.e * u.v
    return (
        Dual(error.e, math.cos(error.alpha) * u.v),
        Dual(error.psi, turn),
        Dual(error.alpha, u.omega - turn),
    )


def acceleration(error: PolarError, u: Velocity, gains: NonsmoothGains) -> Velocity:
    """Return v of (33), (34) at e > 0, with **plus** eta' as (24), (25) require."""
    eta1, eta2 = eta_rates(*polar_rates(error, u), gains)
    backstep = Velocity(u.v - eta1.value, u.omega - eta2.value)
    bar = backstep_command(error, backstep, gains)
    return Velocity(bar.v + eta1.rate, bar.omega + eta2.rate)


class PublishedBackstepping(DrivetrainLaw):
    """Listing 3 with its quirks (docs/theory/backstepping.md#the-published-law), for comparison.

    Example:
        >>> from diffbot_description import closed_form, load_robot
        >>> dynamics = closed_form(load_robot("twil").model)
        >>> from arc_odometry import Pose, Velocity
        >>> law = PublishedBackstepping(dynamics)
        >>> state = State(Pose(1.0, 0.0, 0.0), Velocity(0.0, 0.0))
        >>> left, right = law.update(state, Reference(0.0, 0.0, 0.0), 0.01)
        >>> round(left), round(right)  # far beyond the motors' torque, as published
        (-208, -208)

    Args:
        time_step: Nominal control period of the law, s, > 0. Calls whose time after the last
            accepted one differs by more than 5 % are ignored, and the torque stays.
        torque_limit: Of a wheel, N m, > 0; infinite as published.
        wheels: Only their friction is used; None: unknown.
        longest_hold: Maximum time for which the torque may stay, s, > 0; infinite as published.

    Attributes:
        ignored: Number of calls ignored in a row.
    """

    def __init__(
        self,
        dynamics: DynamicParameters,
        gains: NonsmoothGains = NonsmoothGains(),
        time_step: float = 0.01,
        torque_limit: float = math.inf,
        wheels: KnownWheels | None = None,
        longest_hold: float = math.inf,
    ) -> None:
        check_positive("published backstepping", time_step=time_step)
        check_limit("published backstepping", torque_limit=torque_limit, longest_hold=longest_hold)
        self.drivetrain = Drivetrain(dynamics, False, wheels, integral=False)
        self.gains = gains
        self.time_step = time_step
        self._limit = torque_limit
        self._longest_hold = longest_hold
        self.reset()

    def reset(self) -> None:
        """Reset the law, as starting() of the listing does."""
        self.drivetrain.reset()
        self._eta = REST
        self._since = 0.0
        self._torque: Torque = (0.0, 0.0)
        self.ignored = 0
        self.record: BackstepRecord | None = None

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Return the torque [left, right], N m; the previous one if the listing ignores the call.

        Args:
            state: With the velocity of odometry, the mean over the last period.
            reference: Only its pose is used.
            dt: Time since the previous update, s, > 0.

        Raises:
            ValueError: The reference or dt is not finite, or dt <= 0; nothing has changed then. Or
                calls have been ignored for longer than `longest_hold`.
        """
        check_reference(reference)
        check_period(dt)
        period = self._since + dt
        if abs(period - self.time_step) > self.time_step / 20.0:
            self._since = period
            self.ignored += 1
            if self.ignored * dt > self._longest_hold:
                raise ValueError(
                    f"law = published has ignored {self.ignored} joint states in a row: they "
                    f"arrive every {dt:.4g} s, and it needs one every {self.time_step} s within "
                    "5 %; set time_step, or use law = standard"
                )
            return self._torque
        pose, u = state.pose, state.velocity
        error = polar_error(offset_to_origin(pose, reference.pose))
        wanted, before = eta(error, self.gains), self._eta
        rate = Velocity((wanted.v - before.v) / period, (wanted.omega - before.omega) / period)
        backstep = Velocity(u.v - wanted.v, u.omega - wanted.omega)
        # Listing 3 drops the terms with 1 / e below DBL_EPSILON.
        near = error if error.e > sys.float_info.epsilon else error._replace(e=0.0)
        bar = backstep_command(near, backstep, self.gains)
        v = Velocity(bar.v + rate.v, bar.omega + rate.omega)
        free = self.drivetrain.torque(u, wanted, v, self.dynamics.drift(u), period)
        torque = limit_torque(free, self._limit)
        self._torque, self._eta = torque, wanted
        self._since, self.ignored = 0.0, 0
        set_point = reference.pose
        self.record = BackstepRecord(
            set_point=set_point,
            process_value=pose,
            process_value_dot=pose_rate(pose, u),
            error=Pose(*(r - p for r, p in zip(set_point, pose, strict=True))),
            time_step=period,
            command=torque,
            gammas=self.gains.gammas,
            lambdas=self.gains.lambdas,
            polar_error=error,
            backstep_set_point=wanted,
            backstep_set_point_dot=rate,
            backstep_process_value=u,
            backstep_error=backstep,
            backstep_command=bar,
            linear_dynamics_command=v,
            mode=Mode.PUBLISHED,
        )
        return self._torque
