# SPDX-License-Identifier: Apache-2.0
import math

import pytest

from arc_odometry import Pose, Velocity
from diffbot_controllers import State, approach_gains, tuned_backstepping, tuned_polar_pose
from diffbot_description import DynamicParameters
from pose2d_trajectories import Reference

TWIL = DynamicParameters(0.08444, -3.7706, 2.6468, -16.084)
REST = State(Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0))


@pytest.mark.parametrize("make", [tuned_backstepping, tuned_polar_pose])
@pytest.mark.parametrize("name", ["gamma1", "gamma2", "ratio"])
@pytest.mark.parametrize("bad", [0.0, -1.0, math.nan, math.inf])
def test_bad_gains_are_refused_by_name(make, name, bad):
    with pytest.raises(ValueError, match=f"{name} = {bad}"):
        make(TWIL, 5.0, **{name: bad})


@pytest.mark.parametrize("name", ["settling_time", "damping"])
def test_bad_loops_are_refused_by_name(name):
    with pytest.raises(ValueError, match=f"{name} = -1.0"):
        tuned_polar_pose(TWIL, 5.0, **{name: -1.0})


def test_gains_given_are_the_ones_used_and_the_others_stay():
    tuned = approach_gains(TWIL, 5.0, 3.0, 10.0)
    law = tuned_backstepping(TWIL, 5.0, gamma1=2.5, ratio=1.5)
    law.update(REST, Reference(1.0), 0.01)
    assert law.record.gammas == (2.5, tuned.gamma2)
    assert law.record.lambdas == (1.0, 1.5)
    polar = tuned_polar_pose(TWIL, 5.0, gamma2=3.0, settling_time=0.1)
    polar.update(REST, Reference(0.0, 1.0), 0.01)
    # (83) at alpha = -pi/2 of the way ahead: gamma_2 pi / 2.
    assert polar.record.velocity_reference.omega == pytest.approx(1.5 * math.pi)
    slow = 2.0 * (1.0 - math.exp(-math.log(100.0) * 0.1)) / 0.01
    assert polar.record.loops.gains.kp == pytest.approx(slow)


@pytest.mark.parametrize("torque_limit", [0.3, 1.0, 5.0])
def test_at_the_bounds_of_speed_torque_is_left_to_steer_and_brake(torque_limit):
    gains = approach_gains(TWIL, torque_limit, 3.0, 10.0)
    turning = Velocity(0.0, gains.angular_velocity)
    v = gains.lateral_acceleration / gains.angular_velocity
    both = Velocity(v, gains.angular_velocity)
    hold = TWIL.torque(Velocity(0.0, 0.0), TWIL.drift(turning))
    assert max(map(abs, hold)) <= 0.4 * torque_limit
    steer = TWIL.torque(Velocity(0.0, 0.0), TWIL.drift(both))
    assert abs(steer[1] - steer[0]) <= 0.8 * torque_limit
