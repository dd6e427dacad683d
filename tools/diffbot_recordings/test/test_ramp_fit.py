# SPDX-License-Identifier: Apache-2.0
"""Limits of acceleration are fitted with the axis; plateaus are refused; neither is invented."""

import numpy as np
import pytest

from diffbot_description.command_ramp import RampCoupling
from diffbot_description.dead_band import DeadBandKind
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.driver_model import DriverModel, Ramp
from diffbot_recordings.first_order import FirstOrder
from diffbot_recordings.sent_commands import SentCommands
from diffbot_recordings.velocity_analysis import analyse_axis
from diffbot_recordings.verdict import AnalysisOutcome

FINE = 20  # steps of the simulation in a period


def steps(rng, period, size=0.6, seconds=40.0):
    hold = int(rng.uniform(0.8, 1.6) / period)
    count = int(seconds / period)
    return np.repeat(rng.uniform(-size, size, count // hold + 1), hold)[:count]


def limited(command, period, speeding, braking):
    """The course of a limited command, in steps of period / FINE."""
    step, now, course = period / FINE, 0.0, []
    for target in np.repeat(command, FINE).tolist():
        slower = target * now < 0.0 or abs(target) < abs(now)
        most = step * (braking if slower else speeding)
        before = now
        now += min(max(target - now, -most), most)
        course.append(0.5 * (before + now))
    return np.array(course)


def recorded(rng, command, course, period):
    """A random axis that follows a course; its time constant, gain and dead time."""
    tau, gain, late = 10.0 ** rng.uniform(-1.1, -0.5), rng.uniform(0.9, 1.1), rng.uniform(0.0, 0.2)
    axis = FirstOrder(tau / gain, 1.0 / gain)
    velocity = axis.simulate(course, period / FINE, 0.0, late)[::FINE]
    noise = 0.004 * rng.standard_normal(len(command))
    return AxisSegment(period, command, velocity + noise), (tau, gain, late)


def check(verdict, truth, sigmas=4.0):
    for name, true in truth.items():
        value = verdict.value(name)
        assert value.value == pytest.approx(true, abs=sigmas * value.std), (name, value)


@pytest.mark.parametrize(("seed", "speeding", "braking"), [(1, 0.5, 0.5), (3, 0.7, 1.4)])
def test_a_ramp_is_fitted_with_the_axis(seed, speeding, braking):
    """Seeds and slopes are arbitrary; without a ramp the lag is wrong by 2 to 10 deviations."""
    rng = np.random.default_rng(seed)
    period = rng.uniform(0.03, 0.05)
    command = steps(rng, period)
    segment, (tau, gain, late) = recorded(
        rng, command, limited(command, period, speeding, braking), period
    )
    verdict = analyse_axis([segment], "forward axis").verdict
    assert verdict.usable, verdict.reason
    check(verdict, {"time constant": tau, "gain": gain, "dead time": late})
    check(verdict, {"acceleration limit": speeding, "deceleration limit": braking})
    assert verdict.value("acceleration limit").std < 0.05 * speeding


@pytest.mark.parametrize("before_band", [False, True])
def test_a_ramp_beside_a_dead_band_is_fitted_before_or_after_it(before_band):
    rng = np.random.default_rng(5)
    period = 0.04
    command = steps(rng, period, 0.8, 30.0)

    def passed(values):
        return np.sign(values) * np.maximum(np.abs(values) - 0.1, 0.0)

    course = limited(command if before_band else passed(command), period, 1.0, 1.0)
    segment, (tau, _, late) = recorded(
        rng, command, passed(course) if before_band else course, period
    )
    analysis = analyse_axis([segment], "forward axis")
    assert analysis.verdict.usable, analysis.verdict.reason
    assert analysis.fit.driver.ramp.before_band is before_band
    check(analysis.verdict, {"time constant": tau, "dead time": late, "acceleration limit": 1.0})
    check(analysis.verdict, {"smallest command that moves the robot": 0.1})


def test_a_plateau_is_told_and_is_no_power_law():
    rng = np.random.default_rng(60)
    period, most = 0.04, rng.uniform(0.2, 0.4)
    command = steps(rng, period)
    course = np.repeat(np.clip(command, -most, most), FINE)
    verdict = analyse_axis([recorded(rng, command, course, period)[0]], "forward axis").verdict
    assert verdict.outcome is AnalysisOutcome.REFUSED
    assert "(a plateau)" in verdict.reason
    reported = float(verdict.reason.split("about ")[1].split()[0])
    assert reported == pytest.approx(most, rel=0.2)


def test_first_order_motion_has_no_limit():
    rng = np.random.default_rng(80)
    command = steps(rng, 0.04)
    segment, _ = recorded(rng, command, np.repeat(command, FINE), 0.04)
    analysis = analyse_axis([segment], "forward axis")
    assert analysis.verdict.usable, analysis.verdict.reason
    assert analysis.fit.driver.ramp is None
    assert any("no limit of acceleration below" in note for note in analysis.verdict.notes)


@pytest.mark.parametrize("law", [RampCoupling.OWN, RampCoupling.SCALED])
@pytest.mark.parametrize("before_band", [False, True])
@pytest.mark.parametrize("kind", list(DeadBandKind))
def test_commands_that_act_are_those_of_a_simulation_in_small_steps(law, before_band, kind):
    rng = np.random.default_rng(7)
    period, count, band = 0.01, 1500, 0.2
    own, other = (
        SentCommands(
            np.concatenate(([0.0], np.sort(rng.uniform(0.0, 15.0, 40)))),
            np.concatenate(([0.0], rng.uniform(-size, size, 40))),
        )
        for size in (0.8, 2.0)
    )
    ramp = Ramp(0.9, 0.6 if law is RampCoupling.OWN else 0.9, 1.5, law, before_band)
    segment = AxisSegment(period, np.zeros(count), np.zeros(count), sent=own, beside=other)
    acting = DriverModel(dead_band=band, kind=kind, ramp=ramp).acting(segment).command

    def passed(value):
        if abs(value) <= band:
            return 0.0
        return value if kind is DeadBandKind.THRESHOLD else value - np.sign(value) * band

    step, now, course = period / FINE, np.zeros(2), []
    times = step * np.arange(count * FINE) + 1e-9
    targets = [
        each.values[np.searchsorted(each.times, times, side="right") - 1] for each in (own, other)
    ]
    for first, second in zip(*(each.tolist() for each in targets), strict=True):
        change = np.array((first if before_band else passed(first), second)) - now
        slower = (now[0] + change[0]) * now[0] < 0.0 or abs(now[0] + change[0]) < abs(now[0])
        most = step * np.array((ramp.braking if slower else ramp.speeding, ramp.other))
        fractions = np.minimum(1.0, most / np.maximum(np.abs(change), 1e-12))
        now = now + (fractions if law is RampCoupling.OWN else fractions.min()) * change
        course.append(passed(now[0]) if before_band else now[0])
    expected = np.reshape(course, (count, FINE)).mean(axis=1)
    # A threshold is passed in the middle of one step.
    assert np.mean(np.abs(acting - expected)) < 1e-3
    assert np.quantile(np.abs(acting - expected), 0.98) < 3e-3
