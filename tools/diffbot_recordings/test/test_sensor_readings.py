# SPDX-License-Identifier: Apache-2.0
"""Readings of a calibration refuse what cannot be used, by name."""

import numpy as np
import pytest

from diffbot_recordings.sensor_readings import (
    GyroReadings,
    PoseReadings,
    ReadingsError,
    WheelTurns,
)


def test_lists_become_arrays_that_stay_as_they_are() -> None:
    wheels = WheelTurns([0, 1], [0, 2], [0, 3])  # type: ignore[arg-type]
    assert wheels.left.dtype == float
    with pytest.raises(ValueError, match="read-only"):
        wheels.left[0] = 1.0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (
            lambda: WheelTurns(np.arange(3.0), np.zeros(2), np.zeros(3)),
            r"WheelTurns\.left .*\(3,\)",
        ),
        (lambda: GyroReadings(np.arange(2.0), np.array([0.0, np.nan])), r"GyroReadings\.rate\[1\]"),
        (lambda: GyroReadings(np.array([1.0, 1.0]), np.zeros(2)), r"stamps\[1\] = .*ascend"),
        (
            lambda: PoseReadings(np.arange(2.0), np.zeros(2), np.zeros(2), np.zeros((2, 1))),
            r"PoseReadings\.yaw has the shape \(2, 1\)",
        ),
        (lambda: GyroReadings(["a"], [0.0]), "must be numbers"),  # type: ignore[list-item]
    ],
)
def test_the_field_is_named(make, named) -> None:
    with pytest.raises(ReadingsError, match=named):
        make()
