# SPDX-License-Identifier: Apache-2.0
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_controllers import PUBLISHED, PiDesign, PiGains


def step_errors(gains, period, count):
    """1 - u(k) of the loop on an integrator, by its own recursion."""
    u = z = 0.0
    errors = []
    for _ in range(count):
        errors.append(1.0 - u)
        u, z = u + period * (gains.kp * (gains.weight - u) + gains.ki * z), z + period * (1.0 - u)
    return np.array(errors)


def test_gains_at_100_hz_are_those_of_the_reference_design():
    # Independent figures: Kp 120.38, Ki 3622.8 for 50 ms, damping 1.
    gains = PiDesign(0.05, 1.0).at(0.01)
    assert gains.kp == pytest.approx(120.38, abs=0.005)
    assert gains.ki == pytest.approx(3622.8, abs=0.06)
    assert gains.weight == 0.5


def test_gains_tend_to_those_of_the_continuous_design_at_high_rates():
    gains, wn = PiDesign(0.05, 0.7).at(1e-6), math.log(100.0) / (0.7 * 0.05)
    assert gains.kp == pytest.approx(2.0 * 0.7 * wn, rel=1e-3)
    assert gains.ki == pytest.approx(wn**2, rel=1e-3)


def test_published_gains_are_those_of_the_paper():
    assert (PUBLISHED.kp, PUBLISHED.ki, PUBLISHED.weight) == (184.0, 8464.0, 1.0)


@given(
    st.floats(0.2, 4.0),
    st.sampled_from([0.001, 0.002, 0.005, 0.01]),
    st.floats(0.05, 0.5),
)
def test_loop_settles_in_the_time_asked_for_at_any_damping(damping, period, settling_time):
    errors = step_errors(PiDesign(settling_time, damping).at(period), period, 2000)
    settled = math.ceil(settling_time / period - 1e-9)
    assert np.all(np.abs(errors[settled:]) <= 0.01 * (1.0 + 1e-6))
    if damping >= 1.0:
        # Neither before by more than a sample, nor with overshoot.
        assert abs(errors[max(settled - 2, 0)]) > 0.01
        assert errors.min() >= -1e-9


@given(st.floats(0.2, 3.0), st.floats(0.0005, 0.02))
def test_poles_are_those_of_the_sampled_second_order_system(damping, period):
    design = PiDesign(0.05, damping)
    gains, wn = design.at(period), design.natural_frequency
    result = np.roots(
        [1.0, period * gains.kp - 2.0, 1.0 - period * gains.kp + period**2 * gains.ki]
    )
    wanted = np.exp(np.roots([1.0, 2.0 * damping * wn, wn**2]) * period)
    assert np.poly(result) == pytest.approx(np.poly(wanted), abs=1e-9)


@pytest.mark.parametrize("value", [0.0, -1.0, math.nan, math.inf])
def test_bad_design_is_refused(value):
    with pytest.raises(ValueError, match="settling_time"):
        PiDesign(value)
    with pytest.raises(ValueError, match="damping"):
        PiDesign(0.05, value)
    with pytest.raises(ValueError, match="dt ="):
        PiDesign().at(value)
    with pytest.raises(ValueError, match="kp"):
        PiGains(value, 1.0)
