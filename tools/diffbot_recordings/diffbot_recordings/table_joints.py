# SPDX-License-Identifier: Apache-2.0
"""Tables with one row per joint: time, name of the joint, position, velocity, effort.

Each column X of them becomes `left_X` and `right_X` of one row per reading, at the time of its
second wheel's row. Rows of equal time belong together; otherwise the wheel that the other follows
soonest leads.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from diffbot_recordings.bag_topics import Sides
from diffbot_recordings.samples import RecordingError
from diffbot_recordings.table_columns import KNOWN, TIME, Column, bare, columns_of
from diffbot_recordings.table_text import TableText, moment, number

# Names of the column of joints, and rows searched for them.
NAMES = ("name", "joint", "joint_name", "joint_names", "wheel", "motor", "actuator")
SEARCHED = 400

FindWheels = Callable[[Sequence[str]], Sides]
"""Returns the joints of the left and the right wheel among all names; RecordingError: none."""


def readings_of(
    text: TableText, find: FindWheels, chosen: Mapping[str, Column] = MappingProxyType({})
) -> TableText:
    """Return a table with one row per reading; the given one if it has.

    Args:
        find: Finds the wheels among the joints, or raises RecordingError.
        chosen: Columns that the user named.
    """
    name, time = _column_of_names(text), columns_of(text.header, chosen).get(TIME)
    if name is None or time is None:
        return text
    rows = [row for row in islice(text.rows(), SEARCHED) if row and len(row) == len(text.header)]
    names = list(dict.fromkeys(row[name].strip() for row in rows))
    text.done = 0
    try:
        left, right = find(names)
    except RecordingError as error:
        raise RecordingError(f"{text.path}: one row per joint: {error}") from None
    if len(left) > 1 or len(right) > 1:
        raise RecordingError(
            f"{text.path}: one row per joint, and {', '.join((*left, *right))} are the wheels: "
            "name one of each side with --left-joint and --right-joint"
        )
    wheels, at = (left[0], right[0]), text.header.index(time.name)
    seen = [(row[name].strip(), moment(row[at])) for row in rows if row[name].strip() in wheels]
    return JointRows(text, name, at, wheels, _Pacing.of(seen))


def _column_of_names(text: TableText) -> int | None:
    names = [bare(column) for column in text.header]
    sides = {known for every in KNOWN.values() for known in every}
    if not any(f"left_{name}" in sides for name in names) or {*names} & {*sides} & _OF_WHEELS:
        return None
    for i, name in enumerate(names):
        if name in NAMES and i < len(text.first) and math.isnan(number(text.first[i])):
            return i
    return None


_OF_WHEELS = {
    name for channel, names in KNOWN.items() if channel.startswith(("left", "right"))
    for name in names
}  # fmt: skip


class JointRows(TableText):
    """The readings of a table with one row per joint; `name` and `time` are indices of columns."""

    def __init__(
        self, text: TableText, name: int, time: int, wheels: tuple[str, str], pacing: _Pacing
    ) -> None:
        self._text, self._name, self._time, self._wheels = text, name, time, wheels
        self._pacing = pacing
        fields = [column for i, column in enumerate(text.header) if i != name]
        header = [*text.header, *(f"{side}_{x}" for side in ("left", "right") for x in fields)]
        super().__init__(
            text.path,
            header,
            [*text.first, *[""] * (len(header) - len(text.header))],
            text.delimiter,
            text.skipped,
            text.encoding,
            text.width,
        )

    def rows(self) -> Iterator[list[str] | None]:
        """Yield the readings; None for a row that cannot be parsed. See TableText.rows."""
        first: tuple[str, float, list[str]] | None = None  # joint, time and cells of the last row
        for cells in self._text.rows():
            self.done = self._text.done
            if cells is None or len(cells) != len(self._text.header):
                yield cells
                continue
            joint, time = cells[self._name].strip(), moment(cells[self._time])
            if joint not in self._wheels:
                continue
            own = [cell for i, cell in enumerate(cells) if i != self._name]
            if first is not None and self._pacing.together(first[:2], (joint, time)):
                left, right = (own if wheel == joint else first[2] for wheel in self._wheels)
                yield [*cells, *left, *right]
                first = None
            else:
                first = joint, time, own


@dataclass(frozen=True)
class _Pacing:
    leader: str | None
    longest: float

    @classmethod
    def of(cls, rows: Sequence[tuple[str, float]]) -> _Pacing:
        after: dict[str, list[float]] = {}
        for (joint, time), (other, later) in zip(rows[:-1], rows[1:], strict=True):
            if other != joint and math.isfinite(later - time):
                after.setdefault(joint, []).append(later - time)
        usual = {joint: sorted(steps)[len(steps) // 2] for joint, steps in after.items()}
        if len(usual) < 2:
            return cls(None, math.inf)
        leader = min(usual, key=lambda joint: usual[joint])
        return cls(leader, 0.5 * sum(usual.values()))

    def together(self, first: tuple[str, float], second: tuple[str, float]) -> bool:
        if first[0] == second[0]:
            return False
        if first[1] == second[1] or self.leader is None:
            return True
        return first[0] == self.leader and abs(second[1] - first[1]) < self.longest
