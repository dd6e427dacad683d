# SPDX-License-Identifier: Apache-2.0
"""Long sequences of good, late, repeated, wrapped, jumping and senseless joint samples.

Hypothesis draws a plan of segments, troubles and a seed; each plan becomes thousands of samples.
"""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from arc_odometry import DiffOdometry, JointOdometry, JointSample, WheelGeometry

GEOMETRY = WheelGeometry(0.07, 0.08, 0.3)
NOISE = 1e-6
PERIOD, LENGTH = 0.01, 200  # s, samples of a segment
# A wheel's angle that is off by this is no wrap, and more than 1 rad, the most in 10 ms.
JUMP = 3.0
LONGEST_GAP = 0.5
NOTHING = (0.0, 0.0)
KINDS = ("good", "nan", "infinite", "nan stamp", "twice", "other angles", "late", "jump", "gap")
plans = st.lists(
    st.tuples(
        st.floats(-8.0, 8.0),  # speeds of the wheels, rad/s
        st.floats(-8.0, 8.0),
        st.sampled_from(KINDS),
        st.floats(0.0, 0.1),  # share of spoiled samples
    ),
    min_size=1,
    max_size=5,
)
seeds = st.integers(0, 2**32 - 1)
spans = st.sampled_from([0, 1, 2, 1024])  # turns after which the encoders wrap; 0: never
starts = st.sampled_from([0.0, 36000.0, 1.7e9])  # s


@dataclass(frozen=True)
class Message:
    """A joint sample, and whether it tells of motion."""

    sample: JointSample
    is_good: bool


def sample(stamp, angles):
    return JointSample(float(stamp), (float(angles[0]), float(angles[1])), NOTHING, NOTHING)


def true_motion(plan, seed):
    """True angles at the instants of a plan, (n, 2), and each one's trouble; jittery speeds."""
    random = np.random.default_rng(seed)
    speeds = np.repeat([segment[:2] for segment in plan], LENGTH, axis=0)
    speeds = speeds + random.normal(0.0, 1.0, speeds.shape)
    kinds = np.full(len(speeds), "good", dtype=object)
    for index, (_, _, kind, fraction) in enumerate(plan):
        part = slice(index * LENGTH, (index + 1) * LENGTH)
        kinds[part][random.random(LENGTH) < fraction] = kind
    kinds[:2] = "good"
    return np.cumsum(PERIOD * speeds, axis=0), kinds


def messages(angles, kinds, start, span):
    """What arrives; good ones are those whose angles count."""
    for k, (true, kind) in enumerate(zip(angles, kinds, strict=True)):
        stamp = start + k * PERIOD
        read = true % (span * math.tau) if span else true
        good = sample(stamp, read)
        if kind == "nan":
            yield Message(sample(stamp, (read[0], math.nan)), False)
        elif kind == "infinite":
            yield Message(sample(stamp, (-math.inf, read[1])), False)
        elif kind == "nan stamp":
            yield Message(sample(math.nan, read), False)
        elif kind == "gap":
            continue
        else:
            # Spoiled ones come besides the good one, and before it where it would be believed.
            if kind == "jump":
                yield Message(sample(stamp - 0.5 * PERIOD, (read[0] + JUMP, read[1])), False)
            yield Message(good, True)
            if kind == "twice":
                yield Message(good, False)
            elif kind == "other angles":
                yield Message(sample(stamp, read + 0.3), False)
            elif kind == "late":
                yield Message(sample(stamp - 1.5 * PERIOD, read - 1.0), False)


def numbers(odometry):
    return (*odometry.pose, *odometry.velocity, odometry.covariance.tobytes())


def check(odometry):
    """Finite, and covariances symmetric positive semidefinite."""
    assert all(map(math.isfinite, (*odometry.pose, *odometry.velocity)))
    for covariance in (odometry.covariance, odometry.velocity_covariance):
        assert np.isfinite(covariance).all() and (covariance == covariance.T).all()
        rounding = 1e-13 * float(np.trace(covariance))
        assert np.linalg.eigvalsh(covariance)[0] >= -rounding


