# SPDX-License-Identifier: Apache-2.0
"""Lock-step under random schedules: late starts, late and lost messages, killed processes.

    ./diffbot python benchmarks/schedules.py --schedules 500 --processes 30

Runs the nodes of six graphs in virtual time with random schedules (see test/faults/schedules.py).
Then runs whole launches, in which at a random moment of the start or the run one process is stopped
for up to 2.5 s (SIGSTOP) or killed (SIGKILL). A launch with a stopped process must give the results
of an undisturbed one. A launch with a killed process must end, not as completed unless it was over,
and leave no process. Prints the number of failures; the exit status is 1 if there are any.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
import uuid
from pathlib import Path

from meetings import LAUNCHES, Launch, differences, left, marked, summary

from faults.schedules import (
    GRAPHS,
    LONGEST_STALL,
    disturbed,
    problem,
    undisturbed,
)

WIDTHS = (10, 8, 8, 12, 9)
# Latest disturbance after the start of a launch, and timeout of its end, s of wall time.
LATEST, LONGEST = 6.0, 90.0


def in_virtual_time(graphs: list[str], schedules: int, first: int) -> int:
    """Try schedules on the graphs; return the number of broken runs."""
    each = -(-schedules // len(graphs))
    broken = 0
    heads = zip(("schedules", "killed", "broken", "longest, s", "wall, s"), WIDTHS, strict=True)
    print("graph".ljust(14) + "".join(head.rjust(width) for head, width in heads))
    for graph in graphs:
        begin, wanted = time.perf_counter(), undisturbed(graph)
        problems: list[str] = []
        kills, longest = 0, 0.0
        for seed in range(first, first + each):
            found = disturbed(graph, seed)
            kills += found.killed is not None
            longest = max(longest, found.took)
            if what := problem(wanted, found):
                problems.append(f"  seed {seed}: {what}")
        wall = time.perf_counter() - begin
        row = zip(
            (each, kills, len(problems), round(longest, 1), round(wall, 1)), WIDTHS, strict=True
        )
        print(graph.ljust(14) + "".join(str(value).rjust(width) for value, width in row))
        print("\n".join(problems[:5]), end="\n" if problems else "", flush=True)
        broken += len(problems)
    return broken


def with_processes(count: int, first: int) -> int:
    """Disturb launches; return the number with a wrong end."""
    broken = 0
    lone: dict[str, dict] = {}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for seed in range(first, first + count):
            chance = random.Random(seed)
            name = chance.choice(list(LAUNCHES))
            if name not in lone:
                launch = Launch(name, folder / f"lone-{name}", uuid.uuid4().hex, None)
                _wait(launch)
                lone[name] = summary(launch.results)
            said, wrong = _disturb(name, folder / str(seed), chance, lone[name])
            broken += bool(wrong)
            print(f"{seed:4} {name:13} {said}: {wrong or 'as it should be'}", flush=True)
    return broken


def _disturb(name: str, folder: Path, chance: random.Random, wanted: dict) -> tuple[str, str]:
    """Run and disturb a launch; return the disturbance and the error."""
    mark = uuid.uuid4().hex
    launch = Launch(name, folder, mark, None)
    time.sleep(LATEST * chance.random())
    nodes = {pid: _node(words) for pid, words in sorted(marked(mark).items()) if "/lib/" in words}
    if not nodes or launch.poll():
        _wait(launch)
        return "undisturbed", _unlike(launch, wanted)
    victim = chance.choice(list(nodes))
    killed = chance.random() < 0.5
    duration = LONGEST_STALL * chance.random()
    with contextlib.suppress(ProcessLookupError):
        os.kill(victim, signal.SIGKILL if killed else signal.SIGSTOP)
        if not killed:
            time.sleep(duration)
            os.kill(victim, signal.SIGCONT)
    _wait(launch)
    what = f"{nodes[victim]} {'killed' if killed else f'stood still for {duration:.1f} s'}"
    if rest := left(mark):
        return what, f"left running: {rest}"
    return what, _after_kill(launch, wanted) if killed else _unlike(launch, wanted)


def _node(words: str) -> str:
    """Return the name of the executable in a command line."""
    return next(Path(word).name for word in words.split() if "/lib/" in word)


def _wait(launch: Launch) -> None:
    end = time.monotonic() + LONGEST
    while not launch.poll() and time.monotonic() < end:
        time.sleep(0.05)
    launch.stop()


def _unlike(launch: Launch, wanted: dict) -> str:
    """Return the differences from the undisturbed run; empty if there are none."""
    if (status := launch.ending().status) != 0:
        return f"exit status {status}: {launch.ending().said[-300:]}"
    return ", ".join(list(differences(summary(launch.results), wanted, 0.0))[:4])


def _after_kill(launch: Launch, wanted: dict) -> str:
    """Return the error of a run with a killed process; empty if there is none."""
    ending, found = launch.ending(), summary(launch.results)
    if ending.status is None:
        return f"still running after {LONGEST:g} s"
    if ending.status == 0:
        return "" if found == wanted else "exit status 0 though a process was killed"
    if found.get("outcome") == "completed" and found != wanted:
        return "completed, and not like the undisturbed run"
    return ""


def main() -> int:
    """Print the tables; return 1 if a schedule broke a run."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--schedules", type=int, default=500, help="total number of schedules, over the graphs"
    )
    parser.add_argument("--processes", type=int, default=0, help="launches to disturb")
    parser.add_argument("--first", type=int, default=0, help="seed of the first schedule")
    parser.add_argument("--graph", choices=tuple(GRAPHS), action="append", help="only these graphs")
    options = parser.parse_args()
    broken = 0
    if options.schedules > 0:
        broken += in_virtual_time(options.graph or list(GRAPHS), options.schedules, options.first)
    if options.processes > 0:
        broken += with_processes(options.processes, options.first)
    print(f"{broken} were not as they should be")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
