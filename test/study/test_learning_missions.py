# SPDX-License-Identifier: Apache-2.0
"""The missions of benchmarks/learning.py, and its coverage by robots."""

import importlib
from pathlib import Path

import numpy as np
import pytest
from made_recordings.made_laser import room
from made_recordings.made_readings import simulated_drive

from arc_odometry import WheelGeometry


@pytest.fixture
def benchmark(monkeypatch):
    monkeypatch.syspath_prepend(str(Path(__file__).resolve().parents[2] / "benchmarks"))
    return lambda name: importlib.import_module(name)


def test_a_minute_stays_in_its_room(benchmark):
    """Before, 1 in 100 missions of a minute left it through a wall; 150 seeds, without slip."""
    learning = benchmark("learning")
    for seed in range(150):
        rng = np.random.default_rng(seed)
        for legs, limit in (
            (learning.mission(rng, 60.0, spin=seed % 2 == 0), 6.0),
            (learning.corridor_mission(rng, 60.0), 4.01),
        ):
            drive = simulated_drive(WheelGeometry(0.075, 0.075, 0.27), legs, rng)
            place = drive.truth.poses(drive.wheels.stamps[::50])[:, :2]
            assert np.abs(place).max() < limit
        assert np.abs(room(rng, 14.0)[:4]).max() > 6.0


def test_intervals_that_share_an_error_count_as_one(benchmark):
    """Two of twelve robots are outside with three of five: not as sure as 54 of 60 would be."""
    inside = [[True] * 5] * 10 + [[False] * 3 + [True] * 2] * 2
    assert benchmark("benchmark_tables").by_robots(inside).startswith("90.0 +- 12.7 by")
