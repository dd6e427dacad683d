# SPDX-License-Identifier: Apache-2.0
"""Reads the SQLite files of rosbag2 within limits; of a damaged one the intact part.

A view can be endless, computed columns compute, and a page be referred to many times: only plain
tables are read, and no more than fits into the file's size.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from rosbags.interfaces import MessageDefinition

from diffbot_description.limits import DEFINITION_TEXT, MESSAGE, PAGES, TOPICS
from diffbot_recordings.bag_part import FORMATS, UNDEFINED, BagTopic, DamagedError, Message

_TABLES = ("topics", "messages", "message_definitions")
_SMALLEST_ROW = 12  # bytes of a row of messages in the file, at least
_LONGEST_NAME = 1000  # characters of the name of a topic or of a type


class SqliteFile:
    """A SQLite file; see BagPart. Raises LimitError, DamagedError, or sqlite3.Error."""

    def __init__(self, path: Path) -> None:
        self._size = path.stat().st_size
        # Immutable: otherwise, SQLite would roll back the journal that a crashed recorder leaves.
        place = f"file:{quote(str(path.absolute()))}?mode=ro&immutable=1"
        self._database = sqlite3.connect(place, uri=True)
        self._database.text_factory = lambda data: data.decode("utf-8", "replace")
        self.damage = ""
        try:
            self._database.execute("PRAGMA trusted_schema = OFF")
            try:
                self._tables = self._checked_tables()
                counts = self._counts()
            except sqlite3.Error as error:
                self.damage = str(error)
                # Makes SQLite accept a file that is shorter than it should be.
                self._database.execute("PRAGMA writable_schema = ON")
                self._tables, counts = self._checked_tables(), {}
            self._topics = self._read_topics(counts)
        except BaseException:
            self._database.close()
            raise
        self.topics = tuple(self._topics.values())

    def close(self) -> None:
        with suppress(sqlite3.Error):
            self._database.close()

    def messages(self, names: Collection[str]) -> Iterator[Message]:
        """See BagPart. Of a damaged file the order is that of the rows, which needs no index."""
        wanted = {number: t.name for number, t in self._topics.items() if t.name in names}
        left, rows = self._size, self._most_rows
        for number, time, size, row in self._heads():
            rows -= 1
            if rows < 0:
                raise PAGES.error()
            if number not in wanted:
                continue
            if not isinstance(time, int):
                raise DamagedError(f"the time of message {row} is no whole number: {time!r:.40}")
            MESSAGE.check(size or 0)
            left -= size or 0
            if left < 0:
                raise PAGES.error()
            (data,) = self._database.execute(
                "SELECT data FROM messages WHERE rowid = ?", (row,)
            ).fetchone()
            if not isinstance(data, bytes):
                raise DamagedError(f"the content of message {row} is no blob")
            yield wanted[number], time, data

    @property
    def _most_rows(self) -> int:
        return self._size // _SMALLEST_ROW + 1

    def _heads(self) -> Iterator[tuple[object, object, int | None, int]]:
        size = "CASE typeof(data) WHEN 'blob' THEN length(data) END"
        end = "NOT INDEXED" if self.damage else "ORDER BY timestamp"
        query = f"SELECT topic_id, timestamp, {size}, rowid FROM messages {end}"
        return iter(self._database.execute(query))

    def _checked_tables(self) -> set[str]:
        marks = ", ".join("?" * len(_TABLES))
        rows = self._database.execute(
            f"SELECT name, type, rootpage FROM sqlite_master WHERE name IN ({marks}) LIMIT 10",
            _TABLES,
        ).fetchall()
        for name, kind, page in rows:
            columns = self._database.execute(f"PRAGMA table_xinfo({name})").fetchall()
            if kind != "table" or not page or any(column[-1] for column in columns):
                raise DamagedError(
                    f"{name} is no plain table of rosbag2 but a view, or has computed columns"
                )
        results = {name for name, _, _ in rows}
        if not {"topics", "messages"} <= results:
            raise DamagedError("it has no tables topics and messages")
        return results

    def _counts(self) -> dict[object, int]:
        most = self._most_rows
        rows = self._database.execute(
            "SELECT topic_id, count(*) FROM (SELECT topic_id FROM messages LIMIT ?) "
            "GROUP BY topic_id",
            (most + 1,),
        ).fetchall()
        counts = dict(rows)
        if sum(counts.values()) > most:
            raise PAGES.error()
        return counts

    def _read_topics(self, counts: dict[object, int]) -> dict[object, BagTopic]:
        definitions = self._definitions()
        rows = self._database.execute(
            "SELECT id, name, type FROM topics WHERE typeof(name) = 'text' "
            "AND typeof(type) = 'text' AND length(name) <= ?1 AND length(type) <= ?1 LIMIT ?2",
            (_LONGEST_NAME, TOPICS.value + 1),
        ).fetchall()
        TOPICS.check(len(rows))
        return {
            number: BagTopic(name, kind, counts.get(number, 0), definitions.get(kind, UNDEFINED))
            for number, name, kind in rows
        }

    def _definitions(self) -> dict[str, MessageDefinition]:
        """Return the definitions of types; rosbag2 up to Humble writes none."""
        if "message_definitions" not in self._tables:
            return {}
        results = {}
        left = self._size
        for kind, encoding, size, row in self._database.execute(
            "SELECT topic_type, encoding, length(encoded_message_definition), rowid "
            "FROM message_definitions WHERE length(topic_type) <= ?1 LIMIT ?2",
            (_LONGEST_NAME, TOPICS.value),
        ):
            if encoding not in FORMATS or not size:
                continue
            DEFINITION_TEXT.check(size)
            left -= size
            if left < 0:
                raise PAGES.error()
            (text,) = self._database.execute(
                "SELECT encoded_message_definition FROM message_definitions WHERE rowid = ?", (row,)
            ).fetchone()
            if isinstance(kind, str) and isinstance(text, str):
                results[kind] = MessageDefinition(FORMATS[encoding], text)
        return results
