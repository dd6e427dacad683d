# SPDX-License-Identifier: Apache-2.0
"""What the files of a rosbag2 recording have in common: topics and messages."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from typing import Protocol

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

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
