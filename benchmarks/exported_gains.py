#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exported gains on the identified robot: settling and overshoot compared with the prediction.

Robots are drawn at random (diffbot_study.random_robots: friction, torque delay and noise, counting
encoders), excited, identified and verified on held-out motion. `diffbot export` processes the
resulting file. A PID of this script, with the algorithm of control_toolbox, reads the exported
ros2_control.yaml and drives the true robot at the file's rate: a step of both wheels forward, and
one on the spot. The speed of the axis is compared with the prediction in export.json. With --bends
the true robot drives bends of 90 degrees at the speeds of speed_table.md, with the follower that
the table assumes, and the largest distance from the path is compared with the tolerance.

    ./diffbot python benchmarks/exported_gains.py --robots 40 --seed 1000
"""

from __future__ import annotations

import contextlib
import io
import json
import math
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import yaml
from benchmark_tables import Table, options
from ensemble import Ensemble, ensemble
from made_recordings.random_runs import record_random

from diffbot_export.command import main as export
from diffbot_ident.estimate import EstimateState
from diffbot_ident.estimators import make_estimator
from diffbot_ident.parameter_writer import parameter_document, save_parameters
from diffbot_ident.prediction_model import Model
from diffbot_ident.verification import HeldOutMotion
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Encoders
from diffbot_study.random_robots import RandomRobot, draw

LEARN, HELD_OUT = 15.0, 8.0  # s
AXES = ("forward", "turning")
# Overshoot from which on its relative error is meaningful.
LARGE = 0.05
# Evaluations of the true speed per period.
FINE = 4


@dataclass(frozen=True)
class Answer:
    """Response of one axis of one robot.

    Attributes:
        settling: Settling time, s; infinite: never.
        overshoot: Overshoot relative to the step.
        predicted_settling: Predicted settling time, s.
        predicted_overshoot: Predicted overshoot relative to the step.
        period: Period of the loops, s.
    """

    settling: float
    overshoot: float
    predicted_settling: float
    predicted_overshoot: float
    period: float

    @property
    def settling_error(self) -> float:
        """Error of the settling time relative to the prediction."""
        return self.settling / self.predicted_settling - 1.0

    @property
    def overshoot_error(self) -> float:
        """Difference of the peaks relative to the predicted peak."""
        return (1.0 + self.overshoot) / (1.0 + self.predicted_overshoot) - 1.0


def identify(drawn: RandomRobot, folder: Path) -> bool:
    """Write dynamic_parameters.yaml of a robot to a folder; return whether it is usable."""
    run = record_random(drawn, LEARN + HELD_OUT)
    learner, held_out = (
        make_estimator("integral", run.geometry, run.scale),
        HeldOutMotion(run.geometry),
    )
    for sample in run.samples:
        if sample.stamp <= LEARN:
            learner.update(sample)
        else:
            held_out.add(sample)
    estimate = learner.estimate()
    if estimate.state is not EstimateState.ESTIMATED:
        return False
    model = Model.of(estimate)
    verification = held_out.verify(model, model)
    document = parameter_document(
        estimate, drawn.robot.name, "2026-01-01", "0", LEARN, None, verification
    )
    folder.mkdir(parents=True, exist_ok=True)
    save_parameters(folder / "dynamic_parameters.yaml", document)
    return verification.passed


class LoadedPid:
    """pid_controller of one wheel, from its parameters; as control_toolbox's compute_command."""

    def __init__(self, node: dict[str, Any]) -> None:
        parameters = node["ros__parameters"]
        (self.joint,) = parameters["dof_names"]
        self._gains = parameters["gains"][self.joint]
        self._i_term = 0.0

    def command(self, reference: float, measured: float, period: float) -> float:
        """Return the effort of a period."""
        gains = self._gains
        error = reference - measured
        unclamped = gains["p"] * error + self._i_term
        low, high = gains.get("u_clamp_min", -math.inf), gains.get("u_clamp_max", math.inf)
        clamped = min(max(unclamped, low), high)
        assert gains["antiwindup_strategy"] == "conditional_integration"
        if clamped == unclamped or not error * unclamped > 0.0:
            self._i_term += period * gains["i"] * error
        return reference * gains["feedforward_gain"] + clamped


def answers(seed: int, folder: Path, margin: float = 60.0) -> list[Answer] | None:
    """Return both responses of the robot of a seed; None: not identified."""
    drawn = draw(seed).written(folder)
    files = exported(drawn, folder, margin)
    if files is None:
        return None
    nodes, reported, _ = files
    return [_answer(drawn, nodes, reported, axis) for axis in (0, 1)]


Files = tuple[dict[str, Any], dict[str, Any], str]


