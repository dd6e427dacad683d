# SPDX-License-Identifier: Apache-2.0
"""The packages of the workspace: finding them, building changed ones, checking their names."""

from __future__ import annotations

import glob
import json
import os
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from diffbot_bringup.usage import UsageError, check_one_of, tested_packages
from diffbot_bringup.workspace.environment import (
    PYTHON_ONLY,
    Paths,
    Stamps,
    digest,
    prepend,
    read_hooks,
)
from diffbot_bringup.workspace.process import ChildError, SetupError, SetupStep, run
from diffbot_bringup.workspace.wheels import PARTS, Environment
from diffbot_bringup.xml_launch.arguments import understand
from diffbot_bringup.xml_launch.substitutions import Share, installed_share

# Files whose content a build reads or compiles; others are installed as links.
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
    """Build type that package.xml exports: ament_python or ament_cmake."""

    @property
    def is_python(self) -> bool:
        """Whether it has nothing to compile: its files are installed as links."""
        return self.build_type == "ament_python"

    def fingerprint(self) -> str:
        """Return a hash that changes exactly when the package must be rebuilt."""
        parts: list[str | bytes] = [str(self.path)]
        for file in sorted(_files(self.path)):
            if file.name in _BUILD_FILES or file.suffix in _BUILD_SUFFIXES:
                parts += [str(file), file.read_bytes()]
            elif file.suffix != ".py":
                parts.append(str(file))
            elif file.name == "__init__.py":
                parts.append(str(file))  # a new Python package must be linked
        return digest(*parts)


def _files(directory: Path) -> Iterator[Path]:
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
    """Return the packages below base, sorted by name, as colcon would find them."""
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
        raise ValueError(f"{manifest}: the element <name> is missing; add the package's name")
    build_type = root.findtext("export/build_type") or "ament_cmake"
    return Package(name, manifest.parent, build_type.strip())


_FALLBACKS = "fallback"
"""Folder of packages that are built only if ROS has no package of that name."""
_FINISHED = re.compile(r"^Finished\s+<<<\s+(\S+)")
_HOOKS_STEP = "variables"


