# SPDX-License-Identifier: Apache-2.0
"""The course of an identification: excite and estimate, drive on and verify, brake, done.

It is independent of ROS, with joint samples as input and torques as output. The node and
simulations run the same course.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntEnum

from arc_odometry import DiffOdometry, JointOdometry, JointSample, WheelGeometry
from arc_odometry.joints import LONGEST_PROGRESS, EffortSize, SampleCheck
from arc_odometry.odometry import within
from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.excitation.excitations import Excitation
from diffbot_ident.torque.effort_units import EffortCheck
from diffbot_ident.torque.estimate import Estimate, EstimateState, Estimator, Precision
from diffbot_ident.torque.geometry_errors import as_wheels_see
from diffbot_ident.verification import HeldOutMotion, Model, Verification

# Robot time between two updates of the estimate, s.
LOOK_PERIOD = 0.2
# Robot time before which no precision counts as reached, s.
MIN_TIME = 5.0
# Successive invalid estimates after which the run is stopped.
INVALID_LOOKS = 2
# Tolerance for rounding errors of the stamps, which must not add a control period, s.
ROUNDING = 1e-6
# Maximum time of braking, s; a robot that still rolls then gets zero torque.
MAX_BRAKING = 2.0
# Wheel speed below which the robot counts as standing, rad/s.
STANDING = 0.2
# A robot beyond a speed limit is braked, as late commands may have let it accelerate. It counts as
# running away if it exceeds the limit by this share, or for this time, s.
RUNAWAY_FRACTION = 0.25
RUNAWAY_TIME = 0.5
# Share of a wheel's speed that one period of braking may remove: more could oscillate with a delay.
MAX_DECAY = 0.15


class Phase(IntEnum):
    """Phase of the run; the numbers are those of IdentStatus.msg."""

    WAITING = 0
    EXCITING = 1
    DONE = 2
    STOPPED = 3
    VERIFYING = 4


@dataclass(frozen=True)
class RunawayLimits:
    """Speed limits of a run.

    The first sample beyond a limit is refused, with zero torque; then only torques that brake are
    commanded. The run ends when a later sample exceeds a limit by RUNAWAY_SHARE, or when all
    samples of RUNAWAY_TIME exceed one.

    Attributes:
        velocity: Speed limit, m/s.
        yaw_rate: Yaw rate limit, rad/s.
        torque: Maximum braking torque, N m.
        robot: Name of the robot, for messages.
        wheel_speed: Wheel speed limit, rad/s; infinite: no limit.
    """

    velocity: float
    yaw_rate: float
    torque: float
    robot: str
    wheel_speed: float = math.inf


class _Braking:
    """Brakes a robot to rest, so that it does not roll out of its room after the run."""

    def __init__(self, geometry: WheelGeometry, max_torque: float, k7: float, k8: float) -> None:
        self._geometry = geometry
        self._max_torque = max_torque
        r = 0.5 * (geometry.left_radius + geometry.right_radius)
        # Acceleration of a wheel per unit of its own torque, from dv/dt and domega/dt of (41).
        self._gain = (k7 - geometry.half_track * k8) / r
        self._left = MAX_BRAKING

    def is_over(self, velocity: tuple[float, float] | None, period: float) -> bool:
        """Whether the robot stands or has been braked for long enough; call once a period, s.

        The velocity is None if unknown, e.g. after a refused sample; the robot then does not count
        as standing.
        """
        self._left -= period
        if self._left < 0.0:
            return True
        if velocity is None:
            return False
        return max(map(abs, self._geometry.wheel_velocity(*velocity))) < STANDING

    def torque(self, velocity: tuple[float, float], period: float) -> tuple[float, float]:
        """Return the torques [left, right], N m, for a control period, s, > 0."""
        most = self._max_torque
        left, right = (
            within(-MAX_DECAY * speed / (self._gain * period), most)
            for speed in self._geometry.wheel_velocity(*velocity)
        )
        return left, right


class Identification:
    """One identification run.

    Args:
        estimator: A new estimator; it learns only from the excitation.
        excitation: Excitation that drives the robot while it is identified.
        geometry: Wheel radii and separation.
        limits: Speed limits and maximum braking torque.
        duration: Maximum duration of the excitation, s, > 0.
        check: Creates the excitation of the held-out motion as it begins; None: not verified.
        verification: Duration of the held-out motion, s, > 0 if there is one.
        nominal: Model of the robot's description, to compare with.
        until: Precision at which the excitation may end.
        efforts: Compares the estimate with the robot's description at its end; None: not compared.

    Attributes:
        phase: Phase of the run.
        problem: Why the run was stopped; None otherwise.
        estimate: The last estimate.
        verified: Result of the held-out motion; None before.
        excited: Robot time of the excitation, s.
        elapsed: Robot time of the whole run, s.
        looks: Number of updates of the estimate.
        pose: Pose by odometry since the beginning, m, m, rad.
        velocity: Body velocity, m/s and rad/s.
    """

    def __init__(
        self,
        estimator: Estimator,
        excitation: Excitation,
        geometry: WheelGeometry,
        limits: RunawayLimits,
        duration: float,
        *,
        check: Callable[[], Excitation] | None = None,
        verification: float = 0.0,
        nominal: Model | None = None,
        until: Precision | None = None,
        efforts: EffortCheck | None = None,
    ) -> None:
        self._efforts, self._effort_size = efforts, EffortSize()
        self._estimator = estimator
        self._excitation = excitation
        self._check = check
        self._geometry = geometry
        self._limits = limits
        # Stamp of the first of the current run of samples beyond a limit, s.
        self._too_fast_since: float | None = None
        self._duration = duration
        self._verification = verification
        self._nominal = nominal
        self._until = until
        self._odometry = JointOdometry(DiffOdometry(geometry))
        self._held_out = HeldOutMotion(geometry, (limits.velocity, limits.yaw_rate))
        self._driven: Excitation = excitation
        self._switched = math.inf
        self._braking: _Braking | None = None
        self._last_look = -math.inf
        self._look_due = False
        self._invalid_looks = 0
        self._check_step = SampleCheck()
        self._stamp: float | None = None
        self._period = 0.0
        self.phase = Phase.WAITING
        self.problem: str | None = None
        self.estimate = estimator.estimate()
        self.verified: Verification | None = None
        self.excited = 0.0
        self.elapsed = 0.0
        self.looks = 0

    @property
    def pose(self) -> tuple[float, float, float]:
        """Pose by odometry since the beginning, m, m, rad."""
        return self._odometry.odometry.pose

    @property
    def velocity(self) -> tuple[float, float]:
        """Body velocity over the last period, v in m/s and omega in rad/s."""
        return self._odometry.odometry.velocity

    @property
    def excitation(self) -> Excitation:
        """Excitation that drives the robot while it is identified."""
        return self._excitation

    @property
    def guarded(self) -> int:
        """Number of wheel torques that were replaced to respect the limits."""
        other = 0 if self._driven is self._excitation else self._driven.guarded
        return self._excitation.guarded + other

    @property
    def ended(self) -> bool:
        """Whether the run is over."""
        return self.phase in (Phase.DONE, Phase.STOPPED)

    def update(self, sample: JointSample) -> tuple[float, float]:
        """Process a joint sample; return the wheel torques for the next period, N m.

        Call `follow_up` once these have been sent. After the end of the run the torques are zero
        and samples are ignored.

        Raises:
            ValueError: The sample cannot be used; the torque should be zero.
        """
        if self.ended:
            return 0.0, 0.0
        if self.phase is Phase.WAITING:
            self.phase = Phase.EXCITING
        self._count(sample.stamp)
        try:
            self._learn(sample)
        except ValueError:
            # Zero torque is commanded; the motion is unknown until the next good samples.
            self._driven.interrupt()
            self._held_out.interrupt()
            self._advance(None)
            if self.ended:
                return 0.0, 0.0
            raise
        self._advance(self.velocity)
        if self.ended:
            return 0.0, 0.0
        if self._braking is not None:
            return self._braking.torque(self.velocity, max(self._period, 1e-3))
        torque = self._driven.torque(self._motion())
        return torque if self._too_fast_since is None else self._slowing(torque)

    def follow_up(self) -> None:
        """Update the estimate if that is due, which takes milliseconds.

        The torques of `update` have been sent by then; the next ones depend on the estimate. The
        run may end here.
        """
        if self._look_due:
            self._look()

    def observe(self, sample: JointSample) -> None:
        """Process a joint sample without a torque in answer, as a newer one has already arrived.

        Raises:
            ValueError: The sample cannot be used.
        """
        if self.ended or self.phase is Phase.WAITING:
            return
        self._count(sample.stamp)
        self._driven.interrupt()
        try:
            self._learn(sample)
        except ValueError:
            self._held_out.interrupt()
            raise

    def rest(self, sample: JointSample) -> None:
        """Process a joint sample while the robot is stopped from outside: only odometry uses it.

        Raises:
            ValueError: The sample cannot be used.
        """
        if self.ended or self.phase is Phase.WAITING:
            return
        self._stamp = sample.stamp  # does not count as time of the run
        self._too_fast_since = None
        self._driven.interrupt()
        self._held_out.interrupt()
        # The pause is no gap of the samples: what comes after it begins anew.
        self._estimator.interrupt()
        self._check_step.reset()
        self._check_step.values(sample)
        if (anomaly := self._odometry.update(sample)) is not None:
            raise ValueError(anomaly.text)

    def _count(self, stamp: float) -> None:
        """Advance the time of the run to a stamp, s."""
        period = 0.0 if self._stamp is None else stamp - self._stamp
        # Other steps do not count: time was reset, this process was blocked, or the stamp is NaN.
        self._period = period if 0.0 <= period <= LONGEST_PROGRESS else 0.0
        self.elapsed += self._period
        self._stamp = stamp
        if self.phase is Phase.EXCITING and self._braking is None:
            self.excited = self.elapsed

    def _learn(self, sample: JointSample) -> None:
        """Pass the sample to odometry, estimator and held-out motion; ValueError if refused."""
        self._look_due = False
        try:
            # An absurd angle can look like a wrap to the odometry.
            self._check_step.values(sample)
            anomaly = self._odometry.update(sample)
            if anomaly is None:
                self._watch_speeds(sample.stamp)
        except ValueError:
            # The next sample has the torque since this one, but the motion since the one before.
            self._estimator.interrupt()
            raise
        if self.ended:
            return
        if self.phase is Phase.EXCITING and self._braking is None:
            self._estimator.update(sample)
            self._effort_size.add(sample)
            self._look_due = self.excited - self._last_look >= LOOK_PERIOD - ROUNDING
        else:
            self._check_step.follows(sample)
            if self.phase is Phase.VERIFYING:
                self._held_out.add(sample)
        if anomaly is not None:
            raise ValueError(anomaly.text)

    def stop(self, problem: str) -> None:
        """End the run early, unless it has ended."""
        if self.ended:
            return
        self.estimate = self._final_estimate()
        self.phase, self.problem = Phase.STOPPED, problem

    def _final_estimate(self) -> Estimate:
        """Return the estimate, compared, without the advice to wait: nothing follows."""
        self._look_due = False  # it would replace this estimate
        result = self._estimator.estimate()
        if self._efforts is not None:
            result, _ = self._efforts.judged(result, self._effort_size.value)
        return replace(result, advice=result.advice.of_finished_run)

    def _motion(self) -> Motion:
        return Motion(self.pose, self.velocity, self._geometry.wheel_velocity(*self.velocity))

    def _look(self) -> None:
        """Update the estimate; stop if it stays invalid, and pass it on to the excitation."""
        self._look_due = False
        self._last_look = self.excited
        self.looks += 1
        result = self.estimate = self._estimator.estimate()
        self._invalid_looks = (
            self._invalid_looks + 1 if result.state is EstimateState.INVALID else 0
        )
        if self._invalid_looks >= INVALID_LOOKS:
            self.stop(result.explanation)
        elif result.state is EstimateState.ESTIMATED:
            self._excitation.learn(result)

    def _advance(self, velocity: tuple[float, float] | None) -> None:
        """Go on to the next phase when it is time.

        Args:
            velocity: Body velocity, m/s and rad/s; None if unknown.
        """
        if self.ended:
            return
        if self._braking is None and self.phase is Phase.EXCITING and self._excited_enough():
            if not self._begin_verification():
                self._come_to_rest()
        elif self._braking is None and self.phase is Phase.VERIFYING and self._verified_enough():
            self._verify()
            self._come_to_rest()
        elif self._braking is not None and self._braking.is_over(velocity, self._period):
            self.phase = Phase.DONE

    def _begin_verification(self) -> bool:
        """Start the held-out motion, if it is requested and there is an estimate to verify."""
        known = self.estimate.state is EstimateState.ESTIMATED and self._nominal is not None
        if self._verification <= 0.0 or self._check is None or not known:
            return False
        self.phase, self._switched = Phase.VERIFYING, self.elapsed
        self._driven = self._check()
        self._driven.learn(self.estimate)
        return True

    def _come_to_rest(self) -> None:
        """Start braking with the known dynamics; without any, end the run with zero torque."""
        if self.estimate.state is EstimateState.ESTIMATED:
            values = self.estimate.values
        elif self.estimate.state is EstimateState.UNESTIMATED and self._nominal is not None:
            values = self._nominal.values
        elif self.estimate.state is EstimateState.INVALID:
            self.stop(self.estimate.explanation)
            return
        else:
            self.phase = Phase.DONE
            return
        self._braking = _Braking(self._geometry, self._limits.torque, values[2], values[3])

    def _verified_enough(self) -> bool:
        driven = self.elapsed - self._switched
        if driven < self._verification - ROUNDING:
            return False
        # If samples were lost, it takes longer to collect enough of them.
        delay = self.estimate.delay
        enough = self._held_out.enough(0.0 if math.isnan(delay) else delay)
        return enough or driven >= 2.0 * self._verification

    def _excited_enough(self) -> bool:
        """Whether the excitation is over; `estimate` is the final one then."""
        if self.elapsed >= self._duration - ROUNDING:
            self.estimate = self._final_estimate()
            return True
        if self._until is None or self.elapsed < MIN_TIME:
            return False
        if not self._until.is_reached(self.estimate):
            return False
        self.estimate = self._final_estimate()
        return True

    def _verify(self) -> None:
        # The held-out motion is measured by the wheels alone.
        model = replace(Model.of(self.estimate), values=as_wheels_see(self.estimate))
        self.verified = self._held_out.verify(model, self._nominal or model)

    def _watch_speeds(self, stamp: float) -> None:
        """End the run if the robot runs away; a smaller excess of speed only limits the torques.

        Raises:
            ValueError: The sample is the first one beyond a limit.
        """
        beyond = self._beyond_limits()
        if beyond is None:
            self._too_fast_since = None
            return
        fraction, text = beyond
        if self._too_fast_since is None:
            self._too_fast_since = stamp
            # A driver that was blocked between reading and stamping causes one apparent jump.
            raise ValueError(text)
        lasted = stamp - self._too_fast_since
        if fraction > RUNAWAY_FRACTION or lasted >= RUNAWAY_TIME - ROUNDING:
            cause = self._estimator.suspicion()
            because = "" if cause is None else f". Probable cause: {cause}"
            self.stop(f"{text}{because}")

    def _slowing(self, torque: tuple[float, float]) -> tuple[float, float]:
        """Return the wheel torques, N m, with zero for those that would accelerate their wheel."""
        speeds = self._geometry.wheel_velocity(*self.velocity)
        left, right = (t if t * w <= 0.0 else 0.0 for t, w in zip(torque, speeds, strict=True))
        return left, right

    def _beyond_limits(self) -> tuple[float, str] | None:
        """Return the largest relative excess of a speed limit and its message; None if within."""
        limits, excitation = self._limits, "for its excitation"
        fastest = max(self._geometry.wheel_velocity(*self.velocity), key=abs)
        fraction, name, value, limit, unit, whose = max(
            (abs(value) / limit - 1.0, name, value, limit, unit, whose)
            for name, value, limit, unit, whose in (
                ("velocity", self.velocity[0], limits.velocity, "m/s", excitation),
                ("yaw rate", self.velocity[1], limits.yaw_rate, "rad/s", excitation),
                ("speed of a wheel", fastest, limits.wheel_speed, "rad/s", "for its wheels"),
            )
        )
        if fraction <= 0.0:
            return None
        return fraction, (
            f"{name} {value:.3g} {unit} is beyond the limit {limit:g} {unit} of robot "
            f"'{limits.robot}' {whose}; lower amplitude, or raise the limit in its YAML"
        )
