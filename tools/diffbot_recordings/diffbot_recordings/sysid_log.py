# SPDX-License-Identifier: Apache-2.0
"""Read SysId logs of WPILib: voltages, positions, velocities and yaw in four drivetrain tests.

JSON, or WPILOG (newer SysId, AdvantageKit): records of entries, of which a text names the running
test (sysid-test-state-drive, …/SysIdState); signals are found by name.
"""

from __future__ import annotations

import math
import struct
import sys
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from diffbot_description.files import parse_json, read_regular
from diffbot_description.limits import JSON, LOG, RECORDS
from diffbot_recordings.samples import SIDES, Array, RecordingError, check_files, is_number

# A JSON object of four tests, "slow-forward", "slow-backward" (ramps), "fast-forward",
# "fast-backward" (steps): rows [t s, V left, right, positions (rotations), velocities (rot/s), yaw
# rad, yaw rate]; with "sysid": true, "test", "units", "unitsPerRotation". Older logs have rows [t,
# battery V, share of the voltage, V left, right, positions, velocities, yaw] and no "sysid".

TESTS = ("slow-forward", "slow-backward", "fast-forward", "fast-backward")
DRIVETRAINS = ("Drivetrain", "Drivetrain (Angular)")
LENGTHS = {"Meters": 1.0, "Feet": 0.3048, "Inches": 0.0254}
ANGLES = {"Radians": 1.0, "Rotations": math.tau, "Degrees": math.pi / 180.0}
# Columns of time, voltages, positions, velocities, yaw, yaw rate; None: not recorded.
NEW: tuple[int | None, ...] = (0, 1, 2, 3, 4, 5, 6, 7, 8)
OLD: tuple[int | None, ...] = (0, 3, 4, 5, 6, 7, 8, 9, None)
# Share of a test's rows that may be left out, for values that are no numbers or come out of order.
MOST_LOST = 0.05


@dataclass(frozen=True)
class SysIdTest:
    """One test of TESTS; arrays of shape (n,), times ascending, s.

    Voltages in V; positions in m, or rad of the wheel (see SysIdLog.unit), velocities per s; yaw in
    rad, its rate in rad/s, NaN if not recorded.
    """

    name: str
    times: Array
    left_voltage: Array
    right_voltage: Array
    left_position: Array
    right_position: Array
    left_velocity: Array
    right_velocity: Array
    yaw: Array
    yaw_rate: Array


@dataclass(frozen=True)
class SysIdLog:
    """A SysId log: file name, kind (one of DRIVETRAINS), tests by name.

    The unit of positions is "m", or "rad" if the log states no length.
    """

    name: str
    kind: str
    unit: str
    tests: Mapping[str, SysIdTest]


def read_sysid(path: Path) -> SysIdLog:
    """Read a log. Raises RecordingError if it is no drivetrain log."""
    data = _json(path)
    kind = data.get("test")
    if kind is None and not any(name in data for name in TESTS):
        raise RecordingError(
            f"{path.name}: not a SysId log: it has no entry 'test', and none of {', '.join(TESTS)}"
        )
    if kind not in DRIVETRAINS:
        raise RecordingError(
            f"{path.name}: test = {kind!r}: must be one of {', '.join(map(repr, DRIVETRAINS))}; "
            "logs of single mechanisms hold no robot that drives"
        )
    scale, unit = _scale(path, data)
    columns = NEW if data.get("sysid") is True else OLD
    tests = {
        name: _test(path, name, data[name], columns, scale) for name in TESTS if data.get(name)
    }
    if not tests:
        raise RecordingError(
            f"{path.name}: holds rows of none of the tests {', '.join(TESTS)}; its entries are "
            f"{', '.join(map(str, data))[:300] or 'none'}; rename them, or record two tests or more"
        )
    return SysIdLog(path.name, str(kind), unit, tests)


