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


# ---
# Reading of a file that somebody names: it ends, and it does not fill the memory.


def read_regular(path: Path, largest: int) -> str:
    """Return the text (UTF-8) of a regular file of at most `largest` characters.

    Nothing else is opened: a device may have no end, and a pipe may have no writer.

    Raises:
        ValueError: why it cannot be read; who calls names the file.
    """
    try:
        if path.is_dir():
            raise ValueError("is a folder; name a file in it")
        # A shell's <(...) is no file any more for a process that a launch starts.
        if path.exists() and not path.is_file() or path.parent == Path("/dev/fd"):
            raise ValueError(
                "is no regular file but a device or a pipe, such as <(...); write it to a file"
            )
        with path.open(encoding="utf-8") as file:
            text = file.read(largest + 1)
    except OSError as error:
        raise ValueError(error.strerror) from error
    except UnicodeDecodeError as error:
        raise ValueError("is no text file (UTF-8)") from error
    if len(text) > largest:
        raise ValueError(f"holds more characters than the limit of {largest}; shorten it")
    return text
