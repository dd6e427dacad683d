# SPDX-License-Identifier: Apache-2.0
"""What an identification from a recording says: values, how sure they are, may they be used.

For whoever prints or writes results (one `Verdict` for each axis, side or robot):

    verdict.rows()        -> [(name, value, half width of the 95 % interval, unit), ...], as text
    verdict.summary()     -> "forward axis: estimated" or "yaw axis: refused: not first order: ..."
    verdict.to_dict()     -> plain floats, text and None, ready for YAML or JSON
    verdict.evidence      -> what was tested, measured, limit, passed: one line each by `str`
    verdict.notes         -> sentences for whoever reads the result
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diffbot_ident.torque.estimate import NORMAL_95


class AnalysisOutcome(str, Enum):
    """Whether the values may be used."""

    ESTIMATED = "estimated"
    REFUSED = "refused"
    NOT_EXCITED = "not excited"


@dataclass(frozen=True)
class Value:
    """One parameter.

    Attributes:
        name: the field's standard term or symbol.
        value: in the unit; NaN where there is none.
        std: standard deviation, in the unit; infinite: not identifiable from the recording; 0: not
            estimated but given.
        unit: "1" for none.
    """

    name: str
    value: float
    std: float
    unit: str = "1"

    @property
    def identifiable(self) -> bool:
        """Whether the recording tells this parameter."""
        return math.isfinite(self.value) and math.isfinite(self.std)

    @property
    def interval95(self) -> tuple[float, float] | None:
        """Ends of the 95 % interval, in the unit; None where not identifiable."""
        if not self.identifiable:
            return None
        half = NORMAL_95 * self.std
        return self.value - half, self.value + half

    def row(self) -> tuple[str, str, str, str]:
        """Name, value, half width of the 95 % interval and unit, as text for a table."""
        if not self.identifiable:
            return self.name, f"{_text(self.value)}", "not identifiable", self.unit
        half = NORMAL_95 * self.std
        # As many digits as the interval's two leading ones.
        digits = max(0, 1 - math.floor(math.log10(half))) if half > 0.0 else 4
        return self.name, f"{self.value:.{digits}f}", f"± {half:.{digits}f}", self.unit

    def to_dict(self) -> dict[str, object]:
        """Plain values; None for what is not known."""
        interval = self.interval95
        return {
            "value": plain(self.value),
            "std": plain(self.std),
            "interval95": [None, None] if interval is None else [*interval],
            "unit": self.unit,
            "identifiable": self.identifiable,
        }


@dataclass(frozen=True)
class Evidence:
    """One test of the model.

    Attributes:
        test: what was asked, in words.
        found: what was measured, in the limit's unit; NaN where it could not be.
        limit: of found, in words, such as ">= 0.9".
        passed: whether the model stands; None: not decided, too little data.
    """

    test: str
    found: float
    limit: str
    passed: bool | None

    def __str__(self) -> str:
        mark = {True: "passed", False: "FAILED", None: "not decided"}[self.passed]
        return f"{self.test}: {_text(self.found)} (must be {self.limit}): {mark}"

    def to_dict(self) -> dict[str, object]:
        """Plain values; None for what is not known."""
        found = plain(self.found)
        return {"test": self.test, "found": found, "limit": self.limit, "passed": self.passed}


@dataclass(frozen=True)
class Verdict:
    """Result of one axis, side or robot.

    Attributes:
        subject: what was identified, such as "forward axis".
        outcome: whether the values may be used.
        reason: why not, and what to do; empty where they may.
        values: of the parameters; kept when refused, to look at.
        r_squared_fit: 1 - SSE / SST of the simulation on the samples that were fitted; NaN if none.
        r_squared_held_out: the same on samples that the fit has not seen; NaN if none.
        error_held_out: root mean square of measured minus simulated, held-out; NaN if none.
        error_unit: its unit.
        evidence: tests of the model.
        notes: what else to know.
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

    def judged(self, refusal: str, needed: str, to_excite: str, to_identify: str) -> Verdict:
        """The outcome that evidence and intervals allow.

        Args:
            refusal: what a failed test means, as the beginning of the reason.
            needed: parameter without which the recording does not excite; empty: none.
            to_excite: what to do for it.
            to_identify: what to do for other parameters that are not identifiable.
        """
        failed = [
            f"{item.test} {item.found:.3g} (must be {item.limit})"
            for item in self.evidence
            if item.passed is False
        ]
        if failed:
            return replace(
                self, outcome=AnalysisOutcome.REFUSED, reason=refusal + "; ".join(failed)
            )
        unknown = [value.name for value in self.values if not value.identifiable]
        if not unknown:
            return replace(self, outcome=AnalysisOutcome.ESTIMATED)
        text = f"{', '.join(unknown)} not identifiable: "
        if needed in unknown:
            return replace(self, outcome=AnalysisOutcome.NOT_EXCITED, reason=text + to_excite)
        return replace(
            self, outcome=AnalysisOutcome.ESTIMATED, notes=(*self.notes, text + to_identify)
        )

    @property
    def usable(self) -> bool:
        """Whether the values may be used."""
        return self.outcome is AnalysisOutcome.ESTIMATED

    def value(self, name: str) -> Value:
        """The parameter of this name.

        Raises:
            KeyError: there is none.
        """
        for value in self.values:
            if value.name == name:
                return value
        raise KeyError(f"{name!r}: must be one of {[value.name for value in self.values]}")

    def summary(self) -> str:
        """Subject, outcome and reason in one line."""
        end = f": {self.reason}" if self.reason else ""
        return f"{self.subject}: {self.outcome.value}{end}"

    def headline(self, most: int = 118) -> str:
        """The summary, cut to so many characters: what fits below a picture's title."""
        text = self.summary()
        return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"

    def rows(self) -> list[tuple[str, str, str, str]]:
        """Name, value, half width of the 95 % interval and unit of each parameter, as text."""
        return [value.row() for value in self.values]

    def to_dict(self) -> dict[str, object]:
        """Plain floats, text and None; no NaN and no infinity."""
        return {
            "outcome": self.outcome.value,
            "reason": self.reason,
            "parameters": {value.name: value.to_dict() for value in self.values},
            "r_squared_fit": plain(self.r_squared_fit),
            "r_squared_held_out": plain(self.r_squared_held_out),
            "error_held_out": plain(self.error_held_out),
            "error_unit": self.error_unit,
            "evidence": [item.to_dict() for item in self.evidence],
            "notes": list(self.notes),
        }


