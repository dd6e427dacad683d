# SPDX-License-Identifier: Apache-2.0
"""Scores of answers: error, coverage, width, refusals, processor time, and one cost to rank by.

The cost of a value is its interval score (Gneiting and Raftery, 2007) in shares of the scale,

    c = min(1, (high - low) + 2 / 0.05 * distance of the truth from [low, high])

A value without an interval claims CLAIM on either side. A refusal costs REFUSAL: more than a wide
interval that holds, and less than a wrong one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from diffbot_bench.tasks import BenchTask

REFUSAL, CLAIM, LEVEL = 0.3, 0.05, 0.05


@dataclass(frozen=True)
class Interval:
    """A value with the ends of its 95 % interval; None: it has none."""

    value: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class TaskAnswer:
    """What an estimator says of a record, by name, in some processor time, s, or why not."""

    values: Mapping[str, Interval]
    seconds: float = math.nan
    reason: str = ""


def answer_of(said: object, seconds: float = math.nan) -> TaskAnswer:
    """Return what an estimator said: a mapping from names to values or (value, low, high), or None.

    ValueError: it is something else; the message names the entry.
    """
    if said is None:
        return TaskAnswer({}, seconds, "refused")
    if not isinstance(said, Mapping):
        raise ValueError(f"answer {said!r:.60}: must be a mapping from names to values, or None")
    values = {}
    for name, entry in said.items():
        parts = [*entry] if isinstance(entry, (list, tuple, np.ndarray)) else [entry]
        if len(parts) not in (1, 3) or not all(
            isinstance(p, (int, float, np.number)) for p in parts
        ):
            raise ValueError(f"{name} = {entry!r:.60}: must be a number, or (value, low, high)")
        numbers = [float(part) for part in parts]
        if not all(map(math.isfinite, numbers)):
            continue  # NaN and infinity refuse
        if len(numbers) == 3 and not numbers[1] <= numbers[2]:
            raise ValueError(f"{name} = {entry!r:.60}: low must not be above high")
        values[str(name)] = Interval(*numbers)
    return TaskAnswer(values, seconds, "" if values else "refused")


@dataclass
class Score:
    """Figures of one estimator over the values of some tasks, in shares of each value's scale."""

    errors: list[float] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    holding: list[bool] = field(default_factory=list)
    costs: list[float] = field(default_factory=list)
    by_seed: dict[int, list[float]] = field(default_factory=dict)
    refused: int = 0
    seconds: list[float] = field(default_factory=list)

    def add(self, task: BenchTask, answer: TaskAnswer) -> None:
        self.seconds.append(answer.seconds)
        before = len(self.costs)
        self._add_values(task, answer)
        self.by_seed.setdefault(task.seed, []).extend(self.costs[before:])

    def _add_values(self, task: BenchTask, answer: TaskAnswer) -> None:
        for name, truth in task.truth.items():
            said, scale = answer.values.get(name), task.scale[name]
            if said is None:
                self.refused += 1
                self.costs.append(REFUSAL)
                continue
            low, high = said.low, said.high
            if low is None or high is None:
                low, high = said.value - CLAIM * scale, said.value + CLAIM * scale
            else:
                self.widths.append(0.5 * (high - low) / scale)
            miss = max(low - truth, truth - high, 0.0)
            self.errors.append(abs(said.value - truth) / scale)
            self.holding.append(miss == 0.0)
            self.costs.append(min(1.0, (high - low + 2.0 / LEVEL * miss) / scale))

    @property
    def cost(self) -> float:
        """Mean cost of a value."""
        return float(np.mean(self.costs)) if self.costs else math.nan

    @property
    def spread(self) -> float:
        """Standard deviation of the cost over the seeds; NaN for a single one."""
        costs = [float(np.mean(each)) for each in self.by_seed.values()]
        return float(np.std(costs, ddof=1)) if len(costs) > 1 else math.nan

    @property
    def cost_text(self) -> str:
        """The cost, with its spread over the seeds if there are several."""
        return f"{self.cost:.3f}" + ("" if math.isnan(self.spread) else f" ± {self.spread:.3f}")

    @property
    def has_intervals(self) -> bool:
        return bool(self.widths)

    def cells(self) -> tuple[str, ...]:
        median, most = (_percent(self.errors, q) for q in (50.0, 95.0))
        total = len(self.costs)
        holds = f"{100.0 * float(np.mean(self.holding)):.0f}" if self.holding else "–"
        known = [each for each in self.seconds if math.isfinite(each)]
        return (
            self.cost_text,
            median,
            most,
            holds if self.has_intervals else f"({holds})",
            _percent(self.widths, 50.0),
            f"{100.0 * self.refused / total:.0f}" if total else "–",
            f"{float(np.median(known)):.2g}" if known else "–",
        )


COLUMNS = (
    "cost",
    "error, %",
    "95 % of errors below, %",
    "holds, %",
    "half width, %",
    "refused, %",
    "CPU, s",
)
"""Of a leaderboard; `holds` is in brackets where the claim of CLAIM replaces an interval."""


def _percent(shares: Sequence[float], percentile: float) -> str:
    return f"{100.0 * float(np.percentile(shares, percentile)):.3g}" if shares else "–"


def score(tasks: Iterable[BenchTask], answers: Mapping[str, TaskAnswer]) -> Score:
    """Return the score of the answers, by the names of the tasks; a missing one is a refusal."""
    result = Score()
    for task in tasks:
        result.add(task, answers.get(task.record.task, TaskAnswer({})))
    return result
