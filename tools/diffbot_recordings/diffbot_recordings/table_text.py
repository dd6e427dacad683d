# SPDX-License-Identifier: Apache-2.0
"""Read the text of a table: encoding, comments, header, delimiter, decimal commas."""

from __future__ import annotations

import codecs
import csv
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffbot_description.limits import COLUMNS, COMMENTS, LINE
from diffbot_recordings.samples import RecordingError

# First bytes that show the format, and most lines before the header.
BEGINNING, BEFORE = 1 << 20, 200
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|", " ": "spaces"}
# Byte order marks, with encoding and bytes of a character.
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", 1),
    (codecs.BOM_UTF16_LE, "utf-16", 2),
    (codecs.BOM_UTF16_BE, "utf-16", 2),
)
_COMMENT = ("#", "%", "//")
# Characters that begin most rows: neither a comment nor an empty line.
_OF_NUMBERS = frozenset("0123456789-")
# A number with a decimal comma: in a quoted cell, or in a table with another delimiter.
_DATE = re.compile(r"\s*(\d{4}-\d\d-\d\d)[ T](\d\d:\d\d:\d\d(?:[.,]\d{1,9})?)Z?\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+(?:[eE][-+]?\d+)?\s*")


@dataclass
class TableText:
    """Format of a table's text.

    Attributes:
        first: Cells of the first row; empty if there is no row.
        delimiter: " " stands for any white space.
        skipped: Number of lines before the first row.
        width: Approximate number of bytes of a character.
        done: Approximate number of bytes read so far.
        numbered: Whether there is no header: the columns' names are then their numbers from 1.
    """

    path: Path
    header: list[str]
    first: list[str]
    delimiter: str
    skipped: int
    encoding: str
    width: int
    done: int = 0
    numbered: bool = False

    @classmethod
    def of(cls, path: Path) -> TableText:
        """Detect the format from a file's beginning. Raises RecordingError if it is no table."""
        with path.open("rb") as file:
            data = file.read(BEGINNING)
        encoding, width = next(
            ((name, size) for mark, name, size in _MARKS if data.startswith(mark)), ("utf-8", 1)
        )
        lines = data.decode(encoding, "replace").split("\n")
        at, header = _header(lines)
        wrong = f"{path}: not a table: its first line must name two or more columns, separated by "
        wrong += "comma, semicolon, tab, | or spaces"
        if header is None or (width == 1 and "\0" in lines[at]):
            raise RecordingError(wrong)
        delimiter = _delimiter(header)
        names = [name.strip() for name in _cells(header, delimiter)]
        if len(names) < 2:
            raise RecordingError(wrong)
        if len(names) > COLUMNS.value:
            raise RecordingError(f"{path}: {COLUMNS.error(len(names))}")
        if sum(math.isfinite(number(name)) for name in names) > len(names) // 2:
            numbers = [str(i) for i in range(1, len(names) + 1)]
            return cls(path, numbers, names, delimiter, at, encoding, width, numbered=True)
        row = next((line for line in lines[at + 1 :] if not _skipped(line)), "")
        return cls(path, names, _cells(row, delimiter), delimiter, at + 1, encoding, width)

    def rows(self) -> Iterator[list[str] | None]:
        """Yield the cells of each row; None for a row that cannot be parsed. Skip comments.

        Raises RecordingError beyond a limit.
        """
        spaces = self.delimiter == " "
        reader = csv.reader(self._lines(), delimiter=self.delimiter, skipinitialspace=spaces)
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error:
                yield None
                continue
            if spaces and cells and cells[-1] == "":
                cells.pop()
            yield cells

    def _lines(self) -> Iterator[str]:
        self.done = comments = 0
        with self.path.open(encoding=self.encoding, errors="replace", newline="\n") as file:
            lines = iter(lambda: file.readline(LINE.value + 1), "")
            for i, line in enumerate(lines):
                if len(line) > LINE.value:
                    raise RecordingError(f"{self.path}: line {i + 1}: {LINE.error()}")
                self.done += self.width * len(line)
                if i < self.skipped:
                    continue
                if line[0] not in _OF_NUMBERS and _skipped(line):
                    comments += 1
                    if comments > COMMENTS.value:
                        raise RecordingError(f"{self.path}: {COMMENTS.error()}")
                    continue
                yield line.replace("\t", " ") if self.delimiter == " " else line


def number(text: str) -> float:
    """Return the number in a cell, with a decimal point or comma; NaN if there is none."""
    try:
        return float(text)
    except ValueError:
        if _DECIMAL_COMMA.fullmatch(text):
            return float(text.replace(",", "."))
        return math.nan


def moment(text: str) -> float:
    """Return the time in a cell: a number, or s since 1970 of 2026-01-31 12:00:00.02; else NaN."""
    if (match := _DATE.fullmatch(text)) is None:
        return number(text)
    clock = match[2].replace(",", ".")
    try:
        return float(seconds_of(np.datetime64(f"{match[1]}T{clock}")))
    except ValueError:  # no such day or hour
        return math.nan


def seconds_of(dates: Any) -> Any:
    """Return the s since 1970 of NumPy's dates; NaT is NaN."""
    nanoseconds = np.asarray(dates).astype("datetime64[ns]")
    return np.where(np.isnat(nanoseconds), math.nan, 1e-9 * nanoseconds.astype(np.int64))


def _skipped(line: str) -> bool:
    text = line.strip()
    return not text or text.startswith(_COMMENT)


def _header(lines: list[str]) -> tuple[int, str | None]:
    comment: tuple[int, str] | None = None
    for i, line in enumerate(lines[:BEFORE]):
        text = line.strip()
        if text.lower().startswith("sep=") and len(text) == 5:
            continue  # a hint to a spreadsheet
        if text.startswith(_COMMENT):
            comment = i, text.lstrip("#%/ ")
        elif text:
            # Some tables have the names in a comment above the numbers.
            delimiter = _delimiter(text)
            own = _cells(text, delimiter)
            if comment is not None and own and all(math.isfinite(number(c)) for c in own):
                above = _cells(comment[1], _delimiter(comment[1]))
                if len(above) == len(own):
                    return comment[0], delimiter.join(above)
            return i, text
    return 0, None


def _delimiter(line: str) -> str:
    bare = re.sub(r'"[^"]*"', "", line)
    best = max(",;\t|", key=bare.count)
    return best if bare.count(best) else " "


def _cells(line: str, delimiter: str) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=delimiter, skipinitialspace=delimiter == " "), [])
    except csv.Error:
        return []
