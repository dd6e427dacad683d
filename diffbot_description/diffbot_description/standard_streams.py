# SPDX-License-Identifier: Apache-2.0
"""Standard output and error of a run, which goes on when nobody can take them any more.

The terminal may be closed, the reader of a pipe gone, the disk of a log full. None of them is a
reason to lose a run's results. Imports nothing outside the standard library.
"""

from __future__ import annotations

import contextlib
import errno
import io
import sys
from typing import Any


class _LastingFile(io.FileIO):
    """The file of a standard stream; it drops what cannot be written."""

    readerless = False  # the reader of its pipe, or its terminal, has gone

    def write(self, data: Any, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            self.readerless = self.readerless or error.errno != errno.ENOSPC
            return memoryview(data).nbytes


_files: list[_LastingFile] = []


def keep_streams() -> None:
    """Let writes to standard output and error never fail; streams of a host or test are left."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is not getattr(sys, f"__{name}__") or not isinstance(stream, io.TextIOWrapper):
            continue
        with contextlib.suppress(OSError):
            stream.flush()
        file = _LastingFile(stream.fileno(), "w", closefd=False)
        _files.append(file)
        lasting = io.TextIOWrapper(
            file if stream.write_through else io.BufferedWriter(file),
            encoding=stream.encoding,
            errors=stream.errors,
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )
        setattr(sys, name, lasting)


def have_lost_reader() -> bool:
    """Whether what is written to standard output or error reaches nobody any more."""
    return any(file.readerless for file in _files)
