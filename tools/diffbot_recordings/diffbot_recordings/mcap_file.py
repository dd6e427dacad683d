# SPDX-License-Identifier: Apache-2.0
"""Reads MCAP files (https://mcap.dev/spec) within limits; of a truncated one the intact part."""

from __future__ import annotations

import heapq
import io
import struct
from binascii import crc32
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from enum import IntEnum
from pathlib import Path
from typing import BinaryIO

from rosbags.interfaces import MessageDefinition

from diffbot_description.limits import CHUNK, DEFINITION_TEXT, INDEX, MESSAGE, PENDING, TOPICS
from diffbot_recordings.bag_part import (
    FORMATS,
    UNDEFINED,
    BagTopic,
    Budget,
    DamagedError,
    Message,
    unpack,
)

MAGIC = b"\x89MCAP0\r\n"
_PROFILE = "ros2"
_OVERHEAD = 300  # bytes of memory that a waiting message takes in addition to its content
_RECORD = struct.Struct("<BQ")  # code, length of the content
_FOOTER = struct.Struct("<QQI")  # begin of the summary, of the offsets, checksum
_CHUNK = struct.Struct("<QQQI")  # first and last time, decompressed size, checksum
_CHUNK_INDEX = struct.Struct("<QQQQ")  # first and last time, offset and length of the chunk
_MESSAGE = struct.Struct("<HIQQ")  # channel, sequence, times of logging and publishing
_COUNT = struct.Struct("<HQ")  # channel, number or offset


class Code(IntEnum):
    """Codes of records."""

    HEADER = 0x01
    FOOTER = 0x02
    SCHEMA = 0x03
    CHANNEL = 0x04
    MESSAGE = 0x05
    CHUNK = 0x06
    CHUNK_INDEX = 0x08
    STATISTICS = 0x0B
    DATA_END = 0x0F


@dataclass(frozen=True)
class _IndexedChunk:
    time: int
    offset: int
    length: int
    channels: frozenset[int]


@dataclass
class _Content:
    schemas: dict[int, tuple[str, MessageDefinition]] = field(default_factory=dict)
    channels: dict[int, tuple[str, str, MessageDefinition]] = field(default_factory=dict)
    chunks: list[_IndexedChunk] = field(default_factory=list)
    counts: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    counted: bool = False
    size: int = 0

    def take(self, code: int, content: bytes) -> None:
        read = _Fields(content)
        if code == Code.SCHEMA:
            number = read.number("<H")
            if number in self.schemas:  # writers repeat them in each chunk
                return
            name, encoding, text = read.text(), read.text(), read.data()
            self._grow(content)
            DEFINITION_TEXT.check(len(text))
            kind = FORMATS.get(encoding)
            defined = UNDEFINED if kind is None else MessageDefinition(kind, text.decode())
            self.schemas[number] = (name, defined)
        elif code == Code.CHANNEL:
            number, schema = read.number("<H"), read.number("<H")
            if number in self.channels:
                return
            name, defined = self.schemas.get(schema, ("", UNDEFINED))
            self.channels[number] = (read.text(), name, defined)
            self._grow(content)
            TOPICS.check(len(self.channels))
        elif code == Code.CHUNK_INDEX:
            time, _, offset, length = read.several(_CHUNK_INDEX)
            channels = frozenset(number for number, _ in read.pairs())
            self.chunks.append(_IndexedChunk(time, offset, length, channels))
        elif code == Code.STATISTICS:
            read.several(struct.Struct("<QHIIIIQQ"))
            self.counts.update(dict(read.pairs()))
            self.counted = True

    def _grow(self, content: bytes) -> None:
        self.size += len(content)
        INDEX.check(self.size)

    def topics(self) -> tuple[BagTopic, ...]:
        return tuple(
            BagTopic(topic, kind, self.counts.get(number, 0), defined)
            for number, (topic, kind, defined) in self.channels.items()
        )


class _Fields:
    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 0

    def several(self, layout: struct.Struct) -> tuple[int, ...]:
        if self._at + layout.size > len(self._content):
            raise DamagedError("a record is too short")
        self._at += layout.size
        return layout.unpack_from(self._content, self._at - layout.size)

    def number(self, layout: str) -> int:
        return self.several(struct.Struct(layout))[0]

    def data(self) -> bytes:
        size = self.number("<I")
        if self._at + size > len(self._content):
            raise DamagedError("a record is too short")
        self._at += size
        return self._content[self._at - size : self._at]

    def text(self) -> str:
        return self.data().decode("utf-8", "replace")

    def pairs(self) -> Iterator[tuple[int, int]]:
        data = self.data()
        if len(data) % _COUNT.size:
            raise DamagedError("a list of channels is cut off")
        return _COUNT.iter_unpack(data)

    @property
    def rest(self) -> bytes:
        return self._content[self._at :]


