# SPDX-License-Identifier: Apache-2.0
"""The fault table: all rows, and the selection of rows to run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faults.row import Row
from faults.rows import (
    clocks,
    estimates,
    files,
    joints,
    numbers,
    odometry,
    parameters,
    saturation,
    silence,
    sources,
    stopping,
    watchdog,
    wheels,
)
from faults.rows.making import NO_ENGINE, PHYSICS

IN_ONE = "in-process"
PARTS = (IN_ONE, "processes")
"""Rows in one process and robot time; rows with real processes over DDS, in real time."""
IN_PROCESS: tuple[Row, ...] = (
    *numbers.ROWS,
    *parameters.ROWS,
    *joints.ROWS,
    *odometry.ROWS,
    *sources.ROWS,
    *silence.ROWS,
    *clocks.ROWS,
    *wheels.ROWS,
    *saturation.ROWS,
    *files.ROWS,
    *estimates.ROWS,
    *stopping.ROWS,
    *watchdog.ROWS,
)
"""Rows that need no process but this one."""


def table(part: str = "") -> tuple[Row, ...]:
    """Return the rows of one of PARTS; empty: all."""
    from faults.process_rows import ROWS

    rows = {"": (*IN_PROCESS, *ROWS), IN_ONE: IN_PROCESS, "processes": ROWS}
    return sorted_by_group(rows[part])


def sorted_by_group(rows: Iterable[Row]) -> tuple[Row, ...]:
    """Return the rows sorted by group; groups in the order of their first row."""
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row.group, []).append(row)
    return tuple(row for group in groups.values() for row in group)


def chosen(
    rows: Iterable[Row], engines: Iterable[str] = PHYSICS, text: str = ""
) -> Iterator[tuple[Row, str]]:
    """Yield the selected rows, each with the engine to run it with.

    Args:
        rows: Rows of the table.
        engines: Requested engines; rows that need none are run once.
        text: Part of the group or name, case-insensitive; empty: all.
    """
    wanted = (*engines, NO_ENGINE)
    for row in rows:
        if text.lower() in f"{row.group}: {row.name}".lower():
            for engine in wanted:
                if engine in row.engines:
                    yield row, engine
