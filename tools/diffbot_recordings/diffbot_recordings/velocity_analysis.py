# SPDX-License-Identifier: Apache-2.0
"""Fit a first-order model to an axis of a velocity-commanded robot, and test it.

The tests: docs/theory/recordings.md#tests-of-a-first-order-axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffbot_description.dead_band import DeadBandKind
from diffbot_recordings.axis_search import reading_spacing
from diffbot_recordings.axis_segment import AxisSegment, Prediction
from diffbot_recordings.dead_band_analysis import (
    DeadBandFinding,
    find_dead_band,
    kind_note,
    not_identifiable,
    plateau_of,
)
from diffbot_recordings.dead_time import (
    LONGEST,
    DeadTimeFit,
    fit_dead_band,
    fit_dead_time,
    scan_dead_times,
)
from diffbot_recordings.held_out_tests import CrossValidation, tests_of_first_order
from diffbot_recordings.ramp_fit import (
    better,
    find_ramp,
    fine,
    known,
    limits_of,
    ramp_note,
    refine_ramp,
)
from diffbot_recordings.samples import Mask
from diffbot_recordings.segments import new_readings
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict, Value

LEAST_CHANGES, LEAST_SAMPLES = 2, 60
# Largest share of the squared error that remains with a power law.
POWER_LAW_FRACTION = 0.7
# Plausible exponents; others are a saturation or a dead band.
PLAUSIBLE = (0.5, 2.0)
# Parts of a period with commands of their own: blurred ones shorten the time constant.
PARTS = 4
# Commands this close to a sample, as a share of the period, change there.
ALIGNED = 1e-3
# In shorter periods, s, their instants do not matter.
SHORT_PERIOD = 0.015
# Readings beyond which a velocity is smoothed more than usual.
USUAL_WINDOW = 2.0
GOOD_R_SQUARED = 0.99
# A plateau of the speed explains the motion if it leaves so much less of the error.
PLATEAU_GAIN = 0.1
# Most samples to fit; of longer recordings, evenly spaced segments.
MOST = 60_000


@dataclass(frozen=True)
class AxisAnalysis:
    """Verdict on an axis, with fit and held-out predictions; None if nothing could be fitted."""

    verdict: AnalysisVerdict
    fit: DeadTimeFit | None = None
    held_out: Prediction | None = None


def analyse_axis(
    segments: Sequence[AxisSegment],
    subject: str,
    unit: str = "m/s",
    longest_dead_time: float = LONGEST,
    refresh: float = 0.0,
) -> AxisAnalysis:
    """Fit an axis, predict held-out samples, and judge.

    Args:
        segments: Segments of one axis and one period.
        subject: Name of the axis for the user, such as "forward axis".
        unit: Of velocity and command.
        longest_dead_time: s.
        refresh: Time between two readings of a sensor that repeats them, s; 0: by fresh samples.
    """
    segments, notes = prepared(segments, refresh)
    try:
        if _changes(segments) == 1:
            return AxisAnalysis(_of_one_step(segments, subject, unit, longest_dead_time, notes))
        _check_excitation(segments, unit)
        plain = CrossValidation(segments, longest_dead_time)
        result, band, model_notes = _best_model(plain, longest_dead_time, unit)
    except ValueError as error:
        return AxisAnalysis(AnalysisVerdict(subject, notes=tuple(notes)).not_excited(str(error)))
    verdict = AnalysisVerdict(
        subject,
        values=values_of(result.fit, unit),
        r_squared_fit=result.fit.fit.r_squared,
        r_squared_held_out=result.prediction.r_squared,
        error_held_out=result.prediction.error,
        error_unit=unit,
        evidence=tuple(tests_of_first_order(result)),
        notes=(*notes, *model_notes, *_smoothing_notes(result.fit, reading_spacing(segments))),
    ).judged(
        refusal="not first order: ",
        needed="drag",
        to_excite="command more and larger steps",
        to_identify="command more steps, or sample faster",
    )
    limits = limits_of(result.fit, unit)
    verdict = replace(verdict, values=(*verdict.values, band, *limits))
    plateau = plateau_of(plain.segments, plain.fit)
    if plateau is not None and (
        verdict.outcome is AnalysisOutcome.REFUSED
        or plateau.residual_std < (1.0 - PLATEAU_GAIN) * result.fit.fit.residual_std
    ):
        reason = plateau.text(unit)
        verdict = verdict.refused(f"{reason} ({verdict.reason})" if verdict.reason else reason)
    return AxisAnalysis(verdict, scan_dead_times(result.segments, result.fit), result.prediction)


def _best_model(
    plain: CrossValidation, longest: float, unit: str
) -> tuple[CrossValidation, Value, list[str]]:
    pieces = fine(plain.segments)
    latest = plain.fit.dead_time
    ramps = find_ramp(pieces, plain.fit, latest)
    bases = [plain.fit]
    if ramps.fit is not None:
        refined = refine_ramp(pieces, ramps.fit)
        bases += [refined, _reordered(refined)]
    bands = [_dead_band(plain.segments, plain.fit, longest, unit)]
    bands += [_dead_band(pieces, base, longest, unit) for base in bases[1:]]
    pairs = [
        (band.fit if band.significant else base, band)
        for base, band in zip(bases, bands, strict=True)
    ]
    chosen, band = pairs[0]
    for fit, finding in pairs[1:]:
        if known(fit) and better(fit, chosen, pieces):
            chosen, band = fit, finding
    if band.significant:
        chosen = _with_ramp(pieces, chosen, latest)
        if chosen.driver.ramp is not None:
            chosen = _of_other_kind(pieces, chosen, plain.fit, longest, latest)
        if chosen.driver.ramp is not None:
            # Width and kind were told with another ramp.
            again = _dead_band(pieces, chosen, longest, unit)
            if again.significant and better(again.fit, chosen, pieces):
                chosen, band = _with_ramp(pieces, again.fit, latest), again
    if band.significant and band.fit.kind is not chosen.kind:
        band = replace(band, note=kind_note(chosen, np.zeros(0), unit))
    if chosen.driver.ramp is not None:
        chosen = refine_ramp(pieces, chosen)
        ramped = CrossValidation(pieces, longest, model=chosen)
        if ramped.prediction.squares < plain.prediction.squares:
            value = band.value
            if band.significant:
                value = replace(value, value=chosen.dead_band, std=chosen.dead_band_std)
            return ramped, value, [band.note, ramp_note(chosen, unit)]
    result, value, notes = _without_ramp(plain, band, longest, unit)
    if result.fit.exponent == 1.0 and ramps.fit is None and ramps.above > 0.0:
        per_second = unit.replace("/s", "/s^2")
        notes.append(f"no limit of acceleration below {ramps.above:.2g} {per_second}")
    return result, value, notes


def _reordered(fit: DeadTimeFit) -> DeadTimeFit:
    ramp = fit.driver.ramp
    ramp = None if ramp is None else replace(ramp, before_band=True)
    return replace(fit, driver=replace(fit.driver, ramp=ramp))


def _with_ramp(pieces: Sequence[AxisSegment], banded: DeadTimeFit, latest: float) -> DeadTimeFit:
    best = refine_ramp(pieces, banded)
    alone = replace(banded, driver=replace(banded.driver, ramp=None))
    for before_band in (False, True):
        fit = find_ramp(pieces, alone, latest, before_band).fit
        if fit is None:
            continue
        fit = refine_ramp(pieces, fit)
        if known(fit) and better(fit, best, pieces):
            best = fit
    return best


def _of_other_kind(
    pieces: Sequence[AxisSegment],
    chosen: DeadTimeFit,
    plain: DeadTimeFit,
    longest: float,
    latest: float,
) -> DeadTimeFit:
    kind = next(kind for kind in DeadBandKind if kind is not chosen.kind)
    try:
        other = _with_ramp(pieces, fit_dead_band(pieces, longest, kind, plain=plain), latest)
    except ValueError:
        return chosen
    return other if known(other) and better(other, chosen, pieces) else chosen


def _dead_band(
    segments: Sequence[AxisSegment], base: DeadTimeFit, longest: float, unit: str
) -> DeadBandFinding:
    try:
        return find_dead_band(segments, base, longest, unit)
    except ValueError as error:
        return DeadBandFinding(base, *not_identifiable(unit, str(error)), significant=False)


def _without_ramp(
    plain: CrossValidation, band: DeadBandFinding, longest: float, unit: str
) -> tuple[CrossValidation, Value, list[str]]:
    result, notes = plain, []
    if plain.prediction.r_squared < GOOD_R_SQUARED:
        bent = CrossValidation(plain.segments, longest, with_exponent=True, plain=plain)
        if _clearly_better(bent, plain):
            notes.append(
                f"the command enters as sign(u)|u|^p, p = {bent.fit.exponent:.3g}: held-out R^2 "
                f"{bent.prediction.r_squared:.4f}, with the command as it is "
                f"{plain.prediction.r_squared:.4f}"
            )
            result = bent
    if band.significant:
        banded = CrossValidation(plain.segments, longest, dead_band=band.fit.kind, plain=plain)
        if banded.prediction.squares < result.prediction.squares:
            return banded, band.value, [band.note]
    if result is not plain:
        value, note = not_identifiable(unit, "the command enters as a power law")
    elif band.significant:
        value, note = not_identifiable(unit, "held-out motion is not predicted better with it")
    else:
        value, note = band.value, band.note
    return result, value, [*notes, note]


def _clearly_better(bent: CrossValidation, plain: CrossValidation) -> bool:
    exponent = bent.fit.exponent
    if not PLAUSIBLE[0] <= exponent <= PLAUSIBLE[1]:
        return False
    better = bent.prediction.squares <= POWER_LAW_FRACTION * plain.prediction.squares
    return better and abs(exponent - 1.0) > 2.0 * bent.fit.exponent_std


def values_of(dead_time_fit: DeadTimeFit, unit: str) -> tuple[Value, ...]:
    """Return the parameters of a fit to velocities in this unit."""
    late, axis = dead_time_fit, dead_time_fit.fit
    gain_unit = "1" if late.exponent == 1.0 else f"{unit} / ({unit})^p"
    values = [
        Value("inertia", axis.model.inertia, axis.std[0], "s"),
        Value("drag", axis.model.drag, axis.std[1], "1"),
        Value("time constant", axis.model.time_constant, axis.time_constant_std, "s"),
        Value("gain", axis.model.gain, axis.gain_std, gain_unit),
        Value("dead time", late.dead_time, late.dead_time_std, "s"),
    ]
    if late.exponent_std > 0.0:
        values.append(Value("exponent", late.exponent, late.exponent_std, "1"))
    return tuple(values)


def prepared(
    segments: Sequence[AxisSegment], refresh: float
) -> tuple[list[AxisSegment], list[str]]:
    """Mark stale readings, and thin out long recordings; return segments and notes."""
    notes: list[str] = []
    total = sum(len(segment.velocity) for segment in segments)
    keep = max(1, math.ceil(total / MOST))
    if keep > 1:
        notes.append(f"one stretch in {keep} was used: {total} samples are more than needed")
    chosen = list(segments[::keep])
    if any(segment.fresh is not None for segment in chosen):
        masks = [segment.counts for segment in chosen]
        validation = refresh or _hold(chosen, masks)
    else:
        masks, validation = new_readings([segment.velocity for segment in chosen])
        validation *= chosen[0].period if chosen else 0.0
    if validation > 0.0:
        notes.append(
            f"the velocity is refreshed every {validation:.3g} s only: stale readings are ignored, "
            f"and the dead time includes the age of a reading, {validation / 2:.2g} s if it is a "
            "mean over that time"
        )
        chosen = [replace(s, fresh=m) for s, m in zip(chosen, masks, strict=True)]
    chosen = [s for s in chosen if s.fresh is None or s.fresh.any()]
    # Only where commands change between samples: parts of a period cost time.
    if any(map(_changes_between, chosen)):
        chosen = [s.refined(PARTS) for s in chosen]
    return chosen, notes


def _changes_between(segment: AxisSegment) -> bool:
    if segment.sent is None or segment.period < SHORT_PERIOD:
        return False
    return segment.sent.changes_between(segment.period, ALIGNED)


def _smoothing_notes(fit: DeadTimeFit, spacing: float) -> list[str]:
    smoothing = fit.smoothing
    # Every encoder is read as a mean over one reading or two.
    if not fit.smoothing_range[0] > USUAL_WINDOW * spacing:
        return []
    if smoothing.lag > 0.0:
        return [
            f"warning: besides the axis's own lag there is one of {smoothing.lag:.2g} s, taken for "
            "a low-pass filter of the driver, which its dead time includes; if the lag is the "
            "robot's, the time constant is wrong, and if the motion hardly tells which is which, "
            "its interval is wide: record unfiltered velocities"
        ]
    return [
        f"the velocity is smoothed like a mean over {smoothing.window:.2g} s, which the time "
        "constant allows for and the dead time includes half of"
    ]


def _hold(segments: Sequence[AxisSegment], masks: Sequence[Mask]) -> float:
    """Return the time between fresh readings, s; 0 if (nearly) all are fresh."""
    samples = sum(len(segment.velocity) for segment in segments)
    fresh = sum(int(np.count_nonzero(mask)) for mask in masks)
    return segments[0].period * samples / fresh if 0 < fresh < 0.9 * samples else 0.0


def _changes(segments: Sequence[AxisSegment]) -> int:
    values = [np.zeros(0), *(segment.sent_values for segment in segments)]
    size = float(np.ptp(np.concatenate(values))) if any(map(len, values)) else 0.0
    steps = [np.abs(np.diff(segment.sent_values)) for segment in segments]
    return sum(int(np.count_nonzero(step > 1e-6 * size)) for step in steps)


def _of_one_step(
    segments: Sequence[AxisSegment], subject: str, unit: str, longest: float, notes: Sequence[str]
) -> AnalysisVerdict:
    """Return what one step of the command tells: values that no held-out motion can test."""
    fit = fit_dead_time(segments, longest)
    values = values_of(fit, unit)
    reported = ", ".join(
        f"{name} {value} {spread} {of}".strip()
        for name, value, spread, of in (value.row() for value in values[2:4])
    )
    quality = fit.fit.r_squared
    return AnalysisVerdict(
        subject, values=values, r_squared_fit=quality, error_unit=unit, notes=tuple(notes)
    ).not_excited(
        "the command has one step only, so that no other step is left to test the model on (held "
        f"out); a fit to this one gives {reported}; record two steps or more, of several sizes"
    )


def _check_excitation(segments: Sequence[AxisSegment], unit: str) -> None:
    samples = sum(np.count_nonzero(segment.counts) for segment in segments)
    if samples < LEAST_SAMPLES:
        raise ValueError(f"{samples} readings of the velocity: must be at least {LEAST_SAMPLES}")
    commands = [segment.sent_values for segment in segments]
    size = float(np.ptp(np.concatenate(commands)))
    steps = [np.abs(np.diff(command)) for command in commands]
    changes = sum(int(np.count_nonzero(step > 0.02 * size)) for step in steps)
    # A ramp has no large step but a large total change.
    moved = sum(float(step.sum()) for step in steps)
    if size == 0.0 or (changes < LEAST_CHANGES and moved < 0.5 * LEAST_CHANGES * size):
        raise ValueError(
            f"the command changes {changes} times, over {size:.3g} {unit}: must change at least "
            f"{LEAST_CHANGES} times; command steps"
        )