class McapFile:
    """An MCAP file; see BagPart. Raises LimitError or DamagedError."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("rb")
        self.damage = ""
        try:
            self._size = self._file.seek(0, io.SEEK_END)
            self._begin = self._read_header()
            try:
                self._content = self._read_summary()
            except DamagedError as error:
                self.damage = str(error)
                self._content = self._scanned()
        except BaseException:
            self._file.close()
            raise
        self.topics = self._content.topics()

    def close(self) -> None:
        self._file.close()

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        wanted = {n: topic for n, (topic, _, _) in self._content.channels.items() if topic in names}
        scanned = self.damage or not self._content.chunks
        for number, time, data in self._all(wanted) if scanned else self._merged(wanted):
            yield wanted[number], time, data

    def _read_header(self) -> int:
        if self._bytes(0, len(MAGIC)) != MAGIC:
            raise DamagedError("File magic is invalid")
        code, content, after = self._record(len(MAGIC), self._size)
        if code != Code.HEADER or _Fields(content).text() != _PROFILE:
            raise DamagedError("the file is not of ROS 2: its profile must be ros2")
        return after

    def _bytes(self, at: int, count: int) -> bytes:
        self._file.seek(at)
        data = self._file.read(count)
        if len(data) != count:
            raise DamagedError("a record is cut off")
        return data

    def _record(self, at: int, end: int) -> tuple[int, bytes, int]:
        code, length = _RECORD.unpack(self._bytes(at, _RECORD.size))
        begin = at + _RECORD.size
        if begin + length > end:
            raise DamagedError("a record is cut off")
        INDEX.check(length)
        return code, self._bytes(begin, length), begin + length

    def _read_summary(self) -> _Content:
        footer = self._size - _RECORD.size - _FOOTER.size - len(MAGIC)
        if footer < self._begin or self._bytes(self._size - len(MAGIC), len(MAGIC)) != MAGIC:
            raise DamagedError("File end magic is invalid")
        code, content, _ = self._record(footer, self._size)
        if code != Code.FOOTER or len(content) != _FOOTER.size:
            raise DamagedError("Invalid MCAP footer")
        begin, _, _ = _FOOTER.unpack(content)
        if begin == 0:
            return self._scanned()
        if not self._begin <= begin <= footer:
            raise DamagedError("Invalid MCAP summary offset")
        INDEX.check(footer - begin)
        result, at = _Content(), begin
        while at < footer:
            code, content, at = self._record(at, footer)
            result.take(code, content)
        if not (result.counted and result.schemas and result.channels):
            scanned = self._scanned()
            scanned.chunks = result.chunks
            result = scanned
        self._check(result.chunks)
        return result

    def _check(self, chunks: list[_IndexedChunk]) -> None:
        end = self._begin
        for chunk in sorted(chunks, key=lambda each: each.offset):
            if chunk.offset < end or chunk.offset + chunk.length > self._size:
                raise DamagedError("chunks of the index overlap")
            end = chunk.offset + chunk.length

    def _scanned(self) -> _Content:
        result = _Content()
        try:
            for code, content in self._records(frozenset()):
                if code == Code.MESSAGE:
                    result.counts[_MESSAGE.unpack_from(content)[0]] += 1
                else:
                    result.take(code, content)
        except DamagedError:
            if not result.channels:
                raise
        return result

    def _all(self, wanted: Collection[int]) -> Iterator[tuple[int, int, bytes]]:
        for code, content in self._records(wanted):
            if code == Code.MESSAGE:
                number, _, time, _ = _MESSAGE.unpack_from(content)
                if number in wanted:
                    yield number, time, content[_MESSAGE.size :]

    def _records(self, whole: Collection[int]) -> Iterator[tuple[int, bytes]]:
        """Yield code and content of complete records; of messages not in `whole` the head."""
        at, budget = self._begin, Budget(self._size)
        while at + _RECORD.size <= self._size:
            code, length = _RECORD.unpack(self._bytes(at, _RECORD.size))
            begin, at = at + _RECORD.size, at + _RECORD.size + length
            if not 0 < code < Code.DATA_END or code == Code.FOOTER:
                return
            if code == Code.CHUNK:
                if at > self._size:
                    yield from self._torn_chunk(begin, whole)
                    return
                yield from _inside(self._chunk(begin, length, budget), whole)
            elif at > self._size:
                return
            elif code == Code.MESSAGE:
                yield self._message(begin, length, whole)
            elif code in (Code.SCHEMA, Code.CHANNEL):
                INDEX.check(length)
                yield code, self._bytes(begin, length)

    def _message(self, begin: int, length: int, whole: Collection[int]) -> tuple[int, bytes]:
        if length < _MESSAGE.size:
            raise DamagedError(f"a message of {length} bytes is too short")
        head = self._bytes(begin, _MESSAGE.size)
        if _MESSAGE.unpack(head)[0] not in whole:
            return Code.MESSAGE, head
        MESSAGE.check(length - _MESSAGE.size)
        return Code.MESSAGE, self._bytes(begin, length)

    def _chunk(self, begin: int, length: int, budget: Budget) -> bytes:
        CHUNK.check(length)
        read = _Fields(self._bytes(begin, length))
        _, _, size, checksum = read.several(_CHUNK)
        compression, stored = read.text(), read.number("<Q")
        data = read.rest
        if stored > len(data):
            raise DamagedError("a chunk is longer than its record")
        CHUNK.check(size)
        budget.spend(size)
        content = unpack(data[:stored], compression, CHUNK, size)
        if checksum and crc32(content) != checksum:
            raise DamagedError("the checksum of a chunk is wrong")
        return content

    def _torn_chunk(self, begin: int, whole: Collection[int]) -> Iterator[tuple[int, bytes]]:
        left = self._size - begin
        if left < _CHUNK.size + 12:
            return
        CHUNK.check(left)
        read = _Fields(self._bytes(begin, left))
        read.several(_CHUNK)
        if read.text() != "":
            return
        read.number("<Q")
        yield from _inside(read.rest, whole, torn=True)

    def _merged(self, wanted: Collection[int]) -> Iterator[tuple[int, int, bytes]]:
        """Yield messages in the order of their times: those of overlapping chunks wait."""
        budget = Budget(self._size)
        waiting: list[tuple[int, int, int, int, bytes]] = []
        size = 0
        for chunk in sorted(self._content.chunks, key=lambda each: (each.time, each.offset)):
            if chunk.channels and not chunk.channels.intersection(wanted):
                continue
            while waiting and waiting[0][0] < chunk.time:
                time, _, _, number, data = heapq.heappop(waiting)
                size -= len(data) + _OVERHEAD
                yield number, time, data
            code, length = _RECORD.unpack(self._bytes(chunk.offset, _RECORD.size))
            if code != Code.CHUNK:
                raise DamagedError("the index names a chunk that is none")
            content = self._chunk(chunk.offset + _RECORD.size, length, budget)
            for place, (code, record) in enumerate(_inside(content, wanted)):
                if code != Code.MESSAGE:
                    continue
                number, _, time, _ = _MESSAGE.unpack_from(record)
                if number in wanted:
                    data = record[_MESSAGE.size :]
                    heapq.heappush(waiting, (time, chunk.offset, place, number, data))
                    size += len(data) + _OVERHEAD
                    PENDING.check(size)
        for time, _, _, number, data in sorted(waiting):
            yield number, time, data


def _inside(
    content: bytes, whole: Collection[int], torn: bool = False
) -> Iterator[tuple[int, bytes]]:
    at, end = 0, len(content)
    while at < end:
        if at + _RECORD.size > end:
            break
        code, length = _RECORD.unpack_from(content, at)
        begin, at = at + _RECORD.size, at + _RECORD.size + length
        if at > end:
            break
        if code == Code.MESSAGE:
            if length < _MESSAGE.size:
                raise DamagedError(f"a message of {length} bytes is too short")
            if _MESSAGE.unpack_from(content, begin)[0] in whole:
                MESSAGE.check(length - _MESSAGE.size)
                yield code, content[begin:at]
            else:
                yield code, content[begin : begin + _MESSAGE.size]
        elif code in (Code.SCHEMA, Code.CHANNEL):
            yield code, content[begin:at]
        elif not 0 < code < Code.DATA_END:
            raise DamagedError(f"a chunk holds a record of the unknown code {code}")
    else:
        return
    if not torn:
        raise DamagedError("a record is cut off")
