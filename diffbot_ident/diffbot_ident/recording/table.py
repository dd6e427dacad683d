"""Tables (CSV) as samples: their columns by name, the rows that count, and what to read of them.

Several tables are of one robot and clock, or runs of it if each has all that is needed.
"""

from __future__ import annotations

import csv
import math
import operator
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from diffbot_ident.recording.options import (
    AUTO,
    TORQUE,
    VELOCITY,
    Options,
    geometry_of,
    needed_geometry,
)
from diffbot_ident.recording.samples import (
    BLOCK,
    COMMANDS,
    EFFORTS,
    MEASURED,
    POSITIONS,
    SET_BACK,
    TORQUE_COMMANDS,
    WHEELS,
    Array,
    Block,
    Recording,
    RecordingError,
)

TIME = "time"
CHANNELS = (TIME, *COMMANDS, *MEASURED)
# Command and velocity of each axis.
AXES = (("command_v", "v"), ("command_w", "w"))

# Names that columns are known by without being told, in order of preference; case does not matter.
KNOWN: Mapping[str, tuple[str, ...]] = {
    TIME: ("time", "t", "t_s", "time_s", "timestamp", "stamp", "__time", "seconds", "sec"),
    "command_v": ("command_v", "cmd_v", "v_cmd", "cmd_vel_x", "cmd_vel.linear.x", "v_ref"),
    "command_w": (
        "command_w",
        "cmd_w",
        "w_cmd",
        "cmd_omega",
        "cmd_vel_omega",
        "cmd_vel.angular.z",
        "w_ref",
    ),
    "command_left": ("command_left", "cmd_left", "effort_command_left"),
    "command_right": ("command_right", "cmd_right", "effort_command_right"),
    "v": ("v", "speed", "linear_velocity", "odom_v", "odom.twist.twist.linear.x"),
    "w": ("w", "omega", "yaw_rate", "angular_velocity", "odom_w", "odom.twist.twist.angular.z"),
    "left_position": ("left_position", "left_angle"),
    "right_position": ("right_position", "right_angle"),
    "left_velocity": ("left_velocity", "meas_left_vel", "left_wheel_velocity"),
    "right_velocity": ("right_velocity", "meas_right_vel", "right_wheel_velocity"),
    "left_effort": ("left_effort", "left_torque"),
    "right_effort": ("right_effort", "right_torque"),
}
# Factors into SI that have a name.
FACTORS = {"pi": math.pi, "2pi": math.tau, "deg": math.pi / 180.0, "rpm": math.tau / 60.0}

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

# Sizes from which a stamp since 1970 is not in seconds, and the units it then is in.
STAMP_UNITS = ((1e17, 1e-9, "nanoseconds"), (1e14, 1e-6, "microseconds"), (1e11, 1e-3, "ms"))
# Columns that a message lists at most.
MANY = 12
# Bytes of the first line, and of the first row, that are looked at.
LONGEST_HEADER = 65536


def open_tables(paths: Sequence[Path], options: Options) -> Recording:
    """Sources of tables.

    Raises:
        RecordingError: they cannot be read, or columns are missing.
    """
    chosen, rows = parse_columns(options.columns), RowFilter.parse(options.where)
    tables = [CsvSource(path, chosen, rows) for path in paths]
    _check_chosen(tables, chosen)
    have = {name for table in tables for name in table.channels}
    kind = options.kind
    if kind == AUTO:
        torques = {*EFFORTS} <= have or {*TORQUE_COMMANDS} <= have
        kind = TORQUE if torques and {*POSITIONS} <= have else VELOCITY
    needed = _torque_channels(have, options) if kind == TORQUE else _velocity_channels(have)
    if not needed:
        raise RecordingError(_missing(kind, tables, have))
    from_wheels: tuple[str, ...] = ()
    if kind == TORQUE:
        needed_geometry(options, "to turn angles into motion")
    elif from_wheels := tuple(n for n in needed if n in ("v", "w") and n not in have):
        needed_geometry(options, "to turn wheel speeds into motion")
        needed = (*needed, *WHEELS)
    return Recording(
        kind,
        tables,
        needed,
        geometry_of(options),
        from_wheels=from_wheels,
        notes=[f"kind of robot: {kind}"],
    )


