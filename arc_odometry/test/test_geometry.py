# SPDX-License-Identifier: Apache-2.0
"""Wheel <-> body maps: against rigid-body kinematics, virtual work and each other."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import WheelGeometry

length = st.floats(0.01, 2.0)
signal = st.floats(-1e3, 1e3)
geometries = st.builds(WheelGeometry, length, length, length)


@given(geometries, signal, signal)
def test_contact_points_do_not_slip(geometry, left, right):
    """The body's velocity at each contact point equals the rim speed (2-D rigid body)."""
    v, omega = geometry.body_velocity(left, right)
    for side, speed, radius in (
        (+1.0, left, geometry.left_radius),
        (-1.0, right, geometry.right_radius),
    ):
        contact = np.array([0.0, side * geometry.separation / 2.0, 0.0])
        velocity = np.array([v, 0.0, 0.0]) + np.cross([0.0, 0.0, omega], contact)
        scale = 1.0 + abs(left) * geometry.left_radius + abs(right) * geometry.right_radius
        assert velocity[0] == pytest.approx(radius * speed, abs=1e-12 * scale)


@given(geometries, signal, signal)
def test_velocity_maps_invert_each_other(geometry, v, omega):
    back = geometry.body_velocity(*geometry.wheel_velocity(v, omega))
    assert back == pytest.approx((v, omega), rel=1e-9, abs=1e-9 * (abs(v) + abs(omega) + 1.0))


@given(geometries, signal, signal, signal, signal)
def test_power_is_conserved(geometry, w_left, w_right, tau_left, tau_right):
    """Virtual work: power at the wheels is power at the body."""
    v, omega = geometry.body_velocity(w_left, w_right)
    force, moment = geometry.body_wrench(tau_left, tau_right)
    scale = 1.0 + abs(w_left * tau_left) + abs(w_right * tau_right)
    scale *= 1.0 + geometry.left_radius / geometry.right_radius
    scale *= 1.0 + geometry.right_radius / geometry.left_radius
    assert force * v + moment * omega == pytest.approx(
        w_left * tau_left + w_right * tau_right, abs=1e-9 * scale
    )


@given(geometries, signal, signal)
def test_torque_maps_invert_each_other(geometry, force, moment):
    back = geometry.body_wrench(*geometry.wheel_torque(force, moment))
    scale = abs(force) + abs(moment) / geometry.half_track + abs(moment) + 1.0
    assert back == pytest.approx((force, moment), rel=1e-9, abs=1e-9 * scale)


def test_signs_follow_rep_103():
    geometry = WheelGeometry(0.1, 0.1, 0.5)
    v, omega = geometry.body_velocity(1.0, 2.0)
    assert v == pytest.approx(0.15) and omega == pytest.approx(0.2)  # right faster: turns left
    _, moment = geometry.body_wrench(0.0, 1.0)
    assert moment > 0.0


@pytest.mark.parametrize("field", ["left_radius", "right_radius", "separation"])
@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_bad_lengths_are_refused_by_name(field, value):
    lengths = {"left_radius": 0.1, "right_radius": 0.1, "separation": 0.5, field: value}
    with pytest.raises(ValueError, match=field):
        WheelGeometry(**lengths)
