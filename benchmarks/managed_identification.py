#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ident` with a controller manager on a busy computer, in virtual time and without ROS.

The robot is that of examples/ros2_control_robot, in closed form. A manager updates it at `--rate`.
A command that has arrived by an update acts 2 ms later. Joint states at 100 Hz report encoder
angles and the mean torque since the last update, as its hardware does: at 1000 Hz, of the last ms.
One update in five, and one answer in five, has an exponentially distributed delay with mean
`--late`. The robot is identified for 25 s, and verified for 5 s. For each run, prints errors of K5
to K8 in % and in standard deviations, the verdict, and errors of [v, omega] 2 s ahead, predicted by
the result and by the description, which is the truth here. At the end: verdicts, also on results
with K7 or K8 15 % too large, and the coverage of the 95 % intervals.

    ./diffbot python benchmarks/managed_identification.py --rate 1000 --late 0.005 --robots 16
"""

from __future__ import annotations

import math
from collections import Counter, deque
from dataclasses import replace

import numpy as np
from benchmark_tables import Table, contains, options, percent
from numpy.typing import NDArray

from arc_odometry import JointSample
from diffbot_description import Robot, closed_form, load_robot
from diffbot_description.dynamics import accelerations
from diffbot_ident.excitation.excitations import make_excitation, nominal_prior
from diffbot_ident.identification_run import Identification
from diffbot_ident.prediction_model import Model
from diffbot_ident.runaway import RunawayLimits
from diffbot_ident.torque.estimators import make_estimator
from diffbot_ident.torque.learning import MotionScale
from diffbot_ident.verification import HeldOutMotion

Pair = tuple[float, float]
PERIOD, STEP = 0.01, 0.0005  # period of the joint states, integration step, s
DELAY, ANSWER = 0.002, 0.0015  # from a written command to its torque, and to the answer, s
LATE_FRACTION = 0.2
EXCITED, VERIFIED = 25.0, 5.0  # s
WRONG = {"K7": (1.0, 1.0, 1.15, 1.0), "K8": (1.0, 1.0, 1.0, 1.15)}


class Due:
    """Values that take effect at later times, in the order of sending.

    Attributes:
        value: Value in effect, [left, right] in N m.
    """

    def __init__(self) -> None:
        self.value: Pair = (0.0, 0.0)
        self._waiting: deque[tuple[float, Pair]] = deque()

    def send(self, at: float, value: Pair) -> None:
        """Let a value take effect at a time, s, but not before its predecessor."""
        self._waiting.append((max(at, self._waiting[-1][0]) if self._waiting else at, value))

    def advance(self, time: float) -> None:
        """Apply the values that are due at a time, s."""
        while self._waiting and self._waiting[0][0] <= time:
            self.value = self._waiting.popleft()[1]


class ManagedRobot:
    """The robot, its hardware, and the controller that forwards commands.

    Args:
        robot: Robot without friction.
    """

    def __init__(self, robot: Robot) -> None:
        self._k = closed_form(robot.model)
        self._geometry = robot.geometry
        self._count = math.tau / robot.encoder.counts
        self._motion, self._angles = np.zeros(2), np.zeros(2)
        self._time = 0.0
        self.commands, self._torques = Due(), Due()

    def update(self, time: float) -> JointSample:
        """Update at a time, s: read, apply the newest command, and return the joints' state."""
        elapsed = time - self._time
        steps = max(1, math.ceil(elapsed / STEP))
        work = np.zeros(2)
        for i in range(steps):
            self._torques.advance(self._time + i * elapsed / steps)
            work += self._torques.value
            self._advance(elapsed / steps)
        self._time = time
        self.commands.advance(time)
        self._torques.send(time + DELAY, self.commands.value)
        left, right = (self._count * np.floor(self._angles / self._count)).tolist()
        mean_left, mean_right = (work / steps).tolist()
        return JointSample(time, (left, right), (0.0, 0.0), (mean_left, mean_right))

    def _slope(self, motion: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array(accelerations(self._k, *motion, *self._torques.value))

    def _advance(self, duration: float) -> None:
        middle = self._motion + 0.5 * duration * self._slope(self._motion)
        self._angles += duration * np.array(self._geometry.wheel_velocity(*middle))
        self._motion = self._motion + duration * self._slope(middle)


def identification(robot: Robot, seed: int) -> Identification:
    """Create the identification of the node `ident` with its defaults."""
    own, prior = robot.excitation, nominal_prior(robot)
    scale = MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude)
    limits = RunawayLimits(scale.velocity, scale.yaw_rate, scale.torque, robot.name)
    return Identification(
        make_estimator("integral", robot.geometry, scale),
        make_excitation("prbs", robot, seed, prior=prior, period=PERIOD),
        robot.geometry,
        limits,
        EXCITED,
        check=lambda: make_excitation("multisine", robot, seed + 1, prior=prior, period=PERIOD),
        verification=VERIFIED,
        nominal=Model.described(prior.values, robot),
    )


