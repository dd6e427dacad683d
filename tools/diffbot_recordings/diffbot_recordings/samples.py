# SPDX-License-Identifier: Apache-2.0
"""Samples of a recording: blocks of channels on one clock, in SI units and in base_link.

Values of the same instants (a table's row, a message) are in the same block. The rate must not
change: torque estimators count windows and delays in samples.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry
from arc_odometry.number_range import Array as Array
from diffbot_description.files import write_atomically
from diffbot_description.named_paths import check_regular

Mask = NDArray[np.bool_]

TABLES = (".csv", ".tsv", ".txt")
"""Suffixes of tables, in lower case."""
BATCH = 4096
"""Maximum number of samples in a block: how often the progress bar and Ctrl-C are checked."""
SET_BACK = 0.5
"""If time steps back by less, s, a sample is out of order; by more, the clock was set back."""

SIDES = ("left", "right")
TORQUE_COMMANDS = ("command_left", "command_right")
COMMANDS = ("command_v", "command_w", *TORQUE_COMMANDS)
"""Channels that hold until the next sample: m/s, rad/s, and wheel torques in N m."""
POSITIONS = ("left_position", "right_position")
WHEELS = ("left_velocity", "right_velocity")
EFFORTS = ("left_effort", "right_effort")
VOLTAGES = ("left_voltage", "right_voltage")
CURRENTS = ("left_current", "right_current")
MOTOR_CHANNELS = (*VOLTAGES, *CURRENTS, *WHEELS)
"""Channels that identify motors: V and A of each motor, and rad/s of its wheel."""
MEASURED = ("v", "w", *POSITIONS, *WHEELS, *EFFORTS, *VOLTAGES, *CURRENTS)
"""Channels measured at the sample: m/s, rad/s; rad, rad/s and N m of the wheels; V, A."""

LARGEST_NUMBER = 1e20
"""Values of this size or more are damage, as those that are not finite: counters have 64 bits."""


def is_number(values: Array) -> Mask:
    """Return which values are finite and smaller than LARGEST_NUMBER."""
    return np.abs(values) < LARGEST_NUMBER


def write_table(path: Path, columns: Sequence[str], rows: Array) -> Path:
    """Write a table that `identify` reads, rows of shape (n, columns); return its path."""
    header = ",".join(columns)
    return write_atomically(
        path, lambda target: np.savetxt(target, rows, "%.17g", ",", header=header, comments="")
    )


class RecordingError(ValueError):
    """A recording cannot be used; the message states why, and what to do."""


def check_files(paths: Iterable[Path]) -> None:
    """Refuse what does not exist, and what may have no end or no writer. Raises RecordingError."""
    for path in paths:  # os.path: a name that is too long does not exist, either
        if not os.path.exists(path):
            raise RecordingError(f"{path}: there is no such file or folder")
        if not os.path.isdir(path):
            try:
                check_regular(path)
            except ValueError as error:
                raise RecordingError(f"{path}: {error}") from None


@dataclass(frozen=True)
class Batch:
    """Samples of one stream, in the order in which they were recorded.

    Attributes:
        times: Shape (n,), s; may step back by less than SET_BACK.
        channels: Values by channel, shape (n,) each; names as in COMMANDS and MEASURED.
        run: Name of the recording, each having a clock of its own; None: all share one.
    """

    times: Array
    channels: Mapping[str, Array]
    run: str | None = None


class Source(Protocol):
    """A recording that can be read once, from its beginning.

    Attributes:
        name: File and topics or columns, as a text for the user.
        total: Value of `done` at the end.
    """

    name: str
    warnings: list[str]
    total: int

    @property
    def done(self) -> int:
        """Progress of `batches`, in units of its own (bytes or messages)."""

    def batches(self) -> Iterator[Batch]:
        """Yield the samples; damage after the beginning only ends them. Raises RecordingError."""


@dataclass(frozen=True)
class Recording:
    """Sources of one robot, ready to be read, and how to read them.

    Attributes:
        kind: "torque", "velocity" or "motor".
        channels: Channels that the analysis needs.
        samples: Expected number of measured samples; 0: not known.
        from_wheels: Which of "v" and "w" are computed from wheel speeds.
        notes: How the recording was understood, for the user.
        runs: Names of the sources if each is a recording of its own; None: they share one clock.
        torque_scale: N m of a unit of effort or torque command, [left, right].
        dead_band: Dead band of the drive, N m, [left, right]; smaller torques count as 0.
        apart: Whether one reading of the robot is spread over several messages.
        optional: Channels whose samples count without a number, too.
        wheels: Names of the wheels' joints or columns, [left, right], for people.
    """

    kind: str
    sources: Sequence[Source]
    channels: tuple[str, ...]
    geometry: WheelGeometry | None = None
    samples: int = 0
    from_wheels: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    runs: tuple[str, ...] | None = None
    torque_scale: tuple[float, float] = (1.0, 1.0)
    dead_band: tuple[float, float] = (0.0, 0.0)
    apart: bool = False
    wheels: tuple[str, str] = POSITIONS
    optional: tuple[str, ...] = ()

    def batches(self) -> Iterator[Batch]:
        """Yield all blocks, with torques in N m and body velocities computed from wheel speeds."""
        for batch in map(self._scaled, self._recorded()):
            if self.geometry is None or not self.from_wheels or not {*WHEELS} <= {*batch.channels}:
                yield batch
            else:
                left, right = (batch.channels[name] for name in WHEELS)
                body = body_velocity(self.geometry, left, right)
                added = {name: body[name] for name in self.from_wheels}
                yield replace(batch, channels={**batch.channels, **added})

    def _scaled(self, batch: Batch) -> Batch:
        if self.torque_scale == (1.0, 1.0) and not any(self.dead_band):
            return batch
        torques = {}
        for names in (EFFORTS, TORQUE_COMMANDS):
            for name, scale, band in zip(names, self.torque_scale, self.dead_band, strict=True):
                if name in batch.channels:
                    torque = scale * batch.channels[name]
                    torques[name] = np.where(np.abs(torque) < band, 0.0, torque)
        return replace(batch, channels={**batch.channels, **torques})

    def _recorded(self) -> Iterator[Batch]:
        if self.runs is None:
            yield from chain.from_iterable(source.batches() for source in self.sources)
            return
        for run, source in zip(self.runs, self.sources, strict=True):
            for batch in source.batches():
                yield replace(batch, run=run)


def names_of_runs(paths: Sequence[Path]) -> tuple[str, ...]:
    """Return a name for each file: the file name, or the path if two have the same name."""
    names = [path.name for path in paths]
    unique = len({*names}) == len(names)
    return tuple(names if unique else [str(path) for path in paths])


def body_velocity(geometry: WheelGeometry, left: Array, right: Array) -> dict[str, Array]:
    """Return body velocities "v" (m/s) and "w" (rad/s) from wheel speeds (rad/s), shape (n,)."""
    # The method is annotated for floats, and works on arrays, too.
    of_arrays = cast("Callable[[Array, Array], tuple[Array, Array]]", geometry.body_velocity)
    return dict(zip(("v", "w"), of_arrays(left, right), strict=True))


def newest_by(times: Array, newest: float) -> Array:
    """Return the newest time before each sample, and at the end, shape (n + 1,), s."""
    result: Array = np.maximum.accumulate(np.concatenate(([newest], times)))
    return result


SAMPLES = 100
# Ratio of spacings from which the rate is another, and how often in a row.
RATIO, LASTING = 1.4, 3


class SteadyRate:
    """Compares the spacing of samples with that of the first ones."""

    def __init__(self) -> None:
        self._first: float | None = None
        self._since: list[float] = []

    def check(self, times: Array) -> None:
        """Compare samples at increasing stamps, s, (n,), without a gap. Raises RecordingError."""
        # Over two samples: two publishers that take turns have equal sums of steps.
        steps = 0.5 * (times[2:] - times[:-2])
        count = len(steps) // SAMPLES
        if not count:
            return
        starts = np.array_split(times[:-2], count)
        for part, start in zip(np.array_split(steps, count), starts, strict=True):
            spacing = float(np.median(part))
            if self._first is None:
                self._first = spacing
            if 1.0 / RATIO < spacing / self._first < RATIO:
                self._since.clear()
                continue
            self._since.append(float(start[0]))
            if len(self._since) == LASTING:
                raise RecordingError(
                    f"samples come every {1e3 * self._first:.2g} ms until about "
                    f"{self._since[0]:.4g} s and every {1e3 * spacing:.2g} ms from there on, and "
                    "K5 to K8 of both together would be wrong: cut the recording there, and "
                    "identify each part by itself"
                )
