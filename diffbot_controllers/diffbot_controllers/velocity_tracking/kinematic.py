"""Velocities that bring a robot onto a moving reference; (9)-(11) of Siwek et al. (2023).

Error of the pose in the robot's own frame, (9); r is the reference, theta the robot's heading:

    e_x     =  cos(theta) (x_r - x) + sin(theta) (y_r - y)
    e_y     = -sin(theta) (x_r - x) + cos(theta) (y_r - y)        e_theta = theta_r - theta

Law and gains, after Klancar, Matko and Blazic (2005), with the **reference's** v_d and omega_d:

    u_v     = v_d cos(e_theta) + k1 e_x
    u_omega = omega_d + sign(v_d) k2 sinc(e_theta) e_y + k3 e_theta                           (10)
    k1 = k3 = 2 eps omega_n,  k2 = b |v_d|,  omega_n = sqrt(omega_d^2 + b v_d^2 + floor^2)    (11)

(10) is printed with minus signs, without the reference's velocities, and (11) with the robot's own
velocity. So printed, the robot drives away from its reference: `published_velocity` shows it.

Three things are added, all without effect on small errors of a moving reference. The floor of the
frequency: with v_d = omega_d = 0 the gains of (11) are 0 and an error would stay. The steering is
written k3 (e_theta + psi), psi = k2 sign(v_d) e_y / k3, the direction back to the path, which is
kept within `approach`: far from its path a robot drives towards it, and does not spin. And a robot
that can only brake so hard comes near with v = sqrt(2 a x) instead of k x, so that a limit of its
commands does not make it overshoot for ever.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from arc_odometry import Pose, sinc
from diffbot_controllers.checks import check_finite, check_positive
from diffbot_controllers.motion import Velocity


class MovingReference(Protocol):
    """A reference with the fields of diffbot_controllers.Reference, m, rad and s."""

    x: float
    y: float
    theta: float
    v: float
    omega: float
    dv: float
    domega: float


class PoseError(NamedTuple):
    """The error (9) in the robot's frame.

    Attributes:
        x: of the reference ahead of the robot, m.
        y: to its left, m.
        theta: reference's heading minus the robot's, rad, within +-pi.
    """

    x: float
    y: float
    theta: float


@dataclass(frozen=True)
class KinematicGains:
    """Settings of (11).

    Attributes:
        damping: eps, > 0; up to 1 the error swings, as in the paper.
        b: 1/m^2, > 0: 1 / sqrt(b) is the distance driven in which an error across shrinks by e.
        floor: least natural frequency, rad/s, >= 0; 0 is (11), which leaves a robot at rest
            beside a reference at rest.
        approach: largest angle to the path on the way back to it, rad, > 0.

    Raises:
        ValueError: a gain is outside its limits.
    """

    damping: float = 0.8
    b: float = 40.0
    floor: float = 0.5
    approach: float = 1.0

    def __post_init__(self) -> None:
        check_positive("kinematic gains", damping=self.damping, b=self.b, approach=self.approach)
        check_finite("kinematic gains", floor=self.floor)
        if self.floor < 0.0:
            raise ValueError(f"kinematic gains: floor = {self.floor} rad/s: must be >= 0")

    def frequency(self, v: float, omega: float) -> float:
        """Natural frequency omega_n of (11), rad/s, at v in m/s and omega in rad/s."""
        return math.sqrt(omega * omega + self.b * v * v + self.floor * self.floor)


def pose_error(reference: MovingReference, pose: Pose) -> PoseError:
    """The error (9)."""
    dx, dy = reference.x - pose.x, reference.y - pose.y
    cosine, sine = math.cos(pose.theta), math.sin(pose.theta)
    return PoseError(
        cosine * dx + sine * dy,
        cosine * dy - sine * dx,
        math.remainder(reference.theta - pose.theta, math.tau),
    )


@dataclass(frozen=True)
class Braking:
    """How hard a robot can brake towards its reference's velocity, m/s^2 and rad/s^2, > 0.

    Attributes:
        ahead: along v, while the reference is ahead of the robot.
        behind: along v, while it is behind.
        left: of omega, while the robot has to turn to the left.
        right: of omega, while it has to turn to the right.
    """

    ahead: float = math.inf
    behind: float = math.inf
    left: float = math.inf
    right: float = math.inf


def kinematic_velocity(
    error: PoseError,
    reference: MovingReference,
    gains: KinematicGains,
    braking: Braking = Braking(),
) -> Velocity:
    """Velocity wanted, (10) with the right signs and feed-forward, m/s and rad/s.

    Without an error it is the reference's own velocity, in either driving direction.
    """
    v, omega = reference.v, reference.omega
    k = 2.0 * gains.damping * gains.frequency(v, omega)
    # sign(v) k2 = b v, which has no jump where the reference turns back. Without floor k may be 0.
    back = gains.b * v * sinc(error.theta) * error.y / k if k > 0.0 else 0.0
    steepest = min(gains.approach, _steepest(error.y, v, min(braking.left, braking.right)))
    turn = error.theta + max(-steepest, min(steepest, back))
    return Velocity(
        v * math.cos(error.theta) + _approach(error.x, k, braking.ahead, braking.behind),
        omega + _approach(turn, k, braking.left, braking.right),
    )


def _steepest(side: float, v: float, brake: float) -> float:
    """Angle to the path, rad, that a robot can turn away before it has come over the path.

    To turn by psi from rest to rest takes 2 sqrt(psi / brake), in which it comes nearer by half of
    v psi times that; twice this way is asked for.
    """
    if brake == math.inf or v == 0.0:
        return math.inf
    return (0.5 * abs(side) * math.sqrt(brake) / abs(v)) ** (2.0 / 3.0)


def _approach(way: float, rate: float, ahead: float, behind: float) -> float:
    """Speed that takes a way to 0: rate * way, but no more than can be braked away again.

    Beyond a / rate^2 it is the root, joined without a kink.
    """
    brake = ahead if way > 0.0 else behind
    size = abs(way)
    if size * rate * rate <= brake:
        return rate * way
    return math.copysign(math.sqrt(brake * (2.0 * size - brake / (rate * rate))), way)


def published_velocity(
    error: PoseError, velocity: Velocity, gains: KinematicGains, sign: float = -1.0
) -> Velocity:
    """Velocity wanted as (10), (11) are printed; for comparison only: it diverges.

    Args:
        error: of the pose.
        velocity: the robot's own, of which (11) makes the gains.
        gains: damping and b; the floor is not used.
        sign: -1 as printed; +1 turns the signs round and leaves the rest as printed.
    """
    v, omega = velocity
    k = 2.0 * gains.damping * math.sqrt(omega * omega + gains.b * v * v)
    side = math.copysign(gains.b * abs(v), v) * error.y
    return Velocity(sign * k * error.x, sign * (side + k * error.theta))
