# SPDX-License-Identifier: Apache-2.0
"""Read tables (CSV) as samples: which columns hold which channels, and which rows count.

Each of several tables is a run of its own if every one holds all channels that the analysis needs;
otherwise they share one clock and are joined.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from diffbot_description import Robot
from diffbot_recordings.bag_topics import NO_TOPIC, ROLES, find_wheels
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
    Recording,
    RecordingError,
    is_number,
    names_of_runs,
    newest_by,
)
from diffbot_recordings.table_columns import (
    FEW,
    GYRO,
    KNOWN,
    TIME,
    ChannelSizes,
    Column,
    beyond_wheels,
    columns_of,
    parse_columns,
    unit_problem,
    with_factor,
)
from diffbot_recordings.table_rows import (
    DELIMITERS,
    FindWheels,
    RowFilter,
    TableRows,
    TableText,
    moment,
    number,
    readings_of,
)

# First stamps above a limit are in smaller units: [limit, s per unit, name].
STAMP_UNITS = ((1e17, 1e-9, "nanoseconds"), (1e14, 1e-6, "microseconds"), (1e11, 1e-3, "ms"))
MANY = 12
# First rows checked for order, and the share of backward steps of shuffled ones.
CHECKED_ROWS, SHUFFLED = 2000, 0.1
DATES = "dates"
# Median step, s, from which on the time is not in s.
LONGEST_STEP = 0.5


class CsvSource:
    """A table with a header; see samples.Source.

    Channels form groups, such as the commands and the measured values. A row is a sample of a group
    if all columns that the table has of this group hold numbers; tables of several topics leave
    cells empty. A row is reported as left out if it is a sample of no group, fills a group only in
    part, or is not later than all earlier rows.

    Args:
        chosen: Columns that the user named.
        rows: Filter of the rows that count.
        known: Names by which the column of each channel is recognised.
        groups: Channels whose values belong to one instant.
        robot: Its signs make forward positive.
        find: Finds the wheels among joints' names, for one row per joint; None: by name.

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
        self.total = path.stat().st_size
        # Faster positions, rad/s, are in another unit.
        self.fastest = math.inf
        self.warnings: list[str] = []
        self._text = readings_of(TableText.of(path), find or find_wheels, chosen)
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
        self._groups = groups
        self.use(self.channels)
        self.unknown = f"{path} has the columns {listed}"
        for name in rows.columns:
            if name not in self._header:
                raise RecordingError(
                    f"--where {name}: {path} has no such column; columns: {listed}"
                )
        self._rows = TableRows(path.name, self._text, self.columns, rows)
        self._sizes = ChannelSizes(path.name, self.columns)
        self._scale, self._clock = self._time_scale(self._text.first)
        pairs = ", ".join(f"{k} = {self.columns[k]}" for k in self.channels)
        self.name = f"{path.name} ({pairs or 'no channel'})"

    @property
    def done(self) -> int:
        return self._rows.done

    def use(self, channels: Iterable[str], optional: Iterable[str] = ()) -> None:
        """Choose what is read, before `batches`; a row may lack the `optional` channels."""
        used, self._optional = frozenset(channels), frozenset(optional)
        there = ([c for c in self.channels if c in group and c in used] for group in self._groups)
        self._streams = [names for names in there if names]
        self._newest = [-math.inf] * len(self._streams)

    def check_units(self, channels: Iterable[str], effort_unit: str) -> None:
        """Check the units in the names of columns. Raises RecordingError."""
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
        """See samples.Source; RecordingError: a column holds text, or is in an implausible unit."""
        kept: list[list[float]] = []
        checked, shuffled = False, False
        for row in self._rows:
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
        self.warnings.extend(self._rows.warnings())
        self._sizes.check(self._rows.read, self.fastest)

    def _in_disorder(self, rows: Sequence[Sequence[float]]) -> bool:
        """Whether rows are shuffled; RecordingError if by its steps the time is not in s."""
        times = np.array([row[0] for row in rows]) * self._scale
        steps = np.diff(times)
        back = int(np.count_nonzero(steps < 0.0))
        disorder = back > max(SHUFFLED * len(steps), FEW)
        different = np.diff(np.unique(times))
        usual = float(np.median(different)) if len(steps) > 2 and len(different) else 0.0
        known = self.columns[TIME].factor is not None or self._clock == DATES
        if not known and usual >= LONGEST_STEP and not disorder:
            factor = next((f for f in (1e-3, 1e-6, 1e-9) if usual * f < LONGEST_STEP), 1e-3)
            column = self.columns[TIME].name
            raise RecordingError(
                f"{self._path.name}: rows are {usual:.4g} s apart if {column} is in s: is it in "
                f"{ {1e-3: 'ms', 1e-6: 'us', 1e-9: 'ns'}[factor] }? Then --columns "
                f"{with_factor(self.columns, (TIME,), factor)}; if it is in s: time={column}*1"
            )
        return disorder

    def _of(self, table: Array) -> Iterator[Batch]:
        table[:, 0] *= self._scale
        set_back = np.flatnonzero(np.diff(table[:, 0]) < -SET_BACK) + 1
        for part in np.split(table, set_back):
            # A group incomplete; complete; time steps back; time repeats.
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
            if self._streams:
                self._rows.count(partly | ~complete, back, doubled)

    def _newest_before(self, stream: int, times: Array) -> Array:
        before = self._newest[stream]
        newest = newest_by(times, -math.inf if times[0] < before - SET_BACK else before)
        self._newest[stream] = float(newest[-1])
        return newest[:-1]

    def _batch(self, names: Sequence[str], rows: Array) -> Batch:
        values = {
            name: column * (self.columns[name].scale * self._signs[name])
            for name, column in zip(names, rows[:, 1:].T, strict=True)
        }
        for name, column in values.items():
            if name in self._optional and not is_number(column).all():
                continue
            self._sizes.add(name, rows[:, 0], column)
        return Batch(rows[:, 0], values)

    def _time_scale(self, row: Sequence[str]) -> tuple[float, str]:
        """Return the time's factor into s and unit: chosen, in the name, or by the first time."""
        column = self.columns[TIME]
        index = self._header.index(column.name)
        cell = row[index] if index < len(row) else ""
        first = number(cell)
        if math.isnan(first) and math.isfinite(moment(cell)):
            return 1.0, DATES
        if column.factor is not None:
            return column.factor, column.unit or f"s / {1.0 / column.factor:g}"
        for least, factor, unit in STAMP_UNITS:
            if least < abs(first) < math.inf:
                self.warnings.append(f"{self._path.name}: {column.name} read as {unit}")
                return factor, unit
        return 1.0, "s"


