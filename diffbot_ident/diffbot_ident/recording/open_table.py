"""Decides what to read of tables (CSV)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from diffbot_ident.recording.body_velocity import WHEELS, BodyVelocitySource
from diffbot_ident.recording.column_map import parse_columns
from diffbot_ident.recording.csv_source import CsvSource
from diffbot_ident.recording.opened import Opened, needed_geometry
from diffbot_ident.recording.options import AUTO, TORQUE, VELOCITY, Options
from diffbot_ident.recording.row_filter import RowFilter
from diffbot_ident.recording.stream import RecordingError, Source

ANGLES = ("left_position", "right_position")
EFFORTS = ("left_effort", "right_effort")
TORQUES = ("command_left", "command_right")
AXES = (("command_v", "v"), ("command_w", "w"))


def open_tables(paths: Sequence[Path], options: Options) -> Opened:
    """Sources of tables: of one robot and clock; or runs of it, if each has all that is needed.

    Raises:
        RecordingError: they cannot be read, or columns are missing.
    """
    chosen, rows = parse_columns(options.columns), RowFilter.parse(options.where)
    tables = [CsvSource(path, chosen, rows) for path in paths]
    _check_chosen(tables, chosen)
    have = {name for table in tables for name in table.channels}
    kind = options.kind
    if kind == AUTO:
        kind = (
            TORQUE if {*ANGLES} <= have and ({*EFFORTS} <= have or {*TORQUES} <= have) else VELOCITY
        )
    needed = _torque_channels(have, options) if kind == TORQUE else _velocity_channels(have)
    if not needed:
        raise RecordingError(_missing(kind, tables, have))
    sources: list[Source] = list(tables)
    from_wheels: tuple[str, ...] = ()
    if kind == TORQUE:
        needed_geometry(options, "to turn angles into motion")
    elif from_wheels := tuple(n for n in needed if n in ("v", "w") and n not in have):
        geometry = needed_geometry(options, "to turn wheel speeds into motion")
        needed = (*needed, *WHEELS)
        sources = [
            BodyVelocitySource(table, geometry, from_wheels)
            if {*WHEELS} <= {*table.channels}
            else table
            for table in tables
        ]
    together = not all({*needed} <= {*source.channels} for source in sources)
    notes = [f"kind of robot: {kind}"]
    return Opened(kind, sources, needed, together, from_wheels=from_wheels, notes=notes)


def _check_chosen(tables: Sequence[CsvSource], chosen: dict[str, object]) -> None:
    for channel, column in chosen.items():
        if channel != "time" and not any(channel in table.channels for table in tables):
            raise RecordingError(
                f"--columns {channel}={column.name}: no such column; "  # type: ignore[attr-defined]
                + "; ".join(table.unknown for table in tables)
            )


def _torque_channels(have: set[str], options: Options) -> tuple[str, ...]:
    efforts = {"joint_states": (EFFORTS,), "commands": (TORQUES,)}.get(
        options.effort_source, (EFFORTS, TORQUES)
    )
    torque = next((pair for pair in efforts if {*pair} <= have), ())
    if not torque or not {*ANGLES} <= have:
        return ()
    return (*ANGLES, *torque, *(WHEELS if {*WHEELS} <= have else ()))


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
    example = VELOCITY if kind == VELOCITY else TORQUE
    return (
        f"a {example} robot needs {needs}; found {', '.join(sorted(have)) or 'none of them'}. "
        "Name columns with --columns CHANNEL=COLUMN,…; "
        + "; ".join(table.unknown for table in tables)
    )
