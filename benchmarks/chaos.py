#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random signals to random processes of runs, the runner and its guard included.

    ./diffbot python benchmarks/chaos.py [--robots 100] [--seed 0] [--together 10]
        [--kind real --kind composed --kind separate]

Each run is of a real robot (sim:=none) whose driver is a simulator outside of the run, of a
simulated one in one process (composed), or of a simulated one whose nodes are processes of their
own (separate: composed:=false); half of them are of the first kind. At random moments, of the
start too, one to three signals out of STOP, TSTP, CONT, INT, TERM, HUP and KILL go to processes
drawn at random. Then the run gets SIGINT, if it still runs. For each run is checked:

- no process is left 15 s later;
- 0.2 s after the first signal that has to stop the robot of a run of several processes, its wheels
  have zero torque according to its driver's joint states, and keep it as long as it moves (which
  signals do: see `must_stop`);
- summary.json is there if the run's runner survived, and never says "completed";
- the next run, which is not disturbed, is right to the last digit.

Then `--together` runs start in the same second, with the same folder of results and each without a
given one: each is right, or refused; of those with the same folder exactly one is right.

Prints a line for each run; the exit status is 1 if anything is wrong.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmark_tables import options
from marked_runs import MarkedRun, differences, marked, summary

from diffbot_bringup import domains
from faults.process_nodes import ONE_PROCESS
from faults.process_probe import Probe

LAUNCHES = {
    "backstepping": ("laps:=0", "report:=html"),
    "ident": ("duration:=600.0", "until:=none", "report:=html"),
}
KINDS = {
    "real": ("sim:=none",),
    "composed": ("sim:=ideal", "speed:=1.0"),
    "separate": ("sim:=ideal", "composed:=false"),
}
NEXT = ("ident", "sim:=ideal", "duration:=3.0", "verification:=0.0", "report:=html")
SIGNALS = ("SIGSTOP", "SIGTSTP", "SIGCONT", "SIGINT", "SIGTERM", "SIGHUP", "SIGKILL")
LATEST = 10.0  # s of wall time from the start of a run to its first signal, at most
PAUSE = 0.6  # s between two signals, at most
ZERO_WITHIN = 0.2  # s
GONE_WITHIN = 15.0  # s
RUNNER, GUARD = "runner", "guard"
COMMANDERS = ("backstep_controller", "ident", "effort_watchdog")
DRIVER = "from diffbot_sim.executables import simulator as run; raise SystemExit(run())"


def must_stop(process: str, number: str) -> bool:
    """Whether a signal to a process of a run has to stop the robot.

    SIGCONT never; the guard ignores signals that ask it to end or, as the leader of a session, to
    stop; a report that is asked to end first writes what it has. All others stop, end or kill a
    process of the run, which ends it.
    """
    if number == "SIGCONT":
        return False
    if process == GUARD:
        return number in ("SIGSTOP", "SIGKILL")
    if process in (RUNNER, *COMMANDERS):
        return True
    return number in ("SIGSTOP", "SIGKILL")


def catches(process: int) -> bool:
    """Whether a process handles SIGTSTP.

    Before it does, the kernel discards that signal, as a process of a session of its own has no
    shell that could continue it.
    """
    with contextlib.suppress(OSError):
        status = Path(f"/proc/{process}/status").read_text()
        handled = int(status.partition("SigCgt:")[2].split()[0], 16)
        return bool(handled >> (signal.SIGTSTP - 1) & 1)
    return True


@dataclass
class Outcome:
    """What was done to a run, and what was wrong with it."""

    name: str
    sent: list[str] = field(default_factory=list)
    stopped_at: float | None = None  # wall time of the first signal that must stop, s
    wrong: list[str] = field(default_factory=list)
    zero_after: float | None = None


def processes_of(run: MarkedRun) -> dict[str, int]:
    """Return the processes of a run by name, as far as they have one."""
    results = {}
    for number, words in marked(run.mark).items():
        if number == run.process.pid:
            results[RUNNER] = number
        elif "__node:=" in words:
            results[words.partition("__node:=")[2].split()[0]] = number
        elif "/composed " in words:
            results[ONE_PROCESS] = number
        elif "diffbot_bringup.cli" in words:
            results[GUARD] = number
    return results


