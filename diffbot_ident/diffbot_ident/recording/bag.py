# SPDX-License-Identifier: Apache-2.0
"""Read a rosbag2 recording (folder or storage file) of any ROS 2 distribution, even if truncated.

A crash or a full disk leaves an MCAP file without its end, and thus without the index that readers
need. MCAP allows files without an index: the complete records, followed by an empty footer, are a
valid file again. An unfinished chunk is read as far as it goes, if it is not compressed. Format:
https://mcap.dev/spec. A damaged SQLite file is read row by row until one cannot be read.
"""

from __future__ import annotations

import io
import re
import sqlite3
import struct
from collections.abc import Callable, Collection, Generator, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast
from urllib.parse import quote

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat
from rosbags.rosbag2 import Reader, ReaderError
from rosbags.rosbag2.storage_mcap import McapReader
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from diffbot_description.files import RECORDING
from diffbot_ident.recording.samples import RecordingError

SUFFIXES = (".mcap", ".db3")
METADATA = "metadata.yaml"
# First bytes of data compressed by zstd.
ZSTD = b"\x28\xb5\x2f\xfd"

MAGIC = b"\x89MCAP0\r\n"
FOOTER = b"\x02" + struct.pack("<QQQI", 20, 0, 0, 0) + MAGIC
_FOOTER_CODE, _CHUNK, _DATA_END = 0x02, 0x06, 0x0F
# Header of an MCAP record: code and length.
_RECORD = struct.Struct("<BQ")
# Header of a chunk: start, end, size and checksum of its content; the name of its compression
# follows.
_CHUNK_HEAD = struct.Struct("<QQQI")

# Definitions of ros2_control's messages, which SQLite files of Humble and older do not hold; see
# control_msgs, where they are the same in all distributions.
CONTROL_TYPES = {
    "control_msgs/msg/InterfaceValue": "string[] interface_names\nfloat64[] values",
    "control_msgs/msg/DynamicJointState": (
        "std_msgs/Header header\nstring[] joint_names\nInterfaceValue[] interface_values"
    ),
}

Message = tuple[str, int, bytes]
"""Topic, logged time in ns, and content in CDR."""


@dataclass(frozen=True)
class BagTopic:
    """A topic of a recording.

    Attributes:
        name: Name with its namespace.
        type: Message type, such as "sensor_msgs/msg/JointState".
        count: Number of messages; 0: not known.
        definition: Definition of the type, as far as the recording holds it.
    """

    name: str
    type: str
    count: int
    definition: MessageDefinition


