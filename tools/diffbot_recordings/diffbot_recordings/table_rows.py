# SPDX-License-Identifier: Apache-2.0
"""The rows of a table as numbers, and which of them, and of their cells, are left out."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from diffbot_recordings.row_filter import RowFilter
from diffbot_recordings.samples import Mask, RecordingError
from diffbot_recordings.table_columns import TIME, Column
from diffbot_recordings.table_text import TableText, moment, number

# Why rows are left out, for people.
NO_TIME = "without a time or with other than {} cells"
NO_NUMBER = "with a number missing or unreadable"
BACK, DOUBLED = "whose time goes back", "with the time of a row before"
# Cells without a number, and characters of other texts that a warning quotes.
EMPTY, SHOWN = ("", "nan", "none", "null", "na", "n/a", "-", "inf", "-inf", "infinity"), 20


class TableRows:
    """Reads the rows [time, channels...] that pass the filter; NaN where there is no number.

    Attributes:
        done: Number of bytes that were read.
        read: Number of rows that passed the filter.
        left_out: Numbers of rows that are left out, by cause.
    """

    def __init__(
        self, name: str, text: TableText, columns: Mapping[str, Column], rows: RowFilter
    ) -> None:
        self.done = self.read = self.filtered = 0
        self.left_out: Counter[str] = Counter()
        self._name, self._text, self._columns, self._filter = name, text, columns, rows
        self._channels = tuple(channel for channel in columns if channel != TIME)
        self._text_cells = dict.fromkeys(self._channels, 0)
        # Rows without a missing number, and by channel numbers in other rows.
        self._whole, self._numbers = 0, dict.fromkeys(self._channels, 0)
        self._example: dict[str, str] = {}

    def __iter__(self) -> Iterator[list[float]]:
        """Yield the rows [time, channels...] that pass the filter; NaN where there is no number."""
        names = [TIME, *self._channels]
        indices = [self._text.header.index(self._columns[name].name) for name in names]
        tested = {name: self._text.header.index(name) for name in self._filter.columns}
        width = len(self._text.header)
        for cells in self._text.rows():
            self.done = self._text.done
            # The last row of a truncated file may be incomplete.
            if cells is None or len(cells) != width:
                self.left_out[NO_TIME] += cells is None or bool(cells)
                continue
            if tested and not self._filter.holds({k: cells[i] for k, i in tested.items()}):
                self.filtered += 1
                continue
            try:
                row = [float(cells[i]) for i in indices]  # nearly always numbers
            except ValueError:
                row = [moment(cells[indices[0]]), *(number(cells[i]) for i in indices[1:])]
            if not math.isfinite(row[0]):
                self.left_out[NO_TIME] += 1
                continue
            self.read += 1
            if math.isfinite(sum(row)):  # nearly always
                self._whole += 1
                yield row
                continue
            for channel, value, i in zip(self._channels, row[1:], indices[1:], strict=True):
                if math.isfinite(value):
                    self._numbers[channel] += 1
                elif cells[i].strip().lower() not in EMPTY:
                    self._text_cells[channel] += 1
                    self._example.setdefault(channel, cells[i].strip()[:SHOWN])
            yield row

    def count(self, missing: Mask, back: Mask, doubled: Mask) -> None:
        """Count the rows that are left out, each under one cause."""
        for cause, rows in (
            (NO_NUMBER, missing),
            (BACK, back & ~missing),
            (DOUBLED, doubled & ~back & ~missing),
        ):
            self.left_out[cause] += int(np.count_nonzero(rows))

    def warnings(self) -> Iterator[str]:
        """Yield warnings about what was left out, at the end, or RecordingError for text."""
        name = self._name
        for channel, texts in self._text_cells.items():
            column = self._columns[channel].name
            if texts and not self._whole + self._numbers[channel]:
                raise RecordingError(
                    f"{name}: {column} ({channel}): none of its cells is a number; they hold text "
                    f"such as {self._example[channel]!r}; choose another with --columns "
                    f"{channel}=COLUMN"
                )
            if texts:
                yield (
                    f"{name}: {texts} cells of {column} are not numbers, such as "
                    f"{self._example[channel]!r}"
                )
        if self.left_out.total():
            yield self._left_out_warning()
        if self.filtered:
            yield f"{name}: {self.filtered} rows excluded by --where"

    def _left_out_warning(self) -> str:
        cells, bad = len(self._text.header), self.left_out[NO_TIME]
        causes = ", ".join(f"{n} {cause.format(cells)}" for cause, n in self.left_out.items() if n)
        hint = ""
        if bad > self.read:
            hint = (
                f"; its header has {cells} cells: decimal commas in a table that commas separate? "
                "Save it with semicolons"
            )
        return (
            f"{self._name}: {self.left_out.total()} rows ignored of {self.read + bad}: "
            f"{causes}{hint}"
        )
