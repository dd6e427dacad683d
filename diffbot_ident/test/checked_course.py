# SPDX-License-Identifier: Apache-2.0
"""A robot that an identification drives, and what its course may say at any moment."""

import math
from collections import Counter

import numpy as np
import pytest
from test_estimator_sequences import check
from test_safety_filter import PERIOD, PRIORS, TWIL, step

from arc_odometry import JointSample
from diffbot_ident.estimate import EstimateState
from diffbot_ident.identification_run import Phase
from diffbot_ident.runaway import MAX_BRAKING, RUNAWAY_FRACTION, RUNAWAY_TIME

OWN, PRIOR = TWIL.excitation, PRIORS["twil"]
GEOMETRY = TWIL.geometry
SPEEDS = np.array([OWN.linear_velocity, OWN.angular_velocity])
COUNT = math.tau / TWIL.encoder.counts
ORDER = {
    Phase.WAITING: tuple(Phase),
    Phase.EXCITING: (Phase.EXCITING, Phase.VERIFYING, Phase.DONE, Phase.STOPPED),
    Phase.VERIFYING: (Phase.VERIFYING, Phase.DONE, Phase.STOPPED),
    Phase.DONE: (Phase.DONE,),
    Phase.STOPPED: (Phase.STOPPED,),
}


class Robot:
    """The closed form, with encoders that count and may wrap.

    Attributes:
        state: x, y, theta, v, omega and the way.
        jumped: what was added to the left angle, rad.
    """

    def __init__(self, random, wires, wraps):
        scale, turning = random.uniform(0.8, 1.2, 2)
        k5, k6, k7, k8 = PRIOR.values
        self.truth = (k5, k6 * turning / scale, k7 * scale, k8 * turning)  # K5 K8 = b K6 K7
        self.state, self.time, self.jumped = (0.0,) * 6, 100.0, 0.0
        self._wires, self._wraps = wires, wraps

    def speeds(self):
        return GEOMETRY.wheel_velocity(*self.state[3:5])

    def drive(self, torque):
        """One period; the driver reports what it was told."""
        acting = [wire * value for wire, value in zip(self._wires, torque, strict=True)]
        self.state = step(self.truth, self.state, acting)
        self.time += PERIOD
        left, right = GEOMETRY.wheel_velocity(self.state[5], self.state[2])
        angles = [math.floor(a / COUNT) * COUNT for a in (left + self.jumped, right)]
        if self._wraps:
            angles = [angle % math.tau for angle in angles]
        return JointSample(self.time, tuple(angles), (0.0, 0.0), torque)


class CheckedCourse:
    """A course, and in a few lines what it may say.

    Attributes:
        course: the course.
        torque: that goes out: what was answered, zero where the sample was refused.
        refused: samples so far, besides those at which it first was too fast: the next one ends it,
            unless it is slower.
        count: messages by what became of them.
    """

    def __init__(self, course):
        self.course, self.torque, self.refused = course, (0.0, 0.0), 0
        self.count, self._braked_from = Counter(), None
        self._verified, self._joined = False, 0
        self._fast_since, self._too_fast = None, False

    def answer(self, sample, robot):
        """Take a sample as IdentNode does; what goes out is checked."""
        course = self.course
        before = course.phase, course.problem, course.estimate, course.elapsed
        verifies = course.phase is Phase.VERIFYING and course.verified is None
        try:
            self.torque, refused = course.update(sample), False
            self._too_fast = False
        except ValueError as error:
            too_fast = "is beyond the limit" in str(error)
            assert str(error) and not (too_fast and self._too_fast)
            self._too_fast = too_fast
            self.torque, refused = (0.0, 0.0), True
            self.refused += not too_fast
        self._joined += verifies and self._verified and not refused
        self._verified = verifies and not refused
        if verifies and course.verified is not None:
            # Nothing is joined over a sample that was refused.
            assert course.verified.duration == pytest.approx(self._joined * PERIOD, abs=1e-6)
        for value in (*self.torque, *course.pose, *course.velocity):
            assert math.isfinite(value)
        assert max(map(abs, self.torque)) <= OWN.amplitude * (1 + 1e-12)
        course.follow_up()
        if course.ended:
            self.torque = (0.0, 0.0)  # sent at once, after the torque that was answered
        self._check_course(*before)
        if course.phase is Phase.DONE and before[0] is not Phase.DONE:
            self._check_rest(robot)
        if not (refused or course.ended):
            self._check_speeds()
            self._check_braking()
        self.count["zero" if self.torque == (0.0, 0.0) else "driven"] += 1

    def _check_course(self, phase, problem, estimate, elapsed):
        course = self.course
        assert course.phase in ORDER[phase], (phase, course.phase)
        assert bool(course.problem) == (course.phase is Phase.STOPPED)
        assert 0.0 <= course.elapsed - elapsed <= 1.0 and 0.0 <= course.excited <= course.elapsed
        if course.estimate is not estimate:
            self._check_estimate(course.estimate)
        if course.ended:
            assert self.torque == (0.0, 0.0)
        if phase in (Phase.DONE, Phase.STOPPED):
            after = course.phase, course.problem, course.estimate, course.elapsed
            assert after == (phase, problem, estimate, elapsed)

    def _check_estimate(self, estimate):
        if estimate.state is EstimateState.ESTIMATED:
            check(estimate)
            return
        assert np.isfinite(estimate.values).all() and not np.isnan(estimate.covariance).any()
        assert min(estimate.variances) >= 0.0 and estimate.reason

    def _check_speeds(self):
        """Beyond a limit it only brakes, and not for long."""
        sizes = np.abs(self.course.velocity) / SPEEDS
        if not (sizes > 1.0).any():
            self._fast_since = None
            return
        if self._fast_since is None:
            self._fast_since = self.course.elapsed
        assert self.course.elapsed - self._fast_since < RUNAWAY_TIME
        assert (sizes <= 1.0 + RUNAWAY_FRACTION).all()
        speeds = GEOMETRY.wheel_velocity(*self.course.velocity)
        assert all(t * w <= 0.0 for t, w in zip(self.torque, speeds, strict=True))

    def _check_braking(self):
        since = self.braked_since()
        if since is not None:
            assert self.course.elapsed - since <= MAX_BRAKING + PERIOD
            speeds = GEOMETRY.wheel_velocity(*self.course.velocity)
            assert all(t * w <= 0.0 for t, w in zip(self.torque, speeds, strict=True))

    def _check_rest(self, robot):
        """A robot is let go when it stands, has been braked for long, or nobody knows how to."""
        # One count of an encoder within a period is 0.15 rad/s, and speeds are means of a period.
        if (
            max(map(abs, robot.speeds())) >= 1.0
            and self.course.estimate.state is not EstimateState.INVALID
        ):
            assert self.course.elapsed - self.braked_since() >= MAX_BRAKING - PERIOD, robot.speeds()

    def braked_since(self):
        """Time of the run at which braking began, s; None before."""
        course = self.course
        if course.verified is not None and self._braked_from is None:
            self._braked_from = course.elapsed
        if self._braked_from is not None or course.phase is Phase.VERIFYING:
            return self._braked_from
        return course.excited if course.excited < course.elapsed else None
