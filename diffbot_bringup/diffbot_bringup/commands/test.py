# SPDX-License-Identifier: Apache-2.0
"""``diffbot test``: style checks, one pytest run over the packages, and kernel families.

`--kernels` runs every numeric test once per family of processor_kernels.py instead. A run of all
tests ends with those marked `kernels`, under each other family. `--no-types` leaves mypy out.
"""

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from diffbot_bringup.processor_kernels import Family, families
from diffbot_bringup.usage import KERNELS, NO_TYPES, split_at_dashes, tested_packages
from diffbot_bringup.workspace.packages import find_packages

_NOTHING_RUN = 5  # pytest's status when no test was chosen
# Where a run of all tests leaves how long each took, below the checkout.
DURATIONS = ".diffbot/log/tests.xml"


def main(argv: list[str]) -> int:
    """Run the checks, mypy beside pytest; return pytest's status, or theirs when that failed."""
    root = os.environ.get("DIFFBOT_ROOT", "")
    if not root:
        print("diffbot test: run it as ./diffbot test in a checkout, or use colcon test")
        return 2
    options, pytest_arguments = split_at_dashes(argv)
    all_families, untyped = KERNELS in options, NO_TYPES in options
    names = tested_packages(argv)
    folders = list(map(str, test_folders(Path(root), names)))
    workers = worker_arguments(pytest_arguments)
    if all_families:
        return run_families(root, [*workers, "-m", "numeric", *folders, *pytest_arguments])
    style = _checks(Path(root), names)
    types = None if names or untyped else _start_types(root)
    kept = [] if names or pytest_arguments else [f"--junitxml={root}/{DURATIONS}"]
    status, _ = _pytest(root, [*workers, *kept, *folders, *pytest_arguments], os.environ)
    if not names and not pytest_arguments:
        quick = ["-n0", "-q", "-m", "kernels", *folders]
        status = run_families(root, quick, os.cpu_count() or 1, others=True) or status
    if types is not None:
        said, _ = types.communicate()
        print("diffbot test: mypy", said, sep="\n", end="", flush=True)
        style = types.returncode or style
    return status or style


def run_families(
    root: str, arguments: Sequence[str], at_once: int = 1, others: bool = False
) -> int:
    """Run pytest with these arguments under each kernel family; return the worst status.

    `at_once`: runs side by side, which print when they have ended; `others`: leave out the family
    that this machine takes by itself.
    """
    chosen, left_out = families(others)
    for line in left_out:
        print(f"diffbot test: kernels: {line}", flush=True)

    def run(family: Family) -> tuple[int, str]:
        title = f"diffbot test: kernels: {family.name} ({family.kernels})"
        begun = time.monotonic()
        if at_once == 1:
            print(title, flush=True)
        status, said = _pytest(root, arguments, family.environment(), captured=at_once > 1)
        if at_once > 1:
            print(title, said, sep="\n", end="", flush=True)
        status = 0 if status == _NOTHING_RUN else status
        return status, _family_line(family, status, time.monotonic() - begun)

    with ThreadPoolExecutor(at_once) as pool:
        ended = list(pool.map(run, chosen))
    print(*(line for _, line in ended), sep="\n", flush=True)
    return max((status for status, _ in ended), default=0)


def _family_line(family: Family, status: int, seconds: float) -> str:
    said = "passed" if status == 0 else f"FAILED, status {status}"
    return f"diffbot test: kernels: {family.name}: {said} ({seconds:.0f} s)"


def _pytest(
    root: str, arguments: Sequence[str], variables: Mapping[str, str], captured: bool = False
) -> tuple[int, str]:
    process = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=root,
        env=variables,
        stdout=subprocess.PIPE if captured else None,
        stderr=subprocess.STDOUT if captured else None,
        text=True,
    )
    return process.returncode, process.stdout or ""


def worker_arguments(pytest_arguments: list[str]) -> list[str]:
    """Return arguments that let pytest-xdist run the tests in three processes, or none.

    Graphs in real time stay together in one (conftest.py), which waits for half of the time and
    goes before the other two. A debugger, or a number of processes given by the user, takes
    precedence.
    """
    own = any(word.startswith(("-n", "--numprocesses", "--pdb", "-s")) for word in pytest_arguments)
    if own or (os.cpu_count() or 1) < 2 or importlib.util.find_spec("xdist") is None:
        return []
    return ["-n", "3", "--dist", "loadgroup"]


def test_folders(root: Path, names: list[str]) -> list[Path]:
    """Return the test folders of the named packages, or of all, as for colcon."""
    packages = {package.name: package.path for package in find_packages(root)}
    folders = [packages[name] / "test" for name in names or packages]
    return list(dict.fromkeys(folder.resolve() for folder in folders if folder.is_dir()))


# Not a test, although pytest would take it for one by its name.
test_folders.__test__ = False  # type: ignore[attr-defined]


def _mypy_options() -> list[str]:
    """Return mypy's options for the rclpy that is installed: before Kilted it has few types."""
    typed = importlib.util.find_spec("rclpy") is None or hasattr(
        importlib.import_module("rclpy.publisher").Publisher, "__class_getitem__"
    )
    return [] if typed else ["--disable-error-code=type-arg", "--allow-untyped-calls"]


def _start_types(root: str) -> subprocess.Popen[str] | None:
    """Check the types of all packages, which depend on each other, beside the tests."""
    if shutil.which("mypy") is None:
        print("diffbot test: mypy is not installed and does not check", flush=True)
        return None
    return subprocess.Popen(
        ["mypy", *_mypy_options()],
        cwd=root,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _checks(root: Path, names: list[str]) -> int:
    packages = {package.name: package.path for package in find_packages(root)}
    where = [str(packages[name]) for name in names] or ["."]
    commands = [["ruff", "check", *where], ["ruff", "format", "--check", *where]]
    status = 0
    for command in commands:
        if shutil.which(command[0]) is None:
            print(f"diffbot test: {command[0]} is not installed and does not check", flush=True)
            continue
        print(f"diffbot test: {' '.join(command)}", flush=True)
        status = subprocess.run(command, cwd=root).returncode or status
    return status
