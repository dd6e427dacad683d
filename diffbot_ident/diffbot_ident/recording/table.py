# SPDX-License-Identifier: Apache-2.0
"""Tables (CSV) as samples: their columns by name, the rows that count, and what to read of them.

Several tables are of one robot and clock, or runs of it if each has all that is needed.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_description import Robot
from diffbot_ident.recording.bag_topics import ROLES
from diffbot_ident.recording.options import (
    AUTO,
    MOTOR,
    TORQUE,
    VELOCITY,
    Options,
    effort_unit_of,
    geometry_of,
    needed_geometry,
    robot_of,
)
from diffbot_ident.recording.row_filter import RowFilter
from diffbot_ident.recording.samples import (
    BLOCK,
    COMMANDS,
    CURRENTS,
    EFFORTS,
    MEASURED,
    MOTOR_CHANNELS,
    POSITIONS,
    SET_BACK,
    TORQUE_COMMANDS,
    WHEELS,
    Array,
    Block,
    Mask,
    Recording,
    RecordingError,
    names_of_runs,
    newest_by,
)
from diffbot_ident.recording.table_columns import (
    DEGREE,
    KNOWN,
    TICKS,
    TIME,
    Column,
    columns_of,
    parse_columns,
    unit_problem,
)
from diffbot_ident.recording.table_text import DELIMITERS, TableText, number

# Command and velocity of each axis.
AXES = (("command_v", "v"), ("command_w", "w"))

# Sizes from which a stamp since 1970 is not in seconds, and the units it then is in.
STAMP_UNITS = ((1e17, 1e-9, "nanoseconds"), (1e14, 1e-6, "microseconds"), (1e11, 1e-3, "ms"))
# Columns that a message lists at most.
MANY = 12
# Why rows are left out, for people.
NO_TIME = "without a time or with other than {} cells"
NO_NUMBER = "with a number missing or unreadable"
BACK, DOUBLED = "whose time goes back", "with the time of a row before"
# What stands in cells without a number, and how much of a text is shown.
EMPTY, SHOWN = ("", "nan", "none", "null", "na", "n/a", "-", "inf", "-inf", "infinity"), 20
# Rows that are looked at to tell whether they are in order, and the share of steps back beyond
# which they are not.
LOOKED_AT, SHUFFLED = 2000, 0.1
# Rows, and steps back, that are too few to tell anything.
FEW = 10
# Median step of the time from which on it is not in s.
LONGEST_STEP = 0.5
# Multiple of what a robot's limits allow beyond which a wheel's speed cannot be. Positions tell it
# over this time (s), by this quantile: wrapped ones jump less often where limits allow their speed.
FAR_BEYOND, SPEED_SPAN, SPEED_QUANTILE = 3.0, 0.05, 0.75
# Sizes that nine of ten samples stay below, in SI; beyond it stands another unit.
SIZES = {
    "v": (30.0, "m/s", 1e-3),
    "command_v": (30.0, "m/s", 1e-3),
    "w": (60.0, "rad/s", DEGREE),
    "command_w": (60.0, "rad/s", DEGREE),
    "left_velocity": (1000.0, "rad/s", DEGREE),
    "right_velocity": (1000.0, "rad/s", DEGREE),
    "left_effort": (3000.0, "N m", 1e-3),
    "right_effort": (3000.0, "N m", 1e-3),
}


def open_tables(paths: Sequence[Path], options: Options) -> Recording:
    """Sources of tables.

    Raises:
        RecordingError: they cannot be read, or columns are missing.
    """
    for name, topic in options.topics.items():
        if topic is not None:
            raise RecordingError(
                f"{ROLES[name].option} {topic}: chooses a topic of a rosbag2 recording; columns of "
                "a table are chosen by --columns CHANNEL=COLUMN,…"
            )
    chosen, rows = parse_columns(options.columns), RowFilter.parse(options.where)
    tables = [CsvSource(path, chosen, rows) for path in paths]
    _check_chosen(tables, chosen)
    have = {name for table in tables for name in table.channels}
    understood: list[str] = []
    for table in tables:
        first, second = table.understood
        # Of several tables that are alike, one is told.
        understood += [first, second] if second not in understood else [f"{first}, as above"]
    kind = options.kind
    if kind == AUTO:
        torques = {*EFFORTS} <= have or {*TORQUE_COMMANDS} <= have
        kind = TORQUE if torques and {*POSITIONS} <= have else VELOCITY
        if kind == VELOCITY and {*MOTOR_CHANNELS} <= have and not _velocity_channels(have):
            kind = MOTOR
    needed = _needed(kind, have, options)
    if not needed:
        if options.kind == AUTO and have & {*EFFORTS, *TORQUE_COMMANDS, *POSITIONS}:
            kind = TORQUE  # that is what it was meant to be
        raise RecordingError(_missing(kind, tables, have))
    robot = robot_of(options)
    effort_unit = effort_unit_of(options, robot)
    for table in tables:
        table.check_units(needed, effort_unit)
    from_wheels: tuple[str, ...] = ()
    if kind == TORQUE:
        geometry = needed_geometry(options, "to turn angles into motion")
        for table in tables:
            table.fastest = beyond_wheels(robot, geometry)
    elif from_wheels := tuple(n for n in needed if n in ("v", "w") and n not in have):
        needed_geometry(options, "to turn wheel speeds into motion")
        needed = (*needed, *WHEELS)
    whole = len(tables) > 1 and all({*needed} <= _told(table, from_wheels) for table in tables)
    return Recording(
        kind,
        tables,
        needed,
        geometry_of(options),
        from_wheels=from_wheels,
        notes=[*understood, f"kind of robot: {kind}"],
        runs=names_of_runs(paths) if whole else None,
    )


def beyond_wheels(robot: Robot | None, geometry: WheelGeometry) -> float:
    """What no wheel turns as fast as, rad/s, of a robot that may not be described (None)."""
    if robot is None:
        return SIZES["v"][0] / geometry.left_radius
    return FAR_BEYOND * robot.wheel_speed


def _needed(kind: str, have: set[str], options: Options) -> tuple[str, ...]:
    """Channels that the analysis of a kind of robot takes; none where they are not there."""
    if kind == TORQUE:
        return _torque_channels(have, options)
    if kind == MOTOR:
        return MOTOR_CHANNELS if {*MOTOR_CHANNELS} <= have else ()
    return _velocity_channels(have)


def _told(table: CsvSource, from_wheels: tuple[str, ...]) -> set[str]:
    """Channels that a table gives by itself."""
    own = {*table.channels}
    return own | {*from_wheels} if {*WHEELS} <= own else own


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
    velocity = (
        "command_v and v, or command_w and w; left_velocity and right_velocity (rad/s) may "
        "stand for v and w"
    )
    torque = (
        "left_position, right_position, and left_effort, right_effort or command_left, "
        "command_right"
    )
    needs = {TORQUE: torque, MOTOR: ", ".join(MOTOR_CHANNELS) + " (V, A, rad/s)"}.get(
        kind, velocity
    )
    found = f"found {', '.join(sorted(have)) or 'none of them'}"
    if kind == VELOCITY and not have:
        needs += f"; a {TORQUE} robot needs {torque}"
    if kind == TORQUE and {*CURRENTS} <= have:
        left, right = CURRENTS
        found += (
            f"; for currents as efforts name the columns of {left} and {right} {EFFORTS[0]} and "
            f"{EFFORTS[1]}, with --effort-unit ampere"
        )
    return (
        f"a {kind} robot needs {needs}; {found}. Name columns with --columns "
        "CHANNEL=COLUMN,…; " + "; ".join(table.unknown for table in tables)
    )


class CsvSource:
    """A table with a header; see samples.Source.

    A row counts for each group of channels, such as commands and what was measured, where all
    that the table has of it are numbers; tables of several topics leave cells empty. One that
    counts for nothing, or has a part of a group, is counted as left out, and so is one whose time
    is not later than that of all before.

    Args:
        path: of the file.
        chosen: columns that the user named.
        rows: which rows count.
        known: names that columns are known by, of each channel.
        groups: channels whose values belong to one instant.

    Raises:
        RecordingError: it is no table, has no time, or none of the channels.
    """

    def __init__(
        self,
        path: Path,
        chosen: Mapping[str, Column],
        rows: RowFilter,
        known: Mapping[str, tuple[str, ...]] = KNOWN,
        groups: Sequence[Sequence[str]] = (COMMANDS, MEASURED),
    ) -> None:
        self._path = path
        self._rows = rows
        self.done = 0
        self.total = path.stat().st_size
        self._left_out: Counter[str] = Counter()
        self._read = 0
        self.filtered = 0
        # What no wheel turns as fast as, rad/s: positions that seem to are in another unit.
        self.fastest = math.inf
        self.warnings: list[str] = []
        self._text = TableText.of(path)
        self._header = self._text.header
        self._columns = columns_of(self._header, chosen, known)
        listed = ", ".join(self._header[:MANY]) + (", …" if len(self._header) > MANY else "")
        if TIME not in self._columns:
            raise RecordingError(
                f"{path}: no column holds the time; name it with --columns time=COLUMN. Columns: "
                f"{listed}"
            )
        self.channels = tuple(channel for channel in self._columns if channel != TIME)
        # The groups that are there, each with the newest time so far.
        there = ([name for name in self.channels if name in group] for group in groups)
        self._streams = [names for names in there if names]
        self._newest = [-math.inf] * len(self._streams)
        self.unknown = f"{path} has the columns {listed}"
        for name in rows.columns:
            if name not in self._header:
                raise RecordingError(
                    f"--where {name}: {path} has no such column; columns: {listed}"
                )
        self._text_cells = dict.fromkeys(self.channels, 0)
        self._numbers = dict.fromkeys(self.channels, 0)
        self._example: dict[str, str] = {}
        self._largest: dict[str, list[float]] = {channel: [] for channel in self.channels}
        self._scale, self._clock = self._time_scale(self._text.first)
        pairs = ", ".join(f"{k} = {self._columns[k]}" for k in self.channels)
        self.name = f"{path.name} ({pairs or 'no channel'})"

    def check_units(self, channels: Iterable[str], effort_unit: str) -> None:
        """Raise RecordingError where a unit in a column's name is not one of its channel."""
        for channel in channels:
            column = self._columns.get(channel)
            problem = column and unit_problem(channel, column, effort_unit)
            if problem:
                raise RecordingError(f"{self._path}: {problem}")

    @property
    def understood(self) -> list[str]:
        """Two lines of what was understood before anything was read."""
        pairs = [f"{k} = {self._columns[k]}" for k in self.channels]
        separated = DELIMITERS[self._text.delimiter]
        return [
            f"{self._path.name}: {len(self._header)} columns, separated by {separated}; time = "
            f"{self._columns[TIME].name} in {self._clock}",
            f"  {', '.join(pairs) or 'no channel'}",
        ]

    def blocks(self) -> Iterator[Block]:
        """See samples.Source.

        Raises:
            RecordingError: columns hold text, or units that cannot be.
        """
        kept: list[list[float]] = []
        looked, shuffled = False, False
        for row in self._table_rows():
            kept.append(row)
            if not looked and len(kept) == LOOKED_AT:
                looked, shuffled = True, self._in_disorder(kept)
            if len(kept) >= BLOCK and not shuffled:
                yield from self._of(np.array(kept))
                kept = []
        if kept:
            table = np.array(kept)
            if shuffled or (not looked and self._in_disorder(kept)):
                table = table[np.argsort(table[:, 0], kind="stable")]
                self.warnings.append(f"{self._path.name}: rows were put in the order of time")
            yield from self._of(table)
        self._check_read()

    def _in_disorder(self, rows: Sequence[Sequence[float]]) -> bool:
        """Whether rows are shuffled; also looks at the steps of the time."""
        times = np.array([row[0] for row in rows]) * self._scale
        steps = np.diff(times)
        back = int(np.count_nonzero(steps < 0.0))
        disorder = back > max(SHUFFLED * len(steps), FEW)
        usual = float(np.median(np.diff(np.unique(times)))) if len(steps) > 2 else 0.0
        if self._columns[TIME].factor is None and usual >= LONGEST_STEP and not disorder:
            factor = next((f for f in (1e-3, 1e-6, 1e-9) if usual * f < LONGEST_STEP), 1e-3)
            column = self._columns[TIME].name
            raise RecordingError(
                f"{self._path.name}: rows are {usual:.4g} s apart if {column} is in s: is it in "
                f"{ {1e-3: 'ms', 1e-6: 'us', 1e-9: 'ns'}[factor] }? Then --columns "
                f"{self._with_factor((TIME,), factor)}; if it is in s: time={column}*1"
            )
        return disorder

    def _check_read(self) -> None:
        """Warn, or refuse, by what was read.

        Raises:
            RecordingError: see blocks.
        """
        name = self._path.name
        for channel, texts in self._text_cells.items():
            column = self._columns[channel].name
            if texts and not self._numbers[channel]:
                raise RecordingError(
                    f"{name}: {column} ({channel}): none of its cells is a number; they hold text "
                    f"such as {self._example[channel]!r}; choose another with --columns "
                    f"{channel}=COLUMN"
                )
            if texts:
                self.warnings.append(
                    f"{name}: {texts} cells of {column} are no numbers, such as "
                    f"{self._example[channel]!r}"
                )
        self._say_left_out()
        if self.filtered:
            self.warnings.append(f"{name}: {self.filtered} rows that --where leaves out")
        self._check_sizes()
        self._check_positions()

    def _say_left_out(self) -> None:
        """Warn of the rows that were left out, by their causes, in one line."""
        if not self._left_out.total():
            return
        cells, bad = len(self._header), self._left_out[NO_TIME]
        causes = ", ".join(f"{n} {cause.format(cells)}" for cause, n in self._left_out.items() if n)
        hint = ""
        if bad > self._read:
            hint = (
                f"; its header has {cells} cells: decimal commas in a table that commas separate? "
                "Save it with semicolons"
            )
        self.warnings.append(
            f"{self._path.name}: {self._left_out.total()} rows left out of {self._read + bad}: "
            f"{causes}{hint}"
        )

    def _check_sizes(self) -> None:
        for channel, largest in self._largest.items():
            limit, unit, factor = SIZES.get(channel, (math.inf, "", 1.0))
            column = self._columns[channel]
            size = float(np.median(largest)) if largest and self._read > FEW else 0.0
            if column.factor is None and size > limit:
                raise RecordingError(
                    f"{self._path.name}: {column.name} ({channel}) reaches {size:.4g} {unit}, more "
                    f"than {limit:g}: in other units? Then --columns "
                    f"{self._with_factor((channel,), factor)}; if it is right: "
                    f"{channel}={column.name}*1"
                )

    def _check_positions(self) -> None:
        for channel in (name for name in POSITIONS if name in self.channels):
            column, speeds = self._columns[channel], self._largest[channel]
            speed = float(np.median(speeds)) if speeds and self._read > FEW else 0.0
            if column.factor is None and speed > self.fastest:
                raise RecordingError(
                    f"{self._path.name}: {column.name} ({channel}) turns at {speed:.4g} rad/s if "
                    f"it is in rad, and no wheel here beyond {self.fastest:.4g}: positions seem to "
                    f"be in degrees or encoder ticks. Degrees: --columns "
                    f"{self._with_factor(POSITIONS, DEGREE)}; ticks: *FACTOR for both, {TICKS}; if "
                    f"they are in rad: {channel}={column.name}*1"
                )

    def _with_factor(self, changed: Sequence[str], factor: float) -> str:
        """All columns for --columns, some of them with another factor."""
        return ",".join(
            f"{channel}={column.name}"
            + (f"*{factor:.6g}" if channel in changed else "")
            + (f"*{column.scale:.6g}" if channel not in changed and column.scale != 1.0 else "")
            for channel, column in self._columns.items()
        )

    def _of(self, table: Array) -> Iterator[Block]:
        """The groups of channels of rows of [time, channels...]."""
        table[:, 0] *= self._scale
        set_back = np.flatnonzero(np.diff(table[:, 0]) < -SET_BACK) + 1
        for part in np.split(table, set_back):
            # Rows of which a number is missing, that count for something, and what is odd in time.
            partly, told, back, doubled = np.zeros((4, len(part)), bool)
            for i, names in enumerate(self._streams):
                columns = [1 + self.channels.index(name) for name in names]
                numbers = np.isfinite(part[:, columns])
                there = numbers.all(axis=1)
                partly |= numbers.any(axis=1) & ~there
                told |= there
                if there.any():
                    times = part[there, 0]
                    newest = self._newest_before(i, times)
                    back[there] |= times < newest
                    doubled[there] |= times == newest
                    # Who reads the blocks would count the others, too.
                    if (later := times > newest).any():
                        yield self._block(names, part[there][later][:, [0, *columns]])
            self._count(partly | ~told, back, doubled)

    def _newest_before(self, stream: int, times: Array) -> Array:
        """The newest time of a stream before each of these, s; -inf once the clock was set back."""
        before = self._newest[stream]
        newest = newest_by(times, -math.inf if times[0] < before - SET_BACK else before)
        self._newest[stream] = float(newest[-1])
        return newest[:-1]

    def _block(self, names: Sequence[str], rows: Array) -> Block:
        """Rows of [time, channels...] as SI."""
        values = {
            name: column * self._columns[name].scale
            for name, column in zip(names, rows[:, 1:].T, strict=True)
        }
        for name, column in values.items():
            if name not in POSITIONS:
                self._largest[name].append(float(np.percentile(np.abs(column), 90.0)))
            elif len(speeds := _speeds(rows[:, 0], column)):
                self._largest[name].append(float(np.quantile(speeds, SPEED_QUANTILE)))
        return Block(rows[:, 0], values)

    def _count(self, missing: Mask, back: Mask, doubled: Mask) -> None:
        """Count rows that are left out, each by one cause."""
        for cause, rows in (
            (NO_NUMBER, missing),
            (BACK, back & ~missing),
            (DOUBLED, doubled & ~back & ~missing),
        ):
            if self._streams:
                self._left_out[cause] += int(np.count_nonzero(rows))

    def _table_rows(self) -> Iterator[list[float]]:
        """Rows of [time, channels...] that the filter lets pass; NaN where there is no number."""
        names = [TIME, *self.channels]
        indices = [self._header.index(self._columns[name].name) for name in names]
        tested = {name: self._header.index(name) for name in self._rows.columns}
        for cells in self._text.rows():
            self.done = self._text.done
            # The last row of a file that was cut off is not what it was.
            if cells is None or len(cells) != len(self._header):
                self._left_out[NO_TIME] += cells is None or bool(cells)
                continue
            if tested and not self._rows.holds({k: cells[i] for k, i in tested.items()}):
                self.filtered += 1
                continue
            row = [number(cells[i]) for i in indices]
            if not math.isfinite(row[0]):
                self._left_out[NO_TIME] += 1
                continue
            self._read += 1
            for channel, value, i in zip(self.channels, row[1:], indices[1:], strict=True):
                if math.isfinite(value):
                    self._numbers[channel] += 1
                elif cells[i].strip().lower() not in EMPTY:
                    self._text_cells[channel] += 1
                    self._example.setdefault(channel, cells[i].strip()[:SHOWN])
            yield row

    def _time_scale(self, row: Sequence[str]) -> tuple[float, str]:
        """Factor of the time into s, and its unit: as chosen, as its name says, or by its size."""
        column = self._columns[TIME]
        if column.factor is not None:
            return column.factor, column.unit or f"s / {1.0 / column.factor:g}"
        index = self._header.index(column.name)
        first = number(row[index]) if index < len(row) else math.nan
        for least, factor, unit in STAMP_UNITS:
            if least < abs(first) < math.inf:
                self.warnings.append(f"{self._path.name}: {column.name} read as {unit}")
                return factor, unit
        return 1.0, "s"


def _speeds(times: Array, positions: Array) -> Array:
    """How fast a wheel turned over each SPEED_SPAN, so that counts do not show, rad/s."""
    period = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    apart = max(1, round(SPEED_SPAN / period)) if period > 0.0 else len(times)
    lasted = times[apart:] - times[:-apart]
    turned = np.abs(positions[apart:] - positions[:-apart])
    found: Array = turned[lasted > 0.0] / lasted[lasted > 0.0]
    return found
