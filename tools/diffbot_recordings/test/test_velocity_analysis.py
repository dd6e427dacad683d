# SPDX-License-Identifier: Apache-2.0
"""Axes of known kinds: those of first order are estimated, all others refused with the reason."""

import json
import math

import numpy as np
import pytest
from scipy.signal import lfilter

from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.first_order import FirstOrder
from diffbot_recordings.held_out_tests import CrossValidation
from diffbot_recordings.velocity_analysis import analyse_axis
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict, Value

T = 0.05
TRUE = FirstOrder(0.4, 0.9)
COUNT = 600


def commands(seed, size=1.0):
    rng = np.random.default_rng(seed)
    return rng, size * np.repeat(rng.uniform(-1.0, 1.0, COUNT // 30 + 1), 30)[:COUNT]


def integrated(command, slope, parts=5):
    """Velocity of dv/dt = slope(command, v), by small steps."""
    v, result = 0.0, []
    for u in command:
        result.append(v)
        for _ in range(parts):
            v += T / parts * slope(u, v)
    return np.array(result)


def analyse(segments, longest=0.3):
    return analyse_axis(segments, "forward axis", longest_dead_time=longest)


def analysed(command, velocity, rng, noise=0.01, longest=0.3):
    velocity = velocity + noise * rng.standard_normal(len(velocity))
    return analyse([AxisSegment(T, command, velocity)], longest)


@pytest.mark.parametrize(("noise", "pole"), [(0.01, 0.0), (0.3, 0.0), (0.05, 0.9)])
def test_a_first_order_axis_is_estimated_whatever_its_noise(noise, pole):
    rng, command = commands(1)
    white = lfilter([math.sqrt(1.0 - pole**2)], [1.0, -pole], rng.standard_normal(COUNT))
    velocity = TRUE.simulate(command, T, 0.0, 0.17) + noise * white
    verdict = analyse([AxisSegment(T, command, velocity)]).verdict
    assert verdict.outcome is AnalysisOutcome.ESTIMATED, verdict.summary()
    for name, true in (("inertia", 0.4), ("drag", 0.9), ("dead time", 0.17), ("gain", 1.0 / 0.9)):
        value = verdict.value(name)
        assert abs(value.value - true) < 3.5 * value.std < 0.5 * true, name


def test_noise_of_readings_is_told_from_errors_of_the_model():
    """Apart from noise, R^2 is that of the velocity without noise; a slow error is no noise."""
    rng, command = commands(3)
    clean = TRUE.simulate(command, T, 0.0)
    noisy = CrossValidation(
        [AxisSegment(T, command, clean + 0.3 * rng.standard_normal(COUNT))], 0.3
    )
    simulated = noisy.prediction.simulated[0]
    true = 1.0 - np.sum((clean - simulated) ** 2) / np.sum((clean - clean.mean()) ** 2)
    assert noisy.prediction.r_squared < 0.85 < true
    assert noisy.prediction.explained == pytest.approx(true, abs=0.03)
    slow = 0.3 * np.sin(0.7 * T * np.arange(COUNT))
    wrong = CrossValidation([AxisSegment(T, command, clean + slow)], 0.3)
    assert wrong.prediction.explained == pytest.approx(wrong.prediction.r_squared, abs=0.01)


REFUSED = {
    "oscillation": lambda u: lfilter([0.0, 0.05], [1.0, -1.85, 0.9], u),
    "saturation": lambda u: integrated(u, lambda c, v: (np.clip(c, -0.25, 0.25) - v) / 0.3),
    "limited acceleration": lambda u: integrated(
        u, lambda c, v: float(np.clip((c - v) / 0.1, -0.35, 0.35))
    ),
    "direction": lambda u: integrated(u, lambda c, v: (c * (1.5 if c > 0.0 else 0.7) - v) / 0.3),
    "slow creep": lambda u: (
        0.4 * lfilter([0.3], [1.0, -0.7], u) + 0.6 * lfilter([0.008], [1.0, -0.992], u)
    ),
    "change in between": lambda u: np.r_[
        FirstOrder(0.3, 1.0).simulate(u[: COUNT // 2], T, 0.0),
        FirstOrder(0.6, 2.0).simulate(u[COUNT // 2 :], T, 0.0),
    ],
}


@pytest.mark.parametrize("kind", REFUSED)
def test_an_axis_of_another_kind_is_refused_as_not_first_order(kind):
    rng, command = commands(11)
    verdict = analysed(command, REFUSED[kind](command), rng).verdict
    assert verdict.outcome is AnalysisOutcome.REFUSED, verdict.summary()
    assert "not first order: " in verdict.reason
    # What has a name of its own comes first.
    named = {"saturation": "commands beyond about"}.get(kind, "not first order: ")
    assert verdict.reason.startswith(named)
    assert any(item.passed is False for item in verdict.evidence)


def test_a_dead_time_beyond_the_first_scan_is_searched_further():
    rng, command = commands(12)
    verdict = analysed(command, TRUE.simulate(command, T, 0.0, 0.9), rng, longest=0.3).verdict
    result = verdict.value("dead time")
    assert verdict.usable and abs(result.value - 0.9) < 4.0 * result.std


def test_a_dead_time_beyond_every_search_is_refused():
    rng, command = commands(12)
    velocity = TRUE.simulate(command, T, 0.0, 5.5)
    verdict = analysed(command, velocity, rng, longest=0.3).verdict
    assert verdict.outcome is AnalysisOutcome.REFUSED
    assert "dead time" in verdict.reason


def test_reversed_signs_are_refused_by_name():
    rng, command = commands(13)
    verdict = analysed(command, -TRUE.simulate(command, T, 0.0), rng).verdict
    assert verdict.outcome is AnalysisOutcome.REFUSED
    assert "check the signs" in verdict.reason


def test_a_power_law_is_used_only_where_it_is_clearly_better():
    rng, command = commands(14)
    bent = np.sign(command) * np.abs(command) ** 1.6
    result = analysed(command, TRUE.simulate(bent, T, 0.0, 0.1), rng).verdict
    assert result.outcome is AnalysisOutcome.ESTIMATED, result.summary()
    assert result.value("exponent").value == pytest.approx(1.6, abs=0.05)
    assert any("sign(u)|u|^p" in note for note in result.notes)
    plain = analysed(command, TRUE.simulate(command, T, 0.0, 0.1), rng, noise=0.2).verdict
    with pytest.raises(KeyError, match="exponent"):
        plain.value("exponent")


@pytest.mark.parametrize("command", [np.zeros(COUNT), np.full(COUNT, 0.5)])
def test_a_command_that_never_changes_does_not_excite(command):
    rng = np.random.default_rng(15)
    verdict = analysed(command, TRUE.simulate(command, T, 0.0), rng).verdict
    assert verdict.outcome is AnalysisOutcome.NOT_EXCITED
    assert "changes 0 times" in verdict.reason


def test_held_out_samples_do_not_influence_their_prediction():
    rng, command = commands(16)
    velocity = TRUE.simulate(command, T, 0.0, 0.1) + 0.02 * rng.standard_normal(COUNT)
    before = analyse([AxisSegment(T, command, velocity)])
    # Blocks are 2 s: samples 80 to 119 are one of them.
    velocity = velocity.copy()
    velocity[80:120] += 0.3
    after = analyse([AxisSegment(T, command, velocity)])
    same = slice(80, 120)
    assert after.held_out.simulated[0][same] == pytest.approx(before.held_out.simulated[0][same])
    assert after.verdict.r_squared_held_out < before.verdict.r_squared_held_out


def test_a_verdict_is_plain_in_files_and_names_what_is_not_identifiable():
    value = Value("inertia", 0.3, math.inf, "s")
    verdict = AnalysisVerdict(
        "yaw axis", AnalysisOutcome.REFUSED, "why", (value, Value("drag", 1.0, 0.1))
    )
    plain = json.loads(json.dumps(verdict.to_dict(), allow_nan=False))
    assert plain["parameters"]["inertia"]["interval95"] == [None, None]
    assert plain["parameters"]["drag"]["interval95"] == pytest.approx([0.804, 1.196], abs=1e-3)
    assert verdict.rows()[0] == ("inertia", "0.3", "not identifiable", "s")
    assert verdict.rows()[1] == ("drag", "1.00", "± 0.20", "1")
    assert verdict.summary() == "yaw axis: refused: why"
