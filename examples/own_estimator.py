# SPDX-License-Identifier: Apache-2.0
"""Write an estimator of K5 to K8 and compare it with the suite's, with full contact physics.

./diffbot python examples/own_estimator.py
"""

import numpy as np

from diffbot_description import load_robot
from diffbot_ident import Estimate, EstimateState
from diffbot_study import simulate_identification


class PlainLeastSquares:
    """Least squares of (41) on differences of the wheels' angles, without friction."""

    velocity = None  # would be used by the guard of PRBS

    def __init__(self, geometry):
        self.geometry, self.samples = geometry, []

    def update(self, sample):
        """Store a sample."""
        self.samples.append((sample.stamp, *sample.position, *sample.effort))

    def estimate(self):
        """Return the estimate from all samples so far."""
        t, left, right, *torques = np.transpose(self.samples)
        v, w = np.array(self.geometry.body_velocity(np.diff(left), np.diff(right))) / np.diff(t)
        left, right = (0.5 * (each[1:-1] + each[2:]) for each in torques)
        dv, dw, v, w = np.diff(v), np.diff(w), 0.5 * (v[1:] + v[:-1]), 0.5 * (w[1:] + w[:-1])
        k5, k7 = np.linalg.lstsq(np.transpose((w**2, left + right)), dv / np.diff(t[1:]))[0]
        k6, k8 = np.linalg.lstsq(np.transpose((v * w, left - right)), dw / np.diff(t[1:]))[0]
        return Estimate(values=(k5, k6, k7, k8), state=EstimateState.ESTIMATED)


robot = load_robot("agv")  # its wheels have friction
for name, direction in (("integral", "integral"), ("own", PlainLeastSquares(robot.geometry))):
    run = simulate_identification(robot, "mujoco", excitation="multisine", estimator=direction)
    print(f"{name}: errors of K5 to K8", *(f"{error:+.2f}" for error in run.errors), "%")
