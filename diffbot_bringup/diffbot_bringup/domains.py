# SPDX-License-Identifier: Apache-2.0
"""DDS domains for runs that must not meet others, and the list of this machine's active runs.

A domain is claimed by binding one of its UDP ports that DDS never uses, on the loopback interface,
until the last process that holds it has ended, unless any DDS port of it is bound already. Each run
has a file in a folder of its user, locked (flock) while the run is active; its modification time is
the last use, and the domains unused for longest are claimed first.

It does not see other machines, bridged containers, other users' runs, or shells with another
XDG_RUNTIME_DIR or TMPDIR. Imports no ROS.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import socket
import stat
import sys
import tempfile
import time
from collections.abc import Iterable, MutableMapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from diffbot_bringup.usage import UsageError

VARIABLE = "ROS_DOMAIN_ID"
DOMAINS = range(1, 101)
"""Domains to claim. Never 0, where real robots are; the ports are below Linux's ephemeral ones."""

_FIRST_PORT, _PORTS = 7400, 250  # first port of domain 0, and ports per domain (DDSI-RTPS 9.6.1.1)
_CLAIM = 5  # offset of the port that claims a domain; participants use 0, 1 and from 10 on
_SOCKETS = ("/proc/net/udp", "/proc/net/udp6")


class DomainError(UsageError):
    """No domain can be claimed, or several runs match; the text states the remedy."""


@dataclass(frozen=True)
class DomainRun:
    """The run that uses a domain, since `started` (s since the epoch).

    `launch` is true for runs started by a person, which others may want to join; `where`: folder of
    its results, or the one it was started in.
    """

    domain: int
    name: str
    pid: int
    started: float
    where: str
    launch: bool

    def __str__(self) -> str:
        since = time.strftime("%H:%M:%S", time.localtime(self.started))
        return f"domain {self.domain}: {self.name}, since {since}, process {self.pid}, {self.where}"


class Registration:
    """A listed run, with or without a domain of its own, until it is released or ends."""

    def __init__(self, run: DomainRun, record: int, port: socket.socket | None = None) -> None:
        self.run = run
        self._record = record
        self._port = port
        self._write()

    @property
    def domain(self) -> int:
        return self.run.domain

    @property
    def own(self) -> bool:
        """Whether the run has claimed the domain for itself."""
        return self._port is not None

    def move(self, where: str) -> None:
        """Update the folder of the results, when it becomes known later."""
        self.run = replace(self.run, where=where)
        self._write()

    def _write(self) -> None:
        text = json.dumps(asdict(self.run)).encode()
        os.ftruncate(self._record, 0)
        os.pwrite(self._record, text, 0)

    def release(self) -> None:
        """Remove the run from the list and free its domain; a second call has no effect."""
        if self._record < 0:
            return
        with contextlib.suppress(OSError):
            os.utime(self._record)  # the domain counts as unused from now on
        # A fork of this process may have the file open, too.
        fcntl.flock(self._record, fcntl.LOCK_UN)
        os.close(self._record)
        self._record = -1
        if self._port:
            self._port.close()

    def __enter__(self) -> Registration:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def claim(name: str, launch: bool = False) -> Registration:
    """Claim a domain that nobody on this machine uses; `launch`: see DomainRun.

    DomainError: All DOMAINS are in use, or there is no folder for the list.
    """
    folder = _own_folder()
    used = _bound_ports()
    for domain in _longest_rested(folder):
        first = _FIRST_PORT + _PORTS * domain
        if used.intersection(range(first, first + _PORTS)):
            continue
        port = _bind(first + _CLAIM)
        if port is None:
            continue
        record = _lock(folder / str(domain), wait=False)
        if record is None:
            port.close()
            continue
        return Registration(_run(domain, name, "", launch), record, port)
    raise DomainError(
        f"the ROS domains {DOMAINS[0]} to {DOMAINS[-1]} are all in use on this machine; end a run, "
        f"or choose a domain: {VARIABLE}=N"
    )


def announce(domain: int, name: str, where: str = "", launch: bool = False) -> Registration:
    """List a run whose domain is not its own. Raises DomainError without a folder."""
    record = _lock(_own_folder() / f"{domain}-{os.getpid()}", wait=True)
    assert record is not None
    return Registration(_run(domain, name, where, launch), record)


