"""What a control law is told: how the robot moves, and how it should."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from arc_odometry import Pose
from diffbot_controllers.checks import check_finite

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
