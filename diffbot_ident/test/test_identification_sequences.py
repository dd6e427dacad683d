"""The course of an identification under any sequence of joint samples of a robot that it drives.

Hypothesis draws courses, wires, troubles and a seed; each plan becomes hundreds of messages.
benchmarks/message_sequences.py sends many more through the same checks.
"""

import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_estimator_sequences import check
from test_shield import PERIOD, PRIORS, TWIL, step

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.arena import Arena
from diffbot_ident.coverage import MotionScale
from diffbot_ident.estimate import State
from diffbot_ident.estimators import make_estimator
from diffbot_ident.excitations import make_excitation
from diffbot_ident.identification import Identification, Limits, Phase
from diffbot_ident.prediction import Model
from diffbot_ident.stopping import LONGEST

OWN, PRIOR = TWIL.excitation, PRIORS["twil"]
GEOMETRY = WheelGeometry(*[TWIL.wheels.radius] * 2, TWIL.wheels.separation)
SPEEDS = np.array([OWN.linear_velocity, OWN.angular_velocity])
COUNT = math.tau / TWIL.encoder.counts
LENGTH, AFTER = 150, 5  # messages of a segment, and after the end
# Refused by values, by stamp, as a gap, or as a jump of an encoder.
REFUSED = (
    *("nan angle", "infinite angle", "absurd angle", "nan torque", "absurd torque"),
    *("nan stamp", "infinite stamp", "absurd stamp", "twice", "late", "back", "ahead"),
    *("pause", "jump"),
)
TROUBLES = (*REFUSED, "push", "stop")
ORDER = {
    Phase.WAITING: tuple(Phase),
    Phase.EXCITING: (Phase.EXCITING, Phase.VERIFYING, Phase.DONE, Phase.STOPPED),
    Phase.VERIFYING: (Phase.VERIFYING, Phase.DONE, Phase.STOPPED),
    Phase.DONE: (Phase.DONE,),
    Phase.STOPPED: (Phase.STOPPED,),
}
WIRES = {"straight": (1, 1), "left turned": (-1, 1), "both turned": (-1, -1)}
# Excitation, whether in an arena, seconds of it and of the verification, wires, wrapping encoders.
COURSES = (
    ("prbs", False, 2.0, 0.0, "straight", True),
    ("prbs", True, 3.0, 1.0, "straight", False),
    ("multisine", True, 3.0, 4.5, "straight", True),
    ("prbs", False, 1.0, 0.0, "left turned", False),
    ("prbs", False, 3.0, 1.0, "both turned", False),
)
plans = st.tuples(
    st.sampled_from(COURSES),
    st.lists(
        st.tuples(st.sampled_from(TROUBLES), st.floats(0.0, 0.2)),  # share of messages spoiled
        min_size=1,
        max_size=4,
    ),
)


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


class Watched:
    """A course, and in a few lines what it may say.

    Attributes:
        course: the course.
        torque: that goes out: what was answered, zero where the sample was refused.
        refused: samples so far.
        count: messages by what became of them.
    """

    def __init__(self, course):
        self.course, self.torque, self.refused = course, (0.0, 0.0), 0
        self.count, self._braked_from = Counter(), None
        self._verified, self._joined = False, 0

    def answer(self, sample, robot):
        """Take a sample as IdentNode does; what goes out is checked."""
        course = self.course
        before = course.phase, course.problem, course.estimate, course.elapsed
        verifies = course.phase is Phase.VERIFYING and course.verified is None
        try:
            self.torque, refused = course.update(sample), False
        except ValueError as error:
            assert str(error)
            self.torque, refused = (0.0, 0.0), True
        self.refused += refused
        self._joined += verifies and self._verified and not refused
        self._verified = verifies and not refused
        if verifies and course.verified is not None:
            # Nothing is joined over a sample that was refused.
            assert course.verified.duration == pytest.approx(self._joined * PERIOD, abs=1e-6)
        for value in (*self.torque, *course.pose, *course.velocity):
            assert math.isfinite(value)
        assert max(map(abs, self.torque)) <= OWN.amplitude * (1 + 1e-12)
        self._check_course(*before)
        if course.phase is Phase.DONE and before[0] is not Phase.DONE:
            self._check_rest(robot)
        if not (refused or course.ended):
            assert (np.abs(course.velocity) <= SPEEDS).all()
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
        if estimate.state is State.ESTIMATED:
            check(estimate)
            return
        assert np.isfinite(estimate.values).all() and not np.isnan(estimate.covariance).any()
        assert min(estimate.variances) >= 0.0 and estimate.reason

    def _check_braking(self):
        since = self.braked_since()
        if since is not None:
            assert self.course.elapsed - since <= LONGEST + PERIOD
            speeds = GEOMETRY.wheel_velocity(*self.course.velocity)
            assert all(t * w <= 0.0 for t, w in zip(self.torque, speeds, strict=True))

    def _check_rest(self, robot):
        """A robot is let go when it stands, has been braked for long, or nobody knows how to."""
        # One count of an encoder within a period is 0.15 rad/s, and speeds are means of a period.
        if max(map(abs, robot.speeds())) >= 1.0 and self.course.estimate.state is not State.INVALID:
            assert self.course.elapsed - self.braked_since() >= LONGEST - PERIOD, robot.speeds()

    def braked_since(self):
        """Time of the run at which braking began, s; None before."""
        course = self.course
        if course.verified is not None and self._braked_from is None:
            self._braked_from = course.elapsed
        if self._braked_from is not None or course.phase is Phase.VERIFYING:
            return self._braked_from
        return course.excited if course.excited < course.elapsed else None


