# SPDX-License-Identifier: Apache-2.0
"""The dead band of both axes while the robot drives, beside sigma.

The bounds hold for the seeds here; benchmarks/dead_band.py prints coverage over random robots.
"""

import math

import numpy as np
import pytest

from diffbot_description.dead_band import DeadBand, DeadBandKind, passed_of
from diffbot_description.sigma import Sigma
from diffbot_ident.velocity.sigma_fit import RecursiveFit, RecursiveSettings

TRUE = Sigma(0.5, 0.3, 1.1, 0.8)
GUESS = Sigma(1.0, 1.0, 1.0, 1.0)
T = 0.02
BANDS = np.array([0.06, 0.2])


def drive(fit, seed, bands, seconds=60.0, least=0.0, kind=DeadBandKind.OFFSET):
    """Feed random steps; what acts is simulated exactly by (3)."""
    rng = np.random.default_rng(seed)
    velocity, command, until = np.zeros(2), np.zeros(2), 0.0
    for k in range(round(seconds / T)):
        measured = velocity + (0.003, 0.01) * rng.standard_normal(2)
        fit.update(k * T, tuple(measured), tuple(command.tolist()))
        if k * T >= until:
            until += rng.uniform(0.4, 2.0)
            sizes = rng.uniform(least, 1.0, 2) * (0.5, 1.5)
            command = sizes * rng.choice([-1.0, 1.0], 2)
        acting = np.array([passed_of(c, b, kind) for c, b in zip(command, bands, strict=True)])
        velocity = np.array(TRUE.after(tuple(velocity), tuple(acting), T))
    return fit


def test_a_dead_band_is_found_used_and_does_not_bias_sigma():
    fit = drive(RecursiveFit(GUESS), 1, BANDS)
    deviations = np.sqrt(fit.dead_band_variances)
    assert (np.abs(fit.dead_band_values - BANDS) < 3.5 * deviations).all()
    assert (deviations < (0.002, 0.006)).all()
    used = [band.width for band in fit.dead_band]
    assert used == pytest.approx(BANDS, rel=0.05)
    assert [axis.band.reason for axis in fit.axes] == [None, None]
    # Without what is found below, errors are 10 % and more.
    assert fit.values == pytest.approx(TRUE.as_array(), rel=0.02)
    blind = drive(
        RecursiveFit(GUESS, None, RecursiveSettings(largest_dead_band=(1e-9, 1e-9))), 1, BANDS
    )
    assert np.abs(blind.values / TRUE.as_array() - 1.0).max() > 0.05


def test_a_threshold_is_found_with_a_range_that_ends_at_commands_that_were_sent():
    fit = drive(RecursiveFit(GUESS), 1, BANDS, kind=DeadBandKind.THRESHOLD)
    half = 1.96 * np.sqrt(fit.dead_band_variances)
    assert (np.abs(fit.dead_band_values - BANDS) <= half + 1e-9).all()
    # Commands of random sizes, some 60 of up to 0.5 m/s and 1.5 rad/s.
    assert (half < (0.04, 0.12)).all()
    # Without it, errors are 10 % and more.
    assert fit.values == pytest.approx(TRUE.as_array(), rel=0.06)


def test_without_dead_band_none_is_used_and_sigma_is_the_same_to_the_last_digit():
    fit = drive(RecursiveFit(GUESS), 4, (0.0, 0.0))
    blind = RecursiveFit(GUESS, None, RecursiveSettings(largest_dead_band=(1e-9, 1e-9)))
    drive(blind, 4, (0.0, 0.0))
    assert [band.width for band in fit.dead_band] == [0.0, 0.0]
    assert fit.values.tolist() == blind.values.tolist()
    deviations = np.sqrt(fit.dead_band_variances)
    assert (np.abs(fit.dead_band_values) < 3.5 * deviations).all()


def test_large_commands_only_are_named():
    fit = drive(RecursiveFit(GUESS), 5, BANDS, least=0.7)
    assert np.isinf(fit.dead_band_variances).all()
    for reason in (axis.band.reason for axis in fit.axes):
        assert "no small commands" in reason
    assert [band.width for band in fit.dead_band] == [0.0, 0.0]


def test_before_there_is_motion_nothing_is_said():
    fit = RecursiveFit(GUESS)
    assert all(map(math.isnan, fit.dead_band_values))
    assert np.isinf(fit.dead_band_variances).all()
    assert "too little motion" in fit.axes[0].band.reason


def test_a_known_dead_band_counts_from_the_beginning_and_a_wrong_one_is_corrected():
    known = RecursiveSettings(dead_band=(DeadBand(0.06), DeadBand(0.2)))
    fit = drive(RecursiveFit(GUESS, None, known), 6, BANDS, seconds=8.0)
    assert fit.values == pytest.approx(TRUE.as_array(), rel=0.1)
    wrong = RecursiveSettings(dead_band=(DeadBand(0.1), DeadBand(0.1)))
    fit = drive(RecursiveFit(GUESS, None, wrong), 6, BANDS)
    assert [band.width for band in fit.dead_band] == pytest.approx(BANDS, rel=0.05)
    assert fit.values == pytest.approx(TRUE.as_array(), rel=0.03)


def test_a_known_threshold_is_kept_as_it_is():
    known = (DeadBand(0.06, DeadBandKind.THRESHOLD), DeadBand(0.2, DeadBandKind.THRESHOLD))
    fit = RecursiveFit(GUESS, None, RecursiveSettings(dead_band=known))
    drive(fit, 7, BANDS, kind=DeadBandKind.THRESHOLD)
    assert fit.dead_band == known
    assert fit.values == pytest.approx(TRUE.as_array(), rel=0.02)


def test_a_load_that_is_seen_only_in_the_second_pass_clears_the_stored_batches(monkeypatch):
    """As soon as dead band or dead time are known, all stored batches are processed again."""
    fit = drive(RecursiveFit(GUESS), 3, BANDS)
    axis, make = fit.axes[0], fit.axes[0]._new_recursion

    def surprised():
        recursion = make()
        update = recursion.update

        def notice(batch):
            update(batch)
            recursion.surprises += 1

        monkeypatch.setattr(recursion, "update", notice)
        return recursion

    monkeypatch.setattr(axis, "_new_recursion", surprised)
    assert len(fit._stored) > 2
    axis._process_again()
    assert not fit._stored
