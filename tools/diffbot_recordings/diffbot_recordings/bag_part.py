# SPDX-License-Identifier: Apache-2.0
"""What the files of a recording have in common: topics, messages, compression, within limits."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from diffbot_description.limits import FIRST_BYTES, RATIO, TEMPORARY, Limit

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

ZSTD = b"\x28\xb5\x2f\xfd"
"""First bytes of data compressed by zstd."""
_AT_ONCE = 1 << 20  # bytes


class Budget:
    """How much a file of `stored` bytes may unpack to: FIRST_BYTES, and RATIO times its size."""

    def __init__(self, stored: int) -> None:
        self._left = FIRST_BYTES.value + RATIO.value * stored

    def spend(self, count: int) -> None:
        """Count decompressed bytes; raise LimitError if they are too many."""
        self._left -= count
        if self._left < 0:
            raise RATIO.error()


def unpack(data: bytes, compression: str, limit: Limit, size: int | None = None) -> bytes:
    """Return data decompressed from "zstd", "lz4" or "" (none), of `size` bytes if it is given.

    Raises:
        LimitError: The result exceeds the limit.
        DamagedError: The data are damaged, or the compression is unknown.
    """
    if size is not None:
        limit.check(size)
    if compression == "":
        result = data
    elif compression in ("zstd", "lz4"):
        result = _frames(data, compression, limit)
    else:
        raise DamagedError(f"unknown compression {compression!r}")
    if size is not None and len(result) != size:
        raise DamagedError(f"a chunk holds {len(result)} bytes instead of {size}")
    return result


def _frames(data: bytes, compression: str, limit: Limit) -> bytes:
    parts: list[bytes] = []
    left = limit.value + 1
    while data:
        try:
            decompressor = _decompressor(compression)
            part = decompressor.decompress(data, left)
        except (zstd.ZstdError, RuntimeError) as error:
            raise DamagedError(f"{compression}: {error}") from None
        parts.append(part)
        left -= len(part)
        if left <= 0:
            raise limit.error()
        if not decompressor.eof:
            raise DamagedError(f"{compression}: the data are cut off")
        data = decompressor.unused_data
    return b"".join(parts)


def _decompressor(compression: str) -> Any:
    if compression == "zstd":
        return zstd.ZstdDecompressor()
    from lz4.frame import LZ4FrameDecompressor

    return LZ4FrameDecompressor()


def unpack_file(source: Path, target: Path) -> None:
    """Decompress a zstd file into another file.

    Raises:
        LimitError: It holds more than its size allows, or than half of the free space.
        DamagedError: It is damaged.
    """
    budget = Budget(source.stat().st_size)
    free = shutil.disk_usage(target.parent).free // 2
    try:
        with zstd.open(source, "rb") as packed, target.open("wb") as file:
            while data := packed.read(_AT_ONCE):
                budget.spend(len(data))
                free -= len(data)
                if free < 0:
                    raise TEMPORARY.error()
                file.write(data)
    except (zstd.ZstdError, EOFError) as error:
        raise DamagedError(f"{source.name}: {error}") from None


Message = tuple[str, int, bytes]
"""Topic, logged time in ns, and content in CDR."""

UNDEFINED = MessageDefinition(MessageDefinitionFormat.NONE, "")
FORMATS = {
    "ros2msg": MessageDefinitionFormat.MSG,
    "ros2idl": MessageDefinitionFormat.IDL,
    "omgidl": MessageDefinitionFormat.IDL,
}
"""Formats of definitions by the names that recordings give them."""


class DamagedError(Exception):
    """A file is not as its format demands."""


@dataclass(frozen=True)
class BagTopic:
    """A topic of a recording; `count` is 0 if it is not known."""

    name: str
    type: str
    count: int
    definition: MessageDefinition


class BagPart(Protocol):
    """A file of a recording; `damage`: why only its intact part is read, empty for a whole one."""

    topics: tuple[BagTopic, ...]
    damage: str

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """Yield messages in the order in which they were logged; any error means damage."""

    def close(self) -> None:
        """Close the file."""
