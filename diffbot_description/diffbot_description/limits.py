# SPDX-License-Identifier: Apache-2.0
"""Limits of everything that reads files of others: size, depth, memory, time (docs/security.md)."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree
from xml.parsers import expat


class LimitError(ValueError):
    """A file exceeds a limit."""


@dataclass(frozen=True)
class Limit:
    """Largest value of what a reader limits, its unit, and what to change in a larger file.

    The caller of `check` adds the file's name to its LimitError.
    """

    name: str
    value: int
    unit: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.value} {self.unit}".strip()

    def error(self, result: object = None) -> LimitError:
        """Return the error for a value; without one, it is only known to be larger."""
        exceeded = "exceeds" if result is None else f"is {result}, more than"
        return LimitError(f"{self.name} {exceeded} the limit of {self}; {self.remedy}")

    def check(self, result: int) -> None:
        if result > self.value:
            raise self.error(result)


# Texts: robots, parameters, faults, URDF and xacro files.
TEXT = Limit("the size of the text", 1_000_000, "characters", "shorten it")
JSON = Limit("the size of the JSON text", 10_000_000, "characters", "cut it to what is needed")
DEPTH = Limit("the depth of nested values", 50, "levels", "remove brackets or elements")
VALUES = Limit("the number of values", 50_000, "values", "shorten it")
ELEMENTS = Limit("the number of XML elements", 100_000, "elements", "describe the robot by fewer")
LINKS = Limit("the number of links", 2_000, "links", "remove those without mass")
MESH = Limit("the size of a mesh", 50_000_000, "bytes", "simplify the mesh")
VERTICES = Limit("the number of vertices", 20_000_000, "vertices", "simplify the mesh")
PAGE = Limit("the size of the page", 20_000_000, "characters", "give a shorter run")

# Expansion of xacro files, in a process of its own.
XACRO_TIME = Limit("the time to expand xacro", 8, "s", "expand it yourself: xacro FILE > r.urdf")
XACRO_MEMORY = Limit(
    "the memory to expand xacro", 400_000_000, "bytes", "expand it yourself: xacro FILE > r.urdf"
)
EXPRESSION = Limit("the length of an expression", 2_000, "characters", "shorten it")
EXPANDED = Limit("the size of the expanded text", 4_000_000, "characters", "shorten it")

# Recordings.
LOG = Limit("the size of the log", 50_000_000, "bytes", "cut it to the tests")
RECORDS = Limit("the number of records", 3_000_000, "records", "cut it to the tests")
RATIO = Limit(
    "the ratio of decompressed to stored bytes", 100, "", "decompress the recording yourself"
)
FIRST_BYTES = Limit(
    "the decompressed size that the ratio does not limit", 32_000_000, "bytes", "decompress it"
)
TEMPORARY = Limit(
    "the decompressed recording", 50, "% of the free space of the temporary folder",
    "set TMPDIR to a folder with more space, or decompress it yourself",
)  # fmt: skip
CHUNK = Limit(
    "the size of a chunk", 64_000_000, "bytes", "write it with smaller chunks (mcap compress)"
)
PENDING = Limit(
    "the size of messages in overlapping chunks", 100_000_000, "bytes", "sort it (mcap sort)"
)
INDEX = Limit("the size of the index", 16_000_000, "bytes", "split the recording")
MESSAGE = Limit("the size of a message", 1_000_000, "bytes", "record the topic with less content")
DEFINITION_TEXT = Limit(
    "the size of a type's definition", 200_000, "characters", "record the topic with another type"
)
DEFINITION = Limit(
    "the size of a type's definition without comments", 50_000, "characters",
    "record the topic with another type",
)  # fmt: skip
FIELDS = Limit("the number of a type's fields", 2_000, "fields", "record it with another type")
PAGES = Limit(
    "the content of its tables", 100, "% of the size of the file", "its pages refer to each other"
)
TOPICS = Limit("the number of topics", 2_000, "topics", "record the needed topics only")
SEARCHES = Limit(
    "the number of searches through the recording", 30, "searches",
    "name its topics by options, such as --joint-states or --columns",
)  # fmt: skip
JOINTS = Limit("the number of joint names", 500, "names", "record the robot's own joints only")
JOINT_NAME = Limit("the length of a joint's name", 200, "characters", "give it a shorter name")
LINE = Limit("the length of a line", 1_000_000, "characters", "give a table with shorter lines")
COLUMNS = Limit("the number of columns", 1_000, "columns", "remove those that are not needed")
COMMENTS = Limit("the number of comment lines", 100_000, "lines", "remove them")
UNREADABLE = Limit(
    "the number of rows without a time or with another number of cells", 500_000, "rows",
    "remove them, or correct the table's header",
)  # fmt: skip

ALL = tuple(limit for limit in list(globals().values()) if isinstance(limit, Limit))
"""All limits; docs/security.md has a table of them."""


def parse_xml(text: str | bytes) -> ElementTree.Element:
    """Return the root element of an XML text within the limits.

    Raises:
        ValueError: It has too many or too deep elements, or entities, which can expand to any size.
        xml.etree.ElementTree.ParseError: It is not well-formed.
    """
    _Scan().run(text)
    return ElementTree.fromstring(text)


class _Scan:
    """Reads XML without storing it; raises the errors of `parse_xml` except ParseError."""

    def __init__(self) -> None:
        self._depth = self._count = 0

    def run(self, text: str | bytes) -> None:
        parser = expat.ParserCreate()
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = self._entity
        try:
            parser.Parse(text, True)
        except expat.ExpatError:
            return  # ElementTree says what is wrong

    def _start(self, _tag: str, _attributes: dict[str, str]) -> None:
        self._depth += 1
        self._count += 1
        DEPTH.check(self._depth)
        ELEMENTS.check(self._count)

    def _end(self, _tag: str) -> None:
        self._depth -= 1

    def _entity(self, name: str, *_rest: object) -> None:
        raise ValueError(f"defines the entity &{name};, which is not read. Write its text instead.")