class Workspace:
    """The packages of a checkout, built in one environment: only what has changed."""

    def __init__(self, root: Path, environment: Environment) -> None:
        self._environment = environment
        self._root = root
        self._directory = environment.directory
        self._install = self._directory / "install"
        self._linked = self._directory / "linked"
        self._site = self._linked / "lib" / "python"
        self._stamps = Stamps(self._directory / "stamps" / "packages")
        self._steps = Stamps(self._directory / "stamps")
        own = find_packages(root)
        extra = find_packages(root / _FALLBACKS) if (root / _FALLBACKS).is_dir() else []
        self.packages = own + [p for p in extra if not environment.has_package(p.name)]
        base = digest(environment.key(), *environment.cmake_arguments, PYTHON_ONLY.read_bytes())
        self._keys = {p.name: digest(base, p.fingerprint()) for p in self.packages}
        self._all = digest(*sorted(self._keys.values()))

    def stale(self) -> list[Package]:
        return [p for p in self.packages if not self._stamps.is_current(p.name, self._keys[p.name])]

    def is_ready(self) -> bool:
        return self._steps.is_current(_HOOKS_STEP, self._all) and not self.stale()

    def build(self, lock: int) -> None:
        """Build stale packages and remove deleted ones; raise SetupError if a build fails."""
        if self.is_ready():
            return
        self._steps.clear(_HOOKS_STEP)
        gone = self._remove_gone()
        stale = self.stale()
        if any(not p.is_python for p in stale):
            # Others may be compiled against changed interfaces.
            self._run_colcon([p for p in self.packages if not p.is_python], lock)
        if gone or any(p.is_python for p in stale) or not self._linked.exists():
            self._link([p for p in self.packages if p.is_python], lock)
        variables = self._environment.variables(os.environ)
        hooks = read_hooks(self._install, self._environment.python, variables)
        for name, path in (("PYTHONPATH", self._site), ("AMENT_PREFIX_PATH", self._linked)):
            hooks[name] = [str(path), *hooks.get(name, [])]
        (self._directory / "hooks.json").write_text(json.dumps(hooks, indent=1))
        self._steps.set(_HOOKS_STEP, self._all)

    def _remove_gone(self) -> bool:
        gone = set(self._stamps.names()) - {p.name for p in self.packages}
        for name in gone:
            self._stamps.clear(name)
            for folder in ("build", "install"):
                shutil.rmtree(self._directory / folder / name, ignore_errors=True)
        return bool(gone)

    def _link(self, packages: list[Package], lock: int) -> None:
        script = Path(__file__).with_name("linked.py")
        command = [self._environment.python, script, self._linked, self._site]
        folders = [p.path for p in packages]
        log = self._directory / "log" / "linked.log"
        log.unlink(missing_ok=True)
        with SetupStep(f"Linking {len(packages)} Python packages"):
            try:
                run([*command, *folders], self._environment.variables(os.environ), log, lock)
            except ChildError as error:
                text = "\n".join(["linking failed:", *error.tail, f"(complete log: {error.log})"])
                raise SetupError(text) from error
        for package in packages:
            self._stamps.set(package.name, self._keys[package.name])

    def _run_colcon(self, packages: list[Package], lock: int) -> None:
        for package in packages:
            self._stamps.clear(package.name)
        log = self._directory / "log" / "colcon.log"
        log.unlink(missing_ok=True)
        with SetupStep(f"Building {', '.join(p.name for p in packages)} with colcon") as step:
            done: list[str] = []

            def watch(line: str) -> None:
                if match := _FINISHED.match(line):
                    done.append(match.group(1))
                    self._stamps.set(match.group(1), self._keys[match.group(1)])
                    step.update(len(done), len(packages), match.group(1))

            try:
                run(self._command(packages), self._build_variables(), log, lock, watch)
            except ChildError as error:
                text = "\n".join(["the build failed:", *error.tail, f"(complete log: {error.log})"])
                raise SetupError(text) from error

    def _command(self, stale: list[Package]) -> list[str | Path]:
        colcon = self._environment.python.parent / "colcon"
        bases = sorted({p.path for p in self.packages})
        return [
            colcon if colcon.exists() else "colcon",
            "--log-base",
            self._directory / "log" / "colcon",
            "build",
            "--base-paths",
            *bases,
            "--build-base",
            self._directory / "build",
            "--install-base",
            self._install,
            "--packages-select",
            *(p.name for p in stale),
            "--cmake-args",
            *self._environment.cmake_arguments,
            *("-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", "-Wno-dev"),
        ]

    def _build_variables(self) -> dict[str, str]:
        variables = self._environment.variables(os.environ)
        # Else colcon adds a load limit: on a busy machine it builds one file at a time.
        variables.setdefault("MAKEFLAGS", f"-j{os.cpu_count() or 2}")
        return variables

    def variables(self, user: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables for nodes and tools: those of `source setup.bash`."""
        hooks: Paths = json.loads((self._directory / "hooks.json").read_text())
        return prepend(self._environment.variables(user), hooks)


_EXAMPLES = {
    "echo": "TOPIC is missing, for example: ./diffbot echo /joint_states --once",
    "python": "FILE is missing, for example: ./diffbot python benchmarks/NAME.py",
    "describe": "FILE is missing, for example: ./diffbot describe my_robot.urdf.xacro",
    "study": "NAME or FILE is missing, for example: ./diffbot study encoders",
    "fleet": "FOLDER is missing, for example: ./diffbot fleet recordings/ --output fleet/",
    "identify": "FILE is missing, for example: ./diffbot identify my_run.mcap",
}


def check_arguments(root: Path, command: str, words: list[str], any_package: bool) -> None:
    """Raise UsageError, which lists the valid words, when the words after command are wrong.

    any_package: The environment has packages besides those of this checkout. Commands check their
    other arguments themselves.
    """
    if "-h" in words or "--help" in words:
        return
    if command == "launch":
        understand(words, _share_of(root, any_package))
    elif command == "test":
        for word in tested_packages(words):
            check_one_of("package", word, _package_names(root))
    elif command == "run":
        if not words:
            raise UsageError(f"PACKAGE is missing; packages: {', '.join(_package_names(root))}")
        if not any_package:
            check_one_of("package", words[0], _package_names(root))
    elif command in _EXAMPLES:
        # For Python, an option may stand alone.
        if not [word for word in words if command == "python" or not word.startswith("-")]:
            raise UsageError(_EXAMPLES[command])
        if command in ("study", "fleet"):
            ready = root.glob("tools/diffbot_study/diffbot_study/ready_made/*.yaml")
            names = sorted(path.stem for path in ready) if command == "study" else []
            _check_anything_exists(words, names)
    elif command == "setup":
        for word in words:
            check_one_of("part", word, ["gazebo", *PARTS])
    elif words and command == "clean":
        raise UsageError(f"{command} takes no arguments, but got: {' '.join(words)}")


def _check_anything_exists(words: list[str], names: list[str]) -> None:
    """Refuse a command line without any path or name, before its large packages are fetched."""
    places = [word for word in words if not word.startswith("-")]
    if not any(glob.glob(word) or word in names for word in places):
        known = f"; ready-made: {', '.join(names)}" if names else ""
        raise UsageError(
            f"{places[0]}: there is no such folder or file, and no path matches it{known}"
        )


def _package_names(root: Path) -> list[str]:
    return [package.name for package in find_packages(root)]


def _share_of(root: Path, any_package: bool) -> Share:
    folders = {package.name: package.path for package in find_packages(root)}

    def share(package: str) -> str:
        if package in folders:
            return str(folders[package])
        if any_package:
            return installed_share(package)
        raise ValueError(f"package {package!r} is not in this checkout")

    return share
