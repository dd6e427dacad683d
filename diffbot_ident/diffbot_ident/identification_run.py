# SPDX-License-Identifier: Apache-2.0
"""The course of an identification: excite and estimate, drive on and verify, brake, done."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum

from arc_odometry import DiffOdometry, JointOdometry, JointSample, WheelGeometry
from arc_odometry.joints import LONGEST_PROGRESS
from arc_odometry.sample_check import EffortSize, SampleCheck
from diffbot_ident.estimate import Estimate, EstimateState, Estimator, Four
from diffbot_ident.excitation.body_model import Motion
from diffbot_ident.excitation.excitations import Excitation
from diffbot_ident.interpretation.effort_units import EffortCheck
from diffbot_ident.interpretation.geometry_errors import as_wheels_see
from diffbot_ident.precision import Precision
from diffbot_ident.prediction_model import Model
from diffbot_ident.runaway import ROUNDING, BrakingToRest, RunawayLimits, RunawayWatch
from diffbot_ident.verification import HeldOutMotion, Verification

# Robot time between two updates of the estimate, s.
LOOK_PERIOD = 0.2
# Robot time before which no precision counts as reached, s.
MIN_TIME = 5.0
# Successive invalid estimates after which the run is stopped.
INVALID_LOOKS = 2


class EstimateLooks:
    """Looks at an estimator every LOOK_PERIOD, as an estimate takes milliseconds.

    The excitation lasts for `duration`, s, at most, or `until` a precision is reached.
    """

    def __init__(
        self,
        estimator: Estimator,
        duration: float,
        until: Precision | None,
        efforts: EffortCheck | None,
    ) -> None:
        self._estimator, self._efforts = estimator, efforts
        self._duration, self._until = duration, until
        self._effort_size = EffortSize()
        self._last, self._invalid = -math.inf, 0
        self.estimate = estimator.estimate()
        self.count = 0
        self.due = False

    def add(self, sample: JointSample, excited: float) -> None:
        self._estimator.update(sample)
        self._effort_size.add(sample)
        self.due = excited - self._last >= LOOK_PERIOD - ROUNDING

    def interrupt(self) -> None:
        self._estimator.interrupt()

    def look(self, excited: float) -> Estimate:
        self.due, self._last = False, excited
        self.count += 1
        self.estimate = self._estimator.estimate()
        invalid = self.estimate.state is EstimateState.INVALID
        self._invalid = self._invalid + 1 if invalid else 0
        return self.estimate

    @property
    def hopeless(self) -> bool:
        """Whether the last INVALID_LOOKS estimates were invalid."""
        return self._invalid >= INVALID_LOOKS

    def concluded(self, elapsed: float) -> bool:
        """Whether the excitation is over at a robot time, s; `estimate` is the last one then."""
        over = elapsed >= self._duration - ROUNDING
        if not over and self._until is not None and elapsed >= MIN_TIME:
            over = self._until.is_reached(self.estimate)
        if over:
            self.conclude()
        return over

    def conclude(self) -> None:
        """Make the last estimate: compared, and without the advice to wait."""
        self.due = False  # it would replace this estimate
        result = self._estimator.estimate()
        if self._efforts is not None:
            result, _ = self._efforts.judged(result, self._effort_size.value)
        self.estimate = replace(result, advice=result.advice.of_finished_run)

    def suspicion(self) -> str | None:
        return self._estimator.suspicion()


class Phase(IntEnum):
    """Phase of the run; the numbers are those of IdentStatus.msg."""

    WAITING = 0
    EXCITING = 1
    DONE = 2
    STOPPED = 3
    VERIFYING = 4


class HeldOutDrive:
    """The motion after the excitation, from which the estimate has not learned.

    Its excitation, of a duration, s, is created as the drive begins; None: there is none. `nominal`
    is the model of the robot's description, to compare with.
    """

    def __init__(
        self,
        motion: HeldOutMotion,
        excitation: Callable[[], Excitation] | None,
        duration: float,
        nominal: Model | None,
    ) -> None:
        self.motion = motion
        self._excitation, self._duration, self._nominal = excitation, duration, nominal
        self._begun = math.inf

    def begin(self, elapsed: float, estimate: Estimate) -> Excitation | None:
        """Begin at a robot time, s, and return the excitation; None: nothing can be verified."""
        known = estimate.state is EstimateState.ESTIMATED and self._nominal is not None
        if self._duration <= 0.0 or self._excitation is None or not known:
            return None
        self._begun = elapsed
        excitation = self._excitation()
        excitation.learn(estimate)
        return excitation

    def is_over(self, elapsed: float, estimate: Estimate) -> bool:
        """Whether the motion suffices at a robot time, s."""
        driven = elapsed - self._begun
        if driven < self._duration - ROUNDING:
            return False
        # With lost samples it takes longer.
        enough = self.motion.enough(0.0 if math.isnan(estimate.delay) else estimate.delay)
        return enough or driven >= 2.0 * self._duration

    def verify(self, estimate: Estimate) -> Verification:
        model = replace(Model.of(estimate), values=as_wheels_see(estimate))
        return self.motion.verify(model, self._nominal or model)


class Identification:
    """One identification run.

        >>> from diffbot_description import load_robot
        >>> from diffbot_ident.excitation.excitations import make_excitation
        >>> from diffbot_ident.torque.learning import MotionScale
        >>> from diffbot_ident.estimators import make_estimator
        >>> robot = load_robot("twil")
        >>> estimator = make_estimator("integral", robot.geometry, MotionScale(0.5, 2.0, 0.4))
        >>> limits = RunawayLimits(1.0, 4.0, 0.4, robot.name)
        >>> excitation = make_excitation("prbs", robot, seed=1)
        >>> run = Identification(estimator, excitation, robot.geometry, limits, duration=20.0)
        >>> run.update(JointSample(0.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0))), run.phase.name
        ((0.4, 0.4), 'EXCITING')

    Args:
        estimator: A new estimator; it learns only from the excitation.
        excitation: Excitation that drives the robot while it is identified.
        limits: Speed limits and maximum braking torque.
        duration: Maximum duration of the excitation, s, > 0.
        check: Creates the excitation of the held-out motion as it begins; None: not verified.
        verification: Duration of the held-out motion, s, > 0 if there is one.
        nominal: Model of the robot's description, to compare with.
        until: Precision at which the excitation may end.
        efforts: Compares the estimate with the description at its end; None: not compared.

    Attributes:
        problem: Why the run was stopped; None otherwise.
        verified: Result of the held-out motion; None before.
        excited: Robot time of the excitation, s.
        elapsed: Robot time of the whole run, s.
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
        self._looks = EstimateLooks(estimator, duration, until, efforts)
        self.excitation = excitation
        self._geometry = geometry
        self._limits = limits
        self._runaway = RunawayWatch(limits, geometry)
        self._nominal = nominal
        self._odometry = JointOdometry(DiffOdometry(geometry))
        motion = HeldOutMotion(geometry, (limits.velocity, limits.yaw_rate))
        self._held_out = HeldOutDrive(motion, check, verification, nominal)
        self._driven: Excitation = excitation
        self._braking: BrakingToRest | None = None
        self._check_step = SampleCheck()
        self._stamp: float | None = None
        self._period = 0.0
        self._used = self._refused = 0  # samples
        self._refusal = ""  # why the last one was refused
        self.phase = Phase.WAITING
        self.problem: str | None = None
        self.verified: Verification | None = None
        self.excited = self.elapsed = 0.0

    @property
    def estimate(self) -> Estimate:
        return self._looks.estimate

    @property
    def looks(self) -> int:
        return self._looks.count

    @property
    def pose(self) -> tuple[float, float, float]:
        """Pose by odometry since the beginning, m, m, rad."""
        return self._odometry.odometry.pose

    @property
    def velocity(self) -> tuple[float, float]:
        """Body velocity over the last period, v in m/s and omega in rad/s."""
        return self._odometry.odometry.velocity

    @property
    def guarded(self) -> int:
        other = 0 if self._driven is self.excitation else self._driven.guarded
        return self.excitation.guarded + other

    @property
    def ended(self) -> bool:
        return self.phase in (Phase.DONE, Phase.STOPPED)

    def update(self, sample: JointSample) -> tuple[float, float]:
        """Process a joint sample; return the wheel torques for the next period, N m, 0 at the end.

        Call `follow_up` once these have been sent.

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
        except ValueError as error:
            self._refused += 1
            self._refusal = str(error)
            self._driven.interrupt()
            self._held_out.motion.interrupt()
            self._advance(None)
            if self.ended:
                return 0.0, 0.0
            raise
        self._used += 1
        self._advance(self.velocity)
        if self.ended:
            return 0.0, 0.0
        if self._braking is not None:
            return self._braking.torque(self.velocity, max(self._period, 1e-3))
        motion = Motion(self.pose, self.velocity, self._geometry.wheel_velocity(*self.velocity))
        return self._runaway.limited(self._driven.torque(motion), self.velocity)

    def follow_up(self) -> None:
        if self._looks.due:
            self._look()

    def observe(self, sample: JointSample) -> None:
        """Process a sample without a torque in answer; see `update`."""
        if self.ended or self.phase is Phase.WAITING:
            return
        self._count(sample.stamp)
        self._driven.interrupt()
        try:
            self._learn(sample)
        except ValueError:
            self._held_out.motion.interrupt()
            raise

    def rest(self, sample: JointSample) -> None:
        """Process a sample while the robot is stopped from outside: only odometry uses it."""
        if self.ended or self.phase is Phase.WAITING:
            return
        self._stamp = sample.stamp  # does not count as time of the run
        self._runaway.reset()
        self._driven.interrupt()
        self._held_out.motion.interrupt()
        self._looks.interrupt()
        self._check_step.reset()
        self._check_step.values(sample)
        if (anomaly := self._odometry.update(sample)) is not None:
            raise ValueError(anomaly.text)

    def _count(self, stamp: float) -> None:
        period = 0.0 if self._stamp is None else stamp - self._stamp
        # Other steps do not count: time was reset, the process was blocked, or the stamp is NaN.
        self._period = period if 0.0 <= period <= LONGEST_PROGRESS else 0.0
        self.elapsed += self._period
        self._stamp = stamp
        if self.phase is Phase.EXCITING and self._braking is None:
            self.excited = self.elapsed

    def _learn(self, sample: JointSample) -> None:
        """Pass the sample on; ValueError if refused."""
        self._looks.due = False
        try:
            # An absurd angle can look like a wrap.
            self._check_step.values(sample)
            anomaly = self._odometry.update(sample)
            if anomaly is None and (why := self._runaway.check(sample.stamp, self.velocity)):
                cause = self._looks.suspicion()
                self.stop(why if cause is None else f"{why}. Probable cause: {cause}")
        except ValueError:
            # The next sample's torque is of less time than its motion.
            self._looks.interrupt()
            raise
        if self.ended:
            return
        if self.phase is Phase.EXCITING and self._braking is None:
            self._looks.add(sample, self.excited)
        else:
            self._check_step.follows(sample)
            if self.phase is Phase.VERIFYING:
                self._held_out.motion.add(sample)
        if anomaly is not None:
            raise ValueError(anomaly.text)

    def stop(self, problem: str) -> None:
        """End the run early, unless it has ended."""
        if self.ended:
            return
        self._looks.conclude()
        self.phase, self.problem = Phase.STOPPED, problem

    def _look(self) -> None:
        result = self._looks.look(self.excited)
        if self._looks.hopeless:
            self.stop(result.explanation)
        elif result.state is EstimateState.ESTIMATED:
            self.excitation.learn(result)

    def _advance(self, velocity: tuple[float, float] | None) -> None:
        """Go on to the next phase when it is time; velocity None: not known."""
        if self.ended:
            return
        if (
            self._braking is None
            and self.phase is Phase.EXCITING
            and self._looks.concluded(self.elapsed)
        ):
            drive = self._held_out.begin(self.elapsed, self.estimate)
            if drive is None:
                self._come_to_rest()
            else:
                self.phase, self._driven = Phase.VERIFYING, drive
        elif (
            self._braking is None
            and self.phase is Phase.VERIFYING
            and self._held_out.is_over(self.elapsed, self.estimate)
        ):
            self.verified = self._held_out.verify(self.estimate)
            self._come_to_rest()
        elif self._braking is not None and self._braking.is_over(velocity, self._period):
            self.phase = Phase.DONE

    def _come_to_rest(self) -> None:
        """Brake with the known dynamics; without any, end the run with zero torque."""
        if self.estimate.state is EstimateState.INVALID:
            self.stop(self.estimate.explanation)
        elif self.estimate.state is EstimateState.UNESTIMATED and self._refused > self._used:
            self.stop(f"nothing was estimated, as joint states were refused: {self._refusal}")
        elif (values := known_values(self.estimate, self._nominal)) is None:
            self.phase = Phase.DONE
        else:
            self._braking = BrakingToRest(self._geometry, self._limits.torque, values[2], values[3])


def known_values(estimate: Estimate, nominal: Model | None) -> Four | None:
    """Return K5 to K8 as far as they are known: estimated, or those of the description."""
    if estimate.state is EstimateState.ESTIMATED:
        return estimate.values
    unknown = estimate.state is not EstimateState.UNESTIMATED
    return None if nominal is None or unknown else nominal.values
