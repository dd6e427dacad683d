# SPDX-License-Identifier: Apache-2.0
"""Limits of acceleration and of speed are told by name, and never in first-order motion."""

import numpy as np
import pytest

from diffbot_recordings.first_order import AxisSegment, FirstOrder
from diffbot_recordings.velocity_analysis import analyse_axis
from diffbot_recordings.verdict import AnalysisOutcome

FINE = 10  # steps of the simulation in a period


def recorded(seed, ramp=np.inf, plateau=np.inf, band=0.0):
    """Random steps, limited by a driver, of a random axis at 10 to 50 Hz."""
    r = np.random.default_rng(seed)
    period, tau, gain = r.uniform(0.02, 0.1), 10.0 ** r.uniform(-1.1, -0.5), r.uniform(0.9, 1.1)
    hold, count = int(r.uniform(1.0, 2.5) / period), int(40.0 / period)
    command = np.repeat(r.uniform(-0.6, 0.6, count // hold + 1), hold)[:count]
    now, limited = 0.0, []
    moving = command - np.clip(command, -band, band)
    for target in np.repeat(np.clip(moving, -plateau, plateau), FINE).tolist():
        now += min(max(target - now, -ramp * period / FINE), ramp * period / FINE)
        limited.append(now)
    axis = FirstOrder(tau / gain, 1.0 / gain)
    velocity = axis.simulate(np.array(limited), period / FINE, 0.0, r.uniform(0.0, 0.15))[::FINE]
    return AxisSegment(period, command, velocity + 0.003 * r.standard_normal(count))


@pytest.mark.parametrize("seed", range(3))
def test_ramps_are_told_with_their_slope(seed):
    slope = np.random.default_rng(seed + 50).uniform(0.2, 0.6)
    verdict = analyse_axis([recorded(seed, ramp=slope)], "forward axis").verdict
    assert verdict.outcome is AnalysisOutcome.REFUSED
    assert "limits acceleration" in verdict.reason
    reported = float(verdict.reason.split("about ")[1].split()[0])
    assert reported == pytest.approx(slope, rel=0.35)


@pytest.mark.parametrize("seed", range(3))
def test_a_plateau_is_told_and_is_no_power_law(seed):
    most = np.random.default_rng(seed + 60).uniform(0.2, 0.4)
    verdict = analyse_axis([recorded(seed, plateau=most)], "forward axis").verdict
    assert verdict.outcome is AnalysisOutcome.REFUSED
    assert "(a plateau)" in verdict.reason
    reported = float(verdict.reason.split("about ")[1].split()[0])
    assert reported == pytest.approx(most, rel=0.2)


@pytest.mark.parametrize("seed", range(3))
def test_first_order_motion_has_no_limit(seed):
    verdict = analyse_axis([recorded(seed)], "forward axis").verdict
    assert verdict.usable, verdict.reason


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("band", [0.0, 0.08])
def test_ramps_that_a_lag_would_explain_are_told_too(seed, band):
    """If limits were looked for in refused axes only, 5 of these 10 would be estimated."""
    verdict = analyse_axis([recorded(seed, ramp=1.5, band=band)], "forward axis").verdict
    assert verdict.outcome is AnalysisOutcome.REFUSED
    assert "limits acceleration" in verdict.reason
