"""What `identify` prints: tables of values with their intervals, the evidence, and notes."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from diffbot_ident.recording.verdict import Outcome, Verdict

STYLES = {Outcome.ESTIMATED: "cyan", Outcome.REFUSED: "red", Outcome.NOT_EXCITED: "dim"}
MARKS = {True: "green", False: "red", None: "dim"}


def show(console: Console, verdicts: Sequence[Verdict], notes: Sequence[str]) -> None:
    """Print all."""
    for verdict in verdicts:
        console.print()
        style = f"bold {STYLES[verdict.outcome]}"
        console.print(Text(verdict.summary(), style), soft_wrap=True)
        if verdict.values:
            console.print(_table(verdict), markup=False, highlight=False)
        if math.isfinite(verdict.r_squared_held_out):
            _print(console, _told(verdict))
        for item in verdict.evidence:
            _print(console, str(item), MARKS[item.passed])
        for note in verdict.notes:
            _print(console, note)
    console.print()
    for note in notes:
        console.print(Text(note), soft_wrap=True)


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