def _check_chosen(tables: Sequence[CsvSource], chosen: Mapping[str, Column]) -> None:
    for channel, column in chosen.items():
        if channel != TIME and not any(channel in table.channels for table in tables):
            raise RecordingError(
                f"--columns {channel}={column.name}: no such column; "
                + "; ".join(table.unknown for table in tables)
            )


def _torque_channels(have: set[str], options: Options) -> tuple[str, ...]:
    efforts = {"joint_states": (EFFORTS,), "commands": (TORQUE_COMMANDS,)}.get(
        options.effort_source, (EFFORTS, TORQUE_COMMANDS)
    )
    torque = next((pair for pair in efforts if {*pair} <= have), ())
    if not torque or not {*POSITIONS} <= have:
        return ()
    return (*POSITIONS, *torque, *(WHEELS if {*WHEELS} <= have else ()))


def _velocity_channels(have: set[str]) -> tuple[str, ...]:
    """Both axes, or the one that there is."""
    known = have | ({"v", "w"} if {*WHEELS} <= have else set())
    return tuple(name for axis in AXES if {*axis} <= known for name in axis)


def _missing(kind: str, tables: Sequence[CsvSource], have: set[str]) -> str:
    needs = (
        "left_position, right_position, and left_effort, right_effort or command_left, "
        "command_right"
        if kind == TORQUE
        else "command_v and v, or command_w and w; left_velocity and right_velocity (rad/s) may "
        "stand for v and w"
    )
    return (
        f"a {kind} robot needs {needs}; found {', '.join(sorted(have)) or 'none of them'}. "
        "Name columns with --columns CHANNEL=COLUMN,…; "
        + "; ".join(table.unknown for table in tables)
    )


class CsvSource:
    """A table with a header; see samples.Source.

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
        self.done = 0
        self.total = path.stat().st_size
        self._bad = 0
        self.filtered = 0
        self.warnings: list[str] = []
        self._header, first, self._delimiter = _beginning(path)
        self._columns = columns_of(self._header, chosen)
        listed = ", ".join(self._header[:MANY]) + (", …" if len(self._header) > MANY else "")
        if TIME not in self._columns:
            raise RecordingError(
                f"{path}: no column holds the time; name it with --columns time=COLUMN. Columns: "
                f"{listed}"
            )
        self.channels = tuple(channel for channel in self._columns if channel != TIME)
        self.unknown = f"{path} has the columns {listed}"
        for name in rows.columns:
            if name not in self._header:
                raise RecordingError(
                    f"--where {name}: {path} has no such column; columns: {listed}"
                )
        self._scale = self._time_scale(first)
        pairs = ", ".join(f"{k} = {self._columns[k].name}" for k in self.channels)
        self.name = f"{path.name} ({pairs or 'no channel'})"

    def blocks(self) -> Iterator[Block]:
        """See samples.Source."""
        kept: list[list[float]] = []
        for row in self._table_rows():
            kept.append(row)
            if len(kept) == BLOCK:
                yield from self._of(np.array(kept))
                kept = []
        if kept:
            yield from self._of(np.array(kept))
        if self._bad:
            self.warnings.append(f"{self._path.name}: {self._bad} rows without a time left out")
        if self.filtered:
            self.warnings.append(f"{self._path.name}: {self.filtered} rows that --where leaves out")

    def _of(self, table: Array) -> Iterator[Block]:
        """Commands and measured channels of rows of [time, channels...]."""
        table[:, 0] *= self._scale
        set_back = np.flatnonzero(np.diff(table[:, 0]) < -SET_BACK) + 1
        for part in np.split(table, set_back):
            for held in (True, False):
                names = [name for name in self.channels if (name in COMMANDS) == held]
                columns = [1 + self.channels.index(name) for name in names]
                there = part[np.isfinite(part[:, columns]).all(axis=1)]
                if names and len(there):
                    values = {
                        name: there[:, column] * self._columns[name].factor
                        for name, column in zip(names, columns, strict=True)
                    }
                    yield Block(there[:, 0], values)

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
                self.done += len(line)
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

    def _time_scale(self, row: Sequence[str]) -> float:
        """Factor of the time into s: as chosen, or as the size of the first row's stamp tells."""
        column = self._columns[TIME]
        if column.factor != 1.0:
            return column.factor
        index = self._header.index(column.name)
        first = self._number(row[index]) if index < len(row) else math.nan
        for least, factor, unit in STAMP_UNITS:
            if least < abs(first) < math.inf:
                self.warnings.append(f"{self._path.name}: {column.name} read as {unit}")
                return factor
        return 1.0


