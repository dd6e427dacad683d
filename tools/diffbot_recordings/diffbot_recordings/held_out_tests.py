# SPDX-License-Identifier: Apache-2.0
"""Tests of a first-order model of an axis on samples that it has not seen.

Which, and their limits: docs/theory/recordings.md#tests-of-a-first-order-axis.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from diffbot_description.dead_band import DeadBandKind
from diffbot_recordings.all_pole_filter import after_one_sample
from diffbot_recordings.axis_segment import AxisSegment, Prediction
from diffbot_recordings.dead_time import DeadTimeFit, fit_dead_band, fit_dead_time, refitted
from diffbot_recordings.first_order import FirstOrderFit, fit_first_order
from diffbot_recordings.samples import Array, Mask
from diffbot_recordings.verdict import Evidence

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
        return after_one_sample(a, (1.0 - a) * drive)

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
