"""Reads a launch file into elements that remember their line."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

# ---
# The one error of the launch runner: what is wrong, in which file, on which line.


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


# ---
# Parses text with substitutions, ``$(name arguments)``, as ROS 2 launch does.
#
# A template is plain text mixed with substitutions. Arguments of a substitution are separated by
# exactly one space; an argument is bare, or a template in single or double quotes. Inside quotes
# a nested substitution cannot hold quotes again. A backslash takes the meaning away from the next
# character (``\$(`` is plain text) and disappears.


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


DEEPEST = 50  # elements inside one another; who walks them calls itself for each


@dataclass
class Element:
    """One XML element: tag, raw attributes, children, and where it stands."""

    tag: str
    attributes: dict[str, str]
    file: Path
    line: int
    children: list[Element] = field(default_factory=list)
    templates: dict[str, Template] = field(default_factory=dict)  # filled by the schema check

    def error(self, message: str) -> LaunchError:
        """Make an error that names this element's file and line."""
        return LaunchError(message, self.file, self.line)

    def all(self, tag: str) -> list[Element]:
        """Return the children with this tag, in file order."""
        return [child for child in self.children if child.tag == tag]


@dataclass(frozen=True)
class Document:
    """A launch file: its root element and its comments (text, in file order)."""

    root: Element
    comments: tuple[str, ...]


def read(path: Path) -> Document:
    """Parse the XML of a launch file.

    Raises LaunchError when the file cannot be read or is not well-formed XML.
    """
    if path.exists() and not path.is_file():  # a device may have no end
        raise LaunchError(f"cannot read the launch file {path}: it is no regular file")
    try:
        data = path.read_bytes()
    except OSError as error:
        raise LaunchError(f"cannot read the launch file {path}: {error.strerror}") from None
    reader = _Reader(path)
    try:
        reader.parser.Parse(data, True)
    except expat.ExpatError as error:
        text = expat.ErrorString(error.code)
        raise LaunchError(f"not well-formed XML: {text}", path, error.lineno) from None
    return Document(reader.root, tuple(reader.comments))


class _Reader:
    """Collects expat's events; expat is used directly because it knows the line numbers."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.comments: list[str] = []
        self.stack: list[Element] = []
        self.root: Element
        self.parser = expat.ParserCreate()
        self.parser.StartElementHandler = self._start
        self.parser.EndElementHandler = lambda _tag: self.stack.pop()
        self.parser.CommentHandler = self.comments.append

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        element = Element(tag, attributes, self.path, self.parser.CurrentLineNumber)
        if len(self.stack) >= DEEPEST:
            raise element.error(f"<{tag}>: elements are nested deeper than {DEEPEST}")
        if self.stack:
            self.stack[-1].children.append(element)
        else:
            self.root = element
        self.stack.append(element)
