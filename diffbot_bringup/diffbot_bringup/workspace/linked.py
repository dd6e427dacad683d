# SPDX-License-Identifier: Apache-2.0
"""Installs Python packages as links to their sources, all of them in one prefix and one process.

The prefix is what `colcon build --symlink-install --merge-install` makes of ament_python packages
in a minute. The interpreter of the environment, with setuptools, runs this file:

    python linked.py PREFIX SITE FOLDER [FOLDER ...]
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from setuptools import Distribution

_SCRIPT = """\
import sys

from {module} import {function}

sys.exit({function}())
"""


def link_packages(prefix: Path, site: Path, folders: Iterable[Path]) -> None:
    """Make the prefix anew from folders with a setup.py; `site` in it has the modules."""
    from distutils.core import run_setup

    import setuptools  # noqa: F401  provides distutils, which Python has no longer

    partial = prefix.with_name(f"{prefix.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    modules = partial / site.relative_to(prefix)
    modules.mkdir(parents=True)
    for folder in folders:
        os.chdir(folder)
        distribution = run_setup("setup.py", stop_after="init")
        _link_package(folder, distribution, partial, modules)
    shutil.rmtree(prefix, ignore_errors=True)
    partial.rename(prefix)


def _link_package(folder: Path, distribution: Distribution, prefix: Path, site: Path) -> None:
    for module in {name.partition(".")[0] for name in distribution.packages or ()}:
        (site / module).symlink_to(folder / module)
    for place, files in distribution.data_files or ():
        target = prefix / place
        target.mkdir(parents=True, exist_ok=True)
        for file in files:
            (target / Path(file).name).symlink_to((folder / file).resolve())
    name = distribution.get_name()
    metadata = site / f"{name}-{distribution.get_version()}.dist-info"
    metadata.mkdir()
    with (metadata / "METADATA").open("w", encoding="utf-8") as file:
        distribution.metadata.write_pkg_file(file)
    entry_points = distribution.entry_points or {}
    lines = [line for group, each in entry_points.items() for line in (f"[{group}]", *each, "")]
    (metadata / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    scripts = entry_points.get("console_scripts", [])
    executables = prefix / "lib" / name
    executables.mkdir(parents=True)
    for script in scripts:
        _write_executable(executables, script)


def _write_executable(folder: Path, script: str) -> None:
    name, _, target = (part.strip() for part in script.partition("="))
    module, _, function = target.partition(":")
    head = f"#!{sys.executable}\n"
    if " " in sys.executable:
        # The kernel ends the interpreter's name at a space: /bin/sh starts Python.
        head = f"#!/bin/sh\n'''exec' \"{sys.executable}\" \"$0\" \"$@\"\n' '''\n"
    path = folder / name
    path.write_text(head + _SCRIPT.format(module=module, function=function), encoding="utf-8")
    path.chmod(0o755)


if __name__ == "__main__":
    link_packages(Path(sys.argv[1]), Path(sys.argv[2]), map(Path, sys.argv[3:]))
