# SPDX-License-Identifier: Apache-2.0
"""The environment of a machine without ROS: ROS 2 as wheels in a virtual environment.

The machine is checked, uv installs the versions of constraints-<distro>.txt, and the builder's
paths in the wheels' CMake files are replaced.
"""

from __future__ import annotations

import csv
import importlib.util
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup.usage import tested_packages
from diffbot_bringup.workspace.environment import (
    PYTHON_ONLY,
    Stamps,
    SystemEnvironment,
    digest,
    prepend,
    with_defaults,
    without_other_ros,
)
from diffbot_bringup.workspace.process import SetupError, SetupStep
from diffbot_bringup.workspace.uv import Uv

# Distributions of ROS 2 that exist as wheels; the first one is the default.
DISTROS = ("jazzy", "kilted")
_ENVIRONMENT_STEP = "environment"
_WHEELS_STEP = "wheels"
_WHOLE_BYTECODE = Path(__file__).with_name("whole_bytecode.py")


class WheelsEnvironment:
    """A virtual environment in the checkout that contains everything but compiler and headers.

    Each distribution (one of DISTROS) and Python has its own; `.diffbot/venv` links to the newest.
    Its public members are those of SystemEnvironment.
    """

    def __init__(self, root: Path, distro: str = DISTROS[0]) -> None:
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        # Two Pythons of the same version get different names.
        name = f"{distro}-python{version}-{digest(sys.base_prefix)[:6]}"
        self.directory = root / ".diffbot" / name
        self._link = root / ".diffbot" / "venv"
        self.prefix = self.directory / "venv"
        self.python = self.prefix / "bin" / "python"
        self.title = f"ROS 2 {distro.capitalize()} from wheels, in .diffbot/{name}"
        self.cmake_arguments = [
            "-GNinja",
            f"-DPython3_EXECUTABLE={self.python}",
            f"-DCMAKE_PROJECT_TOP_LEVEL_INCLUDES={PYTHON_ONLY}",
        ]
        self._distro = distro
        self._uv = Uv(root)
        self._constraints = root / f"constraints-{distro}.txt"
        self._stamps = Stamps(self.directory / "stamps")
        self._site = self.prefix / "lib" / f"python{version}" / "site-packages"
        self.sites = [self._site]
        # Virtual environments contain their path and that of their Python.
        self._place = digest(str(self.prefix), version, sys.base_prefix)

    def key(self) -> str:
        """Return a hash of the folder, the Python, the wheels' exact versions and what is added."""
        return digest(self._place, self._constraints.read_bytes(), _WHOLE_BYTECODE.read_bytes())

    def is_ready(self) -> bool:
        """Return whether all is installed; a removed Python leaves a dangling link here."""
        return self._is_installed() and self._link.exists()

    def _is_installed(self) -> bool:
        return self._stamps.is_current(_WHEELS_STEP, self.key()) and self.python.exists()

    def prepare(self, lock: int) -> None:
        if self.is_ready():
            return
        if not self._is_installed():
            check_machine()
            self._uv.prepare(lock)
            self._make_environment(lock)
            self._install(lock)
            self._stamps.set(_WHEELS_STEP, self.key())
        self._set_link()

    def _make_environment(self, lock: int) -> None:
        current = self._stamps.is_current(_ENVIRONMENT_STEP, self._place)
        if current and self.python.exists():
            return
        self._stamps.clear(_ENVIRONMENT_STEP)
        self._stamps.clear(_WHEELS_STEP)
        with SetupStep(f"Creating a virtual environment in .diffbot/{self.directory.name}"):
            for leftover in ("venv", "build", "install"):
                shutil.rmtree(self.directory / leftover, ignore_errors=True)
            log = self.directory / "log" / "venv.log"
            self._uv.make_environment(self.prefix, log, lock)
        self._stamps.set(_ENVIRONMENT_STEP, self._place)

    def _set_link(self) -> None:
        new = self._link.with_name(f".venv.{os.getpid()}")
        new.symlink_to(self.prefix.relative_to(self._link.parent))
        os.replace(new, self._link)

    def _install(self, lock: int) -> None:
        self._stamps.clear(_WHEELS_STEP)
        remove_incomplete(self._site)
        log = self.directory / "log" / "packages.log"
        with SetupStep(f"Installing {count_pins(self._constraints)} Python packages"):
            self._uv.install(self.python, self._constraints, log, lock)
        if incomplete(self._site):
            raise SetupError(f"uv left an incomplete environment, see {log}; run diffbot again")
        include = Path(sysconfig.get_config_var("INCLUDEPY"))
        rewrite(self.prefix, include, self._site)
        # Python runs a line of a .pth file that begins so; the name sorts before all others.
        line = f"import sys; exec({_WHOLE_BYTECODE.read_text()!r}, {{}})\n"
        (self._site / "a0_whole_bytecode.pth").write_text(line)

    def variables(self, user: Mapping[str, str]) -> dict[str, str]:
        """Return the user's variables with this ROS, an ament prefix, instead of any other."""
        paths = {
            "PATH": [str(self.prefix / "bin")],
            "LD_LIBRARY_PATH": [
                str(self.prefix / "lib"),
                *sorted(str(path) for path in self._site.glob("ros_*.libs")),
            ],
            "AMENT_PREFIX_PATH": [str(self.prefix)],
            "CMAKE_PREFIX_PATH": [str(self.prefix)],
        }
        variables = prepend(with_defaults(without_other_ros(user), self._distro), paths)
        variables["VIRTUAL_ENV"] = str(self.prefix)
        variables["DIFFBOT_DISTRO"] = self._distro  # for summaries, as nothing else tells it
        variables["RMW_IMPLEMENTATION"] = "rmw_fastrtps_cpp"  # the only one among the wheels
        # Else the wheels' start-up code would start every Python twice.
        variables["_ROS_WHEELS_BOOTSTRAP_COMPLETE"] = "1"
        return variables

    def has_package(self, name: str) -> bool:
        return (self.prefix / "share" / name / "package.xml").exists()


