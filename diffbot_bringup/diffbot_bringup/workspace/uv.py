# SPDX-License-Identifier: Apache-2.0
"""uv installs the pinned packages: in a third of pip's time, and only files with known hashes.

pip installs uv, from its own pinned file. The user's settings of pip are passed on to uv.
"""

from __future__ import annotations

import ast
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup.workspace.environment import Stamps, digest, without_other_ros
from diffbot_bringup.workspace.process import ChildError, SetupError, SetupStep, run

# pip's setting -> uv's environment variable.
_SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "cert": "SSL_CERT_FILE",
    "trusted-host": "UV_INSECURE_HOST",
    "proxy": "ALL_PROXY",
    "default-timeout": "UV_HTTP_TIMEOUT",
    "timeout": "UV_HTTP_TIMEOUT",
}
_SETTING = re.compile(r"^(?:global|install|site|user|:env:)\.([a-z-]+)=(.*)$")
NO_NETWORK = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|Name or service|name resolution|"
    r"Network is unreachable|Connection refused|ProxyError|Max retries|No matching distribution|"
    r"ConnectionResetError|Connection broken|Read timed out|SSLError|Failed to fetch|"
    r"error sending request|dns error|Could not connect|timed out"
)
_HASHES = re.compile(r"[Hh]ash mismatch|DO NOT MATCH THE HASHES|no matching hash")


class Uv:
    """The program uv in a checkout; all environments of the checkout share it."""

    CONSTRAINTS = "constraints-uv.txt"

    def __init__(self, root: Path) -> None:
        self._folder = root / ".diffbot" / "uv"
        self._constraints = root / self.CONSTRAINTS
        self._stamps = Stamps(self._folder / "stamps")
        self.program = self._folder / "venv" / "bin" / "uv"

    def prepare(self, lock: int) -> None:
        """Install the program, unless it is there; SetupError states the remedy."""
        key = digest(str(self._folder), self._constraints.read_bytes())
        if self._stamps.is_current("uv", key) and self.program.exists():
            return
        self._stamps.clear("uv")
        shutil.rmtree(self._folder / "venv", ignore_errors=True)
        variables = {**without_other_ros(os.environ), "PIP_USER": "0"}
        python = self.program.with_name("python")
        with SetupStep("Installing uv"):
            _run([sys.executable, "-m", "venv", self._folder / "venv"], variables, self.log, lock)
            pip: list[str | Path] = [
                python, "-m", "pip", "install", "--require-hashes", "--no-deps", "--no-input",
                "--disable-pip-version-check", "--retries=2", "-r", self._constraints,
            ]  # fmt: skip
            _run(pip, variables, self.log, lock)
        self._stamps.set("uv", key)

    @property
    def log(self) -> Path:
        """Log of the program's own installation."""
        return self._folder / "log"

    def make_environment(self, prefix: Path, log: Path, lock: int) -> None:
        """Make a virtual environment for this process's Python, without pip."""
        command: list[str | Path] = [self.program, "venv", "--python", sys.executable, prefix]
        _run(command, self.variables(), log, lock)

    def install(self, python: Path, constraints: Path, log: Path, lock: int, *more: str) -> None:
        """Install, with hashes, all that a pinned file names, without resolving anything.

        SetupError, with one line, if that fails. `lock`: descriptor that the tool inherits.
        """
        command: list[str | Path] = [
            self.program, "pip", "install", "--python", python, "--no-deps", "--require-hashes",
            "--build-constraints", constraints, "-r", constraints, *more,
        ]  # fmt: skip
        log.unlink(missing_ok=True)
        _run(command, self.variables(), log, lock)

    def unresolved(self, platform: str, python: str, *words: str | Path) -> str:
        """Return why requirements have no built files for a platform of uv's; empty: all have."""
        self.prepare(-1)
        command: list[str | Path] = [
            self.program, "pip", "compile", "--no-config", "--quiet", "--python-version", python,
            "--python-platform", platform, "--only-binary", ":all:", *words,
        ]  # fmt: skip
        root = self._constraints.parent
        ran = subprocess.run(
            command, cwd=root, env=self.variables(), capture_output=True, text=True
        )
        return ran.stderr.strip() if ran.returncode else ""

    def variables(self) -> dict[str, str]:
        """Return the environment variables for the program, with the user's settings of pip."""
        listed = subprocess.run(
            [self.program.with_name("python"), "-m", "pip", "config", "list"],
            capture_output=True,
            text=True,
        ).stdout
        return {**from_pip(listed, os.environ), **without_other_ros(os.environ)}


def from_pip(listed: str, environment: Mapping[str, str]) -> dict[str, str]:
    """Return uv's environment variables for the output of `pip config list`; the user's own win."""
    results = {
        "UV_NO_PROGRESS": "1",
        "UV_PYTHON_DOWNLOADS": "never",
        # All is pinned: a package may come from any index that has it.
        "UV_INDEX_STRATEGY": "unsafe-best-match",
    }
    for line in listed.splitlines():
        match = _SETTING.match(line)
        if match is None or match.group(1) not in _SETTINGS:
            continue
        value = str(ast.literal_eval(match.group(2)))
        name = _SETTINGS[match.group(1)]
        if name == "UV_INDEX":
            value = " ".join(each for each in value.split() if not _is_missing(each))
        if value:
            results[name] = value
    if environment.get("PIP_NO_CACHE_DIR", "").lower() in ("1", "true", "on", "yes"):
        results["UV_NO_CACHE"] = "1"
    return {name: value for name, value in results.items() if name not in environment}


def _is_missing(index: str) -> bool:
    return index.startswith("file://") and not Path(index.removeprefix("file://")).is_dir()


def _run(command: list[str | Path], variables: Mapping[str, str], log: Path, lock: int) -> None:
    try:
        run(command, variables, log, lock)
    except ChildError as error:
        raise SetupError(explanation(error)) from error


def explanation(error: ChildError) -> str:
    """Return in one line why pip or uv failed, and what to do."""
    text = error.log.read_text(errors="replace")
    if _HASHES.search(text):
        return (
            "a package's file is not the one that constraints-*.txt pin by its hash: it was not "
            f"installed; check the mirror that pip or uv uses (details: {error.log})"
        )
    if NO_NETWORK.search(text):
        return (
            "cannot download the Python packages; check the network and pip's settings "
            "(pip config list), then run diffbot again to resume "
            f"(details: {error.log})"
        )
    if "No space left" in text:
        return "the disk is full; the environment needs 1.5 GB; free space and run diffbot again"
    lines = [line for line in error.tail if line.lower().startswith("error")] or error.tail[-1:]
    return f"the installation failed: {' '.join(lines[:1])} (details: {error.log})"
