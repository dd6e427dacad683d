"""Reading of a file that somebody names: it ends, and it does not fill the memory."""

from __future__ import annotations

from pathlib import Path


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
