# SPDX-License-Identifier: Apache-2.0
"""Fit a first-order model to an axis of a velocity-commanded robot, and test it.

The tests: docs/theory/recordings.md#tests-of-a-first-order-axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from diffbot_description.dead_band import DeadBandKind
from diffbot_recordings.axis_search import reading_spacing
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
    refitted,
    scan_dead_times,
)
from diffbot_recordings.first_order import (
    AxisSegment,
    FirstOrderFit,
    Prediction,
    fit_first_order,
)
from diffbot_recordings.ramp_fit import (
    better,
    find_ramp,
    fine,
    known,
    limits_of,
    ramp_note,
    refine_ramp,
)
from diffbot_recordings.samples import Array, Mask
from diffbot_recordings.segments import new_readings
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict, Evidence, Value

FOLDS = 5
# Length of a block: this share of the motion, within bounds, s.
BATCHES, SHORTEST_BATCH, LONGEST_BATCH = 15, 1.5, 20.0

# Least held-out R^2; with noise, if alternatives and past commands explain UNEXPLAINED at most.
LEAST_R_SQUARED, LEAST_WITH_NOISE, UNEXPLAINED = 0.95, 0.92, 0.2
# An alternative refutes the model by this share of an error of PRACTICAL_FRACTION of the variance.
FRACTION, PRACTICAL_FRACTION = 0.5, 0.01
# Allowed differences between the halves, as shares or in standard deviations.
HALVES_DIFFERENCE, HALVES_SIGMAS = {"time constant": 0.5, "gain": 0.25}, 3.0
# Longest lag from commands to residuals, s, and the correlation allowed.
LONGEST_LAG, CORRELATION = 3.0, 0.5
# Past commands of the richer dynamics, three in a time constant.
PAST_COMMANDS = 12
# Ridge, as a share of each column's power.
RIDGE = 1e-6

_ALTERNATIVES = {
    "richer linear dynamics": "richer linear dynamics (second order)",
    "direction": "dynamics that depend on the direction",
    "speed": "dynamics that depend on the speed",
    "braking": "braking unlike accelerating",
    "offset": "an offset",
}


class CrossValidation:
    """A fit to all samples, and a prediction of each fold by a fit to the other folds.

    Args:
        longest: Longest dead time to scan, s.
        with_exponent: Whether to fit an exponent of the command, too.
        dead_band: Kind of dead band to fit, too.
        plain: Cross-validation without either, whose fits are then the starts.
        model: Fit to all samples, of which only the values are fitted anew; None: search it.

    Attributes:
        fits: For each fold, the fit to the other folds.
        seen: For each of `fits`, the mask of its samples, by segment, shape (n,).
        validation: The same of the held-out samples.
        prediction: Prediction of all samples, each by the fit that has not seen it.
    """

    def __init__(
        self,
        segments: Sequence[AxisSegment],
        longest: float,
        with_exponent: bool = False,
        dead_band: DeadBandKind | None = None,
        plain: CrossValidation | None = None,
        model: DeadTimeFit | None = None,
    ) -> None:
        def fitted(
            masks: Sequence[Mask | None], every: int, start: DeadTimeFit | None
        ) -> DeadTimeFit:
            chosen = [replace(s, fresh=m) for s, m in zip(segments, masks, strict=True)]
            if model is not None:
                return refitted(chosen, model, like=model.smoothing)
            if dead_band is not None:
                return fit_dead_band(chosen, longest, dead_band, every, start)
            return fit_dead_time(chosen, longest, with_exponent, every, start)

        self.segments = tuple(segments)
        folds = _folds(segments)
        pairs = [(s.counts, fold) for s, fold in zip(segments, folds, strict=True)]
        self.validation = [[new & (fold == k) for new, fold in pairs] for k in range(FOLDS)]
        self.seen = [[new & (fold != k) for new, fold in pairs] for k in range(FOLDS)]
        starts: Sequence[DeadTimeFit | None] = [None] * FOLDS if plain is None else plain.fits
        self.fits: list[DeadTimeFit] = [
            fitted(masks, 2, start) for masks, start in zip(self.seen, starts, strict=True)
        ]
        whole = [segment.fresh for segment in segments]
        self.fit: DeadTimeFit = (
            fitted(whole, 1, None if plain is None else plain.fit) if model is None else model
        )
        simulated = tuple(np.empty(len(s.velocity)) for s in segments)
        for k, fit in enumerate(self.fits):
            for segment, fold, values in zip(segments, folds, simulated, strict=True):
                values[fold == k] = fit.simulate(segment)[fold == k]
        self.prediction = Prediction(self.segments, simulated)


def _folds(segments: Sequence[AxisSegment]) -> list[NDArray[np.int64]]:
    """Assign blocks of time to folds in turn; return each sample's fold, by segment."""
    total = sum(segment.duration for segment in segments)
    length = min(max(total / BATCHES, SHORTEST_BATCH), LONGEST_BATCH)
    if total < FOLDS * SHORTEST_BATCH:
        # In a short recording, shorter blocks, so that no fold is empty.
        length = total / (2 * FOLDS)
    folds, next_one = [], 0
    for segment in segments:
        count = max(1, round(segment.duration / length))
        n = len(segment.velocity)
        folds.append((next_one + np.arange(n) * count // max(n, 1)) % FOLDS)
        next_one += count
    return folds


def tests_of_first_order(cross_validation: CrossValidation) -> list[Evidence]:
    """Run all tests, the most informative ones first."""
    segments, fit = cross_validation.segments, cross_validation.fit
    explained = cross_validation.prediction.explained
    matters = not 1.0 - explained <= PRACTICAL_FRACTION
    shares = explained_by_alternatives(cross_validation)
    correlation = input_correlation(segments, fit)
    noise_only = max(*shares.values(), correlation) <= UNEXPLAINED
    least = LEAST_WITH_NOISE if noise_only else LEAST_R_SQUARED
    tests = [
        Evidence(
            "R^2 on held-out samples, noise of single readings apart",
            explained,
            f">= {least:g}",
            explained >= least,
        ),
        *(
            Evidence(
                each.name, each.value, f"< {each.high:.3g} {each.unit}, the longest tried", good
            )
            for each in fit.searches
            # Only the dead time is told of if its search ended well.
            if not (good := not each.at_high) or each is fit.dead_time_search
        ),
    ]
    if not (fit.fit.model.gain > 0.0):
        tests.append(Evidence("gain", fit.fit.model.gain, "> 0: check the signs", False))
    tests += _halves(segments, fit)
    if_it_matters = "" if matters else " if the error matters"
    results = [
        (f"share of the held-out error that {_ALTERNATIVES[name]} explains", fraction, FRACTION)
        for name, fraction in shares.items()
    ]
    results.append(("correlation of residuals with past commands", correlation, CORRELATION))
    return tests + [
        Evidence(test, value, f"<= {most:g}{if_it_matters}", value <= most or not matters)
        for test, value, most in results
    ]


def _halves(segments: Sequence[AxisSegment], fit: DeadTimeFit) -> list[Evidence]:
    total = sum(segment.duration for segment in segments)
    halves: tuple[list[AxisSegment], list[AxisSegment]] = ([], [])
    passed = 0.0
    for segment in segments:
        bent = fit.acting(segment).command
        cut = round((0.5 * total - passed) / segment.period)
        cut = min(max(cut, 0), len(bent))
        for part, half in zip((slice(0, cut), slice(cut, None)), halves, strict=True):
            fresh = None if segment.fresh is None else segment.fresh[part]
            if len(bent[part]):
                half.append(AxisSegment(segment.period, bent[part], segment.velocity[part], fresh))
        passed += segment.duration
    try:
        early, late = (
            fit_first_order(half, dead_time=fit.dead_time, smoothing=fit.smoothing)
            for half in halves
        )
    except ValueError:
        return [Evidence("parameters of two halves", math.nan, "comparable", None)]
    return [_difference(name, early, late) for name in ("time constant", "gain")]


def _difference(name: str, one: FirstOrderFit, other: FirstOrderFit) -> Evidence:
    if name == "gain":
        values, stds = (one.model.gain, other.model.gain), (one.gain_std, other.gain_std)
    else:
        values = one.model.time_constant, other.model.time_constant
        stds = one.time_constant_std, other.time_constant_std
    mean = 0.5 * abs(values[0] + values[1])
    difference = abs(values[0] - values[1]) / mean if mean > 0.0 else math.inf
    test = f"difference in {name} between two halves of the recording"
    chance = HALVES_SIGMAS * math.hypot(*stds) / mean if mean > 0.0 else math.inf
    if not math.isfinite(chance):
        return Evidence(test, difference, f"<= {HALVES_DIFFERENCE[name]:g}", None)
    limit = max(HALVES_DIFFERENCE[name], chance)
    return Evidence(test, difference, f"<= {limit:.2g}", difference <= limit)


def input_correlation(segments: Sequence[AxisSegment], fit: DeadTimeFit) -> float:
    """Return the largest correlation of residuals with commands up to 3 s earlier, 0 to 1."""
    period = segments[0].period
    most = min(round(LONGEST_LAG / period), max(len(s.velocity) for s in segments) // 4)
    lags = np.unique(np.linspace(0, most, 30).astype(int))
    sums = np.zeros((len(lags), 3))
    for segment in segments:
        error = segment.velocity - fit.simulate(segment)
        u = fit.acting(segment).command
        for i, lag in enumerate(lags):
            k = np.flatnonzero(segment.counts[lag:])
            e, c = error[lag:][k], u[k]
            sums[i] += (e @ c, e @ e, c @ c)
    power = np.sqrt(sums[:, 1] * sums[:, 2])
    return float(np.max(np.abs(sums[power > 0.0, 0]) / power[power > 0.0], initial=0.0))


def explained_by_alternatives(cross_validation: CrossValidation) -> dict[str, float]:
    """Return the share of the held-out error that each alternative explains; negative: it adds."""
    left: dict[str, float] = {}
    error = 0.0
    for fit, seen, validation in zip(
        cross_validation.fits, cross_validation.seen, cross_validation.validation, strict=True
    ):
        columns = [_responses(segment, fit) for segment in cross_validation.segments]
        residuals = [s.velocity - fit.simulate(s) for s in cross_validation.segments]
        r_fit, r_validation = (_chosen(residuals, masks) for masks in (seen, validation))
        error += float(r_validation @ r_validation)
        for name in columns[0]:
            parts = [entry[name] for entry in columns]
            x_fit, x_validation = (_chosen(parts, masks) for masks in (seen, validation))
            scale = np.linalg.norm(x_fit, axis=0)
            scale[scale == 0.0] = 1.0
            x = x_fit / scale
            c = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ r_fit) / scale
            left[name] = left.get(name, 0.0) + float(np.sum((r_validation - x_validation @ c) ** 2))
    return {name: 1.0 - value / error if error > 0.0 else 0.0 for name, value in left.items()}


def _responses(segment: AxisSegment, fit: DeadTimeFit) -> dict[str, Array]:
    period, model = segment.period, fit.fit.model
    tau, gain = model.time_constant, model.gain
    u = _delayed(fit.acting(segment).command, round(fit.dead_time / period))
    v = fit.simulate(segment)
    a = math.exp(-period / tau)

    def response(drive: Array) -> Array:
        filtered: Array = lfilter((0.0, 1.0 - a), (1.0, -a), drive)
        return filtered

    size = max(float(np.abs(u).max()), 1e-300)
    speed = max(float(np.abs(v).max()), 1e-300)
    # dv/dt by a longer time constant; the response filters it by the axis.
    slower = v - gain * u
    step = max(1, round(tau / 3.0 / period))
    past = [_delayed(u, i * step) for i in range(PAST_COMMANDS)]
    return {
        "richer linear dynamics": np.column_stack([*past, response(u)]),
        "direction": np.column_stack((response(np.abs(u)), response(slower * np.sign(v)))),
        "speed": np.column_stack(
            (response(u * np.abs(u)) / size, response(slower * np.abs(v)) / speed)
        ),
        "braking": response(slower * np.sign(v * -slower))[:, None],
        "offset": response(np.ones_like(u))[:, None],
    }


def _delayed(values: Array, samples: int) -> Array:
    return values[np.maximum(np.arange(len(values)) - samples, 0)]


def _chosen(parts: Sequence[Array], masks: Sequence[Mask]) -> Array:
    return np.concatenate([part[mask] for part, mask in zip(parts, masks, strict=True)])


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
        unit: Unit of velocity and command.
        longest_dead_time: s.
        refresh: Time between two readings of a sensor that repeats them, s, for segments with
            marked fresh samples; 0: computed from the marks.
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
            "a low-pass filter of the driver, which its dead time includes; if that filter is the "
            "slower of the two, or the lag is the robot's, the time constant is wrong: record "
            "unfiltered velocities"
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
