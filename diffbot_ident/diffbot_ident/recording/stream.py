"""Recordings as streams: blocks of samples, so that hours need no more memory than minutes.

A source is a file, or several files of one clock. Samples that belong to one instant (the columns
of a CSV file, the fields of a message) come in blocks together; what has instants of its own
(another topic) comes in blocks of its own, told apart by the channels that they hold. All is SI,
in the frame base_link (x forward, yaw counter-clockwise).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

BLOCK = 4096
"""Samples in a block at most."""

COMMANDS = ("command_v", "command_w", "command_left", "command_right")
"""Channels that hold until the next sample: m/s, rad/s, and wheel torques in N m."""
MEASURED = (
    "v",
    "w",
    "left_position",
    "right_position",
    "left_velocity",
    "right_velocity",
    "left_effort",
    "right_effort",
)
"""Channels that were measured at the sample: m/s, rad/s, rad, rad/s, and N m of the wheels."""


@dataclass(frozen=True)
class Block:
    """Samples of one stream, in the order in which they were recorded.

    Attributes:
        times: shape (n,), s; may step back, where the recording does.
        channels: of each channel its values, shape (n,); names as in COMMANDS and MEASURED.
    """

    times: Array
    channels: Mapping[str, Array]


@dataclass(frozen=True)
class Progress:
    """How far a source has been read, in units of its own (bytes, or messages)."""

    done: int
    total: int


class Source(Protocol):
    """A recording that can be read once, from its beginning.

    Attributes:
        name: for people: the file, and the topics or columns.
        channels: that its blocks hold.
        warnings: what was odd so far, such as a file that ends early.
    """

    name: str
    channels: tuple[str, ...]
    warnings: list[str]

    def blocks(self) -> Iterator[Block]:
        """The samples.

        Raises:
            RecordingError: nothing can be read. What is damaged later ends the stream with a
                warning instead.
        """

    @property
    def progress(self) -> Progress:
        """How far `blocks` has come."""


class RecordingError(ValueError):
    """A recording cannot be used; the text says why, and what to do."""


def merged(sources: Iterable[Source]) -> Iterator[Block]:
    """Blocks of several sources, of which the one that lags behind in time is read next."""
    waiting = [(-np.inf, i, source.blocks()) for i, source in enumerate(sources)]
    while waiting:
        behind = min(waiting)
        waiting.remove(behind)
        block = next(behind[2], None)
        if block is not None:
            newest = float(block.times[-1]) if len(block.times) else behind[0]
            waiting.append((newest, *behind[1:]))
            yield block
