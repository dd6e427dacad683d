# SPDX-License-Identifier: Apache-2.0
"""Jumps of the pose that an odometry tells: found, waited out; and motions that are none."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import Arc, Pose, Velocity
from arc_odometry.odometry_checks import PoseContinuity

PERIOD = 0.01
FASTEST = Velocity(0.7, 3.14)
A, B = Pose(0.1, 0.0, 0.0), Pose(-1.5, 0.0, 0.0)


def usable(poses, period=PERIOD, fastest=FASTEST):
    """Whether each of the poses, a period (s) apart, may be used; and what was said."""
    continuity, result, said = PoseContinuity(fastest), [], []
    for k, pose in enumerate(poses):
        try:
            continuity.check(k * period, pose)
            result.append(True)
        except ValueError as error:
            result.append(False)
            said.append(str(error))
    return result, said


def test_a_pose_that_was_corrected_once_counts_again_after_half_a_second():
    result, said = usable([A] * 10 + [B] * 100)
    assert result == [True] * 10 + [False] * 50 + [True] * 50
    # 0.1 m + 2 * 0.7 m/s * 0.01 s
    assert "jumped by 1.600 m and 0.000 rad in 0.010 s, limits 0.114 m and 0.263 rad" in said[0]
    assert "jumped 0.490 s ago: it has to be steady for 0.5 s" in said[-1]


@pytest.mark.parametrize("turns", [1, 2, 7, 49])
def test_two_poses_that_take_turns_never_count(turns):
    result, _ = usable(([A] * turns + [B] * turns) * 20)
    assert result == [True] * turns + [False] * 39 * turns


@pytest.mark.parametrize("theta", [0.3, -0.3, math.pi])
def test_a_heading_jumps_too_but_not_by_a_whole_turn(theta):
    assert not all(usable([A, A._replace(theta=theta)])[0])
    assert all(usable([A, A._replace(theta=math.tau), A._replace(theta=0.1 - math.tau)])[0])


@given(
    st.floats(0.01, 5.0),
    st.floats(0.01, 20.0),
    st.floats(0.001, 1.0),
    st.lists(st.tuples(*[st.floats(-1.0, 1.0)] * 4), min_size=2, max_size=50),
)
def test_no_motion_within_the_limits_is_a_jump(v, omega, period, motions):
    """Arcs at up to the fastest speeds, told with errors of up to 5 cm and 0.1 rad."""
    true, reported = Pose(0.0, 0.0, 3.0), []
    for ahead, turn, place, heading in motions:
        true = Arc(ahead * v * period, turn * omega * period).end(true)
        x, y, theta = true
        theta = math.remainder(theta + 0.099 * heading, math.tau)
        reported.append(Pose(x + 0.049 * place, y, theta))
    assert all(usable(reported, period, Velocity(v, omega))[0])


def test_time_that_goes_back_is_a_new_beginning():
    continuity = PoseContinuity(FASTEST)
    continuity.check(5.0, A)
    with pytest.raises(ValueError, match="jumped by"):
        continuity.check(5.01, B)
    continuity.check(1.0, A)
    continuity.check(1.01, A)


@pytest.mark.parametrize("name", ["v", "omega"])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_speeds_that_are_none_are_refused(name, bad):
    with pytest.raises(ValueError, match=f"fastest: {name} = {bad}: must be finite and > 0"):
        PoseContinuity(Velocity(**{"v": 1.0, "omega": 1.0, name: bad}))
