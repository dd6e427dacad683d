#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Processor time of each commanding node per state, in one process and without a middleware.

The bus of the fault table sends the node its states and receives its commands. The benchmark
measures only the state callback, up to the call that publishes the command and up to the callback's
end, in thread processor time, which depends less on other load than wall time. round_trip.py
includes the middleware.

    ./diffbot python benchmarks/answer_cost.py [--seconds 5] [--rounds 3] [--only ident ...]
        [--profile]
    ./diffbot python benchmarks/answer_cost.py --looks twil agv [--seconds 60]

The nodes take turns in each round; the table shows medians over the rounds, in us. To compare two
versions of the code, run it alternately in both checkouts.

`--looks` measures instead how long an evaluation of the recommended estimator takes in a simulated
run of these robots, 5 times a second of robot time as in the node ident.
"""

from __future__ import annotations

import cProfile
import pstats
import statistics
import time
from typing import Any
from unittest.mock import patch

import numpy as np
from benchmark_tables import options

from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_node.command_loop import CommandLoop
from diffbot_node.command_output import CommandOutput
from diffbot_study.simulated_identification import simulate_identification
from faults.bus import BEGINNING
from faults.scene import BACKSTEP, IDENT, LINEARIZING, POSE, TRACKING, Scene, Subject

SUBJECTS: dict[str, tuple[Subject, dict[str, Any]]] = {
    **{
        f"ident {name}": (IDENT, {"estimator": name, "duration": 1000.0})
        for name in ("integral", "rls")
    },
    "backstepping": (BACKSTEP, {}),
    "pose": (POSE, {}),
    "linearizing": (LINEARIZING, {}),
    "velocity tracking": (TRACKING, {}),
}
WARM_UP = 1.0  # s of robot time


class Stopwatch:
    """Processor times of callbacks, us: up to the command, and in total."""

    def __init__(self) -> None:
        self.command: list[float] = []
        self.whole: list[float] = []
        self.profile: cProfile.Profile | None = None
        self._begin = 0.0
        self._sent: float | None = None

    def sent(self) -> None:
        """Note a published command; the first one in a callback counts."""
        if self._sent is None:
            self._sent = time.thread_time()

    def time(self, call: Any, *arguments: Any) -> None:
        """Call a function and measure its time."""
        self._sent, self._begin = None, time.thread_time()
        if self.profile is not None:
            self.profile.enable()
        call(*arguments)
        if self.profile is not None:
            self.profile.disable()
        end = time.thread_time()
        if self._sent is not None:
            self.command.append(1e6 * (self._sent - self._begin))
            self.whole.append(1e6 * (end - self._begin))


def measured(name: str, seconds: float, profile: cProfile.Profile | None = None) -> list[float]:
    """Return p50 and p99 up to the command, and p50, p99 and mean in total, us."""
    subject, parameters = SUBJECTS[name]
    watch = Stopwatch()
    on_state, send = CommandLoop.on_state, CommandOutput.send

    def timed(loop: CommandLoop, *arguments: Any) -> None:
        watch.time(on_state, loop, *arguments)

    def noted(output: CommandOutput, *arguments: Any) -> None:
        send(output, *arguments)
        watch.sent()

    with (
        patch.object(CommandLoop, "on_state", timed),
        patch.object(CommandOutput, "send", noted),
        Scene(subject, "ideal", **parameters) as scene,
    ):
        scene.advance(BEGINNING + WARM_UP)
        watch.command.clear(), watch.whole.clear()
        watch.profile = profile
        scene.advance(BEGINNING + WARM_UP + seconds)
    quantiles = [np.quantile(values, (0.5, 0.99)) for values in (watch.command, watch.whole)]
    return [*map(float, np.concatenate(quantiles)), statistics.fmean(watch.whole)]


def looks(robot: str, seconds: float) -> list[float]:
    """Return the processor times of the estimator's evaluations in the second half of a run, ms."""
    times: list[float] = []
    estimate = IntegralEstimator.estimate

    def timed(estimator: IntegralEstimator) -> Any:
        begin = time.thread_time()
        result = estimate(estimator)
        times.append(1e3 * (time.thread_time() - begin))
        return result

    with patch.object(IntegralEstimator, "estimate", timed):
        simulate_identification(robot, seed=3, seconds=seconds, torque_noise=0.02, record=0.2)
    return times[len(times) // 2 :]


def main() -> None:
    """Run the measurement."""
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=5.0, help="robot time")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", nargs="*", choices=SUBJECTS, default=list(SUBJECTS))
    parser.add_argument("--profile", action="store_true", help="print a profile instead")
    parser.add_argument("--looks", nargs="+", metavar="ROBOT", help="measure the estimator instead")
    asked = parser.parse_args()
    if asked.looks:
        print(f"{'ms':20}{'p50':>8}{'p99':>8}{'mean':>8}")
        for robot in asked.looks:
            times = looks(robot, asked.seconds)
            values = (*np.quantile(times, (0.5, 0.99)), statistics.fmean(times))
            print(f"{robot:20}" + "".join(f"{value:8.2f}" for value in values))
        return
    if asked.profile:
        profile = cProfile.Profile()
        for name in asked.only:
            measured(name, asked.seconds, profile)
        pstats.Stats(profile).sort_stats("tottime").print_stats(40)
        return
    results: dict[str, list[list[float]]] = {name: [] for name in asked.only}
    for _ in range(asked.rounds):
        for name in asked.only:
            results[name].append(measured(name, asked.seconds))
    print(f"{'us':20}{'command p50':>13}{'p99':>8}{'whole p50':>13}{'p99':>8}{'mean':>8}")
    for name, rounds in results.items():
        values = (statistics.median(column) for column in zip(*rounds, strict=True))
        widths = (13, 8, 13, 8, 8)
        print(f"{name:20}" + "".join(f"{v:{w}.0f}" for v, w in zip(values, widths, strict=True)))


if __name__ == "__main__":
    main()
