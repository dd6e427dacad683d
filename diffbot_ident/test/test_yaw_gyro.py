# SPDX-License-Identifier: Apache-2.0
"""The comparison of a gyro with the wheels: its broken line of bias, and what it forgets."""

import numpy as np
import pytest

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.interpretation.yaw_gyro import KNOTS, YawGyro, _BiasLine, _Windows

GEOMETRY = WheelGeometry(0.075, 0.075, 0.27)


@pytest.mark.parametrize("gap", [0.0, 35.0])
def test_a_bias_line_takes_off_what_least_squares_does(gap):
    begin = np.arange(0.0, 60.0, 0.2)
    begin[150:] += gap
    windows = _Windows(begin, begin + 0.2, begin, begin)
    generator = np.random.default_rng(3)
    values = generator.standard_normal((4, len(begin), 2))
    line = _BiasLine(windows)
    middle = begin + 0.1
    knots = np.linspace(middle[0], middle[-1], line.knots)
    hats = np.maximum(0.0, 1.0 - np.abs(middle[:, None] - knots) / (knots[1] - knots[0])) * 0.2
    assert line.knots == 1 + round((60.0 + gap - 0.2) / KNOTS)
    for given, left in zip(values, line.taken_off(values), strict=True):
        wanted = given - hats @ np.linalg.lstsq(hats, given, rcond=None)[0]
        np.testing.assert_allclose(left, wanted, atol=1e-9)


def fed(gyro, seconds, scale=0.97, delay=0.03):
    """A robot that turns to and fro, with a gyro that reads late; the fits each second."""
    generator = np.random.default_rng(5)
    stamps = np.arange(0.0, seconds, 0.01)
    omega = 0.8 * np.sin(2.0 * stamps) + 0.5 * np.sin(5.3 * stamps)
    angle = np.cumsum(omega) * 0.01 * GEOMETRY.half_track / GEOMETRY.left_radius
    late = np.interp(stamps - delay, stamps, omega)
    read = scale * late + 0.02 + 0.005 * generator.standard_normal(len(stamps))
    fits = []
    for k, (stamp, turned, rate) in enumerate(zip(stamps, angle, read, strict=True)):
        gyro.add_wheels(JointSample(float(stamp), (-turned, turned), (0.0, 0.0), (0.0, 0.0)))
        gyro.add(float(stamp), float(rate))
        if k % 100 == 99:
            fits.append(gyro.fit())
    return fits


def test_a_gyro_that_forgets_keeps_its_memory_and_finds_the_same():
    whole, short = YawGyro(GEOMETRY), YawGyro(GEOMETRY, memory=20.0)
    every, some = fed(whole, 90.0), fed(short, 90.0)
    assert whole.readings == 9000 and 2000 <= short.readings <= 2500
    for fits in (every, some):
        last = fits[-1]
        # It turns on the spot, so nothing is known of the radii.
        assert last.radius_difference_std == np.inf
        assert abs(last.scale - 0.97) < 4.0 * last.scale_std < 0.02
        assert last.delay == pytest.approx(0.03, abs=0.006)
    assert some[-1].scale_std > every[-1].scale_std
    assert every[-1].windows > 3 * some[-1].windows


def test_fits_that_begin_at_the_last_delay_find_what_a_first_one_does():
    beside, first = YawGyro(GEOMETRY), YawGyro(GEOMETRY)
    fits = fed(beside, 40.0)
    fed_alone = [fit for fit in fits if fit is not None]
    for stamp, rate in beside._gyro:
        first.add(stamp, rate)
    first._wheels = list(beside._wheels)
    assert len({fit.windows for fit in fed_alone}) > 10
    assert beside.fit(anew=True) == first.fit()