def exported(drawn: RandomRobot, folder: Path, margin: float) -> Files | None:
    """Export ros2_control.yaml, wheel_loops of export.json, the table; None: not identified."""
    results, output = folder / f"results_{drawn.seed}", folder / f"export_{drawn.seed}"
    if not identify(drawn, results):
        return None
    rate = round(1.0 / drawn.period)
    words = [str(results), "--robot", str(drawn.robot.path), "--to", "ros2_control"]
    words += ["--loop-rate", str(rate), "--margin", str(margin), "--output", str(output)]
    with contextlib.redirect_stdout(io.StringIO()):
        status = export(words)
    if status != 0:
        raise RuntimeError(f"seed {drawn.seed}: export ended with {status}")
    nodes = yaml.safe_load((output / "ros2_control.yaml").read_text())
    reported = json.loads((output / "export.json").read_text())["wheel_loops"]
    return nodes, reported, (output / "speed_table.md").read_text()


def _answer(
    drawn: RandomRobot, nodes: dict[str, Any], reported: dict[str, Any], axis: int
) -> Answer:
    period = 1.0 / nodes["controller_manager"]["ros__parameters"]["update_rate"]
    pids = [LoadedPid(nodes[name]) for name in ("left_wheel_pid", "right_wheel_pid")]
    predicted, step, band = reported["predicted"][AXES[axis]], reported["step"], reported["band"]
    expected = math.inf if predicted["settling"] is None else predicted["settling"]
    duration = min(10.0 * reported["p"] / reported["i"], 5000 * period)
    references = (step if axis == 0 else -step, step)
    noise = np.random.default_rng([drawn.seed, 3 + axis])
    late = _Late(drawn.delay * drawn.period / period)
    values = []
    with contextlib.closing(make_simulator("ideal", drawn.robot)) as engine:
        encoders = Encoders(drawn.robot.encoder.counts, period, drawn.seed)
        measured = (0.0, 0.0)
        for _ in range(round(duration / period)):
            efforts = [
                pid.command(reference, speed, period)
                for pid, reference, speed in zip(pids, references, measured, strict=True)
            ]
            limit = drawn.robot.limits.torque
            torques = [
                min(max(effort, -limit), limit) * (1.0 + drawn.noise * noise.standard_normal())
                for effort in efforts
            ]
            for left, right, fraction in late.pieces((torques[0], torques[1])):
                for _ in range(FINE):
                    engine.step((left, right), fraction * period / FINE)
                    w_left, w_right = engine.wheel_velocities()
                    speed = 0.5 * (w_right + w_left if axis == 0 else w_right - w_left)
                    values.append((fraction * period / FINE, speed / step))
            _, measured = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
    settled = time = 0.0
    for interval, value in values:
        time += interval
        if abs(value - 1.0) > band:
            settled = time
    settling = math.inf if settled == time else settled
    overshoot = max(max(value for _, value in values) - 1.0, 0.0)
    return Answer(settling, overshoot, expected, predicted["overshoot"], period)


class _Late:
    """Torques with a delay of an integer or fractional number of periods."""

    def __init__(self, periods: float) -> None:
        whole = int(periods)
        self._part = periods - whole
        self._line = deque([(0.0, 0.0)] * (whole + 1), maxlen=whole + 2)

    def pieces(self, torque: tuple[float, float]) -> list[tuple[float, float, float]]:
        """Return the acting torques in this period: (left, right, share of the period)."""
        self._line.append(torque)
        before, now = self._line[0], self._line[1]
        pieces = [(*before, self._part), (*now, 1.0 - self._part)]
        return [piece for piece in pieces if piece[2] > 1e-9]


@dataclass(frozen=True)
class Bend:
    """A bend driven at the speed of the table: radius, tolerance and deviation, m; speed, m/s."""

    radius: float
    tolerance: float
    speed: float
    deviation: float


def bends(seed: int, folder: Path, margin: float = 60.0) -> list[Bend] | None:
    """Return a robot's bends whose speed the tolerance limits; None: not identified."""
    drawn = draw(seed).written(folder)
    files = exported(drawn, folder, margin)
    if files is None:
        return None
    nodes, _, table = files
    rows = [line.strip("| ").split(" | ") for line in table.splitlines() if line.startswith("| ")]
    tolerances = [0.01 * float(cell.split()[1]) for cell in rows[0][1:]]
    results = []
    for label, *cells in rows[1:]:
        for tolerance, cell in zip(tolerances, cells, strict=True):
            if cell[0].isdigit() and not cell.endswith("*"):
                radius, speed = float(label.split()[0]), float(cell.split()[0])
                away = _driven(drawn, nodes, radius, speed)
                results.append(Bend(radius, tolerance, speed, away))
    return results


