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

import numpy as np
from numpy.typing import NDArray

from diffbot_ident.recording.velocity_split import Split
from diffbot_ident.recording.velocity_tests import tests_of_first_order
from diffbot_ident.recording.verdict import Evidence, Outcome, Value, Verdict
from diffbot_ident.velocity.dead_time import LONGEST, DeadTimeFit, scan_dead_times
from diffbot_ident.velocity.refresh import refreshed
from diffbot_ident.velocity.stretch import Stretch

Array = NDArray[np.float64]

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
