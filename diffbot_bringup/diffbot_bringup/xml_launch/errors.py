"""The one error of the launch runner: what is wrong, in which file, on which line."""

from __future__ import annotations

from pathlib import Path


class LaunchError(ValueError):
    """A launch file or its arguments cannot be used.

    `str()` gives ``file:line: message`` when the place is known, else only the message.
    """

    def __init__(self, message: str, file: Path | None = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}:{line}: "
        super().__init__(place + message)
        self.message = message
        self.file = file
        self.line = line


def suggestion(word: str, known: object) -> str:
    """Return ``; did you mean 'x'?`` when a known word is close to `word`, else nothing."""
    from difflib import get_close_matches

    close = get_close_matches(word, [str(entry) for entry in known], n=1)  # type: ignore[union-attr]
    return f"; did you mean {close[0]!r}?" if close else ""