def make_course(kind, fenced, duration, verification, seed):
    room = Arena(3.0, 3.0) if fenced else None

    def excitation(kind, seed):
        return make_excitation(kind, TWIL, seed, arena=room, prior=PRIOR)

    return Identification(
        make_estimator("integral", GEOMETRY, MotionScale(*SPEEDS, OWN.amplitude)),
        excitation(kind, seed),
        GEOMETRY,
        Limits(*SPEEDS, OWN.amplitude, "twil"),
        duration,
        check=lambda: excitation("prbs" if kind == "multisine" else "multisine", seed + 1),
        verification=verification,
        nominal=Model(PRIOR.values),
    )


def random_plan(random):
    """A plan such as Hypothesis draws, from a NumPy generator."""
    return COURSES[random.integers(len(COURSES))], [
        (str(random.choice(TROUBLES)), 0.2 * random.random() ** 3) for _ in range(4)
    ]


def spoiled(sample, kind):
    """The sample with a value that it must not have."""
    (left, right), (acted, _) = sample.position, sample.effort
    changes = {
        "nan angle": {"position": (math.nan, right)},
        "infinite angle": {"position": (left, -math.inf)},
        "absurd angle": {"position": (left, 1e12)},
        "nan torque": {"effort": (acted, math.nan)},
        "absurd torque": {"effort": (acted, -1e9)},
        "nan stamp": {"stamp": math.nan},
        "infinite stamp": {"stamp": math.inf},
        "absurd stamp": {"stamp": 1e300},
    }
    return replace(sample, **changes.get(kind, {}))


def happen(kind, robot, course, random):
    """What befalls robot, clock or course before the next message."""
    robot.time += {"back": -50.0, "ahead": 50.0}.get(kind, 0.0)
    robot.jumped += random.uniform(2.5, 3.5) * (kind == "jump")
    if kind == "push":
        robot.state = (*robot.state[:3], 3.0 * OWN.linear_velocity, *robot.state[4:])
    for _ in range(12 if kind == "pause" else 0):
        robot.drive((0.0, 0.0))
    if kind == "stop":
        course.stop("somebody stopped it")


def drive(plan, seed):
    """Send a plan's messages, then good ones until the course has ended, and some more."""
    (kind, fenced, duration, verification, wires, wraps), segments = plan
    random = np.random.default_rng(seed)
    robot = Robot(random, WIRES[wires], wraps)
    watched = Watched(make_course(kind, fenced, duration, verification, seed % 1000))
    course, happened, over, last = watched.course, Counter(), 0, None
    longest = len(segments) * LENGTH + (duration + 2.0 * verification + LONGEST) / PERIOD
    for number in range(round(longest) + AFTER):
        trouble, share = segments[number // LENGTH] if number < LENGTH * len(segments) else ("", 0)
        now = trouble if random.random() < share else ""
        happened[now] += 1
        happen(now, robot, course, random)
        sample = spoiled(robot.drive(watched.torque), now)
        watched.answer(sample, robot)
        if now in ("twice", "late"):
            watched.answer(last if now == "late" and last else sample, robot)
        last = sample
        over += course.ended
        if over >= AFTER:
            break
    assert course.ended
    # After a stamp that is absurd: itself, one that may be late, and one that shows a reset.
    assert watched.refused <= 3 * (happened.total() - happened[""])
    if wires == "straight" and not happened.keys() & {"push", "stop"}:
        assert course.phase is Phase.DONE and course.estimate.state is not State.INVALID
    # Nothing ends early, and where samples are lost the verification may take twice its time.
    rounding = 1e-6
    if course.phase is Phase.DONE:
        assert course.excited >= duration - rounding
    if course.verified is not None:
        lasted = watched.braked_since() - course.excited
        assert verification - rounding <= lasted <= 2.0 * verification + 1.0
    return watched


def run(plan, seed):
    """Send a plan's messages; returns the counts of what became of them."""
    return drive(plan, seed).count


@settings(max_examples=12, deadline=None)
@given(plans, st.integers(0, 2**32 - 1))
def test_no_sequence_makes_a_course_do_what_it_must_not(plan, seed):
    run(plan, seed)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_after_any_trouble_a_course_goes_on_or_says_why_not(trouble):
    """Not vacuous: with each trouble in one message of 50, a right robot's course is done."""
    watched = drive((COURSES[0], [(trouble, 0.02)] * 2), 1)
    stops = trouble in ("push", "stop")
    assert watched.course.phase is (Phase.STOPPED if stops else Phase.DONE), watched.course.problem
    assert stops or 0 < watched.refused < 20


@pytest.mark.parametrize("trouble", ["nan angle", "late"])
def test_what_is_refused_interrupts_the_held_out_motion(trouble):
    watched = drive((COURSES[1], [("twice", 0.0)] * 2 + [(trouble, 0.05)] * 2), 1)
    assert watched.course.verified is not None and watched.refused > 3


@pytest.mark.parametrize("share", [0.5, 1.0])
@pytest.mark.parametrize("trouble", ["jump", "back", "ahead"])
def test_samples_that_are_refused_do_not_let_a_rolling_robot_go(trouble, share):
    """Braking has just begun when they come: a speed of 0 after them is that of a new beginning."""
    course = ("prbs", False, PERIOD * (LENGTH - 3), 0.0, "straight", True)
    watched = drive((course, [("twice", 0.0), (trouble, share)]), 1)
    assert watched.refused > 5


def test_a_course_that_is_stopped_before_its_first_sample_stays_so():
    robot = Robot(np.random.default_rng(0), WIRES["straight"], False)
    watched = Watched(make_course(*COURSES[0][:4], 0))
    watched.course.stop("not now")
    for _ in range(2):
        watched.answer(robot.drive(watched.torque), robot)
    assert watched.course.problem == "not now"
