# SPDX-License-Identifier: Apache-2.0
"""The rows of a table: text, one row per joint, filter, numbers, and what is left out.

Of a table with one row per joint each column X becomes `left_X` and `right_X` of one row per
reading: rows of equal time, or of the wheel that leads and the one that follows soonest.
"""

from __future__ import annotations

import codecs
import csv
import math
import operator
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from diffbot_description.limits import COLUMNS, COMMENTS, LINE, UNREADABLE
from diffbot_recordings.bag_topics import Sides
from diffbot_recordings.samples import WHEELS, Mask, RecordingError
from diffbot_recordings.table_columns import KNOWN, TIME, Column, bare, columns_of

# First bytes that show the format, and most lines before the header.
BEGINNING, BEFORE = 1 << 20, 200
DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "|", " ": "spaces"}
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
        width, done: Bytes of a character, and bytes read so far, about.
        numbered: Whether there is no header: columns are then named by their numbers from 1.
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
        return tuple({c.column: None for group in self.groups for c in group})

    def holds(self, cells: Mapping[str, str]) -> bool:
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


NAMES = ("name", "joint", "joint_name", "joint_names", "wheel", "motor", "actuator")
SEARCHED = 400

FindWheels = Callable[[Sequence[str]], Sides]
"""Returns the joints of the left and the right wheel among all names; RecordingError: none."""


def readings_of(
    text: TableText, find: FindWheels, chosen: Mapping[str, Column] = MappingProxyType({})
) -> TableText:
    """Return a table with one row per reading; the given one if it has.

    Args:
        find: Finds the wheels among the joints, or raises RecordingError.
        chosen: Columns that the user named.
    """
    name, time = _column_of_names(text), columns_of(text.header, chosen).get(TIME)
    if name is None or time is None:
        return text
    rows = [row for row in islice(text.rows(), SEARCHED) if row and len(row) == len(text.header)]
    names = list(dict.fromkeys(row[name].strip() for row in rows))
    text.done = 0
    try:
        left, right = find(names)
    except RecordingError as error:
        if math.isfinite(number(text.first[name])):  # numbers are joints if somebody says so
            return text
        raise RecordingError(f"{text.path}: one row per joint: {error}") from None
    if len(left) > 1 or len(right) > 1:
        raise RecordingError(
            f"{text.path}: one row per joint, and {', '.join((*left, *right))} are the wheels: "
            "name one of each side with --left-joint and --right-joint"
        )
    wheels, at = (left[0], right[0]), text.header.index(time.name)
    seen = [(row[name].strip(), moment(row[at])) for row in rows if row[name].strip() in wheels]
    return JointRows(text, name, at, wheels, _Pacing.of(seen))


def _column_of_names(text: TableText) -> int | None:
    names = [bare(column) for column in text.header]
    sides = {known for every in KNOWN.values() for known in every}
    if not any(f"left_{name}" in sides for name in names) or {*names} & {*sides} & _OF_WHEELS:
        return None
    for i, name in enumerate(names):
        if name in NAMES and i < len(text.first):
            return i
    return None


_OF_WHEELS = {
    name for channel, names in KNOWN.items() if channel.startswith(("left", "right"))
    for name in names
}  # fmt: skip


class JointRows(TableText):
    """The readings of a table with one row per joint; `name` and `time` are indices of columns."""

    def __init__(
        self, text: TableText, name: int, time: int, wheels: tuple[str, str], pacing: _Pacing
    ) -> None:
        self._text, self._name, self._time, self._wheels = text, name, time, wheels
        self._pacing = pacing
        fields = [column for i, column in enumerate(text.header) if i != name]
        header = [*text.header, *(f"{side}_{x}" for side in ("left", "right") for x in fields)]
        super().__init__(
            text.path,
            header,
            [*text.first, *[""] * (len(header) - len(text.header))],
            text.delimiter,
            text.skipped,
            text.encoding,
            text.width,
        )

    def rows(self) -> Iterator[list[str] | None]:
        """Yield the readings; None for a row that cannot be parsed. See TableText.rows."""
        first: tuple[str, float, list[str]] | None = None  # joint, time and cells of the last row
        for cells in self._text.rows():
            self.done = self._text.done
            if cells is None or len(cells) != len(self._text.header):
                yield cells
                continue
            joint, time = cells[self._name].strip(), moment(cells[self._time])
            if joint not in self._wheels:
                continue
            own = [cell for i, cell in enumerate(cells) if i != self._name]
            if first is not None and self._pacing.together(first[:2], (joint, time)):
                left, right = (own if wheel == joint else first[2] for wheel in self._wheels)
                yield [*cells, *left, *right]
                first = None
            else:
                first = joint, time, own


