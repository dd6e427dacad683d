"""Comma-separated tables as streams."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from diffbot_ident.recording.column_map import TIME, Column, columns_of
from diffbot_ident.recording.losses import FILTERED
from diffbot_ident.recording.row_filter import RowFilter
from diffbot_ident.recording.stream import BLOCK, COMMANDS, Block, Progress, RecordingError

# Sizes from which a stamp since 1970 is not in seconds, and the units it then is in.
STAMP_UNITS = ((1e17, 1e-9, "nanoseconds"), (1e14, 1e-6, "microseconds"), (1e11, 1e-3, "ms"))
MANY = 12  # columns that a message lists at most


class CsvSource:
    """A table with a header. Channels and time as in column_map; see stream.Source.

    A row counts for its commands where these are numbers, and for what was measured where that is;
    tables of several topics leave cells empty.

    Args:
        path: of the file.
        chosen: columns that the user named.
        rows: which rows count.

    Raises:
        RecordingError: it is no table, has no time, or none of the channels.
    """

    def __init__(self, path: Path, chosen: Mapping[str, Column], rows: RowFilter) -> None:
        self._path = path
        self._rows = rows
        self._done = 0
        self._total = path.stat().st_size
        self._bad = 0
        self.filtered = 0
        self.warnings: list[str] = []
        self._header, self._delimiter = _header(path)
        self._columns = columns_of(self._header, chosen)
        listed = ", ".join(self._header[:MANY]) + (", …" if len(self._header) > MANY else "")
        if TIME not in self._columns:
            raise RecordingError(
                f"{path}: no column holds the time; name it with --columns time=COLUMN. Columns: "
                f"{listed}"
            )
        self.channels = tuple(channel for channel in self._columns if channel != TIME)
        self.unknown = f"{path} has the columns {listed}"
        self._check_filter(listed)
        self._scale = self._time_scale()
        pairs = ", ".join(f"{k} = {self._columns[k].name}" for k in self.channels)
        self.name = f"{path.name} ({pairs or 'no channel'})"

    def _check_filter(self, listed: str) -> None:
        for name in self._rows.columns:
            if name not in self._header:
                raise RecordingError(
                    f"--where {name}: {self._path} has no such column; columns: {listed}"
                )

    @property
    def progress(self) -> Progress:
        """Bytes read, and all."""
        return Progress(self._done, self._total)

    def blocks(self) -> Iterator[Block]:
        """See stream.Source."""
        kinds = [
            tuple(name for name in self.channels if (name in COMMANDS) == held)
            for held in (True, False)
        ]
        kept: list[list[float]] = []
        for row in self._table_rows():
            kept.append(row)
            if len(kept) == BLOCK:
                yield from self._of(kept, kinds)
                kept = []
        if kept:
            yield from self._of(kept, kinds)
        if self._bad:
            self.warnings.append(f"{self._path.name}: {self._bad} rows without a time left out")
        if self.filtered:
            self.warnings.append(f"{self._path.name}: {self.filtered} {FILTERED}")

    def _of(self, kept: list[list[float]], kinds: list[tuple[str, ...]]) -> Iterator[Block]:
        table = np.array(kept)
        for names in kinds:
            if not names:
                continue
            columns = [1 + self.channels.index(name) for name in names]
            there = np.isfinite(table[:, columns]).all(axis=1)
            part = table[there]
            if len(part):
                values = {
                    name: part[:, column] * self._columns[name].factor
                    for name, column in zip(names, columns, strict=True)
                }
                yield Block(part[:, 0] * self._scale, values)

    def _table_rows(self) -> Iterator[list[float]]:
        """Rows of [time, channels...] that the filter lets pass; NaN where there is no number."""
        names = [TIME, *self.channels]
        indices = [self._header.index(self._columns[name].name) for name in names]
        tested = {name: self._header.index(name) for name in self._rows.columns}
        for cells in self._cells():
            # The last row of a file that was cut off is not what it was.
            if len(cells) != len(self._header):
                self._bad += bool(cells)
                continue
            if tested and not self._rows.holds({k: cells[i] for k, i in tested.items()}):
                self.filtered += 1
                continue
            row = [self._number(cells[i]) for i in indices]
            if math.isfinite(row[0]):
                yield row
            else:
                self._bad += 1

    def _cells(self) -> Iterator[list[str]]:
        """Cells of each row; what is none, such as an endless cell, counts as a bad row."""
        reader = csv.reader(self._lines(), delimiter=self._delimiter)
        while True:
            try:
                yield next(reader)
            except StopIteration:
                return
            except csv.Error:
                self._bad += 1

    def _lines(self) -> Iterator[str]:
        with self._path.open("rb") as file:
            for i, line in enumerate(file):
                self._done += len(line)
                if i:
                    yield line.decode("utf-8", "replace")

    def _number(self, text: str) -> float:
        try:
            return float(text)
        except ValueError:
            pass
        try:
            # Where ; separates the columns, a comma may be the decimal point.
            return float(text.replace(",", ".")) if self._delimiter != "," else math.nan
        except ValueError:
            return math.nan

    def _time_scale(self) -> float:
        column = self._columns[TIME]
        if column.factor != 1.0:
            return column.factor
        index = self._header.index(column.name)
        with self._path.open("rb") as file:
            file.readline()
            line = file.readline().decode("utf-8", "replace")
        try:
            cells = next(csv.reader([line], delimiter=self._delimiter), [])
        except csv.Error:  # counted as a bad row by _cells
            cells = []
        first = self._number(cells[index]) if index < len(cells) else math.nan
        for least, factor, unit in STAMP_UNITS:
            if least < abs(first) < math.inf:
                self.warnings.append(f"{self._path.name}: {column.name} read as {unit}")
                return factor
        return 1.0


def _header(path: Path) -> tuple[list[str], str]:
    """Names of the columns, and what separates them."""
    with path.open("rb") as file:
        line = file.readline(65536)
    text = line.decode("utf-8-sig", "replace").strip()
    delimiter = max(",;\t|", key=text.count)
    try:
        names = [name.strip() for name in next(csv.reader([text], delimiter=delimiter), [])]
    except csv.Error:
        names = []
    if b"\0" in line or len(names) < 2:
        raise RecordingError(
            f"{path}: not a table: its first line must name two or more columns, separated by "
            "comma, semicolon, tab or |"
        )
    return names, delimiter