def _json(path: Path) -> dict[str, object]:
    try:
        data = parse_json(read_regular(path, JSON))
    except ValueError as error:
        raise RecordingError(f"{path.name}: cannot be read as JSON: {error}") from error
    if not isinstance(data, dict):
        raise RecordingError(f"{path.name}: must be a JSON object with the tests of a SysId log")
    return data


def _scale(path: Path, data: Mapping[str, object]) -> tuple[float, str]:
    units, factor = data.get("units"), data.get("unitsPerRotation")
    if not isinstance(factor, (int, float)) or not 0.0 < factor <= sys.float_info.max:
        raise RecordingError(
            f"{path.name}: unitsPerRotation = {factor!r}: must be a number > 0, the way of a wheel "
            "in one rotation"
        )
    if isinstance(units, str) and units in LENGTHS:
        return float(factor) * LENGTHS[units], "m"
    if isinstance(units, str) and units in ANGLES:
        return float(factor) * ANGLES[units], "rad"
    raise RecordingError(
        f"{path.name}: units = {units!r}: must be one of {', '.join((*LENGTHS, *ANGLES))}"
    )


def _test(
    path: Path, name: str, rows: object, columns: tuple[int | None, ...], scale: float
) -> SysIdTest:
    try:
        table = np.array(rows, dtype=float)
    except (TypeError, ValueError, OverflowError) as error:
        raise RecordingError(
            f"{path.name}: {name}: rows must be lists of numbers of one length: {error}"
        ) from error
    width = 9 if columns is NEW else 10
    if table.ndim != 2 or table.shape[1] != width:
        raise RecordingError(
            f"{path.name}: {name}: rows have shape {table.shape}: must be (n, {width})"
        )
    finite = table[np.asarray(is_number(table).all(axis=1))]
    latest = np.maximum.accumulate(finite[:, 0])
    lost = len(table) - np.count_nonzero(finite[:, 0] == latest)
    if lost > MOST_LOST * len(table) or not len(finite):
        raise RecordingError(
            f"{path.name}: {name}: {lost} of {len(table)} rows hold no finite numbers or are "
            f"earlier than a row before; at most {MOST_LOST:.0%} may: sort the rows by time, or "
            "record this test again"
        )
    # Some rows are sent twice, or out of order.
    table = finite[np.concatenate(([True], np.diff(latest) > 0.0))]
    values = [np.full(len(table), math.nan) if c is None else table[:, c] for c in columns]
    values[3:7] = [scale * column for column in values[3:7]]
    return SysIdTest(name, *values)


MAGIC = b"WPILOG"
STATES = {
    "quasistatic-forward": "slow-forward",
    "quasistatic-reverse": "slow-backward",
    "dynamic-forward": "fast-forward",
    "dynamic-reverse": "fast-backward",
}
QUANTITIES = {
    "voltage": ("voltage", "volts"),
    "position": ("position",),
    "velocity": ("velocity", "speed"),
}
YAW, YAW_RATE = ("yaw", "heading"), ("yawrate", "yawvelocity", "yaw_rate", "yaw-rate")
LEAST_RECORDS = 20


@dataclass
class LogEntry:
    """An entry of a log with its records: times, s, and numbers, or texts of the running test."""

    name: str
    kind: str
    metadata: str
    times: array[float] = field(default_factory=lambda: array("d"))
    values: array[float] | list[str] = field(default_factory=lambda: array("d"))

    def numbers(self) -> tuple[Array, Array]:
        """Return times and values of an entry of numbers, shape (n,) each."""
        return np.array(self.times), np.array(self.values, dtype=float)


