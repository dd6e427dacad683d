"""Run a tool of the set-up, with its output in a log file and its lines watched for progress."""

import subprocess
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

_TAIL = 25
_PATIENCE = 5.0
"""Seconds that an interrupted tool has to end by itself before it is killed."""


class ChildError(Exception):
    """A tool ended with a status other than zero."""

    def __init__(self, status: int, tail: Sequence[str], log: Path) -> None:
        super().__init__(f"exit status {status}")
        self.status = status
        self.tail = list(tail)
        self.log = log


def run(
    command: Sequence[str | Path],
    environment: Mapping[str, str],
    log: Path,
    lock: int,
    watch: Callable[[str], None] = lambda line: None,
    folder: Path | None = None,
) -> None:
    """Run command to its end, append its output to log and call watch for each of its lines.

    The tool inherits the descriptor of the lock and works in folder, or here. It raises ChildError
    when the tool fails.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    tail: deque[str] = deque(maxlen=_TAIL)
    with log.open("a") as file:
        file.write(f"$ {' '.join(map(str, command))}\n")
        child = subprocess.Popen(
            [str(word) for word in command],
            env=dict(environment),
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            pass_fds=(lock,) if lock >= 0 else (),
        )
        try:
            assert child.stdout is not None
            for line in child.stdout:
                file.write(line)
                file.flush()
                tail.append(line.rstrip())
                watch(line.rstrip())
            status = child.wait()
        except BaseException:
            _end(child)
            raise
    if status != 0:
        raise ChildError(status, tail, log)


def _end(child: subprocess.Popen[str]) -> None:
    child.terminate()
    try:
        child.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
