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
        [--only ident,pose]
"""

from __future__ import annotations

import contextlib
import itertools
import math
import random
import sys
import tempfile
import time
import uuid
from collections import Counter
from pathlib import Path
from typing import Any

from benchmark_tables import options
from marked_runs import MarkedRun, differences, node_commands, summary

from diffbot_bringup import domains

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
# What the runner, or a node, says when it begins to end.
STOPPING, ERROR = "[launch]: stopping: ", "[ERROR]"


class Watcher:
    """Observes a domain, and notes when a topic has two publishers where a robot has one."""

    def __init__(self, domain: int) -> None:
        import rclpy

        self._context = rclpy.Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("looks_on", context=self._context, enable_rosout=False)
        self.met: float | None = None

    def look(self) -> None:
        """Check once; cheap."""
        if self.met is None and any(self._node.count_publishers(f"/{each}") > 1 for each in ONCE):
            self.met = time.monotonic()

    def close(self) -> None:
        """Leave the domain."""
        self._node.destroy_node()
        self._context.try_shutdown()


class Launch(MarkedRun):
    """A run of LAUNCHES, as a launch or with each of its nodes started separately."""

    def __init__(
        self, name: str, folder: Path, mark: str, domain: int | None, nodes: bool = False
    ) -> None:
        folder.mkdir()
        self.name, self.results = name, folder / "results"
        words = [name, f"results:={self.results}", *LAUNCHES[name]]
        commands = list(node_commands(words, folder)) if nodes else []
        super().__init__(words, mark, folder / "log", domain, commands)
        self._gives_up, self.given_up = ERROR if nodes else STOPPING, 0.0

    def poll(self) -> bool:
        """Whether it has ended; records when, and when it started to end."""
        ended = super().poll()
        if not self.given_up and (ended or self.status or self._gives_up in self.said):
            self.given_up = time.monotonic()
        return ended

    def verdict(self, alone: dict[str, Any], met: float | None, shared: bool) -> str:
        """Return right, refused, or what is wrong, compared with the summary of a single run."""
        status, result = self.status if self.ended else None, summary(self.results)
        differs = differences(result, alone)
        after, lasted = ((at - met if met else math.nan) for at in (self.given_up, self.ended))
        if status is None:
            return "hung"
        if status == 0 and not differs:
            return "right"
        late = after > REFUSED_WITHIN or lasted > ENDED_WITHIN
        if shared and status != 0 and not late and result.get("outcome") != "completed":
            return "refused"
        said = f"gave up {after:.1f} s and ended {lasted:.1f} s after they met" if late else ""
        return f"wrong, status {status}, {said} {differs[:4]}; {self.said[-200:]!r}"


def wait(launches: list[Launch], watcher: Watcher | None = None) -> None:
    """Wait until all have ended; end those that hang."""
    deadline = time.monotonic() + PATIENCE
    while not all([launch.poll() for launch in launches]) and time.monotonic() < deadline:
        if watcher:
            watcher.look()
        time.sleep(0.02)
    for launch in launches:
        if not launch.poll():
            launch.stop()


def alone(name: str, folder: Path) -> dict[str, Any]:
    """Return the summary of a single run."""
    launch = Launch(name, folder / f"alone-{name}", uuid.uuid4().hex, None)
    wait([launch])
    result = summary(launch.results)
    if launch.status != 0 or not result:
        raise SystemExit(f"meetings: a single run of {name} fails:\n{launch.said[-2000:]}")
    return result


def pair(
    names: tuple[str, str], folder: Path, known: dict[str, Any], shared: bool, nodes: bool
) -> tuple[list[str], list[str]]:
    """Run a pair; return a verdict of each, and lines to print."""
    mark = uuid.uuid4().hex
    with contextlib.ExitStack() as stack:
        watcher, domain = None, None
        if shared:
            domain = stack.enter_context(domains.claim("meetings")).domain
            watcher = Watcher(domain)
            stack.callback(watcher.close)
        launches = [
            Launch(name, folder / f"{mark[:8]}-{number}", mark, domain, nodes)
            for number, name in enumerate(names)
        ]
        wait(launches, watcher)
        met = watcher.met if watcher else None
        verdicts = [each.verdict(known[each.name], met, shared) for each in launches]
        lines = [
            f"{each.name}: {verdict} after {(each.ended or time.monotonic()) - each.begun:.1f} s"
            for each, verdict in zip(launches, verdicts, strict=True)
        ]
        left = launches[0].left(GONE_WITHIN)
    return verdicts + ["left"] * bool(left), [*lines, *(f"left: {line}" for line in left)]


def main() -> int:
    """Run the pairs; return the exit status."""
    parser = options(__doc__)
    parser.add_argument("--pairs", type=int, default=0, help="number of pairs; 0: each pair once")
    parser.add_argument("--seed", type=int, default=0, help="of the order")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--shared", action="store_true", help="both in one ROS_DOMAIN_ID")
    where.add_argument("--nodes", action="store_true", help="the same, nodes started separately")
    parser.add_argument("--only", default=",".join(LAUNCHES), help="names, separated by commas")
    given = parser.parse_args()
    names = given.only.split(",")
    if unknown := sorted({*names} - {*LAUNCHES}):
        parser.error(f"--only {', '.join(unknown)}: it can be {', '.join(LAUNCHES)}")
    pairs = list(itertools.combinations_with_replacement(names, 2))
    random.Random(given.seed).shuffle(pairs)
    counts: Counter[str] = Counter()
    bad = 0
    with tempfile.TemporaryDirectory(prefix="meetings-") as place:
        known = {name: alone(name, Path(place)) for name in names}
        chosen = itertools.islice(itertools.cycle(pairs), given.pairs or len(pairs))
        for number, each in enumerate(chosen, 1):
            shared = given.shared or given.nodes
            verdicts, lines = pair(each, Path(place), known, shared, given.nodes)
            fine = {*verdicts} <= {"right", "refused"}
            bad += not fine
            counts.update(verdict.split(",")[0] for verdict in verdicts)
            print(f"{number:3} {'ok ' if fine else 'BAD'} {'; '.join(lines)}", flush=True)
    kind = "shared domains" if given.shared else "own domains"
    kind = "shared domains, by nodes" if given.nodes else kind
    print(f"{kind}: {dict(counts)}; {bad} pairs not as they have to be")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
