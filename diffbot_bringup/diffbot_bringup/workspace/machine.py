"""What the machine must have before the set-up can start."""

import importlib.util
import os
import platform
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

from diffbot_bringup.workspace.failure import SetupError

OLDEST = (3, 10)
NEWEST = (3, 14)
"""The Pythons for which ROS 2 is to be had as wheels."""

_SYSTEM_PYTHON = Path("/usr/bin/python3")


def check_machine() -> None:
    """Raise SetupError with one line that says all that is missing and how to get it."""
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
            f"ROS 2 wheels exist for x86-64 Linux only and this is {sys.platform} on {machine}; "
            "install ROS 2 (https://docs.ros.org), source its setup.bash and run diffbot again"
        )
    version = sys.version_info[:2]
    if not OLDEST <= version <= NEWEST:
        raise SetupError(
            f"ROS 2 wheels exist for Python {_text(OLDEST)} to {_text(NEWEST)} and this is "
            f"{_text(version)}; run: python3.X ./diffbot ... with one of those"
        )
    if platform.libc_ver()[0] != "glibc":
        raise SetupError("ROS 2 wheels need the GNU C library (Debian, Ubuntu, Fedora ...)")


def _text(version: tuple[int, ...]) -> str:
    return ".".join(str(number) for number in version)


def missing_debian_packages() -> list[tuple[str, str]]:
    """Return (what is missing, the Debian package that has it) for everything missing."""
    missing = []
    if not _compiler_works():
        missing.append(("a working C++ compiler", "g++"))
    if not (Path(sysconfig.get_config_var("INCLUDEPY") or "") / "Python.h").is_file():
        missing.append(("Python's headers", _python_package("dev")))
    if not all(importlib.util.find_spec(name) for name in ("venv", "ensurepip")):
        missing.append(("Python's venv module", _python_package("venv")))
    return missing


def _python_package(suffix: str) -> str:
    """Return python3-<suffix>, or the version's own package when this is not Debian's default."""
    base = getattr(sys, "_base_executable", None) or sys.executable
    is_default = os.path.realpath(base) == os.path.realpath(_SYSTEM_PYTHON)
    version = "3" if is_default else _text(sys.version_info[:2])
    return f"python{version}-{suffix}"


def _compiler_works() -> bool:
    """Compile and link a small program: a compiler without its library would fail late."""
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