@dataclass(frozen=True)
class _Pacing:
    leader: str | None
    longest: float

    @classmethod
    def of(cls, rows: Sequence[tuple[str, float]]) -> _Pacing:
        after: dict[str, list[float]] = {}
        for (joint, time), (other, later) in zip(rows[:-1], rows[1:], strict=True):
            if other != joint and math.isfinite(later - time):
                after.setdefault(joint, []).append(later - time)
        usual = {joint: sorted(steps)[len(steps) // 2] for joint, steps in after.items()}
        if len(usual) < 2:
            return cls(None, math.inf)
        leader = min(usual, key=lambda joint: usual[joint])
        return cls(leader, 0.5 * sum(usual.values()))

    def together(self, first: tuple[str, float], second: tuple[str, float]) -> bool:
        if first[0] == second[0]:
            return False
        if first[1] == second[1] or self.leader is None:
            return True
        return first[0] == self.leader and abs(second[1] - first[1]) < self.longest


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
        self.done = self.read = self.filtered = self._ragged = 0
        self.left_out: Counter[str] = Counter()
        self._name, self._text, self._columns, self._filter = name, text, columns, rows
        self._channels = tuple(channel for channel in columns if channel != TIME)
        self._text_cells = dict.fromkeys(self._channels, 0)
        # Rows without a missing number, and by channel numbers in other rows.
        self._whole, self._numbers = 0, dict.fromkeys(self._channels, 0)
        self._example: dict[str, str] = {}

    def __iter__(self) -> Iterator[list[float]]:
        names = [TIME, *self._channels]
        indices = [self._text.header.index(self._columns[name].name) for name in names]
        tested = {name: self._text.header.index(name) for name in self._filter.columns}
        width = len(self._text.header)
        for cells in self._text.rows():
            self.done = self._text.done
            # The last row of a truncated file may be incomplete.
            if cells is None or len(cells) != width:
                self._ragged += bool(cells)
                self._leave_out(cells is None or bool(cells))
                continue
            if tested and not self._filter.holds({k: cells[i] for k, i in tested.items()}):
                self.filtered += 1
                continue
            try:
                row = [float(cells[i]) for i in indices]  # nearly always numbers
            except ValueError:
                row = [moment(cells[indices[0]]), *(number(cells[i]) for i in indices[1:])]
            if not math.isfinite(row[0]):
                self._leave_out()
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

    def _leave_out(self, rows: int = 1) -> None:
        self.left_out[NO_TIME] += rows
        if self.left_out[NO_TIME] > UNREADABLE.value:
            raise RecordingError(f"{self._name}: {UNREADABLE.error()}")

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
            empty = self.read and not self._whole + self._numbers[channel]
            if empty and not texts and channel not in WHEELS:  # wheels need no velocities
                yield (
                    f"{name}: none of {self.read} cells of {column} ({channel}) holds a number; "
                    f"choose another with --columns {channel}=COLUMN"
                )
        if self.left_out.total():
            yield self._left_out_warning()
        if self.filtered:
            yield f"{name}: {self.filtered} rows excluded by --where"

    def _left_out_warning(self) -> str:
        cells, bad = len(self._text.header), self.left_out[NO_TIME]
        causes = ", ".join(f"{n} {cause.format(cells)}" for cause, n in self.left_out.items() if n)
        hint = ""
        if self._ragged > max(self.read, bad // 2):
            hint = (
                f"; its header has {cells} cells: decimal commas in a table that commas separate? "
                "Save it with semicolons"
            )
        return (
            f"{self._name}: {self.left_out.total()} rows ignored of {self.read + bad}: "
            f"{causes}{hint}"
        )
