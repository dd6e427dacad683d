"""The backstepping controller to use: Lages (2018), (5)-(34), corrected and made practical."""

from __future__ import annotations

import math
from dataclasses import dataclass

from arc_odometry import Pose
from diffbot_controllers.laws import rates
from diffbot_controllers.laws.approach import (
    Approach,
    ApproachGains,
    BackstepRecord,
    PolarError,
    moving_offset,
    pose_of,
    pose_rate,
    preview,
)
from diffbot_controllers.laws.feedback_linearization import VelocityEstimate, VelocityServo
from diffbot_controllers.laws.motion import (
    BodyDynamics,
    Reference,
    State,
    Torque,
    Velocity,
    check_period,
    check_positive,
    check_reference,
)
from diffbot_controllers.laws.rates import Rate

# ---
# Velocities that keep the robot on a moving reference: feed-forward and small corrections.


@dataclass(frozen=True)
class TrackerGains:
    """Gains of the tracker.

    Attributes:
        along: rate at which the error along the robot's axis shrinks, 1/s, > 0.
        reach: distance driven in which the error across shrinks by e, m, > 0.
        turning: least rate at which the heading error shrinks, 1/s, > 0.

    Raises:
        ValueError: a gain is outside its limits.
    """

    along: float = 4.5
    reach: float = 0.2
    turning: float = 2.0

    def __post_init__(self) -> None:
        check_positive("tracker gains", along=self.along, reach=self.reach, turning=self.turning)


def tracking_velocity(
    x: Rate, y: Rate, theta: Rate, v: Rate, omega: Rate, gains: TrackerGains
) -> tuple[Rate, Rate]:
    """Velocities eta = [v, omega] that follow a reference in either driving direction.

    eta_1 = v cos(theta) + k1 x, eta_2 = omega + b v sinc(theta) y + k3 theta (Samson 1993),
    b = 1 / reach^2, k3 = 2 sqrt(omega^2 + b v^2 + (turning / 2)^2). With
    V = b (x^2 + y^2) / 2 + theta^2 / 2, V' = -b k1 x^2 - k3 theta^2: the error shrinks from
    anywhere, across the path too while v is not 0. Without an error the reference's own
    velocity is left, so that a robot on the path has no lag.

    Args:
        x: of the reference in the robot's frame, m.
        y: as x, m.
        theta: reference's heading minus the robot's, rad, within +-pi.
        v: velocity of the reference, m/s, and its rate of change.
        omega: yaw rate of the reference, rad/s, and its rate of change.
        gains: k1 and the rest.
    """
    b = 1.0 / gains.reach**2
    k3 = 2.0 * rates.sqrt(omega * omega + b * v * v + 0.25 * gains.turning**2)
    eta1 = v * rates.cos(theta) + gains.along * x
    eta2 = omega + b * v * rates.sinc(theta) * y + k3 * theta
    return eta1, eta2


# A reference below this speed, m/s (or rad/s), is at rest.
STANDSTILL = 1e-3
APPROACH, TRACK = "approach", "track"


