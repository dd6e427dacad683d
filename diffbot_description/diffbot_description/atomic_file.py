"""Writing a file so that it is either the old one or the whole new one."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_atomically(path: Path, content: str | Callable[[Path], Any]) -> Path:
    """Write a file beside its place, and put it there once it is whole; returns the path.

    Args:
        path: of the file; its folder is made.
        content: its text, or what writes it to a path that it is given; that has the same suffix.

    Raises:
        OSError: it cannot be written; the message names the file, why, and what to do. Nothing is
            left of it, and an old file stays as it was.
    """
    partial = path.with_name(f".{path.stem}.{os.getpid()}{path.suffix}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if callable(content):
            content(partial)
        else:
            partial.write_text(content, encoding="utf-8")
        os.replace(partial, path)
    except OSError as error:
        raise OSError(
            f"{path} was not written: {error.strerror or error}; free space there, or give another "
            "folder"
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return path
