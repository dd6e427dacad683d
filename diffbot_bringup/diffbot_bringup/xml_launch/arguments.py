"""The arguments that a launch file declares, and those given on the command line."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ament_index_python.packages import PackageNotFoundError, get_package_share_directory

from diffbot_bringup.xml_launch import schema, substitutions
from diffbot_bringup.xml_launch.document import Element, LaunchError, read, suggestion, unescape
from diffbot_bringup.xml_launch.substitutions import Scope


@dataclass(frozen=True)
class Argument:
    """One ``<arg>``. `default` is the text in the file; `conditional` means behind an if/unless."""

    name: str
    default: str | None
    description: str | None
    choices: tuple[str, ...]
    conditional: bool
    element: Element

    @property
    def needed(self) -> bool:
        """True when a launch cannot do without a value from outside."""
        return self.default is None and not self.conditional

    @classmethod
    def read(cls, element: Element, conditional: bool) -> Argument:
        """Read an ``<arg>`` element of a checked file."""
        description = element.attributes.get("description")
        return cls(
            name=unescape(element.attributes["name"]),
            default=element.attributes.get("default"),
            description=None if description is None else unescape(description),
            choices=tuple(unescape(c.attributes["value"]) for c in element.all("choice")),
            conditional=conditional or _has_condition(element),
            element=element,
        )


def _has_condition(element: Element) -> bool:
    return "if" in element.attributes or "unless" in element.attributes


def declared(root: Element, follow: bool = False) -> list[Argument]:
    """Return the arguments of a file in order; the first declaration of a name counts.

    With `follow`, those of included files too, where their path is known before the launch.
    """
    arguments: dict[str, Argument] = {}
    for argument in _walk(root, False, follow, (root.file,)):
        arguments.setdefault(argument.name, argument)
    return list(arguments.values())


def _walk(
    parent: Element, conditional: bool, follow: bool, files: tuple[Path, ...]
) -> Iterator[Argument]:
    for element in parent.children:
        inner = conditional or _has_condition(element)
        if element.tag == "arg":
            yield Argument.read(element, conditional)
        elif element.tag == "group":
            yield from _walk(element, inner, follow, files)
        elif element.tag == "include" and follow:
            path = _included(element)
            if path is not None and path not in files:
                root = read(path).root
                schema.check(root)
                yield from _walk(root, inner, follow, (*files, path))


def _included(element: Element) -> Path | None:
    """Return the path of an include, or None when only the launch itself can tell."""
    scope = Scope(os.environ)
    scope.announce(element.file.parent)
    try:
        with scope.file(element.file.parent):
            path = Path(substitutions.perform(element.templates["file"], scope)).absolute()
    except ValueError:
        return None
    return path if path.is_file() and path.name.endswith(".xml") else None


def parse(words: Iterable[str]) -> dict[str, str]:
    """Read ``name:=value`` words; the last value of a name wins. Raises LaunchError."""
    given: dict[str, str] = {}
    for word in words:
        name, separator, value = word.partition(":=")
        if not (name and separator and value):
            empty = ": it has no value" if name and separator else ""
            raise LaunchError(f"argument {word!r} is not of the form NAME:=VALUE{empty}")
        given[name] = value
    return given


def check_known(given: Iterable[str], known: Iterable[str]) -> None:
    """Raise LaunchError when an argument is given that no launch file declares."""
    names = sorted(known)
    for name in given:
        if name not in names:
            raise LaunchError(
                f"unknown argument {name!r}{suggestion(name, names)}; "
                f"the arguments are: {', '.join(names) or 'none'}"
            )


def describe(arguments: list[Argument]) -> str:
    """Return the text of ``--show-args``, laid out like ``ros2 launch --show-args``."""
    lines = ["Arguments (pass arguments as '<name>:=<value>'):"]
    for argument in arguments:
        lines += ["", f"    '{argument.name}':{'*' if argument.conditional else ''}"]
        lines.append(f"        {_description(argument)}")
        if argument.default is not None:
            lines.append(f"        (default: '{argument.default}')")
    if not arguments:
        lines += ["", "  No arguments."]
    if any(argument.conditional for argument in arguments):
        lines += ["", "* argument(s) which are only used if specific conditions occur"]
    return "\n".join(lines)


def _description(argument: Argument) -> str:
    choices = list(argument.choices)
    if argument.description is None:
        return f"One of: {choices}" if choices else "no description given"
    if not choices:
        return argument.description
    return f"{argument.description.removesuffix('.')}. Valid choices are: {choices}"


# ---
# Finds launch files of the suite by name, and lists them.

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
SUFFIX = ".launch.xml"


def all_files() -> dict[str, Path]:
    """Return name (without ``.launch.xml``) -> path of the suite's launch files."""
    files: dict[str, Path] = {}
    for package in PACKAGES:
        for path in package_files(package):
            files.setdefault(path.name.removesuffix(SUFFIX), path)
    return files


def package_files(package: str) -> list[Path]:
    """Return the launch files of one package; nothing when the package is not installed."""
    try:
        share = get_package_share_directory(package)
    except (PackageNotFoundError, LookupError, OSError, ValueError):
        return []
    return sorted(Path(share, "launch").glob(f"*{SUFFIX}"))


def find(name: str) -> Path:
    """Return the absolute path of a launch file.

    `name` is a launch name of the suite (``ident`` or ``ident.launch.xml``) or a path.
    Raises LaunchError that lists the known names.
    """
    path = Path(name).absolute()
    if "/" in name:
        if path.is_file():
            return path
        raise LaunchError(f"launch file {path} does not exist")
    files = all_files()
    short = name.removesuffix(SUFFIX)
    if short in files:
        return files[short].absolute()
    if path.is_file():
        return path
    raise LaunchError(
        f"unknown launch file {name!r}{suggestion(short, files)}; "
        f"the launch files are: {', '.join(sorted(files)) or 'none (is the workspace sourced?)'}"
    )


def headline(path: Path) -> str:
    """Return the first line of the first comment that is not a copyright notice."""
    for comment in read(path).comments:
        line = next((line.strip() for line in comment.splitlines() if line.strip()), "")
        if line and not line.startswith(("Copyright", "SPDX")):
            return line
    return ""
