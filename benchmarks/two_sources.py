#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Detection of two sources of a robot's states: time to stop, and false alarms with one source.

First table: the real nodes on the bus of the fault table, with random engine, speed, encoder
counts, and random rate, phase and start (in mid-drive or from the start) of the second source; by
kind of second source and by node.

 - zero: time from its first message until permanent zero, median and worst;
 - turned: largest turn of a wheel meanwhile, of robots that take torques;
 - moving: non-zero commands among those later than 0.1 s after it;
 - stopped: runs that ended STOPPED, or with the end of the node, as all must.

With `--relay` both use one publisher, and only their content distinguishes them.

Second table: drives with one source, with the laws and excitations of wheel_watch.py, periods of 2
to 40 ms, 50 to 4096 counts, losses, jitter of stamps and arrivals, and bursts after a stall; the
number of drives that the watch took for two sources (stopped), or suspected (0.3 s of zero).

    ./diffbot python benchmarks/two_sources.py --minutes 5
"""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import closing
from typing import NamedTuple

import numpy as np
from benchmark_tables import options
from impaired_robot import DRIVES, Conditions, make_drive, torque_limit

from arc_odometry import JointSample
from diffbot_description import load_robot
from diffbot_node.source_watch import SourceWatch
from diffbot_sim.engines import make_simulator
from diffbot_study.driving import simulate_drive
from faults.rows.sources import SOURCES, TOGETHER, Change, Second
from faults.scene import DRIVERS, FAULT, TRACKING, Scene, Subject

RUN = 10.0  # s of a drive with one source
LOOKED_AT = 1.0  # s evaluated after the second source's first message
PROMISED = 0.1  # s, promised time to zero
STALL = 0.4  # s


class Measured(NamedTuple):
    """A run: time to zero, s, turn of a wheel, rad, and commands later than PROMISED."""

    zero: float
    turned: float
    moving: int
    commands: int
    stopped: bool


def detection(
    subject: Subject, change: Change, period: float, random: np.random.Generator, relayed: bool
) -> Measured:
    """Add a second source to a run with random conditions, and look at it for LOOKED_AT."""
    mid_drive = random.random() < 0.7
    engine = str(random.choice(["ideal", "mujoco"]))
    with Scene(
        subject,
        "none" if subject is TRACKING else engine,
        speed=float(random.uniform(0.5, 1.5)),
        counts=None if subject is TRACKING else int(random.integers(256, 4097)),
    ) as scene:
        if mid_drive:
            scene.advance(FAULT + float(random.uniform(0.0, 1.0)))
        second = Second(scene, change, period * float(random.uniform(0.7, 2.0)), relayed)
        since: float | None = None
        end = scene.bus.time + 2.0 + LOOKED_AT
        angles: list[tuple[float, tuple[float, ...]]] = []
        while scene.bus.time < end:
            scene.advance(scene.bus.time + 0.001)
            if since is None and second.said:
                since = scene.bus.time - 0.001
                end = since + LOOKED_AT
            if since is not None and subject is not TRACKING:
                angles.append((scene.bus.time, tuple(second.newest.position)))
        history = scene.robot.history
        late = [pair for at, *pair in history.entries if at > since + PROMISED]
        zero = history.zero_after(since, end)
        moving = sum(any(pair) for pair in late)
        node = scene.member.node  # None after its end
        stopped = node is None or bool(node.stopped_by)
        zero = math.inf if zero is None else zero
        return Measured(zero, turned(angles, since + zero), moving, len(late), stopped)


def turned(angles: list[tuple[float, tuple[float, ...]]], until: float) -> float:
    """Return the largest turn of a wheel, rad, since the first of (time, angles)."""
    return max(
        (
            abs(angle - begun)
            for at, each in angles
            if at <= until
            for angle, begun in zip(each, angles[0][1], strict=True)
        ),
        default=0.0,
    )


def alone(random: np.random.Generator) -> tuple[str, bool, int]:
    """Drive with one source; return conditions, false alarm, and number of suspicions."""
    robot_name, drive = str(random.choice(["twil", "agv"])), str(random.choice(DRIVES))
    robot = load_robot(robot_name)
    period, counts = (
        float(random.uniform(0.002, 0.04)),
        round(math.exp(random.uniform(math.log(50), math.log(4096)))),
    )
    lost, jitter = float(random.uniform(0.0, 0.5)), float(random.uniform(0.0, 0.3)) * period
    delay, publishers = float(random.uniform(0.0, 0.03)), int(random.integers(1, 3))
    limit, seed = torque_limit(robot, drive), int(random.integers(2**31))
    law, reference = make_drive(drive, robot, limit, seed, Conditions(counts, period=period))
    watch, stall = SourceWatch(lambda: publishers, counts), float(random.uniform(2.0, 8.0))
    came, significant, doubts = 0.0, False, 0

    def look(sample: JointSample) -> None:
        nonlocal came, significant, doubts
        now = sample.stamp
        if random.random() < lost:
            return
        came = max(came, now + delay * random.random())
        if stall < now < stall + STALL:
            came = max(came, stall + STALL)
        finding = watch.update(now + jitter * random.random(), sample.position, came)
        significant, doubts = (
            significant or (finding is not None and finding.significant),
            doubts + bool(finding),
        )

    with closing(make_simulator(str(random.choice(["ideal", "mujoco"])), robot)) as engine:
        simulate_drive(
            engine,
            robot,
            law,
            reference,
            RUN,
            encoder_counts=counts,
            torque_limit=limit,
            torque_noise=float(random.uniform(0.0, 0.1)),
            seed=seed,
            period=period,
            on_sample=look,
        )
    words = (
        f"{robot_name} {drive}, {1e3 * period:.1f} ms, {counts} counts, {lost:.0%} lost, jitter "
        f"{1e3 * jitter:.1f} ms, delay {1e3 * delay:.1f} ms, {publishers} publishers"
    )
    return words, significant, doubts


def lines(runs: dict[str, list[Measured]]) -> Iterable[str]:
    """Yield the first table, a line per key."""
    yield f"{'':32} | runs | zero ms, median, worst | turned rad, worst |    moving | stopped"
    for key, measured in runs.items():
        zeros = 1e3 * np.array([m.zero for m in measured])
        moving, commands = sum(m.moving for m in measured), sum(m.commands for m in measured)
        yield (
            f"{key:32} | {len(measured):4d} | {np.median(zeros):10.1f} {zeros.max():10.1f} | "
            f"{max(m.turned for m in measured):17.3f} | {100.0 * moving / max(commands, 1):7.2f} % "
            f"| {sum(m.stopped for m in measured)} of {len(measured)}"
        )


def main() -> int:
    """Print both tables; return 1 if a run was not stopped, moved on, or for a false alarm."""
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="wall time for each table")
    parser.add_argument("--seed", type=int, default=0, help="seed of all random values")
    parser.add_argument("--relay", action="store_true", help="both sources use one publisher")
    arguments = parser.parse_args()
    random = np.random.default_rng(arguments.seed)
    kinds = [each for each in SOURCES if not arguments.relay or each[0] in TOGETHER]
    subjects = DRIVERS if arguments.relay else (*DRIVERS, TRACKING)
    by_kind: dict[str, list[Measured]] = defaultdict(list)
    by_node: dict[str, list[Measured]] = defaultdict(list)
    end, count = time.monotonic() + 60.0 * arguments.minutes, 0
    while time.monotonic() < end:
        name, change, period = kinds[count % len(kinds)]
        subject = subjects[(count + count // len(kinds)) % len(subjects)]
        measured = detection(subject, change, period, random, arguments.relay)
        by_kind[name].append(measured)
        by_node[subject.name].append(measured)
        count += 1
    print("\n".join((*lines(by_kind), "", *lines(by_node))), flush=True)
    wrong = sum(not m.stopped or m.moving > 0 for runs in by_kind.values() for m in runs)
    end, drives = time.monotonic() + 60.0 * arguments.minutes, []
    while time.monotonic() < end:
        drives.append(alone(random))
    called = [words for words, significant, _ in drives if significant]
    doubted = sum(bool(doubts) for _, _, doubts in drives)
    print(
        f"\none source: {len(called)} of {len(drives)} drives of {RUN:g} s called two, "
        f"{doubted} doubted at some time",
        *called,
        sep="\n    ",
    )
    return int(bool(wrong or called))


if __name__ == "__main__":
    raise SystemExit(main())
