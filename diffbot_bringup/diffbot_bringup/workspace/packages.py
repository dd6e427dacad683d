# SPDX-License-Identifier: Apache-2.0
"""The packages of the workspace, and when they have to be built again."""

from __future__ import annotations

import glob
import os
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from diffbot_bringup.usage import UsageError, check_one_of
from diffbot_bringup.workspace.environment import digest
from diffbot_bringup.xml_launch.arguments import understand
from diffbot_bringup.xml_launch.substitutions import Share, installed_share

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


# Refuse a wrong command line before anything is set up for it.

# Of `diffbot test`, which reads this before the packages that it runs are there.
KERNELS = "--kernels"
_EXAMPLES = {
    "echo": "TOPIC is missing, for example: ./diffbot echo /joint_states --once",
    "python": "FILE is missing, for example: ./diffbot python benchmarks/NAME.py",
    "describe": "FILE is missing, for example: ./diffbot describe my_robot.urdf.xacro",
    "study": "FILE is missing, for example: ./diffbot study config/studies/encoders.yaml",
    "fleet": "FOLDER is missing, for example: ./diffbot fleet recordings/ --output fleet/",
    "identify": "FILE is missing, for example: ./diffbot identify my_run.mcap",
}


def check_arguments(root: Path, command: str, words: list[str], any_package: bool) -> None:
    """Raise UsageError, which lists what is right, when the words after command are wrong.

    any_package: the environment has packages besides those of this checkout, so that a package
    which is not here may be right. Commands check their other arguments themselves.
    """
    if "-h" in words or "--help" in words:
        return
    if command == "launch":
        understand(words, _share_of(root, any_package))
    elif command == "test":
        for word in words[: words.index("--")] if "--" in words else words:
            if word != KERNELS:
                check_one_of("package", word, _package_names(root))
    elif command == "run":
        if not words:
            raise UsageError(f"PACKAGE is missing; packages: {', '.join(_package_names(root))}")
        if not any_package:
            check_one_of("package", words[0], _package_names(root))
    elif command in _EXAMPLES:
        # An option of Python's may stand alone.
        if not [word for word in words if command == "python" or not word.startswith("-")]:
            raise UsageError(_EXAMPLES[command])
        if command in ("study", "fleet"):
            _check_anything_exists(words)
    elif command == "setup":
        for word in words:
            check_one_of("part", word, ["gazebo", "study"])
    elif words and command == "clean":
        raise UsageError(f"{command} takes no arguments, but got: {' '.join(words)}")


def _check_anything_exists(words: list[str]) -> None:
    """Refuse a command line of which no word is a path before its large packages are fetched."""
    places = [word for word in words if not word.startswith("-")]
    if not any(glob.glob(word) for word in places):
        raise UsageError(f"{places[0]}: there is no such folder or file, and no path is like it")


def _package_names(root: Path) -> list[str]:
    return [package.name for package in find_packages(root)]


def _share_of(root: Path, any_package: bool) -> Share:
    """Find packages in the checkout, whose folders hold what is installed as their share."""

    def share(package: str) -> str:
        if (root / package / "package.xml").is_file():
            return str(root / package)
        if any_package:
            return installed_share(package)
        raise ValueError(f"package {package!r} is not in this checkout")

    return share
