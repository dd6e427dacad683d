# SPDX-License-Identifier: Apache-2.0
"""Rows of the integrated model: exact in the torque, nearly so in the products of velocities."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_regression import GEOMETRY, K7, K8, period, torque
from test_regression import samples_of_linear_plant as linear_plant

from diffbot_ident.samples.wheel_speeds import Heading, TorqueResponse
from diffbot_ident.torque.columns import (
    DOMEGA,
    DV,
    OMEGA,
    OMEGA_SQUARED,
    SIGN_LEFT,
    SIGN_RIGHT,
    V_OMEGA,
    V,
)
from diffbot_ident.torque.effects import DIFFERENCE, SUM
from diffbot_ident.torque.effects.slope import COS_HEADING, SIN_HEADING
from diffbot_ident.torque.rows import IntegralRows
from diffbot_ident.torque.torque_delay import DELAYS, delay_weights, delayed


def samples_of_linear_plant(steps, wrap):
    """Samples of the plant of test_regression, shape (n, 6), without headings."""
    return np.array([(s.stamp, *s.position, *s.effort, 0.0) for s in linear_plant(steps, wrap)])


@given(
    st.lists(st.tuples(period, torque, torque), min_size=20, max_size=40),
    st.integers(1, 6),
    st.integers(1, 3),
    st.booleans(),
)
def test_gains_are_those_of_the_torques(steps, window, smoothing, wrap):
    """Without products of velocities every row holds to rounding, for uneven periods too."""
    maker = IntegralRows(GEOMETRY, window, smoothing)
    samples = samples_of_linear_plant(steps, wrap)
    rows, turning, whole = maker.make(samples)
    assert rows.shape == (max(len(samples) - maker.overlap, 0), maker.columns)
    assert turning.shape == whole.shape == (len(rows),)
    now = delay_weights(0.0, 1)
    np.testing.assert_allclose(rows[:, DV], K7 * rows[:, SUM] @ now, atol=1e-7)
    np.testing.assert_allclose(rows[:, DOMEGA], K8 * rows[:, DIFFERENCE] @ now, atol=1e-7)


def test_stamps_that_jitter_do_not_raise_the_gains():
    """Stamps 0.3 ms off, as of a state that is stamped some time after it was read.

    The mean of the periods' own velocities would be 0.18 % too large, and K7 with it.
    """
    generator = np.random.default_rng(11)
    there = np.repeat(generator.uniform(-1.0, 1.0, (400, 2)), 20, axis=0)
    kept = (there.reshape(400, 1, 20, 2) * [[[1.0]], [[-1.0]]]).reshape(-1, 2)  # and back
    samples = samples_of_linear_plant([(0.01, *pair) for pair in kept], False)
    samples[:, 0] += 3e-4 * generator.standard_normal(len(samples))
    rows, _, _ = IntegralRows(GEOMETRY, 10, 5).make(samples)
    for output, torques, gain in ((DV, SUM, K7), (DOMEGA, DIFFERENCE, K8)):
        seen = rows[:, torques] @ delay_weights(0.0, 1)
        assert seen @ rows[:, output] / (seen @ seen) == pytest.approx(gain, rel=5e-4)


def test_integrals_of_a_known_motion():
    """v = 0.5 + 0.3 sin 4 t, omega = 2 cos 3 t: means of integrals, by a fine sum.

    The angles are exact integrals of v and omega. A row is the mean over `smoothing` starts of
    the integral over a window from the middle of one period to the middle of another.
    """
    h, window, smoothing, count = 0.01, 10, 5, 60
    time = h * np.arange(count)
    path = 0.5 * time + 0.3 / 4.0 * (1.0 - np.cos(4.0 * time))
    turn = 2.0 / 3.0 * np.sin(3.0 * time)
    angles = GEOMETRY.wheel_velocity(path, turn)
    samples = np.column_stack((time, *angles, 0 * time, 0 * time, turn))
    maker = IntegralRows(GEOMETRY, window, smoothing)
    rows, _, _ = maker.make(samples)

    def integral(function, start):
        fine = start + window * h * (np.arange(2000) + 0.5) / 2000
        return function(fine).mean() * window * h

    def mean_integral(function, row):
        starts = [(row + i + maker.first + 0.5) * h for i in range(smoothing)]
        return np.mean([integral(function, start) for start in starts])

    def v(t):
        return 0.5 + 0.3 * np.sin(4.0 * t)

    def omega(t):
        return 2.0 * np.cos(3.0 * t)

    for row in (0, 7, len(rows) - 1):
        for column, function, tolerance in (
            (V, v, 3e-4),
            (OMEGA, omega, 3e-4),
            (OMEGA_SQUARED, lambda t: omega(t) ** 2, 1e-3),
            (V_OMEGA, lambda t: v(t) * omega(t), 1e-3),
            (COS_HEADING, lambda t: np.cos(2.0 / 3.0 * np.sin(3.0 * t)), 3e-4),
            (SIN_HEADING, lambda t: np.sin(2.0 / 3.0 * np.sin(3.0 * t)), 3e-4),
        ):
            # Means of two periods' mean speeds are h^2 / 8 of the second derivative off.
            result, expected = rows[row, column], mean_integral(function, row)
            assert result == pytest.approx(expected, abs=tolerance * window * h), (row, column)


def under_triangle(product, first, h):
    """Integral of a product from `first` to `first + 2 h` under a triangle of height 1.

    By Gauss's rule in either half, which is exact for the cubic that is there.
    """
    nodes, weights = np.polynomial.legendre.leggauss(3)
    fraction = 0.5 * (1.0 + nodes)
    rising = (0.5 * h * weights * fraction) @ product(first + h * fraction)
    falling = (0.5 * h * weights * (1.0 - fraction)) @ product(first + h * (1.0 + fraction))
    return rising + falling


@pytest.mark.parametrize("delay", [0, 1, 4])
def test_products_are_exact_where_the_slope_jumps_each_period(delay):
    """Torques are new in each period: integrals of omega^2 and v omega to rounding."""
    h, window, smoothing, count = 0.02, 5, 2, 40
    generator = np.random.default_rng(5)
    torques = np.concatenate((np.zeros((delay, 2)), generator.uniform(-2.0, 2.0, (count, 2))))
    acting = torques[:count]
    samples = samples_of_linear_plant([(h, *pair) for pair in acting], False)
    samples[1:, 3:5] = torques[delay:]
    maker = IntegralRows(GEOMETRY, window, smoothing)
    rows, _, _ = maker.make(samples, TorqueResponse(K7, K8, delay))
    slopes = np.column_stack(
        (K7 * (acting[:, 0] + acting[:, 1]), K8 * (acting[:, 0] - acting[:, 1]))
    )
    ends = np.concatenate((np.zeros((1, 2)), h * np.cumsum(slopes, axis=0)))

    def velocities(time):
        period = np.floor(time / h).astype(int)
        return (ends[period] + (time - h * period)[:, None] * slopes[period]).T

    for column, one, other in ((OMEGA_SQUARED, 1, 1), (V_OMEGA, 0, 1)):

        def product(time, one=one, other=other):
            return velocities(time)[one] * velocities(time)[other]

        steps = [under_triangle(product, h * k, h) for k in range(maker.first, count - 2)]
        expected = np.convolve(np.convolve(steps, np.ones(window), "valid"), [0.5, 0.5], "valid")
        np.testing.assert_allclose(rows[:, column], expected[: len(rows)], rtol=1e-9, atol=1e-12)


def test_products_are_not_raised_by_noise():
    """A robot at rest with noisy angles, 5000 rows: omega^2 is 0 in the mean, not its variance.

    The standard deviation of the mean is about 0.02 of the variance; the bound is five of them.
    """
    generator = np.random.default_rng(3)
    angles = 1e-3 * generator.standard_normal((5000, 2))
    samples = np.column_stack((0.01 * np.arange(5000), angles, np.zeros((5000, 3))))
    rows, _, _ = IntegralRows(GEOMETRY, 10, 5).make(samples)
    _, omega = GEOMETRY.body_velocity(*(np.diff(angles, axis=0) / 0.01).T)
    mean = rows[:, OMEGA_SQUARED].mean() / 0.1
    # Neighbours are correlated by -1/2, and so is their product.
    neighbours = np.mean(omega[1:] * omega[:-1])
    assert abs(mean - neighbours * 7.0 / 12.0) < 0.1 * np.var(omega)
    assert mean < 0.0


def test_delayed_columns_are_the_torques_reported_before():
    """Column i of the sums is column 0 of i periods before; of the differences too."""
    generator = np.random.default_rng(4)
    steps = [(0.01, *generator.uniform(-1, 1, 2)) for _ in range(50)]
    rows, _, _ = IntegralRows(GEOMETRY, 5, 2).make(samples_of_linear_plant(steps, False))
    for columns in (SUM, DIFFERENCE):
        for delay in range(DELAYS):
            late = rows[DELAYS:, columns.start + 2 * delay]
            same = rows[DELAYS - delay : len(rows) - delay, columns.start]
            np.testing.assert_allclose(late, same, atol=1e-12)


def test_signs_and_turning_round():
    """The left wheel turns forward all along, the right one turns round at sample 30."""
    angles = np.column_stack((0.02 * np.arange(60), 0.03 * np.abs(np.arange(60) - 30.0)))
    samples = np.column_stack((0.01 * np.arange(60), angles, np.zeros((60, 3))))
    maker = IntegralRows(GEOMETRY, 5, 2)
    rows, turning, whole = maker.make(samples)
    np.testing.assert_allclose(rows[:, SIGN_LEFT], 0.05)
    assert rows[0, SIGN_RIGHT] == pytest.approx(-0.05)
    assert rows[-1, SIGN_RIGHT] == pytest.approx(0.05)
    # Window and smoothing reach over window + smoothing - 1 steps.
    assert np.sum(~turning) == 6 and turning[0] and turning[-1]
    assert whole.all()


@pytest.mark.parametrize(("fine", "period"), [(1, 0.01), (4, 0.008)])
@pytest.mark.parametrize("delay", [0.0, 1.5])
def test_rows_in_which_a_sample_was_lost_are_told(fine, period, delay):
    """As long as the torque that was lost acts, and one window and smoothing before that."""
    stamps = np.delete(period / fine * np.arange(80 * fine + 1), 40 * fine + 1)
    samples = np.column_stack((stamps, np.zeros((len(stamps), 5))))
    maker = IntegralRows(GEOMETRY, 5, 2, fine, period)
    _, _, whole = maker.make(samples, TorqueResponse(K7, K8, delay))
    assert np.sum(~whole) == 5 + 2 - 1 + 1 + math.ceil(delay) and whole[0] and whole[-1]


def test_too_short_a_stretch_gives_no_row():
    maker = IntegralRows(GEOMETRY, 5, 2)
    rows, turning, whole = maker.make(np.zeros((maker.overlap, 6)))
    assert rows.shape == (0, maker.columns) and turning.shape == whole.shape == (0,)


def test_delayed_values_are_those_before_and_between():
    values = np.array([1.0, 2.0, 4.0, 8.0])
    np.testing.assert_allclose(delayed(values, 0.0), values)
    np.testing.assert_allclose(delayed(values, 2.0), [1.0, 1.0, 1.0, 2.0])
    np.testing.assert_allclose(delayed(values, 0.25), [1.0, 1.75, 3.5, 7.0])


@pytest.mark.parametrize("most", [math.inf, math.pi])
def test_over_a_gap_encoders_count_turns_unless_they_have_wrapped(most):
    """Readings within one turn, as of a robot in a small room, do not mean that encoders wrap."""
    true = np.array([[2.8, 0.0], [3.0, 0.1], [3.3, 0.2], [-1.0, 4.0], [-1.2, 4.1]])
    angles = true if most == math.inf else np.remainder(true + math.pi, math.tau) - math.pi
    expected = np.diff(true, axis=0)
    if most == math.pi:  # no more than half a turn is known
        expected[2] = np.remainder(expected[2] + math.pi, math.tau) - math.pi
    turned = np.cumsum(GEOMETRY.body_velocity(*expected.T)[1])
    heading = Heading(GEOMETRY)
    before = heading.at(angles[:3])
    heading.interrupt()  # what was seen before the gap counts after it as well
    result = np.concatenate((before, heading.at(angles[3:])))
    np.testing.assert_allclose(result, [0.0, *turned], atol=1e-12)
    heading.begin(1.0)
    assert heading.at(angles[:1]) == [1.0]
