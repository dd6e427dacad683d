"""The published backstepping controller, Listing 3 of Lages (2018), to the letter."""

from __future__ import annotations

import math
import sys

from arc_odometry import Pose
from diffbot_controllers.backstep_record import BackstepRecord, pose_rate
from diffbot_controllers.checks import check_positive
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.goal_frame import offset_to_origin, pose_of
from diffbot_controllers.motion import (
    REST,
    Reference,
    State,
    Torque,
    Velocity,
    check_period,
    check_reference,
)
from diffbot_controllers.nonsmooth import NonsmoothGains, backstep_command, eta, polar_error
from diffbot_controllers.torque_limit import limit_torque


class PublishedBackstepping:
    """Listing 3 with its quirks; see StandardBackstepping for one to use.

    - eta' is the backward difference of eta, which is 0 before the first sample: a spike of torque
      there and at each step of the reference.
    - alpha and the heading are not wrapped. It parks in reverse (alpha = psi = 0 drives backwards).
    - A call that is not within 5 % of time_step after the last accepted one is ignored and the
      torque stays. As the time goes on counting, one lost sample is one too many: all calls
      after it are ignored too, and the last torque is held for ever. `ignored` counts them, so
      that the caller can stop the robot.
    - f(u) is that of the instant; no limit but the one asked for.

    Where the listing compares with DBL_EPSILON before it divides by alpha, the series of
    sinc is used: the value is the same.

    Args:
        dynamics: K5..K8, published or physical.
        gains: lambda, gamma.
        time_step: period that the law is made for, s, > 0.
        torque_limit: of a wheel, N m, > 0; infinite as published.

    Attributes:
        ignored: calls ignored in a row up to now; 0 when the last one was taken.

    Raises:
        ValueError: time_step or torque_limit is not > 0.
    """

    def __init__(
        self,
        dynamics: BodyDynamics,
        gains: NonsmoothGains = NonsmoothGains(),  # noqa: B008  (frozen)
        time_step: float = 0.01,
        torque_limit: float = math.inf,
    ) -> None:
        check_positive("published backstepping", time_step=time_step)
        check_positive("published backstepping", unbounded=True, torque_limit=torque_limit)
        self.dynamics = dynamics
        self.gains = gains
        self.time_step = time_step
        self._limit = torque_limit
        self.reset()

    def reset(self) -> None:
        """As the listing's starting()."""
        self._eta = REST
        self._since = 0.0
        self._torque: Torque = (0.0, 0.0)
        self.ignored = 0
        self.record: BackstepRecord | None = None

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Torque [left, right] in N m; that of before where the listing ignores the call.

        Args:
            state: its velocity as odometry gives it, the mean over the last period.
            reference: its pose only.
            dt: time since the update before, s, > 0.

        Raises:
            ValueError: the reference or dt is not finite, dt <= 0; nothing has changed then.
        """
        check_reference(reference)
        check_period(dt)
        period = self._since + dt
        if abs(period - self.time_step) > self.time_step / 20.0:
            self._since = period
            self.ignored += 1
            return self._torque
        pose, u = state.pose, state.velocity
        error = polar_error(offset_to_origin(pose, pose_of(reference)))
        wanted, before = eta(error, self.gains), self._eta
        rate = Velocity((wanted.v - before.v) / period, (wanted.omega - before.omega) / period)
        backstep = Velocity(u.v - wanted.v, u.omega - wanted.omega)
        # Listing 3 drops the terms with 1 / e below DBL_EPSILON.
        near = error if error.e > sys.float_info.epsilon else error._replace(e=0.0)
        bar = backstep_command(near, backstep, self.gains)
        v = Velocity(bar.v + rate.v, bar.omega + rate.omega)
        torque = limit_torque(self.dynamics.torque(v, self.dynamics.drift(u)), self._limit)
        self._torque, self._eta = torque, wanted
        self._since, self.ignored = 0.0, 0
        set_point = pose_of(reference)
        self.record = BackstepRecord(
            set_point,
            pose,
            pose_rate(pose, u),
            Pose(*(r - p for r, p in zip(set_point, pose, strict=True))),
            period,
            self._torque,
            self.gains.gammas,
            self.gains.lambdas,
            error,
            wanted,
            rate,
            u,
            backstep,
            bar,
            v,
            "published",
        )
        return self._torque
