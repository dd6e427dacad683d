# SPDX-License-Identifier: Apache-2.0
"""Refuse axes whose first-order model passes its tests for lack of evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.axis_segment import AxisSegment, Prediction
from diffbot_recordings.dead_time import DeadTimeFit, fit_dead_band, fit_dead_time, refitted
from diffbot_recordings.ramp_fit import fine, limits_of
from diffbot_recordings.sent_commands import SentCommands
from diffbot_recordings.velocity_analysis import AxisAnalysis, prepared, values_of
from diffbot_recordings.verdict import AnalysisVerdict, Evidence, combined

# Plausible gains from command to velocity; others mean another unit.
GAINS = (0.05, 20.0)
# Factors between units that are often confused.
UNITS = (
    (1e3, "millimetres for metres"),
    (100.0, "centimetres, or per cent"),
    (180.0 / math.pi, "degrees for radians"),
    (60.0 / math.tau, "revolutions a minute"),
)
# A suggested unit brings the gain to within this factor of 1.
GAIN_TOLERANCE = 3.0
# Widest half interval of a known time constant, as a share of it or in samples.
WIDEST, SAMPLES = 0.6, 2.0
# The spread of recordings widens an interval if its deviation exceeds noise's by this factor.
WIDENED = 1.5
SIGNIFICANT = 0.5
# Commands are tried so much sooner, s; standard deviations of a dead time below 0.
SOONER, EARLY_STDS = 0.1, 5.0


def checked(analysis: AxisAnalysis, period: float) -> AxisAnalysis:
    """Return the analysis; refused or not excited if its values (every `period` s) are vague."""
    verdict = analysis.verdict
    if not verdict.usable or analysis.held_out is None:
        return analysis
    verdict = _units(verdict)
    if verdict.usable:
        verdict = _noise(verdict, analysis.held_out)
    if verdict.usable:
        alone = math.inf if analysis.fit is None else analysis.fit.fit.time_constant_std
        verdict = _time_constant(verdict, alone, period)
    return replace(analysis, verdict=verdict)


def not_too_early(
    analysis: AxisAnalysis, segments: Sequence[AxisSegment], refresh: float = 0.0
) -> AxisAnalysis:
    """Refuse an axis that moves before it is commanded: no model begins there, and others bend."""
    fit = analysis.fit
    if fit is None:
        return analysis
    # A search that found no end may have bent the model, which hides that the axis is early.
    bent = fit.dead_time > 0.0
    if bent and all(search.inside for search in fit.searches):
        return analysis
    sooner = [_sooner(segment, SOONER) for segment in prepared(segments, refresh)[0]]
    try:
        again = fit_dead_time(sooner, fit.longest) if bent else refitted(sooner, fit)
    except ValueError:
        return analysis
    early = SOONER - again.dead_time
    if not early > EARLY_STDS * again.dead_time_std:
        return analysis
    least = "or more " if again.dead_time == 0.0 else ""
    return replace(
        analysis,
        verdict=analysis.verdict.refused(
            f"the velocity changes {1e3 * early:.2g} ms {least}before its command (must be after "
            "it): commands are stamped late or velocities early, as by two clocks; give both the "
            "clock of one computer, or stamps of one"
        ),
    )


def _sooner(segment: AxisSegment, seconds: float) -> AxisSegment:
    """Return the segment as if its commands had been sent sooner."""
    sent = segment.sent
    if sent is None:
        sent = SentCommands(
            np.float64(segment.period) * np.arange(len(segment.command)), segment.command
        )
    sent = replace(sent, times=sent.times - seconds)
    means = sent.means(segment.period, len(segment.velocity))
    return replace(segment, sent=sent, command=means)


def over_runs(
    analysis: AxisAnalysis, runs: Mapping[str, Sequence[AxisSegment]], refresh: float = 0.0
) -> AxisAnalysis:
    """Widen the intervals by the spread between the named recordings; note one that disagrees."""
    if analysis.fit is None or len(runs) < 2:
        return analysis
    each = {}
    for name, segments in runs.items():
        try:
            fit = _of_its_kind(analysis.fit, prepared(segments, refresh)[0])
        except ValueError:
            continue
        unit = analysis.verdict.error_unit
        each[name] = (*values_of(fit, unit), *limits_of(fit, unit))
    verdict = analysis.verdict
    values, notes = combined(verdict.values, each)
    return replace(
        analysis, verdict=replace(verdict, values=values, notes=(*verdict.notes, *notes))
    )


def _of_its_kind(dead_time_fit: DeadTimeFit, segments: Sequence[AxisSegment]) -> DeadTimeFit:
    if dead_time_fit.driver.ramp is not None:
        return refitted(fine(segments), dead_time_fit)
    if dead_time_fit.dead_band > 0.0:
        return fit_dead_band(segments, kind=dead_time_fit.kind)
    return fit_dead_time(segments, with_exponent=dead_time_fit.exponent != 1.0)


def _units(verdict: AnalysisVerdict) -> AnalysisVerdict:
    gain = verdict.value("gain").value
    if GAINS[0] <= gain <= GAINS[1]:
        return verdict
    evidence = Evidence("gain", gain, f"{GAINS[0]:g} to {GAINS[1]:g}", False)
    return replace(verdict, evidence=(*verdict.evidence, evidence)).refused(
        f"gain {gain:.3g}: command and velocity are in different units; {_factor(gain)}"
    )


def _factor(gain: float) -> str:
    up = gain < 1.0
    size = 1.0 / gain if up else gain
    factor, what = min(UNITS, key=lambda unit: abs(math.log(size / unit[0])))
    if abs(math.log(size / factor)) > math.log(GAIN_TOLERANCE):
        return "give the factor with --columns CHANNEL=COLUMN*FACTOR"
    wrong = "the command" if up else "the velocity"
    return (
        f"is {wrong} in other units ({what})? Then --columns CHANNEL=COLUMN*{1.0 / factor:.4g} "
        "for it"
    )


def _noise(verdict: AnalysisVerdict, held_out: Prediction) -> AnalysisVerdict:
    steps = np.concatenate([np.diff(errors) for errors in held_out.errors])
    noise = held_out.total * (held_out.explained - held_out.r_squared)
    noise /= max(held_out.explained, 1e-9)
    # Relative standard deviation of a median of n squares: about sqrt(3 / n).
    unsure = 2.0 * math.sqrt(3.0 / max(len(steps), 1)) * max(noise, 0.0)
    motion = held_out.total - max(noise, 0.0)
    significant = held_out.explained - unsure / motion if motion > 0.0 else -math.inf
    if held_out.r_squared >= SIGNIFICANT or significant >= SIGNIFICANT:
        return verdict
    return verdict.not_excited(
        f"noise hides the motion: R^2 {held_out.r_squared:.2g} on held-out samples, and "
        f"surely only {max(significant, 0.0):.2g} or more without the noise of single readings "
        f"(must be {SIGNIFICANT:g}); record for longer, or larger steps"
    )


def _time_constant(verdict: AnalysisVerdict, alone: float, period: float) -> AnalysisVerdict:
    """Judge the time constant; `alone` is its standard deviation by noise alone, s."""
    value = verdict.value("time constant")
    dead_time = verdict.value("dead time")
    half = NORMAL_95 * value.std
    if value.identifiable:
        if half <= max(WIDEST * value.value, SAMPLES * period):
            return verdict
        result = f"time constant {value.value:.2g} s, known to {half:.2g} s only"
    elif dead_time.identifiable and NORMAL_95 * dead_time.std <= SAMPLES * period:
        return verdict
    else:
        result = "neither time constant nor dead time is identifiable"
    if value.std > WIDENED * alone:
        return verdict.not_excited(
            f"{result}, as recordings differ (by their noise alone to {NORMAL_95 * alone:.2g} s); "
            "remove the recordings that differ, or identify each recording separately"
        )
    return verdict.not_excited(
        f"{result}; command more and larger steps, both ways, and sample every "
        f"{0.2 * max(value.value, 0.05):.2g} s or faster"
    )
