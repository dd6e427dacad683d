"""``diffbot test``: style checks and one pytest run over the packages."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

from diffbot_bringup.workspace.packages import find_packages

SUMMARY = "check the style and run the tests of all packages, or of those named"

_STYLE_COMMANDS = (["ruff", "check"], ["ruff", "format", "--check"])


def main(argv: list[str]) -> int:
    """Run the checks and then pytest; return pytest's status, or ruff's when that failed."""
    root = os.environ.get("DIFFBOT_ROOT", "")
    if not root:
        print("diffbot test: run it as ./diffbot test in a checkout, or use colcon test")
        return 2
    names, pytest_arguments = split(argv)
    folders = test_folders(Path(root), names)
    style = _check_style(Path(root), names)
    workers = worker_arguments(pytest_arguments)
    command = [sys.executable, "-m", "pytest", *workers, *map(str, folders), *pytest_arguments]
    status = subprocess.run(command, cwd=root).returncode
    return status or style


def split(argv: list[str]) -> tuple[list[str], list[str]]:
    """Return (packages, arguments for pytest), which a `--` separates."""
    if "--" not in argv:
        return argv, []
    at = argv.index("--")
    return argv[:at], argv[at + 1 :]


def worker_arguments(pytest_arguments: list[str]) -> list[str]:
    """Arguments that let pytest-xdist run the tests in two processes, or none.

    Whole graphs of nodes stay together in one of the two, by conftest.py's groups. A debugger, or
    a number of processes that the user gives, is left alone.
    """
    own = any(word.startswith(("-n", "--numprocesses", "--pdb", "-s")) for word in pytest_arguments)
    if own or (os.cpu_count() or 1) < 2 or importlib.util.find_spec("xdist") is None:
        return []
    return ["-n", "2", "--dist", "loadgroup"]


def test_folders(root: Path, names: list[str]) -> list[Path]:
    """Return the test folders of the named packages, or of all.

    These are the folders `test` of the packages, as for colcon; diffbot_bringup's is a link to the
    one at the top level.
    """
    packages = {package.name: package.path for package in find_packages(root)}
    folders = [packages[name] / "test" for name in names or packages]
    return list(dict.fromkeys(folder.resolve() for folder in folders if folder.is_dir()))


# Not a test, although pytest would take it for one by its name.
test_folders.__test__ = False  # type: ignore[attr-defined]


def _check_style(root: Path, names: list[str]) -> int:
    if shutil.which("ruff") is None:
        print("diffbot test: ruff is not installed, so the style is not checked", flush=True)
        return 0
    packages = {package.name: package.path for package in find_packages(root)}
    where = [str(packages[name]) for name in names] or ["."]
    status = 0
    for command in _STYLE_COMMANDS:
        print(f"diffbot test: {' '.join(command)}", flush=True)
        status = subprocess.run([*command, *where], cwd=root).returncode or status
    return status