@contextlib.contextmanager
def driver(domain: int, folder: Path) -> Iterator[Probe]:
    """Start the driver of a robot that is real for the run, and a probe of its commands."""
    variables = {**os.environ, domains.VARIABLE: str(domain)}
    words = ("--ros-args", "-p", "engine:=ideal")
    with (folder / "driver.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-c", DRIVER, *words],
            env=variables,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    probe = Probe(domain, 0.01)
    try:
        if not probe.until(lambda: probe.record.reported, 60.0):
            raise SystemExit(f"chaos: the driver did not start, see {folder}")
        yield probe
    finally:
        process.kill()
        process.wait()
        probe.close()


def disturb(run: MarkedRun, outcome: Outcome, chance: random.Random) -> None:
    """Send the signals, at the end SIGINT to the runner.

    Nobody sees that a runner is stopped before it has started its guard, which is before all nodes.
    """
    time.sleep(LATEST * chance.random())
    guarded, unguarded = False, False  # unguarded: stopped before it had begun anything
    for _ in range(chance.choice((1, 1, 2, 3))):
        processes = processes_of(run)
        if not processes:
            break
        name, number = chance.choice(sorted(processes)), chance.choice(SIGNALS)
        with contextlib.suppress(ProcessLookupError):
            now, discarded = time.time(), number == "SIGTSTP" and not catches(processes[name])
            os.kill(processes[name], getattr(signal, number))
            guarded |= GUARD in processes
            unguarded |= name == RUNNER and number == "SIGSTOP" and not guarded
            how = " (discarded)" * discarded + " (before its guard)" * unguarded
            outcome.sent.append(f"{number[3:]} {name}{how}")
            if outcome.stopped_at is None and must_stop(name, number) and not discarded:
                outcome.stopped_at = now
        time.sleep(PAUSE * chance.random())
    time.sleep(1.0)
    if outcome.stopped_at is None:
        outcome.stopped_at = time.time()
    with contextlib.suppress(ProcessLookupError):
        os.kill(run.process.pid, signal.SIGINT)
        if unguarded:
            os.kill(run.process.pid, signal.SIGCONT)


def check_torque(outcome: Outcome, probe: Probe, simulated: bool) -> None:
    """Check that zero torque acts ZERO_WITHIN after the signal, and from then on.

    A simulated robot ends with its run, and with it the torque that acts on its wheels.
    """
    assert outcome.stopped_at is not None
    times, torques = list(probe.record.reported), list(probe.record.efforts)
    moving = [at for at, torque in zip(times, torques, strict=False) if any(torque)]
    if not moving:
        return
    if any(torques[-1]) and not simulated:
        outcome.wrong.append(f"the last torque is {torques[-1]}")
        return
    zero = next((at for at in times if at > moving[-1]), moving[-1])
    outcome.zero_after = max(0.0, zero - outcome.stopped_at)
    if outcome.zero_after > ZERO_WITHIN:
        outcome.wrong.append(f"zero after {outcome.zero_after:.2f} s")


def check_summary(outcome: Outcome, run: MarkedRun, results: Path) -> None:
    """Check that the summary is there, if it can be, and honest."""
    try:
        none = json.loads((results / "summary.json").read_text())
    except FileNotFoundError:
        begun = (results / ".run").exists()
        if begun and run.process.returncode not in (-signal.SIGKILL, None):
            outcome.wrong.append(f"no summary, status {run.process.returncode}")
        return
    if none.get("outcome") == "completed":
        outcome.wrong.append("the summary says completed")
    if run.process.returncode == 0:
        outcome.wrong.append("exit status 0")


def disturbed(seed: int, folder: Path, kinds: Sequence[str]) -> Outcome:
    """Run and disturb a launch."""
    chance = random.Random(seed)
    kind = chance.choice(kinds)
    name = chance.choice(sorted(LAUNCHES))
    results = folder / "results"
    words = [name, *KINDS[kind], *LAUNCHES[name], f"results:={results}"]
    outcome = Outcome(f"{name} {kind}")
    with contextlib.ExitStack() as stack:
        domain, probe = None, None
        if kind != "composed":
            domain = stack.enter_context(domains.claim("chaos")).domain
        if kind == "real":
            probe = stack.enter_context(driver(domain, folder))
        elif kind == "separate":
            probe = stack.enter_context(contextlib.closing(Probe(domain, 0.01)))
        run = MarkedRun(words, uuid.uuid4().hex, folder / "log", domain)
        disturb(run, outcome, chance)
        if left := run.left(GONE_WITHIN):
            outcome.wrong.append(f"left: {left}")
            run.kill()
        if probe is not None:
            time.sleep(0.1)
            check_torque(outcome, probe, simulated=kind == "separate")
        check_summary(outcome, run, results)
    for words in ("Traceback", "Fatal Python error", "terminate called"):
        if words in run.said:
            outcome.wrong.append(words)
    return outcome