Environment = SystemEnvironment | WheelsEnvironment
"""Where ROS 2 comes from."""

OLDEST = (3, 10)
NEWEST = (3, 14)
"""Oldest and newest Python for which ROS 2 is available as wheels."""

_SYSTEM_PYTHON = Path("/usr/bin/python3")


def check_machine() -> None:
    """Raise SetupError with one line that lists everything missing and how to get it."""
    _check_platform()
    missing = missing_debian_packages()
    if missing:
        raise SetupError(
            f"missing on this machine: {', '.join(what for what, _ in missing)}; "
            f"install with: sudo apt install {' '.join(package for _, package in missing)}"
        )


def _check_platform() -> None:
    machine = platform.machine()
    if not sys.platform.startswith("linux") or machine not in ("x86_64", "AMD64"):
        raise SetupError(
            f"ROS 2 wheels exist for x86-64 Linux only, but this is {sys.platform} on {machine}; "
            "install ROS 2 (https://docs.ros.org), source its setup.bash and run diffbot again"
        )
    version = sys.version_info[:2]
    if not OLDEST <= version <= NEWEST:
        raise SetupError(
            f"ROS 2 wheels exist for Python {_text(OLDEST)} to {_text(NEWEST)}, but this is "
            f"{_text(version)}; run: python3.X ./diffbot ... with one of those"
        )
    if platform.libc_ver()[0] != "glibc":
        raise SetupError("ROS 2 wheels need the GNU C library (Debian, Ubuntu, Fedora ...)")


def _text(version: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in version)


def missing_debian_packages() -> list[tuple[str, str]]:
    """Return (what is missing, its Debian package) for everything missing."""
    missing = []
    if not _compiler_works():
        missing.append(("a working C++ compiler", "g++"))
    if not (Path(sysconfig.get_config_var("INCLUDEPY") or "") / "Python.h").is_file():
        missing.append(("Python's headers", _python_package("dev")))
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        missing.append(("Python's venv module", _python_package("venv")))
    return missing


