# SPDX-License-Identifier: Apache-2.0
import json
import math
from types import SimpleNamespace as Fields

import numpy as np
import pytest

from diffbot_description import load_robot
from diffbot_view.live_values import SPACING, Readings, shape_of
from diffbot_view.store import Store

ROBOT = load_robot("twil")
RADIUS = ROBOT.wheels.radius


def header(time):
    whole = math.floor(time)
    return Fields(stamp=Fields(sec=whole, nanosec=round(1e9 * (time - whole))), frame_id="")


def joints(time, left, right, names=("left_wheel_joint", "right_wheel_joint")):
    return Fields(
        header=header(time), name=list(names), position=[left, right], velocity=[], effort=[]
    )


def estimate(time, k7=2.6, variance=0.01):
    return Fields(
        header=header(time),
        k5=0.08, k6=-3.7, k7=k7, k8=-16.0,
        covariance_diagonal=np.array([math.inf, 0.04, variance, 0.09]),
        friction=np.array([0.01, 0.02, math.nan, math.nan]),
        friction_variance=np.array([1e-6, math.inf, math.nan, math.nan]),
        gear_loss=np.array([0.15, math.nan]),
        gear_loss_variance=np.array([1e-4, math.inf]),
        state=1, reason="", verification=1, samples=100, warnings=["odd"],
        parameter_state=np.array([0, 1, 1, 1]),
        parameter_reason=["too little turning", "", "", ""],
        coverage=np.array([0.25, 1.0, 1.0, 1.0]),
        torque_delay=1.0,
    )  # fmt: skip


@pytest.fixture
def store():
    return Store(SPACING)


@pytest.fixture
def readings(store):
    return Readings(ROBOT, store)


def reported(store):
    text, _ = store.since({})
    none = json.loads(text)
    return none["state"], {name: part["rows"] for name, part in none["series"].items()}


def test_a_phase_that_does_not_exist_is_skipped(readings, store):
    """It ended the view, and its stop button with it."""
    for phase in (99, 1, 255):
        state = Fields(
            header=header(1.0), phase=phase, message=f"phase {phase}", elapsed=2.0, duration=5.0,
            law="standard", torque_limit=1.0, k5=0.1, k6=-3.0, k7=2.0, k8=-9.0,
            parameters_source="robot",
        )  # fmt: skip
        readings.take("/law/state", "ControllerState", state)
    (run,) = reported(store)[0]["runs"].values()
    assert (run["phase"], run["message"]) == ("driving", "phase 1")


def test_wheels_alone_give_the_pose_until_somebody_tells_it(readings, store):
    for number in range(11):
        angle = 0.1 * number
        readings.take("/joint_states", "JointState", joints(50.0 + 0.1 * number, angle, angle))
    _, series = reported(store)
    assert series["pose"][0][0] == 0.0  # the first stamp begins
    assert series["pose"][-1] == pytest.approx([1.0, RADIUS, 0.0, 0.0])
    odometry = Fields(
        header=header(52.0),
        pose=Fields(
            pose=Fields(
                position=Fields(x=7.0, y=8.0), orientation=Fields(z=math.sin(0.5), w=math.cos(0.5))
            )
        ),
        twist=Fields(twist=Fields(linear=Fields(x=0.1), angular=Fields(z=0.2))),
    )
    readings.take("/odom", "Odometry", odometry)
    readings.take("/joint_states", "JointState", joints(52.1, 9.0, 9.0))
    _, series = reported(store)
    assert series["pose"][-1] == pytest.approx([2.0, 7.0, 8.0, 1.0])
    assert series["wheels"][-1][1:3] == [9.0, 9.0]


def test_joints_of_others_and_broken_ones_are_left_out(readings, store):
    readings.take("/joint_states", "JointState", joints(1.0, 0.0, 0.0, ("arm", "hand")))
    readings.take("/joint_states", "JointState", joints(1.1, math.nan, 0.0))
    readings.take("/joint_states", "JointState", joints(1.2, 1.0, 0.0, ("left_wheel_joint", "x")))
    assert "wheels" not in json.loads(store.since({})[0]).get("series", {})


def test_parameters_with_bands_and_what_is_missing_of_each(readings, store):
    readings.take("/ident/dynamic_parameters", "DynamicParameters", estimate(3.0))
    state, series = reported(store)
    k5, _, k7, _ = state["parameters"]
    assert k5 == {"name": "K5", "unit": "m", "value": 0.08, "half": None}  # not identifiable
    assert k7["half"] == pytest.approx(0.1959964)
    assert state["said"][0] == {
        "state": "not estimated", "reason": "too little turning", "coverage": 0.25
    }  # fmt: skip
    assert series["parameters"][0][1:] == [0.08, None, -3.7, 0.2, 2.6, 0.1, -16.0, 0.3]
    assert state["friction"][0][1] == pytest.approx(0.001959964) and state["friction"][2][0] is None
    assert state["gear_loss"][0] == pytest.approx([0.15, 0.01959964])
    assert state["gear_loss"][1] == [None, None]
    assert state["estimate"]["verification"] == "verified" and state["delay"] == 1.0
    readings.take("/ground_truth/dynamic_parameters", "DynamicParameters", estimate(3.0, 2.7))
    assert reported(store)[0]["truth"][2] == 2.7


def test_a_nodes_state_is_told_by_its_diagnostics(readings, store):
    def diagnostics(state, stop):
        values = [
            Fields(key="state", value=state), Fields(key="emergency stop", value=stop)
        ]  # fmt: skip
        status = Fields(name="ident: commands", level=b"\2", message=state, values=values)
        return Fields(header=header(0.0), status=[status])

    readings.take("/diagnostics", "DiagnosticArray", diagnostics("stopped", "it is pressed"))
    (node,) = reported_state(store)["nodes"]
    assert node["commands"] and node["stopped"] and node["pressed"] and node["level"] == "bad"
    readings.take("/diagnostics", "DiagnosticArray", diagnostics("active", "not pressed"))
    (node,) = reported_state(store)["nodes"]
    assert node["commands"] and not node["stopped"] and not node["pressed"]


def reported_state(store):
    return json.loads(store.since({})[0])["state"]


def test_the_shape_is_the_robots(store):
    shape = shape_of(load_robot("agv"))
    assert shape["radius"] == 0.1 and shape["name"] == "agv"
    xs, ys = zip(*shape["hull"], strict=True)
    hull = load_robot("agv").body.shape
    assert (min(xs), max(xs)) == pytest.approx((hull.rear, hull.front))
    assert max(ys) - min(ys) == pytest.approx(hull.width)


def test_every_type_of_message_that_is_read_is_one_of_a_package_that_is_listened_to():
    pytest.importorskip("rclpy")
    from importlib import import_module

    from diffbot_view.live_view_node import PACKAGES

    modules = [import_module(f"{package}.msg") for package in PACKAGES]
    for kind in Readings(ROBOT, Store(SPACING)).kinds:
        assert any(hasattr(module, kind) for module in modules), kind
