# SPDX-License-Identifier: Apache-2.0
"""The wheel watch in whole drives; benchmarks/wheel_watch.py has the figures of many more."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from arc_odometry import JointSample
from diffbot_description import load_robot
from diffbot_node.wheel_watch import WheelWatch
from diffbot_sim.engines import make_simulator

ROBOT = load_robot("twil")


@pytest.fixture
def drives(monkeypatch):
    """The drives of the benchmark."""
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    import impaired_robot

    return impaired_robot


@pytest.fixture(scope="module")
def engine():
    return make_simulator("ideal", ROBOT)


@pytest.mark.parametrize(
    ("wiring", "swapped"),
    [
        (((-1.0, 0.0), (0.0, -1.0)), False),
        (((-1.0, 0.0), (0.0, 1.0)), False),
        (((0.0, 1.0), (1.0, 0.0)), False),
        (((1.0, 0.0), (0.0, 1.0)), True),
    ],
    ids=["both flipped", "left flipped", "torques swapped", "angles swapped"],
)
def test_wrong_wheels_are_stopped_soon_after_the_start(drives, engine, wiring, swapped):
    # The standard law asks for all its torque at once: each wheel moves by less than 2 cm.
    wrong = drives.Impairment(wiring=wiring, swapped=swapped)
    run = drives.watched_drive(engine, ROBOT, ROBOT, "pose", 1.0, wrong, seed=1)
    assert run.why
    assert 0.01 * len(run.log) <= 0.11  # the first torque acts from 0.01 s on
    rim = ROBOT.wheels.radius * np.abs(engine.wheel_angles())
    assert rim.max() < 0.02


def test_a_stuck_encoder_is_stopped_within_100_ms_in_motion(drives, engine):
    stuck = drives.Impairment(start=2.5, stuck=(0,))
    run = drives.watched_drive(engine, ROBOT, ROBOT, "steps", 4.0, stuck)
    assert "left wheel's angle has stood still" in run.why
    assert 0.01 * len(run.log) - 2.5 <= 0.1


@pytest.mark.parametrize("drive", ["eight", "prbs", "every sample"])
def test_a_robot_with_coarse_wrapping_encoders_late_torque_and_a_slope_drives_on(drives, drive):
    heavy = replace(ROBOT, body=replace(ROBOT.body, mass=2.0 * ROBOT.body.mass))
    engine = make_simulator("ideal", heavy)
    impaired = drives.Impairment(delay=3, slope=5.0, wraps=True)
    conditions = drives.Conditions(counts=256, noise=0.05, lost=0.1)
    run = drives.watched_drive(engine, heavy, ROBOT, drive, 2.0, impaired, conditions, seed=3)
    assert run.why == ""
    assert len(run.log) == pytest.approx(200)
    assert np.abs(run.log[:, 4:]).max() > 0.5 / math.tau  # it did move


def stalled_drive(seed, late):
    """Why the watch stops a sound robot whose controller often stands still for 50 to 70 ms.

    Then it answers all states of that time at once, as a machine with a load of 16 lets it do; only
    the last of these torques acts. `late` tells the watch of answers that are late by more than
    30 ms.
    """
    chance = np.random.default_rng(seed)
    robot = load_robot("twil")
    engine, limit = make_simulator("ideal", robot), robot.limits.traction
    watch, waiting, wanted, commands = WheelWatch(robot), [], (0.0, 0.0), [(0.0, 0.0)]
    stall = 0
    for k in range(1, 1501):
        engine.step(commands[-1], 0.01)
        waiting.append(
            JointSample(0.01 * k, engine.wheel_angles(), engine.wheel_velocities(), (0.0, 0.0))
        )
        if not stall and chance.random() < 0.03:
            stall = int(chance.integers(5, 8))
        if stall:
            stall -= 1
            continue
        for sample in waiting:
            if late and len(waiting) > 3:
                watch.reset()
            if why := watch.update(sample, commands[-1]):
                return why
            if chance.random() < 0.1:
                wanted = tuple(0.6 * limit * chance.choice((-1.0, 1.0), 2))
            speeds = engine.wheel_velocities()
            fast = [abs(speed) > 6.0 for speed in speeds]
            commands.append(
                tuple(
                    -math.copysign(torque, speed) if high else torque
                    for torque, speed, high in zip(wanted, speeds, fast, strict=True)
                )
            )
        waiting.clear()
    return ""


def test_late_answers_are_no_proof_against_the_wheels():
    """20 drives of 15 s: without knowing of late answers, false alarms in 18 to 20 of them."""
    assert sum(bool(stalled_drive(seed, late=False)) for seed in range(5)) >= 3
    assert [stalled_drive(seed, late=True) for seed in range(5)] == [""] * 5
