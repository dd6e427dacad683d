# SPDX-License-Identifier: Apache-2.0
"""Runs xacro in a process of its own, with limits of time and memory and checked expressions."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType

from diffbot_description.limits import EXPANDED, EXPRESSION, XACRO_MEMORY, XACRO_TIME

_CHILD = Path(__file__).with_name("xacro_child.py")
# Without the current folder, which may hold anything.
_RUN = "import sys; sys.path[:] = filter(None, sys.path); import runpy; sys.argv.pop(0); " + (
    "runpy.run_path(sys.argv[0], run_name='__main__')"
)


class XacroFault(Exception):
    """xacro could not expand a file; the text has its messages in one line."""


class XacroProcess:
    """A process that expands xacro files, all together within the limits; a context manager.

    `prefixes`: ament prefixes in which packages are searched; empty: those of this process.
    """

    def __init__(self, prefixes: Sequence[str] = ()) -> None:
        variables = dict(os.environ)
        if prefixes:
            variables["AMENT_PREFIX_PATH"] = os.pathsep.join(prefixes)
        limits = [str(limit.value) for limit in (EXPRESSION, XACRO_TIME, XACRO_MEMORY)]
        self._deadline = time.monotonic() + XACRO_TIME.value
        self._process = subprocess.Popen(
            [sys.executable, "-B", "-c", _RUN, str(_CHILD), *limits],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=variables,
        )
        self._rest = b""

    def __enter__(self) -> XacroProcess:
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._process.kill()
        self._process.communicate()

    def expand(self, path: Path, arguments: Mapping[str, str], indent: str = "\t") -> str:
        """Return the expanded text of a file.

        Raises:
            XacroFault: xacro could not expand it.
            LimitError: It takes too long, too much memory, or becomes too large.
        """
        request = {"path": str(path), "arguments": dict(arguments), "indent": indent}
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except BrokenPipeError:
            raise XacroFault("the process of xacro has ended: is xacro installed?") from None
        answer: dict[str, str] = json.loads(self._line())
        if "exceeded" in answer:
            raise XACRO_MEMORY.error()
        if "text" not in answer:
            raise XacroFault(answer["fault"])
        EXPANDED.check(len(answer["text"]))
        return answer["text"]

    def _line(self) -> bytes:
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        parts = [self._rest]
        size = 0
        while b"\n" not in parts[-1]:
            left = self._deadline - time.monotonic()
            if left <= 0.0 or not select.select([pipe], [], [], left)[0]:
                raise XACRO_TIME.error()
            data = os.read(pipe, 1 << 16)
            if not data:
                raise self._ended()
            size += len(data)
            if size > 8 * EXPANDED.value:
                raise EXPANDED.error()
            parts.append(data)
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line

    def _ended(self) -> Exception:
        status = self._process.wait()
        if status == -24 or time.monotonic() >= self._deadline:  # SIGXCPU
            return XACRO_TIME.error()
        if status < 0:  # Python's own memory errors can end in a signal
            return XACRO_MEMORY.error()
        return XacroFault("the process of xacro has ended: is xacro installed?")
