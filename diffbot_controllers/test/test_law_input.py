# SPDX-License-Identifier: Apache-2.0
"""Bad input of the standard law and of the pose law: refused by name, torque always finite."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import MotionLimits, Pose, Velocity
from diffbot_controllers import (
    LinearizingController,
    PolarPoseController,
    StandardBackstepping,
    State,
    TrackerGains,
    VelocityServo,
    tuned_backstepping,
)
from diffbot_description import DynamicParameters
from pose2d_trajectories import Reference

TWIL = DynamicParameters(0.08444, -3.7706, 2.6468, -16.084)
REST = State(Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0))
LIMIT = 5.0

place = st.floats(-1e6, 1e6)
angle = st.floats(-1e6, 1e6)
speed = st.floats(-50.0, 50.0)


def laws():
    return (
        tuned_backstepping(TWIL, LIMIT),
        PolarPoseController(LinearizingController(TWIL, torque_limit=LIMIT)),
    )


@given(place, place, angle, speed, speed, place, place, angle, speed, speed, speed, speed)
def test_torque_is_finite_and_limited_for_any_state_and_reference(
    x, y, theta, v, omega, rx, ry, rtheta, rv, romega, rdv, rdomega
):
    state = State(Pose(x, y, theta), Velocity(v, omega))
    near = Reference(x, y, theta + 1e-9, rv, romega, rdv, rdomega)
    far = Reference(rx, ry, rtheta, rv, romega, rdv, rdomega)
    for law in laws():
        for reference in (far, near, far, Reference(rx, ry, rtheta)):
            torque = law.update(state, reference, 0.01)
            assert all(math.isfinite(t) and abs(t) <= LIMIT for t in torque)


@given(st.floats(-1.0, 1.0).map(lambda p: p * 1e-160), st.floats(-1.0, 1.0).map(lambda p: p * 1e-9))
def test_torque_is_finite_and_small_at_the_goal(x, y):
    for law in laws():
        torque = law.update(State(Pose(x, y, 0.0), Velocity(0.0, 0.0)), Reference(), 0.01)
        assert all(abs(t) < 1e-3 for t in torque)


@pytest.mark.parametrize("name", ["x", "y", "theta", "v", "omega", "dv", "domega"])
@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_bad_reference_of_any_class_is_refused_and_changes_nothing(name, bad):
    class Message:
        """As PoseReference.msg, which does not check itself."""

        x = y = theta = v = omega = dv = domega = 0.0

    message = Message()
    setattr(message, name, bad)
    for law in laws():
        with pytest.raises(ValueError, match=f"reference: {name} = {bad}"):
            law.update(REST, message, 0.01)
        assert law.record is None
        assert law.update(REST, Reference(), 0.01) == (0.0, 0.0)


@pytest.mark.parametrize("bad", [0.0, -0.01, math.nan, math.inf])
def test_bad_period_is_refused(bad):
    for law in laws():
        with pytest.raises(ValueError, match="dt ="):
            law.update(REST, Reference(), bad)


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_bad_state_is_refused_by_name(bad):
    with pytest.raises(ValueError, match="state: theta"):
        State(Pose(0.0, 0.0, bad), Velocity(0.0, 0.0))
    with pytest.raises(ValueError, match="state: v"):
        State(Pose(0.0, 0.0, 0.0), Velocity(bad, 0.0))
    with pytest.raises(ValueError, match="state: torque_right"):
        State(Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0), (0.0, bad))


def test_numbers_beyond_floating_point_are_refused():
    for law in laws():
        state = State(Pose(0.0, 0.0, 0.0), Velocity(1e200, 1e200))
        with pytest.raises(ValueError, match="beyond floating point"):
            law.update(state, Reference(), 0.01)
        assert law.update(REST, Reference(), 0.01) == (0.0, 0.0)


@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan])
def test_bad_settings_are_refused_by_name(bad):
    for kind, name in (
        (TrackerGains, "along"),
        (TrackerGains, "reach"),
        (TrackerGains, "turning"),
        (VelocityServo, "torque_limit"),
        (MotionLimits, "linear_acceleration"),
        (VelocityServo, "settling_time"),
    ):
        with pytest.raises(ValueError, match=f"{name} = "):
            kind(**{name: bad})
    with pytest.raises(ValueError, match="capture"):
        StandardBackstepping(TWIL, capture=bad)
    with pytest.raises(ValueError, match="torque_limit"):
        tuned_backstepping(TWIL, bad)
