#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Random velocity robots, excited in a room and analysed: coverage of every interval, by kind.

Robots of diffbot_bench.velocity_plant, whose simulation shares nothing with the suite's.
Commands are of `VelocityExcitation` in a room of 3 m x 3 m.

Prints a line per robot, and then, for axes with and without a limit of acceleration, per parameter:
the share of 95 % intervals that hold, how often it is not identifiable, and the largest error in
standard deviations; the shares of verified and refused axes; which limits were found; how far the
robot went; and the processor time of the analysis.

With --until, each robot is also analysed while it drives, as `launch ident` does it, and stops when
the precision is reached: a table of the intervals at all looks, and one of those at the stops.

    ./diffbot python benchmarks/velocity_robots.py --robots 100 --first 0
    ./diffbot python benchmarks/velocity_robots.py --robots 50 --first 500 \
        --until "time_constant 5% gain 2% dead_time 20ms"
"""

from __future__ import annotations

import argparse
import math
import time
from dataclasses import dataclass, field

import numpy as np

from diffbot_bench.suite_estimators import segments_of
from diffbot_bench.velocity_plant import AXES, NAMES, LaggingRobot, VelocityLog, draw, record
from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.excitation.velocity_excitation import VelocityExcitation
from diffbot_ident.parameters_message import quantities_of
from diffbot_ident.precision import MIN_TIME, VelocityPrecision
from diffbot_ident.until import VELOCITY_EXAMPLE
from diffbot_recordings.findings import analyse_axes
from diffbot_recordings.settled import SettledLooks
from diffbot_recordings.velocity_analysis import AxisAnalysis
from diffbot_recordings.velocity_ident_report_node import FIRST_LOOK, message_of

ROOM = 1.5  # half length and width, m


@dataclass
class Tally:
    """Results of axes of one kind."""

    axes: int = 0
    usable: int = 0
    limits: int = 0
    errors: dict[str, list[float]] = field(default_factory=lambda: {name: [] for name in NAMES})
    unknown: dict[str, int] = field(default_factory=lambda: dict.fromkeys(NAMES, 0))

    def add(self, truth: LaggingRobot, axis: int, analysis: AxisAnalysis | None) -> str:
        """Add an axis; return a text of it."""
        self.axes += 1
        if analysis is None or not analysis.verdict.usable:
            reason = "not in the recording" if analysis is None else analysis.verdict.summary()
            return f"{AXES[axis]} {reason[:100]}"
        self.usable += 1
        estimated = {value.name: value for value in analysis.verdict.values}
        self.limits += "acceleration limit" in estimated
        texts = []
        for name, short in NAMES.items():
            true = float(truth.values[name][axis])
            value = estimated.get(name)
            if value is None or math.isnan(true):
                continue
            if not value.identifiable:
                self.unknown[name] += 1
                continue
            miss = value.value - true
            # A given value, or one without an error, has no deviation.
            error = miss / value.std if value.std > 0.0 else (0.0 if miss == 0.0 else math.inf)
            self.errors[name].append(error)
            texts.append(f"{short} {true:.3f} {error:+.1f}")
        return f"{AXES[axis]} " + ", ".join(texts)

    def report(self, kind: str) -> None:
        """Print shares and largest errors."""
        if not self.axes:
            return
        print(
            f"{kind}: {self.axes} axes, verified {self.usable / self.axes:.0%}, "
            f"limit of acceleration found in {self.limits}"
        )
        print("  parameter  known  unknown  hold  largest error (standard deviations)")
        for name, short in NAMES.items():
            errors = np.abs(self.errors[name])
            if len(errors):
                fraction = np.mean(errors <= NORMAL_95)
                print(
                    f"  {short:9} {len(errors):6d} {self.unknown[name]:8d} {fraction:5.0%}"
                    f"  {errors.max():.1f}"
                )


class Looks:
    """What a run tells while it goes on, and when it would have ended.

    Args:
        until: Precision at which a robot stops.
    """

    def __init__(self, until: VelocityPrecision) -> None:
        self._until, self._stops = until, list[float]()
        self._looks, self._last = Tally(), Tally()

    def add(self, truth: LaggingRobot, log: VelocityLog, duration: float) -> str:
        """Analyse a robot again and again until it may stop; return a text of the stop."""
        looks, end = SettledLooks(), FIRST_LOOK
        while end < duration:
            known, sent = (rows[rows[:, 0] <= end] for rows in (log.odometry, log.commands))
            looks.add(analyse_axes(segments_of(known, sent)))
            results = looks.axes
            precise = self._until.is_reached(quantities_of(message_of(results, 0)))
            stops = precise and end >= MIN_TIME
            for tally in (self._looks, self._last) if stops else (self._looks,):
                texts = [tally.add(truth, i, results.get(name)) for i, name in enumerate(AXES)]
            if stops:
                self._stops.append(end)
                return f"  stops after {end:.0f} s: " + "; ".join(texts)
            end += looks.pause
        self._stops.append(math.inf)
        return f"  not as precise within {duration:g} s"

    def report(self) -> None:
        """Print both tables, and when the robots stopped."""
        self._looks.report("while they drive, all looks")
        self._last.report("at the stops")
        stops = np.array(self._stops)
        ended = stops[np.isfinite(stops)]
        median = f", median {np.median(ended):.0f} s" if len(ended) else ""
        print(f"  {len(ended)} of {len(stops)} stop{median}")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", maxsplit=1)[0])
    parser.add_argument("--robots", type=int, default=100)
    parser.add_argument("--first", type=int, default=0, help="seed of the first robot")
    parser.add_argument("--duration", type=float, default=90.0, help="of each recording, s")
    parser.add_argument("--ramps", action="store_true", help="only robots with limits")
    parser.add_argument(
        "--until", default="", help=f"precision of a stop, such as {VELOCITY_EXAMPLE!r}"
    )
    arguments = parser.parse_args()
    until = VelocityPrecision.parse(arguments.until)
    looks = None if until is None else Looks(until)
    seconds, farthest, left = [], 0.0, arguments.robots
    tallies = {"without a limit": Tally(), "with a limit of acceleration": Tally()}
    seed = arguments.first
    while left > 0:
        truth = draw(seed)
        seed += 1
        if arguments.ramps and not truth.ramp:
            continue
        left -= 1
        excitation = VelocityExcitation((ROOM, ROOM), truth.limits, seed=seed)
        recording = record(truth, excitation.command, arguments.duration, seed)
        segments = segments_of(recording.odometry, recording.commands)
        farthest = max(farthest, recording.farthest)
        begin = time.process_time()
        results = analyse_axes(segments)
        seconds.append(time.process_time() - begin)
        tally = tallies["with a limit of acceleration" if truth.ramp else "without a limit"]
        band = "" if truth.band[0] == 0.0 else "threshold" if truth.threshold else "offset"
        print(
            f"robot {seed - 1}: {1.0 / truth.period:.0f} Hz {band} {truth.ramp}, "
            f"{seconds[-1]:.1f} s, {recording.farthest:.2f} m"
        )
        for axis, name in enumerate(AXES):
            print("  " + tally.add(truth, axis, results.get(name)), flush=True)
        if looks is not None:
            print(looks.add(truth, recording, arguments.duration), flush=True)
    for kind, tally in tallies.items():
        tally.report(kind)
    if looks is not None:
        looks.report()
    print(f"analysis: median {np.median(seconds):.1f} s, longest {max(seconds):.1f} s; ", end="")
    print(f"farthest {farthest:.2f} m of {ROOM:g} m")


if __name__ == "__main__":
    main()
