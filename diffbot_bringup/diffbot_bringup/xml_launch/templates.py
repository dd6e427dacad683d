r"""Parses text with substitutions, ``$(name arguments)``, as ROS 2 launch does.

A template is plain text mixed with substitutions. Arguments of a substitution are separated by
exactly one space; an argument is bare, or a template in single or double quotes. Inside quotes
a nested substitution cannot hold quotes again. A backslash takes the meaning away from the next
character (``\$(`` is plain text) and disappears.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass


@dataclass(frozen=True)
class Text:
    """Plain text, escapes already taken out."""

    value: str


@dataclass(frozen=True)
class Call:
    """One substitution: its name and its arguments."""

    name: str
    arguments: tuple[Template, ...]


Template = tuple["Text | Call", ...]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]*")
# A dollar is plain when no parenthesis follows or a backslash stands before it.
_DOLLAR = r"\$(?!\()|(?<=\\)\$"
_PARENTHESIS = r"(?<=\\)[()]"
# Text of a template and text of a bare argument, by the quotes around it.
_STRING = {
    "": re.compile(rf"(?:[^$]|{_DOLLAR})+"),
    "'": re.compile(rf"(?:\\'|[^'\\$]|{_DOLLAR}|\\)+"),
    '"': re.compile(rf'(?:\\"|[^"\\$]|{_DOLLAR}|\\)+'),
}
_WORD = {
    "": re.compile(rf"""(?:\\["']|[^ '\\"$()]|{_PARENTHESIS}|{_DOLLAR}|\\)+"""),
    "'": re.compile(rf"(?:\\'|[^ '\\$()]|{_PARENTHESIS}|{_DOLLAR}|\\)+"),
    '"': re.compile(rf'(?:\\"|[^ "\\$()]|{_PARENTHESIS}|{_DOLLAR}|\\)+'),
}


def unescape(text: str) -> str:
    """Remove each backslash and keep the character after it."""
    return re.sub(r"\\(.)", r"\1", text)


MOST_CALLS = 100  # substitutions in one text; they may be inside one another


def parse(text: str) -> Template:
    """Parse a whole attribute value. Raises ValueError with the column of the mistake."""
    if not text:
        return (Text(""),)
    if text.count("$(") > MOST_CALLS:
        raise ValueError(f"{text.count('$(')} substitutions in one text; at most {MOST_CALLS}")
    parser = _Parser(text)
    template = parser.template("")
    if parser.position < len(text):
        raise parser.mistake("text or $(...)")
    return template


class _Parser:
    """Recursive descent over one attribute value; `quote` is the quote we are inside of."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def mistake(self, expected: str) -> ValueError:
        rest = self.text[self.position : self.position + 20]
        found = f"found {rest!r}" if rest else "the text ends"
        where = f"column {self.position + 1} of {self.text!r}"
        return ValueError(f"bad substitution: expected {expected} but {found} at {where}")

    def template(self, quote: str) -> Template:
        """Text and substitutions up to the closing quote (or to the end)."""
        parts: list[Text | Call] = []
        while (part := self._part(_STRING[quote], quote)) is not None:
            parts.append(part)
        return tuple(parts)

    def _part(self, plain: re.Pattern[str], quote: str) -> Text | Call | None:
        match = plain.match(self.text, self.position)
        if match:
            self.position = match.end()
            return Text(unescape(match.group()))
        if self.text.startswith("$(", self.position):
            return self._call(quote)
        return None

    def _call(self, quote: str) -> Call:
        self.position += 2
        name = _NAME.match(self.text, self.position)
        if not name:
            raise self.mistake("the name of a substitution")
        self.position = name.end()
        arguments: list[Template] = []
        while self._peek() == " ":
            self.position += 1
            arguments.append(self._argument(quote))
        if self._peek() != ")":
            raise self.mistake("')' or one space and an argument")
        self.position += 1
        return Call(name.group(), tuple(arguments))

    def _argument(self, quote: str) -> Template:
        opening = self._peek()
        if not quote and opening in ("'", '"'):
            self.position += 1
            template = self.template(opening)
            if self._peek() != opening:
                raise self.mistake(f"the closing {opening}")
            self.position += 1
            return template
        parts: list[Text | Call] = []
        while (part := self._part(_WORD[quote], quote)) is not None:
            parts.append(part)
        if not parts:
            raise self.mistake("an argument")
        return tuple(parts)

    def _peek(self) -> str:
        return self.text[self.position : self.position + 1]


def split(template: Template) -> list[Template]:
    """Split a template at the spaces of its plain text, as launch does.

    Each piece of plain text is split by the shell's quoting rules on its own; what a substitution
    gives is never split. Quotes therefore cannot reach around a substitution. Blank text between
    two words gives an empty word where nothing stands before it: ``args=""`` is one empty word.
    Raises ValueError for unbalanced quotes.
    """
    words: list[Template] = []
    word: list[Text | Call] = []

    def finish() -> None:
        words.append(tuple(word))
        word.clear()

    for part in template:
        if not isinstance(part, Text):
            word.append(part)
            continue
        try:
            tokens = shlex.split(part.value)
        except ValueError as error:
            raise ValueError(
                f"{error} in {part.value!r} (quotes cannot hold a substitution here)"
            ) from None
        if not tokens:
            finish()
            continue
        if part.value[0].isspace() and word:
            finish()
        for token in tokens[:-1]:
            word.append(Text(token))
            finish()
        word.append(Text(tokens[-1]))
        if part.value[-1].isspace():
            finish()
    if word:
        finish()
    return words
