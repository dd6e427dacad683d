# SPDX-License-Identifier: Apache-2.0
"""Decompression of recordings within limits: a small file can hold gigabytes."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

from diffbot_description.limits import FIRST_BYTES, RATIO, TEMPORARY, Limit
from diffbot_recordings.bag_part import DamagedError

if sys.version_info >= (3, 14):
    from compression import zstd as zstd
else:
    from backports import zstd as zstd

ZSTD = b"\x28\xb5\x2f\xfd"
"""First bytes of data compressed by zstd."""
_BLOCK = 1 << 20  # bytes


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
            while block := packed.read(_BLOCK):
                budget.spend(len(block))
                free -= len(block)
                if free < 0:
                    raise TEMPORARY.error()
                file.write(block)
    except (zstd.ZstdError, EOFError) as error:
        raise DamagedError(f"{source.name}: {error}") from None
