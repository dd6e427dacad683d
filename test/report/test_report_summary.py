# SPDX-License-Identifier: Apache-2.0
"""summary.json: its keys, and strict JSON whatever was found."""

import json
import math
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ident_example import FRICTION, TRUE, VERIFICATION, example_estimate, make_estimate

from diffbot_description import RobotModel
from diffbot_description.files import SUMMARY, strict, write_json
from diffbot_ident.verification import VerificationState
from diffbot_report.ident_results import confidence_keys, identification_keys
from diffbot_report.quantity import friction_quantities, parameter_quantities, physical_quantities
from diffbot_report.run_end import Ending, Outcome
from diffbot_report.summary import (
    RunDescription,
    parse_arguments,
    run_summary,
    versions,
)

MODEL = RobotModel(0.075, 0.136, 4.2375, 0.0544, 0.1004, 0.25, 0.00084375, 0.000441)
RUN = RunDescription("ident", "twil", "mujoco", 3, {"duration": 60})


def reject(constant):
    raise AssertionError(f"{constant} is not JSON")


def make(estimate, truth=TRUE, verification=None, **more):
    keys = identification_keys(
        parameter_quantities(estimate, truth),
        physical_quantities(estimate, MODEL, truth),
        friction_quantities(estimate),
        VerificationState.VERIFIED if verification else VerificationState.NOT_VERIFIED,
        verification,
    )
    return run_summary(RUN, Ending(Outcome.COMPLETED), 60.0, 35.5, keys, more)


def test_keys_and_values(tmp_path):
    content = make(make_estimate(TRUE, (1e-6, math.inf, 1e-4, 1e-2)), samples=6000)
    path = write_json(tmp_path / SUMMARY, content)
    assert path.name == "summary.json"
    assert [p.name for p in tmp_path.iterdir()] == ["summary.json"]
    read = json.loads(path.read_text(encoding="utf-8"), parse_constant=reject)
    assert {
        "name", "robot", "sim", "seed", "duration", "real_time_factor", "versions", "arguments",
        "outcome", "reason", "parameters",
    } <= read.keys()  # fmt: skip
    assert (read["name"], read["robot"], read["sim"], read["seed"]) == (
        "ident",
        "twil",
        "mujoco",
        3,
    )
    assert (read["duration"], read["real_time_factor"]) == (60.0, 35.5)
    assert (read["outcome"], read["reason"], read["samples"]) == ("completed", "", 6000)
    assert list(read["parameters"]) == ["K5", "K6", "K7", "K8"]
    for entry in read["parameters"].values():
        assert {"value", "std", "interval95", "closed_form", "state"} <= entry.keys()
    k5, k6, k7, _ = read["parameters"].values()
    assert k5["std"] == pytest.approx(1e-3)
    assert k5["interval95"] == pytest.approx([0.08444 - 1.96e-3, 0.08444 + 1.96e-3], abs=1e-6)
    assert k6["interval95"] == [None, None]
    assert (k6["std"], k6["state"]) == (None, "unestimated")
    assert k7["closed_form"] == TRUE[2]
    mass = read["physical"]["equivalent_mass"]
    assert mass["value"] == pytest.approx(5.0375, rel=1e-4)
    assert mass["interval95"][0] < mass["value"] < mass["interval95"][1]
    assert mass["closed_form"] == pytest.approx(mass["value"])
    assert read["physical"]["first_moment"]["interval95"] != [None, None]  # From K5 alone.
    assert read["versions"]["numpy"] == np.__version__
    assert read["versions"]["ros"]  # also where ROS comes from wheels, which do not tell it
    assert read["versions"]["rclpy"]
    assert read["friction"] == {}
    assert read["verification"] == {"state": "not_verified"}


def test_friction_confidence_and_verification():
    sample = example_estimate(20.0, unknown=(0, 1))
    content = make(sample, verification=VERIFICATION, **confidence_keys(sample))
    read = json.loads(json.dumps(content, allow_nan=False))
    assert read["parameters"]["K5"]["reason"].startswith("the robot turned too little")
    assert read["physical"]["com_offset"]["value"] is None
    assert read["physical"]["com_offset"]["state"] == "unestimated"
    assert [entry["value"] for entry in read["friction"].values()] == list(FRICTION)
    assert list(read["friction"]) == [
        "viscous_left", "viscous_right", "coulomb_left", "coulomb_right",
    ]  # fmt: skip
    assert read["verification"]["state"] == "verified"
    assert read["verification"]["at_horizon"]["no_model"] == [0.4312, 2.2104]
    assert read["coverage"] == {"K5": 20 / 90, "K6": 20 / 90, "K7": 1.0, "K8": 1.0}
    assert read["residual_correlation"] == [0.04, -0.31]
    assert read["torque_delay"] == 1.0
    assert len(read["warnings"]) == 1
    assert "floor" not in read  # it is level


def test_a_floor_that_is_not_level():
    sloped = replace(example_estimate(20.0), slope=(0.02, -1.0))
    assert confidence_keys(sloped)["floor"] == {"slope": 0.02, "downhill": -1.0}


def test_more_never_replaces():
    assert make(None, outcome="failed")["outcome"] == "completed"


def test_unknown_truth_is_null():
    content = make(make_estimate(TRUE, (1.0,) * 4), truth=None)
    assert all(entry["closed_form"] is None for entry in content["parameters"].values())


number = st.floats(allow_nan=True, allow_infinity=True)


@given(st.tuples(*[number] * 4), st.tuples(*[number] * 4), st.tuples(*[number] * 4))
def test_always_strict_json(values, variances, truth):
    content = make(make_estimate(values, variances), truth, odd=[math.nan, {"x": math.inf}])
    json.loads(json.dumps(content, allow_nan=False), parse_constant=reject)


def test_strict():
    assert strict({"a": (math.nan, 1), 2: [math.inf, "x", None, True]}) == {
        "a": [None, 1],
        "2": [None, "x", None, True],
    }


def test_write_refuses_what_is_not_json(tmp_path):
    with pytest.raises(ValueError):
        write_json(tmp_path / SUMMARY, {"x": math.nan})
    assert list(tmp_path.iterdir()) == []


def test_arguments():
    expected = {"duration": 60.0, "sim": "ideal", "results": "a b", "noise": "NaN", "on": True}
    words = "duration:=60.0 sim:=ideal results:='a b' noise:=NaN on:=true"
    assert parse_arguments(words) == expected
    spaced = "goal:=1 2,-pi/2 robot:=/home/o'neill/my robot.yaml arena:= until:='K5 5% K6 5%'"
    assert parse_arguments(spaced) == {
        "goal": "1 2,-pi/2",
        "robot": "/home/o'neill/my robot.yaml",
        "arena": "",
        "until": "K5 5% K6 5%",
    }
    assert parse_arguments("  ") == {}


@pytest.mark.parametrize("text", ["duration=60", "{duration", ":=3", "5 a:=b"])
def test_arguments_refused(text):
    with pytest.raises(ValueError):
        parse_arguments(text)


def test_a_process_that_uses_ros_names_its_middleware(monkeypatch):
    import rclpy.utilities

    assert versions()["middleware"] == rclpy.utilities.get_rmw_implementation_identifier()
    monkeypatch.delitem(sys.modules, "rclpy.utilities")
    assert "middleware" not in versions()
