# SPDX-License-Identifier: Apache-2.0
"""A table stored as rows in Parquet files (parts) of one folder, with one row per key.

A part is written under another name and renamed, and of rows with the same key the last one counts:
a killed process leaves nothing incomplete, and nothing counts twice.
"""

from __future__ import annotations

import os
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

Row = dict[str, Any]

MANY = 50


class ParquetStore:
    """The table in a folder, which is created if it does not exist.

    Args:
        columns: Names and pyarrow's names of their types, in order; "key" is added.

    Raises:
        ModuleNotFoundError: pyarrow is not installed.
        ValueError: There is no such type.
    """

    def __init__(self, folder: Path, columns: Mapping[str, str]) -> None:
        import pyarrow

        self._schema = pyarrow.schema({"key": "string", **columns})
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    @property
    def parts(self) -> list[Path]:
        """Files of the table, oldest first."""
        return sorted(self.folder.glob("part-*.parquet"))

    def append(self, rows: Sequence[Row]) -> None:
        """Add rows, each with its "key"; missing columns are null. Raises OSError."""
        if not rows:
            return
        self._write(rows)

    def rows(self, columns: Iterable[str] | None = None) -> list[Row]:
        """Return all rows, the last one of each key, in the order in which the keys first appeared.

        `columns` are those to read; None: all.
        """
        import pyarrow.parquet as parquet

        names = None if columns is None else list(dict.fromkeys(["key", *columns]))
        results: dict[str, Row] = {}
        for part in self.parts:
            for row in parquet.read_table(part, columns=names).to_pylist():
                results[row["key"]] = row
        return list(results.values())

    def keys(self, **where: Any) -> set[str]:
        """Return the keys of the rows whose columns have these values."""
        rows = self.rows(where)
        return {row["key"] for row in rows if all(row[n] == v for n, v in where.items())}

    def compact(self, least: int = MANY) -> None:
        """Merge the parts if there are at least `least`; safe against being killed meanwhile."""
        parts = self.parts
        for leftover in self.folder.glob(".part-*"):
            leftover.unlink(missing_ok=True)
        if len(parts) < max(least, 2):
            return
        self._write(self.rows())
        for part in parts:
            part.unlink(missing_ok=True)

    def _write(self, rows: Sequence[Row]) -> None:
        import pyarrow
        import pyarrow.parquet as parquet

        table = pyarrow.Table.from_pylist([dict(row) for row in rows], schema=self._schema)
        # Named by time, so that the later of two parts sorts last.
        name = f"part-{time.time_ns():020d}-{uuid.uuid4().hex[:8]}.parquet"
        partial = self.folder / f".{name}"
        parquet.write_table(table, partial, compression="zstd")
        with partial.open("rb") as file:
            os.fsync(file.fileno())
        os.replace(partial, self.folder / name)
