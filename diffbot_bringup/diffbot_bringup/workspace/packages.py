"""The packages of the workspace, and when they have to be built again."""

from __future__ import annotations

import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from diffbot_bringup.workspace.stamps import digest

# Contents that a build copies or compiles. Everything else is installed as a link to the source,
# so that an edit is in force at once and only a new or removed file needs a build.
_BUILD_FILES = {"package.xml", "setup.py", "setup.cfg", "CMakeLists.txt"}
_BUILD_SUFFIXES = {".msg", ".srv", ".action", ".c", ".cpp", ".h", ".hpp", ".cmake"}
_SKIPPED = {"__pycache__", "test", "results", "COLCON_IGNORE"}
_MAX_DEPTH = 3


@dataclass(frozen=True)
class Package:
    """One ROS package of the source tree."""

    name: str
    path: Path
    build_type: str
    """As package.xml exports it: ament_python or ament_cmake."""

    def fingerprint(self) -> str:
        """Return a hash that changes exactly when the package has to be built again."""
        parts: list[str | bytes] = [str(self.path)]
        for file in sorted(_files(self.path)):
            if file.name in _BUILD_FILES or file.suffix in _BUILD_SUFFIXES:
                parts += [str(file), file.read_bytes()]
            elif file.suffix != ".py":
                parts.append(str(file))
            elif file.name == "__init__.py":
                parts.append(str(file))  # a new Python package has to be linked
        return digest(*parts)


def _files(directory: Path) -> Iterator[Path]:
    """Yield the files that can matter to a build, following the links to launch and config."""
    for entry in os.scandir(directory):
        if entry.name.startswith(".") or entry.name.endswith(("~", ".egg-info", ".pyc")):
            continue
        if entry.name in _SKIPPED:
            continue
        if entry.is_dir():
            yield from _files(Path(entry.path))
        elif entry.is_file():
            yield Path(entry.path)


def find_packages(base: Path) -> list[Package]:
    """Return the packages below base, sorted by name, as colcon would find them.

    A COLCON_IGNORE hides a folder, except in base itself: who names it, wants it.
    """
    return sorted(_crawl(base, 0), key=lambda package: package.name)


def _crawl(directory: Path, depth: int) -> Iterator[Package]:
    manifest = directory / "package.xml"
    if manifest.is_file():
        yield _read(manifest)
        return
    if depth >= _MAX_DEPTH:
        return
    for entry in os.scandir(directory):
        hidden = entry.name.startswith(".") or entry.name in _SKIPPED
        if hidden or not entry.is_dir(follow_symlinks=False):
            continue
        if not os.path.exists(os.path.join(entry.path, "COLCON_IGNORE")):
            yield from _crawl(Path(entry.path), depth + 1)


def _read(manifest: Path) -> Package:
    try:
        root = ElementTree.parse(manifest).getroot()
    except ElementTree.ParseError as error:
        raise ValueError(f"{manifest}: not a well-formed package.xml: {error}") from error
    name = (root.findtext("name") or "").strip()
    if not name:
        raise ValueError(f"{manifest}: the element <name> is missing; it names the package")
    build_type = root.findtext("export/build_type") or "ament_cmake"
    return Package(name, manifest.parent, build_type.strip())
