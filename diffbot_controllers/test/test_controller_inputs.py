# SPDX-License-Identifier: Apache-2.0
"""What comes into a controller: joint samples and references, at any pace and of any quality."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import JointSample, Velocity, WheelGeometry
from diffbot_controllers.laws.motion import LONGEST_PERIOD, WheelFeedback
from diffbot_controllers.nodes.linearizing_node import velocity_command
from diffbot_controllers.nodes.reference_input import ReferenceInput
from pose2d_trajectories import Reference, make_trajectory

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)
TIMEOUT = 0.08


def sample(stamp, left, right, velocity=(0.0, 0.0)):
    return JointSample(stamp, (left, right), velocity, (0.0, 0.0))


def test_the_first_sample_is_a_beginning_and_the_second_gives_pose_velocity_and_torque():
    feedback = WheelFeedback(GEOMETRY, start=(1.0, 2.0, math.pi / 2))
    assert feedback.update(sample(5.0, 3.0, 3.0), (0.0, 0.0)).state is None
    reading = feedback.update(sample(5.01, 3.1, 3.1), (0.2, 0.3))
    assert reading.dt == pytest.approx(0.01)
    assert reading.state.pose == pytest.approx((1.0, 2.0075, math.pi / 2))
    assert reading.state.velocity == pytest.approx((0.75, 0.0))
    assert reading.state.torque == (0.2, 0.3)


def test_velocities_may_come_from_the_joint_states():
    feedback = WheelFeedback(GEOMETRY, from_angles=False)
    feedback.update(sample(0.0, 0.0, 0.0), (0.0, 0.0))
    reading = feedback.update(sample(0.01, 0.1, 0.1, velocity=(20.0, 20.0)), (0.0, 0.0))
    assert reading.state.velocity == pytest.approx((1.5, 0.0))
    assert reading.state.pose.x == pytest.approx(0.0075)  # the pose is still that of the angles


@pytest.mark.parametrize(
    ("second", "kind"),
    [
        (sample(1.0 + 2.0 * LONGEST_PERIOD, 0.1, 0.1), "gap"),
        (sample(1.01, 1.5, 0.0), "jump"),
        (sample(0.99, 0.0, 0.0), "late"),
        (sample(1.0, 0.5, 0.0), "stamp"),
    ],
)
def test_odd_samples_give_no_state_and_say_why(second, kind):
    feedback = WheelFeedback(GEOMETRY)
    feedback.update(sample(1.0, 0.0, 0.0), (0.0, 0.0))
    reading = feedback.update(second, (0.0, 0.0))
    assert reading.state is None
    assert reading.anomaly.kind == kind
    later = second.stamp + 1.0  # whatever it was, it goes on
    feedback.update(sample(later, *second.position), (0.0, 0.0))
    assert feedback.update(sample(later + 0.01, *second.position), (0.0, 0.0)).state is not None


def poses():
    return ReferenceInput(TIMEOUT, Reference.after)


def test_a_set_point_lasts_and_a_stream_goes_stale():
    inputs = poses()
    assert inputs.empty
    assert inputs.at(0.0) is None
    inputs.hold(Reference(1.0, 0.0, 0.0))
    assert inputs.at(1e6) == Reference(1.0, 0.0, 0.0)
    inputs.add(10.0, Reference(2.0, 0.0, 0.0, v=1.0))
    assert inputs.at(9.95) is None  # the stream has not begun
    with pytest.raises(ValueError, match=r"reference is 1\.000 s ahead .* limit 0\.08 s"):
        inputs.at(9.0)
    inputs.add(10.0, Reference(2.0, 0.0, 0.0, v=1.0))  # the one before came a second ago
    assert inputs.at(10.0).x == 2.0
    assert inputs.at(10.05).x == pytest.approx(2.05)
    with pytest.raises(ValueError, match=r"newest reference is 0\.090 s older .* limit 0\.08 s"):
        inputs.at(10.09)


def test_the_reference_of_the_same_stamp_is_taken_though_newer_ones_are_there():
    inputs = poses()
    for k in range(4):
        inputs.add(0.01 * k, Reference(float(k)))
    assert [inputs.at(0.01 * k).x for k in range(4)] == [0.0, 1.0, 2.0, 3.0]
    assert inputs.reaches(0.03)
    assert not inputs.reaches(0.04)


def test_what_is_no_reference_is_refused_until_a_good_one_comes():
    inputs = poses()
    inputs.hold(ValueError("x is not a number"))
    assert not inputs.empty
    with pytest.raises(ValueError, match="x is not a number"):
        inputs.at(0.0)
    inputs.add(1.0, ValueError("omega is not a number"))
    with pytest.raises(ValueError, match="omega"):
        inputs.at(1.0)
    inputs.add(1.01, Reference(3.0))
    assert inputs.at(1.01).x == 3.0


def test_a_reset_of_time_begins_a_new_stream():
    inputs = poses()
    inputs.add(100.0, Reference(1.0))
    inputs.add(0.5, Reference(2.0))
    assert inputs.at(0.5).x == 2.0


@given(st.floats(0.0, 30.0), st.floats(0.0, 0.02))
def test_advancing_a_reference_follows_the_trajectory(time, ahead):
    trajectory = make_trajectory("figure_eight")
    now, then = trajectory.at(time), trajectory.at(time + ahead)
    got = now.after(ahead)
    # What is left out is ahead^3 / 6 = 1.3e-6 s^3 of the third derivatives (1 m/s^3, 12 rad/s^3).
    assert math.hypot(got.x - then.x, got.y - then.y) < 2e-6
    assert got.theta == pytest.approx(then.theta, abs=1.6e-5)
    assert got.v == pytest.approx(then.v, abs=1e-4)


def test_velocity_commands_stay_and_must_be_finite():
    inputs = ReferenceInput(TIMEOUT, lambda velocity, _: velocity)
    inputs.add(0.0, velocity_command(0.5, -1.0))
    assert inputs.at(0.05) == Velocity(0.5, -1.0)
    with pytest.raises(ValueError, match="angular_z"):
        velocity_command(0.5, math.inf)