def simulate(domain: int, name: str, where: str, namespace: str = "") -> Registration:
    """Register as the only run that simulates a robot, in a namespace, in a domain of the user's.

    Raises:
        DomainError: Another run does so already, or there is no folder for the list.
    """
    words = "-".join(("simulated", *namespace.split("/")))
    path = _own_folder() / f"{domain}-{words}"
    record = _lock(path, wait=False)
    if record is None:
        other = "it has just started"
        with contextlib.suppress(OSError, ValueError, TypeError):
            other = str(DomainRun(**json.loads(path.read_text())))
        raise DomainError(
            f"another run simulates a robot in {VARIABLE}={domain} ({other}), and the nodes of "
            "both would be connected; stop it, choose another domain, or unset the variable: each "
            "run then gets its own domain"
        )
    return Registration(_run(domain, name, where, launch=False), record)


def runs() -> list[DomainRun]:
    """Return the active runs of this user, sorted by domain and start."""
    folder = _folder()
    results = []
    for path in folder.iterdir() if _is_own(folder) else ():
        with contextlib.suppress(OSError, ValueError, TypeError):
            text = _read_if_locked(path)
            if text is not None:
                results.append(DomainRun(**json.loads(text)))
    return sorted(results, key=lambda run: (run.domain, run.started))


def join(environment: MutableMapping[str, str]) -> DomainRun | None:
    """Set ROS_DOMAIN_ID in `environment` to the domain of the only active launch, and return it.

    None, without a change: the user has set it, no launch is active, or all are in domain 0.

    Raises:
        DomainError: Active launches use several domains; the text lists them.
    """
    if environment.get(VARIABLE):
        return None
    launches = [run for run in runs() if run.launch]
    if len({run.domain for run in launches}) > 1:
        listed = "".join(f"\n  {run}" for run in launches)
        raise DomainError(f"several runs are active; set {VARIABLE} to the domain of one:{listed}")
    if not launches or launches[0].domain == 0:
        return None
    environment[VARIABLE] = str(launches[0].domain)
    return launches[0]


def join_launch(command: str) -> None:
    """Join the only active launch, see `join`, and say which one on standard error."""
    if run := join(os.environ):
        text = f"diffbot {command}: in domain {run.domain} of the run {run.name}"
        print(text, file=sys.stderr, flush=True)


def _run(domain: int, name: str, where: str, launch: bool) -> DomainRun:
    return DomainRun(domain, name, os.getpid(), time.time(), where or os.getcwd(), launch)


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.access(runtime, os.W_OK | os.X_OK):
        return Path(runtime, "diffbot")
    return Path(tempfile.gettempdir(), f"diffbot-{os.getuid()}")


def _is_own(folder: Path) -> bool:
    """Whether only this user can write to the folder; a link is not followed."""
    try:
        status = folder.lstat()
    except OSError:
        return False
    return (
        stat.S_ISDIR(status.st_mode)
        and status.st_uid == os.getuid()
        and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    )


def _own_folder() -> Path:
    folder = _folder()
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        raise DomainError(f"cannot make the folder {folder}: {error.strerror}") from None
    if not _is_own(folder):
        raise DomainError(
            f"{folder}, where runs are listed, is not a folder that only this user can write to; "
            "remove it, or set TMPDIR to another place"
        )
    return folder


def _lock(path: Path, wait: bool) -> int | None:
    """Open and lock a file; return None if another process holds it and `wait` is false."""
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
            if os.path.samestat(os.fstat(descriptor), os.stat(path)):
                return descriptor
        except BlockingIOError:
            os.close(descriptor)
            return None
        except FileNotFoundError:
            pass
        os.close(descriptor)  # it was removed before the lock: try again


def _read_if_locked(path: Path) -> str | None:
    """Return the text of an active run. For an ended one, delete its file, but not its domain's."""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read()
        if "-" in path.name:
            path.unlink(missing_ok=True)
    return None


def _longest_rested(folder: Path) -> Iterable[int]:
    """Return the domains, those never used first (shuffled), then by the time of their last use."""

    def last_use(domain: int) -> float:
        try:
            return (folder / str(domain)).stat().st_mtime
        except OSError:
            return 0.0

    return sorted(random.SystemRandom().sample(DOMAINS, len(DOMAINS)), key=last_use)


def _bound_ports() -> set[int]:
    ports = set()
    for name in _SOCKETS:
        with contextlib.suppress(OSError), open(name) as file:
            for line in file.readlines()[1:]:
                ports.add(int(line.split()[1].rpartition(":")[2], 16))
    return ports


def _bind(port: int) -> socket.socket | None:
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.bind(("127.0.0.1", port))
    except OSError:
        made.close()
        return None
    return made
