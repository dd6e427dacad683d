# SPDX-License-Identifier: Apache-2.0
"""Exported parameter files beside the parameters of a node, without ROS."""

import math

import pytest
import yaml
from result_files import torque_results

from diffbot_export.command import main
from diffbot_export.parameter_changes import (
    ChangeKind,
    ParameterChange,
    ProposedValue,
    RunningParameter,
    backup,
    changes,
    holds_when,
    read_parameters,
)

TRACK = "wheel_separation_multiplier"


def one(value, old, name=TRACK, section="base", **more):
    given = ProposedValue(section, name, value, "")
    (change,) = changes([given], {name: RunningParameter(old, **more)})
    return change


def written(tmp_path, text):
    path = tmp_path / "some.yaml"
    path.write_text(text)
    return path


def test_an_exported_file_is_read_with_intervals_and_without_assumptions(tmp_path):
    main([str(torque_results(tmp_path / "run")), "--to", "ros2_control", "--output", str(tmp_path)])
    path = tmp_path / "ros2_control.yaml"
    file = read_parameters(path)
    values = {(each.section, each.name): each for each in file.proposed}
    content = yaml.safe_load(path.read_text())
    gains = content["left_wheel_pid"]["ros__parameters"]["gains"]["left_wheel_joint"]
    p = values["left_wheel_pid", "gains.left_wheel_joint.p"]
    assert p.value == gains["p"]
    assert p.source.startswith("N m s/rad: [") and "with the inertia" in p.source
    assert values["left_wheel_pid", "gains.left_wheel_joint.d"].source == ""
    assert any(each.startswith(f"{TRACK}: 1.0") for each in file.assumed)
    assert not any(name == TRACK for _, name in values)
    assert file.sections[0] == "controller_manager" and not file.is_backup


def test_a_value_below_an_assumption_has_not_its_comment(tmp_path):
    text = "base:\n  ros__parameters:\n    # why\n    # assumed, so not set: a: 1.0\n    b: 2.0\n"
    file = read_parameters(written(tmp_path, text))
    assert file.assumed == ("a: 1.0",)
    assert file.proposed == (ProposedValue("base", "b", 2.0, ""),)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a: 1", "a: must have 'ros__parameters'"),
        ("[]", "is no ROS parameter file"),
        ("a: {ros__parameters: {}}", "sets no parameter"),
        ("a: {ros__parameters: {b: null}}", "line 1: b: is no value of a parameter"),
        ("a: {ros__parameters: {b: 1, b: 2}}", "appears twice"),
    ],
)
def test_other_files_are_refused(tmp_path, text, words):
    with pytest.raises(ValueError, match=words):
        read_parameters(written(tmp_path, text))


@pytest.mark.parametrize(
    ("new", "old", "name", "kind"),
    [
        (1.2, 1.0, TRACK, ChangeKind.SET),
        (1.21, 1.0, TRACK, ChangeKind.LARGE),
        (0.79, 1.0, "left_wheel_radius_multiplier", ChangeKind.LARGE),
        (0.05, 0.0, "wheel_radius", ChangeKind.LARGE),
        (2.0, 1.0, "linear.x.max_velocity", ChangeKind.SET),
        (2.1, 1.0, "linear.x.max_velocity", ChangeKind.LARGE),
        (-0.4, -1.0, "linear.x.min_velocity", ChangeKind.LARGE),
        (5.0, 0.0, "gains.left.p", ChangeKind.LARGE),
        (5.0, -5.0, "gains.left.p", ChangeKind.LARGE),
        (2.0, math.nan, "linear.x.max_velocity", ChangeKind.SET),
        (math.nan, 2.0, "linear.x.max_velocity", ChangeKind.LARGE),
        (math.nan, math.nan, "linear.x.max_velocity", ChangeKind.EQUAL),
        (1, 1.0, "gains.left.p", ChangeKind.EQUAL),
        ([1.0, 3.0], [1.0, 1.0], "pose_covariance_diagonal", ChangeKind.LARGE),
        (False, True, "position_feedback", ChangeKind.SET),
        ("b", "a", "command_interface", ChangeKind.REFUSED),
        (["b"], ["a"], "left_wheel_names", ChangeKind.REFUSED),
        (["a"], ["a"], "left_wheel_names", ChangeKind.EQUAL),
        (1.0, None, "gains.left.p", ChangeKind.REFUSED),
        (1.0, 2, "wheels", ChangeKind.REFUSED),
        (math.nan, 1.0, TRACK, ChangeKind.REFUSED),
        (0.0, 1.0, TRACK, ChangeKind.REFUSED),
    ],
)
def test_changes_are_small_large_or_refused(new, old, name, kind):
    assert one(new, old, name).kind is kind


def test_what_a_node_refuses_is_refused_before_with_what_to_do():
    assert "controller YAML" in one(1.1, 1.0, read_only=True).reason
    assert one(1.1, 1.0, upper=1.05).reason == "must be -inf to 1.05"
    assert "when it starts" in one(50, 100, "update_rate", "controller_manager").reason
    (absent,) = changes([ProposedValue("base", TRACK, 1.0, "")], {})
    assert absent.kind is ChangeKind.ABSENT and not absent.is_wanted


def test_the_way_back_has_every_digit_and_reads_as_one(tmp_path):
    old = {"a": 1.0 / 3.0, "gains.x.p": 1e-5, "limit": math.nan, "on": True, "all": [0.1, 2.0]}
    given = [
        ParameterChange(ProposedValue("b", name, 1.0, ""), value, 1.0, ChangeKind.SET)
        for name, value in old.items()
    ]
    file = read_parameters(written(tmp_path, backup({"/robot/base": given}, ["Back: so"])))
    assert file.is_backup and file.sections == ["/robot/base"]
    assert repr({each.name: each.value for each in file.proposed}) == repr(old)


@pytest.mark.parametrize(
    ("running", "changed", "again"),
    [
        ({"left_wheel_names": False, "wheel_radius": False}, TRACK, True),
        ({"left_wheel_names": False, "wheel_radius": False}, "linear.x.max_velocity", True),
        ({"left_wheel_names": False, "wheel_radius": False}, "cmd_vel_timeout", False),
        ({"left_wheel_names": True, "wheel_radius": True}, "linear.x.max_velocity", False),
        ({}, "gains.left.p", False),
    ],
)
def test_controllers_that_take_values_when_configured_say_so(running, changed, again):
    there = {name: RunningParameter(0.1, read_only=only) for name, only in running.items()}
    text = holds_when("/robot/base", [changed], there)
    assert ("configure_controller" in text and "{name: base}" in text) is again
