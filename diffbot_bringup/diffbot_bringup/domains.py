# SPDX-License-Identifier: Apache-2.0
"""DDS domains for runs that are to meet nobody, and the list of the runs that live on this machine.

A domain is taken by binding a UDP port of it that DDS never uses, on the loopback interface. The
kernel gives it to one process of one user only, and takes it back when the last process that holds
it has ended, also by SIGKILL. A domain in which anybody has bound a port of DDS is not taken, so
that a run in a domain that its user has chosen is not met either.

A file for each run, in a folder of the user's own, says what the run is; it is locked (flock) as
long as the run lives. Its time says when the domain was used last: those that have rested longest
are taken first, because nodes may still be dying in the others.

What it cannot do: see other machines, or containers with a network of their own on a bridge to this
one (discovery stays on this machine unless the user opens it); list the runs of other users; and
find runs from a shell whose XDG_RUNTIME_DIR or TMPDIR differs.

Standard library only: tests and tools use it without the rest of the suite.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import random
import socket
import stat
import tempfile
import time
from collections.abc import Iterable, MutableMapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import TracebackType

VARIABLE = "ROS_DOMAIN_ID"
DOMAINS = range(1, 101)
"""Never 0, where real robots live; and the ports of these lie below those that Linux lends."""

_FIRST_PORT, _PORTS = 7400, 250  # of domain 0, and of each domain (DDSI-RTPS 9.6.1.1)
_CLAIM = 5  # participants use 0, 1 and from 10 on
_SOCKETS = ("/proc/net/udp", "/proc/net/udp6")


class DomainError(Exception):
    """No domain can be taken, or several runs can be meant; the text says what to do."""


@dataclass(frozen=True)
class DomainRun:
    """Who lives in a domain.

    `launch` is true for what a person has started, which others may want to join; tests and fault
    tables are not looked for. `started` is in s since the epoch, `where` its results or its folder.
    """

    domain: int
    name: str
    pid: int
    started: float
    where: str
    launch: bool

    def __str__(self) -> str:
        """Return a line for a list."""
        since = time.strftime("%H:%M:%S", time.localtime(self.started))
        return f"domain {self.domain}: {self.name}, since {since}, process {self.pid}, {self.where}"


class Registration:
    """A run in the list, with or without a domain of its own, until it is released or ends."""

    def __init__(self, run: DomainRun, record: int, port: socket.socket | None = None) -> None:
        self.run = run
        self._record = record
        self._port = port
        self._write()

    @property
    def domain(self) -> int:
        """The number of its DDS domain."""
        return self.run.domain

    @property
    def own(self) -> bool:
        """Whether nobody else has the domain."""
        return self._port is not None

    def move(self, where: str) -> None:
        """Say where its results are, when that is known later."""
        self.run = replace(self.run, where=where)
        self._write()

    def _write(self) -> None:
        text = json.dumps(asdict(self.run)).encode()
        os.ftruncate(self._record, 0)
        os.pwrite(self._record, text, 0)

    def release(self) -> None:
        """Give it back; a second call changes nothing."""
        if self._record < 0:
            return
        with contextlib.suppress(OSError):
            os.utime(self._record)  # the domain rests from now on
        # A fork of this process may have the file, too: closing would not be enough.
        fcntl.flock(self._record, fcntl.LOCK_UN)
        os.close(self._record)
        self._record = -1
        if self._port:
            self._port.close()

    def __enter__(self) -> Registration:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def claim(name: str, where: str = "", launch: bool = False) -> Registration:
    """Take a domain in which nobody on this machine is.

    Args:
        name: of the run.
        where: its results; empty: the current folder.
        launch: see DomainRun.

    Raises:
        DomainError: all of DOMAINS are taken, or there is no folder for the list.
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
        return Registration(_run(domain, name, where, launch), record, port)
    raise DomainError(
        f"the ROS domains {DOMAINS[0]} to {DOMAINS[-1]} are all in use on this machine; end a run, "
        f"or choose a domain: {VARIABLE}=N"
    )


def announce(domain: int, name: str, where: str = "", launch: bool = False) -> Registration:
    """Put a run into the list whose domain is not its own. Raises DomainError without a folder."""
    record = _lock(_own_folder() / f"{domain}-{os.getpid()}", wait=True)
    assert record is not None
    return Registration(_run(domain, name, where, launch), record)


