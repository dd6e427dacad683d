#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`diffbot start` in a headless Chromium: simulated robots with one beginner's fault each.

A person is simulated who clicks what the page offers, and who mends the robot when a finding or a
refusal names its fault (a row of WORDS). Counted are clicks, fields that are filled in, minutes of
wall time, and by how much the robot has turned, in truth, when its fault is named.

With --stop the robots are sound, and STOP is clicked in each step that moves them, at a random
time: how long after the click came the last command that is not zero?

    ./diffbot python benchmarks/guided_starts.py --runs 20 --seed 5703 --output starts.json
    ./diffbot python benchmarks/guided_starts.py --runs 2 --stop
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import random
import re
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import browser
import rclpy
from geometry_msgs.msg import Twist
from guided_page import GuidedPage, served_guide
from rclpy.context import Context
from rclpy.executors import SingleThreadedExecutor
from std_msgs.msg import Float64MultiArray

from diffbot_check.rehearsal_faults import RehearsalFault
from diffbot_check.rehearsal_robot import HEADINGS_FILE

TORQUES = "effort_controller/commands"
WORDS = {
    RehearsalFault.SWAPPED: r"turns the right wheel, and the right one the left|exchange left",
    RehearsalFault.REVERSED: r"backward",
    RehearsalFault.STUCK: r"encoder sticks|stood still|an encoder",
    RehearsalFault.AMPERE: r"effort of|ampere",
    RehearsalFault.NAMES: r"the file needs left_wheel_joint",
    RehearsalFault.LATE: r"later than|s old|stamps|clock",
    RehearsalFault.SECOND: r"other node|teleoperation",
    RehearsalFault.NO_TIMEOUT: r"still acted|stops by itself, but|timeout",
}
# Wheel encoders, their names and efforts are those of a robot that takes torques.
ROBOTS = {
    "torque": ("twil", [*WORDS]),
    "velocity": (
        "turtlebot2",
        [each for each in WORDS if each not in (RehearsalFault.AMPERE, RehearsalFault.NAMES)],
    ),
}
SKIPPED = "calibrate"  # it needs a gyro
MOST_TRIES = 4  # of a step whose fault is not the planted one: the machine may be busy
MOST_CLICKS, MOST_MINUTES, MOST_TURN = 40, 10.0, 10.0


@dataclass
class GuidedStart:
    """One guide and what came of it; `turned`: degrees until the fault was named."""

    kind: str
    fault: str
    room: str
    named_in: str = ""
    turned: float = math.nan
    clicks: int = 0
    minutes: float = 0.0
    complete: bool = False
    repeated: list[str] = field(default_factory=list)
    problem: str = ""
    stops: dict[str, float] = field(default_factory=dict)
    """Milliseconds from a click on STOP to the last command that is not zero, by the step."""


def lead(start: GuidedStart) -> GuidedStart:
    """Go through one guide."""
    with tempfile.TemporaryDirectory() as folder:
        headings = Path(folder) / "headings"
        os.environ[HEADINGS_FILE] = str(headings)
        words = ("--rehearse", "--robot", ROBOTS[start.kind][0], "--fault", start.fault)
        try:
            with (
                served_guide(Path(folder) / "robot", *words) as (_, url),
                browser.browser(Path(folder) / "profile") as page,
            ):
                person = Person(GuidedPage(page, url), start, headings)
                person.go_through()
        except (AssertionError, OSError) as error:
            start.problem = f"{type(error).__name__}: {error}"[:300]
    return start


class Person:
    """Does what the page says."""

    def __init__(self, guide: GuidedPage, start: GuidedStart, headings: Path) -> None:
        self._guide, self._start, self._headings = guide, start, headings

    def go_through(self) -> None:
        start, guide, began = self._start, self._guide, time.monotonic()
        tries: dict[str, int] = {}
        stopping = start.fault == RehearsalFault.NONE.value
        while (name := guide.guide["next"]) is not None:
            tries[name] = tries.get(name, 0) + 1
            if tries[name] > MOST_TRIES:
                start.problem = f"{name} failed {MOST_TRIES} times: {guide.step['said']}"
                break
            if stopping and guide.step["moves"] and name not in start.stops and name != SKIPPED:
                self._stop(name)
                tries[name] -= 1
                continue
            step = self._do(name)
            if not stopping and not start.named_in and self._is_named(step):
                start.named_in, start.turned = name, turned(self._headings)
                guide.press("#mend")
                if step["outcome"] == "done":
                    continue
            if step["outcome"] == "failed":
                start.repeated.append(name)
        start.complete = guide.guide["next"] is None
        start.clicks, start.minutes = guide.clicks, (time.monotonic() - began) / 60.0

    def _do(self, name: str) -> dict[str, Any]:
        guide = self._guide
        guide.shown(name)
        if name == SKIPPED:
            guide.press("#skip")
            return guide.step
        if name == "check moving" and not guide.page.value("byId('sure').checked"):
            guide.click("#sure")
        if name == "room" and self._start.room != "3x3":
            for selector, side in zip(
                ("#length", "#width"), self._start.room.split("x"), strict=True
            ):
                guide.fill(selector, side)
        return guide.run()

    def _stop(self, name: str) -> None:
        """Begin a step, click STOP in it, and note when the last command came."""
        guide, handled = self._guide, self._guide.guide["handled"]
        guide.shown(name)
        if name == "check moving" and not guide.page.value("byId('sure').checked"):
            guide.click("#sure")
        domain = int(guide.page.value("state.title.match(/domain (\\d+)/)[1]"))
        with Commands(domain, self._start.kind == "velocity") as commands:
            guide.begin()
            guide.until(f"state.guide.running === {name!r}")
            while not commands.moving:
                if guide.guide["handled"] > handled:
                    return  # it has ended by itself: the machine is busy
                time.sleep(0.02)
            time.sleep(random.Random(name + self._start.room).uniform(0.2, 3.0))
            count = len(commands.moving)
            if guide.guide["handled"] > handled:
                return
            guide.click("#stop")
            pressed = 1e-3 * guide.page.value("stopPressedAt")
            guide.until(f"state.guide.handled > {handled}")
            assert count <= len(commands.moving)
            self._start.stops[name] = round(1e3 * (commands.moving[-1] - pressed), 1)
        guide.shown(name)
        guide.click("#release")
        guide.until("!state.pressed")

    def _is_named(self, step: dict[str, Any]) -> bool:
        said = [f"{each['what']} {each['line']}" for each in step["findings"]]
        if step["outcome"] == "failed":
            said += self._guide.page.value("state.guide_lines")
        pattern = WORDS[RehearsalFault(self._start.fault)]
        return any(re.search(pattern, each) for each in said)


