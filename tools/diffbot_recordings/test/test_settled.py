# SPDX-License-Identifier: Apache-2.0
"""Results of a run that goes on are told only if a second look confirms them."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.signal import lfilter

from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.driver_model import Ramp
from diffbot_recordings.settled import CONFIRMED_AFTER, LOOK_PERIOD, SettledLooks, settled
from diffbot_recordings.velocity_analysis import analyse_axis

PERIOD, LAG = 0.04, 0.3


@pytest.fixture(scope="module")
def look():
    """An axis with a lag of 0.3 s; steps every second for 20 s, noise 5 mm/s, seed 8."""
    rng = np.random.default_rng(8)
    command = np.repeat(rng.uniform(-0.5, 0.5, 20), 25)
    decay = np.exp(-PERIOD / LAG)
    velocity = lfilter((0.0, 1.0 - decay), (1.0, -decay), command)
    velocity += rng.normal(0.0, 0.005, len(velocity))
    analysis = analyse_axis([AxisSegment(PERIOD, command, velocity)], "forward axis")
    assert analysis.verdict.usable and analysis.fit.driver.ramp is None
    return analysis


def moved(analysis, sigmas):
    """An analysis whose time constant, gain and dead time lie so many deviations higher."""
    verdict = analysis.verdict
    values = tuple(
        replace(value, value=value.value + sigmas * value.std)
        if value.name in ("time constant", "gain", "dead time")
        else value
        for value in verdict.values
    )
    return replace(analysis, verdict=replace(verdict, values=values))


def test_nothing_is_told_of_one_look_or_of_two_that_find_different_drivers(look):
    driver = replace(look.fit.driver, ramp=Ramp(1.0, 1.0))
    ramped = replace(look, fit=replace(look.fit, driver=driver))
    for now, before in ((look, {}), (look, {"v": ramped}), (ramped, {"v": look})):
        verdict = settled({"v": now}, before)["v"].verdict
        assert not verdict.usable and not verdict.values
        assert "two looks in a row" in verdict.reason
    assert "a limit of acceleration, the one before neither" in verdict.reason
    assert settled({"v": ramped}, {"v": ramped})["v"].verdict.usable
    assert not settled({"w": look}, {"v": look})["w"].verdict.usable


def test_a_refused_axis_keeps_its_reason(look):
    refused = replace(look, verdict=look.verdict.refused("not first order"))
    assert settled({"v": refused}, {"v": look})["v"] is refused
    assert settled({}, {"v": look}) == {}


@pytest.mark.parametrize(("sigmas", "factor"), [(0.0, 1.0), (0.9, 1.0), (-3.0, 3.0), (10.0, 10.0)])
def test_intervals_hold_what_moved_between_two_looks(look, sigmas, factor):
    now = moved(look, sigmas)
    result = settled({"v": now}, {"v": look})["v"]
    assert result.verdict.usable and result.fit is look.fit
    for value, alone in zip(result.verdict.values, now.verdict.values, strict=True):
        assert value.value == pytest.approx(alone.value, nan_ok=True)
        assert value.std == pytest.approx(factor * alone.std)


def test_what_waits_to_be_confirmed_is_looked_at_sooner(look):
    driver = replace(look.fit.driver, ramp=Ramp(1.0, 1.0))
    ramped = replace(look, fit=replace(look.fit, driver=driver))
    looks, results = SettledLooks(), []
    for newest in (look, ramped, ramped, moved(ramped, 3.0)):
        looks.add({"v": newest})
        results.append((looks.axes["v"].verdict.usable, looks.pause))
    assert results == [
        (False, LOOK_PERIOD),
        (False, CONFIRMED_AFTER),
        (True, LOOK_PERIOD),
        (True, CONFIRMED_AFTER),
    ]
