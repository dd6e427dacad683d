# SPDX-License-Identifier: Apache-2.0
"""Text on its way to the terminal: of files, where escape sequences could do harm, and errors."""

from __future__ import annotations

import sys
import unicodedata

LONGEST = 1500  # characters of a text; of a longer one beginning and end are shown
# Categories of control and format characters, surrogates, private characters, line separators.
_HIDDEN = ("Cc", "Cf", "Cs", "Co", "Zl", "Zp")


def printable(text: object) -> str:
    r"""Return a text in one line; characters that a terminal does not simply show become escapes.

    Of a text longer than LONGEST the middle is left out.
    """
    whole = str(text)
    if len(whole) > LONGEST:
        whole = f"{whole[: LONGEST // 2]} … {whole[len(whole) - LONGEST // 2 :]}"
    return _visible(whole)


def printable_lines(text: object) -> str:
    """Return a text of several lines like `printable`."""
    return "\n".join(map(printable, str(text).split("\n")))


def visible_lines(text: object) -> str:
    """Return a text of several lines like `printable_lines`, but whole."""
    return "\n".join(map(_visible, str(text).split("\n")))


def complain(program: str, error: object) -> None:
    """Print an error to standard error in one line."""
    print(f"{program}: {printable(error)}", file=sys.stderr)


def _visible(line: str) -> str:
    if line.isascii() and line.isprintable():
        return line
    return "".join(map(_shown, line))


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")


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
