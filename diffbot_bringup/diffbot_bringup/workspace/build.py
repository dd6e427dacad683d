# SPDX-License-Identifier: Apache-2.0
"""Build the workspace with colcon, and only what has changed."""

import json
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup.workspace.environment import (
    Environment,
    Paths,
    Stamps,
    digest,
    prepend,
    read_hooks,
)
from diffbot_bringup.workspace.packages import Package, find_packages
from diffbot_bringup.workspace.process import ChildError, SetupError, SetupStep, run

_FALLBACKS = "fallback"
"""Folder of packages that are built only where ROS has none of their name."""
_FINISHED = re.compile(r"^Finished\s+<<<\s+(\S+)")
_HOOKS_STEP = "hooks"


class Workspace:
    """The packages of a checkout, built in one environment."""

    def __init__(self, root: Path, environment: Environment) -> None:
        self._environment = environment
        self._root = root
        self._directory = environment.directory
        self._install = self._directory / "install"
        self._stamps = Stamps(self._directory / "stamps" / "packages")
        self._steps = Stamps(self._directory / "stamps")
        own = find_packages(root)
        extra = find_packages(root / _FALLBACKS) if (root / _FALLBACKS).is_dir() else []
        self.packages = own + [p for p in extra if not environment.has_package(p.name)]
        base = environment.key()
        self._keys = {p.name: digest(base, p.fingerprint()) for p in self.packages}
        self._all = digest(*sorted(self._keys.values()))

    def stale(self) -> list[Package]:
        """Return the packages that have to be built."""
        return [p for p in self.packages if not self._stamps.is_current(p.name, self._keys[p.name])]

    def is_ready(self) -> bool:
        """Tell whether build would have nothing to do."""
        return self._steps.is_current(_HOOKS_STEP, self._all) and not self.stale()

    def build(self, lock: int) -> None:
        """Build what is stale and forget what is gone; raise SetupError if a build fails."""
        if self.is_ready():
            return
        self._steps.clear(_HOOKS_STEP)
        self._remove_gone()
        stale = self.stale()
        if any(p.build_type == "ament_cmake" for p in stale):
            stale = self.packages  # interfaces changed, and others may be compiled against them
        if stale:
            self._run_colcon(stale, lock)
            mend_scripts(self._install, self._environment.python)
        variables = self._environment.variables(os.environ)
        hooks = read_hooks(self._install, self._environment.python, variables)
        # Whoever is killed here has not set the step, and writes it again.
        (self._directory / "hooks.json").write_text(json.dumps(hooks, indent=1))
        self._steps.set(_HOOKS_STEP, self._all)

    def _remove_gone(self) -> None:
        for name in set(self._stamps.names()) - {p.name for p in self.packages}:
            self._stamps.clear(name)
            for folder in ("build", "install"):
                shutil.rmtree(self._directory / folder / name, ignore_errors=True)

    def _run_colcon(self, stale: list[Package], lock: int) -> None:
        for package in stale:
            self._stamps.clear(package.name)
            # colcon leaves links to files that are gone, and fails on them.
            for path in (self._directory / "build" / package.name).rglob("*"):
                if path.is_symlink() and not path.exists():
                    path.unlink()
        noun = "package" if len(stale) == 1 else "packages"
        log = self._directory / "log" / "colcon.log"
        log.unlink(missing_ok=True)
        with SetupStep(f"Building {len(stale)} {noun} with colcon") as step:
            done: list[str] = []

            def watch(line: str) -> None:
                if match := _FINISHED.match(line):
                    done.append(match.group(1))
                    self._stamps.set(match.group(1), self._keys[match.group(1)])
                    step.update(len(done), len(stale), match.group(1))

            try:
                run(self._command(stale), self._build_variables(), log, lock, watch)
            except ChildError as error:
                text = "\n".join(["the build failed:", *error.tail, f"(all of it: {error.log})"])
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
            "--symlink-install",
            "--cmake-args",
            *self._environment.cmake_arguments,
            *("-DCMAKE_BUILD_TYPE=Release", "-DBUILD_TESTING=OFF", "-Wno-dev"),
        ]

    def _build_variables(self) -> dict[str, str]:
        variables = self._environment.variables(os.environ)
        # colcon would add a load limit, at which a busy machine builds one file at a time.
        variables.setdefault("MAKEFLAGS", f"-j{os.cpu_count() or 2}")
        return variables

    def variables(self, user: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables for nodes and tools: those of `source setup.bash`."""
        hooks: Paths = json.loads((self._directory / "hooks.json").read_text())
        return prepend(self._environment.variables(user), hooks)


def mend_scripts(install: Path, python: Path) -> int:
    """Let executables start their Python where its path has a space; returns how many were mended.

    The kernel takes the first line of a script up to the first space for the interpreter. pip knows
    that, and its way is taken here; setuptools, which writes the nodes' executables, does not.
    """
    if " " not in str(python):
        return 0
    mended = 0
    for script in sorted(install.glob("*/lib/*/*")):
        if script.is_symlink() or not script.is_file():
            continue
        first, _, rest = script.read_bytes().partition(b"\n")
        if first.startswith(b"#!") and str(python).encode() in first:
            head = f"#!/bin/sh\n'''exec' \"{python}\" \"$0\" \"$@\"\n' '''\n"
            script.write_bytes(head.encode() + rest)  # keeps its mode
            mended += 1
    return mended