def simulate(domain: int, name: str, where: str, namespace: str = "") -> Registration:
    """Be the one run that simulates a robot in a domain that its user has chosen.

    Args:
        domain: number of the domain.
        name: of the run.
        where: its results.
        namespace: of the simulated robot's topics; robots in others are not met.

    Raises:
        DomainError: another run does, or there is no folder for the list.
    """
    words = "-".join(("simulated", *namespace.split("/")))
    path = _own_folder() / f"{domain}-{words}"
    record = _lock(path, wait=False)
    if record is None:
        other = "it has just begun"
        with contextlib.suppress(OSError, ValueError, TypeError):
            other = str(DomainRun(**json.loads(path.read_text())))
        raise DomainError(
            f"another run simulates a robot in {VARIABLE}={domain} ({other}), and both would be "
            "one graph; end it, choose another domain, or leave the variable unset: then each run "
            "has its own"
        )
    return Registration(_run(domain, name, where, launch=False), record)


def runs() -> list[DomainRun]:
    """Return the runs of this user that live, by domain and start."""
    folder = _folder()
    found = []
    for path in folder.iterdir() if _is_own(folder) else ():
        with contextlib.suppress(OSError, ValueError, TypeError):
            text = _read_if_locked(path)
            if text is not None:
                found.append(DomainRun(**json.loads(text)))
    return sorted(found, key=lambda run: (run.domain, run.started))


def join(environment: MutableMapping[str, str]) -> DomainRun | None:
    """Let environment's ROS_DOMAIN_ID be that of the one launch that lives.

    Nothing changes where the user has set it, where no launch lives, or where those that live are
    in domain 0 anyway. Returns the launch whose domain it is now, or None.

    Raises:
        DomainError: launches live in several domains; the text lists them.
    """
    if environment.get(VARIABLE):
        return None
    launches = [run for run in runs() if run.launch]
    if len({run.domain for run in launches}) > 1:
        listed = "".join(f"\n  {run}" for run in launches)
        raise DomainError(f"several runs are under way, set {VARIABLE} to the one meant:{listed}")
    if not launches or launches[0].domain == 0:
        return None
    environment[VARIABLE] = str(launches[0].domain)
    return launches[0]


def _run(domain: int, name: str, where: str, launch: bool) -> DomainRun:
    return DomainRun(domain, name, os.getpid(), time.time(), where or os.getcwd(), launch)


# The folder.


def _folder() -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if runtime and os.access(runtime, os.W_OK | os.X_OK):
        return Path(runtime, "diffbot")
    return Path(tempfile.gettempdir(), f"diffbot-{os.getuid()}")


def _is_own(folder: Path) -> bool:
    """Whether nobody else can write there; a link is not followed."""
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


# Files that are locked while a run lives.


def _lock(path: Path, wait: bool) -> int | None:
    """Open and lock a file; None where another holds it and this is not to wait."""
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
        os.close(descriptor)  # it was removed before the lock: once more


def _read_if_locked(path: Path) -> str | None:
    """Return the text of a run that lives; one that has ended is forgotten, its domain is not."""
    with path.open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return file.read()
        if "-" in path.name:
            path.unlink(missing_ok=True)
    return None


def _longest_rested(folder: Path) -> Iterable[int]:
    """Return the domains: those never used first, in no order, then by the time of their end."""

    def last_use(domain: int) -> float:
        try:
            return (folder / str(domain)).stat().st_mtime
        except OSError:
            return 0.0

    return sorted(random.SystemRandom().sample(DOMAINS, len(DOMAINS)), key=last_use)


# Ports.


def _bound_ports() -> set[int]:
    """Return the UDP ports that are bound on this machine, whoever has them."""
    ports = set()
    for name in _SOCKETS:
        with contextlib.suppress(OSError), open(name) as file:
            for line in file.readlines()[1:]:
                ports.add(int(line.split()[1].rpartition(":")[2], 16))
    return ports


def _bind(port: int) -> socket.socket | None:
    """Return a socket that holds a port, or None where somebody has it."""
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        made.bind(("127.0.0.1", port))
    except OSError:
        made.close()
        return None
    return made
