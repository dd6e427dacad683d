# SPDX-License-Identifier: Apache-2.0
"""What the integral estimator keeps of the opening, and learns anew."""

import pickle

import numpy as np
import pytest
from test_regression import GEOMETRY as LINEAR_GEOMETRY
from test_regression import K7, K8, samples_of_linear_plant

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.learning import Learning, MotionScale

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


def test_rows_before_effects_were_looked_for_are_built_anew(monkeypatch):
    """A torque of 5 and of 3 % that is not reported acts: all rows are made with it.

    A wheel that friction held before it was known made K5 and K6 1.5 % wrong, 3.5 deviations.
    """
    made = {}

    def make(self, samples, response):
        made.update(dict.fromkeys(samples[:, 0].tolist(), response.beside))
        return original(self, samples, response)

    original = Learning.make
    monkeypatch.setattr(Learning, "make", make)
    random, hidden, count = np.random.default_rng(8), np.array([0.05, 0.03]), 2e-4
    torques = np.repeat(random.choice([-1.0, -0.6, 0.6, 1.0], (60, 2)), 20, axis=0) + hidden
    estimator = IntegralEstimator(LINEAR_GEOMETRY, MotionScale(1.0, 2.0, 1.0))
    for sample in samples_of_linear_plant((0.01, *pair) for pair in torques.tolist()):
        angles = np.floor(np.array(sample.position) / count + random.uniform(size=2)) * count
        efforts = np.array(sample.effort) - hidden
        estimator.update(JointSample(sample.stamp, (*angles,), (0.0, 0.0), (*efforts,)))
    assert any("not reported" in warning for warning in estimator.estimate().warnings)
    assert len(made) > 1000
    constant = np.array(list(made.values()))[:, :, 0]
    assert constant == pytest.approx(np.tile((K7 * 0.08, K8 * 0.02), (len(made), 1)), rel=0.25)
