"""Copies the output of a process to the terminal, line by line, and to its log file."""

from __future__ import annotations

import contextlib
import os
from typing import IO, TextIO

_READS = 16  # at a time: who writes without end must not keep the runner from all else


class Tee:
    """The runner's end of a process's output pipe; reading never blocks."""

    def __init__(self, source: IO[bytes], screen: TextIO, name: str, sink: IO[bytes]) -> None:
        self._source = source
        self._screen = screen
        self._prefix = f"[{name}] "
        self._sink = sink
        self._rest = b""
        os.set_blocking(source.fileno(), False)

    def fileno(self) -> int:
        """The descriptor to wait on."""
        return self._source.fileno()

    def pump(self) -> bool:
        """Copy what is there, of much only a part; False at the end of the output."""
        for _ in range(_READS):
            try:
                data = os.read(self.fileno(), 65536)
            except BlockingIOError:
                return True
            if not data:
                return False
            self._sink.write(data)
            *lines, self._rest = (self._rest + data).split(b"\n")
            self._show(lines)
        return True

    def _show(self, lines: list[bytes]) -> None:
        if not lines:
            return
        text = "".join(f"{self._prefix}{line.decode(errors='replace')}\n" for line in lines)
        with contextlib.suppress(BrokenPipeError):  # the reader of our output has gone
            self._screen.write(text)
            self._screen.flush()

    def close(self) -> None:
        """Copy the last piece, an unfinished line too, and close."""
        if self._source.closed:
            return
        self.pump()
        self._show([self._rest] if self._rest else [])
        self._source.close()
