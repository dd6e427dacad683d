# SPDX-License-Identifier: Apache-2.0
"""Recordings of a fleet as rows of a table: what is found, whose it is, and what it says.

A recording is a rosbag2 folder (one with a metadata.yaml) or a file that `identify` reads. Its key
is a hash of its content and of what it is read with, the robot's description and the options: a
copy is the same recording, a changed one is another, and one that is read with another description
is a new row.

Its time is the beginning that a rosbag2's metadata says, else the date in its path, such as
20310504-101500 or 2031-05-04, else that at which it was last written, which a copy may not keep.
"""

from __future__ import annotations

import csv
import datetime
import fnmatch
import glob
import hashlib
import io
import json
import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from diffbot_description import load_robot
from diffbot_description.files import LARGEST, parse_yaml, read_regular
from diffbot_ident.recording.identify import BAGS, LOGS, TABLES, analyse_recording
from diffbot_ident.recording.options import Options
from diffbot_study.fleet_quantities import GYRO
from diffbot_study.parquet_store import Row

K = ("k5", "k6", "k7", "k8")
FRICTION = ("viscous_left", "viscous_right", "coulomb_left", "coulomb_right")
VERSION = 4
"""Of the rows; raised when their meaning changes, so that recordings are read anew."""
METADATA = "metadata.yaml"
# Hexadecimal digits of a content's hash, with which a key begins, and of a description's.
CONTENT, DESCRIPTION = 32, 8
# Earlier beginnings are those of simulated time, s since 1970.
EARLIEST = 946684800.0
_DATE = re.compile(
    r"(?<!\d)(20\d\d)-?([01]\d)-?([0-3]\d)(?:[-_T ]?([0-2]\d)[-:]?(\d\d)[-:]?(\d\d))?(?!\d)"
)
SUFFIXES = (*TABLES, *LOGS, *BAGS)
COLUMNS = {
    "path": "string",
    "robot": "string",
    "type": "string",
    "time": "float64",
    "usable": "string",
    "reason": "string",
    "notes": "string",
    **{name: "float64" for each in (*K, *FRICTION) for name in (each, f"std_{each}")},
    "delay": "float64",
    "residual_v": "float64",
    "residual_omega": "float64",
    "torque_difference": "float64",
    "std_torque_difference": "float64",
    **{name: "float64" for each in GYRO for name in (each, f"std_{each}")},
    "values": "string",
    "version": "int64",
    "wall_time": "float64",
}
"""Columns: time in s since 1970; usable all, some, none or unreadable; torque_difference, how much
more a reported torque of the right wheel does, as a share of both; gyro_scale, yaw rate by the gyro
over that by the wheels, and radius_difference, right radius less the left one beyond the file's, as
a share of it; values, all of the verdicts' values with their standard deviations, as JSON."""


@dataclass(frozen=True)
class FleetRecording:
    """One recording of a fleet.

    Attributes:
        path: of the file or rosbag2 folder.
        robot: whose it is.
        type: name or file of the robot's description; None: it is not known.
        options: further ones of `identify`, as of Options.
    """

    path: Path
    robot: str
    type: str | None
    options: Mapping[str, Any]

    @cached_property
    def content(self) -> str:
        """Hash of the content, CONTENT digits.

        Raises:
            OSError: it cannot be read.
        """
        files = [self.path]
        if self.path.is_dir():
            files = sorted(file for file in self.path.rglob("*") if file.is_file())
        total = hashlib.sha256()
        for file in files:
            if self.path.is_dir():
                total.update(file.name.encode() + b"\0")
            with file.open("rb") as opened:
                while block := opened.read(1 << 20):
                    total.update(block)
        return total.hexdigest()[:CONTENT]

    @property
    def key(self) -> str:
        """Hash of the content, and of what it is read with.

        Raises:
            OSError: it cannot be read.
            ValueError: the robot's description cannot be.
        """
        return f"{self.content}-{_description(self.type, json.dumps(dict(self.options)))}"

    @property
    def time(self) -> float:
        """When it began, s since 1970, as well as that can be told.

        Raises:
            OSError: it is not there.
        """
        place = self.path / METADATA if self.path.is_dir() else self.path
        return _stated_beginning(place) or _date(self.path) or os.stat(place).st_mtime


@lru_cache(maxsize=1024)
def _description(robot: str | None, options: str) -> str:
    """Hash of what a robot's description says, and of the options."""
    known = None if robot is None else parse_yaml(load_robot(robot).path.read_text("utf-8"))
    text = json.dumps([known, options], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DESCRIPTION]


def _stated_beginning(metadata: Path) -> float | None:
    """The beginning that a rosbag2's metadata.yaml says, s since 1970."""
    if metadata.name != METADATA:
        return None
    try:
        document = parse_yaml(read_regular(metadata, LARGEST))
        start = document["rosbag2_bagfile_information"]["starting_time"]
        time = 1e-9 * float(start["nanoseconds_since_epoch"])
    except (ValueError, OSError, KeyError, TypeError):
        return None
    return time if EARLIEST <= time < math.inf else None


def _date(path: Path) -> float | None:
    """The last date in a path, UTC, as s since 1970."""
    for found in reversed(list(_DATE.finditer(str(path)))):
        numbers = [int(number or 0) for number in found.groups()]
        try:
            return datetime.datetime(*numbers, tzinfo=datetime.timezone.utc).timestamp()  # type: ignore[arg-type,misc]
        except ValueError:  # no such day
            continue
    return None


