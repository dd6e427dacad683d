# SPDX-License-Identifier: Apache-2.0
"""Recordings of a fleet as rows of a table: finding them, their robots, and their results.

Its key is a hash of the content and of what it is read with, so a copy is the same recording. Its
time is in a rosbag2's metadata, else in its path, as 20310504-101500 or 2031-05-04, else that of
its last modification.
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
from diffbot_description.files import finite, parse_yaml, read_regular, read_yaml
from diffbot_ident.estimate import FRICTION_NAMES, NAMES
from diffbot_recordings.bag import METADATA
from diffbot_recordings.findings import Findings
from diffbot_recordings.options import Options
from diffbot_recordings.recording_analysis import BAGS, LOGS, analyse_recording
from diffbot_recordings.samples import TABLES
from diffbot_study.fleet_quantities import GYRO
from diffbot_study.parquet_store import Row

VERSION = 4
"""Version of the rows; increased when their meaning changes, so recordings are read again."""
# Hexadecimal digits of a content's hash, with which a key begins, and of a description's.
CONTENT, DESCRIPTION = 32, 8
# Earlier start times are simulated time, s since 1970.
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
    **{name: "float64" for each in (*NAMES, *FRICTION_NAMES) for name in (each, f"std_{each}")},
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
larger the effect of a reported torque is at the right wheel, as a fraction of both; gyro_scale, yaw
rate by the gyro over that by the wheels, and radius_difference, right radius minus left one in
excess of the file's, as a fraction of it; values, all of the verdicts' values with their standard
deviations, as JSON."""


@dataclass(frozen=True)
class FleetRecording:
    """One recording of a fleet: a file or rosbag2 folder.

    Attributes:
        type: Name or file of the robot's description; None: unknown.
        options: Further options of `identify`, see Options.
    """

    path: Path
    robot: str
    type: str | None
    options: Mapping[str, Any]

    @cached_property
    def content(self) -> str:
        """Hash of the content, CONTENT digits. Raises OSError."""
        files = [self.path]
        if self.path.is_dir():
            files = sorted(file for file in self.path.rglob("*") if file.is_file())
        total = hashlib.sha256()
        for file in files:
            if self.path.is_dir():
                total.update(file.name.encode() + b"\0")
            with file.open("rb") as opened:
                while batch := opened.read(1 << 20):
                    total.update(batch)
        return total.hexdigest()[:CONTENT]

    @property
    def key(self) -> str:
        """Hash of the content, and of what it is read with. Raises OSError or ValueError."""
        return f"{self.content}-{description_hash(self.type, json.dumps(dict(self.options)))}"

    @property
    def time(self) -> float:
        """Best known start time, s since 1970. Raises OSError."""
        place = self.path / METADATA if self.path.is_dir() else self.path
        return _stated_beginning(place) or _date(self.path) or os.stat(place).st_mtime


@lru_cache(maxsize=1024)
def description_hash(robot: str | None, options: str = "{}") -> str:
    """Return a hash of a robot's description and the options, as JSON. Raises ValueError."""
    known = None if robot is None else read_yaml(load_robot(robot).path)
    text = json.dumps([known, options], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:DESCRIPTION]


def _stated_beginning(metadata: Path) -> float | None:
    """Return the start time in a rosbag2's metadata.yaml, s since 1970."""
    if metadata.name != METADATA:
        return None
    try:
        document = parse_yaml(read_regular(metadata))
        start = document["rosbag2_bagfile_information"]["starting_time"]
        time = 1e-9 * float(start["nanoseconds_since_epoch"])
    except (ValueError, OSError, KeyError, TypeError):
        return None
    return time if EARLIEST <= time < math.inf else None


def _date(path: Path) -> float | None:
    """Return the last date in a path, UTC, as s since 1970."""
    for result in reversed(list(_DATE.finditer(str(path)))):
        numbers = [int(number or 0) for number in result.groups()]
        try:
            return datetime.datetime(*numbers, tzinfo=datetime.timezone.utc).timestamp()  # type: ignore[arg-type,misc]
        except ValueError:  # no such day
            continue
    return None