class Commands:
    """Hears the commands in a domain, in a thread, as a context manager.

    `moving`: when those came that are not zero, s since the epoch.
    """

    def __init__(self, domain: int, velocity: bool) -> None:
        self.moving: list[float] = []
        self._context = Context()
        rclpy.init(context=self._context, domain_id=domain)
        self._node = rclpy.create_node("_commands", context=self._context)
        kind, topic = (Twist, "cmd_vel") if velocity else (Float64MultiArray, TORQUES)
        self._node.create_subscription(kind, topic, self._hear, 100)
        self._executor = SingleThreadedExecutor(context=self._context)
        self._executor.add_node(self._node)
        self._thread = threading.Thread(target=self._executor.spin, daemon=True)

    def _hear(self, message: Any) -> None:
        twist = isinstance(message, Twist)
        values = (message.linear.x, message.angular.z) if twist else message.data
        if any(values):
            self.moving.append(time.time())

    def __enter__(self) -> Commands:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._executor.shutdown()
        self._thread.join()
        self._context.try_shutdown()


def turned(headings: Path) -> float:
    """Largest turn of the body until now, degrees."""
    values = [float(line.split()[1]) for line in headings.read_text().splitlines()]
    return math.degrees(max(map(abs, values), default=0.0))


def planned(runs: int, seed: int, stop: bool) -> list[GuidedStart]:
    """Return the guides to go through: both kinds in turn, faults in random order, or none."""
    chance = random.Random(seed)
    faults = {kind: itertools.cycle(chance.sample(f, len(f))) for kind, (_, f) in ROBOTS.items()}
    kinds = itertools.islice(itertools.cycle(ROBOTS), runs)
    return [
        GuidedStart(
            kind,
            (RehearsalFault.NONE if stop else next(faults[kind])).value,
            chance.choice(("3x3", "4x3", "5x5")),
        )
        for kind in kinds
    ]


def main() -> None:
    """Go through the guides; print a row of each, and what all of them give."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--seed", type=int, default=5703)
    parser.add_argument("--stop", action="store_true", help="click STOP in each step that moves")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--output", type=Path, help="all figures as JSON")
    options = parser.parse_args()
    print("kind      fault       named in      turned  clicks  minutes  complete  repeated")
    starts = []
    with ProcessPoolExecutor(options.workers, max_tasks_per_child=1) as pool:
        for each in pool.map(lead, planned(options.runs, options.seed, options.stop)):
            starts.append(each)
            print(
                f"{each.kind:9} {each.fault:11} {each.named_in:13} {each.turned:5.1f}°  "
                f"{each.clicks:6} {each.minutes:8.1f}  {each.complete!s:8}  "
                f"{', '.join(each.repeated)} {each.stops or ''} {each.problem}",
                flush=True,
            )
            if options.output is not None:
                options.output.write_text(json.dumps([asdict(s) for s in starts], indent=2))
    named = [each for each in starts if each.named_in]
    print(
        f"{len(named)} of {len(starts)} faults named, "
        f"{sum(each.turned < MOST_TURN for each in named)} before {MOST_TURN:g}°; "
        f"{sum(each.complete for each in starts)} complete, of these "
        f"{sum(each.complete and each.clicks <= MOST_CLICKS for each in starts)} with at most "
        f"{MOST_CLICKS} clicks and "
        f"{sum(each.complete and each.minutes <= MOST_MINUTES for each in starts)} within "
        f"{MOST_MINUTES:g} min"
    )


if __name__ == "__main__":
    main()
