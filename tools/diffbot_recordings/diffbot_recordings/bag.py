# SPDX-License-Identifier: Apache-2.0
"""Read a rosbag2 recording of any ROS 2 distribution, or its intact part: docs/recordings.md."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any

from rosbags.interfaces import MessageDefinitionFormat, Nodetype
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from diffbot_description.files import RECORDING, read_yaml
from diffbot_description.limits import DEFINITION, FIELDS, MESSAGE, SEARCHES, LimitError
from diffbot_recordings.bag_part import (
    ZSTD,
    BagPart,
    BagTopic,
    DamagedError,
    Message,
    unpack,
    unpack_file,
)
from diffbot_recordings.mcap_file import McapFile
from diffbot_recordings.samples import RecordingError, check_files
from diffbot_recordings.sqlite_file import SqliteFile

SUFFIXES = (".mcap", ".db3")
METADATA = "metadata.yaml"
_PACKED = ".zstd"


@dataclass
class StorageFiles:
    """Storage files of a recording, in the order of time, decompressed.

    Attributes:
        packed_messages: Whether each message is compressed.
    """

    files: list[Path]
    warnings: list[str] = field(default_factory=list)
    packed_messages: bool = False
    _temporary: tempfile.TemporaryDirectory[str] | None = None

    @classmethod
    def of(cls, path: Path) -> StorageFiles:
        """Return the files of a recording, a file or a folder; RecordingError without any."""
        if not path.is_dir():
            return cls([path])
        storage_files = cls([])
        if (path / METADATA).exists():
            try:
                storage_files._read(path, _information(path))
            except (ValueError, OSError) as error:
                if isinstance(error, RecordingError):
                    raise
                storage_files.warnings.append(
                    f"{path.name}: {error}; its files are read one by one"
                )
        else:
            storage_files.warnings.append(
                f"{path.name} has no {METADATA}, as if recording was cut off"
            )
        if not storage_files.files:
            storage_files.files = _in_folder(path)
        return storage_files

    def _read(self, path: Path, information: Mapping[str, Any]) -> None:
        names = information.get("relative_file_paths")
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError(f"{METADATA}: relative_file_paths must be a list of names")
        files = [path / PurePosixPath(name).name for name in names]
        if missing := [file.name for file in files if not file.is_file()]:
            raise ValueError(f"{METADATA}: there is no file {', '.join(missing[:4])}")
        mode = str(information.get("compression_mode") or "none").lower()
        kind = str(information.get("compression_format") or "")
        if mode not in ("none", "file", "message"):
            raise ValueError(f"{METADATA}: compression_mode {mode!r} is not known")
        if mode != "none" and kind != "zstd":
            raise RecordingError(
                f"{path}: compression_format {kind!r} is not read, only zstd: decompress it"
            )
        self.packed_messages = mode == "message"
        if mode == "file":
            files = [self._unpacked(file) for file in files]
        self.files = files

    def _unpacked(self, file: Path) -> Path:
        if file.suffix != _PACKED:
            return file
        if self._temporary is None:
            self._temporary = tempfile.TemporaryDirectory(prefix="diffbot-bag-")
        target = Path(self._temporary.name, file.stem)
        try:
            unpack_file(file, target)
        except (ValueError, DamagedError, OSError) as error:
            raise RecordingError(f"{file}: cannot be decompressed: {error}") from None
        return target


def in_results(path: Path) -> Path:
    """Return the recording inside the results of a run; for any other path, the path itself."""
    inside = path / RECORDING
    if not inside.is_dir() or (path / METADATA).exists():
        return path
    return path if any(file.suffix in SUFFIXES for file in path.iterdir()) else inside


def _information(path: Path) -> Mapping[str, Any]:
    try:
        content = read_yaml(path / METADATA)
    except ValueError as error:
        raise ValueError(str(error).removeprefix(f"{path}/")) from None
    information = content.get("rosbag2_bagfile_information") if isinstance(content, dict) else None
    if not isinstance(information, dict):
        raise ValueError(f"{METADATA}: has no rosbag2_bagfile_information")
    return information


def _in_folder(path: Path) -> list[Path]:
    files = sorted((f for f in path.iterdir() if f.suffix in SUFFIXES), key=_by_number)
    if files:
        return files
    hint = ""
    if any(file.suffix == _PACKED for file in path.iterdir()):
        hint = f"; its files are compressed: give {METADATA}, too, or run zstd -d on them"
    raise RecordingError(
        f"{path}: no rosbag2 recording: no {' or '.join(SUFFIXES)} file in this folder, "
        f"and no folder {RECORDING} (written with record:=mcap){hint}"
    )


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Sort parts of a split recording: _2 before _10."""
    return [(int(n) if n else -1, text) for text, n in re.findall(r"(\D*)(\d*)", path.name)]


def defined_types(topic: BagTopic) -> dict[str, Any]:
    """Return the types in a topic's definition, for a typestore of the library.

    Raises:
        LimitError: A definition is too long, or a type has too many fields.
        DamagedError: The definition cannot be read, or does not define the topic's type.
    """
    text = topic.definition.data
    is_idl = topic.definition.format == MessageDefinitionFormat.IDL
    if not is_idl:
        lines = (line for line in text.split("\n") if not line.lstrip().startswith("#"))
        text = "\n".join(lines)
    DEFINITION.check(len(text))
    FIELDS.check(text.count("\n"))
    try:
        types = get_types_from_idl(text) if is_idl else get_types_from_msg(text, topic.type)
    except RecursionError:
        raise DamagedError(f"the definition of {topic.type} is nested too deeply") from None
    except Exception as error:  # the library's own, and of any kind
        why = " ".join(str(error)[:1000].split())[:200]
        raise DamagedError(f"the definition of {topic.type} cannot be read: {why}") from None
    if topic.type not in types:
        raise DamagedError(f"the definition of {topic.type} defines other types only")
    FIELDS.check(_count(topic.type, types, (), {}))
    return types


