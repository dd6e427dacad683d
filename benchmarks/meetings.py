#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pairs of launches that start in the same second: each run is correct, or refused at once.

Runs all pairs of the launch files that drive an embedded robot, in random order by seed. By default
each launch has its own domain, and both must produce the results of a single run with the same
arguments. With --shared both get one ROS_DOMAIN_ID. A launch that meets another may then also be
refused: it starts to end, with a non-zero status, at most 2 s after an observing node has seen two
publishers of a topic that a robot has only once, and does not report "completed". With --nodes they
share a domain, too, and each node is started separately, as `ros2 launch` and users do. Nothing
refuses a second run then, and nothing ends the remaining nodes of a failed one: the nodes must
detect the conflict and end by themselves, at most 15 s after the meeting.

In any case, no process may remain. Prints for each pair how each run ended, its wall time, and the
differences from the single run; the exit status is 1 if anything is wrong.

    ./diffbot python benchmarks/meetings.py [--pairs 21] [--shared | --nodes] [--seed 0]
        [--apart 0.0] [--only ident,pose] [--tolerance 0] [--output meetings.json]
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import math
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from diffbot_bringup import domains
from diffbot_bringup.xml_launch.arguments import understand
from diffbot_bringup.xml_launch.resolver import Resolver

LAUNCHES = {
    "ident": ("sim:=ideal", "duration:=5", "verification:=2"),
    "backstepping": ("sim:=ideal", "goal:=1,0,0", "duration:=4"),
    "pose": ("sim:=ideal", "goal:=1,0.5,0", "duration:=4"),
    "linearizing": ("sim:=ideal", "duration:=4"),
    "adaptive": ("sim:=ideal", "laps:=1", "duration:=6", "payload_time:=3"),
    "siwek": ("duration:=6",),
}
ONCE = ("joint_states", "odom", "clock", "ground_truth", "effort_controller/commands", "cmd_vel")
"""Topics of which a robot has one publisher."""
REFUSED_WITHIN = 2.0  # s of wall time after the meeting
ENDED_WITHIN = 15.0  # s of wall time after the meeting, for separately started nodes
PATIENCE = 120.0  # s of wall time, after which a run counts as hung
GONE_WITHIN = 1.0  # s for the kernel to remove ended processes
STOPPING = b"[launch]: stopping: "
"""What the runner says when it begins to end a run; nodes then have 10 s at most."""
ERROR = b"[ERROR]"
"""What a node says when it gives up."""
MARK = "DIFFBOT_MEETING"
OF_THE_DAY = {"started", "real_time_factor"}
"""What a summary says of the machine and not of the robot."""


@dataclass
class Ending:
    """How a run ended: `verdict` is right, refused, wrong or hung."""

    name: str
    status: int | None
    seconds: float
    verdict: str = ""
    differs: list[str] = field(default_factory=list)
    said: str = ""

    def __str__(self) -> str:
        """Return a short description."""
        text = f"{self.name}: {self.verdict}, status {self.status} after {self.seconds:.1f} s"
        if self.verdict in ("right", "refused"):
            return text
        return f"{text} ({', '.join(self.differs[:4])}; {self.said[-200:]!r})"


class Watcher:
    """Observes a domain, and notes when a topic has two publishers where a robot has one."""

    def __init__(self, domain: int) -> None:
        import rclpy

        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("looks_on", context=self._context, enable_rosout=False)
        self.met: float | None = None
        self.topic = ""

    def look(self) -> None:
        """Check once; cheap."""
        for topic in ONCE if self.met is None else ():
            if self._node.count_publishers(f"/{topic}") > 1:
                self.met, self.topic = time.monotonic(), topic

    def close(self) -> None:
        """Leave the domain."""
        self._node.destroy_node()
        self._context.try_shutdown()