def undisturbed(folder: Path, wanted: dict[str, Any]) -> str:
    """Run NEXT; return what is wrong with it. The first one sets what is wanted."""
    words = [*NEXT, f"results:={folder / 'next'}"]
    run = MarkedRun(words, uuid.uuid4().hex, folder / "next.log")
    left = run.left(120.0)
    run.kill()
    result = summary(folder / "next")
    wanted = wanted or result
    if left or run.process.returncode != 0 or not result:
        return f"the next run: status {run.process.returncode}, left {left}"
    return ", ".join(differences(result, wanted)[:3])


def together(count: int, folder: Path, wanted: dict[str, Any]) -> list[str]:
    """Start runs in the same second, with one folder and with their own; return what is wrong."""
    wrong = []
    for shared in (True, False):
        place = folder / f"shared-{shared}"
        place.mkdir()
        runs = []
        for number in range(count):
            home = place / f"{number}" if shared else place
            home.mkdir(exist_ok=True)
            more = [f"results:={place / 'results'}"] if shared else []
            mark, log = uuid.uuid4().hex, home / f"log-{number}"
            runs.append(MarkedRun([*NEXT, *more], mark, log))
        for run in runs:
            if left := run.left(300.0):
                wrong.append(f"left: {left}")
                run.kill()
        codes = [run.process.wait() for run in runs]
        results = [summary(path.parent) for path in place.glob("**/summary.json")]
        right = [each for each in results if not differences(each, wanted)]
        refused = [code for code in codes if code == 2]
        print(f"together, {'one folder' if shared else 'none given'}: statuses {codes}", flush=True)
        if len(right) != codes.count(0) or len(right) + len(refused) != count or not right:
            wrong.append(f"{len(right)} right, {len(refused)} refused of {count}: {codes}")
        if shared and len(right) != 1:
            wrong.append(f"{len(right)} runs had one folder")
    return wrong


def main() -> int:
    """Run all; return the exit status."""
    parser = options(__doc__, robots=100)
    parser.add_argument("--together", type=int, default=10)
    parser.add_argument("--kind", action="append", choices=KINDS, help="default: all")
    given = parser.parse_args()
    kinds = given.kind or ["real", "real", "composed", "separate"]
    bad, zeros = 0, []
    with tempfile.TemporaryDirectory(prefix="chaos-") as place:
        first = Path(place, "first")
        first.mkdir()
        if problem := undisturbed(first, {}):
            raise SystemExit(f"chaos: {problem}\n{(first / 'next.log').read_text()}")
        wanted = summary(first / "next")
        for seed in range(given.seed, given.seed + given.robots):
            folder = Path(place, str(seed))
            folder.mkdir()
            outcome = disturbed(seed, folder, kinds)
            if problem := undisturbed(folder, wanted):
                outcome.wrong.append(problem)
            bad += bool(outcome.wrong)
            took = "" if outcome.zero_after is None else f", zero after {outcome.zero_after:.3f} s"
            zeros += [] if outcome.zero_after is None else [outcome.zero_after]
            verdict = "; ".join(outcome.wrong) or "as it should be"
            print(
                f"{seed:4} {outcome.name}: {', '.join(outcome.sent)}{took}: {verdict}", flush=True
            )
            if outcome.wrong:
                print((folder / "log").read_text(errors="replace")[-8000:], flush=True)
        for problem in together(given.together, Path(place), wanted) if given.together else ():
            bad += 1
            print(problem)
    if zeros:
        print(f"zero after at most {max(zeros):.3f} s in {len(zeros)} runs that drove")
    print(f"{bad} wrong")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
