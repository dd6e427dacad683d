# SPDX-License-Identifier: Apache-2.0
"""Friction of the wheels from the terms of both axes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import WheelGeometry
from diffbot_ident.torque.columns import AxisFit
from diffbot_ident.torque.friction_fit import friction_terms, fuse_friction

GEOMETRY = WheelGeometry(0.075, 0.075, 0.272)
K5, K6, K7, K8 = 0.084, -3.77, 2.65, -16.1
FRICTION = np.array([0.008, 0.012, 0.04, 0.05])


def axis_fits(friction, linear_std=1e-3, angular_std=1e-3):
    results = []
    for k, gain, terms, std in zip(
        (K5, K6), (K7, K8), friction_terms(GEOMETRY), (linear_std, angular_std), strict=True
    ):
        theta = np.concatenate(([k, gain], gain * terms @ friction))
        results.append(AxisFit(theta, std**2 * np.eye(6), 0.0, (0.0, 0.0)))
    return results


@given(
    st.tuples(*[st.floats(-2.0, 2.0)] * 2),
    st.tuples(*[st.floats(0.0, 1.0)] * 4),
)
def test_terms_are_what_friction_of_wheels_does(u, friction):
    """K7 (T_l + T_r) and K8 (T_l - T_r) of the friction alone, wheel by wheel."""
    speeds = np.array(GEOMETRY.wheel_velocity(*u))
    viscous, coulomb = np.array(friction[:2]), np.array(friction[2:])
    torque = -viscous * speeds - coulomb * np.sign(speeds)
    regressors = np.array([*u, *np.sign(speeds)])
    linear, angular = friction_terms(GEOMETRY)
    assert regressors @ linear @ friction == pytest.approx(torque.sum(), abs=1e-9)
    assert regressors @ angular @ friction == pytest.approx(torque[0] - torque[1], abs=1e-9)


def test_known_friction_comes_back():
    friction_estimate = fuse_friction(*axis_fits(FRICTION), GEOMETRY)
    np.testing.assert_allclose(friction_estimate.values, FRICTION, rtol=1e-6)


def test_the_more_precise_axis_counts_more():
    """The axes disagree by a factor of 2; the one that is 100 times as precise wins."""
    linear, _ = axis_fits(FRICTION, linear_std=1e-4)
    _, angular = axis_fits(2.0 * FRICTION, angular_std=1e-2 * abs(K8 / K7))
    friction_estimate = fuse_friction(linear, angular, GEOMETRY)
    np.testing.assert_allclose(friction_estimate.values, FRICTION, rtol=0.02)


def test_variances_are_those_of_repeated_fits():
    """2000 noisy fits: standard deviations to 10 %; 1 in 1000 runs of this would be 5 % off."""
    generator = np.random.default_rng(8)
    exact = axis_fits(FRICTION)
    values = []
    for _ in range(2000):
        noisy = [
            AxisFit(fit.theta + 1e-3 * generator.standard_normal(6), fit.covariance, 0.0, (0, 0))
            for fit in exact
        ]
        values.append(fuse_friction(*noisy, GEOMETRY).values)
    stated = np.sqrt(fuse_friction(*exact, GEOMETRY).variances)
    np.testing.assert_allclose(np.std(values, axis=0), stated, rtol=0.1)
