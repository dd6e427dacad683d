# SPDX-License-Identifier: Apache-2.0
"""Recordings and ways to damage them: parsers must answer any damage with an error sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np

from made_recordings.motor_logs import drawn, make_log
from made_recordings.recorded_bag import RecordedBag
from made_recordings.sysid_logs import MadeDrivetrain, make_logs

Damage = Callable[[bytes, np.random.Generator], bytes]


def whole_files(folder: Path) -> dict[str, Path]:
    """Write a small valid recording of each kind; return the paths by kind.

    Args:
        folder: Folder to write to.
    """
    rng = np.random.default_rng(1)
    motors = make_log(drawn(rng), rng, seconds=0.3)
    columns = np.column_stack(list(motors.values()))
    rows = _driven(rng)
    results = {
        "velocity.csv": _table("time,command_v,command_w,v,w", rows),
        "semicolons.csv": _table("time [s];command_v;command_w;v;w", rows, ";").replace(".", ","),
        "motors.csv": _table(",".join(motors), columns),
        "sysid.json": json.dumps(make_logs([MadeDrivetrain(ramp=2.0, duration=0.8)], 1)[0]),
    }
    paths = {}
    for name, text in results.items():
        paths[name] = folder / name
        paths[name].write_text(text)
    for storage, suffix in (("mcap", ".mcap"), ("sqlite3", ".db3")):
        with RecordedBag(folder / storage, storage) as bag:
            for time, v_command, w_command, v, w in rows.tolist():
                bag.odometry("/odom", 1.0 + time, (v, w))
                bag.twist("/cmd_vel", 1.0 + time, (v_command, w_command))
        paths[storage + suffix] = next((folder / storage).glob("*" + suffix))
    return paths


def _driven(rng: np.random.Generator) -> np.ndarray:
    """Return rows of [t, command of v and omega, measured v and omega], 5 s long."""
    rows, velocity, command = [], np.zeros(2), np.zeros(2)
    for k in range(250):
        if k % 25 == 0:
            command = rng.uniform((-0.5, -1.0), (0.5, 1.0))
        measured = velocity + 0.005 * rng.standard_normal(2)
        rows.append([0.02 * k, *command, *measured])
        velocity = velocity + 0.1 * (command - velocity)
    return np.array(rows)


def _table(header: str, rows: np.ndarray, delimiter: str = ",") -> str:
    lines = [delimiter.join(f"{value:.6g}" for value in row) for row in rows]
    return "\n".join((header, *lines)) + "\n"


def _cut(data: bytes, rng: np.random.Generator) -> bytes:
    return data[: int(rng.integers(0, len(data)))]


def _flip(data: bytes, rng: np.random.Generator) -> bytes:
    result = bytearray(data)
    for _ in range(int(rng.integers(1, 30))):
        result[int(rng.integers(0, len(result)))] ^= 1 << int(rng.integers(0, 8))
    return bytes(result)


def _hole(data: bytes, rng: np.random.Generator) -> bytes:
    begin = int(rng.integers(0, len(data)))
    length = int(rng.integers(1, 1 + len(data) // 4))
    return data[:begin] + bytes(length if rng.random() < 0.5 else 0) + data[begin + length :]


def _foreign(data: bytes, rng: np.random.Generator) -> bytes:
    begin = int(rng.integers(0, len(data)))
    return data[:begin] + rng.bytes(int(rng.integers(1, 2000))) + data[begin:]


def _lines(data: bytes, rng: np.random.Generator) -> bytes:
    """Shuffle or repeat lines, or drop the first ones."""
    lines = data.split(b"\n")
    how = int(rng.integers(0, 3))
    if how == 0:
        lines = [lines[i] for i in rng.permutation(len(lines))]
    elif how == 1:
        lines = [line for line in lines for _ in range(int(rng.integers(1, 4)))]
    else:
        lines = lines[int(rng.integers(1, 4)) :]
    return b"\n".join(lines)


def _words(data: bytes, rng: np.random.Generator) -> bytes:
    """Replace numbers by text that is not a number or is far too large."""
    words = (b"nan", b"inf", b"-1e308", b"fast", b"", b'"', b"1e400", b"0x10", b"\xff\xfe", b"[]")
    result = data
    for _ in range(int(rng.integers(1, 60))):
        digit = str(int(rng.integers(0, 10))).encode()
        parts = result.split(digit)
        at = int(rng.integers(1, max(len(parts), 2)))
        word = words[int(rng.integers(0, len(words)))]
        result = digit.join(parts[:at]) + word + digit.join(parts[at:])
    return result


def _separators(data: bytes, rng: np.random.Generator) -> bytes:
    marks = [b",", b";", b"\t", b"\n", b".", b" "]
    one, other = (marks[int(i)] for i in rng.permutation(len(marks))[:2])
    return data.replace(one, other)


DAMAGES: tuple[Damage, ...] = (_cut, _flip, _hole, _foreign, _lines, _words, _separators)


def broken(data: bytes, rng: np.random.Generator) -> bytes:
    """Return the content of a file with one or two damages."""
    for _ in range(int(rng.integers(1, 3))):
        if data:
            data = DAMAGES[int(rng.integers(0, len(DAMAGES)))](data, rng)
    return data