class Bag:
    """A recording, whose files are read one after another.

    Args:
        path: Path of a folder or a file, or of the results of a run with the folder RECORDING.

    Attributes:
        path: Path of the recording itself.
        topics: Topics by name.
        warnings: Warnings so far.

    Raises:
        RecordingError: Nothing in it can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path = _in_results(path)
        self.warnings: list[str] = []
        self._parts = _opened(path, self.warnings)
        self.topics: dict[str, BagTopic] = {}
        for topic in (topic for part in self._parts for topic in part.topics):
            before = self.topics.get(topic.name)
            count = topic.count + (before.count if before else 0)
            defined = topic if before is None or _defined(topic) else before
            self.topics[topic.name] = BagTopic(topic.name, topic.type, count, defined.definition)

    def messages(self, names: Collection[str]) -> Generator[Message, None, None]:
        """Yield the messages of these topics; a damaged file ends at the damage, with a warning."""
        try:
            for part in self._parts:
                count = 0
                expected = sum(topic.count for topic in part.topics if topic.name in names)
                try:
                    for message in part.messages(names):
                        count += 1
                        yield message
                except Exception as error:
                    self.warnings.append(
                        f"{self.path.name} is damaged: read up to message {count}, then: {error}"
                    )
                    continue
                if count < expected:
                    self.warnings.append(
                        f"{self.path.name} is damaged: {count} of {expected} messages could be read"
                    )
        finally:
            for part in self._parts:
                part.close()

    def peek(self, topic: BagTopic) -> Generator[Any, None, None]:
        """Yield the messages of a topic from the beginning, independently; close it after use."""
        decode = self.decoder(topic)
        with closing(Bag(self.path).messages([topic.name])) as messages:
            for _, _, data in messages:
                if (message := decode(data)) is not None:
                    yield message

    def decoder(self, topic: BagTopic) -> Callable[[bytes], Any | None]:
        """Return a decoder of a topic's messages; it warns and returns None for garbled ones.

        Types of ROS 2 itself are taken from its newest distribution: the fields used here are the
        same in all of them. For other types, the definition in the recording is used.
        """
        store = _typestore(topic)

        def decode(data: bytes) -> Any | None:
            try:
                return store.deserialize_cdr(data, topic.type)
            except Exception as error:
                if topic.type not in store.fielddefs:
                    self._warn_once(
                        f"{self.path.name}: messages of {topic.name} are not read: the type "
                        f"{topic.type} is not known here, and the recording holds no definition "
                        "of it; ros2 bag convert to MCAP, on a computer that has the type, adds it"
                    )
                    return None
                text = f"{self.path.name} is damaged: messages of {topic.name} are garbled: {error}"
                if data[: len(ZSTD)] == ZSTD:
                    text = (
                        f"{self.path.name}: messages of {topic.name} are compressed one by one, "
                        f"which needs the recording's {METADATA}: give the whole folder"
                    )
                self._warn_once(text)
                return None

        return decode

    def _warn_once(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)


def _defined(topic: BagTopic) -> bool:
    return topic.definition.format != MessageDefinitionFormat.NONE


def with_control_types(store: Typestore) -> Typestore:
    """Register CONTROL_TYPES in a store, and return it."""
    for name, text in CONTROL_TYPES.items():
        store.register(get_types_from_msg(text, name))
    return store


def _typestore(topic: BagTopic) -> Typestore:
    known = get_typestore(Stores.LATEST)
    if topic.type in known.fielddefs:
        return known
    if not _defined(topic):
        return with_control_types(known) if topic.type in CONTROL_TYPES else known
    text, store = topic.definition.data, get_typestore(Stores.EMPTY)
    if topic.definition.format == MessageDefinitionFormat.MSG:
        store.register(get_types_from_msg(text, topic.type))
    else:
        store.register(get_types_from_idl(text))
    return store


def _in_results(path: Path) -> Path:
    """Return the recording inside the results of a run; for any other path, the path itself."""
    inside = path / RECORDING
    if not inside.is_dir() or (path / METADATA).exists():
        return path
    return path if any(file.suffix in SUFFIXES for file in path.iterdir()) else inside


def _opened(path: Path, warnings: list[str]) -> list[BagPart]:
    if path.is_dir():
        if (path / METADATA).exists():
            try:
                return [whole_part(path)]
            except (ReaderError, OSError) as error:
                warnings.append(f"{path.name}: {error}; its files are read one by one")
        else:
            warnings.append(f"{path.name} has no {METADATA}, as if recording was cut off")
        files = sorted((f for f in path.iterdir() if f.suffix in SUFFIXES), key=_by_number)
        if not files:
            hint = ""
            if any(f.suffix == ".zstd" for f in path.iterdir()):
                hint = f"; its files are compressed: give {METADATA}, too, or run zstd -d on them"
            raise RecordingError(
                f"{path}: no rosbag2 recording: no {' or '.join(SUFFIXES)} file in this folder, "
                f"and no folder {RECORDING} (written with record:=mcap){hint}"
            )
    else:
        files = [path]
    return [_part(file, warnings) for file in files]


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Return a sort key for the parts of a split recording: _2 before _10."""
    return [(int(n) if n else -1, text) for text, n in re.findall(r"(\D*)(\d*)", path.name)]


def _part(path: Path, warnings: list[str]) -> BagPart:
    if not path.stat().st_size:
        raise RecordingError(f"{path}: the file is empty")
    try:
        return whole_part(path)
    except Exception as error:
        reason = _reason(error)
    try:
        part = torn_mcap(path) if path.suffix == ".mcap" else TornSqlite(path)
    except Exception as error:  # of any type: lengths in a damaged file may be arbitrary
        raise RecordingError(
            f"{path}: cannot be read as a rosbag2 {path.suffix[1:]} file: {reason}. If it was "
            f"cut off, no complete part is left ({_reason(error)}); give another recording"
        ) from None
    warnings.append(f"{path.name} is damaged ({reason}); only the intact part is read")
    return part


def _reason(error: Exception) -> str:
    """Return the error's text as a part of a sentence."""
    return str(error).rstrip(".")


