# SPDX-License-Identifier: Apache-2.0
"""sinc and its derivative against their exact power series in rational numbers."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import arcs as series
from arc_odometry import sinc, sinc_derivative


def exact(x, order):
    """Sum of the power series of sinc (order 0) or its derivative (order 1), 40 terms, exact."""
    x, total = Fraction(x), Fraction(0)
    for n in range(order, 40):
        term = Fraction((-1) ** n, math.factorial(2 * n + 1))
        total += term * (x ** (2 * n) if order == 0 else 2 * n * x ** (2 * n - 1))
    return float(total)


# 40 terms are exact to 1e-40 up to 8 rad. Rational numbers of tiny x would take seconds.
sizes = st.one_of(
    st.floats(1e-9, 8.0),
    st.floats(1e-4, 0.02),
    st.sampled_from([series.SINC_SWITCH, series.DERIVATIVE_SWITCH]),
)
small = st.builds(math.copysign, sizes, st.sampled_from([1.0, -1.0]))


@given(small)
def test_sinc_is_exact_to_rounding(x):
    # Near a zero of the sine its rounded argument counts: the error is that of a value of size 1/x.
    assert sinc(x) == pytest.approx(exact(x, 0), rel=3e-16, abs=3e-17)


@given(small)
def test_derivative_is_exact_to_rounding(x):
    assert sinc_derivative(x) == pytest.approx(exact(x, 1), rel=0, abs=2e-15 * min(abs(x), 1.0))


@pytest.mark.parametrize("x", [0.0, -0.0, 5e-324, 1e-160, 1e-9])
def test_values_at_and_near_zero(x):
    assert sinc(x) == 1.0
    assert sinc_derivative(x) == pytest.approx(-x / 3.0, rel=1e-15)


@pytest.mark.parametrize("switch", [series.SINC_SWITCH, series.DERIVATIVE_SWITCH])
@pytest.mark.parametrize("function", [sinc, sinc_derivative])
def test_there_is_no_step_where_the_series_ends(switch, function):
    below, above = math.nextafter(switch, 0.0), switch
    assert function(above) == pytest.approx(function(below), rel=3e-15)
