# SPDX-License-Identifier: Apache-2.0
"""Compiles a module anew whose compiled file was cut off, as by a full disk.

Python before 3.12.9 fails on such files. Every Python of the environment runs this text at its
start, from a .pth file: it imports only what is part of the interpreter, since any other module,
also one of the standard library, may be damaged.
"""

import os
from _frozen_importlib_external import SourceFileLoader, cache_from_source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

_read = SourceFileLoader.get_code


def _get_code(self: SourceFileLoader, name: str) -> "CodeType | None":
    try:
        return _read(self, name)
    except (EOFError, ValueError, TypeError):  # what `marshal` raises
        path = self.get_filename(name)
        try:  # noqa: SIM105  (contextlib takes time at each start)
            os.unlink(cache_from_source(path))
        except (OSError, NotImplementedError):
            pass
        code: CodeType = self.source_to_code(self.get_data(path), path)
        return code


SourceFileLoader.get_code = _get_code  # type: ignore[method-assign,assignment]