def read_wpilog(path: Path) -> SysIdLog:
    """Read the SysId tests in a log. Raises RecordingError if it holds none of a drivetrain."""
    entries = read_entries(path)
    state = next((e for e in entries if isinstance(e.values, list) and e.values), None)
    if state is None:
        listed = ", ".join(entry.name for entry in entries[:12]) or "nothing"
        raise RecordingError(
            f"{path.name}: no entry names the running SysId test (sysid-test-state-… or "
            f"SysIdState); the log has: {listed}"
        )
    signals = {
        (side, quantity): _signal(path, entries, side, quantity)
        for side in SIDES
        for quantity in QUANTITIES
    }
    unit = _unit(path, signals["left", "position"])
    tests = {}
    for name, begin, end in _intervals(state):
        test = _logged_test(name, begin, end, signals, entries, unit[0])
        if test is not None:
            tests[name] = test
    if not tests:
        raise RecordingError(
            f"{path.name}: {state.name} names no test that lasts {LEAST_RECORDS} records of the "
            f"voltage: its states are {', '.join([*dict.fromkeys(map(str, state.values))][:12])}, "
            f"those of tests must be {', '.join(STATES)}; rename them"
        )
    return SysIdLog(path.name, _kind(tests), unit[1], tests)


def _is_state(name: str) -> bool:
    text = name.lower()
    return "sysid" in text and "state" in text


def read_entries(path: Path) -> list[LogEntry]:
    """Read all entries of a log, of a truncated one as far as it goes. Raises RecordingError."""
    check_files([path])
    with path.open("rb") as file:
        data = file.read(LOG.value + 1)
    if len(data) > LOG.value:
        raise RecordingError(f"{path}: {LOG.error()}")
    if data[: len(MAGIC)] != MAGIC or len(data) < 12:
        raise RecordingError(f"{path.name}: not a WPILOG file: it must begin with {MAGIC.decode()}")
    (extra,) = struct.unpack_from("<I", data, 8)
    entries: dict[int, LogEntry] = {}
    texts: dict[str, str] = {}
    for count, (number, time, content) in enumerate(_records(data, 12 + extra)):
        if count >= RECORDS.value:
            raise RecordingError(f"{path}: {RECORDS.error()}")
        if number == 0:
            _control(content, entries)
            continue
        entry = entries.get(number)
        if entry is None:
            continue
        if isinstance(entry.values, list):
            text = content.decode("utf-8", "replace").strip('"')
            entry.times.append(1e-6 * time)
            entry.values.append(texts.setdefault(text, text))  # equal texts take memory once
        elif (value := _number(entry.kind, content)) is not None:
            entry.times.append(1e-6 * time)
            entry.values.append(value)
    return list(entries.values())


def _records(data: bytes, at: int) -> Iterator[tuple[int, int, bytes]]:
    while at < len(data):
        lengths = data[at]
        sizes = ((lengths & 3) + 1, (lengths >> 2 & 3) + 1, (lengths >> 4 & 7) + 1)
        at += 1
        numbers = []
        for size in sizes:
            numbers.append(int.from_bytes(data[at : at + size], "little"))
            at += size
        entry, size, time = numbers
        if at + size > len(data):
            return
        yield entry, time, data[at : at + size]
        at += size


def _control(content: bytes, entries: dict[int, LogEntry]) -> None:
    """Process a control record; only the definition of an entry matters here."""
    if len(content) < 5 or content[0] != 0:
        return
    (number,) = struct.unpack_from("<I", content, 1)
    at, texts = 5, []
    for _ in range(3):
        if at + 4 > len(content):
            return
        (size,) = struct.unpack_from("<I", content, at)
        texts.append(content[at + 4 : at + 4 + size].decode("utf-8", "replace"))
        at += 4 + size
    name, kind, metadata = texts
    entries[number] = LogEntry(name, kind, metadata)
    if kind == "string" and _is_state(name):
        entries[number].values = []


def _number(kind: str, content: bytes) -> float | None:
    form = {"double": "<d", "float": "<f", "int64": "<q"}.get(kind)
    if form is None or len(content) != struct.calcsize(form):
        return None
    return float(struct.unpack(form, content)[0])


