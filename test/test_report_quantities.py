"""Intervals, errors and physical quantities, against masses they were made from."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import WheelGeometry
from diffbot_bringup.report import (
    ParameterSample,
    meanings,
    parameter_quantities,
    physical_quantities,
)
from diffbot_bringup.report.example import TRUE
from diffbot_bringup.report.formatting import significant, with_uncertainty

RADIUS, HALF_TRACK = 0.075, 0.136
GEOMETRY = WheelGeometry(RADIUS, RADIUS, 2.0 * HALF_TRACK)


def quantities(values=TRUE, std=(0.001, 0.05, 0.01, 0.05), truth=TRUE, state="estimated"):
    variances = tuple(s * s for s in std)
    return parameter_quantities(ParameterSample(1.0, tuple(values), variances, state), truth)


@given(
    st.floats(1.0, 200.0),
    st.floats(0.01, 20.0),
    st.floats(0.01, 5.0),
    st.floats(0.03, 0.2),
    st.floats(0.1, 0.5),
    st.floats(0.02, 0.3),
)
def test_masses_come_back(body, yaw_inertia, wheel, radius, half_track, offset):
    """K5..K8 of a robot with solid wheels and known masses give its masses back."""
    spin = 0.5 * wheel * radius**2
    mass = body + 2 * wheel + 2 * spin / radius**2
    inertia = (
        yaw_inertia
        + body * offset**2
        + 2 * (0.25 * wheel * radius**2 + wheel * half_track**2)
        + 2 * spin * half_track**2 / radius**2
    )
    moment = body * offset
    k = (moment / mass, -moment / inertia, 1 / (radius * mass), -half_track / (radius * inertia))
    found = quantities(k, [1e-4 * abs(x) for x in k], None)
    geometry = WheelGeometry(radius, radius, 2 * half_track)
    physical = physical_quantities(found, geometry)
    assert physical["equivalent_mass"].value == pytest.approx(mass)
    assert physical["equivalent_inertia"].value == pytest.approx(inertia)
    for quantity in physical.values():
        low, high = quantity.interval95
        assert low < quantity.value < high
    # The phrase promises no more than is true: the whole robot's centre of mass is farther out.
    phrase = meanings(found, geometry)["K5"]
    promised = float(phrase.split(">")[1].split()[0])
    assert promised <= 1e3 * moment / (body + 2 * wheel) + 0.5
    assert phrase.endswith("mm ahead of the axle")


def test_known_robot_in_words():
    words = meanings(quantities(), GEOMETRY)
    assert words["K7"] == "equivalent mass 5.04 kg"
    assert words["K8"] == "yaw inertia 0.113 kg m²"
    assert words["K6"] == "first moment of mass 0.425 kg m"


def test_no_words_before_the_estimate_may_be_used():
    words = meanings(quantities(state="unestimated"), GEOMETRY)
    assert not any(unit in " ".join(words.values()) for unit in (" kg", " mm"))


def test_interval_of_the_mass_covers():
    """95 % of the masses of K7 drawn from its distribution lie inside (seed 1, 20 000 draws)."""
    found = quantities(std=(0.001, 0.05, 0.4, 0.05))
    low, high = physical_quantities(found, GEOMETRY)["equivalent_mass"].interval95
    draws = TRUE[2] + 0.4 * np.random.default_rng(1).standard_normal(20_000)
    masses = 1.0 / (RADIUS * draws)
    assert np.mean((masses > low) & (masses < high)) == pytest.approx(0.95, abs=0.005)


def test_mass_without_upper_limit():
    """K7 that may be zero: the mass has a lower end only."""
    found = quantities(std=(0.001, 0.05, 2.0, 0.05))
    mass = physical_quantities(found, GEOMETRY)["equivalent_mass"]
    assert mass.interval95[0] > 0.0
    assert mass.interval95[1] is None
    assert "equivalent mass" not in meanings(found, GEOMETRY)["K7"]


def test_unphysical_sign_gives_no_mass():
    found = quantities(values=(0.08, -3.8, -2.6, 16.0), state="invalid")
    for quantity in physical_quantities(found, GEOMETRY).values():
        assert quantity.value is None
        assert quantity.interval95 == (None, None)


def test_infinite_variance_is_unestimated_by_itself():
    k5, _, k7, _ = quantities(std=(math.inf, 0.05, 0.01, 0.05))
    assert (k5.state, k5.std, k5.interval95) == ("unestimated", None, (None, None))
    assert k7.state == "estimated"
    assert k7.interval95 == pytest.approx((2.6468 - 0.0196, 2.6468 + 0.0196), abs=1e-4)


@pytest.mark.parametrize("bad", [math.nan, -1.0])
def test_wrong_variance_gives_no_interval(bad):
    sample = ParameterSample(1.0, (math.nan, *TRUE[1:]), (1.0, bad, 1.0, 1.0), "invalid")
    k5, k6, _, _ = parameter_quantities(sample)
    assert k5.value is None
    assert k6.std is None
    assert k5.state == k6.state == "invalid"


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
        assert quantity.state == "unestimated"


@pytest.mark.parametrize(
    ("value", "std", "text"),
    [
        (-16.0973, 0.0109, ("-16.097", "0.022")),
        (0.0844, 0.0045, ("0.0844", "0.0090")),
        (512.3, 20.0, ("512", "40")),
        (2.5, 0.0, ("2.50000", "0")),
        (0.0, 0.5, ("0.0", "1.0")),
        (2.6468, 1e-9, ("2.646800", "2.0e-09")),
        (None, None, ("–", "–")),
        (3.0, None, ("–", "not fixed")),
    ],
)
def test_digits_follow_the_uncertainty(value, std, text):
    assert with_uncertainty(value, std) == text


@given(st.floats(1e-12, 1e12), st.integers(1, 6), st.sampled_from([-1.0, 1.0]))
def test_significant_digits(value, digits, sign):
    shown = float(significant(sign * value, digits))
    assert shown == pytest.approx(sign * value, rel=0.51 * 10.0 ** (1 - digits))
