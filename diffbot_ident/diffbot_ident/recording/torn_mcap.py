"""An MCAP file without its end, as a crash or a full disk leaves it.

Such a file lacks the index that a reader begins with. MCAP allows files without an index, so that
what is whole in it, followed by an empty footer, is a valid file again. A chunk that was not
finished counts as far as it goes when it is not compressed. Format: https://mcap.dev/spec.
"""

from __future__ import annotations

import io
import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import BinaryIO

from rosbags.rosbag2.storage_mcap import McapReader

from diffbot_ident.recording.bag_part import Message, Topic

MAGIC = b"\x89MCAP0\r\n"
FOOTER = b"\x02" + struct.pack("<QQQI", 20, 0, 0, 0) + MAGIC
_HEADER, _SCHEMA, _CHANNEL, _MESSAGE, _CHUNK, _DATA_END = 0x01, 0x03, 0x04, 0x05, 0x06, 0x0F
_LAST_CODE = _DATA_END
_RECORD = struct.Struct("<BQ")
# Start, end, size and checksum of a chunk's content, ahead of the name of its compression.
_CHUNK_HEAD = struct.Struct("<QQQI")

Piece = tuple[int, int]


class TornMcap:
    """Reads what is whole; see bag_part.BagPart.

    Args:
        path: of the file.

    Raises:
        rosbags.rosbag2.ReaderError: there is nothing that could be read.
    """

    def __init__(self, path: Path) -> None:
        self._reader = McapReader(_Mended(path))
        self._reader.open()
        self.topics = tuple(
            Topic(c.topic, c.msgtype, c.msgcount, c.msgdef) for c in self._reader.connections
        )

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """See BagPart."""
        chosen = [c for c in self._reader.connections if c.topic in names]
        # Not `messages`, which refuses a file without index whose log times are out of order.
        for connection, time, data in self._reader.messages_scan(chosen):
            yield connection.topic, time, data

    def close(self) -> None:
        """See BagPart."""
        self._reader.close()


class _Mended:
    """What the reader needs of a path."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def open(self, _mode: str) -> BinaryIO:
        """The whole records and a footer, as one file."""
        file = self._path.open("rb")
        return io.BufferedReader(_Joined(file, whole_records(file)))  # type: ignore[return-value]


class _Joined(io.RawIOBase):
    """Pieces of a file, and a footer, one after another."""

    def __init__(self, file: BinaryIO, pieces: list[Piece]) -> None:
        self._file = file
        self._pieces = [piece for piece in pieces if piece[1]]
        self._content = sum(length for _, length in self._pieces)
        self._size = self._content + len(FOOTER)
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer) -> int:  # type: ignore[no-untyped-def]
        data = self._some(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _some(self, count: int) -> bytes:
        begin = 0
        for offset, length in self._pieces:
            if self._at < begin + length:
                inside = self._at - begin
                self._file.seek(offset + inside)
                return self._file.read(min(count, length - inside))
            begin += length
        return FOOTER[self._at - self._content :][:count]

    def close(self) -> None:
        self._file.close()
        super().close()


def whole_records(file: BinaryIO) -> list[Piece]:
    """Offsets and lengths of what can be read: the magic, then records of data.

    A last, uncompressed chunk that is not whole counts with the records inside it that are.
    """
    size = file.seek(0, io.SEEK_END)
    end, broken = _walk(file, len(MAGIC), size)
    pieces = [(0, end)]
    if broken == _CHUNK:
        file.seek(end + _RECORD.size)
        head = file.read(_CHUNK_HEAD.size + 4)
        if len(head) == _CHUNK_HEAD.size + 4 and head[-4:] == bytes(4):
            inside = end + _RECORD.size + len(head) + 8
            pieces.append((inside, _walk(file, inside, size)[0] - inside))
    return pieces


def _walk(file: BinaryIO, at: int, size: int) -> tuple[int, int]:
    """End of the whole records of data from here on, and the code of what follows; 0: nothing."""
    while at + _RECORD.size <= size:
        file.seek(at)
        code, length = _RECORD.unpack(file.read(_RECORD.size))
        if not 0 < code <= _LAST_CODE or code in (_DATA_END, 0x02):
            return at, 0
        if at + _RECORD.size + length > size:
            return at, code
        at += _RECORD.size + length
    return min(at, size), 0
