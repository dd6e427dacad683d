# SPDX-License-Identifier: Apache-2.0
"""Which rows of a table count: conditions on its columns, such as "mode=auto" or "v>0 or w>0"."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from diffbot_ident.recording.samples import RecordingError

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
    """A comparison of one column; by number where both sides are numbers, else by text."""

    column: str
    sign: str
    value: str

    def holds(self, text: str) -> bool:
        """Whether a cell fulfils it; one without a number has no order, and only equals itself."""
        compare = _OPERATORS[self.sign]
        try:
            return compare(float(text.replace(",", ".")), float(self.value.replace(",", ".")))
        except ValueError:
            return self.sign in ("=", "==", "!=") and compare(text.strip(), self.value)


@dataclass(frozen=True)
class RowFilter:
    """Alternatives, one of which has to hold in each of several conditions.

    Attributes:
        groups: all have to hold; of the conditions inside one, any.
    """

    groups: tuple[tuple[Condition, ...], ...] = ()

    @classmethod
    def parse(cls, texts: Sequence[str]) -> RowFilter:
        """The filter of texts that all have to hold, each "COLUMN OPERATOR VALUE [or ...]".

        Raises:
            RecordingError: a text is no condition.
        """
        return cls(tuple(tuple(map(_condition, re.split(r"\sor\s", text))) for text in texts))

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are compared."""
        return tuple({c.column: None for group in self.groups for c in group})

    def holds(self, cells: Mapping[str, str]) -> bool:
        """Whether a row fulfils it.

        Args:
            cells: text by column.
        """
        return all(any(c.holds(cells[c.column]) for c in group) for group in self.groups)


def _condition(text: str) -> Condition:
    found = _CONDITION.fullmatch(text.strip())
    if found is None or not found[1].strip() or found[3].strip()[:1] in tuple("=!<>"):
        raise RecordingError(
            f"--where {text!r}: must be COLUMN, one of = != < <= > >=, and a value, such as "
            '"state=calib" or "cmd_v!=0 or cmd_w!=0"; two operators make none'
        )
    column, sign, value = found.groups()
    return Condition(column.strip(), sign, value.strip())
