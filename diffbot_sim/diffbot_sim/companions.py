"""Programs that a node starts, watches, and ends with itself."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace

from diffbot_node import Parameter

# s that a program has to end after SIGINT, and then after SIGTERM.
GRACE = (3.0, 1.5)
PR_SET_PDEATHSIG = 1
# Loaded here: between fork and exec of a process with threads nothing may be loaded.
_LIBC = ctypes.CDLL(None)


def _die_with_parent(number: int) -> None:
    """Run in the new process: the kernel sends it the signal when its parent is killed outright."""
    # What a shell starts in the background ignores SIGINT, and so would its children.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _LIBC.prctl(PR_SET_PDEATHSIG, number)


class Companion:
    """One program.

    Args:
        name: how people call it.
        command: its command line.
        environment: variables on top of this process's own; None takes one away.
        output: file that gets what it says; None leaves it on the terminal.
        inherited: file descriptors that it gets.
        death_signal: what ends it when this process is killed outright.

    Raises:
        OSError: it could not be started.
    """

    def __init__(
        self,
        name: str,
        command: Sequence[str],
        environment: Mapping[str, str | None] | None = None,
        output: Path | None = None,
        inherited: Sequence[int] = (),
        death_signal: int = signal.SIGTERM,
    ) -> None:
        self.name = name
        variables = {**os.environ, **(environment or {})}
        with contextlib.ExitStack() as files:
            log = None if output is None else files.enter_context(output.open("a"))
            self._process = subprocess.Popen(
                list(command),
                env={key: value for key, value in variables.items() if value is not None},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=None if log is None else subprocess.STDOUT,
                pass_fds=inherited,
                # Ctrl-C at a terminal is for the node, which then ends its companions.
                start_new_session=True,
                preexec_fn=lambda: _die_with_parent(death_signal),
            )

    @property
    def status(self) -> int | None:
        """Exit status; None while it runs."""
        return self._process.poll()

    def wait(self, patience: float) -> int | None:
        """Return its exit status; None when it runs on for longer than patience, s."""
        try:
            return self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return None

    @property
    def number(self) -> int:
        """Its process number."""
        return self._process.pid

    def signal(self, number: int) -> bool:
        """Send a signal to it and to all that it has started; False when none of them is left.

        Programs such as `gz` start others and may end before them.
        """
        self._process.poll()  # else it would stay as a zombie and count as running
        try:
            os.killpg(self._process.pid, number)
        except ProcessLookupError:
            return False
        return True


def stop_all(companions: Sequence[Companion], grace: tuple[float, float] = GRACE) -> None:
    """End the companions and what they have started: SIGINT, later SIGTERM, later SIGKILL."""
    running = list(companions)
    for number, patience in zip(
        (signal.SIGINT, signal.SIGTERM, signal.SIGKILL), (*grace, 1.0), strict=True
    ):
        running = [companion for companion in running if companion.signal(number)]
        end = time.monotonic() + patience
        while (running := [c for c in running if c.signal(0)]) and time.monotonic() < end:
            time.sleep(0.02)
        if not running:
            return


# ---
# Parameters that only some simulators offer, and how the others refuse them.

NOT_OFFERED = (
    Parameter("paused", False, "must be false: time goes on as soon as all is ready"),
    Parameter("camera", False, "must be false: there is none"),
)


def refuse_not_offered(values: SimpleNamespace) -> None:
    """Raise ValueError when one of them is wanted."""
    for parameter in NOT_OFFERED:
        if getattr(values, parameter.name):
            raise ValueError(
                f"parameter '{parameter.name}' = true: this simulator does not offer it; leave it "
                "out, or use sim:=gazebo"
            )