def _beginning(path: Path) -> tuple[list[str], list[str], str]:
    """Names of the columns, cells of the first row, and what separates them."""
    with path.open("rb") as file:
        line, row = file.readline(LONGEST_HEADER), file.readline(LONGEST_HEADER)
    text = line.decode("utf-8-sig", "replace").strip()
    delimiter = max(",;\t|", key=text.count)
    names = [name.strip() for name in _split(text, delimiter)]
    if b"\0" in line or len(names) < 2:
        raise RecordingError(
            f"{path}: not a table: its first line must name two or more columns, separated by "
            "comma, semicolon, tab or |"
        )
    return names, _split(row.decode("utf-8", "replace"), delimiter), delimiter


def _split(line: str, delimiter: str) -> list[str]:
    """Cells of a line; none where it is no row of a table."""
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


@dataclass(frozen=True)
class Column:
    """A column and the factor that turns it into SI."""

    name: str
    factor: float = 1.0


def parse_columns(texts: Iterable[str]) -> dict[str, Column]:
    """The map of texts such as "v=speed,w=gyro_z*deg", each CHANNEL=COLUMN[*FACTOR].

    Raises:
        RecordingError: a text is no such pair, or there is no such channel.
    """
    found: dict[str, Column] = {}
    for entry in (part.strip() for text in texts for part in text.split(",") if part.strip()):
        channel, equals, column = (part.strip() for part in entry.partition("="))
        if not equals or not column:
            raise RecordingError(
                f"--columns {entry!r}: must be CHANNEL=COLUMN or CHANNEL=COLUMN*FACTOR"
            )
        if channel not in CHANNELS:
            raise RecordingError(
                f"--columns {entry!r}: there is no channel {channel!r}; there are "
                f"{', '.join(CHANNELS)}"
            )
        name, times, factor = column.rpartition("*")
        found[channel] = Column(name.strip(), _factor(entry, factor)) if times else Column(column)
    return found


def _factor(entry: str, text: str) -> float:
    text = text.strip()
    if text.lstrip("-") in FACTORS:
        return (-1.0 if text.startswith("-") else 1.0) * FACTORS[text.lstrip("-")]
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not math.isfinite(factor) or factor == 0.0:
        raise RecordingError(
            f"--columns {entry!r}: factor {text!r} must be a number other than 0, or one of "
            f"{', '.join(FACTORS)}"
        )
    return factor


def columns_of(header: Sequence[str], chosen: Mapping[str, Column]) -> dict[str, Column]:
    """The channels that a table has.

    Args:
        header: names of its columns.
        chosen: by the user; what is not chosen is found by the names in KNOWN, but where the user
            chose any, only the time is.
    """
    lower = {name.strip().lower(): name for name in reversed(header)}
    found = {channel: column for channel, column in chosen.items() if column.name in header}
    for channel, names in KNOWN.items():
        if channel in chosen or (chosen.keys() - {TIME} and channel != TIME):
            continue
        name = next((lower[name] for name in names if name in lower), None)
        if name is not None:
            found[channel] = Column(name)
    return found


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
            return compare(float(text), float(self.value))
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
    if found is None or not found[1].strip():
        raise RecordingError(
            f"--where {text!r}: must be COLUMN, one of = != < <= > >=, and a value, such as "
            '"state=calib" or "cmd_v!=0 or cmd_w!=0"'
        )
    column, sign, value = found.groups()
    return Condition(column.strip(), sign, value.strip())
