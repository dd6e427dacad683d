# SPDX-License-Identifier: Apache-2.0
"""Alarms of a fleet from one run of `diffbot fleet` to the next: since when, and who has seen them.

alarms.json holds each alarm with the time of the run that first raised it. It is new for a day. An
alarm that a person has acknowledged is shown as such until its cause changes.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from diffbot_description.files import read_regular, write_json

ALARMS = "alarms.json"
VERSION = 1
# Time for which an alarm is new, and that makes a robot silent, s.
DAY = 86400.0
MOST_NOTE = 200


@dataclass(frozen=True)
class Alarm:
    """An alarm of a robot.

    Attributes:
        since: Time of the run that first raised it, s since 1970.
        acknowledged: Note of the person who has seen it; None: nobody has.
        ended: Time of the run that did not raise it any more; None: it holds.
    """

    robot: str
    type: str
    cause: str
    since: float
    acknowledged: str | None = None
    ended: float | None = None

    def is_new(self, now: float) -> bool:
        """Whether it was first raised within the last day."""
        return now - self.since < DAY

    def has_ended(self, now: float) -> bool:
        """Whether it ended within the last day."""
        return self.ended is not None and now - self.ended < DAY


@dataclass(frozen=True)
class Morning:
    """What is new in a fleet.

    Attributes:
        now: Time of this run, s since 1970.
        alarms: By type and name of the robot, those that hold.
        ended: Those that ended within the last day.
        recordings: Number of new ones.
        silent: Robots without a usable recording, or with none for a day; and what is known.
        copies: Other paths of recordings of equal content, by the path of the row.
    """

    now: float = math.inf
    alarms: Mapping[tuple[str, str], Alarm] = field(default_factory=dict)
    ended: Sequence[Alarm] = ()
    recordings: int = 0
    silent: Mapping[str, str] = field(default_factory=dict)
    copies: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def state(self, robot: tuple[str, str]) -> str:
        """Return whether a robot's alarm is new, or acknowledged, and since when."""
        alarm = self.alarms.get(robot)
        if alarm is None:
            return ""
        if alarm.acknowledged is not None:
            return f"seen: {alarm.acknowledged}" if alarm.acknowledged else "seen"
        return "new" if alarm.is_new(self.now) else f"for {(self.now - alarm.since) / DAY:.0f} days"


def read_alarms(folder: Path) -> list[Alarm]:
    """Return the alarms of the runs before, none without a file; ValueError if it is damaged."""
    path = folder / ALARMS
    if not path.exists():
        return []
    try:
        content = json.loads(read_regular(path))
        if content["version"] != VERSION:
            raise ValueError(f"version {content['version']}: must be {VERSION}")
        return [Alarm(**each) for each in content["alarms"]]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise ValueError(
            f"{path}: damaged ({error}); remove it, and all alarms count as new"
        ) from None


def write_alarms(folder: Path, alarms: Sequence[Alarm]) -> Path:
    """Write the alarms for the next run; return the file. Raises OSError."""
    content = {"version": VERSION, "alarms": [asdict(alarm) for alarm in alarms]}
    return write_json(folder / ALARMS, content)


def updated(
    known: Sequence[Alarm], raised: Mapping[tuple[str, str], str], now: float
) -> list[Alarm]:
    """Return the alarms after a run at a time, s; those that ended more than a day ago are dropped.

    `raised`: cause by type and name of the robot.
    """
    before = {(alarm.type, alarm.robot, alarm.cause): alarm for alarm in known}
    results = []
    for (kind, robot), cause in raised.items():
        old = before.pop((kind, robot, cause), None)
        fresh = old is None or old.ended is not None
        results.append(Alarm(robot, kind, cause, now) if fresh or old is None else old)
    gone = [replace(old, ended=now if old.ended is None else old.ended) for old in before.values()]
    return results + [alarm for alarm in gone if alarm.has_ended(now)]


def acknowledge(alarms: Sequence[Alarm], words: Sequence[str]) -> list[Alarm]:
    """Return the alarms, with those of ROBOT or ROBOT=NOTE acknowledged; ValueError without one."""
    notes = {}
    for word in words:
        robot, _, note = word.partition("=")
        notes[robot] = note.strip()[:MOST_NOTE]
    holding = {alarm.robot for alarm in alarms if alarm.ended is None}
    for robot in notes:
        if robot not in holding:
            known = ", ".join(sorted(holding)) or "none"
            raise ValueError(f"--acknowledge {robot}: no alarm of this robot; alarms of: {known}")
    return [
        replace(alarm, acknowledged=notes[alarm.robot])
        if alarm.robot in notes and alarm.ended is None
        else alarm
        for alarm in alarms
    ]


def silent_robots(rows: Sequence[Mapping[str, Any]], names: Iterable[str] = ()) -> dict[str, str]:
    """Return robots without a usable recording, or none for a day before the fleet's newest.

    `names`: robots that may have no row, as copies of another robot's recordings have none.
    """
    newest = dict.fromkeys(names, -math.inf)
    for row in rows:
        time = row.get("time") if row["usable"] in ("all", "some") else None
        newest[row["robot"]] = max(newest.get(row["robot"], -math.inf), time or -math.inf)
    last = max(newest.values(), default=-math.inf)
    results = {}
    for robot, time in sorted(newest.items()):
        if math.isinf(time):
            results[robot] = "has no usable recording"
        elif last - time >= DAY:
            results[robot] = f"has no usable recording for {(last - time) / DAY:.0f} days"
    return results