def _driven(drawn: RandomRobot, nodes: dict[str, Any], radius: float, speed: float) -> float:
    """Return the largest distance from a path line, bend, line, m; the robot starts at rest."""
    period = 1.0 / nodes["controller_manager"]["ros__parameters"]["update_rate"]
    base = nodes["diffbot_base_controller"]["ros__parameters"]
    linear, angular = base["linear"]["x"], base["angular"]["z"]
    pids = [LoadedPid(nodes[name]) for name in ("left_wheel_pid", "right_wheel_pid")]
    geometry = drawn.robot.geometry
    late = _Late(drawn.delay * drawn.period / period)
    length, run_up = 0.5, 8.0 * speed + speed**2 / linear["max_acceleration"]
    v = omega = largest = 0.0
    measured = (0.0, 0.0)
    with contextlib.closing(make_simulator("ideal", drawn.robot)) as engine:
        engine.reset((-run_up, 0.0, 0.0))
        encoders = Encoders(drawn.robot.encoder.counts, period, drawn.seed)
        for _ in range(round((3.0 + 4.0 * (run_up + 2.0 * radius + 2.0) / speed) / period)):
            x, y, theta = engine.pose()
            if y >= radius:
                left, turned, curvature = radius - x, theta - 0.5 * math.pi, 0.0
            elif x <= 0.0:
                left, turned, curvature = y, theta, 0.0
            else:
                left = radius - math.hypot(x, radius - y)
                turned, curvature = theta - math.atan2(x, radius - y), 1.0 / radius
            if x > 0.0:
                largest = max(largest, abs(left))
            if y > radius + 2.0:
                return largest
            most = period * linear["max_acceleration"]
            v = min(speed, v + most)
            wanted = speed * (curvature - left / length**2 - 2.0 * math.sin(turned) / length)
            wanted = min(max(wanted, angular["min_velocity"]), angular["max_velocity"])
            most = period * angular["max_acceleration"]
            omega = min(max(wanted, omega - most), omega + most)
            efforts = [
                pid.command(reference, rate, period)
                for pid, reference, rate in zip(
                    pids, geometry.wheel_velocity(v, omega), measured, strict=True
                )
            ]
            limit = drawn.robot.limits.torque
            torque = tuple(min(max(effort, -limit), limit) for effort in efforts)
            for left_torque, right_torque, fraction in late.pieces((torque[0], torque[1])):
                engine.step((left_torque, right_torque), fraction * period)
            _, measured = encoders.read(engine.wheel_angles(), engine.wheel_velocities())
    return math.inf


def in_own_folder(work: Callable[[int, Path], list[Any] | None], seed: int) -> list[Any] | None:
    """Run `answers` or `bends` for a seed in a temporary folder."""
    with TemporaryDirectory() as folder:
        return work(seed, Path(folder))


def print_bends(robots: Ensemble) -> None:
    """Print the deviations relative to their tolerances."""
    every = [bend for own in robots.map(in_own_folder, bends) for bend in own or ()]
    shares = [bend.deviation / bend.tolerance for bend in every]
    table = Table("deviation over tolerance", "bends", "median", "5 %", "95 %", "largest")
    table.row("", len(shares), *np.percentile(shares, (50, 5, 95, 100)))


def print_answers(robots: Ensemble) -> None:
    """Print settling and overshoot compared with the prediction."""
    every = robots.map(in_own_folder, answers)
    results = [answer for both in every for answer in both or ()]
    print(f"{len(every)} robots, {every.count(None)} not identified; {len(results)} steps")
    reported = [answer for answer in results if math.isfinite(answer.predicted_settling)]
    large = [answer for answer in reported if answer.predicted_overshoot >= LARGE]
    table = Table("error, %", "median", "95 %", "largest", "within 10 %", "of", width=40)
    for name, errors in (
        ("settling time", [answer.settling_error for answer in reported]),
        ("peak of the step", [answer.overshoot_error for answer in reported]),
        (
            f"overshoot where at least {100 * LARGE:g} % are predicted",
            [answer.overshoot / answer.predicted_overshoot - 1.0 for answer in large],
        ),
    ):
        size = 100.0 * np.abs(errors)
        if len(size):
            cells = np.percentile(size, (50, 95, 100))
            table.row(name, *cells, np.count_nonzero(size <= 10.0), len(size))


def main() -> None:
    """Print the table."""
    parser = options(__doc__, robots=12, cluster=True)
    parser.add_argument("--bends", action="store_true", help="check the table of speeds instead")
    given = parser.parse_args()
    with ensemble(given) as robots:
        (print_bends if given.bends else print_answers)(robots)


if __name__ == "__main__":
    main()
