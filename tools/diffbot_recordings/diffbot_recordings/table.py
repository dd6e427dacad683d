# SPDX-License-Identifier: Apache-2.0
"""Read tables (CSV) as samples: which columns hold which channels, and which rows count.

Several tables are recordings of one robot. Each is a run of its own if every one holds all channels
that the analysis needs; otherwise they share one clock and are joined.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

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
from diffbot_recordings.row_filter import RowFilter
from diffbot_recordings.samples import (
    CURRENTS,
    EFFORTS,
    MOTOR_CHANNELS,
    POSITIONS,
    TORQUE_COMMANDS,
    WHEELS,
    Recording,
    RecordingError,
    names_of_runs,
)
from diffbot_recordings.table_columns import (
    GYRO,
    TIME,
    Column,
    parse_columns,
)
from diffbot_recordings.table_sizes import beyond_wheels
from diffbot_recordings.table_source import CsvSource

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
