# SPDX-License-Identifier: Apache-2.0
"""Every script of examples/ runs and finds what is true."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


@pytest.fixture
def run(capsys):
    """What an example prints, by its name."""

    def run(name):
        runpy.run_path(str(EXAMPLES / name), run_name="__main__")
        return capsys.readouterr().out

    return run


# Lines of those that are more than a page: a whole extended Kalman filter, and a program of its own
# that drives, measures and writes without the suite.
LONGEST = {"own_estimator.py": 130, "mujoco_log.py": 60}


def numbers(text):
    """All numbers of a text that do not belong to a name such as K5."""
    result = re.findall(r"(?<![\w.])[+-]?\d+(?:\.\d+)?(?:e[+-]\d+)?", text)
    return [float(number) for number in result]


def test_arrays_give_the_truth_within_the_intervals(run):
    state, *lines = run("identify_from_arrays.py").splitlines()
    assert state.startswith("ESTIMATED from 2500 samples")  # 5 s of 30 are held out
    assert [line[:2] for line in lines] == ["K5", "K6", "K7", "K8"]
    for line in lines:
        value, half_width, _, truth = numbers(line)
        assert value == pytest.approx(truth, rel=0.02)
        # Four intervals of 95 %: twice the width misses once in 10,000 seeds.
        assert abs(value - truth) < 2.0 * half_width


def test_the_own_law_reaches_its_point(run):
    where, torque, speed = run("own_control_law.py").splitlines()
    x, y, duration, *_ = numbers(where)
    assert (x, y) == pytest.approx((1.0, 0.5), abs=0.02)
    assert duration == pytest.approx(12.0, abs=0.11)
    largest, limit = numbers(torque)
    assert 0.0 < largest <= limit
    assert 0.3 < numbers(speed)[0] < 0.55


def test_the_own_excitation_identifies_the_robot(run):
    chirp, chirp_speeds, prbs, prbs_speeds = run("own_excitation.py").splitlines()
    for line, name in ((chirp, "chirp"), (prbs, "PRBS")):
        assert line.startswith(f"{name}: ESTIMATED")
        assert numbers(line) == pytest.approx([0.0] * 4, abs=2.0)
    for line in (chirp_speeds, prbs_speeds):
        assert 10 <= numbers(line)[0] < 100


def test_the_own_estimator_runs_beside_the_suites(run):
    """Friction, which the plain one does not know, goes into its values: 8 % in K7 and K8."""
    integral, own, kalman = run("own_estimator.py").splitlines()
    assert integral.startswith("integral: errors") and own.startswith("least squares: errors")
    assert numbers(integral) == pytest.approx([0.0] * 4, abs=1.0)
    assert kalman.startswith("Kalman filter: errors")
    assert numbers(kalman) == pytest.approx([0.0] * 4, abs=1.0)
    assert numbers(own) == pytest.approx([0.0] * 4, abs=50.0)
    assert all(-15.0 < error < -3.0 for error in numbers(own)[2:])


def test_what_was_identified_drives_better_than_what_was_described(run):
    mass, described, identified = run("identify_then_drive.py").splitlines()
    result, truth = numbers(mass)
    assert result == pytest.approx(truth, rel=0.005) and truth == pytest.approx(6.2375, abs=1e-3)
    (before, turned_before), (after, turned_after) = map(numbers, (described, identified))
    assert after < 0.5 * before and turned_after < 0.3 * turned_before


def test_the_own_robot_has_its_closed_form(run):
    """K7 = 1 / (r M) with M = 20 + 2 + 2 0.005 / 0.1^2 = 23 kg, and 10 kg more with the load."""
    k, work, torques, loaded, loaded_work, loaded_torques = run("own_robot.py").splitlines()
    k5, k6, k7, k8 = numbers(k)
    assert k5 == pytest.approx(20.0 * 0.05 / 23.0, abs=1e-5)
    assert k7 == pytest.approx(1.0 / 2.3, abs=1e-5)
    assert numbers(loaded)[2] == pytest.approx(1.0 / 3.3, abs=1e-5)
    assert [numbers(line)[0] for line in (work, loaded_work)] == pytest.approx([0.0] * 2, abs=1e-12)
    # (41): the accelerations that were asked for, at 0.5 m/s and 1 rad/s.
    left, right = numbers(torques)[-2:]
    assert k5 + k7 * (left + right) == pytest.approx(0.2, abs=1e-3)
    assert k6 * 0.5 + k8 * (left - right) == pytest.approx(0.5, abs=1e-3)
    assert sum(numbers(loaded_torques)[-2:]) > left + right


def test_odometry_closes_its_circle(run):
    pose, velocity, deviations = run("odometry_alone.py").splitlines()
    assert numbers(pose) == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    assert numbers(velocity) == pytest.approx([0.6283, 0.6283], abs=1e-4)
    # The heading's variance is k (path left + path right) / separation^2, 12.6 m of 1 mm at 1 m.
    assert numbers(deviations)[2] == pytest.approx((1e-3 / 0.272) * (12.566**0.5) * 1e3, rel=0.01)


def test_every_example_is_short_tested_and_listed():
    scripts = sorted(EXAMPLES.glob("*.py"))
    listed = (EXAMPLES / "README.md").read_text()
    tests = [Path(__file__), *ROOT.glob("test/recordings/*.py"), *ROOT.glob("tools/*/test/*.py")]
    tested = "".join(path.read_text() for path in tests)
    assert len(scripts) >= 5
    for script in scripts:
        text = script.read_text()
        assert re.search(rf"^ *\S.* examples/{script.name}", text, re.M), "how to run it"
        assert 15 <= len(text.splitlines()) <= LONGEST.get(script.name, 40), script.name
        assert f"`{script.name}`" in listed and re.search(f'["/]{script.name}"', tested)
