# SPDX-License-Identifier: Apache-2.0
"""Filter the rows of a table by conditions on its columns: "mode=auto" or "v>0 or w>0"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffbot_recordings.samples import RecordingError

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "=": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_CONDITION = re.compile(r"(.+?)(!=|<=|>=|==|=|<|>)(.*)", re.DOTALL)


@dataclass(frozen=True)
class Condition:
    """Comparison of a column with a value; as numbers if both are numbers, otherwise as texts."""

    column: str
    sign: str
    value: str

    def holds(self, text: str) -> bool:
        """Whether a cell fulfils the condition; texts can only be equal or not, never < or >."""
        compare = _OPERATORS[self.sign]
        try:
            return compare(float(text.replace(",", ".")), float(self.value.replace(",", ".")))
        except ValueError:
            return self.sign in ("=", "==", "!=") and compare(text.strip(), self.value)


@dataclass(frozen=True)
class RowFilter:
    """Conditions that a row must fulfil: at least one of each group."""

    groups: tuple[tuple[Condition, ...], ...] = ()

    @classmethod
    def parse(cls, texts: Sequence[str]) -> RowFilter:
        """Parse texts that must all hold: "COLUMN OPERATOR VALUE [or ...]"; or RecordingError."""
        return cls(tuple(tuple(map(_condition, re.split(r"\sor\s", text))) for text in texts))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are compared."""
        return tuple({c.column: None for group in self.groups for c in group})

    def holds(self, cells: Mapping[str, str]) -> bool:
        """Whether a row passes the filter."""
        return all(any(c.holds(cells[c.column]) for c in group) for group in self.groups)


def _condition(text: str) -> Condition:
    match = _CONDITION.fullmatch(text.strip())
    if match is None or not match[1].strip() or match[3].strip()[:1] in tuple("=!<>"):
        raise RecordingError(
            f"--where {text!r}: must be COLUMN, one of = != < <= > >=, and a value, such as "
            '"state=calib" or "cmd_v!=0 or cmd_w!=0"; only one operator per condition'
        )
    column, sign, value = match.groups()
    return Condition(column.strip(), sign, value.strip())
