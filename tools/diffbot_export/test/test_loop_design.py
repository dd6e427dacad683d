# SPDX-License-Identifier: Apache-2.0
"""Margins and gains of the sampled wheel loop, against what they are defined by."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import WheelGeometry
from diffbot_export.loop_design import LoopAxis, design, integral_gain, linear_step, margins
from diffbot_export.plant import Pid, Plant, WheelLoops

AXES = st.builds(
    LoopAxis,
    st.floats(1e-3, 10.0),
    st.floats(0.0, 5.0),
    st.floats(0.0, 0.03),
)


@given(AXES, st.floats(0.001, 0.05))
def test_coefficients_are_those_of_fine_integration(axis, period):
    """w and its mean over a period from efforts that act late, by small steps of the equation."""
    a, whole, (g0, g1), (alpha, h0, h1) = axis.coefficients(period)
    late = axis.delay - whole * period
    before, now, start, steps = 0.7, -0.4, 1.3, 4000
    speed, path, step = start, 0.0, period / steps
    for k in range(steps):
        # Constant within the step: exact with the mean effort of the step.
        begin, end = k * step, (k + 1) * step
        fraction = min(max((late - begin) / step, 0.0), 1.0)
        effort = fraction * before + (1.0 - fraction) * now
        rate = (effort - axis.drag * speed) / axis.inertia
        middle = speed + 0.5 * step * rate
        path += middle * step
        speed += step * (effort - axis.drag * middle) / axis.inertia
        assert end <= period * (1.0 + 1e-9)
    scale = abs(start) + period / axis.inertia
    assert a * start + g0 * now + g1 * before == pytest.approx(speed, abs=2e-4 * scale)
    mean = alpha * start + h0 * now + h1 * before
    assert mean == pytest.approx(path / period, abs=2e-4 * scale)


def test_phase_margin_of_a_slow_loop_is_that_of_continuous_time():
    """Far below the rate, delays add: T / 2 of holding, T / 2 of the mean, and the axis's own."""
    axis, period, p = LoopAxis(1.0, 0.0, 0.004), 0.002, 5.0
    result = margins(axis, p, 0.0, period)
    expected = 90.0 - math.degrees(p * (period + axis.delay))
    assert result.crossover == pytest.approx(p, rel=1e-3)
    assert result.phase == pytest.approx(expected, abs=0.05)


def test_gain_margin_is_where_the_loop_begins_to_swing():
    axis, period, p = LoopAxis(0.02, 0.0, 0.01), 0.01, 0.2
    result = margins(axis, p, 0.0, period)

    def peak(factor):
        # Long after the beginning: growing or fading.
        values = linear_step(axis, factor * result.gain * p, 0.0, 0.0, period)
        longer = np.abs(np.diff(values))
        return longer[-5:].max() / longer[:10].max()

    assert peak(0.9) < 1.0 < peak(1.1)


@given(AXES, AXES, st.floats(0.002, 0.05), st.floats(40.0, 75.0))
def test_designed_gains_have_the_margin_for_both_axes(one, other, period, margin):
    gains = design((one, other), period, feedforward=0.0, margin=margin)
    assert gains.i == integral_gain((one, other), gains.p)
    for axis in (one, other):
        result = margins(axis, gains.p, gains.i, period)
        assert result.phase >= margin - 1e-6
        assert result.gain >= 2.0
        assert linear_step(axis, gains.p, gains.i, 0.0, period).max() < 1.26


def test_the_bound_that_is_named_is_the_one_that_binds():
    axis = LoopAxis(0.02, 0.0, 0.0)
    free = design((axis,), 0.01, feedforward=0.0)
    assert "phase margin" in free.bound
    coarse = design((axis,), 0.01, feedforward=0.0, largest=0.5 * free.p)
    assert coarse.p == 0.5 * free.p and "encoders" in coarse.bound


def test_loops_of_a_linear_plant_step_as_those_whose_accelerations_are_called():
    """A dry friction that is next to nothing keeps the plant from the short way."""
    linear = Plant(
        WheelGeometry(0.03, 0.034, 0.2), (0.3, 0.25), (1.0, 0.9), (0.07, 0.05), band=(0.1, 0.2)
    )
    called = replace(linear, dry=(1e-300, 1e-300))
    one, other = (WheelLoops(plant, Pid(2.0, 1.0), 0.02, 5.0) for plant in (linear, called))
    for period in range(100):
        reference = (3.0 * math.sin(0.1 * period), 4.0 * math.cos(0.07 * period))
        np.testing.assert_allclose(one.advance(reference), other.advance(reference), rtol=1e-9)
    assert max(map(abs, one.speed)) > 1.0
