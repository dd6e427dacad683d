# SPDX-License-Identifier: Apache-2.0
"""Intervals, errors and physical quantities, against masses they were made from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ident_example import TRUE, make_estimate

from diffbot_description import RobotModel
from diffbot_ident.estimate import EstimateState, FrictionEstimate
from diffbot_report.ident_results import state_notes
from diffbot_report.quantity import (
    friction_quantities,
    meanings,
    parameter_quantities,
    physical_quantities,
    significant,
    with_uncertainty,
)

RADIUS = 0.075
# Like twil; the body's own numbers do not count.
MODEL = RobotModel(RADIUS, 0.136, 1.0, 1.0, 0.0, 0.25, 0.00084375, 0.000441)


def sample(values=TRUE, std=(0.001, 0.05, 0.01, 0.05), state=EstimateState.ESTIMATED):
    return make_estimate(values, tuple(x * x for x in std), state)


def quantities(
    values=TRUE, std=(0.001, 0.05, 0.01, 0.05), truth=TRUE, state=EstimateState.ESTIMATED
):
    return parameter_quantities(sample(values, std, state), truth)


def physical(values=TRUE, std=(0.001, 0.05, 0.01, 0.05), truth=TRUE, state=EstimateState.ESTIMATED):
    return physical_quantities(sample(values, std, state), MODEL, truth)


def words(values=TRUE, std=(0.001, 0.05, 0.01, 0.05), state=EstimateState.ESTIMATED):
    return meanings(quantities(values, std, None, state), physical(values, std, None, state))


def test_known_robot_in_words():
    assert words() == {
        "K5": "centre of mass 100 mm ahead of the axle",
        "K6": "first moment of mass 0.425 kg m",
        "K7": "equivalent mass 5.04 kg",
        "K8": "yaw inertia 0.113 kg m²",
    }


def test_centre_of_mass_in_words():
    assert words((-0.02, 0.9, *TRUE[2:]))["K5"] == "centre of mass 23.9 mm behind the axle"
    assert words((0.001, -0.05, *TRUE[2:]))["K5"] == "centre of mass near the axle"


@pytest.mark.parametrize("more", [{"state": EstimateState.UNESTIMATED}, {"std": (math.inf,) * 4}])
def test_no_words_before_the_estimate_may_be_used(more):
    assert not any(unit in " ".join(words(**more).values()) for unit in (" kg ", " mm"))


def test_physical_quantities_have_intervals_states_and_truth():
    result = physical(std=(math.inf, math.inf, 0.01, 0.05))
    mass, moment = result["equivalent_mass"], result["first_moment"]
    assert mass.value == mass.closed_form == pytest.approx(1.0 / (RADIUS * TRUE[2]))
    assert mass.interval95[0] < mass.value < mass.interval95[1]
    assert (mass.state, mass.unit) == (EstimateState.ESTIMATED, "kg")
    assert result["equivalent_inertia"].unit == "kg m²"
    assert (moment.value, moment.std, moment.interval95) == (None, None, (None, None))
    assert moment.state is EstimateState.UNESTIMATED
    assert moment.closed_form == pytest.approx(TRUE[0] * mass.value, rel=1e-3)  # TRUE is rounded.
    assert physical_quantities(None, MODEL) == {}


def test_mass_without_upper_limit():
    """K7 that may be zero: the mass has a lower end only."""
    std = (0.001, 0.05, 2.0, 0.05)
    mass = physical(std=std)["equivalent_mass"]
    assert mass.interval95[0] > 0.0
    assert mass.interval95[1] is None
    assert "equivalent mass" not in words(std=std)["K7"]


def test_unphysical_sign_gives_no_mass():
    for quantity in physical(
        (0.08, -3.8, -2.6, 16.0), truth=None, state=EstimateState.INVALID
    ).values():
        assert quantity.value is None
        assert quantity.interval95 == (None, None)


def test_correlation_counts():
    """K5 and K7 that err together leave their ratio, the first moment, certain."""
    covariance = np.diag((np.array(TRUE) * (0.05, 10.0, 0.05, 0.05)) ** 2)
    covariance[0, 2] = covariance[2, 0] = 0.9999 * TRUE[0] * TRUE[2] * 0.05**2
    together = make_estimate(covariance=tuple(map(tuple, covariance)))
    apart = make_estimate(variances=np.diag(covariance))
    certain, other = (physical_quantities(s, MODEL)["first_moment"].std for s in (together, apart))
    assert certain < 0.05 * other


def test_each_parameter_has_its_own_state_and_reason():
    states = (
        EstimateState.UNESTIMATED,
        EstimateState.ESTIMATED,
        EstimateState.ESTIMATED,
        EstimateState.INVALID,
    )
    quantities = parameter_quantities(
        make_estimate(parameter_states=states, parameter_reasons=("too slow", "", "", "no"))
    )
    assert tuple(quantity.state for quantity in quantities) == states
    assert quantities[0].reason == "too slow" and quantities[3].reason == "no"
    assert state_notes(quantities) == ["K5 not identifiable: too slow", "K8 invalid: no"]
    same = parameter_quantities(
        make_estimate(state=EstimateState.UNESTIMATED, parameter_reasons=("x",) * 4)
    )
    assert state_notes(same) == ["K5, K6, K7, K8 not identifiable: x"]


def test_friction():
    assert friction_quantities(None) == friction_quantities(sample()) == {}
    friction = FrictionEstimate((0.01, 0.02, 0.03, 0.04), (1e-6, 1e-6, 1e-6, math.inf))
    result = friction_quantities(make_estimate(friction=friction))
    left, unknown = result["viscous_left"], result["coulomb_right"]
    assert (left.value, left.unit, left.state) == (0.01, "N m s/rad", EstimateState.ESTIMATED)
    assert left.half_width == pytest.approx(1.96e-3, rel=1e-4)
    assert (unknown.std, unknown.interval95) == (None, (None, None))
    assert unknown.state is EstimateState.UNESTIMATED


def test_infinite_variance_is_unestimated_by_itself():
    k5, _, k7, _ = quantities(std=(math.inf, 0.05, 0.01, 0.05))
    assert (k5.state, k5.std, k5.interval95) == (EstimateState.UNESTIMATED, None, (None, None))
    assert k7.state is EstimateState.ESTIMATED
    assert k7.interval95 == pytest.approx((2.6468 - 0.0196, 2.6468 + 0.0196), abs=1e-4)


@pytest.mark.parametrize("bad", [math.nan, -1.0])
def test_wrong_variance_gives_no_interval(bad):
    wrong = make_estimate((math.nan, *TRUE[1:]), (1.0, bad, 1.0, 1.0), EstimateState.INVALID)
    k5, k6, _, _ = parameter_quantities(wrong)
    assert k5.value is None
    assert k6.std is None
    assert k5.state is k6.state is EstimateState.INVALID


def test_errors():
    _, k6, k7, _ = quantities(values=(0.08, -3.6706, 2.6468, -16.0), std=(1e-3, 0.05, 0.0, 1.0))
    assert k6.error_percent == pytest.approx(100 * 0.1 / 3.7706)
    assert k6.error_sigma == pytest.approx(2.0)
    assert k7.error_percent == 0.0
    assert k7.error_sigma is None  # No spread, no share of it.
    assert quantities(truth=None)[0].error_percent is None
    assert quantities(truth=(0.0, -1.0, 1.0, -1.0))[0].error_percent is None


def test_no_estimate():
    for quantity in parameter_quantities(None, TRUE):
        assert quantity.value is None
        assert quantity.state is EstimateState.UNESTIMATED


@pytest.mark.parametrize(
    ("value", "half_width", "text"),
    [
        (-16.0973, 0.0218, ("-16.097", "0.022")),
        (0.0844, 0.0090, ("0.0844", "0.0090")),
        (512.3, 40.0, ("512", "40")),
        (2.5, 0.0, ("2.50000", "0")),
        (0.0, 1.0, ("0.0", "1.0")),
        (2.6468, 2e-9, ("2.646800", "2.0e-09")),
        (None, None, ("–", "–")),
        (3.0, None, ("3.0", "(−∞, ∞)")),
    ],
)
def test_digits_follow_the_uncertainty(value, half_width, text):
    assert with_uncertainty(value, half_width) == text


@given(st.floats(1e-12, 1e12), st.integers(1, 6), st.sampled_from([-1.0, 1.0]))
def test_significant_digits(value, digits, sign):
    shown = float(significant(sign * value, digits))
    assert shown == pytest.approx(sign * value, rel=0.51 * 10.0 ** (1 - digits))
