# SPDX-License-Identifier: Apache-2.0
"""Actuators: limit, delay, noise, bad input."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_sim.virtual_robot import Actuator

command = st.tuples(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6))


@given(st.lists(command, min_size=1, max_size=30), st.integers(0, 10), st.floats(0.01, 100))
def test_reports_the_clipped_command_and_acts_later(commands, delay, limit):
    actuator = Actuator(limit, delay)
    reported, acting = zip(*map(actuator.apply, commands), strict=True)
    assert np.array_equal(reported, np.clip(commands, -limit, limit))
    assert list(acting) == ([(0.0, 0.0)] * delay + list(reported))[: len(commands)]


def test_noise_is_relative_and_independent():
    """20000 samples: standard errors are 0.5 % of a deviation and 0.007 of a correlation."""
    actuator = Actuator(5.0, noise=0.05, seed=3)
    acting = np.array([actuator.apply((2.0, -1.0))[1] for _ in range(20000)])
    assert acting.mean(0) == pytest.approx([2.0, -1.0], rel=0.002)
    assert acting.std(0) == pytest.approx([0.1, 0.05], rel=0.02)
    assert abs(np.corrcoef(acting.T)[0, 1]) < 0.03
    assert abs(np.corrcoef(acting[1:, 0], acting[:-1, 0])[0, 1]) < 0.03


def test_noise_depends_on_the_seed_only():
    def run(actuator):
        return [actuator.apply((1.0, 1.0)) for _ in range(10)]

    first = Actuator(5.0, 2, 0.1, seed=1)
    once = run(first)
    first.reset()
    assert run(first) == once == run(Actuator(5.0, 2, 0.1, seed=1))
    assert run(Actuator(5.0, 2, 0.1, seed=2)) != once


def test_dead_band_takes_small_torques_and_reports_the_command():
    actuator = Actuator(5.0, 1, dead_band=(0.1, 0.2))
    reports, acts = zip(
        *map(actuator.apply, [(0.09, 0.21), (-0.11, -0.19), (0.1, 0.2), (0.0, 0.0)]), strict=True
    )
    assert reports == ((0.09, 0.21), (-0.11, -0.19), (0.1, 0.2), (0.0, 0.0))
    assert acts == ((0.0, 0.0), (0.0, 0.21), (-0.11, 0.0), (0.1, 0.2))


@given(st.lists(command, min_size=1, max_size=10))
def test_dead_band_leaves_the_noise_of_larger_torques_as_it_is(commands):
    plain, banded = Actuator(5.0, 0, 0.1, 1), Actuator(5.0, 0, 0.1, 1, (1.0, 2.0))
    for torque in commands:
        expected = [
            acting if abs(reported) >= band else 0.0
            for reported, acting, band in zip(*plain.apply(torque), (1.0, 2.0), strict=True)
        ]
        assert list(banded.apply(torque)[1]) == expected


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((0.0,), "limit"),
        ((math.nan,), "limit"),
        ((1.0, -1), "delay"),
        ((1.0, 1.5), "delay"),
        ((1.0, 0, -0.1), "noise"),
        ((1.0, 0, math.nan), "noise"),
        ((1.0, 0, 0.1, -1), "seed"),
        ((1.0, 0, 0.1, 0, (-0.1, 0.0)), "dead_band"),
        ((1.0, 0, 0.1, 0, (0.0, math.inf)), "dead_band"),
    ],
)
def test_bad_parameters_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        Actuator(*arguments)


def test_bad_command_is_refused_and_forgotten():
    actuator = Actuator(1.0, 1)
    actuator.apply((0.5, 0.5))
    with pytest.raises(ValueError, match="right torque command"):
        actuator.apply((0.0, math.nan))
    assert actuator.apply((0.0, 0.0)) == ((0.0, 0.0), (0.5, 0.5))
