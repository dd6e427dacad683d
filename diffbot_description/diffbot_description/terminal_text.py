# SPDX-License-Identifier: Apache-2.0
"""Text of files on its way to the terminal, where escape sequences could do harm."""

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
    if whole.isascii() and whole.isprintable():
        return whole
    return "".join(_shown(character) for character in whole)


def printable_lines(text: object) -> str:
    """Return a text of several lines like `printable`."""
    return "\n".join(map(printable, str(text).split("\n")))


def complain(program: str, error: object) -> None:
    """Print an error to standard error in one line."""
    print(f"{program}: {printable(error)}", file=sys.stderr)


def _shown(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    return character.encode("unicode_escape", "surrogatepass").decode("ascii")
