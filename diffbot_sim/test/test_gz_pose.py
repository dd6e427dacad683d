# SPDX-License-Identifier: Apache-2.0
"""True motion from the poses of a physics whose positions are half a step ahead."""

import math

import numpy as np

from diffbot_sim.gz.stepped_robot import GzPose

STEP, PERIOD = 0.001, 0.01


def arc(time, v=0.7, omega=2.0):
    """Pose on a circle from (1, 2, 3)."""
    theta = 3.0 + omega * time
    radius = v / omega
    return (
        1.0 + radius * (math.sin(theta) - math.sin(3.0)),
        2.0 - radius * (math.cos(theta) - math.cos(3.0)),
        theta,
    )


def test_arc_through_pi_is_set_back_by_half_a_step():
    pose = GzPose(STEP)
    for k in range(400):
        x, y, theta = arc(k * PERIOD + STEP / 2)
        result, velocity = pose.update(k * PERIOD, x, y, math.remainder(theta, math.tau))
        if k == 0:
            assert velocity == (0.0, 0.0)
            continue
        wanted = arc(k * PERIOD)
        assert np.allclose(result[:2], wanted[:2], atol=1e-5)
        assert abs(math.remainder(result[2] - wanted[2], math.tau)) < 1e-9
        assert np.allclose(velocity, (0.7, 2.0), rtol=1e-4)


def test_gap_and_repeated_time_give_no_velocity():
    pose = GzPose(STEP)
    pose.update(0.0, 0.0, 0.0, 0.0)
    assert pose.update(0.5, 1.0, 0.0, 0.0) == ((1.0, 0.0, 0.0), (0.0, 0.0))
    assert pose.update(0.5, 2.0, 0.0, 0.0) == ((2.0, 0.0, 0.0), (0.0, 0.0))