def plain(value: float) -> float | None:
    """The value; None, which strict JSON knows, for NaN and infinity."""
    return float(value) if math.isfinite(value) else None


def _text(value: float) -> str:
    return f"{value:.4g}" if math.isfinite(value) else "unknown"


# What `identify` prints: tables of values with their intervals, the evidence, and notes.

STYLES = {
    AnalysisOutcome.ESTIMATED: "cyan",
    AnalysisOutcome.REFUSED: "red",
    AnalysisOutcome.NOT_EXCITED: "dim",
}
MARKS = {True: "green", False: "red", None: "dim"}


def show(console: Console, verdicts: Sequence[Verdict], notes: Sequence[str]) -> None:
    """Print the answers with how far they can be trusted, then the evidence for each."""
    for verdict in verdicts:
        console.print()
        style = f"bold {STYLES[verdict.outcome]}"
        console.print(Text(verdict.summary(), style), soft_wrap=True)
        if verdict.values:
            console.print(_table(verdict), markup=False, highlight=False)
        _print(console, _trust(verdict))
        for note in verdict.notes:
            _print(console, note)
    console.print()
    for note in notes:
        console.print(Text(note), soft_wrap=True)
    for verdict in verdicts:
        if verdict.evidence:
            console.print()
            console.print(Text(f"evidence, {verdict.subject}:"), soft_wrap=True)
        for item in verdict.evidence:
            _print(console, str(item), MARKS[item.passed])
    console.print()


def _trust(verdict: Verdict) -> str:
    """How many tests the model passed, and how well it tells what was measured, noise and all."""
    results = [item.passed for item in verdict.evidence]
    passed = f"{results.count(True)} of {len(results)} tests of the model passed"
    if None in results:
        passed += f", {results.count(None)} not decided"
    if not math.isfinite(verdict.r_squared_held_out):
        return passed
    return f"{passed}; {_told(verdict)}"


def _print(console: Console, text: str, style: str = "") -> None:
    """One item, indented; a file gets it in one line."""
    width = console.width if console.is_terminal else len(text) + 2
    lines = textwrap.fill(text, width, initial_indent="  ", subsequent_indent="      ")
    console.print(Text(lines, style), soft_wrap=True)


def _told(verdict: Verdict) -> str:
    """How well the simulation tells what was measured, noise and all."""
    return (
        f"R^2 of the simulation: {verdict.r_squared_held_out:.4f} on held-out samples, "
        f"{verdict.r_squared_fit:.4f} on fitted ones; error {verdict.error_held_out:.3g} "
        f"{verdict.error_unit} (held-out, root mean square)"
    )


def _table(verdict: Verdict) -> Table:
    table = Table(box=SIMPLE_HEAD, pad_edge=False, collapse_padding=True)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("unit", style="dim", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("± 95 %", justify="right", no_wrap=True)
    for name, value, spread, unit in verdict.rows():
        style = STYLES[verdict.outcome]
        table.add_row(name, unit.replace("^2", "²"), Text(value, style), spread.lstrip("± "))
    return table
