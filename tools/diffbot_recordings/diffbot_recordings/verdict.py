# SPDX-License-Identifier: Apache-2.0
"""Result of an identification: values, their intervals, and whether they may be used.

Several recordings are combined as in docs/theory/recordings.md#several-recordings.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np
import scipy
from rich.console import Console, Group, RenderableType
from rich.text import Text

from diffbot_description.files import finite
from diffbot_description.spoken import spoken
from diffbot_description.terminal_text import printable
from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.samples import Array
from diffbot_report.display import printed
from diffbot_report.page import Table, Tone


class AnalysisOutcome(str, Enum):
    """Whether the values may be used."""

    ESTIMATED = "estimated"
    REFUSED = "refused"
    NOT_EXCITED = "not excited"


@dataclass(frozen=True)
class Value:
    """One parameter.

    Attributes:
        value: NaN: none.
        std: Standard deviation; infinite: not identifiable from the recording; 0: given.
        unit: "1": dimensionless.
    """

    name: str
    value: float
    std: float
    unit: str = "1"

    @property
    def identifiable(self) -> bool:
        return math.isfinite(self.value) and math.isfinite(self.std)

    @property
    def interval95(self) -> tuple[float, float] | None:
        """Ends of the 95 % interval in the unit; None: not identifiable."""
        if not self.identifiable:
            return None
        half = NORMAL_95 * self.std
        return self.value - half, self.value + half

    def row(self) -> tuple[str, str, str, str]:
        """Return name, value, half width of the 95 % interval and unit as texts for a table."""
        if not self.identifiable:
            return self.name, spoken(self.value, 4), "not identifiable", self.unit
        half = NORMAL_95 * self.std
        digits = max(0, 1 - math.floor(math.log10(half))) if half > 0.0 else 4
        return self.name, f"{self.value:.{digits}f}", f"± {half:.{digits}f}", self.unit

    def to_dict(self) -> dict[str, object]:
        interval = self.interval95
        return {
            "value": finite(self.value),
            "std": finite(self.std),
            "interval95": [None, None] if interval is None else [*interval],
            "unit": self.unit,
            "identifiable": self.identifiable,
        }


@dataclass(frozen=True)
class Evidence:
    """One test of the model.

    Attributes:
        result: Measured quantity, in the limit's unit; NaN: could not be measured.
        limit: Limit of `result` as text, such as ">= 0.9".
        passed: None: not decided, too little data.
    """

    test: str
    result: float
    limit: str
    passed: bool | None

    def __str__(self) -> str:
        mark = {True: "passed", False: "FAILED", None: "not decided"}[self.passed]
        return f"{self.test}: {spoken(self.result, 4)} (must be {self.limit}): {mark}"

    def to_dict(self) -> dict[str, object]:
        result = finite(self.result)
        return {"test": self.test, "found": result, "limit": self.limit, "passed": self.passed}


@dataclass(frozen=True)
class AnalysisVerdict:
    """Result of one axis, side or robot.

    Attributes:
        reason: Why the values may not be used, and what to do; empty if they may.
        values: The parameters; also kept, for information, if refused.
        r_squared_fit: 1 - SSE / SST of the simulation on the fitted samples; NaN: none.
        r_squared_held_out: The same on held-out samples; NaN: none.
        error_held_out: Root mean square on held-out samples, in `error_unit`; NaN: none.
        notes: Further information for the user.
    """

    subject: str
    outcome: AnalysisOutcome = AnalysisOutcome.ESTIMATED
    reason: str = ""
    values: tuple[Value, ...] = ()
    r_squared_fit: float = math.nan
    r_squared_held_out: float = math.nan
    error_held_out: float = math.nan
    error_unit: str = "m/s"
    evidence: tuple[Evidence, ...] = ()
    notes: tuple[str, ...] = ()

    def judged(
        self, refusal: str, needed: str, to_excite: str, to_identify: str
    ) -> AnalysisVerdict:
        """Return the verdict with the outcome that follows from evidence and intervals.

        Args:
            refusal: Beginning of the reason if a test failed.
            needed: Parameter without which the outcome is NOT_EXCITED; empty: none.
            to_excite: Advice if `needed` is not identifiable.
            to_identify: Advice if other parameters are not identifiable.
        """
        failed = [
            f"{item.test} {spoken(item.result)} (must be {item.limit})"
            for item in self.evidence
            if item.passed is False
        ]
        if failed:
            return self.refused(refusal + "; ".join(failed))
        unknown = [value.name for value in self.values if not value.identifiable]
        if not unknown:
            return replace(self, outcome=AnalysisOutcome.ESTIMATED)
        text = f"{', '.join(unknown)} not identifiable: "
        if needed in unknown:
            return self.not_excited(text + to_excite)
        notes = (*self.notes, text + to_identify)
        return replace(self, outcome=AnalysisOutcome.ESTIMATED, notes=notes)

    def refused(self, reason: str) -> AnalysisVerdict:
        return replace(self, outcome=AnalysisOutcome.REFUSED, reason=reason)

    def not_excited(self, reason: str) -> AnalysisVerdict:
        """The recording holds too little, for a reason."""
        return replace(self, outcome=AnalysisOutcome.NOT_EXCITED, reason=reason)

    @property
    def usable(self) -> bool:
        return self.outcome is AnalysisOutcome.ESTIMATED

    def value(self, name: str) -> Value:
        """Return the parameter of this name. Raises KeyError."""
        for value in self.values:
            if value.name == name:
                return value
        raise KeyError(f"{name!r}: must be one of {[value.name for value in self.values]}")

    def summary(self) -> str:
        end = f": {self.reason}" if self.reason else ""
        return f"{self.subject}: {self.outcome.value}{end}"

    def headline(self, most: int) -> str:
        """Return the summary, cut to `most` characters."""
        text = self.summary()
        return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"

    def rows(self) -> list[tuple[str, str, str, str]]:
        return [value.row() for value in self.values]

    def to_dict(self) -> dict[str, object]:
        """Return plain floats, text and None; no NaN and no infinity."""
        return {
            "outcome": self.outcome.value,
            "reason": self.reason,
            "parameters": {value.name: value.to_dict() for value in self.values},
            "r_squared_fit": finite(self.r_squared_fit),
            "r_squared_held_out": finite(self.r_squared_held_out),
            "error_held_out": finite(self.error_held_out),
            "error_unit": self.error_unit,
            "evidence": [item.to_dict() for item in self.evidence],
            "notes": list(self.notes),
        }


STYLES = {
    AnalysisOutcome.ESTIMATED: "cyan",
    AnalysisOutcome.REFUSED: "red",
    AnalysisOutcome.NOT_EXCITED: "dim",
}
MARKS = {True: "green", False: "red", None: "dim"}


def show(console: Console, verdicts: Sequence[AnalysisVerdict], notes: Sequence[str]) -> None:
    """Print each verdict with its table, tests and notes, then the evidence for each."""
    for verdict in verdicts:
        console.print()
        style = f"bold {STYLES[verdict.outcome]}"
        console.print(Text(printable(verdict.summary()), style), soft_wrap=True)
        if verdict.values:
            console.print(values_table(verdict), markup=False, highlight=False)
        _print(console, _trust(verdict))
        for note in verdict.notes:
            _print(console, note)
    console.print()
    for note in notes:
        console.print(Text(printable(note)), soft_wrap=True)
    for verdict in verdicts:
        if verdict.evidence:
            console.print()
            console.print(Text(printable(f"evidence, {verdict.subject}:")), soft_wrap=True)
        for item in verdict.evidence:
            _print(console, str(item), MARKS[item.passed])
    console.print()


def results_table(title: str, verdicts: Sequence[AnalysisVerdict]) -> Group:
    """Return a title, and each verdict with its values, to print at the end of a run."""
    parts: list[RenderableType] = [Text(printable(title), "bold")]
    for verdict in verdicts:
        parts.append(Text(printable(verdict.summary()), STYLES[verdict.outcome]))
        parts += [values_table(verdict)] if verdict.values else []
        parts.append(Text(printable(_trust(verdict))))
        parts += [Text(printable(note)) for note in verdict.notes]
    return Group(*parts)


def _trust(verdict: AnalysisVerdict) -> str:
    results = [item.passed for item in verdict.evidence]
    passed = f"{results.count(True)} of {len(results)} tests of the model passed"
    if None in results:
        passed += f", {results.count(None)} not decided"
    if not math.isfinite(verdict.r_squared_held_out):
        return passed
    return f"{passed}; {_fit_quality(verdict)}"


def _print(console: Console, text: str, style: str = "") -> None:
    text = printable(text)
    width = console.width if console.is_terminal else len(text) + 2
    lines = textwrap.fill(text, width, initial_indent="  ", subsequent_indent="      ")
    console.print(Text(lines, style), soft_wrap=True)


def _fit_quality(verdict: AnalysisVerdict) -> str:
    return (
        f"R^2 of the simulation: {verdict.r_squared_held_out:.4f} on held-out samples, "
        f"{verdict.r_squared_fit:.4f} on fitted ones; error {spoken(verdict.error_held_out)} "
        f"{verdict.error_unit} (held-out, root mean square)"
    )


def answer(verdicts: Sequence[AnalysisVerdict]) -> Table:
    """Return the values of verdicts with their intervals."""
    several = len(verdicts) > 1
    rows, marks = [], []
    for verdict in verdicts:
        for name, value, spread, unit in verdict.rows():
            subject = f"{verdict.subject}: {name}" if several else name
            rows.append([subject, unit.replace("^2", "²"), value, spread.removeprefix("± ")])
            marks.append(None if verdict.usable else Tone.CAUTION)
    return Table(["", "unit", "value", "± 95 %"], rows, marks=marks)


def values_table(verdict: AnalysisVerdict) -> RenderableType:
    """Return the values of a verdict with their intervals, for a terminal."""
    shown = answer([verdict])
    return printed(shown, styles=[STYLES[verdict.outcome]] * len(shown.rows))


# Probability that noise alone scatters recordings as much.
SIGNIFICANCE = 0.01
# Standard deviations from all others from which one recording disagrees.
OUTLIER = 3.0


def combined(
    pooled: Sequence[Value], each: Mapping[str, Sequence[Value]]
) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    """Return pooled values with intervals widened by the spread between recordings, and notes.

    `each` holds the values of each recording alone, by name.
    """
    results: list[Value] = []
    # Notes by recording that disagrees, and on parameters that scatter without one.
    disagree: dict[str, list[str]] = {}
    notes: list[str] = []
    for value in pooled:
        parts = {
            name: own
            for name, values in each.items()
            for own in values
            if own.name == value.name and own.identifiable and own.std > 0.0
        }
        if len(parts) < 2 or not value.identifiable:
            results.append(value)
            continue
        widened, who, note = _over_recordings(value, parts)
        results.append(widened)
        if who is not None:
            disagree.setdefault(who, []).append(note)
        elif note:
            notes.append(note)
    named = [
        f"{who} disagrees: {'; '.join(what)}; find out what differed, or remove it"
        for who, what in disagree.items()
    ]
    return tuple(results), (*named, *notes)


def _over_recordings(pooled: Value, parts: Mapping[str, Value]) -> tuple[Value, str | None, str]:
    values = np.array([part.value for part in parts.values()])
    variances = np.array([part.std**2 for part in parts.values()])
    between = _between(values, variances)
    if between == 0.0:
        return pooled, None, ""
    weights = 1.0 / (variances + between)
    mean = float(weights @ values / weights.sum())
    count = len(values)
    squares = float(weights @ (values - mean) ** 2) / ((count - 1) * float(weights.sum()))
    factor = float(scipy.special.stdtrit(count - 1, 0.975)) / NORMAL_95
    # The pooled value weighs each recording by its information.
    std = max(pooled.std, math.hypot(factor * math.sqrt(squares), mean - pooled.value))
    who, note = _disagreement(pooled, parts, values, variances)
    return replace(pooled, std=std), who, note


def _between(values: Array, variances: Array) -> float:
    """Return the variance between recordings beyond noise; 0 if noise may explain all of it."""
    weights = 1.0 / variances
    mean = weights @ values / weights.sum()
    scatter = float(weights @ (values - mean) ** 2)
    free = len(values) - 1
    if scatter <= float(scipy.special.chdtri(free, SIGNIFICANCE)):
        return 0.0
    return (scatter - free) / float(weights.sum() - (weights @ weights) / weights.sum())


def _disagreement(
    pooled: Value, parts: Mapping[str, Value], values: Array, variances: Array
) -> tuple[str | None, str]:
    names = list(parts)
    unit = "" if pooled.unit == "1" else f" {pooled.unit}"
    if len(names) > 2:
        far = []
        for i in range(len(names)):
            rest = np.arange(len(names)) != i
            own = _between(values[rest], variances[rest])
            weights = 1.0 / (variances[rest] + own)
            mean = float(weights @ values[rest] / weights.sum())
            deviation = math.sqrt(float(variances[i]) + own + 1.0 / float(weights.sum()))
            far.append((abs(float(values[i]) - mean) / deviation, i, mean))
        most, i, mean = max(far)
        if most > OUTLIER:
            text = f"its {pooled.name} is {values[i]:.3g}{unit}, that of the others {mean:.3g}"
            return names[i], text
    listed = ", ".join(f"{name} {part.value:.3g}" for name, part in parts.items())
    return None, (
        f"{pooled.name} differs from recording to recording by more than their noise: {listed}"
        f"{unit}; the interval counts that"
    )