def _python_package(suffix: str) -> str:
    """Return python3-<suffix>, or the version's own package if this is not Debian's default."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    is_default = os.path.realpath(base) == os.path.realpath(_SYSTEM_PYTHON)
    version = "3" if is_default else _text(sys.version_info[:2])
    return f"python{version}-{suffix}"


def _compiler_works() -> bool:
    """Compile and link a small program: a compiler without its library would fail only later."""
    cxx = os.environ.get("CXX", "").split() or [shutil.which("c++") or shutil.which("g++") or ""]
    cc = os.environ.get("CC", "").split() or [shutil.which("cc") or shutil.which("gcc") or ""]
    if not cxx[0] or not cc[0]:
        return False
    with tempfile.TemporaryDirectory() as folder:
        command = [*cxx, "-x", "c++", "-", "-o", f"{folder}/probe"]
        program = "#include <string>\nint main() { return std::string().size(); }\n"
        try:
            result = subprocess.run(command, input=program, text=True, capture_output=True)
        except OSError:
            return False
        return result.returncode == 0


def count_pins(constraints: Path) -> int:
    """Return the number of packages that a pinned file has for this Python, roughly."""
    lines = constraints.read_text().splitlines()
    return len({line.partition("==")[0] for line in lines if re.match(r"[a-z0-9-]+==", line)})


def incomplete(site: Path) -> list[Path]:
    """Return the metadata folders of distributions that lack files, as after a killed installer."""
    return [info for info in sorted(site.glob("*.dist-info")) if not _is_complete(site, info)]


def _is_complete(site: Path, info: Path) -> bool:
    try:
        with (info / "RECORD").open(newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError:
        return False
    names = (row[0] for row in rows if not row[0].endswith(".pyc"))
    return bool(rows) and all((site / name).exists() for name in names)


def remove_incomplete(site: Path) -> None:
    """Remove the metadata of incomplete distributions, so that they are installed again."""
    for info in incomplete(site):
        shutil.rmtree(info)
    for leftover in site.glob("~*"):  # pip's name for what it was going to remove
        shutil.rmtree(leftover, ignore_errors=True)


_BUILDER = "/opt/python/"
_NUMPY = re.compile(r'/opt/python/[^";]*/site-packages/numpy/(?:_core|core)/include')
# Without an encoding CMake cuts the path of a checkout at the first umlaut.
_STRINGS = re.compile(r'(file\(STRINGS "[^"]*" \w+)\)')
_PYTHON = re.compile(r'/opt/python/[^";/]+/include/python3\.\d+t?')


def rewrite(prefix: Path, python_include: Path, site: Path) -> int:
    """Replace the builder's include folders in CMake files; return the number of changed files.

    `python_include` contains Python.h; `site` has NumPy. SetupError: A path of the builder remains.
    """
    numpy_include = site / "numpy" / "_core" / "include"
    if not numpy_include.is_dir():
        numpy_include = site / "numpy" / "core" / "include"
    changed = 0
    for path in sorted((prefix / "share").glob("*/cmake/*.cmake")):
        result = path.read_text(encoding="utf-8")
        text = _NUMPY.sub(str(numpy_include), result)
        text = _PYTHON.sub(str(python_include), text)
        text = _STRINGS.sub(r"\1 ENCODING UTF-8)", text)
        if _BUILDER in text:
            raise SetupError(f"{path} contains an unknown path of its build machine")
        if text != result:
            # If the process is killed here, the old file stays.
            partial = path.with_suffix(".partial")
            partial.write_text(text, encoding="utf-8")
            os.replace(partial, path)
            changed += 1
    return changed


# Packages that a few commands need, in folders of their own: Dask distributed and pyarrow for
# studies, fleets and benchmarks; Sphinx for the site; libraries that are scored beside the suite.

STUDY = "study"
SITE = "docs"
PEERS = "bench"
PARTS = {
    STUDY: "Dask and pyarrow (190 MB)",
    SITE: "Sphinx (105 MB)",
    PEERS: "padasip, filterpy and statsmodels (91 MB)",
}
"""What `./diffbot setup` can add, and what it says; constraints-<part>.txt has the versions."""
_USERS = {
    **dict.fromkeys(("study", "fleet", "test", "setup", "python"), STUDY),
    "docs": SITE,
    "bench": PEERS,
}
# Modules that a script for ./diffbot python imports to use a part.
_MODULES = {"diffbot_study.task_cluster": STUDY, "diffbot_bench.command": PEERS}
_IMPORTED = re.compile(r"^(?:from|import) (\w+)", re.MULTILINE)


def wanted_part(command: str, words: list[str]) -> tuple[str | None, bool]:
    """Return the part that a command of ./diffbot uses, and whether this command line needs it."""
    part = _USERS.get(command)
    needed = not {"-h", "--help"} & set(words)
    if command == "setup":
        part = next((word for word in words if word in PARTS), part)
        needed &= part in words
    elif command == "test":
        packages = tested_packages(words)
        needed &= not packages or "diffbot_bringup" in packages
    elif command == "python":
        imported = _part_of(Path(words[0])) if words else None
        part, needed = imported or part, needed and imported is not None
    return part, needed and part is not None


def _part_of(script: Path) -> str | None:
    """Return the part that a script, or one beside it that it imports, uses."""
    try:
        text = script.read_text(encoding="utf-8") if script.suffix == ".py" else ""
        beside = (script.with_name(f"{name}.py") for name in _IMPORTED.findall(text))
        texts = [text, *(path.read_text(encoding="utf-8") for path in beside if path.is_file())]
    except (OSError, UnicodeDecodeError):
        return None  # Python reports what is wrong with it
    used = (part for module, part in _MODULES.items() if any(module in each for each in texts))
    return next(used, None)


class AddedPackages:
    """The folder, in that of the environment with `python`, of the packages of one of PARTS."""

    def __init__(self, root: Path, directory: Path, python: Path, part: str) -> None:
        self.folder = directory / part
        self.part = part
        self._python = python
        self._uv = Uv(root)
        self._constraints = root / f"constraints-{part}.txt"
        self._stamps = Stamps(directory / "stamps")
        self._log = directory / "log" / f"{part}.log"

    @property
    def _key(self) -> str:
        return digest(str(self._python), self._constraints.read_bytes())

    def is_ready(self) -> bool:
        return self._stamps.is_current(self.part, self._key) and self.folder.is_dir()

    def prepare(self, lock: int) -> None:
        """Install the packages; SetupError, with the remedy, if they are not available."""
        if self.is_ready():
            return
        self._stamps.clear(self.part)
        shutil.rmtree(self.folder, ignore_errors=True)
        self._uv.prepare(lock)
        with SetupStep(f"Installing {PARTS[self.part]}"):
            self._uv.install(
                self._python, self._constraints, self._log, lock, "--target", str(self.folder)
            )
        self._stamps.set(self.part, self._key)

    def added(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables with the packages last in the path, for workers, too."""
        paths = [path for path in (variables.get("PYTHONPATH"), str(self.folder)) if path]
        return {**variables, "PYTHONPATH": os.pathsep.join(paths)}
