# SPDX-License-Identifier: Apache-2.0
"""The wheel watch in whole drives; benchmarks/wheel_watch.py has the figures of many more."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from diffbot_description import load_robot
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
