# SPDX-License-Identifier: Apache-2.0
"""Encoders: quantisation, velocities, phases, bad input."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_sim.virtual_robot import Encoders

angle = st.floats(-1e4, 1e4)
angles = st.lists(st.tuples(angle, angle), min_size=1, max_size=20)
counts = st.integers(1, 100000)


@given(angles, counts, st.integers(0, 5))
def test_positions_are_whole_counts_within_one_count_of_the_truth(path, n, seed):
    encoders = Encoders(n, 0.01, seed)
    for truth in path:
        positions, _ = encoders.read(truth, (0.0, 0.0))
        for position, true in zip(positions, truth, strict=True):
            count = position * n / math.tau
            assert count == pytest.approx(round(count), abs=1e-6)
            # floor(x + phase) with 0 <= phase < 1 lies in (x - 1, x + 1).
            assert abs(position - true) < math.tau / n * (1 + 1e-6) + 1e-11


@given(angles, counts, st.floats(1e-4, 1.0))
def test_velocities_sum_up_to_the_position(path, n, period):
    encoders = Encoders(n, period)
    total = [0.0, 0.0]
    for truth in path:
        positions, velocities = encoders.read(truth, (123.0, 456.0))
        total = [s + v * period for s, v in zip(total, velocities, strict=True)]
    assert total == pytest.approx(positions, rel=1e-9, abs=1e-9)


@given(st.floats(-100, 100), counts)
def test_a_turn_is_the_number_of_counts(start, n):
    encoders = Encoders(n, 1.0)
    encoders.read((start, start), (0.0, 0.0))
    _, velocities = encoders.read((start + math.tau, start - math.tau), (0.0, 0.0))
    counted = [v * n / math.tau for v in velocities]
    # Rounding of start + 2 pi may move an edge.
    assert counted == pytest.approx([n, -n], abs=1.001 if start else 1e-9)


def test_steady_speed_is_measured_within_one_count_per_period():
    encoders = Encoders(4096, 0.01, seed=7)
    speed, count = 3.21, math.tau / 4096
    measured = []
    for k in range(1, 1001):
        at = speed * 0.01 * k
        measured.append(encoders.read((at, -at), (0.0, 0.0))[1])
    for left, right in measured:
        assert abs(left - speed) < count / 0.01
        assert abs(right + speed) < count / 0.01
    assert sum(v[0] for v in measured) / 1000 == pytest.approx(speed, abs=count / 10)
    assert len({v[0] for v in measured}) > 1


def test_zero_counts_are_exact():
    encoders = Encoders(0, 0.01)
    assert encoders.read((0.1234, -5.0), (1.5, 2.5)) == ((0.1234, -5.0), (1.5, 2.5))


def test_reads_zero_at_the_start_and_edges_depend_on_the_seed():
    def first_edge(seed):
        encoders = Encoders(100, 0.01, seed)
        assert encoders.read((0.0, 0.0), (0.0, 0.0)) == ((0.0, 0.0), (0.0, 0.0))
        steps = (k * math.tau / 1e5 for k in range(1, 1002))
        return next(a for a in steps if encoders.read((a, a), (0.0, 0.0))[0][0] > 0.0)

    assert first_edge(1) == first_edge(1)
    assert len({first_edge(seed) for seed in range(5)}) == 5


def test_reset_sets_the_reading_before_the_next():
    encoders = Encoders(1000, 0.01)
    encoders.reset((50.0, -50.0))
    assert encoders.read((50.0, -50.0), (0.0, 0.0))[1] == (0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-1, 0.01), "counts"),
        ((1.5, 0.01), "counts"),
        ((2**31, 0.01), "counts"),
        ((100, 0.0), "period"),
        ((100, math.nan), "period"),
        ((100, 0.01, -1), "seed"),
    ],
)
def test_bad_parameters_are_named(arguments, words):
    with pytest.raises(ValueError, match=words):
        Encoders(*arguments)


@pytest.mark.parametrize("n", [0, 4096])
def test_readings_that_are_not_finite_are_refused(n):
    with pytest.raises(ValueError, match="must be finite"):
        Encoders(n, 0.01).read((math.nan, 0.0), (0.0, 0.0))
