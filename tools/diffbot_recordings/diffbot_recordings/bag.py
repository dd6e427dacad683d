# SPDX-License-Identifier: Apache-2.0
"""Read a rosbag2 recording (folder or file) of any ROS 2 distribution, or its intact part.

The limits are those of diffbot_description/limits.py; docs/recordings.md tells what reads the
files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator
from contextlib import closing
from pathlib import Path
from typing import Any

from rosbags.interfaces import MessageDefinitionFormat
from rosbags.typesys import Stores, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from diffbot_description.limits import MESSAGE, SEARCHES, LimitError
from diffbot_recordings.bag_metadata import METADATA, SUFFIXES, StorageFiles, in_results
from diffbot_recordings.bag_part import BagPart, BagTopic, DamagedError, Message
from diffbot_recordings.decompression import ZSTD, unpack
from diffbot_recordings.mcap_file import McapFile
from diffbot_recordings.message_types import defined_types
from diffbot_recordings.samples import RecordingError, check_files
from diffbot_recordings.sqlite_file import SqliteFile

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


def _typestore(topic: BagTopic) -> Typestore:
    known = get_typestore(Stores.LATEST)
    if topic.type in known.fielddefs:
        return known
    if not _defined(topic):
        return with_control_types(known) if topic.type in CONTROL_TYPES else known
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
