"""A SQLite storage file that is damaged: row after row, until one cannot be read."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from rosbags.interfaces import MessageDefinition, MessageDefinitionFormat

from diffbot_ident.recording.bag_part import Message, Topic


class TornSqlite:
    """Reads what is whole; see bag_part.BagPart.

    Args:
        path: of the file.

    Raises:
        sqlite3.Error: there is nothing that could be read.
    """

    def __init__(self, path: Path) -> None:
        # Immutable: a recorder that crashed leaves a journal, which would be rolled back otherwise.
        place = f"file:{quote(str(path.absolute()))}?immutable=1"
        self._database = sqlite3.connect(place, uri=True)
        try:
            # Else SQLite refuses a file that is shorter than it should be. Nothing is written.
            self._database.execute("PRAGMA writable_schema = ON")
            rows = self._database.execute("SELECT id, name, type FROM topics").fetchall()
        except sqlite3.Error:
            self._database.close()
            raise
        whole = [row for row in rows if all(isinstance(text, str) for text in row[1:])]
        self._names = {number: name for number, name, _ in whole}
        unknown = MessageDefinition(MessageDefinitionFormat.NONE, "")
        self.topics = tuple(Topic(name, kind, 0, unknown) for _, name, kind in whole)

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """See BagPart. In the order of the rows, which needs no index."""
        for number, time, data in self._database.execute(
            "SELECT topic_id, timestamp, data FROM messages NOT INDEXED"
        ):
            if self._names.get(number) in names:
                yield self._names[number], time, data

    def close(self) -> None:
        """See BagPart."""
        with suppress(sqlite3.Error):
            self._database.close()
