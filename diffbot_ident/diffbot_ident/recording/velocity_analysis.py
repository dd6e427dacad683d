"""Is an axis of a velocity-commanded robot of first order, and with which parameters?

    found = analyse_axis(stretches, "forward axis")      stretches: velocity.stretch.Stretch
    found.verdict                                        see verdict.py
    found.fit                                            velocity.dead_time.DeadTimeFit, or None
    found.held_out                                       for pictures

Samples are cut into blocks of time, which go to five folds in turn. Each fold is predicted by a fit
to the other four: R^2 on held-out samples is that of a simulation which knows the commands, and of
the velocities the first of each stretch only. The values are those of a fit to all samples.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.recording.resample import refreshed
from diffbot_ident.recording.verdict import Evidence, Outcome, Value, Verdict
from diffbot_ident.velocity.dead_time import (
    LONGEST,
    DeadTimeFit,
    fit_dead_time,
    power_law,
    scan_dead_times,
    shares,
)
from diffbot_ident.velocity.first_order import FirstOrderFit, Stretch, fit_first_order

# ---
# Held-out samples of an axis: blocks of time in folds, each predicted by a fit to the others.

# Length of a block: a share of all, within bounds, s.
BLOCKS, SHORTEST, LONGEST_BLOCK = 15, 1.5, 20.0
# Median of the square of a normal variable of unit variance.
CHI_SQUARED = 0.4549
# Folds: each is predicted by a fit to the others.
FOLDS = 5


class Split:
    """Each fold predicted by a fit to all other folds, and one fit to all samples."""

    def __init__(
        self, stretches: Sequence[Stretch], longest: float, with_exponent: bool = False
    ) -> None:
        self.stretches = list(stretches)
        fresh = [
            np.ones(len(s.velocity), bool) if s.fresh is None else np.asarray(s.fresh)
            for s in stretches
        ]
        numbers = _folds(stretches)
        self.held = [
            [new & (number == k) for new, number in zip(fresh, numbers, strict=True)]
            for k in range(FOLDS)
        ]
        self.seen = [
            [new & (number != k) for new, number in zip(fresh, numbers, strict=True)]
            for k in range(FOLDS)
        ]
        self.fits = [
            fit_dead_time(
                [replace(s, fresh=m) for s, m in zip(stretches, seen, strict=True)],
                longest,
                with_exponent,
                every=2,
            )
            for seen in self.seen
        ]
        self.fit = fit_dead_time(stretches, longest, with_exponent)
        self.simulated = [np.empty(len(s.velocity)) for s in stretches]
        for k, fit in enumerate(self.fits):
            for stretch, number, simulated in zip(stretches, numbers, self.simulated, strict=True):
                simulated[number == k] = fit.simulate(stretch)[number == k]
        self._score(fresh)

    def _score(self, fresh: Sequence[NDArray[np.bool_]]) -> None:
        """Errors of all predictions of fresh samples."""
        measured = np.concatenate(
            [s.velocity[m] for s, m in zip(self.stretches, fresh, strict=True)]
        )
        parts = [
            (np.asarray(s.velocity, float) - simulated)[m]
            for s, simulated, m in zip(self.stretches, self.simulated, fresh, strict=True)
        ]
        errors = np.concatenate(parts)
        count = len(errors)
        self.squares = float(errors @ errors)
        total = float(np.sum((measured - measured.mean()) ** 2))
        self.r_squared = 1.0 - self.squares / total if total > 0.0 else math.nan
        self.error = math.sqrt(self.squares / max(count, 1))
        # Readings scatter from one to the next by sqrt(2) of their noise; dynamics do not. The
        # median, as the few steps where a command jumps or the fold changes are no noise.
        steps = np.concatenate([np.diff(part) for part in parts])
        noise = min(0.5 * count * float(np.median(steps**2)) / CHI_SQUARED, self.squares)
        beyond = total - noise
        self.explained = 1.0 - (self.squares - noise) / beyond if beyond > 0.0 else math.nan


def _folds(stretches: Sequence[Stretch]) -> list[NDArray[np.int64]]:
    """Number of the fold that each sample is in: blocks of time in turn."""
    total = sum(stretch.duration for stretch in stretches)
    length = min(max(total / BLOCKS, SHORTEST), LONGEST_BLOCK)
    numbers, next_one = [], 0
    for stretch in stretches:
        count = max(1, round(stretch.duration / length))
        n = len(stretch.velocity)
        numbers.append((next_one + np.arange(n) * count // max(n, 1)) % FOLDS)
        next_one += count
    return numbers


# ---
# Tests of the first-order model: each gives a number, a limit and whether the model stands.

Array = NDArray[np.float64]

# Held-out R^2 below which the model does not describe the axis.
LEAST_R_SQUARED = 0.95
# A rival refutes the model if it takes away this share of the held-out error, and if the error is
# more than this share of the velocity's variance: below it, a better model has no practical use.
SHARE, MATTERS = 0.5, 0.01
# Parameters of two halves of the recording may differ by this share, or this many deviations.
DIFFER, SIGMAS = {"time constant": 0.5, "gain": 0.25}, 3.0
# Lags, s, at which residuals are compared with commands, and the largest correlation.
LAGS, CORRELATION = 3.0, 0.5


class Scores(Protocol):
    """Fits to all samples and to all but one fold each, and how well unseen samples are told.

    Attributes:
        stretches: of the axis.
        fit: to all samples.
        fits: one for each fold, to the other folds.
        seen: samples that each of them rests on, by stretch, shape (n,).
        held: samples that are new to it.
        r_squared: 1 - SSE / SST on held-out samples.
        explained: the same without the noise of single readings.
    """

    stretches: Sequence[Stretch]
    fit: DeadTimeFit
    fits: Sequence[DeadTimeFit]
    seen: Sequence[Sequence[NDArray[np.bool_]]]
    held: Sequence[Sequence[NDArray[np.bool_]]]
    r_squared: float
    explained: float


def tests_of_first_order(scores: Scores) -> list[Evidence]:
    """All tests; the first that fails says most."""
    stretches, fit, explained = scores.stretches, scores.fit, scores.explained
    matters = not 1.0 - explained <= MATTERS
    found = [
        Evidence(
            "R^2 on held-out samples, noise of single readings apart",
            explained,
            f">= {LEAST_R_SQUARED:g}",
            explained >= LEAST_R_SQUARED,
        ),
        Evidence(
            "dead time", fit.dead_time, f"< {fit.longest:g} s, the longest tried", not fit.at_end
        ),
    ]
    if not (fit.fit.model.gain > 0.0):
        found.append(Evidence("gain", fit.fit.model.gain, "> 0: check the signs", False))
    found += _halves(stretches, fit)
    for name, share in shares(stretches, scores.fits, scores.seen, scores.held).items():
        found.append(
            Evidence(
                f"share of the held-out error that {_RIVALS[name]} explains",
                share,
                f"<= {SHARE:g}" if matters else f"<= {SHARE:g} if the error matters",
                share <= SHARE or not matters,
            )
        )
    correlation = input_correlation(stretches, fit)
    found.append(
        Evidence(
            "correlation of residuals with past commands",
            correlation,
            f"<= {CORRELATION:g}" if matters else f"<= {CORRELATION:g} if the error matters",
            correlation <= CORRELATION or not matters,
        )
    )
    return found


_RIVALS = {
    "richer linear dynamics": "richer linear dynamics (second order)",
    "direction": "dynamics that depend on the direction",
    "speed": "dynamics that depend on the speed",
    "braking": "braking unlike accelerating",
    "offset": "an offset",
}


def _halves(stretches: Sequence[Stretch], fit: DeadTimeFit) -> list[Evidence]:
    """Time constant and gain of the first and of the second half of the recording."""
    total = sum(stretch.duration for stretch in stretches)
    early: list[Stretch] = []
    late: list[Stretch] = []
    passed = 0.0
    for stretch in stretches:
        bent = power_law(np.asarray(stretch.command, float), fit.exponent)
        cut = round((0.5 * total - passed) / stretch.period)
        cut = min(max(cut, 0), len(bent))
        for part, into in ((slice(0, cut), early), (slice(cut, None), late)):
            fresh = None if stretch.fresh is None else stretch.fresh[part]
            if len(bent[part]):
                into.append(Stretch(stretch.period, bent[part], stretch.velocity[part], fresh))
        passed += stretch.duration
    try:
        both = [fit_first_order(part, dead_time=fit.dead_time) for part in (early, late)]
    except ValueError:
        return [Evidence("parameters of two halves", math.nan, "comparable", None)]
    return [_differ(name, *both) for name in ("time constant", "gain")]


def _differ(name: str, one: FirstOrderFit, other: FirstOrderFit) -> Evidence:
    if name == "gain":
        values, stds = (one.model.gain, other.model.gain), (one.gain_std, other.gain_std)
    else:
        values = one.model.time_constant, other.model.time_constant
        stds = one.time_constant_std, other.time_constant_std
    mean = 0.5 * abs(values[0] + values[1])
    difference = abs(values[0] - values[1]) / mean if mean > 0.0 else math.inf
    test = f"difference in {name} between two halves of the recording"
    chance = SIGMAS * math.hypot(*stds) / mean if mean > 0.0 else math.inf
    if not math.isfinite(chance):
        return Evidence(test, difference, f"<= {DIFFER[name]:g}", None)
    limit = max(DIFFER[name], chance)
    return Evidence(test, difference, f"<= {limit:.2g}", difference <= limit)


def input_correlation(stretches: Sequence[Stretch], fit: DeadTimeFit) -> float:
    """Largest correlation of residuals with commands before, over lags up to LAGS, 0 to 1."""
    period = stretches[0].period
    most = min(round(LAGS / period), max(len(s.velocity) for s in stretches) // 4)
    lags = np.unique(np.linspace(0, most, 30).astype(int))
    sums = np.zeros((len(lags), 3))
    for stretch in stretches:
        error = np.asarray(stretch.velocity, float) - fit.simulate(stretch)
        fresh = np.ones(len(error), bool) if stretch.fresh is None else stretch.fresh
        u = power_law(np.asarray(stretch.command, float), fit.exponent)
        for i, lag in enumerate(lags):
            k = np.flatnonzero(fresh[lag:])
            e, c = error[lag:][k], u[k]
            sums[i] += (e @ c, e @ e, c @ c)
    power = np.sqrt(sums[:, 1] * sums[:, 2])
    return float(np.max(np.abs(sums[power > 0.0, 0]) / power[power > 0.0], initial=0.0))


# Changes of the command that an axis needs, and samples of velocity.
LEAST_CHANGES, LEAST_SAMPLES = 2, 60
# A static power law is used if it leaves at most this share of the held-out error.
CLEARLY = 0.7
# Exponents beyond these bounds stand for another nonlinearity, such as saturation or a dead band.
PLAUSIBLE = (0.5, 2.0)
# Held-out R^2 above which no power law is looked for.
GOOD = 0.99
# Samples that are fitted at most; of longer recordings, stretches evenly spread.
MOST = 60_000


@dataclass(frozen=True)
class HeldOut:
    """One stretch, predicted by the fit that has not seen the samples that are marked.

    Attributes:
        stretch: with `fresh` marking the samples that were measured anew.
        simulated: shape (n,), each sample by the fit that has not seen it.
    """

    stretch: Stretch
    simulated: Array


@dataclass(frozen=True)
class AxisAnalysis:
    """Verdict on an axis, and what it rests on.

    Attributes:
        verdict: values and whether they may be used.
        fit: to all samples; None where nothing could be fitted.
        held_out: predictions of unseen samples, one for each stretch.
    """

    verdict: Verdict
    fit: DeadTimeFit | None = None
    held_out: tuple[HeldOut, ...] = ()


def analyse_axis(
    stretches: Sequence[Stretch],
    subject: str,
    unit: str = "m/s",
    longest_dead_time: float = LONGEST,
    refresh: float = 0.0,
) -> AxisAnalysis:
    """Fit, predict what was held out, and judge.

    Args:
        stretches: of one axis and one period.
        subject: for people, such as "forward axis".
        unit: of velocity and command.
        longest_dead_time: end of the scan, s.
        refresh: time between two readings of a sensor that repeats itself, s, where the stretches
            say which samples are fresh; 0: as these say.
    """
    stretches, notes = _prepared(stretches, refresh)
    missing = _not_excited(stretches, unit)
    if missing:
        return AxisAnalysis(Verdict(subject, Outcome.NOT_EXCITED, missing, notes=tuple(notes)))
    try:
        best = Split(stretches, longest_dead_time)
    except ValueError as error:
        return AxisAnalysis(Verdict(subject, Outcome.NOT_EXCITED, str(error), notes=tuple(notes)))
    if best.r_squared < GOOD:
        bent = Split(stretches, longest_dead_time, with_exponent=True)
        fit = bent.fit
        sure = abs(fit.exponent - 1.0) > 2.0 * fit.exponent_std
        sure &= PLAUSIBLE[0] <= fit.exponent <= PLAUSIBLE[1]
        if sure and bent.squares <= CLEARLY * best.squares:
            notes.append(
                f"the command enters as sign(u)|u|^p, p = {fit.exponent:.3g}: held-out R^2 "
                f"{bent.r_squared:.4f}, with the command as it is {best.r_squared:.4f}"
            )
            best = bent
    return _judged(best, subject, unit, notes)


def _judged(split: Split, subject: str, unit: str, notes: list[str]) -> AxisAnalysis:
    evidence = tests_of_first_order(split)
    failed = [item for item in evidence if item.passed is False]
    values = _values(split.fit, unit)
    unknown = [value.name for value in values if not value.identifiable]
    outcome, reason = Outcome.ESTIMATED, ""
    if failed:
        outcome = Outcome.REFUSED
        reason = "not first order: " + "; ".join(_short(item) for item in failed)
    elif not values[1].identifiable:
        outcome = Outcome.NOT_EXCITED
        reason = f"{', '.join(unknown)} not identifiable: command more and larger steps"
    elif unknown:
        notes.append(f"{', '.join(unknown)} not identifiable: command more steps, or sample faster")
    held = tuple(
        HeldOut(stretch, simulated)
        for stretch, simulated in zip(split.stretches, split.simulated, strict=True)
    )
    verdict = Verdict(
        subject,
        outcome,
        reason,
        values,
        split.fit.fit.r_squared,
        split.r_squared,
        split.error,
        unit,
        tuple(evidence),
        tuple(notes),
    )
    return AxisAnalysis(verdict, scan_dead_times(split.stretches, split.fit), held)


def _short(item: Evidence) -> str:
    return f"{item.test} {item.found:.3g} (must be {item.limit})"


def _values(found: DeadTimeFit, unit: str) -> tuple[Value, ...]:
    model, (inertia, drag) = found.fit.model, found.fit.std
    bent = "" if found.exponent == 1.0 else f" / ({unit})^p"
    values = [
        Value("inertia", model.inertia, inertia, "s"),
        Value("drag", model.drag, drag, "1"),
        Value("time constant", model.time_constant, found.fit.time_constant_std, "s"),
        Value("gain", model.gain, found.fit.gain_std, f"{unit}{bent}" if bent else "1"),
        Value("dead time", found.dead_time, found.dead_time_std, "s"),
    ]
    if found.exponent_std > 0.0:
        values.append(Value("exponent", found.exponent, found.exponent_std, "1"))
    return tuple(values)


def _prepared(stretches: Sequence[Stretch], refresh: float) -> tuple[list[Stretch], list[str]]:
    """Stretches with stale readings marked, not too many, and what there is to say of it."""
    notes: list[str] = []
    total = sum(len(stretch.velocity) for stretch in stretches)
    keep = max(1, math.ceil(total / MOST))
    if keep > 1:
        notes.append(f"one stretch in {keep} was used: {total} samples are more than needed")
    chosen = list(stretches[::keep])
    if any(stretch.fresh is not None for stretch in chosen):
        masks = [s.fresh if s.fresh is not None else np.ones(len(s.velocity), bool) for s in chosen]
        held = refresh or _hold(chosen, masks)
    else:
        masks, held = refreshed([stretch.velocity for stretch in chosen])
        held *= chosen[0].period if chosen else 0.0
    if held > 0.0:
        notes.append(
            f"the velocity is refreshed every {held:.3g} s only: stale readings are left out, and "
            f"the dead time holds how old a reading is, {held / 2:.2g} s if it is a mean over "
            "that time"
        )
        chosen = [replace(s, fresh=m) for s, m in zip(chosen, masks, strict=True)]
    return [s for s in chosen if s.fresh is None or s.fresh.any()], notes


def _hold(stretches: Sequence[Stretch], masks: Sequence[NDArray[np.bool_]]) -> float:
    """Time between fresh readings, s; 0 where all are fresh."""
    samples = sum(len(stretch.velocity) for stretch in stretches)
    fresh = sum(int(np.count_nonzero(mask)) for mask in masks)
    return stretches[0].period * samples / fresh if 0 < fresh < 0.9 * samples else 0.0


def _not_excited(stretches: Sequence[Stretch], unit: str) -> str:
    samples = sum(len(s.velocity) if s.fresh is None else s.fresh.sum() for s in stretches)
    if samples < LEAST_SAMPLES:
        return f"{samples} readings of the velocity: must be at least {LEAST_SAMPLES}"
    commands = np.concatenate([np.asarray(s.command, float) for s in stretches])
    size = float(np.ptp(commands))
    changes = sum(
        int(np.count_nonzero(np.abs(np.diff(s.command)) > 0.02 * size)) for s in stretches
    )
    # A ramp changes by little each time.
    moved = sum(float(np.abs(np.diff(s.command)).sum()) for s in stretches)
    if size == 0.0 or (changes < LEAST_CHANGES and moved < 0.5 * LEAST_CHANGES * size):
        return (
            f"the command changes {changes} times, over {size:.3g} {unit}: must change at least "
            f"{LEAST_CHANGES} times; command steps"
        )
    return ""
