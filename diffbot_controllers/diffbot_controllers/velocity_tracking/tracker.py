"""Kinematic and dynamic law in one: from a measured pose and velocity to a velocity command."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from arc_odometry import Pose
from diffbot_controllers.checks import check_finite, check_positive
from diffbot_controllers.motion import Velocity, check_reference
from diffbot_controllers.velocity_tracking.ahead import Ahead, reference_ahead
from diffbot_controllers.velocity_tracking.dynamic import (
    VelocityLimits,
    dynamic_command,
    wanted_acceleration,
)
from diffbot_controllers.velocity_tracking.kinematic import (
    KinematicGains,
    MovingReference,
    PoseError,
    kinematic_velocity,
    pose_error,
    published_velocity,
)
from diffbot_ident.velocity.sigma import Sigma


class SigmaSource(Protocol):
    """What the tracker needs of an on-line estimate, such as RecursiveFit."""

    @property
    def trusted(self) -> Sigma:
        """The newest sigma that may be driven with."""

    def update(
        self, stamp: float, velocity: tuple[float, float], command: tuple[float, float]
    ) -> None:
        """Take in a measured velocity and the command that held since the stamp before."""


@dataclass(frozen=True)
class TrackerSettings:
    """Settings of the tracker.

    Attributes:
        damping: eps of (11), > 0.
        b: of (11), 1/m^2, > 0.
        k_v: k_v of (12), 1/s, > 0.
        k_w: k_omega of (12), 1/s, > 0.
        floor: least natural frequency of the kinematic law, rad/s, >= 0.
        limits: of commands and accelerations.
        dead_time: from a command to its effect, s, >= 0. The law then works with the state that
            its earlier commands lead to, so that a late robot does not swing.
        published: (10) and (11) as printed, which diverge; for comparison only.
        longest_gap: a longer time between two updates begins anew, s, > 0.

    Raises:
        ValueError: a setting is outside its limits.
    """

    damping: float = 0.8
    b: float = 40.0
    k_v: float = 10.0
    k_w: float = 10.0
    floor: float = 0.5
    limits: VelocityLimits = VelocityLimits()
    dead_time: float = 0.0
    published: bool = False
    longest_gap: float = 0.5

    def __post_init__(self) -> None:
        check_positive("tracker", k_v=self.k_v, k_w=self.k_w, longest_gap=self.longest_gap)
        check_finite("tracker", dead_time=self.dead_time)
        if self.dead_time < 0.0:
            raise ValueError(f"tracker: dead_time = {self.dead_time} s: must be >= 0")
        _ = self.gains  # checks them

    @property
    def gains(self) -> KinematicGains:
        """Of the kinematic law."""
        return KinematicGains(self.damping, self.b, self.floor)


@dataclass(frozen=True)
class TrackerRecord:
    """What one update of the tracker did.

    Attributes:
        stamp: s.
        error: of the pose in the robot's frame, (9), as measured, m, m, rad.
        velocity_error: reference's velocity minus the measured one, m/s and rad/s.
        wanted: velocity by the kinematic law, (10), m/s and rad/s.
        acceleration: asked of the dynamic law, within its limits, m/s^2 and rad/s^2.
        command: (v, omega), within its limits, m/s and rad/s.
        sigma: in use.
        limited: whether (v, omega) of the command or its acceleration met a limit.
    """

    stamp: float
    error: PoseError
    velocity_error: Velocity
    wanted: Velocity
    acceleration: Velocity
    command: Velocity
    sigma: Sigma
    limited: tuple[bool, bool]


class VelocityTracker:
    """Follows moving references, forwards and backwards, by velocity commands.

    Args:
        settings: gains, limits and dead time.
        sigma: the robot's parameters; with an estimator: used until it has something better.
        estimator: of sigma while driving; None: sigma stays.

    Attributes:
        last: record of the newest update; None before the first.
    """

    def __init__(
        self, settings: TrackerSettings, sigma: Sigma, estimator: SigmaSource | None = None
    ) -> None:
        self.settings = settings
        self._sigma = sigma
        self._estimator = estimator
        self._ahead = Ahead(settings.dead_time)
        self.reset()

    @property
    def sigma(self) -> Sigma:
        """In use now."""
        return self._sigma if self._estimator is None else self._estimator.trusted

    def reset(self) -> None:
        """Forget commands under way, as after a stop; the estimate stays."""
        self.last: TrackerRecord | None = None
        self._ahead.reset()

    def update(
        self,
        stamp: float,
        reference: MovingReference,
        pose: tuple[float, float, float],
        velocity: tuple[float, float],
        applied: tuple[float, float] | None = None,
        ahead: MovingReference | None = None,
    ) -> Velocity:
        """Command of (v, omega), m/s and rad/s, for the period that begins.

        Args:
            stamp: of the measurement, s.
            reference: at that time, without a preview.
            pose: measured x, y in m and theta in rad, in the frame of the reference.
            velocity: measured v in m/s and omega in rad/s.
            applied: command that held since the update before, where somebody else limited what
                this gave; None: what this gave.
            ahead: the reference at stamp + dead_time; None: guessed from the one at the stamp.

        Raises:
            ValueError: a number is not finite, or the stamp is not later than the one before;
                nothing has changed then.
        """
        pose, velocity = Pose(*pose), Velocity(*velocity)
        check_finite("measurement", stamp=stamp, x=pose.x, y=pose.y, theta=pose.theta)
        check_finite("measurement", v=velocity.v, omega=velocity.omega)
        for wanted in (reference, ahead or reference):
            check_reference(wanted)
        self._take_in(stamp, velocity, applied)
        error = pose_error(reference, pose)
        speed_error = Velocity(reference.v - velocity.v, reference.omega - velocity.omega)
        sigma, settings = self.sigma, self.settings
        if settings.dead_time > 0.0:
            pose, velocity = self._ahead.state(pose, velocity, sigma)
            reference = ahead or reference_ahead(reference, settings.dead_time)
        if settings.published:
            wanted = published_velocity(pose_error(reference, pose), velocity, settings.gains)
        else:
            braking = settings.limits.braking(sigma, reference)
            wanted = kinematic_velocity(
                pose_error(reference, pose), reference, settings.gains, braking
            )
        asked = wanted_acceleration(
            wanted,
            velocity,
            Velocity(reference.dv, reference.domega),
            Velocity(settings.k_v, settings.k_w),
        )
        acceleration = settings.limits.acceleration(asked)
        free = dynamic_command(sigma, velocity, acceleration)
        check_finite("command is beyond floating point", v=free.v, omega=free.omega)
        command = settings.limits.command(free)
        limited = tuple(
            a != b or c != d for a, b, c, d in zip(asked, acceleration, free, command, strict=True)
        )
        self.last = TrackerRecord(
            stamp, error, speed_error, wanted, acceleration, command, sigma, limited
        )
        return command

    def _take_in(
        self, stamp: float, velocity: Velocity, applied: tuple[float, float] | None
    ) -> None:
        """Tell the estimator and the prediction which command held since the last update."""
        if self.last is None:
            return
        since = stamp - self.last.stamp
        if since <= 0.0:
            raise ValueError(
                f"stamp = {stamp} s after {self.last.stamp} s: must rise; reset after a jump back"
            )
        if since > self.settings.longest_gap:
            # Nobody knows what was commanded meanwhile.
            self.reset()
            return
        command = self.last.command if applied is None else Velocity(*applied)
        check_finite("applied command", v=command.v, omega=command.omega)
        self._ahead.hold(self.last.stamp, stamp, command)
        if self._estimator is not None:
            self._estimator.update(stamp, velocity, command)
