# SPDX-License-Identifier: Apache-2.0
"""Residuals: white where the model is right, not where something unknown moves the robot."""

import math

import numpy as np

from diffbot_ident.torque.columns import DOMEGA, DV
from diffbot_ident.torque.effects import DIFFERENCE, SUM, TORQUES
from diffbot_ident.torque.residual_correlation import ResidualCorrelation
from diffbot_ident.torque.sums import RowSums
from diffbot_ident.torque.torque_delay import delay_columns, delay_weights

WINDOW, SMOOTHING = 10, 5
COLUMNS = TORQUES + 2 * delay_columns(1)


def run(unknown, seed=1, batches=30, size=200, clear=True, straight=0):
    """Rows of dv = 2 sum + noise (+ something unknown), domega = -9 difference + noise.

    In the first `straight` rows the torques hardly differ.
    """
    generator = np.random.default_rng(seed)
    sums, white = RowSums(WINDOW, SMOOTHING, 0.01), ResidualCorrelation()
    count = batches * size
    noise = np.array(
        [np.convolve(n, np.ones(15), "valid") for n in generator.standard_normal((2, count + 14))]
    )
    rows = 0.1 * generator.standard_normal((count, COLUMNS))
    torque = generator.standard_normal((count + 39, 2))
    torque[:straight, 1] *= 1e-3
    for columns, t in ((SUM, torque[:, 0]), (DIFFERENCE, torque[:, 1])):
        smooth = np.convolve(t, np.ones(40), "valid")
        rows[:, columns] = np.array([np.roll(smooth, i) for i in range(delay_columns(1))]).T
    total, difference = (rows[:, columns] @ delay_weights(0.0, 1) for columns in (SUM, DIFFERENCE))
    rows[:, DV] = 2.0 * total + 0.1 * noise[0] + unknown(np.arange(count))
    rows[:, DOMEGA] = -9.0 * difference + 0.1 * noise[1]
    for batch in np.split(rows, batches):
        turning = np.full(size, clear)
        sums.add(batch, turning)
        white.add(batch, turning, sums, 0)
    return white


def test_noise_of_overlapping_rows_is_white():
    """6 seeds of 6000 rows, about 400 independent ones: no correlation above 0.25, no warning."""
    for seed in range(6):
        white = run(lambda k: 0.0, seed)
        assert max(map(abs, white.correlation())) < 0.25
        assert white.warnings() == []


def test_a_slow_unknown_force_is_named_with_its_axis():
    white = run(lambda k: 0.6 * np.sin(2.0 * math.pi * k / 400.0))
    linear, angular = white.correlation()
    assert abs(linear) > 0.4 and abs(angular) < 0.25
    (warning,) = white.warnings()
    assert "dv/dt" in warning and "not white" in warning


def test_nothing_is_said_too_early_or_where_wheels_always_turn_round():
    assert all(map(math.isnan, ResidualCorrelation().correlation()))
    assert ResidualCorrelation().warnings() == []
    white = run(lambda k: 0.0, batches=1)
    assert white.warnings() == []
    assert all(map(math.isnan, run(lambda k: 0.0, clear=False, batches=4).correlation()))


def test_what_was_counted_with_poor_parameters_is_forgotten():
    """A drive that begins straight on: 6 seeds; its first 28 windows tell little of turning.

    With two of the seeds the first parameters of turning were poor, and what they left in the rows
    that came next looked like a correlation of 0.41 and 0.57.
    """
    for seed in range(6):
        white = run(lambda k: 0.0, seed, straight=440)
        assert max(map(abs, white.correlation())) < 0.25
        assert white.warnings() == [] and white.variance_factors() == (1.0, 1.0)


def test_what_the_model_misses_is_not_forgotten():
    """The same drive with an unknown force: it leaves as much whatever the parameters are."""
    for seed in range(6):
        white = run(lambda k: 0.6 * np.sin(2.0 * math.pi * k / 400.0), seed, straight=440)
        assert abs(white.correlation()[0]) > 0.4 and white.variance_factors()[0] > 1.5
        (warning,) = white.warnings()
        assert "dv/dt" in warning
