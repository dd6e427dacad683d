# SPDX-License-Identifier: Apache-2.0
"""Shared fixtures: a made-up ament prefix whose nodes are small scripts."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from diffbot_bringup.xml_launch.processes import ProcessDescription
from diffbot_bringup.xml_launch.resolver import Resolver

# -I -S: no site packages, so that a script starts in a few milliseconds.
# By way of the shell, as the path may have spaces.
SHEBANG = f"#!/bin/sh\n'''exec' \"{sys.executable}\" -IS \"$0\" \"$@\"\n' '''\n"


class LaunchPrefix:
    """Creates packages, executables and launch files below a temporary folder."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "prefix"
        self.files = folder / "files"
        self.files.mkdir()

    def package(self, name: str) -> Path:
        """Register a package in the ament index and return its share folder."""
        index = self.path / "share" / "ament_index" / "resource_index" / "packages"
        index.mkdir(parents=True, exist_ok=True)
        (index / name).touch()
        share = self.path / "share" / name
        share.mkdir(parents=True, exist_ok=True)
        return share

    def executable(self, name: str, body: str = "", package: str = "robots") -> Path:
        """Write a Python script as an executable of a package."""
        self.package(package)
        path = self.path / "lib" / package / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(SHEBANG + body)
        path.chmod(0o755)
        return path

    def launch_file(self, text: str, name: str = "main.launch.xml") -> Path:
        """Write a launch file; its first line is ``<launch>``, so `text` starts on line 2."""
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"<launch>\n{text.strip()}\n</launch>\n")
        return path

    def resolve(self, text: str, **arguments: str) -> list[ProcessDescription]:
        """Resolve a launch file with the executable ``robots/node`` present."""
        self.executable("node")
        resolver = Resolver(os.environ)
        resolver.file(self.launch_file(text), arguments.items())
        return resolver.processes

    @staticmethod
    def words(process: ProcessDescription) -> list[str]:
        """Return the command line after the program, parameter texts in place."""
        return [word if isinstance(word, str) else word.text for word in process.command[1:]]


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LaunchPrefix:
    """Return an empty prefix that is the only one in the environment."""
    made = LaunchPrefix(tmp_path)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(made.path))
    monkeypatch.setenv("ROS_LOG_DIR", str(tmp_path / "log"))
    monkeypatch.delenv("OVERRIDE_LAUNCH_PROCESS_OUTPUT", raising=False)
    return made