class Names:
    """Whose recordings are whose.

    Args:
        table: CSV file with the columns pattern, robot and, if wanted, type; a pattern is of a path
            relative to the folder that was given, such as "kitchen/*"; a robot that is left empty,
            as without a table, is named by the path.
        default: type of robots for which the table gives none.

    Raises:
        ValueError: the table cannot be read, or has other columns.
    """

    def __init__(self, table: Path | None, default: str | None) -> None:
        self._default = default
        self._rows: list[Mapping[str, str]] = []
        if table is None:
            return
        try:
            text = read_regular(table, LARGEST)
        except ValueError as error:
            raise ValueError(f"--names {table}: {error}") from None
        with io.StringIO(text, newline="") as file:
            reader = csv.DictReader(file)
            if not {"pattern", "robot"} <= set(reader.fieldnames or ()):
                raise ValueError(
                    f"{table}: columns {reader.fieldnames}: must be pattern, robot and, if wanted, "
                    "type"
                )
            self._rows = list(reader)

    def of(self, relative: Path) -> tuple[str, str | None]:
        """Robot and type of a recording: the first pattern of the table, else by the path.

        By the path a robot is the first folder, or what is before the first "_" or "-" of the name.
        """
        for row in self._rows:
            if fnmatch.fnmatch(str(relative), row["pattern"]):
                return row["robot"] or _by_path(relative), row.get("type") or self._default
        return _by_path(relative), self._default


def _by_path(relative: Path) -> str:
    """The first folder, or what is before the first "_" or "-" of the name."""
    if len(relative.parts) > 1:
        return relative.parts[0]
    return re.split("[_-]", relative.stem)[0] or relative.stem


def find_recordings(
    places: Sequence[str], names: Names, options: Mapping[str, Any]
) -> tuple[list[FleetRecording], int]:
    """Recordings in folders and of patterns, and how many other files the folders hold.

    Args:
        places: folders, recordings, or patterns of such.
        names: whose they are.
        options: of all, as of Options.

    Raises:
        ValueError: a place does not exist.
    """
    found: dict[Path, FleetRecording] = {}
    others = 0
    for place in places:
        matches = [Path(match) for match in sorted(glob.glob(place, recursive=True))]
        if not matches:
            raise ValueError(f"{place}: there is no such folder or file, and no path is like it")
        for match in matches:
            own, skipped = _inside(match)
            others += skipped
            base = match if match.is_dir() and own != [match] else match.parent
            for path in own:
                robot, kind = names.of(path.relative_to(base))
                found[path.absolute()] = FleetRecording(path, robot, kind, options)
    return list(found.values()), others


def _inside(place: Path) -> tuple[list[Path], int]:
    """Recordings at a place, and the number of its other files."""
    if not place.is_dir() or (place / METADATA).exists():
        return [place], 0
    recordings, others = [], 0
    for folder, folders, files in os.walk(place):
        folders.sort()
        at = Path(folder)
        if METADATA in files:
            recordings.append(at)
            folders.clear()
            continue
        for name in sorted(files):
            if name.startswith("."):
                continue
            if Path(name).suffix.lower() in SUFFIXES:
                recordings.append(at / name)
            else:
                others += 1
    return recordings, others


def read_recordings(recordings: Sequence[tuple[str, FleetRecording]]) -> list[Row]:
    """Rows of recordings with their keys; what a worker calls."""
    return [read_recording(key, recording) for key, recording in recordings]


def read_recording(key: str, recording: FleetRecording) -> Row:
    """The row of a recording; one that cannot be read has its reason in it."""
    begun = time.monotonic()
    row: Row = {
        "key": key,
        "path": str(recording.path),
        "robot": recording.robot,
        "type": recording.type,
        "version": VERSION,
    }
    try:
        row["time"] = recording.time
        options = Options([recording.path], robot=recording.type, **recording.options)
        found = analyse_recording(options)
    except (ValueError, OSError, ArithmeticError, EOFError, KeyError) as error:
        return {
            **row,
            "usable": "unreadable",
            "reason": str(error),
            "wall_time": time.monotonic() - begun,
        }
    verdicts = found.verdicts
    values = {
        f"{verdict.subject}: {value.name}": [_finite(value.value), _finite(value.std), value.unit]
        for verdict in verdicts
        for value in verdict.values
    }
    summary = found.summary
    gyro = summary.get("gyro") or {}
    whole = {name: gyro.get(name.removeprefix("gyro_")) for name in GYRO}
    whole["torque_difference"] = summary.get("torque_difference")
    parts = ((summary.get("parameters"), K), (summary.get("friction"), FRICTION), (whole, whole))
    for part, names in parts:
        part = part or {}
        for name in names:
            known = part.get(name.upper()) or part.get(name)
            if isinstance(known, Mapping) and known.get("std") is not None:
                row[name], row[f"std_{name}"] = float(known["value"]), float(known["std"])
    residuals = summary.get("residual_std") or (math.nan, math.nan)
    return {
        **row,
        "usable": found.usable.value,
        "reason": "; ".join(v.summary() for v in verdicts if not v.usable),
        "notes": "\n".join(found.notes),
        "delay": _finite(summary.get("torque_delay", math.nan)),
        "residual_v": float(residuals[0]),
        "residual_omega": float(residuals[1]),
        "values": json.dumps(values),
        "wall_time": time.monotonic() - begun,
    }


def _finite(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
