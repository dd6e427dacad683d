# SPDX-License-Identifier: Apache-2.0
"""The tracking law for robots with velocity commands, (9)-(12) of Siwek et al. (2023).

Equations, errata and additions: docs/theory/velocity_tracking.md.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, Protocol

from arc_odometry import REST, Arc, MotionLimits, Pose, Velocity, sinc
from arc_odometry.number_range import check_finite, check_positive, within
from diffbot_controllers.laws.dual import Dual
from diffbot_controllers.laws.polar_approach import Approach, ApproachGains, offset_to_origin
from diffbot_controllers.velocity_tracking.command_course import CommandCourse, Piece
from diffbot_controllers.velocity_tracking.dead_band_compensation import (
    NO_DEAD_BANDS,
    BandPair,
    DeadBandCompensation,
)
from diffbot_description import Sigma
from diffbot_description.command_ramp import UNLIMITED, CommandRamp
from diffbot_description.dead_band import DeadBandKind
from pose2d_trajectories import Reference
from pose2d_trajectories.reference import check_reference

# Part of the deceleration and the rate of a lag that an approach with a ramp uses.
LATE = 0.5
# Part of a ramp's slope with which accelerations end; the rest is for corrections.
FOLLOWED = 0.8
# Ratio of the velocity loops' rates to those of the approach to a set point, which neglects them.
SLOWER = 5.0
# Time in which the first command of a ramp acts, s.
FIRST_PERIOD = 0.02
# Difference of both axes' dead times up to which they are taken for one, s.
ALIKE = 0.005
# Longest dead time that an estimator may find, s.
LONGEST_DEAD_TIME = 1.0


class PoseError(NamedTuple):
    """The error (9) in the robot's frame: the reference is x m ahead and y m to the left.

    `theta`, rad, within +-pi, is the reference's heading minus the robot's.
    """

    x: float
    y: float
    theta: float


@dataclass(frozen=True)
class KinematicGains:
    """Settings of (11); a ValueError if they are outside their limits.

    Attributes:
        damping: eps, > 0; below 1 the error oscillates, as in the paper.
        b: 1/m^2, > 0: a lateral error decays by the factor e in 1 / sqrt(b) of driven distance.
        floor: Minimum natural frequency, rad/s, >= 0; with 0, as in (11), a robot may stay at rest
            beside a reference at rest.
        approach: Maximum angle to the path during the return to it, rad, > 0.
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
        """Return the natural frequency omega_n of (11), rad/s, at v in m/s and omega in rad/s."""
        return math.sqrt(omega * omega + self.b * v * v + self.floor * self.floor)


def pose_error(reference: Reference, pose: Pose) -> PoseError:
    """Return the pose error (9)."""
    dx, dy = reference.x - pose.x, reference.y - pose.y
    cosine, sine = math.cos(pose.theta), math.sin(pose.theta)
    return PoseError(
        cosine * dx + sine * dy,
        cosine * dy - sine * dx,
        math.remainder(reference.theta - pose.theta, math.tau),
    )


@dataclass(frozen=True)
class Braking:
    """Possible decelerations towards the reference's velocity, m/s^2 and rad/s^2, > 0.

    Of v while the reference is ahead or behind, of omega while the robot must turn left or right.
    """

    ahead: float = math.inf
    behind: float = math.inf
    left: float = math.inf
    right: float = math.inf


def kinematic_velocity(
    error: PoseError,
    reference: Reference,
    gains: KinematicGains,
    braking: Braking = Braking(),
) -> Velocity:
    """Return the desired velocity, (10) with correct signs and feed-forward, m/s and rad/s."""
    v, omega = reference.v, reference.omega
    k = 2.0 * gains.damping * gains.frequency(v, omega)
    # sign(v) k2 = b v is continuous where the reference reverses. Without a floor k may be 0.
    back = gains.b * v * sinc(error.theta) * error.y / k if k > 0.0 else 0.0
    steepest = min(gains.approach, _steepest(error.y, v, min(braking.left, braking.right)))
    turn = error.theta + within(back, steepest)
    return Velocity(
        v * math.cos(error.theta) + _approach(error.x, k, braking.ahead, braking.behind),
        omega + _approach(turn, k, braking.left, braking.right),
    )


