# SPDX-License-Identifier: Apache-2.0
"""The executables of this package, and the way all packages' executables start."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from itertools import takewhile
from pathlib import Path
from typing import Any

from diffbot_description.standard_streams import keep_streams
from diffbot_description.terminal_text import complain, refusal_of_machine
from diffbot_node.launch_supervision import PEERS, join_launch
from diffbot_node.same_names import same_names

# Above all ordinary processes, below all other real-time ones.
REAL_TIME_PRIORITY = 1


def end_on_interrupt() -> None:
    """Let Ctrl-C end this process without a word, also one that came while Python was starting."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, (signal.SIGINT,))


class Executable:
    """The entry point of a node's class, or of a function that returns an exit status.

    Its module is imported when it is called; `environment` is for libraries that are then loaded.
    """

    def __init__(
        self, module: str, name: str, environment: Mapping[str, str] | None = None
    ) -> None:
        self._module, self._name = module, name
        self._environment = environment or {}

    def load(self) -> Any:
        return getattr(import_module(self._module), self._name)

    def set_environment(self) -> None:
        """Set the variables that are not set, before the module is imported."""
        for name, value in self._environment.items():
            os.environ.setdefault(name, value)

    def __call__(self) -> int:
        self.set_environment()
        return _run(self._start)

    def _start(self) -> int:
        result = self.load()
        if not isinstance(result, type):
            gc.enable()
            return int(result())
        from diffbot_node.node_process import run_node

        return run_node(result)


def _run(start: Callable[[], int]) -> int:
    """Call a function that runs the process; return the exit status."""
    end_on_interrupt()
    keep_streams()
    join_launch()
    gc.disable()  # until all modules are loaded, which live on: it takes a tenth of the start
    status = 1
    try:
        status = start()
        return status
    except (ImportError, MemoryError, RuntimeError) as error:
        said = [refusal_of_machine(error)]
        if isinstance(error, ImportError) and said == [None]:
            said = [str(o) for o in same_names(os.environ.get("AMENT_PREFIX_PATH", "")) if o.used]
        if said in ([], [None]):
            raise
        for text in said:
            complain(Path(sys.argv[0]).name, text)
        return status
    finally:
        PEERS.leave(status)
        # Looking for garbage takes longer than everything else at the exit.
        gc.freeze()


def composed() -> int:
    """Run several nodes in this process, by their executables; return the exit status.

    The command line is `composed PACKAGE/EXECUTABLE [...] [--ros-args ...]`, in order of creation.
    """
    return _run(_composed)


def _composed() -> int:
    words = takewhile(lambda word: word != "--ros-args", sys.argv[1:])
    try:
        results = [_find(word) for word in words if word]
    except (ImportError, AttributeError, ValueError) as error:
        print(f"composed: {error}; give nodes as PACKAGE/EXECUTABLE", file=sys.stderr)
        return 2
    for each in results:
        each.set_environment()
    nodes = [each.load() for each in results]
    from diffbot_node.node_process import run_composed

    return run_composed(nodes)


def _find(word: str) -> Executable:
    package, _, name = word.partition("/")
    executable = getattr(import_module(f"{package}.executables"), name)
    if not isinstance(executable, Executable):
        raise ValueError(f"'{word}' is no node")
    return executable


def effort_watchdog() -> int:
    """Run the effort_watchdog node and return its exit status.

    With real-time priority if permitted (limit `rtprio`), as it must be in time when other programs
    overload the computer. Later threads, also those of DDS, inherit it.
    """
    end_on_interrupt()
    with contextlib.suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(REAL_TIME_PRIORITY))
    return Executable("diffbot_node.effort_watchdog_node", "EffortWatchdogNode")()