@settings(max_examples=10)
@given(plans, seeds, spans, starts)
def test_troubles_leave_the_pose_where_the_good_samples_alone_put_it(plan, seed, span, start):
    """No way is gained or lost by what was left out; a jump is a new beginning, and says so."""
    angles, kinds = true_motion(plan, seed)
    troubled = JointOdometry(DiffOdometry(GEOMETRY, NOISE), LONGEST_GAP)
    alone = JointOdometry(DiffOdometry(GEOMETRY, NOISE), LONGEST_GAP)
    left_out = 0
    for number, message in enumerate(messages(angles, kinds, start, span)):
        before = numbers(troubled.odometry)
        try:
            anomaly = troubled.update(message.sample)
        except ValueError as error:
            assert not message.is_good and "finite" in str(error)
            anomaly = "refused"
        if message.is_good:
            jumped = anomaly is not None and anomaly.kind == "jump"
            if jumped:  # both ways of a jump are lost, the one in between too
                alone.odometry.restart()
            alone.update(message.sample)
            assert anomaly is None or jumped
        else:
            left_out += 1
            assert numbers(troubled.odometry)[:3] == before[:3]  # the pose has not moved
        if number % 50 == 0:
            check(troubled.odometry)
    check(troubled.odometry)
    assert troubled.odometry.pose == alone.odometry.pose
    np.testing.assert_array_equal(troubled.odometry.covariance, alone.odometry.covariance)
    assert left_out <= (kinds != "good").sum()


@settings(max_examples=10)
@given(plans, seeds, st.sampled_from([1, 2, 5]), starts)
def test_steps_along_one_arc_may_be_merged_or_split(plan, seed, every, start):
    """At constant speeds fewer samples tell the same: pose and covariance but for rounding."""
    random = np.random.default_rng(seed)
    speeds = np.repeat([segment[:2] for segment in plan], 100, axis=0)
    angles = np.concatenate(([[0.0, 0.0]], np.cumsum(PERIOD * speeds, axis=0)))
    kept = np.zeros(len(angles), bool)
    kept[::100] = True  # where the speeds change
    kept[::every] |= random.random(len(angles[::every])) < 0.5
    all_of_them, some = (DiffOdometry(GEOMETRY, NOISE) for _ in range(2))
    for k, reading in enumerate(angles):
        stamp = start + k * PERIOD
        all_of_them.update(stamp, tuple(reading))
        if kept[k]:
            some.update(stamp, tuple(reading))
    assert some.pose == pytest.approx(all_of_them.pose, abs=1e-11)
    scale = np.abs(all_of_them.covariance).max()
    np.testing.assert_allclose(some.covariance, all_of_them.covariance, atol=1e-10 * scale)


@settings(max_examples=5)
@given(plans, seeds)
def test_stamps_since_1970_change_nothing(plan, seed):
    """The pose does not depend on time at all, the velocity by the rounding of the stamps."""
    angles, _ = true_motion(plan[:2], seed)
    early, late = (DiffOdometry(GEOMETRY, NOISE) for _ in range(2))
    velocities = []
    for k, reading in enumerate(angles):
        early.update(k * PERIOD, tuple(reading))
        late.update(1.7e9 + k * PERIOD, tuple(reading))
        velocities.append((early.velocity, late.velocity))
    assert late.pose == early.pose
    before, since = np.swapaxes(velocities, 0, 1)
    # Stamps since 1970 are rounded to 2.4e-7 s.
    np.testing.assert_allclose(since, before, rtol=5e-5)


@settings(max_examples=10)
@given(plans, seeds, st.booleans(), st.lists(st.integers(2, 400), min_size=1, max_size=4))
def test_resets_of_time_never_move_the_robot(plan, seed, home, cuts):
    """Each puts the pose where its setting says, with the ways before and after kept."""
    angles, _ = true_motion(plan[:1], seed)
    joints = JointOdometry(DiffOdometry(GEOMETRY, NOISE), LONGEST_GAP, reset_on_time_jump=home)
    offset, resets = 1e4, 0
    for k, reading in enumerate(angles):
        if k in cuts:
            offset -= 1000.0
        before = joints.odometry.pose
        anomaly = joints.update(sample(offset + k * PERIOD, reading))
        if anomaly is not None and anomaly.kind == "reset":
            resets += 1
            assert joints.odometry.pose == ((0.0, 0.0, 0.0) if home else before)
        elif anomaly is not None:
            assert anomaly.kind == "late" and joints.odometry.pose == before
    check(joints.odometry)
    assert resets == len({cut for cut in cuts if cut + 1 not in cuts and cut < LENGTH - 1})
