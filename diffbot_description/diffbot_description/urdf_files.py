# SPDX-License-Identifier: Apache-2.0
"""URDF and xacro files: expansion with arguments, and the packages to which they refer.

A .urdf is data and never evaluated. A .xacro is a program: it runs in a process with limits.

A package of `$(find ...)` or `package://` is that which contains the file, if it has this name;
else it is searched where ROS has it (AMENT_PREFIX_PATH), then near the file and on
ROS_PACKAGE_PATH. The suite's own packages come last.
"""

from __future__ import annotations

import functools
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

from diffbot_description.files import closest, read_regular, read_text
from diffbot_description.limits import LimitError, parse_xml
from diffbot_description.xacro_process import XacroFault, XacroProcess

XACRO = ".xacro"
URDF_SUFFIXES = (".urdf", XACRO)
_LEVELS_ABOVE = 2  # folders above the package's folder that are searched for other packages
_DEEPEST = 5  # maximum depth of the search for packages
_MOST_FOLDERS = 4000  # maximum number of folders searched
_SKIPPED = ("build", "install", "log", "node_modules", "__pycache__")  # folders not searched
_MOST_MISSING = 60  # maximum number of missing files and packages for which xacro is run again
_PACKAGE = re.compile(r"[\w-]+")
SUITE = "diffbot maintainers"
_NO_PACKAGE = re.compile(r"package '?([\w-]+)'? not found")
_XACRO_ELEMENT = re.compile(r"<\s*xacro:")
_ARGUMENT = re.compile(r"([A-Za-z_][\w.-]*):=(.*)", re.DOTALL)


class Packages:
    """Locations of the packages to which a file refers; ``missing`` are those not found."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self.missing: list[str] = []

    def find(self, name: str) -> Path | None:
        """Return the folder of a package; None if it is not found."""
        holder, installed = self._holder(), _installed(name)
        if holder is not None and _package_name(holder) == name:
            return holder
        if installed and not _is_suites(installed[0]):
            return installed[0]
        return self.around.get(name) or next(iter(installed), None)

    @functools.cached_property
    def before(self) -> dict[str, Path]:
        """Packages near the file that precede installed ones of the same name, by name.

        They are the package that contains the file, and those that only the suite has installed.
        """
        holder = self._holder()
        own = {} if holder is None else {_package_name(holder): holder}
        for name, folder in self.around.items():
            installed = _installed(name)
            if installed and _is_suites(installed[0]) and not _is_suites(folder):
                own.setdefault(name, folder)
        return own

    def search_path(self, before: Path, after: Path) -> list[str]:
        """Return the prefixes of AMENT_PREFIX_PATH, the suite's last, between two others."""
        sourced = _sourced()
        suites = [prefix for prefix in sourced if _is_suites_prefix(prefix)]
        others = [prefix for prefix in sourced if prefix not in suites]
        return [str(prefix) for prefix in (before, *others, *suites, after)]

    @functools.cached_property
    def around(self) -> dict[str, Path]:
        """Packages near the file, and on ROS_PACKAGE_PATH, by name."""
        around: dict[str, Path] = {}
        for top in self._tops():
            for folder in _package_folders(top):
                around.setdefault(_package_name(folder), folder)
        return around

    def resolve(self, uri: str) -> Path | None:
        """Return the file to which a URDF's ``filename`` refers; None if it is not found."""
        if uri.startswith("package://"):
            name, _, rest = uri.removeprefix("package://").partition("/")
            folder = self.find(name)
            path = folder / unquote(rest) if folder else None
        elif "://" in uri and not uri.startswith("file://"):
            path = None  # only simulators resolve model:// and http://
        else:
            path = self._file.parent / unquote(uri.removeprefix("file://"))
        return path if path is not None and path.is_file() else None

    def _holder(self) -> Path | None:
        return next((p for p in self._file.parents if (p / "package.xml").is_file()), None)

    def _tops(self) -> Iterator[Path]:
        holder = self._holder()
        if holder is not None:
            # Of two packages with the same name the nearer one is used.
            yield from [holder, *list(holder.parents)[:_LEVELS_ABOVE]]
        for entry in os.environ.get("ROS_PACKAGE_PATH", "").split(os.pathsep):
            if entry:
                yield Path(entry)


