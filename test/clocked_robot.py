# SPDX-License-Identifier: Apache-2.0
"""Joint samples of a robot that follows (41) of Lages (2017), read at any times."""

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.learning import MotionScale

GEOMETRY = WheelGeometry(0.07, 0.07, 0.4)
SCALE = MotionScale(0.6, 2.0, 1.0)
TRUTH = np.array([0.06, -2.0, 1.2, -8.0])  # K5..K8, with K5 K8 = b K6 K7
# Viscous friction of each wheel, N m s/rad, integration steps per reading, and periods of a hold.
VISCOUS, STEPS, HOLD = 0.02, 4, 0.2


def _rates(v, omega, torques):
    """dv/dt and domega/dt under these torques."""
    k5, k6, k7, k8 = TRUTH.tolist()
    radius, b = GEOMETRY.left_radius, GEOMETRY.half_track
    left = torques[0] - VISCOUS * (v - b * omega) / radius
    right = torques[1] - VISCOUS * (v + b * omega) / radius
    return k5 * omega * omega + k7 * (left + right), k6 * v * omega + k8 * (left - right)


def readings(times, seed, counts=4096, noise=0.02):
    """What a robot under random torques reads at these times.

    Args:
        times: Times of the readings, s, shape (n,).
        seed: Seed of the torques and of their noise.
        counts: Encoder counts per turn.
        noise: Standard deviation of the acting torques, as a share of them.

    Returns:
        Wheel angles, rad, and torques over the period before each reading, N m, shape (n, 2) each.
    """
    random = np.random.default_rng(seed)
    radius, b = GEOMETRY.left_radius, GEOMETRY.half_track
    hold = max(1, round(HOLD / float(np.median(np.diff(times)))))
    v = omega = left = right = 0.0
    reported = np.zeros(2)
    angles, torques = np.zeros((len(times), 2)), np.zeros((len(times), 2))
    for i, step in enumerate(np.diff(times).tolist()):
        if i % hold == 0:
            reported = random.choice([-1.0, 1.0], 2) * random.choice([0.4, 0.7, 1.0], 2)
            both, apart = 0.5 * (reported[0] + reported[1]), 0.5 * (reported[1] - reported[0])
            both = -np.sign(v) * abs(both) if abs(v) > 0.6 else both
            apart = -np.sign(omega) * abs(apart) if abs(omega) > 2.0 else apart
            reported = np.array([both - apart, both + apart])
        acting = (reported * (1.0 + noise * random.standard_normal(2))).tolist()
        h = step / STEPS
        for _ in range(STEPS):
            dv, domega = _rates(v, omega, acting)
            mid_v, mid_omega = v + 0.5 * h * dv, omega + 0.5 * h * domega
            left += h * (mid_v - b * mid_omega) / radius
            right += h * (mid_v + b * mid_omega) / radius
            dv, domega = _rates(mid_v, mid_omega, acting)
            v, omega = v + h * dv, omega + h * domega
        angles[i + 1], torques[i + 1] = (left, right), reported
    count = 2.0 * np.pi / counts
    return np.floor(angles / count + random.uniform(0.0, 1.0, 2)) * count, torques


def rows(stamps, angles, torques):
    """Samples as rows of [stamp, angles, torques], shape (n, 5)."""
    return np.column_stack((stamps, angles, torques))


def samples(made):
    """The joint samples of such rows."""
    return [
        JointSample(stamp, (left, right), (0.0, 0.0), (one, other))
        for stamp, left, right, one, other in made.tolist()
    ]


def estimator(made, asked=0, **arguments):
    """An estimator that has seen such rows.

    Args:
        made: Rows of samples.
        asked: An estimate is asked for after each so many samples; 0: never.
        arguments: Those of IntegralEstimator.
    """
    integral_estimator = IntegralEstimator(GEOMETRY, SCALE, **arguments)
    for i, sample in enumerate(samples(made)):
        try:
            integral_estimator.update(sample)
        except ValueError:  # a gap
            continue
        if asked and i % asked == 0:
            integral_estimator.estimate()
    return integral_estimator


def errors(estimate):
    """Errors of K5..K8 in their standard deviations, shape (4,)."""
    deviations = np.sqrt(np.diag(estimate.covariance))
    return (np.array(estimate.values) - TRUTH) / deviations
