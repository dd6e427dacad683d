"""Is an axis of a velocity-commanded robot of first order, and with which parameters?

    found = analyse_axis(segments, "forward axis")
    found.verdict                  values and whether they may be used
    found.fit, found.held_out      what it rests on, for pictures

The model is tested on samples that its fit has not seen, see model_tests; the values are those of a
fit to all samples. A static power law of the command is used where it is clearly better.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffbot_ident.recording.model_tests import CrossValidation, tests_of_first_order
from diffbot_ident.recording.sample_and_hold import new_readings
from diffbot_ident.recording.samples import Mask
from diffbot_ident.recording.verdict import Outcome, Value, Verdict
from diffbot_ident.velocity.dead_time import LONGEST, DeadTimeFit, scan_dead_times
from diffbot_ident.velocity.first_order import AxisSegment
from diffbot_ident.velocity.prediction import Prediction

# Changes of the command that an axis needs, and samples of velocity.
LEAST_CHANGES, LEAST_SAMPLES = 2, 60
# A static power law is used if it leaves at most this share of the held-out error.
CLEARLY = 0.7
# Exponents beyond these bounds stand for another nonlinearity, such as saturation or a dead band.
PLAUSIBLE = (0.5, 2.0)
# Held-out R^2 above which no power law is looked for.
GOOD = 0.99
# Samples that are fitted at most; of longer recordings, segments evenly spread.
MOST = 60_000


@dataclass(frozen=True)
class AxisAnalysis:
    """Verdict on an axis, and what it rests on.

    Attributes:
        verdict: values and whether they may be used.
        fit: to all samples; None where nothing could be fitted.
        held_out: each sample predicted by a fit that has not seen it; None where fit is.
    """

    verdict: Verdict
    fit: DeadTimeFit | None = None
    held_out: Prediction | None = None


def analyse_axis(
    segments: Sequence[AxisSegment],
    subject: str,
    unit: str = "m/s",
    longest_dead_time: float = LONGEST,
    refresh: float = 0.0,
) -> AxisAnalysis:
    """Fit, predict what was held out, and judge.

    Args:
        segments: of one axis and one period.
        subject: for people, such as "forward axis".
        unit: of velocity and command.
        longest_dead_time: end of the scan, s.
        refresh: time between two readings of a sensor that repeats itself, s, where the segments
            say which samples are fresh; 0: as these say.
    """
    segments, notes = _prepared(segments, refresh)
    try:
        _check_excitation(segments, unit)
        found = CrossValidation(segments, longest_dead_time)
    except ValueError as error:
        return AxisAnalysis(Verdict(subject, Outcome.NOT_EXCITED, str(error), notes=tuple(notes)))
    if found.prediction.r_squared < GOOD:
        bent = CrossValidation(segments, longest_dead_time, with_exponent=True)
        if _clearly_better(bent, found):
            notes.append(
                f"the command enters as sign(u)|u|^p, p = {bent.fit.exponent:.3g}: held-out R^2 "
                f"{bent.prediction.r_squared:.4f}, with the command as it is "
                f"{found.prediction.r_squared:.4f}"
            )
            found = bent
    verdict = Verdict(
        subject,
        values=_values(found.fit, unit),
        r_squared_fit=found.fit.fit.r_squared,
        r_squared_held_out=found.prediction.r_squared,
        error_held_out=found.prediction.error,
        error_unit=unit,
        evidence=tuple(tests_of_first_order(found)),
        notes=tuple(notes),
    ).judged(
        refusal="not first order: ",
        needed="drag",
        to_excite="command more and larger steps",
        to_identify="command more steps, or sample faster",
    )
    return AxisAnalysis(verdict, scan_dead_times(found.segments, found.fit), found.prediction)


def _clearly_better(bent: CrossValidation, plain: CrossValidation) -> bool:
    """Whether a power law of the command is sure, plausible, and predicts much better."""
    fit = bent.fit
    sure = abs(fit.exponent - 1.0) > 2.0 * fit.exponent_std
    plausible = PLAUSIBLE[0] <= fit.exponent <= PLAUSIBLE[1]
    return sure and plausible and bent.prediction.squares <= CLEARLY * plain.prediction.squares


def _values(found: DeadTimeFit, unit: str) -> tuple[Value, ...]:
    model, (inertia, drag) = found.fit.model, found.fit.std
    gain_unit = "1" if found.exponent == 1.0 else f"{unit} / ({unit})^p"
    values = [
        Value("inertia", model.inertia, inertia, "s"),
        Value("drag", model.drag, drag, "1"),
        Value("time constant", model.time_constant, found.fit.time_constant_std, "s"),
        Value("gain", model.gain, found.fit.gain_std, gain_unit),
        Value("dead time", found.dead_time, found.dead_time_std, "s"),
    ]
    if found.exponent_std > 0.0:
        values.append(Value("exponent", found.exponent, found.exponent_std, "1"))
    return tuple(values)


def _prepared(
    segments: Sequence[AxisSegment], refresh: float
) -> tuple[list[AxisSegment], list[str]]:
    """Segments with stale readings marked, not too many, and what there is to say of it."""
    notes: list[str] = []
    total = sum(len(segment.velocity) for segment in segments)
    keep = max(1, math.ceil(total / MOST))
    if keep > 1:
        notes.append(f"one stretch in {keep} was used: {total} samples are more than needed")
    chosen = list(segments[::keep])
    if any(segment.fresh is not None for segment in chosen):
        masks = [segment.counts for segment in chosen]
        held = refresh or _hold(chosen, masks)
    else:
        masks, held = new_readings([segment.velocity for segment in chosen])
        held *= chosen[0].period if chosen else 0.0
    if held > 0.0:
        notes.append(
            f"the velocity is refreshed every {held:.3g} s only: stale readings are left out, and "
            f"the dead time holds how old a reading is, {held / 2:.2g} s if it is a mean over "
            "that time"
        )
        chosen = [replace(s, fresh=m) for s, m in zip(chosen, masks, strict=True)]
    return [s for s in chosen if s.fresh is None or s.fresh.any()], notes


def _hold(segments: Sequence[AxisSegment], masks: Sequence[Mask]) -> float:
    """Time between fresh readings, s; 0 where all are fresh."""
    samples = sum(len(segment.velocity) for segment in segments)
    fresh = sum(int(np.count_nonzero(mask)) for mask in masks)
    return segments[0].period * samples / fresh if 0 < fresh < 0.9 * samples else 0.0


def _check_excitation(segments: Sequence[AxisSegment], unit: str) -> None:
    """Whether there are readings, and changes of the command, to fit at all.

    Raises:
        ValueError: there are too few.
    """
    samples = sum(np.count_nonzero(segment.counts) for segment in segments)
    if samples < LEAST_SAMPLES:
        raise ValueError(f"{samples} readings of the velocity: must be at least {LEAST_SAMPLES}")
    commands = [segment.command for segment in segments]
    size = float(np.ptp(np.concatenate(commands)))
    steps = [np.abs(np.diff(command)) for command in commands]
    changes = sum(int(np.count_nonzero(step > 0.02 * size)) for step in steps)
    # A ramp changes by little each time.
    moved = sum(float(step.sum()) for step in steps)
    if size == 0.0 or (changes < LEAST_CHANGES and moved < 0.5 * LEAST_CHANGES * size):
        raise ValueError(
            f"the command changes {changes} times, over {size:.3g} {unit}: must change at least "
            f"{LEAST_CHANGES} times; command steps"
        )
