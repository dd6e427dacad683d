# SPDX-License-Identifier: Apache-2.0
"""The course of an identification under any sequence of joint samples of a robot that it drives.

Hypothesis draws courses, wires, troubles and a seed; each plan becomes hundreds of messages.
benchmarks/message_sequences.py sends many more through the same checks.
"""

import contextlib
import math
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from checked_course import GEOMETRY, OWN, PRIOR, SPEEDS, CheckedCourse, Robot
from hypothesis import given
from hypothesis import strategies as st
from test_safety_filter import PERIOD, TWIL

from arc_odometry import JointSample
from diffbot_description.arena import Arena
from diffbot_ident.estimate import EstimateState
from diffbot_ident.estimators import make_estimator
from diffbot_ident.excitation.excitations import make_excitation
from diffbot_ident.identification_run import Identification, Phase
from diffbot_ident.prediction_model import Model
from diffbot_ident.runaway import MAX_BRAKING, RunawayLimits
from diffbot_ident.torque.learning import MotionScale

LENGTH, AFTER = 150, 5  # messages of a segment, and after the end
# Refused by values, by stamp, as a gap, or as a jump of an encoder.
REFUSED = (
    *("nan angle", "infinite angle", "absurd angle", "nan torque", "absurd torque"),
    *("nan stamp", "infinite stamp", "absurd stamp", "twice", "late", "back", "ahead"),
    *("pause", "jump"),
)
TROUBLES = (*REFUSED, "push", "stop")
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


def make_course(kind, fenced, duration, verification, seed):
    room = Arena(3.0, 3.0) if fenced else None

    def excitation(kind, seed):
        return make_excitation(kind, TWIL, seed, arena=room, prior=PRIOR)

    return Identification(
        make_estimator("integral", GEOMETRY, MotionScale(*SPEEDS, OWN.amplitude)),
        excitation(kind, seed),
        GEOMETRY,
        RunawayLimits(*SPEEDS, OWN.amplitude, "twil"),
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
    checked = CheckedCourse(make_course(kind, fenced, duration, verification, seed % 1000))
    course, happened, over, last = checked.course, Counter(), 0, None
    longest = len(segments) * LENGTH + (duration + 2.0 * verification + MAX_BRAKING) / PERIOD
    for number in range(round(longest) + AFTER):
        trouble, fraction = (
            segments[number // LENGTH] if number < LENGTH * len(segments) else ("", 0)
        )
        now = trouble if random.random() < fraction else ""
        happened[now] += 1
        happen(now, robot, course, random)
        sample = spoiled(robot.drive(checked.torque), now)
        checked.answer(sample, robot)
        if now in ("twice", "late"):
            checked.answer(last if now == "late" and last else sample, robot)
        last = sample
        over += course.ended
        if over >= AFTER:
            break
    assert course.ended
    # After a stamp that is absurd: itself, one that may be late, and one that shows a reset.
    assert checked.refused <= 3 * (happened.total() - happened[""])
    if wires == "straight" and not happened.keys() & {"push", "stop"}:
        assert course.phase is Phase.DONE and course.estimate.state is not EstimateState.INVALID
    # Nothing ends early, and where samples are lost the verification may take twice its time.
    rounding = 1e-6
    if course.phase is Phase.DONE:
        assert course.excited >= duration - rounding
    if course.verified is not None:
        lasted = checked.braked_since() - course.excited
        assert verification - rounding <= lasted <= 2.0 * verification + 1.0
    return checked


def run(plan, seed):
    """Send a plan's messages; returns the counts of what became of them."""
    return drive(plan, seed).count


@given(plans, st.integers(0, 2**32 - 1))
def test_no_sequence_makes_a_course_do_what_it_must_not(plan, seed):
    run(plan, seed)


@pytest.mark.parametrize("trouble", TROUBLES)
def test_after_any_trouble_a_course_goes_on_or_says_why_not(trouble):
    """Not vacuous: with each trouble in one message of 50, a right robot's course is done."""
    checked = drive((COURSES[0], [(trouble, 0.02)] * 2), 1)
    stops = trouble in ("push", "stop")
    assert checked.course.phase is (Phase.STOPPED if stops else Phase.DONE), checked.course.problem
    assert stops or 0 < checked.refused < 20


@pytest.mark.parametrize("trouble", ["nan angle", "late"])
def test_what_is_refused_interrupts_the_held_out_motion(trouble):
    checked = drive((COURSES[1], [("twice", 0.0)] * 2 + [(trouble, 0.05)] * 2), 1)
    assert checked.course.verified is not None and checked.refused > 3


@pytest.mark.parametrize("fraction", [0.5, 1.0])
@pytest.mark.parametrize("trouble", ["jump", "back", "ahead"])
def test_samples_that_are_refused_do_not_let_a_rolling_robot_go(trouble, fraction):
    """Braking has just begun when they come: a speed of 0 after them is that of a new beginning."""
    course = ("prbs", False, PERIOD * (LENGTH - 3), 0.0, "straight", True)
    checked = drive((course, [("twice", 0.0), (trouble, fraction)]), 1)
    assert checked.refused > 5


def test_a_course_that_is_stopped_before_its_first_sample_stays_so():
    robot = Robot(np.random.default_rng(0), WIRES["straight"], False)
    checked = CheckedCourse(make_course(*COURSES[0][:4], 0))
    checked.course.stop("not now")
    for _ in range(2):
        checked.answer(robot.drive(checked.torque), robot)
    assert checked.course.problem == "not now"


def test_samples_that_came_while_the_node_stood_still_are_learnt_from():
    """A tenth of them has no answer of its own; skipped, 10 in a row break the estimator's row."""
    estimates = []
    for watches in (True, False):
        course = make_course("prbs", False, 20.0, 0.0, 3)
        robot, torque = Robot(np.random.default_rng(3), (1.0, 1.0), False), (0.0, 0.0)
        for k in range(600):
            sample = robot.drive(torque)
            if k % 100 < 90:
                try:
                    torque = course.update(sample)
                except ValueError:
                    torque = (0.0, 0.0)
                course.follow_up()
            else:
                torque = (0.0, 0.0)
                if watches:
                    course.observe(sample)
        estimates.append(course.estimate.samples)
    assert estimates[0] > 580 > 560 > estimates[1]


def test_a_pause_is_no_gap_of_the_samples_and_takes_no_time_of_the_run():
    """As after `~/enable` false and true; the node sends zero meanwhile, and passes all samples."""
    course = make_course("prbs", False, 20.0, 0.0, 3)
    robot, torque = Robot(np.random.default_rng(3), (1.0, 1.0), False), (0.0, 0.0)
    for k in range(500):
        sample = robot.drive(torque)
        if 100 <= k < 400:
            course.rest(sample)
            torque = (0.0, 0.0)
        else:
            torque = course.update(sample)  # raises a ValueError if the step is too long
            course.follow_up()
    assert course.elapsed == pytest.approx(200 * PERIOD, abs=2.1 * PERIOD)
    assert not any("step" in warning for warning in course.estimate.warnings)


def test_a_driver_that_is_too_slow_fails_the_run_and_is_named():
    """Before, a run in which every sample was refused ended as if it had been completed."""
    course = make_course("prbs", False, 2.0, 1.0, seed=1)
    for number in range(30):
        angle = 0.01 * number
        sample = JointSample(0.2 * number, (angle, angle), (0.05, 0.05), (0.0, 0.0))
        with contextlib.suppress(ValueError):
            assert course.update(sample) == (0.0, 0.0) or number == 0
    assert course.phase is Phase.STOPPED
    assert "nothing was estimated, as joint states were refused: time step" in course.problem