class Names:
    """Assignment of recordings to robots.

    Args:
        table: CSV file with the columns pattern, robot and, optionally, type. A pattern matches a
            path relative to the given folder, such as "kitchen/*". If the robot is empty, or
            without a table, the path determines its name.
        default: Type of robots for which the table has none.

    Raises:
        ValueError: The table cannot be read, or has other columns.
    """

    def __init__(self, table: Path | None, default: str | None) -> None:
        self._default = default
        self._rows: list[Mapping[str, str]] = []
        if table is None:
            return
        try:
            text = read_regular(table)
        except ValueError as error:
            raise ValueError(f"--names {table}: {error}") from None
        with io.StringIO(text, newline="") as file:
            reader = csv.DictReader(file, restval="")
            if not {"pattern", "robot"} <= set(reader.fieldnames or ()):
                raise ValueError(
                    f"{table}: columns {reader.fieldnames}: must be pattern, robot and, if wanted, "
                    "type"
                )
            try:
                self._rows = list(reader)
            except csv.Error as error:
                raise ValueError(f"--names {table}: {error}") from None

    def of(self, relative: Path) -> tuple[str, str | None]:
        """Return robot and type of a recording, by the first matching pattern, or by the path."""
        for row in self._rows:
            if fnmatch.fnmatch(str(relative), row["pattern"]):
                return row["robot"] or _by_path(relative), row.get("type") or self._default
        return _by_path(relative), self._default


def _by_path(relative: Path) -> str:
    """Return the first folder, or the part of the name before the first "_" or "-"."""
    if len(relative.parts) > 1:
        return relative.parts[0]
    return re.split("[_-]", relative.stem)[0] or relative.stem


def find_recordings(
    places: Sequence[str], names: Names, options: Mapping[str, Any]
) -> tuple[list[FleetRecording], int]:
    """Return recordings in folders or matching patterns, and the number of other files there.

    Args:
        places: Folders, recordings, or patterns of such.
        names: Assignment to robots.
        options: Options of all recordings, see Options.

    Raises:
        ValueError: A place does not exist.
    """
    results: dict[Path, FleetRecording] = {}
    others = 0
    for place in places:
        matches = [Path(match) for match in sorted(glob.glob(place, recursive=True))]
        if not matches:
            raise ValueError(f"{place}: there is no such folder or file, and no path matches it")
        for match in matches:
            own, skipped = _inside(match)
            others += skipped
            base = match if match.is_dir() and own != [match] else match.parent
            for path in own:
                robot, kind = names.of(path.relative_to(base))
                results[path.absolute()] = FleetRecording(path, robot, kind, options)
    return list(results.values()), others


def _inside(place: Path) -> tuple[list[Path], int]:
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
    """Return the rows of recordings with their keys; workers call this."""
    return [read_recording(key, recording) for key, recording in recordings]


def read_recording(key: str, recording: FleetRecording) -> Row:
    """Return the row of a recording; for one that cannot be read it contains the reason."""
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
        findings = analyse_recording(options)
    except (ValueError, OSError, ArithmeticError, EOFError, KeyError) as error:
        return {
            **row,
            "usable": "unreadable",
            "reason": str(error),
            "wall_time": time.monotonic() - begun,
        }
    return {**row, **findings_row(findings), "wall_time": time.monotonic() - begun}


def findings_row(findings: Findings) -> Row:
    """Return the columns of a row that hold the results of a recording."""
    row: Row = {}
    verdicts = findings.verdicts
    values = {
        f"{verdict.subject}: {value.name}": [finite(value.value), finite(value.std), value.unit]
        for verdict in verdicts
        for value in verdict.values
    }
    summary = findings.summary
    gyro = summary.get("gyro") or {}
    whole = {name: gyro.get(name.removeprefix("gyro_")) for name in GYRO}
    whole["torque_difference"] = summary.get("torque_difference")
    parts = (
        (summary.get("parameters"), NAMES),
        (summary.get("friction"), FRICTION_NAMES),
        (whole, whole),
    )
    for part, names in parts:
        part = part or {}
        for name in names:
            known = part.get(name.upper()) or part.get(name)
            if isinstance(known, Mapping) and known.get("std") is not None:
                row[name], row[f"std_{name}"] = float(known["value"]), float(known["std"])
    residuals = summary.get("residual_std") or (math.nan, math.nan)
    return {
        **row,
        "usable": findings.usable.value,
        "reason": "; ".join(v.summary() for v in verdicts if not v.usable),
        "notes": "\n".join(findings.notes),
        "delay": finite(summary.get("torque_delay", math.nan)),
        "residual_v": float(residuals[0]),
        "residual_omega": float(residuals[1]),
        "values": json.dumps(values),
    }
