# SPDX-License-Identifier: Apache-2.0
"""Information on the steps of the walk in a calibration: the inverse of what slip adds."""

import math

import numpy as np
import pytest

from arc_odometry import WheelGeometry
from diffbot_calibration.noise_levels import FLOOR, SIDEWAYS, WheelSlip

GEOMETRY = WheelGeometry(0.076, 0.0748, 0.25)


def covariance(path, turned, heading):
    """Of (a, c): each wheel slips along by itself, and the robot sideways."""
    left, right = GEOMETRY.left_radius * abs(turned[0]), GEOMETRY.right_radius * abs(turned[1])
    track = GEOMETRY.separation
    cos, sin = math.cos(heading), math.sin(heading)
    by_left = np.array([-1.0 / track, 0.5 * cos, 0.5 * sin])
    by_right = np.array([1.0 / track, 0.5 * cos, 0.5 * sin])
    aside = np.array([0.0, -sin, cos])
    return (
        path * left * np.outer(by_left, by_left)
        + path * right * np.outer(by_right, by_right)
        + path * SIDEWAYS * 0.25 * (left + right) * np.outer(aside, aside)
        + FLOOR**2 * np.eye(3)
    )


@pytest.mark.parametrize("path", [1e-10, 1e-6])
@pytest.mark.parametrize("size", [1, 3])
def test_information_is_the_inverse_of_what_each_wheel_adds(path, size):
    turned = np.array([[0.3, 0.2], [-0.1, 0.4], [0.02, -0.02], [0.0, 0.0]])
    heading = np.array([0.3, -2.0, 1.5, 4.0])
    result, determinants = WheelSlip.of(GEOMETRY, turned, heading).information(path, size)
    for k in range(4):
        whole = covariance(path, turned[k], heading[k])[:size, :size]
        scale = np.sqrt(np.diag(whole))
        # Rounding: 1e-16 times a condition of 2e5 at most, from the share that goes sideways.
        unit = result[k] @ whole * scale / scale[:, None]
        np.testing.assert_allclose(unit, np.eye(size), atol=1e-9)
        assert math.log(determinants[k]) == pytest.approx(np.linalg.slogdet(whole)[1], abs=1e-9)


def test_a_step_of_one_wheel_keeps_its_digits():
    """With left = 0 the block of (a, along) has the determinant floor (both parts and floor)."""
    slip = WheelSlip.of(GEOMETRY, np.array([[0.0, 0.4]]), np.array([0.7]))
    result, determinants = slip.information(1e-2, 3)
    grown, floor = 1e-2 * GEOMETRY.right_radius * 0.4, FLOOR**2
    along, turning = 0.25 * grown, grown / GEOMETRY.separation**2
    expected = floor * (along + turning + floor) * (SIDEWAYS * along + floor)
    assert determinants[0] == pytest.approx(expected, rel=1e-12)
    # The inverse of a by LAPACK has errors of 1e-4 here.
    assert result[0, 0, 0] == pytest.approx((along + floor) / (floor * (along + turning + floor)))
