# SPDX-License-Identifier: Apache-2.0
"""What has been learnt of one robot: values, motions driven, changes; kept in one file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from diffbot_description import load_robot, write_atomically
from diffbot_description.files import read_regular, strict
from diffbot_ident.estimate import NORMAL_95
from diffbot_learning.changes import RobotChange, change_of, find_change, is_testable
from diffbot_learning.driven_sizes import LOGARITHMIC, StretchValue
from diffbot_learning.learned_values import LearnedValue, combine
from diffbot_learning.motions import coverage, fractions
from diffbot_learning.stretch import Stretch
from diffbot_study.fleet_rows import description_hash
from diffbot_study.parquet_store import Row

VERSION = 2
# Stretches that are kept: the first ones, as a baseline, and the newest ones.
BASELINE, NEWEST = 20, 80
# Changes that are kept, and the longest time that motions are counted, s.
CHANGES, LONGEST = 100, 1e6
# Probability of a false alarm in a robot's life, over all looks, unless another is given.
FALSE_ALARMS = 0.01
# Stretches that tell a value before it is the baseline.
FIRST = 5
# Values that wander: the newest stretch tells them.
NEWEST_ONLY = ("gyro_bias",)


class DamagedState(ValueError):
    """A file of learnt values cannot be trusted; the message says why."""


class LearnedRobot:
    """Combines stretches of one robot; call `add` in the order of time.

    Args:
        robot: Name or file of its description.
        false_alarms: Probability of any false alarm, ever; see `add`.

    Attributes:
        changes: The newest ones last.
        motions: Seconds of each kind of motion.
        stretches, refused: Numbers of stretches with and without a usable value.
        reason: Why the newest stretch told nothing; empty if it did.

    Raises:
        ValueError: The description cannot be read, or `false_alarms` is not within 0 and 1.
    """

    def __init__(self, robot: str, false_alarms: float = FALSE_ALARMS) -> None:
        if not 0.0 < false_alarms < 1.0:
            raise ValueError(f"false_alarms = {false_alarms}: must be above 0 and below 1")
        self._name, self._description = load_robot(robot).name, description_hash(robot)
        self._false_alarms = false_alarms
        self._kept: list[Stretch] = []
        self._since, self._looks = -math.inf, 0
        self._baseline: dict[str, float] = {}
        self.changes: list[RobotChange] = []
        self.motions: dict[str, float] = {}
        self.stretches = self.refused = 0
        self.reason = ""

    def add(self, stretch: Stretch) -> RobotChange | None:
        """Take a stretch; return the change that it proves, or None.

        A look after k others is tested at the level false_alarms * 6 / (pi^2 k^2), so that all
        looks together give a false alarm with the probability `false_alarms` at most. After a step
        the values begin anew.
        """
        for kind, seconds in stretch.motions.items():
            self.motions[kind] = min(LONGEST, self.motions.get(kind, 0.0) + seconds)
        self.reason = stretch.reason
        if not stretch.values:
            self.refused += 1
            return None
        self.stretches += 1
        self._kept.append(stretch)
        if len(self._kept) > BASELINE + NEWEST:
            del self._kept[BASELINE]
        change = self._find_change()
        for value in self.values():
            if value.stretches >= FIRST:
                self._baseline.setdefault(value.name, value.value)
        if change is None:
            return None
        self.changes = [*self.changes, change][-CHANGES:]
        self._since = change.between[1] if not change.gradual else stretch.time
        self._kept = [one for one in self._kept if one.time >= self._since]
        return change

    def values(self) -> list[LearnedValue]:
        """Return each value with its interval, by all stretches since the last change."""
        readings: dict[str, list[tuple[StretchValue, float]]] = {}
        for stretch in self._kept:
            for name, quantity in stretch.values.items():
                readings.setdefault(name, []).append((quantity, stretch.time))
        return [self._value(name, each) for name, each in readings.items()]

    def _value(self, name: str, readings: Sequence[tuple[StretchValue, float]]) -> LearnedValue:
        used = [one for one, _ in readings]
        if name in NEWEST_ONLY:
            used = used[-1:]
        logs = name in LOGARITHMIC
        sizes = [one.value if logs else 1.0 for one in used]
        mean = combine(
            [math.log(one.value) if logs else one.value for one in used],
            [one.std / size for one, size in zip(used, sizes, strict=True)],
        )
        value = math.exp(mean.value) if logs else mean.value
        half = value * math.expm1(mean.half_width) if logs else mean.half_width
        newest, last = readings[-1]
        fraction, more = coverage(name, self.motions)
        return LearnedValue(
            name=name,
            value=value,
            half_width=math.hypot(half, NORMAL_95 * newest.common),
            unit=newest.unit,
            stretches=len(readings),
            last=last,
            coverage=fraction,
            more=more,
            baseline=self._baseline.get(name),
        )

    def driven(self) -> dict[str, float]:
        """Return how much of each kind of motion has been driven, 0 to 1; see motions.ENOUGH."""
        return fractions(self.motions)

    def missing(self) -> str:
        """Return the motion of which more would tell most; empty if there is enough of all."""
        driven = self.driven()
        least = min(driven, key=lambda kind: driven[kind])
        return least if driven[least] < 1.0 else ""

    def _find_change(self) -> RobotChange | None:
        if not is_testable(self._kept):
            return None
        self._looks += 1
        return find_change(self._kept, self._false_alarms * 6.0 / (math.pi * self._looks) ** 2)

    # The file.

    def save(self, path: Path) -> None:
        """Write everything. Raises OSError."""
        content = strict(
            {
                "version": VERSION,
                "robot": self._name,
                "description": self._description,
                "since": self._since if math.isfinite(self._since) else None,
                "looks": self._looks,
                "stretches": self.stretches,
                "refused": self.refused,
                "motions": self.motions,
                "baseline": self._baseline,
                "changes": [asdict(change) for change in self.changes],
                "kept": [vars(stretch) for stretch in self._kept],
            }
        )
        text = json.dumps(content, sort_keys=True)
        write_atomically(path, json.dumps({"sha256": _hash(text), "content": content}))

    def load(self, path: Path) -> None:
        """Go on from a file that `save` wrote.

        Raises:
            DamagedState: It is not complete, or was learnt of another robot or by another version.
            OSError: It cannot be read.
        """
        try:
            document = json.loads(read_regular(path))
            content = document["content"]
            if document["sha256"] != _hash(json.dumps(content, sort_keys=True)):
                raise DamagedState(f"{path}: the checksum is wrong; learning begins anew")
            self._take(content, path)
        except DamagedState:
            raise
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise DamagedState(f"{path}: damaged ({error}); learning begins anew") from None

    def _take(self, content: Mapping[str, Any], path: Path) -> None:
        if content["version"] != VERSION:
            raise DamagedState(f"{path}: of version {content['version']}; learning begins anew")
        if content["description"] != self._description:
            raise DamagedState(
                f"{path}: learnt with another description of the robot; learning begins anew"
            )
        kept = [_stretch(one) for one in content["kept"]]
        changes = [change_of(one) for one in content["changes"]]
        baseline = {str(name): float(value) for name, value in content["baseline"].items()}
        since = content["since"]
        self._kept, self.changes, self._baseline = kept, changes, baseline
        self._since = -math.inf if since is None else float(since)
        self._looks, self.stretches, self.refused = (
            int(content[name]) for name in ("looks", "stretches", "refused")
        )
        self.motions = {str(kind): float(time) for kind, time in content["motions"].items()}


def _stretch(content: Mapping[str, Any]) -> Stretch:
    values = {
        str(name): StretchValue(float(value), float(std), str(unit), float(common))
        for name, (value, std, unit, common) in content["values"].items()
    }
    row: Row = dict(content["row"])
    return Stretch(float(content["time"]), values, row, dict(content["motions"]), "")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def summary(learning: LearnedRobot) -> dict[str, Any]:
    """Return what is known as plain values, for learned.json."""
    values: Sequence[LearnedValue] = learning.values()
    return {
        "values": {
            value.name: {
                "value": value.value,
                "interval95": [value.value - value.half_width, value.value + value.half_width],
                "unit": value.unit,
                "stretches": value.stretches,
                "last": value.last,
                "coverage": value.coverage,
                "more": value.more,
                "change": None if value.baseline is None else value.value - value.baseline,
            }
            for value in values
        },
        "driven": learning.driven(),
        "missing": learning.missing(),
        "stretches": learning.stretches,
        "refused": learning.refused,
        "changes": [asdict(change) for change in learning.changes],
    }