def _steepest(side: float, v: float, brake: float) -> float:
    """Return the largest angle to the path, rad, that a robot can undo before crossing it."""
    if brake == math.inf or v == 0.0:
        return math.inf
    return math.pow(0.5 * abs(side) * math.sqrt(brake) / abs(v), 2.0 / 3.0)


def _approach(direction: float, rate: float, ahead: float, behind: float) -> float:
    """Return the speed that reduces a distance to 0: rate times it, limited by braking."""
    brake = ahead if direction > 0.0 else behind
    size = abs(direction)
    if size * rate * rate <= brake:
        return rate * direction
    return math.copysign(math.sqrt(brake * (2.0 * size - brake / (rate * rate))), direction)


def published_velocity(error: PoseError, velocity: Velocity, gains: KinematicGains) -> Velocity:
    """Return the desired velocity as printed in (10), (11); for comparison only: it diverges."""
    v, omega = velocity
    k = 2.0 * gains.damping * math.sqrt(omega * omega + gains.b * v * v)
    side = math.copysign(gains.b * abs(v), v) * error.y
    return Velocity(-k * error.x, -(side + k * error.theta))


def within_bands(limits: MotionLimits, bands: BandPair) -> MotionLimits:
    """Return the limits of the acting velocities, which the offsets of dead bands reduce."""
    lost = [band.width if band.kind is DeadBandKind.OFFSET else 0.0 for band in bands]
    if lost == [0.0, 0.0]:
        return limits
    return replace(
        limits,
        linear_velocity=limits.linear_velocity - lost[0],
        angular_velocity=limits.angular_velocity - lost[1],
    )


def possible_braking(
    limits: MotionLimits, sigma: Sigma, reference: Reference, ramp: CommandRamp | None = None
) -> Braking:
    """Return the decelerations to a reference's velocity possible within limits.

    `ramp` limits the commands' change: a robot's acceleration is that over its drag.
    """
    slopes = UNLIMITED if ramp is None else ramp.slowest
    (_, drag), (_, turning_drag) = sigma.axis(0), sigma.axis(1)
    ahead, behind = _braking(
        *sigma.axis(0), limits.linear_velocity,
        min(limits.linear_acceleration, _ratio(slopes.v, drag)), reference.v, reference.dv,
    )  # fmt: skip
    left, right = _braking(
        *sigma.axis(1), limits.angular_velocity,
        min(limits.angular_acceleration, _ratio(slopes.omega, turning_drag)),
        reference.omega, reference.domega,
    )  # fmt: skip
    return Braking(ahead, behind, left, right)


def approach_gains(
    limits: MotionLimits, sigma: Sigma, ramp: CommandRamp | None, k: tuple[float, float]
) -> ApproachGains:
    """Return gains of the approach to a set point, slow enough for loops of k_v and k_omega, 1/s.

    `limits` are those of the velocities that act.
    """
    rest = Reference(0.0, 0.0, 0.0)
    braking = possible_braking(limits, sigma, rest, ramp)
    gammas, decelerations = [], []
    slopes = UNLIMITED if ramp is None else ramp.slowest
    for axis, deceleration in enumerate((braking.ahead, braking.left)):
        inertia, drag = sigma.axis(axis)
        gamma = k[axis] / SLOWER
        if slopes[axis] < math.inf and drag > 0.0:
            # A ramp does not let the lag be passed over: braking begins that much later.
            deceleration *= LATE
            gamma = min(gamma, LATE * drag / inertia)
        gammas.append(gamma)
        decelerations.append(deceleration)
    return ApproachGains(
        gamma1=gammas[0],
        gamma2=gammas[1],
        linear_velocity=limits.linear_velocity,
        angular_velocity=limits.angular_velocity,
        deceleration=decelerations[0],
        angular_deceleration=decelerations[1],
        rims=limits.rims,
    )