class Launch:
    """A running launch. Its processes have a mark in their environment.

    Args:
        name: Name of the launch file.
        folder: Folder to create for its results.
        mark: Mark of the pair.
        domain: DDS domain to use; None: its own.
        nodes: Whether to start each of its nodes separately, without supervision.
    """

    def __init__(
        self, name: str, folder: Path, mark: str, domain: int | None, nodes: bool = False
    ) -> None:
        self.name, self.results, self._log = name, folder / "results", folder / "log"
        folder.mkdir()
        variables = {key: text for key, text in os.environ.items() if key != domains.VARIABLE}
        if domain is not None:
            variables[domains.VARIABLE] = str(domain)
        variables[MARK] = mark
        words = [name, f"results:={self.results}", *LAUNCHES[name]]
        runner = [sys.executable, "-m", "diffbot_bringup.cli", "launch", *words]
        self.begun, self.given_up, self.ended = time.monotonic(), 0.0, 0.0
        self._gives_up = ERROR if nodes else STOPPING
        commands = list(_nodes(words, folder, variables)) if nodes else [(runner, variables)]
        with self._log.open("wb") as log:
            self._processes = [
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
                for command, environment in commands
            ]

    def poll(self) -> bool:
        """Whether it has ended. Records when it ended, and when it started to end."""
        if not self.ended and all(process.poll() is not None for process in self._processes):
            self.ended = time.monotonic()
        if not self.given_up and (self.ended or self._status() or self._says_so()):
            self.given_up = time.monotonic()
        return bool(self.ended)

    def _says_so(self) -> bool:
        return self._gives_up in self._log.read_bytes()

    def stop(self) -> None:
        """End a run that hangs; its runner, or each of its nodes, ends within 15 s."""
        for number in (signal.SIGINT, signal.SIGKILL):
            deadline = time.monotonic() + 15.0
            for process in self._processes:
                if process.poll() is None:
                    process.send_signal(number)
            for process in self._processes:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(max(deadline - time.monotonic(), 0.01))

    def ending(self) -> Ending:
        """Return how it ended, without a verdict."""
        said = self._log.read_text(errors="replace")
        status = self._status() if self.ended else None
        return Ending(self.name, status, (self.ended or time.monotonic()) - self.begun, said=said)

    def _status(self) -> int | None:
        """Return the run's status: that of the first failed process; None while all run."""
        codes = [process.poll() for process in self._processes]
        failed = next((code for code in codes if code), None)
        return failed if failed or None in codes else 0


def _nodes(
    words: list[str], folder: Path, variables: dict[str, str]
) -> Iterator[tuple[list[str], dict[str, str]]]:
    """Yield the command line and the environment of each node of a launch."""
    request = understand(words)
    assert request is not None, "a launch file is named"
    resolver = Resolver(variables)
    resolver.file(request.path, request.given.items())
    for number, process in enumerate(resolver.processes):
        files = folder / f"parameters-{number}"
        files.mkdir()
        yield process.arguments(files), process.environment


def summary(results: Path) -> dict[str, Any]:
    """Return the summary of a run; empty if there is none."""
    try:
        text = (results / "summary.json").read_text(encoding="utf-8")
    except OSError:
        return {}
    return {key: value for key, value in json.loads(text).items() if key not in OF_THE_DAY}


def differences(a: Any, b: Any, tolerance: float, where: str = "") -> Iterator[str]:
    """Yield the keys in which two summaries differ, numbers by more than `tolerance`."""
    if isinstance(a, dict) and isinstance(b, dict):
        for key in sorted({*a, *b}):
            yield from differences(a.get(key), b.get(key), tolerance, f"{where}.{key}".lstrip("."))
    elif isinstance(a, list) and isinstance(b, list) and len(a) == len(b):
        for number, pair in enumerate(zip(a, b, strict=True)):
            yield from differences(*pair, tolerance, f"{where}[{number}]")
    elif isinstance(a, (int, float)) and isinstance(b, (int, float)):
        if not math.isclose(a, b, rel_tol=tolerance, abs_tol=0.0):
            yield f"{where} {a:g} instead of {b:g}"
    elif a != b:
        yield f"{where} {str(a)[:40]} instead of {str(b)[:40]}"


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


