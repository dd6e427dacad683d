# SPDX-License-Identifier: Apache-2.0
"""Launches whose processes carry a mark in their environment, and their summaries compared."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from launch_runs import flat

from diffbot_bringup import domains

MARK = "DIFFBOT_MARK"
OF_THE_DAY = {"started", "real_time_factor"}
"""What a summary says of the machine and not of the robot."""


def marked(mark: str) -> dict[int, str]:
    """Return the command lines of the processes with a mark, by process id."""
    results = {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError):
            if entry.name.isdigit() and f"{MARK}={mark}".encode() in (
                (entry / "environ").read_bytes().split(b"\0")
            ):
                words = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                results[int(entry.name)] = words
    return results


def summary(results: Path) -> dict[str, Any]:
    """Return the summary of a run; empty if there is none."""
    try:
        text = (results / "summary.json").read_text(encoding="utf-8")
    except OSError:
        return {}
    return {key: value for key, value in json.loads(text).items() if key not in OF_THE_DAY}


def differences(a: Mapping[str, Any], b: Mapping[str, Any], tolerance: float = 0.0) -> list[str]:
    """Return the keys in which two summaries differ, numbers by more than `tolerance`."""
    ours, others = flat(a), flat(b)
    results = []
    for key in dict.fromkeys((*ours, *others)):
        x, y = ours.get(key), others.get(key)
        numbers = isinstance(x, (int, float)) and isinstance(y, (int, float))
        if not (numbers and math.isclose(x, y, rel_tol=tolerance) or x == y):
            results.append(f"{key} {str(x)[:40]} instead of {str(y)[:40]}")
    return results


def _hear_all() -> None:
    """Undo what a shell's `&` and nohup do, which a launch respects."""
    for number in (signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


class MarkedRun:
    """A started launch, or its nodes one by one.

    Args:
        words: Name of the launch file and its arguments.
        mark: Mark of its processes; runs may share one.
        log: File for their output.
        domain: DDS domain; None: its own.
        commands: Command lines and environments to start instead of the launch.
    """

    def __init__(
        self,
        words: Sequence[str],
        mark: str,
        log: Path,
        domain: int | None = None,
        commands: Sequence[tuple[list[str], Mapping[str, str]]] = (),
    ) -> None:
        self.mark, self._log = mark, log
        variables = {key: text for key, text in os.environ.items() if key != domains.VARIABLE}
        runner = [sys.executable, "-m", "diffbot_bringup.cli", "launch", *words]
        more = {MARK: mark} | ({} if domain is None else {domains.VARIABLE: str(domain)})
        self.begun, self.ended = time.monotonic(), 0.0
        with log.open("wb") as file:
            self.all = [
                subprocess.Popen(
                    command,
                    env={**environment, **more},
                    cwd=log.parent,
                    stdin=subprocess.DEVNULL,
                    stdout=file,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    preexec_fn=_hear_all,
                )
                for command, environment in commands or [(runner, variables)]
            ]
        self.process = self.all[0]

    @property
    def said(self) -> str:
        """What it has written to the terminal."""
        return self._log.read_text(errors="replace")

    @property
    def status(self) -> int | None:
        """Exit status of the first process that failed, else 0; None while all run."""
        codes = [process.poll() for process in self.all]
        failed = next((code for code in codes if code), None)
        return failed if failed or None in codes else 0

    def poll(self) -> bool:
        """Whether all that were started have ended; records when."""
        if not self.ended and all(process.poll() is not None for process in self.all):
            self.ended = time.monotonic()
        return bool(self.ended)

    def left(self, seconds: float) -> list[str]:
        """Wait until no process with the mark is there; return the command lines of the others."""
        deadline = time.monotonic() + seconds
        while True:
            self.poll()
            result = marked(self.mark)
            if not result or time.monotonic() > deadline:
                return list(result.values())
            time.sleep(0.05)

    def stop(self, seconds: float = 15.0) -> None:
        """End what was started by SIGINT, and after a time by SIGKILL."""
        for number in (signal.SIGINT, signal.SIGKILL):
            deadline = time.monotonic() + seconds
            for process in self.all:
                if process.poll() is None:
                    process.send_signal(number)
            for process in self.all:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(deadline - time.monotonic(), 0.01))

    def kill(self) -> None:
        """Kill all that has the mark."""
        for number in marked(self.mark):
            with contextlib.suppress(ProcessLookupError):
                os.kill(number, signal.SIGKILL)
        for process in self.all:
            process.wait()


def node_commands(
    words: Sequence[str], folder: Path
) -> Iterator[tuple[list[str], Mapping[str, str]]]:
    """Yield the command line and the environment of each node of a launch."""
    from diffbot_bringup.xml_launch.arguments import understand
    from diffbot_bringup.xml_launch.resolver import Resolver

    request = understand(list(words))
    assert request is not None, "a launch file is named"
    resolver = Resolver(os.environ)
    resolver.file(request.path, request.given.items())
    for number, process in enumerate(resolver.processes):
        files = folder / f"parameters-{number}"
        files.mkdir(parents=True)
        yield process.arguments(files), process.environment