def _sourced() -> list[Path]:
    entries = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    return [Path(entry) for entry in entries if entry]


def _installed(name: str) -> list[Path]:
    folders = [
        prefix / "share" / name
        for prefix in _sourced()
        if (prefix / _INDEX / name).exists() and (prefix / "share" / name).is_dir()
    ]
    return sorted(folders, key=_is_suites)


_INDEX = Path("share", "ament_index", "resource_index", "packages")


def _is_suites(folder: Path) -> bool:
    try:
        return parse_xml(read_regular(folder / "package.xml")).findtext("maintainer") == SUITE
    except (ElementTree.ParseError, ValueError):
        return False


@functools.lru_cache(maxsize=256)
def _is_suites_prefix(prefix: Path) -> bool:
    index = prefix / _INDEX
    names = sorted(entry.name for entry in index.iterdir()) if index.is_dir() else []
    return any(_is_suites(prefix / "share" / name) for name in names)


def _package_folders(top: Path) -> Iterator[Path]:
    for count, (folder, below, names) in enumerate(os.walk(top)):
        depth = len(Path(folder).relative_to(top).parts)
        if "package.xml" in names:
            yield Path(folder)
            below.clear()  # a package does not contain other packages
        if depth >= _DEEPEST or count > _MOST_FOLDERS:
            below.clear()
        below[:] = sorted(b for b in below if not b.startswith(".") and b not in _SKIPPED)


def _package_name(folder: Path) -> str:
    try:
        name = parse_xml(read_regular(folder / "package.xml")).findtext("name") or ""
    except (ElementTree.ParseError, ValueError):
        name = ""
    name = name.strip()
    return name if _PACKAGE.fullmatch(name) else folder.name


def xacro_arguments(words: Sequence[str]) -> dict[str, str]:
    """Return the mapping of words such as ``name:=value``; ValueError names a word that is none."""
    arguments = {}
    for word in words:
        match = _ARGUMENT.fullmatch(word)
        if match is None:
            raise ValueError(f"'{word}' is no xacro argument. Write NAME:=VALUE.")
        arguments[match[1]] = match[2]
    return arguments


def read_urdf(
    path: Path, arguments: Mapping[str, str] | None = None, packages: Packages | None = None
) -> str:
    """Return the URDF text of a .urdf or .xacro file; only the latter is evaluated.

    Raises:
        ValueError: States the file, what xacro did not find, and what to write.
    """
    if not path.exists():
        raise ValueError(f"file {path} does not exist. Check the path.")
    text = read_text(path)
    if path.suffix != XACRO:
        if _XACRO_ELEMENT.search(text):
            raise ValueError(
                f"{path}: holds elements of xacro, but only a file that ends in .xacro is "
                "evaluated, because a xacro is a program, like a launch file. If you trust it, "
                f"rename it to {path.stem}.urdf.xacro."
            )
        if arguments:
            raise ValueError(
                f"{path}: is no xacro, but the arguments {', '.join(arguments)} were given. "
                "Leave them out."
            )
        return text
    declared = re.findall(r"""<xacro:arg\s[^<>]*?name=["']([^"']+)["']""", text)
    _check_declared(path, arguments or {}, declared)
    return _expanded(path, dict(arguments or {}), packages or Packages(path))


def with_absolute_meshes(urdf_text: str, packages: Packages) -> str:
    """Return a URDF with absolute paths of its meshes, so that it can be stored elsewhere."""
    root = parse_xml(urdf_text)
    for mesh in root.iter("mesh"):
        file = packages.resolve(mesh.get("filename", ""))
        if file is not None:
            mesh.set("filename", f"file://{file.resolve()}")
    return ElementTree.tostring(root, encoding="unicode") + "\n"


def _check_declared(path: Path, given: Mapping[str, str], declared: Sequence[str]) -> None:
    """Reject arguments that look misspelled; an included file may read other undeclared ones."""
    for name in given:
        near = closest(name, declared)
        if name not in declared and near is not None and near not in given:
            raise ValueError(f"{path}: has no argument '{name}'. Did you mean {near}?")


