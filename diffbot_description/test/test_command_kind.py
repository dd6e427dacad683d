# SPDX-License-Identifier: Apache-2.0
"""What a robot's driver takes: stated in its file, found in a URDF, and what follows from it."""

import copy
import re
from pathlib import Path

import pytest
from foreign_urdfs import CASTERS, HALF_TRACK, base, robot, wheel
from robot_files import TWIL, changed, write

from diffbot_description import load_robot, save_robot, urdf
from diffbot_description.command_kind import CommandKind
from diffbot_description.describe import describe
from diffbot_description.urdf_files import Packages

HERE = Path(__file__)
SMALL = {
    "drive": {"command": "velocity"},
    "wheels": {"radius": 0.033, "separation": 0.16},
    "body": {"shape": {"front": 0.07, "rear": -0.07, "width": 0.14}},
    "limits": {"linear_velocity": 0.22, "angular_velocity": 2.84},
}


def without(dotted):
    data = copy.deepcopy(SMALL)
    *sections, key = dotted.split(".")
    place = data
    for section in sections:
        place = place[section]
    del place[key]
    return data


def test_a_file_that_states_no_kind_keeps_that_open(tmp_path):
    silent = load_robot(write(tmp_path, TWIL))
    assert silent.drive.command is None and not silent.takes_velocity


@pytest.mark.parametrize("kind", CommandKind)
def test_the_stated_kind_is_read_and_saved(kind, tmp_path):
    read = load_robot(write(tmp_path, changed("drive", {"command": kind.value})))
    assert read.drive.command is kind and read.assumed == ()
    again = load_robot(save_robot(read, tmp_path / "again.yaml"))
    assert again.drive == read.drive and again.takes_velocity == (kind is CommandKind.VELOCITY)


@pytest.mark.parametrize("wrong", ["velocty", "torque", True, 3, None])
def test_another_kind_is_refused_with_those_that_there_are(wrong, tmp_path):
    with pytest.raises(ValueError, match=r"drive\.command = .* must be text effort or velocity"):
        load_robot(write(tmp_path, changed("drive", {"command": wrong})))


def test_wheels_outline_and_limits_are_enough_for_a_robot_that_takes_velocities(tmp_path):
    read = load_robot(write(tmp_path, SMALL))
    assert (read.name, read.takes_velocity) == ("robot", True)
    assert (read.wheels.radius, read.wheels.separation) == (0.033, 0.16)
    assert (read.body.shape.front, read.body.shape.rear, read.body.shape.width) == (
        0.07,
        -0.07,
        0.14,
    )
    assert (read.limits.linear_velocity, read.limits.angular_velocity) == (0.22, 2.84)
    # Everything that was not given is known as assumed, and nothing that was.
    assert {"body.mass", "limits.torque", "friction.coulomb", "casters"} <= {*read.assumed}
    assert not {"wheels.radius", "limits.linear_velocity", "body.shape.front"} & {*read.assumed}
    assert load_robot(save_robot(read, tmp_path / "robot2.yaml")).assumed == read.assumed


@pytest.mark.parametrize(
    "dotted",
    [
        *("wheels", "wheels.radius", "wheels.separation", "body", "body.shape"),
        *("body.shape.front", "body.shape.rear", "body.shape.width"),
        *("limits", "limits.linear_velocity", "limits.angular_velocity"),
    ],
)
def test_what_the_motion_depends_on_is_never_assumed(dotted, tmp_path):
    with pytest.raises(ValueError, match="missing") as refused:
        load_robot(write(tmp_path, without(dotted)))
    assert dotted in str(refused.value)


@pytest.mark.parametrize(
    ("section", "value", "says"),
    [
        ("wheels", {"radius": -0.03, "separation": 0.16}, r"wheels\.radius = -0\.03 m must be"),
        ("wheels", {"radius": "33 mm", "separation": 0.16}, r"wheels\.radius = '33 mm' must be"),
        ("wheels", 0.033, r"wheels must hold named values"),
        ("limits", {"linear_velocity": 0.2, "angular_velocity": float("nan")}, "must be finite"),
        ("footprint", [[0.1, 0.1]], "unknown: footprint"),
        ("assumed", 3, r"assumed"),
    ],
)
def test_a_wrong_value_is_named_and_not_replaced(section, value, says, tmp_path):
    with pytest.raises(ValueError, match=says):
        load_robot(write(tmp_path, {**SMALL, section: value}))


def test_given_values_are_kept_beside_assumed_ones(tmp_path):
    data = {**SMALL, "name": "rover", "joints": {"left": "l", "right": "r"}, "assumed": ["name"]}
    data["body"] = {**SMALL["body"], "mass": 1.5}
    read = load_robot(write(tmp_path, data))
    assert (read.name, read.body.mass, read.joints.first) == ("rover", 1.5, ("l", "r"))
    assert not {"body.mass", "joints.left"} & {*read.assumed} and "name" in read.assumed


def test_a_file_of_wheels_outline_and_limits_is_told_about_the_kind(tmp_path):
    with pytest.raises(ValueError, match=r"add drive: \{command: velocity\}"):
        load_robot(write(tmp_path, without("drive")))


# Found in a URDF.


def described(*interfaces, masses=True, command=None):
    inside = "".join(
        f'<joint name="{side}_joint">'
        + "".join(f'<command_interface name="{name}"/>' for name in interfaces)
        + "</joint>"
        for side in ("left", "right")
    )
    control = f'<ros2_control name="c" type="system">{inside}</ros2_control>' if interfaces else ""
    text = robot(base(), wheel("left", HALF_TRACK), wheel("right", -HALF_TRACK), CASTERS, control)
    if not masses:
        text = re.sub(r"<inertial>.*?</inertial>", "", text, flags=re.DOTALL)
    return describe(text, Packages(HERE), command=command)


@pytest.mark.parametrize(
    ("interfaces", "kind"),
    [
        (("velocity",), "velocity"),
        (("effort",), "effort"),
        (("effort", "velocity"), None),
        (("position",), None),
        ((), None),
    ],
)
def test_the_kind_is_that_of_the_wheels_command_interface(interfaces, kind):
    result = described(*interfaces)
    assert result.content.get("drive", {}).get("command") == kind
    assert ("drive.command" in result.sources) == (kind is not None)
    assert ("--command velocity" in result.result[-1]) == (kind is None)


def test_the_told_kind_counts_more_than_the_found_one():
    result = described("effort", command=CommandKind.VELOCITY)
    assert result.content["drive"] == {"command": "velocity"}
    assert result.sources["drive.command"] == "--command"


def test_a_urdf_without_masses_is_enough_for_a_robot_that_takes_velocities():
    result = described("velocity", masses=False)
    assert any("body.mass" in entry for entry in result.assumed)
    assert "body.mass" in result.content["assumed"]
    with pytest.raises(ValueError, match="no link of the body has a mass"):
        described("effort", masses=False)


@pytest.mark.parametrize("kind", CommandKind)
def test_the_suites_own_urdf_has_the_interface_of_the_kind(kind, tmp_path):
    own = load_robot(write(tmp_path, changed("drive", {"command": kind.value})))
    assert describe(urdf(own), Packages(HERE)).content["drive"] == {"command": kind.value}
    assert '<command_interface name="effort">' in urdf(own, simulator="gz_ros2_control")
