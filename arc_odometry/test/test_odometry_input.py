# SPDX-License-Identifier: Apache-2.0
"""Readings that wrap, jump, come late or are no numbers."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import (
    DiffOdometry,
    EncoderJumpError,
    JointOdometry,
    JointSample,
    WheelGeometry,
)

GEOMETRY = WheelGeometry(0.1, 0.1, 0.5)
PATH_NOISE = 1e-6
wild = st.one_of(
    st.floats(),
    st.floats(-1e-300, 1e-300),
    st.sampled_from([math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 0.0]),
)


def started(angles=(0.0, 0.0)):
    odometry = DiffOdometry(GEOMETRY, PATH_NOISE)
    odometry.update(10.0, angles)
    return odometry


def state(odometry):
    return (
        *(odometry.pose, odometry.velocity, odometry.time, odometry.angles),
        odometry.covariance.tobytes(),
        odometry.velocity_covariance.tobytes(),
    )


@given(
    st.lists(st.tuples(st.floats(-3.0, 3.0), st.floats(-3.0, 3.0)), min_size=1, max_size=20),
    st.sampled_from([1, 2, 16, 1024]),
    st.floats(-0.5, 0.5),
)
def test_encoders_that_wrap_drive_the_same_way(steps, span, centre):
    """Wrapped at any number of whole turns, and around any angle."""
    true, wrapped, angles = started(), started(), np.zeros(2)
    low, width = (centre - 0.5) * span * math.tau, span * math.tau
    for number, step in enumerate(steps):
        angles += step
        true.update(10.05 + 0.05 * number, tuple(angles))
        read = (angles - low) % width + low
        wrapped.update(10.05 + 0.05 * number, tuple(read))
    assert wrapped.pose == pytest.approx(true.pose, abs=1e-9)


def test_encoders_that_count_turns_bridge_long_gaps():
    odometry = started((50.0, 50.0))
    odometry.update(15.0, (90.0, 90.0))
    assert odometry.pose.x == pytest.approx(4.0)


@pytest.mark.parametrize("angles", [(2.5, 0.0), (0.0, -2.5), (-123.4, 0.0)])
def test_jumps_are_refused_by_wheel(angles):
    odometry = started()
    before = state(odometry)
    with pytest.raises(EncoderJumpError, match=r"(left|right) wheel jumped.*<= 2 rad"):
        odometry.update(10.02, angles)
    assert state(odometry) == before


@given(wild, wild, wild)
def test_whatever_comes_the_state_stays_finite_or_unchanged(time, left, right):
    odometry = DiffOdometry(GEOMETRY, PATH_NOISE, max_wheel_speed=math.inf)
    odometry.update(10.0, (0.0, 0.0))
    before = state(odometry)
    for call in (
        lambda: odometry.update(time, (left, right)),
        lambda: odometry.advance((left, right), time),
        lambda: odometry.set_pose((time, left, right)),
        lambda: odometry.set_path_noise(time),
    ):
        try:
            call()
        except ValueError:
            assert state(odometry) == before
        before = state(odometry)
        numbers = (*odometry.pose, *odometry.velocity, odometry.time, odometry.path_noise)
        assert all(map(math.isfinite, numbers))
        assert np.isfinite(odometry.covariance).all()
        assert np.isfinite(odometry.velocity_covariance).all()


@pytest.mark.parametrize("time", [10.0, 9.99, -1.0])
def test_time_must_go_on(time):
    with pytest.raises(ValueError, match="later than 10.0 s"):
        started().update(time, (0.1, 0.1))


@pytest.mark.parametrize(
    "options, field",
    [
        ({"path_noise": -1e-9}, "path_noise"),
        ({"path_noise": math.nan}, "path_noise"),
        ({"max_wheel_speed": 0.0}, "max_wheel_speed"),
        ({"max_wheel_speed": math.nan}, "max_wheel_speed"),
        ({"pose": (0.0, math.nan, 0.0)}, "pose"),
        ({"pose": (0.0, 0.0)}, "pose"),
    ],
)
def test_bad_settings_are_named(options, field):
    with pytest.raises(ValueError, match=f"^{field} = "):
        DiffOdometry(GEOMETRY, **options)


@pytest.mark.parametrize(
    "covariance, rule",
    [
        (np.eye(2), "shape"),
        (np.diag([1.0, math.inf, 1.0]), "finite"),
        (np.array([[1.0, 0.1, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), "symmetric"),
        (np.diag([1.0, -0.1, 1.0]), "semidefinite"),
    ],
)
def test_bad_covariances_are_refused(covariance, rule):
    odometry = started()
    with pytest.raises(ValueError, match=rule):
        odometry.set_pose((1.0, 2.0, 3.0), covariance)
    assert odometry.pose == (0.0, 0.0, 0.0)


class Samples:
    """Feeds a JointOdometry with straight driving: 1 rad per s of true time."""

    def __init__(self, **options):
        self.odometry = DiffOdometry(GEOMETRY)
        self.joints = JointOdometry(self.odometry, **options)

    def say(self, stamp, angle):
        """Kind of the anomaly, empty where nothing was odd."""
        anomaly = self.joints.update(JointSample(stamp, (angle, angle), (0.0, 0.0), (0.0, 0.0)))
        return anomaly.kind if anomaly else ""

    @property
    def x(self):
        return self.odometry.pose.x


def test_the_same_sample_again_is_no_news():
    samples = Samples()
    assert [samples.say(*s) for s in ((1.0, 0.0), (1.0, 0.0), (1.1, 0.1), (1.1, 0.1))] == [""] * 4
    assert samples.x == pytest.approx(0.01)
    assert samples.say(1.1, 0.2) == "stamp"


def test_a_late_sample_is_left_out():
    samples = Samples()
    said = [samples.say(k, 0.1 * k) for k in (1.0, 1.2, 1.1, 1.3, 1.4, 1.35, 1.5)]
    assert said == ["", "", "late", "", "", "late", ""]
    assert samples.x == pytest.approx(0.1 * 0.1 * 0.5)


@pytest.mark.parametrize("back", [False, True])
def test_time_that_was_reset(back):
    samples = Samples(reset_on_time_jump=back)
    for k in range(5):
        assert samples.say(60.0 + 0.1 * k, 0.1 * k) == ""
    assert samples.x == pytest.approx(0.04)
    assert [samples.say(0.1 * k, 2.0 + 0.1 * k) for k in range(4)] == ["late", "reset", "", ""]
    assert samples.x == pytest.approx(0.02 if back else 0.06)


def test_a_jump_is_left_out_and_driving_goes_on():
    samples = Samples()
    said = [samples.say(*s) for s in ((1.0, 50.0), (1.01, 50.01), (1.02, 3.0), (1.03, 3.01))]
    assert said == ["", "", "jump", ""]
    assert samples.x == pytest.approx(0.002)


def test_a_gap_is_reported_and_counted():
    samples = Samples(longest_gap=0.5)
    assert [samples.say(*s) for s in ((1.0, 0.0), (1.5, 0.5), (2.1, 1.1))] == ["", "", "gap"]
    assert samples.x == pytest.approx(0.11)


@pytest.mark.parametrize("last, said", [(40.0, "restart"), (0.06, "gap")])
def test_encoders_that_begin_at_0_after_a_gap_are_no_way(last, said):
    """A driver was started anew: 40 rad back would be a way of 4 m. Below 0.1 rad it may be one."""
    samples = Samples(longest_gap=0.5)
    anomalies = [samples.say(*s) for s in ((1.0, last - 0.01), (1.01, last), (12.0, 0.0))]
    assert anomalies == ["", "", said]
    before = 0.001 if said == "restart" else 0.1 * (0.01 - last)
    assert samples.x == pytest.approx(before)
    assert samples.say(12.01, 0.02) == ""
    assert samples.x == pytest.approx(before + 0.002)


def test_a_short_gap_to_0_is_a_way():
    """Encoders wrap, and robots drive back to where they began."""
    samples = Samples(longest_gap=0.5)
    assert [samples.say(*s) for s in ((1.0, 1.0), (1.1, 0.5), (1.4, 0.0))] == ["", "", ""]
    assert samples.x == pytest.approx(-0.1)