def _expanded(path: Path, arguments: dict[str, str], packages: Packages) -> str:
    with tempfile.TemporaryDirectory(prefix="diffbot-") as folder:
        supply = _Supply(Path(folder), packages)
        with XacroProcess(packages.search_path(*supply.prefixes)) as process:
            for _ in range(_MOST_MISSING):
                try:
                    text = process.expand(path, arguments)
                except XacroFault as fault:
                    if not supply.mend(str(fault)):
                        raise ValueError(_explained(path, str(fault), packages)) from fault
                    continue
                except LimitError as error:
                    raise ValueError(f"{path}: {error}.") from error
                for name, real in (packages.around | packages.before).items():
                    for prefix in supply.prefixes:
                        text = text.replace(f"{prefix}/share/{name}/", f"{real}/")
                return text
    raise ValueError(f"{path}: xacro lacks more than {_MOST_MISSING} files. Install its packages.")


class _Supply:
    """Two temporary installations of packages, before and after the sourced ones.

    Packages that are not found become empty: files are often included for unused accessories.
    """

    def __init__(self, folder: Path, packages: Packages) -> None:
        self._packages = packages
        self.prefixes = folder / "before", folder / "after"
        before, after = self.prefixes
        for prefix, result in ((before, packages.before), (after, packages.around)):
            (prefix / _INDEX).mkdir(parents=True)
            for name, real in result.items():
                (prefix / _INDEX / name).touch()
                (prefix / "share" / name).symlink_to(real)

    def mend(self, fault: str) -> bool:
        if missing := _NO_PACKAGE.search(fault):
            name = missing[1]
            if any((prefix / _INDEX / name).exists() for prefix in self.prefixes):
                return False
            (self.prefixes[1] / _INDEX / name).touch()
            (self.prefixes[1] / "share" / name).mkdir()
            self._packages.missing.append(name)
            return True
        for prefix in self.prefixes:
            shares = re.escape(f"{prefix}/share/")
            if missing := re.search(shares + r"([\w-]+)/([^'\"\s]+)", fault):
                try:
                    return self._mend_file(prefix / "share" / missing[1], Path(missing[2]))
                except (OSError, ValueError):  # a path that no file can have
                    return False
        return False

    def _mend_file(self, folder: Path, rest: Path) -> bool:
        target = folder / rest
        # A fault's text is the file's: "//" makes an absolute path of it.
        if rest.is_absolute() or ".." in rest.parts or target.exists():
            return False
        if folder.name in self._packages.missing:
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("<robot/>")
            return True
        path = self._elsewhere(folder.name, rest)
        if path is None:
            return False
        for part in (None, *rest.parent.parts):
            folder = folder if part is None else folder / part
            if folder.is_symlink():  # never write into the source
                source = folder.resolve()
                folder.unlink()
                folder.mkdir()
                for entry in source.iterdir():
                    (folder / entry.name).symlink_to(entry)
            folder.mkdir(exist_ok=True)
        (folder / rest.name).symlink_to(path)
        return True

    def _elsewhere(self, name: str, rest: Path) -> Path | None:
        """Return a file that is installed, or elsewhere in the source folder than installed."""
        installed = next(filter(Path.is_file, (each / rest for each in _installed(name))), None)
        real = self._packages.before.get(name) or self._packages.around.get(name)
        if installed is not None or real is None:
            return installed
        results = [p for p in real.rglob(rest.name) if p.parts[-len(rest.parts) :] == rest.parts]
        return results[0] if len(results) == 1 else None


def _explained(path: Path, fault: str, packages: Packages) -> str:
    if missing := re.search(r"[Uu]ndefined substitution argument (\S+)", fault):
        name = missing[1].strip("'\".:")
        return f"{path}: needs the argument '{name}'. Give it: {name}:=VALUE after the file."
    if packages.missing:
        names = ", ".join(packages.missing)
        return (
            f"{path}: xacro cannot expand it without the packages {names}, which are neither "
            f"installed nor beside the file ({fault}). Source the workspace that has them, put "
            "them beside, or expand it where they are: xacro FILE > robot.urdf."
        )
    return f"{path}: xacro cannot expand it: {fault}. Correct it there."