# Channels of the command and the velocity of each axis.
AXES = (("command_v", "v"), ("command_w", "w"))


def open_tables(paths: Sequence[Path], options: Options) -> Recording:
    """Open tables. Raises RecordingError if they cannot be read, or columns are missing."""
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


def _refuse_topics(options: Options) -> None:
    for name, topic in options.topics.items():
        if topic is not None and (name, topic) != ("imu", NO_TOPIC):
            raise RecordingError(
                f"{ROLES[name].option} {topic}: chooses a topic of a rosbag2 recording; columns of "
                "a table are chosen by --columns CHANNEL=COLUMN,…"
            )


def _understood(tables: Sequence[CsvSource]) -> list[str]:
    reported: list[str] = []
    for table in tables:
        first, second = table.understood
        reported += [first, second] if second not in reported else [f"{first}, as above"]
    return reported


def _kind_of(have: set[str]) -> str:
    torques = {*EFFORTS} <= have or {*TORQUE_COMMANDS} <= have
    if torques and {*POSITIONS} <= have:
        return TORQUE
    return MOTOR if {*MOTOR_CHANNELS} <= have and not _velocity_channels(have) else VELOCITY


def _needed(kind: str, have: set[str], options: Options) -> tuple[str, ...]:
    if kind == TORQUE:
        return _torque_channels(have, options)
    if kind == MOTOR:
        return MOTOR_CHANNELS if {*MOTOR_CHANNELS} <= have else ()
    return _velocity_channels(have)


def _provided(table: CsvSource, from_wheels: tuple[str, ...]) -> set[str]:
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