class StandardBackstepping:
    """Parks at poses and follows trajectories, both ways round, without spikes and lag.

    The outer part says which velocity eta the robot should have, the inner part (VelocityServo)
    makes it have it. While the reference rests or is far, eta is that of Approach, towards where
    the reference will be 1 / gamma1 later. Near a moving reference it is that of the tracker, with
    feed-forward. eta' is exact and knows the reference's own motion, so that a step of it
    gives no derivative of the step.

    Args:
        dynamics: K5..K8; they may be replaced between two updates.
        gains: of the approach, with the bounds of speed.
        tracker: gains of the tracker.
        servo: of the velocity, with the limits of torque and acceleration.
        direction: in which the robot arrives at a set point: "forwards", "backwards" or "either".
            The tracker drives as its reference does.
        capture: distance to a moving reference, m, > 0, within which the tracker takes over. It
            hands back beyond twice that.
        mean_velocity: whether State.velocity is the mean over the last period (encoders).

    Raises:
        ValueError: an argument is outside its limits.
    """

    def __init__(
        self,
        dynamics: BodyDynamics,
        gains: ApproachGains = ApproachGains(),  # noqa: B008  (frozen)
        tracker: TrackerGains = TrackerGains(),
        servo: VelocityServo = VelocityServo(),  # noqa: B008
        direction: str = "either",
        capture: float = 0.6,
        mean_velocity: bool = False,
    ) -> None:
        check_positive("standard backstepping", capture=capture)
        self._estimate = VelocityEstimate(dynamics, mean_velocity)
        self._approach = Approach(gains, direction)
        self._tracker = tracker
        self._servo = servo
        self._capture = capture
        self.reset()

    @property
    def dynamics(self) -> BodyDynamics:
        """K5..K8 in use."""
        return self._estimate.dynamics

    @dynamics.setter
    def dynamics(self, dynamics: BodyDynamics) -> None:
        self._estimate.dynamics = dynamics

    def reset(self) -> None:
        """Forget the past."""
        self._estimate.reset()
        self._approach.reset()
        self._mode = APPROACH
        self.record: BackstepRecord | None = None

    def update(self, state: State, reference: Reference, dt: float) -> Torque:
        """Torque [left, right] in N m for the period that begins; `record` then says why.

        Args:
            state: of the robot now.
            reference: for the same instant.
            dt: time since the update before, s, > 0.

        Raises:
            ValueError: the reference or dt is not finite, dt <= 0, or numbers are so large that the
                torque is not finite.
        """
        check_reference(reference)
        check_period(dt)
        u = self._estimate.update(state, dt)
        self._mode = self._next_mode(state.pose, reference)
        if self._mode == TRACK:
            eta1, eta2 = self._track(state.pose, u, reference)
        else:
            eta1, eta2 = self._drive_near(state.pose, u, reference)
        eta, rate = Velocity(eta1.value, eta2.value), Velocity(eta1.rate, eta2.rate)
        v = self._servo.acceleration(u, eta, rate, dt)
        torque = self._servo.torque(self.dynamics, u, v, dt)
        self._estimate.command(torque)
        self.record = self._recorded(state.pose, reference, dt, u, eta, rate, v, torque)
        return torque

    def _next_mode(self, pose: Pose, reference: Reference) -> str:
        """TRACK near a moving reference and roughly in its direction, else APPROACH."""
        if max(abs(reference.v), abs(reference.omega)) < STANDSTILL:
            return APPROACH
        distance = math.hypot(reference.x - pose.x, reference.y - pose.y)
        if self._mode == TRACK:
            return TRACK if distance < 2.0 * self._capture else APPROACH
        turned = abs(math.remainder(reference.theta - pose.theta, math.tau))
        return TRACK if distance < self._capture and turned < 0.5 * math.pi else APPROACH

    def _drive_near(self, pose: Pose, u: Velocity, reference: Reference) -> tuple[Rate, Rate]:
        """Eta towards where the reference will be, which cancels the lag of (14), v / gamma_1."""
        goal = preview(reference, 1.0 / self._approach.gains.gamma1)
        motion = Velocity(reference.v, reference.omega)
        return self._approach.velocity(*moving_offset(pose, u, goal, motion), u.v)

    def _track(self, pose: Pose, u: Velocity, reference: Reference) -> tuple[Rate, Rate]:
        """Eta of the tracker within the bounds of speed."""
        self._approach.reset()
        motion = Velocity(reference.v, reference.omega)
        v, omega = Rate(reference.v, reference.dv), Rate(reference.omega, reference.domega)
        # The reference as seen from the robot: the roles of (7) exchanged.
        x, y, theta = moving_offset(pose_of(reference), motion, pose, u)
        eta1, eta2 = tracking_velocity(x, y, theta, v, omega, self._tracker)
        return self._approach.bounded(eta1, eta2, u.v)

    def _recorded(
        self,
        pose: Pose,
        reference: Reference,
        dt: float,
        u: Velocity,
        eta: Velocity,
        rate: Velocity,
        v: Velocity,
        torque: Torque,
    ) -> BackstepRecord:
        set_point = pose_of(reference)
        dx, dy = set_point.x - pose.x, set_point.y - pose.y
        turn = math.remainder(set_point.theta - pose.theta, math.tau)
        error = self._approach.error
        if self._mode == TRACK:
            error = PolarError(math.hypot(dx, dy), 0.0, -turn)
        return BackstepRecord(
            set_point,
            pose,
            pose_rate(pose, u),
            Pose(dx, dy, turn),
            dt,
            torque,
            (self._approach.gains.gamma1, self._approach.gains.gamma2),
            (1.0, self._approach.gains.ratio),
            error,
            eta,
            rate,
            u,
            Velocity(u.v - eta.v, u.omega - eta.omega),
            Velocity(v.v - rate.v, v.omega - rate.omega),
            v,
            self._mode,
        )
