"""A rosbag2 recording: a folder, or a storage file, of any ROS 2 distribution."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import Any

from rosbags.interfaces import MessageDefinitionFormat
from rosbags.rosbag2 import ReaderError
from rosbags.typesys import Stores, get_types_from_idl, get_types_from_msg, get_typestore
from rosbags.typesys.store import Typestore

from diffbot_ident.recording.bag_part import BagPart, Message, Topic, WholePart
from diffbot_ident.recording.stream import RecordingError
from diffbot_ident.recording.torn_mcap import TornMcap
from diffbot_ident.recording.torn_sqlite import TornSqlite

SUFFIXES = (".mcap", ".db3")
METADATA = "metadata.yaml"
# First bytes of what zstd compressed.
ZSTD = b"\x28\xb5\x2f\xfd"


class Bag:
    """The files of a recording, one after another.

    Args:
        path: of a folder or a file.

    Attributes:
        topics: by name.
        warnings: what was odd so far.

    Raises:
        RecordingError: nothing in it can be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.warnings: list[str] = []
        self._parts = _opened(path, self.warnings)
        self.topics: dict[str, Topic] = {}
        for topic in (topic for part in self._parts for topic in part.topics):
            before = self.topics.get(topic.name)
            count = topic.count + (before.count if before else 0)
            defined = topic if before is None or _defined(topic) else before
            self.topics[topic.name] = Topic(topic.name, topic.type, count, defined.definition)

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """Messages of these topics; a damaged file ends with a warning where it is damaged."""
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

    def decoder(self, topic: Topic) -> Callable[[bytes], Any | None]:
        """What makes messages of a topic's content; None, and a warning, of what is garbled.

        Types of ROS 2 itself are those of the newest one: what matters here is the same in all
        distributions. Of others, the definition in the recording counts.
        """
        store = _typestore(topic)

        def decode(data: bytes) -> Any | None:
            try:
                return store.deserialize_cdr(data, topic.type)
            except Exception as error:
                text = f"{self.path.name} is damaged: messages of {topic.name} are garbled: {error}"
                if data[: len(ZSTD)] == ZSTD:
                    text = (
                        f"{self.path.name}: messages of {topic.name} are compressed one by one, "
                        f"which only the recording's {METADATA} would say: give the whole folder"
                    )
                if text not in self.warnings:
                    self.warnings.append(text)
                return None

        return decode


def _defined(topic: Topic) -> bool:
    return topic.definition.format != MessageDefinitionFormat.NONE


def _typestore(topic: Topic) -> Typestore:
    known = get_typestore(Stores.LATEST)
    if topic.type in known.fielddefs or not _defined(topic):
        return known
    text, store = topic.definition.data, get_typestore(Stores.EMPTY)
    if topic.definition.format == MessageDefinitionFormat.MSG:
        store.register(get_types_from_msg(text, topic.type))
    else:
        store.register(get_types_from_idl(text))
    return store


def _opened(path: Path, warnings: list[str]) -> list[BagPart]:
    if path.is_dir():
        if (path / METADATA).exists():
            try:
                return [WholePart(path)]
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
                f"{path}: no rosbag2 recording: no {' or '.join(SUFFIXES)} file in this folder"
                + hint
            )
    else:
        files = [path]
    return [_part(file, warnings) for file in files]


def _by_number(path: Path) -> list[tuple[int, str]]:
    """Order of the parts of a split recording: _2 comes before _10."""
    return [(int(n) if n else -1, text) for text, n in re.findall(r"(\D*)(\d*)", path.name)]


def _part(path: Path, warnings: list[str]) -> BagPart:
    if not path.stat().st_size:
        raise RecordingError(f"{path}: the file is empty")
    try:
        return WholePart(path)
    except Exception as error:
        reason = _reason(error)
    torn = TornMcap if path.suffix == ".mcap" else TornSqlite
    try:
        part = torn(path)
    except Exception as error:  # of the library: lengths in a damaged file may say anything
        raise RecordingError(
            f"{path}: cannot be read as a rosbag2 {path.suffix[1:]} file: {reason}. If it was cut "
            f"off, nothing in it is whole ({_reason(error)}); give another recording"
        ) from None
    warnings.append(f"{path.name} is damaged ({reason}); what is whole in it is read")
    return part


def _reason(error: Exception) -> str:
    """Why, as a part of a sentence."""
    return str(error).rstrip(".")
