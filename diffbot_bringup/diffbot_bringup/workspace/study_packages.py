# SPDX-License-Identifier: Apache-2.0
"""Dask distributed and pyarrow for studies, fleets and benchmarks, installed when first needed.

They are in a folder of their own beside the virtual environment: they take disk space only where
they are used, and updating one does not touch the environment.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup.workspace.environment import Stamps, digest, without_other_ros
from diffbot_bringup.workspace.process import ChildError, SetupError, SetupStep, run

# Commands of ./diffbot that may need them.
STUDY_COMMANDS = ("study", "fleet", "test", "setup", "python")
PART = "study"
# Module that a script for ./diffbot python, such as those in benchmarks/, imports to use a cluster.
CLUSTER = "diffbot_study.task_cluster"
_STEP = "study"


def wants_study_packages(command: str, words: list[str]) -> bool:
    """Return whether a command line of ./diffbot needs the packages."""
    if {"-h", "--help"} & set(words):
        return False
    if command == "test":
        packages = words[: words.index("--")] if "--" in words else words
        return not packages or "diffbot_bringup" in packages
    if command == "python":
        return bool(words) and _runs_on_a_cluster(Path(words[0]))
    return command in ("study", "fleet") or (command == "setup" and PART in words)


def _runs_on_a_cluster(script: Path) -> bool:
    try:
        return script.suffix == ".py" and CLUSTER in script.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return False  # Python reports what is wrong with it


class StudyPackages:
    """The folder of the packages.

    Args:
        root: Root of the checkout.
        directory: Folder of the environment.
        python: Interpreter of the environment.
    """

    def __init__(self, root: Path, directory: Path, python: Path) -> None:
        self.folder = directory / "study"
        self._python = python
        self._requirements = root / "requirements-study.txt"
        self._constraints = root / "constraints.txt"
        self._stamps = Stamps(directory / "stamps")
        self._log = directory / "log" / "study.log"

    @property
    def _key(self) -> str:
        return digest(str(self._python), self._requirements.read_bytes())

    def is_ready(self) -> bool:
        """Return whether the packages are installed."""
        return self._stamps.is_current(_STEP, self._key) and self.folder.is_dir()

    def prepare(self, lock: int) -> None:
        """Install the packages.

        Raises:
            SetupError: They are not available; the text states the remedy.
        """
        if self.is_ready():
            return
        self._stamps.clear(_STEP)
        shutil.rmtree(self.folder, ignore_errors=True)
        command: list[str | Path] = [
            self._python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check",
            "--target", self.folder, "-r", self._requirements, "-c", self._constraints,
        ]  # fmt: skip
        variables = {**without_other_ros(os.environ), "PIP_USER": "0"}
        try:
            with SetupStep("Installing Dask and pyarrow (190 MB)"):
                run(command, variables, self._log, lock)
        except ChildError as error:
            raise SetupError(
                "cannot install Dask and pyarrow; check the network and pip's settings, then run "
                f"the same command again (details: {error.log})"
            ) from error
        self._stamps.set(_STEP, self._key)

    def added(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the environment variables with the packages last in the path, for workers, too."""
        paths = [path for path in (variables.get("PYTHONPATH"), str(self.folder)) if path]
        return {**variables, "PYTHONPATH": os.pathsep.join(paths)}