def _count(name: str, types: dict[str, Any], within: tuple[str, ...], known: dict[str, int]) -> int:
    if name in within:
        raise DamagedError(f"the type {name} contains itself")
    if name not in known:
        total = 0
        for _, (kind, content) in types[name][1] if name in types else ():
            times = 1
            if kind in (Nodetype.ARRAY, Nodetype.SEQUENCE):
                (inner, what), length = content
                times = length if kind == Nodetype.ARRAY else 1
            else:
                inner, what = kind, content
            nested = inner == Nodetype.NAME
            own = _count(what, types, (*within, name), known) if nested else 1
            total += max(1, times) * max(1, own)
        known[name] = total
        FIELDS.check(total)
    return known[name]


__all__ = ["METADATA", "Bag", "BagTopic"]

# Definitions, alike in all distributions, that SQLite files of Humble and older lack.
CONTROL_TYPES = {
    "control_msgs/msg/InterfaceValue": "string[] interface_names\nfloat64[] values",
    "control_msgs/msg/DynamicJointState": (
        "std_msgs/Header header\nstring[] joint_names\nInterfaceValue[] interface_values"
    ),
}


class Bag:
    """A recording: a folder or file, or the results of a run with the folder RECORDING.

    Attributes:
        storage: Its files, if they are known already.
        path: Path of the recording itself.

    Raises:
        RecordingError: Nothing in it can be read.
    """

    def __init__(self, path: Path, storage: StorageFiles | None = None) -> None:
        self.path = path = in_results(path)
        self._storage = storage or StorageFiles.of(path)
        self.warnings = list(self._storage.warnings)
        self._searches = 0
        self._parts = [_part(file, self.warnings) for file in self._storage.files]
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
                        yield self._unpacked(message)
                except Exception as error:
                    kind = "exceeds a limit" if isinstance(error, LimitError) else "is damaged"
                    self.warnings.append(
                        f"{self.path.name} {kind}: read up to message {count}, then: "
                        f"{_reason(error)}"
                    )
                    continue
                if count < expected:
                    self.warnings.append(
                        f"{self.path.name} is damaged: {count} of {expected} messages could be read"
                    )
        finally:
            for part in self._parts:
                part.close()

    def _unpacked(self, message: Message) -> Message:
        if not self._storage.packed_messages:
            return message
        topic, time, data = message
        return topic, time, unpack(data, "zstd", MESSAGE)

    def peek(self, topic: BagTopic) -> Generator[Any, None, None]:
        """Yield the messages of a topic from the beginning, independently; close it after use."""
        self._searches += 1
        if self._searches > SEARCHES.value:
            raise RecordingError(f"{self.path}: {SEARCHES.error()}")
        decode = self.decoder(topic)
        other = Bag(self.path, self._storage)
        try:
            with closing(other.messages([topic.name])) as messages:
                for _, _, data in messages:
                    if (message := decode(data)) is not None:
                        yield message
        finally:
            self.warnings += [text for text in other.warnings if text not in self.warnings]

    def decoder(self, topic: BagTopic) -> Callable[[bytes], Any | None]:
        """Return a decoder of a topic's messages; it warns and returns None for garbled ones.

        Types of ROS 2 are those of its newest distribution: the fields used here never changed.
        Raises RecordingError for a definition that cannot be read or exceeds a limit.
        """
        try:
            store = _typestore(topic)
        except (LimitError, DamagedError) as error:
            raise RecordingError(f"{self.path}: {topic.name}: {_reason(error)}") from None

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
    for name, text in CONTROL_TYPES.items():
        store.register(get_types_from_msg(text, name))
    return store


@cache
def _known(control: bool = False) -> Typestore:
    """The newest distribution's types; shared, because a store compiles how to read each type."""
    store = get_typestore(Stores.LATEST)
    return with_control_types(store) if control else store


def _typestore(topic: BagTopic) -> Typestore:
    if topic.type in _known().fielddefs:
        return _known()
    if not _defined(topic):
        return _known(topic.type in CONTROL_TYPES)
    store = get_typestore(Stores.EMPTY)
    store.register(defined_types(topic))
    return store


def _part(path: Path, warnings: list[str]) -> BagPart:
    check_files([path])
    if not path.stat().st_size:
        raise RecordingError(f"{path}: the file is empty")
    if path.suffix not in SUFFIXES:
        raise RecordingError(f"{path}: must end in {' or '.join(SUFFIXES)}; give a recording")
    try:
        part: BagPart = McapFile(path) if path.suffix == ".mcap" else SqliteFile(path)
    except LimitError as error:
        raise RecordingError(f"{path}: {error}") from None
    except Exception as error:  # of any type: what a damaged file holds may be arbitrary
        raise RecordingError(
            f"{path}: cannot be read as a rosbag2 {path.suffix[1:]} file: {_reason(error)}. If it "
            "was cut off, no complete part is left; give another recording"
        ) from None
    if part.damage:
        warnings.append(f"{path.name} is damaged ({part.damage}); only the intact part is read")
    return part


def _reason(error: Exception) -> str:
    return str(error).rstrip(".") or type(error).__name__
