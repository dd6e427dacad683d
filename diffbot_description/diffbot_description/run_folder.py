# SPDX-License-Identifier: Apache-2.0
"""A folder of results belongs to one run: nothing of another run is overwritten.

The first node of a run, its launch, or the command that writes there leaves the file CLAIM with a
random name, that of the launch (from the environment variable LAUNCH), and locks it (flock) until
it ends. A claim alone in a folder, which nobody locks, is that of a run that was killed before it
wrote anything, and counts as none. Nodes started by hand share a folder while one of them runs.
Imports no ROS.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import tempfile
import time
from collections.abc import Iterator, Mapping
from datetime import datetime
from itertools import count
from pathlib import Path

from diffbot_description.files import SUMMARY, make_folder
from diffbot_description.named_paths import expanded

try:
    import fcntl
except ImportError:  # Windows has no such locks
    fcntl = None  # type: ignore[assignment]

LAUNCH = "DIFFBOT_LAUNCH"
CLAIM = ".run"
"""File in a folder of results that tells whose they are."""
# Longest time to wait for another process that writes its claim, s.
_PATIENCE = 2.0
_locks: dict[tuple[int, int], int] = {}  # device and inode of a claim -> descriptor, open for good


class FolderTaken(ValueError):
    """The folder belongs to another run; the text says to which, and what to do."""


def make_writable(folder: Path) -> None:
    """Create a folder, and try whether files can be written there; else OSError."""
    make_folder(folder)
    with tempfile.TemporaryFile(dir=folder):
        pass


def dated_folder(kind: str, root: Path = Path("results")) -> Path:
    """Create a new folder of results, `root`/<date>-`kind` or <date>-<number>-`kind`."""
    root.mkdir(parents=True, exist_ok=True)
    date = f"{datetime.now():%Y%m%d-%H%M%S}"
    for number in count(1):
        folder = root / (f"{date}-{kind}" if number == 1 else f"{date}-{number}-{kind}")
        try:
            folder.mkdir()
        except FileExistsError:
            continue
        return folder
    raise AssertionError("count ends")


@contextlib.contextmanager
def output_folder(
    given: str | Path | None, run: str, option: str = "--output ", adds: bool = False
) -> Iterator[Path]:
    """Hold a command's folder of results, made and writable, while the context lasts.

    If nothing was written there, neither a claim nor a new folder remains.

    Args:
        given: None: a new dated one, results/<date>-`run`.
        run: Name of the command, for the claim and for others.
        option: How the person gives a folder, for messages.
        adds: The command goes on in a folder that it has begun, after it has ended there.

    Raises:
        ValueError: Nothing can be written there.
        FolderTaken: It belongs to another run.
    """
    where = str(given) if given else "results"
    try:
        is_new = not given or not os.path.exists(expanded(given))
        folder = expanded(given) if given else dated_folder(run)
        make_writable(folder)
        file = _opened(folder)
    except OSError as error:
        raise ValueError(
            f"{option}{where}: results cannot be written there ({error.strerror}); give a folder "
            "that can be created and written"
        ) from None
    try:
        try:
            fresh = _take(file, folder, run, adds)
        except FolderTaken as error:
            raise FolderTaken(f"{option}{error}") from None
        try:
            yield folder
        finally:
            with contextlib.suppress(OSError):
                if fresh and os.listdir(folder) == [CLAIM]:
                    (folder / CLAIM).unlink()
                    if is_new:
                        folder.rmdir()
    finally:
        os.close(file)


def check_replaceable(path: Path, option: str = "--output ") -> None:
    """Raise FolderTaken if a file that is to be written is one of a run's results."""
    if not os.path.exists(path):  # nor does a name that is too long
        return
    try:
        owner = _owner(file := os.open(path.parent / CLAIM, os.O_RDONLY))
    except OSError:
        return
    os.close(file)
    raise FolderTaken(f"{option}{path}: is a file of {_whose(owner)}; give another name")


def _opened(folder: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
    return os.open(folder / CLAIM, flags, 0o644)


def _take(file: int, folder: Path, run: str, adds: bool) -> bool:
    """Take a folder for a command; return whether it was nobody's."""
    # Another command that has written nothing removes its claim.
    if not locked(file, alone=True) or not _is_at(file, folder):
        raise FolderTaken(_refusal(folder, _owner(file), "is active"))
    owner = _owner(file)
    if _is_free(owner, folder, adds):
        _write(file, new_launch_name(), run)
        return True
    if owner is None or not adds or owner.get("run") != run:
        raise FolderTaken(_refusal(folder, owner, "has ended"))
    return False


def _is_at(file: int, folder: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file), os.stat(folder / CLAIM))
    except OSError:
        return False


def _is_free(owner: Mapping[str, str] | None, folder: Path, adds: bool = False) -> bool:
    """Whether a folder whose claim nobody locks holds results of nobody."""
    if owner is None:
        return adds or not (folder / SUMMARY).exists()
    return os.listdir(folder) == [CLAIM]


def new_launch_name() -> str:
    """Return a random name for a launch."""
    return secrets.token_hex(6)


def launch_name(environment: Mapping[str, str] = os.environ) -> str:
    """Return the random name of this process's launch; empty if there is none."""
    return environment.get(LAUNCH, "")


def claim(folder: Path, launch: str, run: str = "") -> None:
    """Make an existing folder this run's own until this process ends.

    `run` is its name for the message to others. FolderTaken: it belongs to another run.
    """
    file = _opened(folder)
    status = os.fstat(file)
    if (status.st_dev, status.st_ino) in _locks:
        os.close(file)
        return
    try:
        first = locked(file, alone=True)
        if first:
            if _is_free(owner := _owner(file), folder):
                _write(file, launch, run)
            elif owner is None or not launch or owner.get("launch") != launch:
                raise FolderTaken(_refusal(folder, owner, "has ended"))
        deadline = time.monotonic() + _PATIENCE
        while not locked(file, alone=False) and time.monotonic() < deadline:
            time.sleep(0.01)
        owner = _owner(file)
        if owner is None or owner.get("launch") != launch:
            raise FolderTaken(_refusal(folder, owner, "is active"))
    except BaseException:
        os.close(file)
        raise
    _locks[status.st_dev, status.st_ino] = file


def locked(file: int, alone: bool) -> bool:
    """Lock a file, alone or with others, if none holds it otherwise; True without locks, too.

    Some file systems, and Windows, have no locks.
    """
    if fcntl is None:
        return True
    try:
        fcntl.flock(file, (fcntl.LOCK_EX if alone else fcntl.LOCK_SH) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _owner(file: int) -> dict[str, str] | None:
    """Return what the owner has written; None if there is nothing."""
    with contextlib.suppress(ValueError, OSError):
        owner = json.loads(os.pread(file, 4096, 0))
        if isinstance(owner, dict):
            return {str(key): str(value) for key, value in owner.items()}
    return None


def _write(file: int, launch: str, run: str) -> None:
    since = datetime.now().isoformat(" ", "seconds")
    os.ftruncate(file, 0)
    os.pwrite(file, json.dumps({"launch": launch, "run": run, "since": since}).encode(), 0)


def _refusal(folder: Path, owner: Mapping[str, str] | None, state: str) -> str:
    return (
        f"'{folder}' holds the results of {_whose(owner)}"
        f"{'' if owner is None else f', which {state}'}: give another folder, or remove that one; "
        "without one each run makes its own"
    )


def _whose(owner: Mapping[str, str] | None) -> str:
    if owner is None:
        return "an earlier run"
    what = f" ({owner['run']})" if owner.get("run") else ""
    return f"the run{what} of {owner.get('since', 'an unknown time')}"