def run(robot: Robot, seed: int, rate: float, late: float) -> tuple[Identification, HeldOutMotion]:
    """Run to the end; also return the motion that verified the result."""
    own, rng = robot.excitation, np.random.default_rng((seed, round(1e6 * late)))
    ident, managed = identification(robot, seed), ManagedRobot(robot)
    held_out = HeldOutMotion(robot.geometry, (own.linear_velocity, own.angular_velocity))

    def lateness() -> float:
        return float(rng.exponential(late)) if rng.random() < LATE_FRACTION else 0.0

    time, tick, reported = 0.0, 0, 0.0
    while not ident.ended and time < 2.0 * (EXCITED + VERIFIED):
        tick = max(tick + 1, math.ceil(time * rate + 1e-9))
        time = max(tick / rate + lateness(), time + 1e-5)
        sample = managed.update(time)
        if time < reported + PERIOD:
            continue
        reported += PERIOD * math.floor((time - reported) / PERIOD)
        verifying = ident.phase.name == "VERIFYING"
        try:
            torque = ident.update(sample)
            if verifying:
                held_out.add(sample)
        except ValueError:
            torque = (0.0, 0.0)
            held_out.interrupt()
        ident.follow_up()
        managed.commands.send(time + ANSWER * (0.5 + rng.random()) + lateness(), torque)
    return ident, held_out


def main() -> None:
    """Run all seeds and print the results."""
    parser = options(__doc__, robots=16)
    parser.add_argument("--rate", type=float, default=1000.0, help="of the manager, Hz")
    parser.add_argument("--late", type=float, default=0.005, help="mean delay, s")
    given = parser.parse_args()
    robot = load_robot("twil")
    truth = np.array(closed_form(robot.model))
    nominal = Model.described(nominal_prior(robot).values, robot)
    verdicts: Counter[str] = Counter()
    inside = []
    ahead = ("[v, omega] in 2 s by the result", "by the truth")
    table = Table("seed", "% of K5..K8", "deviations", "delay", "verdict", *ahead, width=4)
    for seed in range(given.seed, given.seed + given.robots):
        ident, held_out = run(robot, seed, given.rate, given.late)
        result, verified = ident.estimate, ident.verified
        if verified is None:
            verdicts["not verified"] += 1
            table.row(seed, ident.problem or "nothing identifiable")
            continue
        deviations = np.sqrt(result.variances)
        errors = np.array(result.values) - truth
        inside.append(contains(errors, deviations, 0.0))
        verdict = verified.state.name.lower()
        verdicts[verdict] += 1
        model = Model.of(result)
        for name, factors in WRONG.items():
            values = np.multiply(model.values, factors).tolist()
            wrong = held_out.verify(replace(model, values=tuple(values)), nominal)
            verdicts[f"{name} + 15 %: {wrong.state.name.lower()}"] += 1
        table.row(
            seed, 100.0 * errors / truth, errors / deviations, result.delay, verdict,
            verified.horizon_error, verified.horizon_nominal,
        )  # fmt: skip
    if inside:
        print(f"95 % intervals that hold K5 to K8: {percent(np.mean(inside, axis=0))} %")
    print(", ".join(f"{name} {count}" for name, count in sorted(verdicts.items())))


if __name__ == "__main__":
    main()
