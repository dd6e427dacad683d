"""Reads a launch file into elements that remember their line."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

from diffbot_bringup.usage import UsageError, check_one_of
from diffbot_bringup.xml_launch.substitutions import Share
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


# Finds the launch files of the suite by name, and tells what each is for.

SUFFIX = ".launch.xml"
NO_FILES = "no launch files found; is the workspace sourced?"
# Where a bare NAME is looked up, in this order.
PACKAGES = (
    "diffbot_bringup",
    "diffbot_description",
    "diffbot_sim",
    "diffbot_ident",
    "diffbot_controllers",
    "arc_odometry",
    "pose2d_trajectories",
)


def launch_files(share: Share) -> dict[str, Path]:
    """Return name (without ``.launch.xml``) -> path of the suite's launch files."""
    files: dict[str, Path] = {}
    for package in PACKAGES:
        for path in _of_package(package, share):
            files.setdefault(path.name.removesuffix(SUFFIX), path)
    return dict(sorted(files.items()))


def find(name: str, words: list[str], share: Share) -> tuple[Path, list[str]]:
    """Return the absolute path of a launch file, and the words that are left.

    Args:
        name: of a launch file of the suite (``ident`` or ``ident.launch.xml``), a path, or a
            package whose launch file is the first word, as `ros2 launch` takes it.
        words: that follow it on the command line.
        share: finds the packages.

    Raises:
        UsageError: there is none; it lists the known names.
    """
    if words and ":=" not in words[0]:
        files = {path.name: path for path in _of_package(name, share)}
        if words[0] in files:
            return files[words[0]].absolute(), words[1:]
    path = Path(name).absolute()
    if "/" in name:
        if path.is_file():
            return path, words
        raise UsageError(f"launch file {path} does not exist")
    files = launch_files(share)
    if (short := name.removesuffix(SUFFIX)) in files:
        return files[short].absolute(), words
    if not path.is_file():
        if not files:
            raise UsageError(NO_FILES)
        check_one_of("launch file", name, files, "the launch files are")
    return path, words


def headline(path: Path) -> str:
    """Return the first line of the first comment that is not a copyright notice."""
    for comment in read(path).comments:
        line = next((line.strip() for line in comment.splitlines() if line.strip()), "")
        if line and not line.startswith(("Copyright", "SPDX")):
            return line
    return ""


def _of_package(package: str, share: Share) -> list[Path]:
    """Return the launch files of one package; none where it is not installed."""
    try:
        return sorted(Path(share(package), "launch").glob(f"*{SUFFIX}"))
    except ValueError:
        return []