def _ratio(limit: float, drag: float) -> float:
    return limit / drag if drag > 0.0 else math.inf


def _braking(
    inertia: float, drag: float, command: float, acceleration: float, speed: float, slope: float
) -> tuple[float, float]:
    """Return the possible decelerations of an error while it is positive, and while negative.

    By (3), relative to the reference's own acceleration; a fifth is reserved for corrections.
    """
    both = []
    for side in (1.0, -1.0):
        hardest = min((command + side * drag * speed) / inertia, acceleration) + side * slope
        # A reference that the robot cannot follow leaves none; with a small one it does not stop.
        both.append(max(0.8 * hardest, 0.05 * min(command / inertia, acceleration)))
    return both[0], both[1]


class DeadTimePredictor:
    """Stores the newest commands and predicts the effect of those that have none yet.

    `longest` is the longest dead time that is predicted over, s, >= 0.
    """

    def __init__(self, longest: float) -> None:
        self._longest = longest
        self.reset()

    def reset(self) -> None:
        """Forget all commands: rest was commanded for longer than the dead time."""
        self._stuck: deque[Piece] = deque()

    def hold(self, pieces: Sequence[Piece]) -> None:
        """Store what takes effect, a dead time later, of the newest command."""
        self._stuck.extend(pieces)
        while self._stuck and self._stuck[0].end <= pieces[-1].end - self._longest:
            self._stuck.popleft()

    def predict(
        self,
        pose: Pose,
        velocity: Velocity,
        sigma: Sigma,
        dead_time: tuple[float, float],
        horizon: float,
    ) -> tuple[Pose, Velocity]:
        """Predict pose and velocity `horizon` s after the newest command was sent.

        Commands of (v, omega) act after their dead times, s; what is not sent yet is like the
        newest one. The velocity follows (3) exactly; the path is, piece by piece, the arc of the
        mean velocity.
        """
        now = self._stuck[-1].end if self._stuck else 0.0
        late = min(dead_time[0], self._longest), min(dead_time[1], self._longest)
        end = now + min(horizon, self._longest)
        changes = (each.start + wait for each in self._stuck for wait in set(late))
        edges = sorted({now, end, *(t for t in changes if now < t < end)})
        for start, stop in pairwise(edges):
            middle = 0.5 * (start + stop)
            command = self._sent(middle - late[0])
            if late[1] != late[0]:
                command = Velocity(command.v, self._sent(middle - late[1]).omega)
            pose, velocity = self._moved(pose, velocity, command, stop - start, sigma)
        return pose, velocity

    def _sent(self, time: float) -> Velocity:
        """Return what a command sent at a time, s, makes act."""
        index = bisect_right(self._stuck, time, key=lambda piece: piece.start)
        return self._stuck[index - 1].acting if index else REST

    @staticmethod
    def _moved(
        pose: Pose, velocity: Velocity, command: Velocity, duration: float, sigma: Sigma
    ) -> tuple[Pose, Velocity]:
        after = sigma.after(velocity, command, duration)
        half = 0.5 * duration
        direction = Arc(half * (velocity.v + after.v), half * (velocity.omega + after.omega))
        return direction.end(pose), after


class _Motion(NamedTuple):
    """A reference, and the robot's predicted motion at its time."""

    reference: Reference
    pose: Pose
    velocity: Velocity

    def with_turn_of(self, other: _Motion) -> _Motion:
        """Return this motion with omega of another time."""
        turn = other.reference
        reference = replace(self.reference, omega=turn.omega, domega=turn.domega)
        return self._replace(
            reference=reference, velocity=Velocity(self.velocity.v, other.velocity.omega)
        )


