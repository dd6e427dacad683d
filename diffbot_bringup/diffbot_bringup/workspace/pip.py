"""Install the exact versions of constraints.txt with pip, with progress."""

import os
import re
import sys
from pathlib import Path

from diffbot_bringup.workspace import installed
from diffbot_bringup.workspace.child import ChildError, run
from diffbot_bringup.workspace.failure import SetupError
from diffbot_bringup.workspace.progress import Step
from diffbot_bringup.workspace.variables import without_other_ros

_OPTIONS = [
    "--disable-pip-version-check",
    "--no-input",
    "--no-deps",  # constraints.txt is complete, so that nothing has to be resolved
    "--no-compile",  # Python compiles what is used when it is used
    "--no-warn-script-location",
    "--retries=2",
    "--progress-bar=off",
]
_NETWORK = re.compile(
    r"NewConnectionError|ConnectTimeout|ReadTimeout|Name or service|name resolution|"
    r"Network is unreachable|Connection refused|ProxyError|Max retries|No matching distribution|"
    r"ConnectionResetError|Connection broken|Read timed out|SSLError"
)
_ITEM = re.compile(r"^(?:Collecting|Processing|Requirement already satisfied:) ?([^=\s]*)")
_DOWNLOADS = 0.7
"""Share of the time that downloading takes; installing takes the rest."""


def install(python: Path, constraints: Path, site: Path, log: Path, lock: int) -> None:
    """Install everything that constraints names; raise SetupError with one line if it fails."""
    total = sum(1 for line in constraints.read_text().splitlines() if _applies(line))
    environment = without_other_ros(os.environ)
    environment["PIP_USER"] = "0"  # a user's setting that a virtual environment refuses
    environment["PYTHONUNBUFFERED"] = "1"
    pip = [python, "-m", "pip", "install", *_OPTIONS]
    log.unlink(missing_ok=True)
    with Step(f"Installing {total} Python packages") as step:
        count = _Counter(step, total)
        try:
            # Packages that come as source are built with this setuptools and not with whatever
            # version is the newest today.
            run([*pip, _setuptools(constraints)], environment, log, lock)
            command = [*pip, "--no-build-isolation", "-r", constraints]
            run(command, environment, log, lock, count.watch)
        except ChildError as error:
            raise SetupError(_explanation(error)) from error
    if installed.incomplete(site):
        raise SetupError(f"pip left an incomplete environment, see {log}; run diffbot again")


def _setuptools(constraints: Path) -> str:
    for line in constraints.read_text().splitlines():
        if line.startswith("setuptools=="):
            return line
    raise SetupError(f"{constraints} has no line setuptools==...; renew it (see CONTRIBUTING.md)")


def _applies(line: str) -> bool:
    """Tell whether a line of constraints.txt is for this Python."""
    requirement, _, marker = line.partition(";")
    if not requirement.strip() or requirement.lstrip().startswith("#"):
        return False
    version = f'"{sys.version_info[0]}.{sys.version_info[1]}"'
    return not marker or version in marker


def _explanation(error: ChildError) -> str:
    text = error.log.read_text(errors="replace")
    if _NETWORK.search(text):
        return (
            "cannot download the Python packages; check the network and pip's settings "
            "(pip config list), then run diffbot again: it goes on where it stopped "
            f"(details: {error.log})"
        )
    if "No space left" in text:
        return "the disk is full; the environment needs 1.5 GB; free some and run diffbot again"
    reasons = [line for line in error.tail if line.startswith("ERROR")] or error.tail[-1:]
    return f"pip failed: {' '.join(reasons[:1])} (details: {error.log})"


class _Counter:
    """Turns pip's lines into progress."""

    def __init__(self, step: Step, total: int) -> None:
        self._step = step
        self._total = total
        self._seen = 0

    def watch(self, line: str) -> None:
        """Take one line of pip's output."""
        match = _ITEM.match(line)
        if match is None:
            if line.startswith("Installing collected packages"):
                self._step.update(round(_DOWNLOADS * self._total), self._total, "unpacking")
            return
        self._seen += 1
        done = round(_DOWNLOADS * min(self._seen, self._total))
        self._step.update(done, self._total, match.group(1))
