# SPDX-License-Identifier: Apache-2.0
"""UMBmark: ends of squares to radii and track."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import CalibrationOutcome
from diffbot_calibration.umbmark import (
    Squares,
    UmbmarkError,
    calibrate_umbmark,
    read_squares,
    square_end,
    umbmark_formulas,
)

GIVEN = WheelGeometry(0.075, 0.075, 0.27)
SIDE = 4.0


def ends(true: WheelGeometry, clockwise: bool, spread=1e-6, runs=5, seed=0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return np.array(square_end(SIDE, clockwise, GIVEN, true)) + rng.normal(0, spread, (runs, 2))


@given(st.floats(-0.01, 0.01), st.floats(-0.08, 0.08))
def test_the_exact_fit_finds_what_the_robot_has(half, track) -> None:
    """Ratios only, as there is no straight leg: the mean radius is as given."""
    true = WheelGeometry(0.075 * (1 - half), 0.075 * (1 + half), 0.27 * (1 + track))
    result, _ = calibrate_umbmark(
        Squares(SIDE, ends(true, True), ends(true, False), np.empty((0, 2))), GIVEN
    )
    assert result.quantities["radius_ratio"].value == pytest.approx((1 + half) / (1 - half), 1e-5)
    assert result.quantities["track_over_mean_radius"].value == pytest.approx(
        3.6 * (1 + track), 1e-5
    )
    assert not result.quantities["track"].identified


def test_borenstein_and_fengs_formulas_hold_for_small_errors() -> None:
    """A geometry of ours: 0.1 % wider, radii 0.02 % different; first order is left to 2 %."""
    true = WheelGeometry(0.075 * 0.9999, 0.075 * 1.0001, 0.27 * 1.001)
    squares = Squares(SIDE, ends(true, True, 0.0), ends(true, False, 0.0), np.empty((0, 2)))
    e_b, e_d = umbmark_formulas(squares, GIVEN)
    assert e_b - 1.0 == pytest.approx(0.001, rel=0.02)
    assert e_d - 1.0 == pytest.approx(0.0002, rel=0.02)


def test_intervals_hold_the_truth_with_few_runs() -> None:
    """30 robots, three values each: 95 % of 90 is 85.5, and 78 its 0.1 % tail."""
    kept = 0
    for seed in range(30):
        rng = np.random.default_rng(seed)
        scale, half = 1.0 + rng.uniform(-0.05, 0.05), rng.uniform(-0.005, 0.005)
        true = WheelGeometry(
            0.075 * scale * (1 - half), 0.075 * scale * (1 + half), 0.27 * rng.uniform(0.95, 1.05)
        )
        length, turn = true.body_velocity(*GIVEN.wheel_velocity(SIDE, 0.0))
        chord = length * float(np.sinc(0.5 * turn / math.pi))
        straight = np.column_stack((np.full(3, SIDE), chord + rng.normal(0.0, 0.003, 3)))
        runs = [
            ends(true, direction, 0.01, seed=2 * seed + direction) for direction in (True, False)
        ]
        result, _ = calibrate_umbmark(Squares(SIDE, *runs, straight), GIVEN)
        kept += result.quantities["left_radius"].holds(true.left_radius)
        kept += result.quantities["track"].holds(true.separation)
        kept += result.quantities["radius_ratio"].holds(true.right_radius / true.left_radius)
    assert kept >= 78


def test_a_good_robot_is_confirmed() -> None:
    straight = np.array([[4.0, 4.001], [4.0, 3.999], [4.0, 4.0005]])
    squares = Squares(SIDE, ends(GIVEN, True, 0.01), ends(GIVEN, False, 0.01, seed=1), straight)
    assert calibrate_umbmark(squares, GIVEN)[0].outcome is CalibrationOutcome.CONFIRMED


@pytest.mark.parametrize(
    ("squares", "said"),
    [
        ((4.0, [(0.1, 0.1)], [(0.1, 0.1)] * 2, []), "cw: 1 runs: must be at least 2"),
        ((4.0, [(0.1, 0.1)] * 2, [(0.1, 900.0)] * 2, []), "ccw run 1.*enter metres"),
        ((0.1, [(0.1, 0.1)] * 2, [(0.1, 0.1)] * 2, []), "side = 0.1"),
        ((4.0, [(0.1, 0.1)] * 2, [(0.1, 0.1)] * 2, [(4.0, 400.0)]), "straight 4,400"),
        ((4.0, [(0.1, math.nan)] * 2, [(0.1, 0.1)] * 2, []), "cw: must be finite"),
    ],
)
def test_what_was_typed_wrongly_is_named(squares, said) -> None:
    with pytest.raises(UmbmarkError, match=said):
        Squares(*squares)


def test_pairs_are_read() -> None:
    assert read_squares([" -0.1,0.2"], "--cw").tolist() == [[-0.1, 0.2]]
    with pytest.raises(UmbmarkError, match="--cw '1'"):
        read_squares(["1"], "--cw")