class SigmaSource(Protocol):
    """Interface of an online estimator for the tracker, such as RecursiveFit."""

    @property
    def trusted(self) -> Sigma:
        """The newest sigma that may be used for driving."""

    @property
    def dead_band(self) -> BandPair:
        """Dead bands of the commands that belong to this sigma."""

    @property
    def dead_time(self) -> tuple[float, float]:
        """Dead times of v and omega, s: the newest that may be used."""

    def update(
        self, stamp: float, velocity: tuple[float, float], command: tuple[float, float]
    ) -> None:
        """Process a measured velocity and the command held since the previous stamp."""


@dataclass(frozen=True)
class TrackerSettings:
    """Settings of the tracker; a ValueError if they are outside their limits.

    Attributes:
        gains: Those of the kinematic law, (11).
        k_v: k_v of (12), 1/s, > 0; `k_w`: k_omega.
        dead_time: From a command to its effect on (v, omega), s, >= 0; an estimator only starts
            with them.
        dead_band: Of (v, omega), below their limits; an estimator only starts with them.
        ramp: Limits of acceleration of the robot's driver; None: none.
        direction: In which the robot arrives at a set point: either, forwards or backwards.
        published: Whether to use (10) and (11) as printed, which diverge.
        longest_gap: A longer time between two updates resets the tracker, s, > 0.
    """

    gains: KinematicGains = KinematicGains()
    k_v: float = 10.0
    k_w: float = 10.0
    limits: MotionLimits = MotionLimits()
    dead_time: tuple[float, float] = (0.0, 0.0)
    dead_band: BandPair = NO_DEAD_BANDS
    ramp: CommandRamp | None = None
    direction: str = "either"
    published: bool = False
    longest_gap: float = 0.5

    def __post_init__(self) -> None:
        check_positive("tracker", k_v=self.k_v, k_w=self.k_w, longest_gap=self.longest_gap)
        for late in self.dead_time:
            check_finite("tracker", dead_time=late)
            if late < 0.0:
                raise ValueError(f"tracker: dead_time = {late} s: must be >= 0")
        limits = (self.limits.linear_velocity, self.limits.angular_velocity)
        for axis, band, limit in zip(("v", "omega"), self.dead_band, limits, strict=True):
            if not band.width < limit:
                raise ValueError(
                    f"tracker: dead_band of {axis} = {band.width}: must be < {limit}, its largest "
                    "command, else no command moves the robot; raise that limit"
                )


@dataclass(frozen=True)
class TrackerRecord:
    """Variables of one update of the tracker.

    Attributes:
        stamp: Of the measurement, s.
        error: Measured pose error in the robot's frame, (9), m, m, rad.
        wanted: Desired velocity by the kinematic law, (10), m/s and rad/s.
        acceleration: Of the dynamic law within its limits, m/s^2 and rad/s^2.
        command: (v, omega) with dead band compensation and within its limits, m/s and rad/s.
        limited: Whether (v, omega) of the command or its acceleration reached a limit.
    """

    stamp: float
    error: PoseError
    wanted: Velocity
    acceleration: Velocity
    command: Velocity
    sigma: Sigma
    dead_band: BandPair
    limited: tuple[bool, bool]