def _signal(path: Path, entries: Sequence[LogEntry], side: str, quantity: str) -> LogEntry:
    results = [
        entry
        for entry in entries
        if entry.kind != "string"
        and entry.values
        and side in entry.name.lower()
        and any(word in entry.name.lower() for word in QUANTITIES[quantity])
    ]
    if not results:
        listed = ", ".join(entry.name for entry in entries if entry.values)[:400]
        raise RecordingError(
            f"{path.name}: no entry with numbers has {side} and {QUANTITIES[quantity][0]} in its "
            f"name; a drivetrain needs both sides. The log has: {listed or 'nothing'}"
        )
    # Not a follower or a setpoint: most values, then the shortest name.
    return min(results, key=lambda entry: (-len(entry.values), len(entry.name)))


def _unit(path: Path, position: LogEntry) -> tuple[float, str]:
    text = f"{position.metadata} {position.name}".lower()
    if "meter" in text:
        return 1.0, "m"
    for word, factor in (("rot", math.tau), ("deg", math.pi / 180.0), ("rad", 1.0)):
        if word in text:
            return factor, "rad"
    raise RecordingError(
        f"{path.name}: {position.name}: unknown unit (metadata {position.metadata!r}); must "
        "contain meter, rotation, radian or degree"
    )


def _intervals(state: LogEntry) -> Iterator[tuple[str, float, float]]:
    """Yield name, begin and end of each test, s; of repeated tests, the last one."""
    results: dict[str, tuple[float, float]] = {}
    ends = [*state.times[1:], math.inf]
    open_tests: dict[str, float] = {}
    for time, end, text in zip(state.times, ends, state.values, strict=True):
        name = STATES.get(str(text).lower())
        if name is None:
            open_tests.clear()
            continue
        # SysId writes the state repeatedly while a test runs.
        begin = open_tests.setdefault(name, time)
        for other in [other for other in open_tests if other != name]:
            del open_tests[other]
        results[name] = (begin, end)
    for name, (begin, end) in results.items():
        yield name, begin, end


def _logged_test(
    name: str,
    begin: float,
    end: float,
    signals: Mapping[tuple[str, str], LogEntry],
    entries: Sequence[LogEntry],
    scale: float,
) -> SysIdTest | None:
    """Return one test, at the times of the left velocity; None if there are too few records."""
    clock, _ = signals["left", "velocity"].numbers()
    times = np.unique(clock[(clock >= begin) & (clock <= end)])
    if len(times) < LEAST_RECORDS:
        return None
    columns: dict[str, Array] = {}
    for (side, quantity), entry in signals.items():
        own, values = entry.numbers()
        if quantity == "voltage":
            # A voltage holds until the next record.
            index = np.searchsorted(own, times, side="right") - 1
            columns[f"{side}_{quantity}"] = np.where(index >= 0, values[np.maximum(index, 0)], 0.0)
        else:
            columns[f"{side}_{quantity}"] = scale * np.interp(times, own, values)
    finite = np.all([is_number(values) for values in columns.values()], axis=0)
    if np.count_nonzero(finite) < LEAST_RECORDS:
        return None
    times = times[finite]
    columns = {key: values[finite] for key, values in columns.items()}
    yaw, rate = (_gyro(entries, words, times) for words in (YAW, YAW_RATE))
    return SysIdTest(
        name=name,
        times=times,
        **columns,
        yaw=np.zeros(len(times)) if yaw is None else yaw,
        yaw_rate=np.full(len(times), math.nan) if rate is None else rate,
    )


def _gyro(entries: Sequence[LogEntry], words: Sequence[str], times: Array) -> Array | None:
    for entry in entries:
        text = entry.name.lower()
        is_rate = any(word in text for word in YAW_RATE)
        if entry.kind == "string" or not entry.values or is_rate != (words is YAW_RATE):
            continue
        if any(word in text for word in words):
            own, values = entry.numbers()
            degrees = "deg" in f"{entry.metadata} {text}".lower()
            return np.interp(times, own, values) * (math.pi / 180.0 if degrees else 1.0)
    return None


def _kind(tests: Mapping[str, SysIdTest]) -> str:
    product = sum(float(test.left_voltage @ test.right_voltage) for test in tests.values())
    return DRIVETRAINS[0 if product >= 0.0 else 1]