def left(mark: str) -> list[str]:
    """Return the processes that remain after a moment."""
    deadline = time.monotonic() + GONE_WITHIN
    while (result := marked(mark)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return list(result.values())


class Meetings:
    """Runs pairs and compares them with single runs, which are made when first needed."""

    def __init__(self, folder: Path, apart: float, tolerance: float) -> None:
        self._folder, self._apart, self._tolerance = folder, apart, tolerance
        self._lone: dict[str, dict[str, Any]] = {}

    def pair(self, names: tuple[str, str], shared: bool, nodes: bool) -> dict[str, Any]:
        """Run a pair; return its endings, the time of the meeting, and remaining processes."""
        for name in names:
            self._lone_run(name)
        mark = uuid.uuid4().hex
        with contextlib.ExitStack() as stack:
            watcher, domain = None, None
            if shared:
                domain = stack.enter_context(domains.claim("meetings")).domain
                watcher = Watcher(domain)
                stack.callback(watcher.close)
            launches = []
            for name in names:
                if launches:
                    time.sleep(self._apart)
                folder = self._folder / f"{mark[:8]}-{len(launches)}"
                launches.append(Launch(name, folder, mark, domain, nodes))
            _wait(launches, watcher)
            met = watcher.met if watcher else None
            endings = [self._judge(launch, met, shared) for launch in launches]
            return {
                "endings": endings,
                "left": left(mark),
                "met": None if met is None else met - launches[0].begun,
                "topic": watcher.topic if watcher else "",
            }

    def _lone_run(self, name: str) -> None:
        if name in self._lone:
            return
        launch = Launch(name, self._folder / f"lone-{name}", uuid.uuid4().hex, None)
        _wait([launch], None)
        ending = launch.ending()
        self._lone[name] = summary(launch.results)
        if ending.status != 0 or not self._lone[name]:
            raise SystemExit(f"meetings: a lone run of {name} fails:\n{ending.said[-2000:]}")

    def _judge(self, launch: Launch, met: float | None, shared: bool) -> Ending:
        ending, result = launch.ending(), summary(launch.results)
        ending.differs = list(differences(result, self._lone[launch.name], self._tolerance))
        after = math.nan if met is None else launch.given_up - met
        lasted = math.nan if met is None else launch.ended - met
        late = after > REFUSED_WITHIN or lasted > ENDED_WITHIN
        if ending.status is None:
            ending.verdict = "hung"
        elif ending.status == 0 and not ending.differs:
            ending.verdict = "right"
        elif shared and ending.status != 0 and not late and result.get("outcome") != "completed":
            ending.verdict = "refused"
        else:
            ending.verdict = "wrong"
            if late:
                words = f"gave up {after:.1f} s after they met, ended {lasted:.1f} s after it"
                ending.differs.insert(0, words)
        return ending


def _wait(launches: list[Launch], watcher: Watcher | None) -> None:
    """Wait until all have ended; end those that hang."""
    deadline = time.monotonic() + PATIENCE
    while not all([launch.poll() for launch in launches]) and time.monotonic() < deadline:
        if watcher:
            watcher.look()
        time.sleep(0.02)
    for launch in launches:
        if not launch.poll():
            launch.stop()


def main() -> int:
    """Run the pairs; return the exit status."""
    options = _options()
    names = [name for name in LAUNCHES if name in options.only.split(",") or not options.only]
    pairs = list(itertools.combinations_with_replacement(names, 2))
    order = random.Random(options.seed)
    order.shuffle(pairs)
    wanted = itertools.islice(itertools.cycle(pairs), options.pairs or len(pairs))
    results, bad = [], 0
    with tempfile.TemporaryDirectory(prefix="meetings-") as folder:
        meetings = Meetings(Path(folder), options.apart, options.tolerance)
        for number, pair in enumerate(wanted, 1):
            result = meetings.pair(pair, options.shared or options.nodes, options.nodes)
            fine = all(each.verdict in ("right", "refused") for each in result["endings"])
            fine = fine and not result["left"]
            bad += not fine
            met = "" if result["met"] is None else f"met at {result['met']:.1f} s, "
            print(
                f"{number:3d} {'ok ' if fine else 'BAD'} {met}"
                f"{'; '.join(map(str, result['endings']))}; {len(result['left'])} left",
                flush=True,
            )
            for line in result["left"]:
                print(f"      left: {line}", flush=True)
            results.append({**result, "endings": [asdict(each) for each in result["endings"]]})
    verdicts = [each["verdict"] for result in results for each in result["endings"]]
    counts = ", ".join(f"{verdicts.count(name)} {name}" for name in sorted(set(verdicts)))
    kind = "shared domains" if options.shared else "own domains"
    kind = "shared domains, by nodes" if options.nodes else kind
    print(f"{len(results)} pairs, {kind}: {counts}")
    print(f"{bad} pairs not as they have to be")
    if options.output:
        options.output.write_text(json.dumps(results, indent=1), encoding="utf-8")
    return 1 if bad else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser("meetings", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--pairs", type=int, default=0, help="number of pairs; 0: each pair once")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--shared", action="store_true", help="both in one ROS_DOMAIN_ID")
    where.add_argument(
        "--nodes", action="store_true", help="the same, with each node started separately"
    )
    parser.add_argument("--seed", type=int, default=0, help="seed of the order")
    parser.add_argument(
        "--apart", type=float, default=0.0, metavar="S", help="delay of the second start, s"
    )
    parser.add_argument(
        "--only", default="", metavar="NAMES", help="launch files, separated by commas"
    )
    parser.add_argument(
        "--tolerance", type=float, default=0.0, help="largest relative difference of a number"
    )
    parser.add_argument("--output", type=Path, help="JSON file for all results")
    options = parser.parse_args()
    unknown = sorted({*filter(None, options.only.split(","))} - {*LAUNCHES})
    if unknown:
        parser.error(f"--only {', '.join(unknown)}: it can be {', '.join(LAUNCHES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