class VelocityTracker:
    """Follows moving references, forwards and backwards, by velocity commands.

    Example:
        >>> tracker = VelocityTracker(TrackerSettings(), Sigma(0.2, 0.1, 1.0, 1.0))
        >>> reference = Reference(0.1, 0.0, 0.0, v=0.5)  # 0.1 m ahead
        >>> round(tracker.update(0.0, reference, (0.0, 0.0, 0.0), (0.5, 0.0)).v, 2)
        1.52

    Args:
        sigma: The robot's parameters, used if there is no estimator.
        estimator: Estimator of sigma while driving.

    Attributes:
        last: Record of the last update; None before the first.
    """

    def __init__(
        self, settings: TrackerSettings, sigma: Sigma, estimator: SigmaSource | None = None
    ) -> None:
        self.settings = settings
        self._sigma = sigma
        self._estimator = estimator
        self._predictor = DeadTimePredictor(max(*settings.dead_time, LONGEST_DEAD_TIME))
        self._compensation = DeadBandCompensation()
        self._course = CommandCourse(settings.ramp)
        self._approach = Approach(ApproachGains(), settings.direction)
        self.reset()

    @property
    def sigma(self) -> Sigma:
        return self._sigma if self._estimator is None else self._estimator.trusted

    @property
    def dead_band(self) -> BandPair:
        return self.settings.dead_band if self._estimator is None else self._estimator.dead_band

    @property
    def dead_time(self) -> tuple[float, float]:
        """Dead times of (v, omega) in use, s: the mean for both where they hardly differ."""
        v, omega = (self.settings if self._estimator is None else self._estimator).dead_time
        if abs(v - omega) > ALIKE:
            return v, omega
        return 0.5 * (v + omega), 0.5 * (v + omega)

    def reset(self) -> None:
        """Forget the stored commands, as after a stop; the estimate stays."""
        self.last: TrackerRecord | None = None
        self._predictor.reset()
        self._compensation.reset()
        self._course.reset()
        self._approach.reset()
        self._period = FIRST_PERIOD  # s between the last two updates

    def update(
        self,
        stamp: float,
        reference: Reference,
        pose: tuple[float, float, float],
        velocity: tuple[float, float],
        applied: tuple[float, float] | None = None,
        ahead: Callable[[float], Reference] | None = None,
        set_point: bool = False,
    ) -> Velocity:
        """Return the command of (v, omega), m/s and rad/s, for the next period.

        Args:
            stamp: Of the measurement, s; `reference`: at that time.
            pose: Measured x, y, theta, m and rad, in the frame of the reference.
            velocity: Measured v in m/s and omega in rad/s.
            applied: Command held since the previous update, if not the returned one.
            ahead: Reference at a time, s, after the stamp; None: extrapolated.
            set_point: Whether the reference is a pose to park at, which the robot approaches on a
                path of its own.

        Raises:
            ValueError: A number is not finite, or the stamp is not later than the previous one;
                nothing has changed then.
        """
        pose, velocity = Pose(*pose), Velocity(*velocity)
        check_finite("measurement", stamp=stamp, x=pose.x, y=pose.y, theta=pose.theta)
        check_finite("measurement", v=velocity.v, omega=velocity.omega)
        check_reference(reference)
        self._take_in(stamp, velocity, applied)
        error = pose_error(reference, pose)
        sigma, bands, settings = self.sigma, self.dead_band, self.settings
        # The command of each axis is that for the motion in which it will act.
        then, turning = (
            self._when(late, reference, pose, velocity, ahead) for late in self.dead_time
        )
        wanted, asked = self._asked(then, set_point)
        if turning != then:
            other, domega = self._asked(turning, set_point)
            wanted, asked = Velocity(wanted.v, other.omega), Velocity(asked.v, domega.omega)
            then = then.with_turn_of(turning)
        acceleration = settings.limits.acceleration(asked)
        acting = sigma.command(then.velocity, acceleration)
        command, limited = self._commands(acting, bands, wanted, then.reference)
        self.last = TrackerRecord(
            stamp=stamp,
            error=error,
            wanted=wanted,
            acceleration=acceleration,
            command=command,
            sigma=sigma,
            dead_band=bands,
            limited=(
                asked.v != acceleration.v or limited[0],
                asked.omega != acceleration.omega or limited[1],
            ),
        )
        return command

    def _when(
        self,
        late: float,
        reference: Reference,
        pose: Pose,
        velocity: Velocity,
        ahead: Callable[[float], Reference] | None,
    ) -> _Motion:
        """Return reference and predicted motion `late` s after the measurement."""
        if late <= 0.0:
            return _Motion(reference, pose, velocity)
        after = reference.after(late) if ahead is None else ahead(late)
        check_reference(after)
        predicted = self._predictor.predict(pose, velocity, self.sigma, self.dead_time, late)
        return _Motion(after, *predicted)

    def _asked(self, then: _Motion, set_point: bool) -> tuple[Velocity, Velocity]:
        """Return the desired velocity, and the acceleration of (12), for a predicted motion."""
        wanted = self._wanted(then.reference, then.pose, then.velocity, set_point)
        return wanted, self._acceleration(then.reference, wanted, then.velocity)

    def _wanted(
        self, reference: Reference, pose: Pose, velocity: Velocity, set_point: bool
    ) -> Velocity:
        settings, sigma = self.settings, self.sigma
        if settings.published:
            return published_velocity(pose_error(reference, pose), velocity, settings.gains)
        limits = within_bands(settings.limits, self.dead_band)
        if set_point:
            k = settings.k_v, settings.k_w
            self._approach.gains = approach_gains(limits, sigma, settings.ramp, k)
            x, y, theta = map(Dual, offset_to_origin(pose, reference.pose))
            v, omega = self._approach.velocity(x, y, theta, velocity.v)
            return Velocity(v.value, omega.value)
        braking = possible_braking(limits, sigma, reference, settings.ramp)
        return kinematic_velocity(pose_error(reference, pose), reference, settings.gains, braking)

    def _acceleration(self, reference: Reference, wanted: Velocity, velocity: Velocity) -> Velocity:
        """Return the acceleration of (12), m/s^2 and rad/s^2, which a ramp can end again."""
        settings, sigma = self.settings, self.sigma
        slopes = UNLIMITED if settings.ramp is None else settings.ramp.slowest
        jerk, turning_jerk = FOLLOWED * slopes.v / sigma.s1, FOLLOWED * slopes.omega / sigma.s2
        return Velocity(
            reference.dv + _approach(wanted.v - velocity.v, settings.k_v, jerk, jerk),
            reference.domega
            + _approach(wanted.omega - velocity.omega, settings.k_w, turning_jerk, turning_jerk),
        )

    def _commands(
        self, acting: Velocity, bands: BandPair, wanted: Velocity, reference: Reference
    ) -> tuple[Velocity, tuple[bool, bool]]:
        """Return the command that makes another one act, within all limits; which axes have one."""
        ramp, reached = self.settings.ramp, acting
        if ramp is not None and not ramp.before_band:
            reached = self._course.reachable(acting, self._period)
        free = self._compensation.sent(reached, bands, wanted, reference)
        check_finite("command is beyond floating point", v=free.v, omega=free.omega)
        sent = free
        if ramp is not None and ramp.before_band:
            sent = self._course.reachable(free, self._period)
        command = self.settings.limits.velocity(sent)
        limited = acting.v != reached.v or free.v != command.v
        return command, (limited, acting.omega != reached.omega or free.omega != command.omega)

    def _take_in(
        self, stamp: float, velocity: Velocity, applied: tuple[float, float] | None
    ) -> None:
        """Pass the command held since the last update to the estimator and the predictor."""
        if self.last is None:
            return
        since = stamp - self.last.stamp
        if since <= 0.0:
            raise ValueError(
                f"stamp = {stamp} s after {self.last.stamp} s: must rise; reset after a jump back"
            )
        if since > self.settings.longest_gap:
            # The commands in the gap are unknown.
            self.reset()
            return
        command = self.last.command if applied is None else Velocity(*applied)
        check_finite("applied command", v=command.v, omega=command.omega)
        pieces = self._course.hold(self.last.stamp, stamp, command, self.last.dead_band)
        self._predictor.hold(pieces)
        v, omega = (
            sum((each.end - each.start) * each.acting[axis] for each in pieces) / since
            for axis in (0, 1)
        )
        self._compensation.took_effect(Velocity(v, omega))
        self._period = since
        if self._estimator is not None:
            self._estimator.update(stamp, velocity, command)
