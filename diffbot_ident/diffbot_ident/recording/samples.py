# SPDX-License-Identifier: Apache-2.0
"""What sources give: samples of channels on one clock, block after block.

A source is one file or folder. Samples that belong to one instant (the columns of a CSV file, the
fields of a message) come in blocks together; what has instants of its own (another topic) comes in
blocks of its own, told apart by the channels that they hold. All is SI, in the frame base_link
(x forward, yaw counter-clockwise).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Protocol, cast

import numpy as np
from numpy.typing import NDArray

from arc_odometry import WheelGeometry

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

BLOCK = 4096
"""Samples in a block at most: how often the progress bar and Ctrl-C are looked at."""
SET_BACK = 0.5
"""A step back by less is a sample out of order; by more the clock was set back, s."""

TORQUE_COMMANDS = ("command_left", "command_right")
COMMANDS = ("command_v", "command_w", *TORQUE_COMMANDS)
"""Channels that hold until the next sample: m/s, rad/s, and wheel torques in N m."""
POSITIONS = ("left_position", "right_position")
WHEELS = ("left_velocity", "right_velocity")
EFFORTS = ("left_effort", "right_effort")
VOLTAGES = ("left_voltage", "right_voltage")
CURRENTS = ("left_current", "right_current")
MOTOR_CHANNELS = (*VOLTAGES, *CURRENTS, *WHEELS)
"""What tells motors: V, A of each motor, and rad/s of its wheel."""
MEASURED = ("v", "w", *POSITIONS, *WHEELS, *EFFORTS, *VOLTAGES, *CURRENTS)
"""Channels that were measured at the sample: m/s, rad/s; rad, rad/s and N m of the wheels; V, A."""


class RecordingError(ValueError):
    """A recording cannot be used; the text says why, and what to do."""


@dataclass(frozen=True)
class Block:
    """Samples of one stream, in the order in which they were recorded.

    Attributes:
        times: shape (n,), s; may step back by less than SET_BACK.
        channels: of each channel its values, shape (n,); names as in COMMANDS and MEASURED.
        run: recording with a time of its own that it belongs to; None: there is one time for all.
    """

    times: Array
    channels: Mapping[str, Array]
    run: str | None = None


class Source(Protocol):
    """A recording that can be read once, from its beginning.

    Attributes:
        name: for people: the file, and the topics or columns.
        warnings: what was odd so far, such as a file that ends early.
        done: how far `blocks` has come, in units of its own (bytes, or messages).
        total: how far it can come, in the same units.
    """

    name: str
    warnings: list[str]
    done: int
    total: int

    def blocks(self) -> Iterator[Block]:
        """The samples.

        Raises:
            RecordingError: nothing can be read. What is damaged later ends the samples with a
                warning instead.
        """


@dataclass(frozen=True)
class Recording:
    """Sources of one robot, ready to be read, and what was decided about them.

    Attributes:
        kind: of robot, "torque" or "velocity".
        sources: to read, one after another.
        channels: that the analysis needs.
        geometry: of the wheels; None: unknown.
        samples: measured samples to expect; 0: not known.
        from_wheels: velocities that are made of wheel speeds, of "v" and "w".
        notes: what was decided, for people.
        runs: names of the sources where each is a recording of its own; None: they are parts of
            one, joined by their clocks.
        torque_scale: N m of a unit of efforts and torque commands, [left, right].
        dead_band: of the drive, N m, [left, right]: torques below it are none.
        apart: whether one reading of the robot comes in several messages.
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

    def blocks(self) -> Iterator[Block]:
        """All blocks, torques in N m, with the body's velocity where wheels tell it."""
        for block in map(self._scaled, self._recorded()):
            if self.geometry is None or not self.from_wheels or not {*WHEELS} <= {*block.channels}:
                yield block
            else:
                left, right = (block.channels[name] for name in WHEELS)
                body = body_velocity(self.geometry, left, right)
                added = {name: body[name] for name in self.from_wheels}
                yield replace(block, channels={**block.channels, **added})

    def _scaled(self, block: Block) -> Block:
        if self.torque_scale == (1.0, 1.0) and not any(self.dead_band):
            return block
        torques = {}
        for names in (EFFORTS, TORQUE_COMMANDS):
            for name, scale, band in zip(names, self.torque_scale, self.dead_band, strict=True):
                if name in block.channels:
                    torque = scale * block.channels[name]
                    torques[name] = np.where(np.abs(torque) < band, 0.0, torque)
        return replace(block, channels={**block.channels, **torques})

    def _recorded(self) -> Iterator[Block]:
        if self.runs is None:
            yield from chain.from_iterable(source.blocks() for source in self.sources)
            return
        for run, source in zip(self.runs, self.sources, strict=True):
            for block in source.blocks():
                yield replace(block, run=run)


def names_of_runs(paths: Sequence[Path]) -> tuple[str, ...]:
    """A short name of each file: its own, or with its folder where two have the same."""
    names = [path.name for path in paths]
    unique = len({*names}) == len(names)
    return tuple(names if unique else [str(path) for path in paths])


def body_velocity(geometry: WheelGeometry, left: Array, right: Array) -> dict[str, Array]:
    """Velocities "v" (m/s) and "w" (rad/s) of wheel speeds (rad/s), shape (n,) each."""
    # Its arithmetic is that of arrays, too.
    of_arrays = cast("Callable[[Array, Array], tuple[Array, Array]]", geometry.body_velocity)
    return dict(zip(("v", "w"), of_arrays(left, right), strict=True))


def newest_by(times: Array, newest: float) -> Array:
    """The newest time before each sample, and at the end, shape (n + 1,), s.

    Args:
        times: of the samples, shape (n,), s.
        newest: of all samples before them, s.
    """
    found: Array = np.maximum.accumulate(np.concatenate(([newest], times)))
    return found
