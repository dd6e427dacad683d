# SPDX-License-Identifier: Apache-2.0
"""Errors of the machine, not of the program: no space, no memory, a file that cannot be opened."""

from __future__ import annotations

# What the loader of shared libraries says when it gets no memory.
_NO_MEMORY = ("failed to map segment", "cannot allocate memory", "cannot create shared object")
_NO_THREAD = "can't start new thread"


def refusal_of_machine(error: BaseException) -> str | None:
    """Return a sentence about an error of the machine; None for any other error."""
    if isinstance(error, OSError):
        where = f"{error.filename}: " if error.filename else ""
        return f"{where}{error.strerror or error}"
    text = str(error).lower()
    library = isinstance(error, ImportError) and any(words in text for words in _NO_MEMORY)
    if isinstance(error, MemoryError) or library:
        return "not enough memory; end other programs, or raise the limit (ulimit -v)"
    if isinstance(error, RuntimeError) and _NO_THREAD in text:
        return "no further thread can start; end other programs, or raise the limit (ulimit -u, -v)"
    return None
