# SPDX-License-Identifier: Apache-2.0
"""Physical quantities against the robots they belong to, and how often their intervals hold."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description import RobotModel, closed_form
from diffbot_ident.estimate import FRICTION_NAMES, FrictionEstimate
from diffbot_ident.interpretation.physical import (
    DELTA,
    EVERYTHING,
    FIELLER,
    NONE,
    TRANSFORMED,
    friction_quantities,
    physical_quantities,
)

# Close to twil.
TWIL = RobotModel(0.075, 0.136, 4.2375, 0.0544, 0.1004, 0.25, 0.00084375, 0.000441)
ALL = (True,) * 4


def parameters(model):
    k = closed_form(model)
    return np.array([k.k5, k.k6, k.k7, k.k8])


def expected(model):
    return {
        "equivalent_mass": model.equivalent_mass,
        "equivalent_inertia": model.equivalent_inertia,
        "first_moment": model.mass_body * model.com_offset,
        "com_offset": model.com_offset,
        "body_mass": model.mass_body,
        "body_inertia": model.inertia_body,
    }


def some_covariance(k, relative, seed=1):
    """A covariance with these relative standard deviations and random correlations (seeded)."""
    factor = np.random.default_rng(seed).standard_normal((4, 6))
    c = factor @ factor.T
    c /= np.sqrt(np.outer(np.diag(c), np.diag(c)))
    std = np.abs(k) * relative
    return c * np.outer(std, std)


def number(low, high):
    return st.floats(low, high, allow_subnormal=False)


ROBOTS = st.builds(
    RobotModel,
    wheel_radius=number(0.03, 0.5),
    half_track=number(0.05, 1.0),
    mass_body=number(1.0, 500.0),
    inertia_body=number(0.01, 100.0),
    com_offset=number(-0.5, 0.5),
    wheel_mass=number(0.05, 5.0),
    wheel_inertia_spin=number(1e-5, 0.01),
    wheel_inertia_yaw=number(1e-5, 0.01),
)


@given(ROBOTS, st.integers(0, 1000))
def test_random_robots_come_back(model, seed):
    k = parameters(model)
    body_unknown = RobotModel(
        model.wheel_radius, model.half_track, 1.0, 1.0, 0.3,
        model.wheel_mass, model.wheel_inertia_spin, model.wheel_inertia_yaw,
    )  # fmt: skip
    result = physical_quantities(k, some_covariance(k, 1e-3, seed), ALL, body_unknown)
    for key, true in expected(model).items():
        # The body's inertia is what remains after taking off larger terms.
        size = model.equivalent_inertia if key == "body_inertia" else abs(true)
        assert result[key].value == pytest.approx(true, abs=1e-9 * size + 1e-12), key
        low, high = result[key].interval
        assert low <= result[key].value <= high


@pytest.mark.parametrize(
    ("relative", "methods", "seed"),
    [
        ((0.02, 0.03, 0.005, 0.005), {DELTA, TRANSFORMED}, 1),
        ((0.6, 0.9, 0.03, 0.02), {DELTA, TRANSFORMED}, 2),
        ((0.3, 0.3, 0.25, 0.25), {FIELLER, TRANSFORMED, NONE}, 3),
        ((0.05, 0.02, 0.25, 0.01), {FIELLER, DELTA, TRANSFORMED, NONE}, 4),
    ],
)
def test_intervals_cover(relative, methods, seed):
    """95 % of 800 normal draws; 2.7 % more or less are 3.5 standard deviations of the count."""
    true = parameters(TWIL)
    covariance = some_covariance(true, np.array(relative), seed)
    draws = np.random.default_rng(seed).multivariate_normal(true, covariance, 800)
    inside = {key: 0 for key in expected(TWIL)}
    bounded = set()
    for k in draws:
        for key, quantity in physical_quantities(k, covariance, ALL, TWIL).items():
            low, high = quantity.interval
            inside[key] += low <= expected(TWIL)[key] <= high
            if quantity.method != NONE:
                bounded.add(key)
    for key in bounded:
        assert 0.923 < inside[key] / len(draws) < 0.999, key
    for key in ("equivalent_mass", "equivalent_inertia", "first_moment"):
        assert inside[key] / len(draws) == pytest.approx(0.95, abs=0.027), key
    one = physical_quantities(true, covariance, ALL, TWIL)
    assert {quantity.method for quantity in one.values()} <= methods


def test_two_ways_to_the_first_moment_are_better_than_one():
    k = parameters(TWIL)
    covariance = np.diag((k * (0.02, 0.02, 0.002, 0.002)) ** 2)

    def std(known):
        return physical_quantities(k, covariance, known, TWIL)["first_moment"].std

    both = std(ALL)
    # Two independent values of the same precision: 1 / sqrt(2) of each.
    assert both == pytest.approx(std((True, False, True, True)) / math.sqrt(2.0), rel=0.01)
    assert both < std((False, True, True, True))


@pytest.mark.parametrize(
    ("known", "without"),
    [
        ((False, False, True, True), {"first_moment", "com_offset", "body_inertia"}),
        ((True, True, False, True), {"equivalent_mass", "com_offset", "body_mass", "body_inertia"}),
        ((True, True, True, False), {"equivalent_inertia", "body_inertia"}),
        ((False,) * 4, set(expected(TWIL))),
    ],
)
def test_what_is_not_identifiable_has_no_end(known, without):
    k = parameters(TWIL)
    result = physical_quantities(k, some_covariance(k, 0.01), known, TWIL)
    for key, quantity in result.items():
        assert (quantity.interval == EVERYTHING) == (key in without), key
        assert math.isinf(quantity.std) == (key in without), key


def test_unphysical_signs_and_numbers_that_are_none():
    k = parameters(TWIL)
    wrong = k * (1.0, 1.0, -1.0, -1.0)
    for result in (
        physical_quantities(wrong, np.eye(4), ALL, TWIL),
        physical_quantities(np.full(4, math.nan), np.eye(4), ALL, TWIL),
        physical_quantities(k, np.full((4, 4), math.inf), ALL, TWIL),
    ):
        assert all(math.isnan(quantity.value) for quantity in result.values())


def test_mass_has_no_upper_end_when_k7_may_be_zero():
    k = parameters(TWIL)
    covariance = np.diag((k * (0.1, 0.1, 0.6, 0.1)) ** 2)
    low, high = physical_quantities(k, covariance, ALL, TWIL)["equivalent_mass"].interval
    assert 0.0 < low < TWIL.equivalent_mass
    assert high == math.inf


def test_friction():
    result = friction_quantities(
        FrictionEstimate((0.01, 0.02, 0.03, math.nan), (1e-6, math.inf, 4e-6, 1.0))
    )
    assert tuple(result) == FRICTION_NAMES
    left, right, coulomb, missing = result.values()
    assert left.interval == pytest.approx((0.01 - 1.96e-3, 0.01 + 1.96e-3), abs=1e-7)
    assert (right.interval, missing.interval) == (EVERYTHING, EVERYTHING)
    assert (coulomb.unit, coulomb.std) == ("N m", pytest.approx(2e-3))
