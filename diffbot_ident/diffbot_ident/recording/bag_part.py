"""One file of a rosbag2 recording, or a folder with its metadata, whole or torn."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rosbags.interfaces import MessageDefinition

Message = tuple[str, int, bytes]
"""Topic, time when it was logged in ns, and content in CDR."""


@dataclass(frozen=True)
class Topic:
    """A topic of a recording.

    Attributes:
        name: with its namespace.
        type: of its messages, such as "sensor_msgs/msg/JointState".
        count: of its messages; 0 where that is not known.
        definition: of the type, as far as the recording holds it.
    """

    name: str
    type: str
    count: int
    definition: MessageDefinition


class BagPart(Protocol):
    """What can be read once.

    Attributes:
        topics: that it holds.
    """

    topics: tuple[Topic, ...]

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """Messages of these topics, in the order in which they were logged.

        Raises:
            Exception: of the library, where the file is damaged.
        """

    def close(self) -> None:
        """Close the file."""


class WholePart:
    """What the library `rosbags` reads as it is.

    Args:
        path: of a folder with metadata.yaml, or of one storage file.

    Raises:
        rosbags.rosbag2.ReaderError: it cannot.
    """

    def __init__(self, path: Path) -> None:
        # Here, as the command's options need the topics' roles also where `rosbags` is not there.
        from rosbags.rosbag2 import Reader

        self._reader = Reader(path)
        self._reader.open()
        self.topics = tuple(
            Topic(c.topic, c.msgtype, c.msgcount, c.msgdef) for c in self._reader.connections
        )

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """See BagPart."""
        chosen = [c for c in self._reader.connections if c.topic in names]
        if not chosen:
            return
        for connection, time, data in self._reader.messages(chosen):
            yield connection.topic, time, data

    def close(self) -> None:
        """See BagPart."""
        self._reader.close()
