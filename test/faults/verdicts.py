# SPDX-License-Identifier: Apache-2.0
"""The fault table with verdicts: on a terminal, as Markdown, and for scripts."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.table import Table
from rich.text import Text

from diffbot_description.files import SUMMARY, strict, write_json
from diffbot_report.page import REPORT, write_page
from diffbot_report.summary import versions
from faults.page import faults_page
from faults.row import LONGEST_TIME_TO_ZERO, Outcome, Verdict

COLUMNS = ("Group", "Row", "Engine", "Promise", "Zero, ms", "Worst torque", "Verdict")


def cells(verdict: Verdict) -> tuple[str, ...]:
    """Return the table cells of a verdict."""
    row, outcome = verdict.row, verdict.outcome
    return (
        row.group,
        row.name,
        verdict.engine,
        row.promise.value,
        _time_to_zero(verdict),
        _torque(outcome),
        "kept" if verdict.passed else "FAILS",
    )


def _milliseconds(outcome: Outcome | None) -> str:
    if outcome is None or outcome.time_to_zero is None:
        return "-"
    return f"{1e3 * outcome.time_to_zero:.1f}"


def _time_to_zero(verdict: Verdict) -> str:
    """Return the time to zero in ms; with the row's limit if it differs from the usual one."""
    text, longest = _milliseconds(verdict.outcome), verdict.row.longest
    if text == "-" or longest == LONGEST_TIME_TO_ZERO:
        return text
    return f"{text} of {1e3 * longest:g}"


def _torque(outcome: Outcome | None) -> str:
    if outcome is None:
        return "-"
    return f"{outcome.worst_torque:.3g} of {outcome.limit:.3g} {outcome.unit.removeprefix('of ')}"


def rich_table(verdicts: Sequence[Verdict]) -> Table:
    """Return the table for a terminal, one line per row below the name of its group."""
    table = Table(*COLUMNS[1:], box=SIMPLE_HEAD, pad_edge=False)
    group = ""
    for verdict in verdicts:
        first, *others, last = cells(verdict)
        if first != group:
            group = first
            table.add_row(Text(group, style="bold"))
        style = "green" if verdict.passed else "bold red"
        others[0] = f"  {others[0]}"
        table.add_row(*map(Text, others), Text(last, style=style))
    return table


def text_lines(verdicts: Sequence[Verdict]) -> list[str]:
    """Return the reasons for failed rows."""
    return [
        f"fails: {verdict.row.group}: {verdict.row.name} ({verdict.engine}): {problem}"
        for verdict in verdicts
        for problem in verdict.problems
    ]


def worst(verdicts: Sequence[Verdict]) -> Verdict | None:
    """Return the row with the longest time to zero relative to its limit; None without one."""
    timed = [v for v in verdicts if v.outcome is not None and v.outcome.time_to_zero is not None]
    return max(timed, key=lambda v: v.outcome.time_to_zero / v.row.longest, default=None)


def worst_line(verdicts: Sequence[Verdict]) -> str:
    """Return the number of rows that keep their promise, and the worst case, as a sentence."""
    kept = sum(verdict.passed for verdict in verdicts)
    text = f"{kept} of {len(verdicts)} rows keep their promise"
    slowest = worst(verdicts)
    if slowest is None:
        return text
    limit = 1e3 * slowest.row.longest
    return (
        f"{text}; longest time to zero {_milliseconds(slowest.outcome)} ms of {limit:g} ms: "
        f"{slowest.row.group}: {slowest.row.name} ({slowest.engine})"
    )


def write_verdicts(
    verdicts: Sequence[Verdict], folder: Path, seconds: float, planned: int, command: str
) -> list[Path]:
    """Write faults.md, summary.json and, with plotly, report.html; return their paths.

    Args:
        verdicts: Verdicts in the order of the table.
        folder: Existing folder.
        seconds: Wall time of the rows, s.
        planned: Number of planned rows; more than verdicts if the run was interrupted.
        command: Command that repeats the run.

    Raises:
        OSError: The folder is not writable.
    """
    path = folder / "faults.md"
    path.write_text(markdown(verdicts), encoding="utf-8")
    slowest = worst(verdicts)
    content = {
        "name": "faults",
        "outcome": "completed" if len(verdicts) == planned else "stopped",
        "planned": planned,
        "versions": versions(),
        "seconds": seconds,
        "kept": sum(verdict.passed for verdict in verdicts),
        "longest_time_to_zero": None if slowest is None else slowest.outcome.time_to_zero,
        "rows": [_entry(verdict) for verdict in verdicts],
    }
    summary = strict(content)
    paths = [path, write_json(folder / SUMMARY, summary)]
    # Without plotly there is no page; the other files contain the table.
    with suppress(ModuleNotFoundError):
        paths.append(write_page(faults_page(summary, command), folder / REPORT))
    return paths


def markdown(verdicts: Sequence[Verdict]) -> str:
    """Return the table as Markdown, with the worst case above it and failures below."""
    known = ", ".join(f"{name} {version}" for name, version in versions().items() if version)
    lines = [
        "# Fault table",
        "",
        worst_line(verdicts) + ".",
        "",
        f"Made by ./diffbot faults; {known}.",
    ]
    lines += ["", _line((*COLUMNS, "Measured")), _line(["---"] * (len(COLUMNS) + 1))]
    for verdict in verdicts:
        detail = "" if verdict.outcome is None else verdict.outcome.detail
        lines.append(_line((*cells(verdict), detail)))
    failures = text_lines(verdicts)
    if failures:
        lines += ["", *(f"- {line}" for line in failures)]
    return "\n".join(lines) + "\n"


def _line(words: Sequence[str]) -> str:
    return "| " + " | ".join(word.replace("|", "\\|") for word in words) + " |"


def _entry(verdict: Verdict) -> dict[str, object]:
    outcome = {} if verdict.outcome is None else asdict(verdict.outcome)
    return {
        "group": verdict.row.group,
        "row": verdict.row.name,
        "engine": verdict.engine,
        "promise": verdict.row.promise.value,
        "longest": verdict.row.longest,
        **outcome,
        "passed": verdict.passed,
        "problems": list(verdict.problems),
    }