class BagPart(Protocol):
    """A file of a recording, or a folder with its metadata, that can be read once.

    Attributes:
        topics: Its topics.
    """

    topics: tuple[BagTopic, ...]

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """Yield the messages of these topics in the order in which they were logged.

        Raises:
            Exception: An exception of the library, if the file is damaged.
        """

    def close(self) -> None:
        """Close the file."""


class LibraryPart:
    """A part that a reader of the library `rosbags` reads; see BagPart.

    Args:
        reader: Reader that is not yet open.
        read: Method of the reader that yields the messages of connections.

    Raises:
        rosbags.rosbag2.ReaderError: The reader cannot open it.
    """

    def __init__(self, reader: Reader | McapReader, read: Callable[..., Iterator[Any]]) -> None:
        self._reader = reader
        self._read = read
        reader.open()
        self.topics = tuple(
            BagTopic(c.topic, c.msgtype, c.msgcount, c.msgdef) for c in reader.connections
        )

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """See BagPart."""
        chosen = [c for c in self._reader.connections if c.topic in names]
        for connection, time, data in self._read(chosen) if chosen else ():
            yield connection.topic, time, data

    def close(self) -> None:
        """See BagPart."""
        self._reader.close()


def whole_part(path: Path) -> LibraryPart:
    """Open a folder with metadata.yaml, or one storage file, that is complete."""
    reader = Reader(path)
    return LibraryPart(reader, reader.messages)


def torn_mcap(path: Path) -> LibraryPart:
    """Open the complete records of a truncated MCAP file."""
    reader = McapReader(cast(Any, _RepairedFile(path)))
    # Not `messages`, which refuses a file without index whose log times are out of order.
    return LibraryPart(reader, reader.messages_scan)


class _RepairedFile:
    """Stands for the path of a truncated file; has only what the reader needs of a path."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __str__(self) -> str:
        return str(self._path)

    def open(self, _mode: str) -> BinaryIO:
        """Open the complete records, followed by a footer, as one file."""
        file = self._path.open("rb")
        return io.BufferedReader(_Concatenated(file, _whole_records(file)))


class _Concatenated(io.RawIOBase):
    """Pieces of a file and a footer, concatenated."""

    def __init__(self, file: BinaryIO, pieces: list[tuple[int, int]]) -> None:
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

    def readinto(self, buffer: Any) -> int:
        data = self._read_at(len(buffer))
        buffer[: len(data)] = data
        self._at += len(data)
        return len(data)

    def _read_at(self, count: int) -> bytes:
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


def _whole_records(file: BinaryIO) -> list[tuple[int, int]]:
    """Return offsets and lengths of the readable pieces: the magic, then data records.

    If the last chunk is incomplete and not compressed, the complete records inside it are included.
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
    """Return the end of the complete data records from `at` on, and the next code; 0: none."""
    while at + _RECORD.size <= size:
        file.seek(at)
        code, length = _RECORD.unpack(file.read(_RECORD.size))
        if not 0 < code < _DATA_END or code == _FOOTER_CODE:
            return at, 0
        if at + _RECORD.size + length > size:
            return at, code
        at += _RECORD.size + length
    return min(at, size), 0


class TornSqlite:
    """A damaged SQLite file; see BagPart.

    Args:
        path: Path of the file.

    Raises:
        sqlite3.Error: Nothing in it can be read.
    """

    def __init__(self, path: Path) -> None:
        # Immutable: otherwise, SQLite would roll back the journal that a crashed recorder leaves.
        place = f"file:{quote(str(path.absolute()))}?immutable=1"
        self._database = sqlite3.connect(place, uri=True)
        try:
            # Makes SQLite accept a file that is shorter than it should be. Nothing is written.
            self._database.execute("PRAGMA writable_schema = ON")
            rows = self._database.execute("SELECT id, name, type FROM topics").fetchall()
        except sqlite3.Error:
            self._database.close()
            raise
        whole = [row for row in rows if all(isinstance(text, str) for text in row[1:])]
        self._names = {number: name for number, name, _ in whole}
        unknown = MessageDefinition(MessageDefinitionFormat.NONE, "")
        self.topics = tuple(BagTopic(name, kind, 0, unknown) for _, name, kind in whole)

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """See BagPart. The order is that of the rows, which needs no index."""
        for number, time, data in self._database.execute(
            "SELECT topic_id, timestamp, data FROM messages NOT INDEXED"
        ):
            if self._names.get(number) in names:
                yield self._names[number], time, data

    def close(self) -> None:
        """See BagPart."""
        with suppress(sqlite3.Error):
            self._database.close()
