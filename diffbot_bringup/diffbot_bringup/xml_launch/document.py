"""Reads a launch file into elements that remember their line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.templates import Template


class LaunchError(UsageError):
    """A launch file cannot be used: ``file:line: message`` where the place is known."""

    def __init__(self, message: str, file: Path | None = None, line: int | None = None) -> None:
        super().__init__(message if file is None else f"{file}:{line}: {message}")


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
