# SPDX-License-Identifier: Apache-2.0
"""Friction on the engines by the checks of benchmarks/friction.py: within 0.1 % of the friction."""

from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"
# % of the friction, at steps of 1 ms.
LARGEST_ERROR = 0.1
# rad/s of a wheel that holds; a count of 4096 takes a quarter of an hour.
LARGEST_CREEP = 1e-6


@pytest.fixture
def friction(monkeypatch):
    """The benchmark."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import friction

    return friction


@pytest.mark.parametrize("case", ["direction", "static", "rolling", "caster", "gears"])
def test_mujoco_has_the_friction_of_the_file(friction, case):
    result = friction.check("mujoco", friction.CASES[case])
    assert len(result) == (4 if case == "caster" else 8)
    for name, error in result.items():
        assert abs(error) < (LARGEST_CREEP if name in ("creep", "rest") else LARGEST_ERROR), name


@pytest.mark.parametrize("case", ["static", "caster", "gears"])
def test_ideal_has_the_friction_of_the_file_exactly(friction, case, tmp_path):
    chosen = friction.CASES[case]
    robot = friction.variant(chosen, tmp_path)
    reference = friction.Reference(robot, chosen)
    sim = friction.make_simulator("ideal", robot)
    assert abs(friction.coast(sim, reference, -1.0)) < 1e-6
    if case != "caster":
        assert abs(friction.start(sim, reference, 1.0)) < 1e-6
        assert abs(friction.steady(sim, reference)) < 1e-6
        assert friction.creep(sim, reference) == 0.0


@pytest.mark.parametrize("case", ["direction", "static", "caster", "gears"])
def test_gazebo_has_the_friction_of_the_file(gazebo, friction, case, tmp_path):
    chosen = friction.CASES[case]
    robot = friction.variant(chosen, tmp_path)
    reference = friction.Reference(robot, chosen)
    sim = friction.make_simulator("gazebo", robot)
    try:
        assert abs(friction.coast(sim, reference, -1.0)) < LARGEST_ERROR
        if case != "caster":
            assert abs(friction.start(sim, reference, 1.0)) < LARGEST_ERROR
            friction.rest(sim)
            friction.run(sim, 0.99 * reference.torque(0.0, 0.0, 1.0), 0.3)
            assert max(map(abs, sim.wheel_velocities())) < LARGEST_CREEP
    finally:
        sim.close()


def test_robots_differ_only_where_the_case_says(friction, tmp_path):
    case = friction.CASES["static"]
    robot = friction.variant(case, tmp_path)
    assert robot.friction.static == (0.45, 0.45)
    assert robot.friction.stribeck_velocity == (0.3, 0.3)
    assert friction.variant(friction.CASES["dry"], tmp_path).friction.static is None
