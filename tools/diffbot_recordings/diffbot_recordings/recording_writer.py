# SPDX-License-Identifier: Apache-2.0
"""Writes messages of topics to a rosbag2 folder, without rosbag2 and without deserialising them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Literal

from ament_index_python.packages import get_package_share_directory

from diffbot_node.senders import WITH_METADATA, message_and_metadata

try:
    from rosbags.rosbag2 import StoragePlugin, Writer
    from rosbags.typesys import Stores, get_types_from_msg, get_typestore
    from rosbags.typesys.store import Typestore
except ModuleNotFoundError:
    # Only executables load this module; rosdep does not know the package.
    raise SystemExit(
        "the Python package rosbags is not installed: run pip install rosbags"
    ) from None

STORAGES = {"mcap": StoragePlugin.MCAP, "sqlite3": StoragePlugin.SQLITE3}
VERSION: Literal[9] = 9  # version of the format; ROS 2 Humble and newer read it


class Received:
    """A callback that gives serialized messages, and the wall time of sending, ns, to `take`."""

    __signature__ = WITH_METADATA

    def __init__(self, take: Callable[[bytes, int], None]) -> None:
        self._take = take

    def __call__(self, *arguments: Any) -> None:
        """Receive a message; in this process it arrives as it is sent, and has no time."""
        data, information = message_and_metadata(arguments)
        sent = information.get("source_timestamp") or information.get("received_timestamp")
        self._take(bytes(data), sent or time.time_ns())


class RecordingWriter:
    """An open recording.

    Args:
        folder: New folder; must not exist yet.
        storage: One of STORAGES.
        kinds: Types of the messages that may come.

    Attributes:
        folder: As given.
        count: Number of messages written.

    Raises:
        ValueError: No definition of a type is installed.
        OSError: The folder cannot be made.
    """

    def __init__(self, folder: Path, storage: str, kinds: Sequence[str]) -> None:
        self.folder, self.count = folder, 0
        self._store = definitions(kinds)
        self._writer = Writer(folder, version=VERSION, storage_plugin=STORAGES[storage])
        self._writer.open()
        self._waiting: list[tuple[int, Any, bytes]] = []

    def define(self, kind: str) -> None:
        _define(self._store, kind)

    def connect(self, topic: str, kind: str) -> Any:
        """Return the connection of a topic, by its full name, for `take`."""
        return self._writer.add_connection(topic, kind, typestore=self._store)

    def take(self, connection: Any, data: bytes, sent: int) -> None:
        """Keep a serialized message, sent at this wall time, ns, until the next `flush`."""
        self._waiting.append((sent, connection, data))

    def flush(self) -> None:
        """Write the messages that have arrived, in the order in which they were sent.

        Raises:
            OSError: The disk is full, or the folder is gone.
        """
        waiting, self._waiting = self._waiting, []
        for sent, connection, data in sorted(waiting, key=lambda message: message[0]):
            self._writer.write(connection, sent, data)
            self.count += 1

    def close(self) -> None:
        self._writer.close()


def definitions(kinds: Sequence[str]) -> Typestore:
    """Return the message definitions for a recording: viewers need no package of ours."""
    store = get_typestore(Stores.LATEST)
    for kind in kinds:
        _define(store, kind)
    return store


def _define(store: Typestore, kind: str) -> None:
    if kind not in store.fielddefs:
        package = kind.split("/")[0]
        folder = Path(get_package_share_directory(package)) / "msg"
        for path in sorted(folder.glob("*.msg")):
            text = path.read_text(encoding="utf-8")
            store.register(get_types_from_msg(text, f"{package}/msg/{path.stem}"))
    if kind not in store.fielddefs:
        raise ValueError(f"no definition of '{kind}' is installed")
