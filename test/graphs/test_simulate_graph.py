# SPDX-License-Identifier: Apache-2.0
"""`diffbot simulate` and the launch of the same run: every number is the same."""

import math

import pytest

pytest.importorskip("rclpy")

from launched import run, summary

from diffbot_study import simulate

# They differ by the run, not by its numbers.
OWN = ("name", "started", "real_time_factor", "versions", "arguments")


def numbers(value, path=()):
    """Every number and text of a summary, by its path."""
    if isinstance(value, dict):
        for name, part in value.items():
            if path or name not in OWN:
                yield from numbers(part, (*path, name))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from numbers(part, (*path, index))
    else:
        yield path, value


@pytest.mark.one_distribution
@pytest.mark.full_speed
@pytest.mark.parametrize(
    ("task", "arguments"),
    [
        ("ident", ("sim:=mujoco", "robot:=agv", "seed:=4", "arena:=4x4", "duration:=6")),
        ("drive", ("sim:=ideal", "seed:=2", "duration:=12", "start:=-0.1,0.1,0.5")),
        ("ident", ("sim:=velocity", "seed:=5", "duration:=5")),
        ("drive", ("sim:=velocity", "seed:=6", "laps:=1", "duration:=12")),
    ],
    ids=["mujoco", "drive", "velocity", "velocity drive"],
)
def test_a_simulated_run_is_its_launch(task, arguments, tmp_path, domain):
    launched, simulated = tmp_path / "launched", tmp_path / "simulated"
    status, output = run(task, launched, *arguments)
    assert status == 0, output
    words = (task, f"results:={simulated}", "report:=html", *arguments)
    assert simulate.main(words) == 0
    one, other = (dict(numbers(summary(folder))) for folder in (launched, simulated))
    assert one.keys() == other.keys() and len(one) > 30
    for path, value in one.items():
        if isinstance(value, float):
            assert math.isclose(value, other[path], rel_tol=1e-9, abs_tol=1e-12), path
        else:
            assert value == other[path], path
