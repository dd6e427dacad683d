# SPDX-License-Identifier: Apache-2.0
"""Wheels whose speeds are refreshed in turn, more slowly than they are recorded."""

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_recordings.segments import FRESH, Segment, between_readings

GEOMETRY = WheelGeometry(0.3, 0.3, 1.08)
PERIOD, HOLD = 0.05, 5


def segment(hold):
    """Both wheels get faster evenly; each tells so every `hold` samples, in turn."""
    k = np.arange(400)
    speeds = {"left_velocity": 0.01 * k, "right_velocity": 0.03 * k}
    channels = {}
    for offset, (name, values) in zip((0, 2), speeds.items(), strict=True):
        channels[name] = values[np.maximum((k - offset) // hold * hold + offset, 0)]
    v, w = GEOMETRY.body_velocity(channels["left_velocity"], channels["right_velocity"])
    true = GEOMETRY.body_velocity(*speeds.values())
    return Segment(PERIOD * k, PERIOD, {**channels, "v": v, "w": w}), true


def test_each_wheel_is_taken_between_its_own_readings():
    one, (v, w) = segment(HOLD)
    (result,), kept = between_readings([one], GEOMETRY, ("v", "w"))
    inner = slice(2 * HOLD, -2 * HOLD)
    assert kept == HOLD * PERIOD
    np.testing.assert_allclose(result.channels["v"][inner], v[inner], atol=1e-12)
    np.testing.assert_allclose(result.channels["w"][inner], w[inner], atol=1e-12)
    # Old and new readings mixed are off by more than a step of either wheel.
    assert np.abs(one.channels["w"][inner] - w[inner]).max() > 0.01
    assert np.mean(result.channels[FRESH][inner]) == 2 / HOLD


def test_wheels_that_are_not_slow_stay_as_they_are_and_so_does_a_gyro():
    one, _ = segment(1)
    assert between_readings([one], GEOMETRY, ("v", "w")) == ([one], 0.0)
    slow, _ = segment(HOLD)
    (result,), _ = between_readings([slow], GEOMETRY, ("v",))
    assert result.channels["w"] is slow.channels["w"]
