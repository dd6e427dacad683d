# SPDX-License-Identifier: Apache-2.0
"""What the sections of 2017 and 2018 rest on."""

from __future__ import annotations

import math

import numpy as np
import pytest

from diffbot_papers.lages2017 import continuous_step, listing4, settling_time
from diffbot_papers.lages2018 import escape_time, final_distance, lap_errors


def test_listing_4_gives_wheel_parameters():
    """K7 / r = 2.6468 / 0.075 = 35.3 for torque that acts at once, half of it half a period late.

    With 5 s single sequences spread by about 4 %. The first bits of sequence 0 are mostly equal.
    """
    assert listing4(5.0, 0.0, 3000).values[2] == pytest.approx(35.3, rel=0.15)
    assert listing4(5.0, 0.5, 3000).values[2] == pytest.approx(0.5 * 35.3, rel=0.15)


def test_the_covariance_of_listing_4_counts_samples():
    """P7 = 1 / sum of (tau_l + tau_r)^2, on average 2 x 25 (N m)^2 a row."""
    assert listing4(5.0, 0.0, 3000).covariances[2] == pytest.approx(1.0 / (500 * 50.0), rel=0.15)


def test_the_printed_model_is_gone_in_finite_time():
    assert escape_time() == pytest.approx(1.3, abs=0.05)
    assert escape_time((0.0, 0.0)) == math.inf


def test_only_plus_reaches_the_set_point():
    assert final_distance((1.0, 0.0, 0.0), 1.0, 4.0) < 1e-4
    assert final_distance((1.0, 0.0, 0.0), -1.0, 4.0) > 0.1


def test_arcs_are_exact_on_a_circle_and_the_printed_heading_turns_it():
    arc, straight, printed = lap_errors()
    assert arc < 1e-9
    assert straight == pytest.approx(0.01, rel=0.05)  # the circle turned by half of 0.01 rad
    assert printed == pytest.approx(0.02, rel=0.05)  # by the whole of it


def test_the_published_gains_settle_later_and_overshoot():
    """With a double pole w: u / u_r = 1 + (w t - 1) e^(-w t), whose largest value is 1 + e^-2."""
    times, response = continuous_step(184.0, 8464.0, 0.5)
    assert response.max() == pytest.approx(1.0 + math.exp(-2.0), abs=1e-5)
    exact = 1.0 + (92.0 * times - 1.0) * np.exp(-92.0 * times)
    assert np.abs(response - exact).max() < 1e-6
    assert settling_time(times, response) == pytest.approx(0.068, abs=0.001)
