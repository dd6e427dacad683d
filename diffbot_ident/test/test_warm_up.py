# SPDX-License-Identifier: Apache-2.0
"""What the integral estimator keeps while the response to torques stays unknown."""

import pickle

import numpy as np
import pytest

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.learning import MotionScale

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)


def size_when_parked(seconds: int, samples_between_gaps: int) -> int:
    """Bytes of an estimator that was fed at 100 Hz by a robot that stands under small torques."""
    estimator = IntegralEstimator(GEOMETRY, MotionScale(1.0, 2.0, 1.0))
    torques = np.random.default_rng(seconds).uniform(0.0, 0.01, (100 * seconds, 2)).tolist()
    stamp = 0.0
    for k, (left, right) in enumerate(torques, start=1):
        gap = k % samples_between_gaps == 0
        stamp += 5.0 if gap else 0.01
        sample = JointSample(stamp, (0.0, 0.0), (0.0, 0.0), (left, right))
        if gap:
            with pytest.raises(ValueError, match="time step"):
                estimator.update(sample)
        else:
            estimator.update(sample)
    estimator.estimate()
    return len(pickle.dumps(estimator))


@pytest.mark.parametrize("samples_between_gaps", [20, 1_000_000])
def test_a_parked_robot_does_not_fill_the_memory(samples_between_gaps):
    minute, longer = (size_when_parked(s, samples_between_gaps) for s in (60, 300))
    assert longer < 1.5 * minute
