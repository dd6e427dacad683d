"""What a control law is told: how the robot moves, and how it should."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from arc_odometry import Pose

# ---
# Checks of numbers that a law is given; each message names the number, its limit and its unit.


def check_finite(what: str, **values: float) -> None:
    """Refuse values that are not finite numbers.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not math.isfinite(value):
            raise ValueError(f"{what}: {name} = {value}: must be finite; check who sends it")


def check_positive(what: str, unbounded: bool = False, **values: float) -> None:
    """Refuse values that are not > 0; infinite ones too, but where `unbounded`.

    Raises:
        ValueError: names `what` and the value.
    """
    for name, value in values.items():
        if not value > 0.0 or (math.isinf(value) and not unbounded):
            limit = "> 0" if unbounded else "finite and > 0"
            raise ValueError(f"{what}: {name} = {value}: must be {limit}")


Torque = tuple[float, float]  # of the wheels [left, right], N m


class Velocity(NamedTuple):
    """Body velocity u = [v, omega], or something of its kind; also its rate of change.

    Attributes:
        v: along the robot's own x axis, m/s; of an acceleration m/s^2.
        omega: yaw rate, rad/s, counter-clockwise; of an acceleration rad/s^2.
    """

    v: float
    omega: float


REST = Velocity(0.0, 0.0)


@dataclass(frozen=True)
class State:
    """How the robot moves at one control instant.

    Attributes:
        pose: in the odom frame, m and rad; theta may count whole turns.
        velocity: at this instant, or the mean over the control interval that ends now, as
            differences of encoder positions give it; a law is told which when it is made.
        torque: that acted over the interval that ends now, [left, right], N m, as
            joint_states.effort reports it. None: what the law commanded, which is not so where
            somebody else limits the torque too.

    Raises:
        ValueError: a number is not finite.
    """

    pose: Pose
    velocity: Velocity
    torque: Torque | None = None

    def __post_init__(self) -> None:
        check_finite("state", x=self.pose.x, y=self.pose.y, theta=self.pose.theta)
        check_finite("state", v=self.velocity.v, omega=self.velocity.omega)
        if self.torque is not None:
            check_finite("state", torque_left=self.torque[0], torque_right=self.torque[1])


@dataclass(frozen=True)
class Reference:
    """Where the robot should be, how fast, and how that changes; the fields of PoseReference.msg.

    A set point has no velocity. Laws take any object with these attributes.

    Attributes:
        x: position of the middle of the axle in the odom frame, m.
        y: as x, m.
        theta: heading, rad; whole turns do not matter.
        v: velocity along the reference's own x axis, m/s.
        omega: yaw rate, rad/s.
        dv: rate of change of v, m/s^2.
        domega: rate of change of omega, rad/s^2.

    Raises:
        ValueError: a number is not finite.
    """

    x: float = 0.0
    y: float = 0.0
    theta: float = 0.0
    v: float = 0.0
    omega: float = 0.0
    dv: float = 0.0
    domega: float = 0.0

    def __post_init__(self) -> None:
        check_reference(self)


def check_reference(reference: Reference) -> None:
    """Refuse a reference with a number that is not finite.

    Raises:
        ValueError: names it.
    """
    names = ("x", "y", "theta", "v", "omega", "dv", "domega")
    check_finite("reference", **{name: getattr(reference, name) for name in names})


def check_period(dt: float) -> None:
    """Refuse a time since the last update that is not finite and > 0.

    Raises:
        ValueError: names it.
    """
    if not 0.0 < dt < float("inf"):
        raise ValueError(
            f"dt = {dt} s: must be finite and > 0; give the time since the last update"
        )


# ---
# The dynamic model of the robot and its inverse, the feedback linearization.

# Smallest |K7| and |K8|: 1e9 N m would then give less than 1 m/s^2. The robot is no robot.
SMALLEST_INPUT = 1e-9


@dataclass(frozen=True)
class BodyDynamics:
    """u' = f(u) + G tau, (61) of Lages (2017), (1) of Lages (2018), with wheel torques tau.

    v' = K5 omega^2 + K7 (tau_l + tau_r), omega' = K6 v omega + K8 (tau_l - tau_r). In the 2018
    paper f12 = K5, f21 = K6, g11 = g12 = K7, g21 = -g22 = K8. Its (4) prints g21 twice, which
    would be singular.

    Attributes:
        k5: m/rad^2.
        k6: 1/m.
        k7: m/(s^2 N m), > 0.
        k8: rad/(s^2 N m), < 0 with this order of the wheels.

    Raises:
        ValueError: a number is not finite, G is singular, or a sign would turn the loop unstable.
    """

    k5: float
    k6: float
    k7: float
    k8: float

    def __post_init__(self) -> None:
        check_finite("dynamic parameters", k5=self.k5, k6=self.k6, k7=self.k7, k8=self.k8)
        for name, value, sign in (("k7", self.k7, 1.0), ("k8", self.k8, -1.0)):
            if sign * value < SMALLEST_INPUT:
                limit = f"> {SMALLEST_INPUT}" if sign > 0.0 else f"< -{SMALLEST_INPUT}"
                raise ValueError(
                    f"dynamic parameters: {name} = {value}: must be {limit}, else G is singular or "
                    "torque acts the wrong way round; order the wheels [left, right]"
                )

    def drift(self, u: Velocity) -> Velocity:
        """f(u), the acceleration without torque, m/s^2 and rad/s^2; (3) of the 2018 paper."""
        return Velocity(self.k5 * u.omega * u.omega, self.k6 * u.v * u.omega)

    def mean_drift(self, u: Velocity, acceleration: Velocity, period: float) -> Velocity:
        """Mean of f over a period (s) in which u changes at a constant rate."""
        dv, domega = acceleration.v * period, acceleration.omega * period
        v, omega = u.v + 0.5 * dv, u.omega + 0.5 * domega
        return Velocity(
            self.k5 * (omega * omega + domega * domega / 12.0),
            self.k6 * (v * omega + dv * domega / 12.0),
        )

    def input_acceleration(self, torque: Torque) -> Velocity:
        """G tau, the acceleration by torque alone, m/s^2 and rad/s^2."""
        left, right = torque
        return Velocity(self.k7 * (left + right), self.k8 * (left - right))

    def torque(self, nu: Velocity, drift: Velocity) -> Torque:
        """Torque G^-1 (nu - f), (62) of the 2017 and (5) of the 2018 paper.

        Args:
            nu: acceleration wanted, m/s^2 and rad/s^2.
            drift: f(u), or its mean over the control interval, in which torque is constant.
        """
        total = (nu.v - drift.v) / self.k7
        difference = (nu.omega - drift.omega) / self.k8
        return 0.5 * (total + difference), 0.5 * (total - difference)
