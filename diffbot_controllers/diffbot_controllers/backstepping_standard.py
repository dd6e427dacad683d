"""The backstepping controller to use: Lages (2018), (5)-(34), corrected and made practical."""

from __future__ import annotations

import math

from arc_odometry import Pose
from diffbot_controllers.approach import Approach, PolarError
from diffbot_controllers.approach_settings import ApproachGains
from diffbot_controllers.backstep_record import BackstepRecord, pose_rate
from diffbot_controllers.checks import check_positive
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.goal_frame import moving_offset, pose_of, preview
from diffbot_controllers.motion import (
    Reference,
    State,
    Torque,
    Velocity,
    check_period,
    check_reference,
)
from diffbot_controllers.rates import Rate
from diffbot_controllers.tracker import TrackerGains, tracking_velocity
from diffbot_controllers.velocity_estimate import VelocityEstimate
from diffbot_controllers.velocity_servo import VelocityServo

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
        tracker: TrackerGains = TrackerGains(),  # noqa: B008
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
