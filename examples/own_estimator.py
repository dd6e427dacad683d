# SPDX-License-Identifier: Apache-2.0
"""Write an estimator of K5 to K8, and compare it with the suite's, with full contact physics.

An estimator is anything with `update(sample)`, `estimate()` and `velocity`. This one is an extended
Kalman filter on the wheels' angles: it knows friction, but neither delays nor other effects.

./diffbot python examples/own_estimator.py
"""

import math

import numpy as np

from diffbot_description import load_robot
from diffbot_description.dynamics import accelerations, acting_torque
from diffbot_ident import Estimate, EstimateState
from diffbot_study import simulate_identification

START = 500  # samples from which the first guess of K5 to K8 is made
REVERSAL = 0.05  # rad/s; the sign of slower wheels is smoothed


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


class KalmanFilter:
    """State: wheel angles (rad), v (m/s), omega (rad/s), K5..K8, viscous and Coulomb friction."""

    velocity = None

    def __init__(self, geometry, torque, noise=0.01, resolution=math.tau / 4096):
        self.geometry, self.torque, self.noise = geometry, torque, noise
        self.readings = resolution**2 / 12.0 * np.eye(2)
        self.start, self.last, self.x = PlainLeastSquares(geometry), None, None

    def step(self, x, torque, h):
        """Return states of shape (12, n) after h seconds of constant torques, N m (midpoint rule).

        For each wheel the acting torque is tau - c w - f sign(w).
        """
        v, omega = x[2:4]
        for part in (0.5 * h, h):
            wheels = self.geometry.wheel_velocity(v, omega)
            acting = [
                acting_torque(torque[i], w, x[8 + i], x[10 + i], np.tanh(w / REVERSAL))
                for i, w in enumerate(wheels)
            ]
            dv, domega = accelerations(x[4:8], v, omega, *acting)
            middle = v, omega
            v, omega = x[2] + part * dv, x[3] + part * domega
        turned = h * np.array(self.geometry.wheel_velocity(*middle))
        return np.concatenate((x[:2] + turned, [v, omega], x[4:]))

    def begin(self, last, sample):
        """Start from plain least squares; friction is unknown."""
        values = np.array(self.start.estimate().values)
        turned = np.subtract(sample.position, last.position) / (sample.stamp - last.stamp)
        motion = self.geometry.body_velocity(*turned)
        self.x = np.array((*sample.position, *motion, *values, 0.0, 0.0, 0.0, 0.0))
        friction = (0.01, 0.01, 0.2, 0.2) * np.full(4, self.torque)
        spread = (1e-3, 1e-3, 0.05, 0.2, *(0.3 * np.abs(values)), *friction)
        self.p = np.diag(np.square(spread))

    def update(self, sample):
        """Predict over the period, then correct with both angles."""
        last, self.last = self.last, sample
        if self.x is None:
            self.start.update(sample)
            if len(self.start.samples) == START:
                self.begin(last, sample)
            return
        h = sample.stamp - last.stamp
        small = 1e-4 * np.maximum(np.abs(self.x), 1e-2)
        sides = [self.x[:, None] + sign * np.diag(small) for sign in (1.0, -1.0)]
        ahead, behind = (self.step(side, sample.effort, h) for side in sides)
        jacobian = (ahead - behind) / (2.0 * small)
        k7, k8 = self.x[6:8]
        unknown = np.zeros((12, 2))  # what a torque that is not reported does, per N m
        unknown[2:4] = h * np.array(((k7, k7), (k8, -k8)))
        variance = self.noise**2 * (np.square(sample.effort) + (0.2 * self.torque) ** 2)
        p = jacobian @ self.p @ jacobian.T + (unknown * variance) @ unknown.T
        x = self.step(self.x[:, None], sample.effort, h)[:, 0]
        gain = p[:, :2] @ np.linalg.inv(p[:2, :2] + self.readings)
        self.x = x + gain @ (np.array(sample.position) - x[:2])
        rest = np.eye(12) - np.pad(gain, ((0, 0), (0, 10)))
        self.p = rest @ p @ rest.T + gain @ self.readings @ gain.T  # Joseph: never negative

    def estimate(self):
        """Return the values and their covariance."""
        if self.x is None:
            return Estimate()
        return Estimate(state=EstimateState.ESTIMATED).with_values(self.x[4:8], self.p[4:8, 4:8])


robot = load_robot("agv")  # its wheels have friction
for name, estimator in (
    ("integral", "integral"),
    ("least squares", PlainLeastSquares(robot.geometry)),
    ("Kalman filter", KalmanFilter(robot.geometry, robot.excitation.amplitude)),
):
    run = simulate_identification(robot, "mujoco", excitation="multisine", estimator=estimator)
    print(f"{name}: errors of K5 to K8", *(f"{error:+.2f}" for error in run.errors), "%")
