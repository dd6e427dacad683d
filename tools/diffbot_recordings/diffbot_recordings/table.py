# SPDX-License-Identifier: Apache-2.0
"""Read tables (CSV) as samples: which columns hold which channels, and which rows count.

Several tables are recordings of one robot. Each is a run of its own if every one holds all channels
that the analysis needs; otherwise they share one clock and are joined.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_description import Robot
from diffbot_recordings.bag_topics import NO_TOPIC, ROLES, Sides, find_wheels
from diffbot_recordings.options import (
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
from diffbot_recordings.row_filter import RowFilter
from diffbot_recordings.samples import (
    BATCH,
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
    Batch,
    Mask,
    Recording,
    RecordingError,
    is_number,
    names_of_runs,
    newest_by,
)
from diffbot_recordings.table_columns import (
    DEGREE,
    GYRO,
    KNOWN,
    TICKS,
    TIME,
    Column,
    columns_of,
    parse_columns,
    unit_problem,
)
from diffbot_recordings.table_joints import FindWheels, readings_of
from diffbot_recordings.table_text import DELIMITERS, TableText, number

# Channels of the command and the velocity of each axis.
AXES = (("command_v", "v"), ("command_w", "w"))

# A stamp since 1970 above the first value is in a smaller unit than seconds: [limit, s per unit,
# name of the unit].
STAMP_UNITS = ((1e17, 1e-9, "nanoseconds"), (1e14, 1e-6, "microseconds"), (1e11, 1e-3, "ms"))
# Maximum number of columns that a message lists.
MANY = 12
# Why rows are left out, for people.
NO_TIME = "without a time or with other than {} cells"
NO_NUMBER = "with a number missing or unreadable"
BACK, DOUBLED = "whose time goes back", "with the time of a row before"
# Texts of cells that hold no number, in lower case; and how many characters of another text a
# warning quotes.
EMPTY, SHOWN = ("", "nan", "none", "null", "na", "n/a", "-", "inf", "-inf", "infinity"), 20
# Number of first rows that are checked for the order of their times, and the share of backward
# steps above which the rows are sorted.
CHECKED_ROWS, SHUFFLED = 2000, 0.1
# Steps of an angle that are undone at once and larger than this are not of a wheel, rad.
RETURNS = 0.5
# Number of rows, or of backward steps, that is too small for a check.
FEW = 10
# Median time step, s, from which on the unit of the time cannot be s.
LONGEST_STEP = 0.5
# A wheel cannot be faster than FAR_BEYOND times the speed that the robot's limits allow. Its speed
# is taken from positions over SPEED_SPAN (s), at the quantile SPEED_QUANTILE: wrapped positions
# jump less often than that if the wheel keeps to its limits. Positions in rad that wrap after a
# turn can be unwrapped, so that a slow drive is told by its UNWRAPPED_QUANTILE.
FAR_BEYOND, SPEED_SPAN, SPEED_QUANTILE, UNWRAPPED_QUANTILE = 3.0, 0.05, 0.75, 0.9
# Largest plausible 90th percentile of the size of each channel, in SI; above it, the column is in
# another unit. With the unit, and the factor of the most likely other unit.
SIZES = {
    "v": (30.0, "m/s", 1e-3),
    "command_v": (30.0, "m/s", 1e-3),
    "w": (60.0, "rad/s", DEGREE),
    "command_w": (60.0, "rad/s", DEGREE),
    "left_velocity": (1000.0, "rad/s", DEGREE),
    "right_velocity": (1000.0, "rad/s", DEGREE),
}


def open_tables(paths: Sequence[Path], options: Options) -> Recording:
    """Open tables.

    Raises:
        RecordingError: They cannot be read, or columns are missing.
    """
    _refuse_topics(options)
    chosen, rows = parse_columns(options.columns), RowFilter.parse(options.where)
    robot = robot_of(options)
    joints = options.left_joint, options.right_joint, robot
    tables = [
        CsvSource(path, chosen, rows, robot=robot, find=lambda names: find_wheels(names, *joints))
        for path in paths
    ]
    _check_chosen(tables, chosen)
    have = {name for table in tables for name in table.channels}
    understood = _understood(tables)
    kind = _kind_of(have) if options.kind == AUTO else options.kind
    needed = _needed(kind, have, options)
    if not needed:
        if options.kind == AUTO and have & {*EFFORTS, *TORQUE_COMMANDS, *POSITIONS}:
            kind = TORQUE  # the user probably meant a torque robot
        raise RecordingError(_missing(kind, tables, have))
    if kind != TORQUE and GYRO in chosen:
        raise RecordingError(
            f"--columns {GYRO}={chosen[GYRO].name}: only a {TORQUE} robot takes its yaw rate from "
            f"a gyro, and this is a {kind} robot; to measure the yaw axis by it name it w"
        )
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
    optional = WHEELS if kind == TORQUE else ()
    for table in tables:
        table.use(needed, optional)
    whole = len(tables) > 1 and all({*needed} <= _provided(table, from_wheels) for table in tables)
    return Recording(
        kind,
        tables,
        needed,
        geometry_of(options),
        from_wheels=from_wheels,
        notes=[*understood, f"kind of robot: {kind}"],
        runs=names_of_runs(paths) if whole else None,
        optional=optional,
    )


def wheels_by_name(names: Sequence[str]) -> Sides:
    """Return the joints of the left and the right wheel by their names; see find_wheels."""
    return find_wheels(names, None, None)


def _refuse_topics(options: Options) -> None:
    for name, topic in options.topics.items():
        if topic is not None and (name, topic) != ("imu", NO_TOPIC):
            raise RecordingError(
                f"{ROLES[name].option} {topic}: chooses a topic of a rosbag2 recording; columns of "
                "a table are chosen by --columns CHANNEL=COLUMN,…"
            )


def _understood(tables: Sequence[CsvSource]) -> list[str]:
    """Return how each table was understood; columns of tables that are alike are listed once."""
    reported: list[str] = []
    for table in tables:
        first, second = table.understood
        reported += [first, second] if second not in reported else [f"{first}, as above"]
    return reported


def _kind_of(have: set[str]) -> str:
    """Return the kind of robot whose channels the tables have."""
    torques = {*EFFORTS} <= have or {*TORQUE_COMMANDS} <= have
    if torques and {*POSITIONS} <= have:
        return TORQUE
    return MOTOR if {*MOTOR_CHANNELS} <= have and not _velocity_channels(have) else VELOCITY


def beyond_wheels(robot: Robot | None, geometry: WheelGeometry) -> float:
    """Return a speed that no wheel of the robot reaches, rad/s.

    Args:
        robot: The robot's description; None: not described.
        geometry: Wheel radii and separation.
    """
    if robot is None:
        return SIZES["v"][0] / geometry.left_radius
    return FAR_BEYOND * robot.wheel_speed


def _needed(kind: str, have: set[str], options: Options) -> tuple[str, ...]:
    """Return the channels that the analysis of a kind of robot needs; empty if any is missing."""
    if kind == TORQUE:
        return _torque_channels(have, options)
    if kind == MOTOR:
        return MOTOR_CHANNELS if {*MOTOR_CHANNELS} <= have else ()
    return _velocity_channels(have)


def _provided(table: CsvSource, from_wheels: tuple[str, ...]) -> set[str]:
    """Return the channels that one table provides."""
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
    """Return the channels of both axes, or of the one that is complete."""
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
    result = f"found {', '.join(sorted(have)) or 'none of them'}"
    if kind == VELOCITY and not have:
        needs += f"; a {TORQUE} robot needs {torque}"
    if kind == TORQUE and {*CURRENTS} <= have:
        left, right = CURRENTS
        result += (
            f"; for currents as efforts name the columns of {left} and {right} {EFFORTS[0]} and "
            f"{EFFORTS[1]}, with --effort-unit ampere"
        )
    return (
        f"a {kind} robot needs {needs}; {result}. Name columns with --columns "
        "CHANNEL=COLUMN,…; " + "; ".join(table.unknown for table in tables)
    )


class CsvSource:
    """A table with a header; see samples.Source.

    Channels form groups, such as the commands and the measured values. A row is a sample of a group
    if all columns that the table has of this group hold numbers; tables of several topics leave
    cells empty. A row is reported as left out if it is a sample of no group, if it fills a group
    only in part, or if its time is not later than that of all earlier rows.

    Args:
        path: Path of the file.
        chosen: Columns that the user named.
        rows: Filter of the rows that count.
        known: Names by which the column of each channel is recognised.
        groups: Channels whose values belong to one instant.
        robot: The robot's description, whose signs make forward positive; None: there is none.
        find: Finds the wheels among joints' names, for a table with one row per joint; None: by
            name.

    Attributes:
        columns: Columns by channel.

    Raises:
        RecordingError: The file is no table, or has no column of the time or of the filter.
    """

    def __init__(
        self,
        path: Path,
        chosen: Mapping[str, Column],
        rows: RowFilter,
        known: Mapping[str, tuple[str, ...]] = KNOWN,
        groups: Sequence[Sequence[str]] = (COMMANDS, MEASURED),
        robot: Robot | None = None,
        find: FindWheels | None = None,
    ) -> None:
        self._path = path
        self._rows = rows
        self.done = 0
        self.total = path.stat().st_size
        self._left_out: Counter[str] = Counter()
        self._read = 0
        self.filtered = 0
        # Speed that no wheel reaches, rad/s: faster positions are in another unit.
        self.fastest = math.inf
        self.warnings: list[str] = []
        self._text = readings_of(TableText.of(path), find or wheels_by_name, chosen)
        self._header = self._text.header
        self.columns = columns_of(self._header, chosen, known)
        listed = ", ".join(self._header[:MANY]) + (", …" if len(self._header) > MANY else "")
        if self._text.numbered and not {*chosen} - {TIME}:
            raise RecordingError(
                f"{path}: its first line holds numbers ({', '.join(self._text.first[:4])}, …): "
                f"write "
                "a line with the names of the columns above it, such as time,command_v,v; or name "
                "columns by number with --columns time=1,CHANNEL=2,…"
            )
        if TIME not in self.columns:
            raise RecordingError(
                f"{path}: no column holds the time; name it with --columns time=COLUMN. Columns: "
                f"{listed}"
            )
        self.channels = tuple(channel for channel in self.columns if channel != TIME)
        self._signs = {
            channel: 1 if robot is None else robot.joints.sign_of(channel)
            for channel in self.channels
        }
        # Channels of each group that the table holds, and the newest time of each group so far.
        self._groups = groups
        self.use(self.channels)
        self.unknown = f"{path} has the columns {listed}"
        for name in rows.columns:
            if name not in self._header:
                raise RecordingError(
                    f"--where {name}: {path} has no such column; columns: {listed}"
                )
        self._text_cells = dict.fromkeys(self.channels, 0)
        self._numbers = dict.fromkeys(self.channels, 0)
        self._example: dict[str, str] = {}
        self._returns = Counter[str]()  # steps of positions that are undone at once
        self._largest: dict[str, list[float]] = {channel: [] for channel in self.channels}
        self._scale, self._clock = self._time_scale(self._text.first)
        pairs = ", ".join(f"{k} = {self.columns[k]}" for k in self.channels)
        self.name = f"{path.name} ({pairs or 'no channel'})"

    def use(self, channels: Iterable[str], optional: Iterable[str] = ()) -> None:
        """Choose what is read; call it before `batches`. Without it, all channels are.

        Args:
            channels: Channels that are used; cells of others do not matter.
            optional: Channels among them that a row may lack.
        """
        used, self._optional = frozenset(channels), frozenset(optional)
        there = ([c for c in self.channels if c in group and c in used] for group in self._groups)
        self._streams = [names for names in there if names]
        self._newest = [-math.inf] * len(self._streams)

    def check_units(self, channels: Iterable[str], effort_unit: str) -> None:
        """Check the units in the names of columns.

        Raises:
            RecordingError: A unit is not one of its channel.
        """
        for channel in channels:
            column = self.columns.get(channel)
            problem = column and unit_problem(channel, column, effort_unit)
            if problem:
                raise RecordingError(f"{self._path}: {problem}")

    @property
    def understood(self) -> list[str]:
        """Two lines on the format and the columns that were recognised in the header."""
        signs = {1: "", -1: "-"}
        pairs = [f"{k} = {signs[self._signs[k]]}{self.columns[k]}" for k in self.channels]
        separated = DELIMITERS[self._text.delimiter]
        return [
            f"{self._path.name}: {len(self._header)} columns, separated by {separated}; time = "
            f"{self.columns[TIME].name} in {self._clock}",
            f"  {', '.join(pairs) or 'no channel'}",
        ]

    def batches(self) -> Iterator[Batch]:
        """See samples.Source.

        Raises:
            RecordingError: A column holds text, or is in an implausible unit.
        """
        kept: list[list[float]] = []
        checked, shuffled = False, False
        for row in self._table_rows():
            kept.append(row)
            if not checked and len(kept) == CHECKED_ROWS:
                checked, shuffled = True, self._in_disorder(kept)
            if len(kept) >= BATCH and not shuffled:
                yield from self._of(np.array(kept))
                kept = []
        if kept:
            table = np.array(kept)
            if shuffled or (not checked and self._in_disorder(kept)):
                table = table[np.argsort(table[:, 0], kind="stable")]
                self.warnings.append(f"{self._path.name}: rows were sorted by time")
            yield from self._of(table)
        self._check_read()

    def _in_disorder(self, rows: Sequence[Sequence[float]]) -> bool:
        """Whether rows are shuffled.

        Raises:
            RecordingError: By its steps, the time is not in s.
        """
        times = np.array([row[0] for row in rows]) * self._scale
        steps = np.diff(times)
        back = int(np.count_nonzero(steps < 0.0))
        disorder = back > max(SHUFFLED * len(steps), FEW)
        usual = float(np.median(np.diff(np.unique(times)))) if len(steps) > 2 else 0.0
        if self.columns[TIME].factor is None and usual >= LONGEST_STEP and not disorder:
            factor = next((f for f in (1e-3, 1e-6, 1e-9) if usual * f < LONGEST_STEP), 1e-3)
            column = self.columns[TIME].name
            raise RecordingError(
                f"{self._path.name}: rows are {usual:.4g} s apart if {column} is in s: is it in "
                f"{ {1e-3: 'ms', 1e-6: 'us', 1e-9: 'ns'}[factor] }? Then --columns "
                f"{self._with_factor((TIME,), factor)}; if it is in s: time={column}*1"
            )
        return disorder

    def _check_read(self) -> None:
        """Check what was read; warn, or raise.

        Raises:
            RecordingError: See `batches`.
        """
        name = self._path.name
        for channel, texts in self._text_cells.items():
            column = self.columns[channel].name
            if texts and not self._numbers[channel]:
                raise RecordingError(
                    f"{name}: {column} ({channel}): none of its cells is a number; they hold text "
                    f"such as {self._example[channel]!r}; choose another with --columns "
                    f"{channel}=COLUMN"
                )
            if texts:
                self.warnings.append(
                    f"{name}: {texts} cells of {column} are not numbers, such as "
                    f"{self._example[channel]!r}"
                )
        self._warn_left_out()
        if self.filtered:
            self.warnings.append(f"{name}: {self.filtered} rows excluded by --where")
        self._check_sizes()
        self._check_positions()

    def _warn_left_out(self) -> None:
        """Warn in one line of the rows that were left out, by cause."""
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
            f"{self._path.name}: {self._left_out.total()} rows ignored of {self._read + bad}: "
            f"{causes}{hint}"
        )

    def _check_sizes(self) -> None:
        for channel, largest in self._largest.items():
            limit, unit, factor = SIZES.get(channel, (math.inf, "", 1.0))
            column = self.columns[channel]
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
            column, speeds = self.columns[channel], self._largest[channel]
            speed = float(np.median(speeds)) if speeds and self._read > FEW else 0.0
            if self._returns[channel] > SHUFFLED * self._read:
                continue  # angles of two sources, which are told from each other later
            if column.factor is None and speed > self.fastest:
                raise RecordingError(
                    f"{self._path.name}: {column.name} ({channel}) turns at {speed:.4g} rad/s if "
                    f"it is in rad, and no wheel here beyond {self.fastest:.4g}: positions seem to "
                    f"be in degrees or encoder ticks. Degrees: --columns "
                    f"{self._with_factor(POSITIONS, DEGREE)}; ticks: *FACTOR for both, {TICKS}; if "
                    f"they are in rad: {channel}={column.name}*1"
                )

    def _with_factor(self, changed: Sequence[str], factor: float) -> str:
        """Return all columns as --columns takes them, some of them with another factor."""
        return ",".join(
            f"{channel}={column.name}"
            + (f"*{factor:.6g}" if channel in changed else "")
            + (f"*{column.scale:.6g}" if channel not in changed and column.scale != 1.0 else "")
            for channel, column in self.columns.items()
        )

    def _of(self, table: Array) -> Iterator[Batch]:
        """Yield a block for each group of channels in rows of [time, channels...]."""
        table[:, 0] *= self._scale
        set_back = np.flatnonzero(np.diff(table[:, 0]) < -SET_BACK) + 1
        for part in np.split(table, set_back):
            # Masks of rows: a group incomplete; a group complete; time steps back; time repeats.
            partly, complete, back, doubled = np.zeros((4, len(part)), bool)
            for i, names in enumerate(self._streams):
                columns = [1 + self.channels.index(name) for name in names]
                counts = [name not in self._optional for name in names]
                numbers = is_number(part[:, columns])[:, counts]
                there = numbers.all(axis=1)
                partly |= numbers.any(axis=1) & ~there
                complete |= there
                if there.any():
                    times = part[there, 0]
                    newest = self._newest_before(i, times)
                    back[there] |= times < newest
                    doubled[there] |= times == newest
                    # Yield no other rows: the reader of the blocks would count them again.
                    if (later := times > newest).any():
                        yield self._batch(names, part[there][later][:, [0, *columns]])
            self._count(partly | ~complete, back, doubled)

    def _newest_before(self, stream: int, times: Array) -> Array:
        """Return a stream's newest time before each row, s; -inf after the clock was set back."""
        before = self._newest[stream]
        newest = newest_by(times, -math.inf if times[0] < before - SET_BACK else before)
        self._newest[stream] = float(newest[-1])
        return newest[:-1]

    def _batch(self, names: Sequence[str], rows: Array) -> Batch:
        """Convert rows of [time, channels...] to a block in SI units."""
        values = {
            name: column * (self.columns[name].scale * self._signs[name])
            for name, column in zip(names, rows[:, 1:].T, strict=True)
        }
        for name, column in values.items():
            if name in self._optional and not is_number(column).all():
                continue
            if name not in POSITIONS:
                self._largest[name].append(float(np.percentile(np.abs(column), 90.0)))
            elif len(speeds := _speeds(rows[:, 0], column)):
                steps = np.diff(column)
                there, back = steps[:-1], steps[1:]
                self._returns[name] += int(np.count_nonzero(-there * back > RETURNS**2))
                unwrapped = _speeds(rows[:, 0], np.unwrap(column))
                self._largest[name].append(
                    max(
                        float(np.quantile(speeds, SPEED_QUANTILE)),
                        float(np.quantile(unwrapped, UNWRAPPED_QUANTILE)),
                    )
                )
        return Batch(rows[:, 0], values)

    def _count(self, missing: Mask, back: Mask, doubled: Mask) -> None:
        """Count the rows that are left out, each under one cause."""
        for cause, rows in (
            (NO_NUMBER, missing),
            (BACK, back & ~missing),
            (DOUBLED, doubled & ~back & ~missing),
        ):
            if self._streams:
                self._left_out[cause] += int(np.count_nonzero(rows))

    def _table_rows(self) -> Iterator[list[float]]:
        """Yield the rows [time, channels...] that pass the filter; NaN where there is no number."""
        names = [TIME, *self.channels]
        indices = [self._header.index(self.columns[name].name) for name in names]
        tested = {name: self._header.index(name) for name in self._rows.columns}
        for cells in self._text.rows():
            self.done = self._text.done
            # The last row of a truncated file may be incomplete.
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
        """Return the factor of the time into s, and its unit.

        They follow from the user's choice, from the unit in the column's name, or from the size of
        the first time.
        """
        column = self.columns[TIME]
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
    """Return a wheel's speeds, rad/s, over SPEED_SPAN, which hides the encoder's resolution."""
    period = float(np.median(np.diff(times))) if len(times) > 1 else 0.0
    apart = max(1, round(SPEED_SPAN / period)) if period > 0.0 else len(times)
    lasted = times[apart:] - times[:-apart]
    turned = np.abs(positions[apart:] - positions[:-apart])
    result: Array = turned[lasted > 0.0] / lasted[lasted > 0.0]
    return result
