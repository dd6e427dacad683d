# SPDX-License-Identifier: Apache-2.0
"""Robot files: what is accepted, and what a wrong file is told."""

import copy
import dataclasses
import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from robot_files import TWIL, changed, number_fields, write

from diffbot_description import known_robots, load_robot, write_atomically
from diffbot_description.files import parse_yaml
from diffbot_description.loading import urdf


@pytest.mark.parametrize("name", ["twil", "agv", "turtlebot2"])
def test_robots_of_the_package_load(name):
    robot = load_robot(name)
    assert robot.name == name
    assert robot.path.name == f"{name}.yaml"
    assert robot.excitation.amplitude <= robot.limits.torque
    assert np.shape(robot.friction.viscous) == np.shape(robot.friction.coulomb) == (2,)


def test_values_arrive_in_their_fields():
    robot = load_robot("twil")
    assert robot.wheels.radius == 0.075
    assert robot.wheels.half_track == pytest.approx(0.136, abs=5e-4)
    assert robot.joints.first == ("left_wheel_joint", "right_wheel_joint")
    assert (robot.excitation.hold, robot.excitation.register) == (20, 10)
    assert robot.encoder.counts == 4096


FOUR = {"left": ["front_left", "rear_left"], "right": ["front_right", "rear_right"]}


def test_a_side_may_have_several_joints(tmp_path):
    joints = load_robot(write(tmp_path, changed("joints", FOUR))).joints
    assert joints.first == ("front_left", "front_right")
    assert joints.names == ("front_left", "rear_left", "front_right", "rear_right")
    assert joints.shared((0.4, -0.2)) == [0.2, 0.2, -0.1, -0.1]
    assert joints.summed([0.1, 0.3, 0.5, 0.6]) == pytest.approx((0.4, 1.1))


@pytest.mark.parametrize(
    ("joints", "says"),
    [
        (
            {**FOUR, "right": ["front_left", "rear_right"]},
            r"joints\.right = front_left must differ",
        ),
        ({**FOUR, "left": ["a", "a"]}, r"joints\.left = a must differ"),
        ({**FOUR, "left": "a"}, r"joints\.left has 1 wheels and joints\.right 2: must be as many"),
        ({**FOUR, "left": []}, r"joints\.left = \[\] must be a list of one or more"),
        ({**FOUR, "left": ["a", 3]}, r"joints\.left\[1\] = 3 must be text"),
    ],
)
def test_joints_that_are_no_two_sides_are_refused_by_name(tmp_path, joints, says):
    with pytest.raises(ValueError, match=says):
        load_robot(write(tmp_path, changed("joints", joints)))


def test_simulators_of_a_ros_install_refuse_several_joints(tmp_path):
    robot = load_robot(write(tmp_path, changed("joints", FOUR)))
    assert 'joint name="front_left"' in urdf(robot)
    with pytest.raises(ValueError, match=r"rear_right: simulator gz moves one joint on each side"):
        urdf(robot, simulator="gz")


def test_robot_is_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        load_robot("twil").wheels.radius = 1.0


def test_unknown_robot_lists_the_known_ones():
    with pytest.raises(ValueError, match=r"unknown robot 'twill'.*agv, turtlebot2, twil"):
        load_robot("twill")
    assert known_robots() == ["agv", "turtlebot2", "twil"]


def test_own_file_loads_with_relative_path(tmp_path, monkeypatch):
    write(tmp_path, changed("name", "mine"))
    monkeypatch.chdir(tmp_path)
    robot = load_robot("robot.yaml")
    assert robot.name == "mine"
    assert robot.path == tmp_path / "robot.yaml"


def test_missing_file_is_named():
    with pytest.raises(ValueError, match=r"nowhere/x\.yaml does not exist"):
        load_robot("/nowhere/x.yaml")


STICKY = {
    "viscous": [0.01, 0.02],
    "coulomb": [0.1, 0.2],
    "coulomb_backward": [0.15, 0.2],
    "static": [0.2, 0.3],
    "stribeck_velocity": [0.3, 0.4],
    "rolling_resistance": 0.01,
    "gear_loss": [0.1, 0.2],
}


def test_friction_and_drive_may_be_left_out(tmp_path):
    robot = load_robot("twil")
    friction = robot.friction
    assert (friction.static, friction.stribeck_velocity, friction.coulomb_backward) == (None,) * 3
    assert friction.rolling_resistance == 0.0 and friction.gear_loss == (0.0, 0.0)
    assert robot.drive.dead_band == (0.0, 0.0)
    data = changed("friction", STICKY) | {"drive": {"dead_band": [0.1, 0.2]}}
    robot = load_robot(write(tmp_path, data))
    assert robot.friction.static == (0.2, 0.3)
    assert robot.friction.stribeck_velocity == (0.3, 0.4)
    assert robot.friction.coulomb_backward == (0.15, 0.2)
    assert robot.friction.rolling_resistance == 0.01
    assert robot.friction.gear_loss == (0.1, 0.2)
    assert robot.drive.dead_band == (0.1, 0.2)


def test_a_robot_without_friction_differs_in_nothing_else(tmp_path):
    data = changed("friction", STICKY) | {"drive": {"dead_band": [0.1, 0.2]}}
    data["contact"]["caster_friction"] = 0.1
    robot = load_robot(write(tmp_path, data))
    free = robot.without_friction()
    twil = load_robot("twil")
    assert (free.friction, free.contact, free.drive) == (twil.friction, twil.contact, twil.drive)
    for entry in dataclasses.fields(robot):
        if entry.name not in ("friction", "contact", "drive"):
            assert getattr(free, entry.name) == getattr(robot, entry.name)


def without(key):
    return {name: value for name, value in STICKY.items() if name != key}


WRONG_FRICTION = [
    (without("static"), r"stribeck_velocity = \[0\.3, 0\.4\] needs friction\.static: .*or remove"),
    (without("stribeck_velocity"), r"static = \[0\.2, 0\.3\] needs friction\.stribeck_velocity"),
    (
        STICKY | {"static": [0.2, 0.1]},
        r"static\[1\] = 0\.1 N m must be at least friction\.coulomb",
    ),
    (STICKY | {"static": [0.12, 0.2]}, r"at least friction\.coulomb_backward\[0\] = 0\.15 N m"),
    (
        STICKY | {"stribeck_velocity": [0.0, 1.0]},
        r"velocity\[0\] = 0\.0 rad/s must be above",
    ),
    (STICKY | {"rolling_resistance": -0.1}, r"rolling_resistance = -0\.1 must be at least 0"),
    (STICKY | {"gear_loss": [0.1, 0.95]}, r"gear_loss\[1\] = 0\.95 must be at most 0\.9"),
    (STICKY | {"gear_loss": [-0.1, 0.1]}, r"gear_loss\[0\] = -0\.1 must be at least 0"),
    (STICKY | {"static": None}, r"static = None must be a list of 2 entries"),
    (
        without("coulomb"),
        r"missing: friction\.coulomb\. .*exactly viscous, coulomb and may",
    ),
    (without("static") | {"statik": [1.0, 1.0]}, r"Did you mean friction\.static\?"),
]


@pytest.mark.parametrize(("friction", "message"), WRONG_FRICTION)
def test_wrong_friction_is_explained(friction, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        load_robot(write(tmp_path, changed("friction", friction)))


def test_dead_band_of_all_torque_is_explained(tmp_path):
    data = changed("name", "mine") | {"drive": {"dead_band": [0.1, 5.0]}}
    message = r"drive\.dead_band\[1\] = 5\.0 N m must be below limits\.torque = 5\.0 N m"
    with pytest.raises(ValueError, match=message):
        load_robot(write(tmp_path, data))


WRONG_VALUES = [
    ("wheels.radius", -0.075, r"wheels\.radius = -0\.075 m must be above 0.*rolling radius"),
    ("limits.torque_rate", 0.0, r"limits\.torque_rate = 0\.0 N m/s must be above 0"),
    ("wheels.radius", 75.0, r"wheels\.radius = 75\.0 m must be at most 2"),
    ("wheels.radius", math.nan, r"wheels\.radius = nan must be finite"),
    ("wheels.mass", "heavy", r"wheels\.mass = 'heavy' must be a number, .* in kg"),
    ("wheels.mass", True, r"wheels\.mass = True must be a number"),
    ("contact.stiffness", "1e7", r"contact\.stiffness = '1e7'.*Write 1\.0e\+07 or 10000000\.0"),
    ("wheels.mass", "1e999", r"wheels\.mass = '1e999' must be a number, [^.]* in kg\.$"),
    ("excitation.register", 6, r"excitation\.register = 6 bits must be at least 7"),
    ("excitation.register", 16, r"excitation\.register = 16 bits must be at most 15"),
    ("excitation.hold", 2.5, r"excitation\.hold = 2\.5 must be a whole number"),
    ("encoder.counts", -1, r"encoder\.counts = -1 counts must be at least 0"),
    ("friction.viscous", [0.1], r"friction\.viscous = \[0\.1\] must be a list of 2"),
    ("friction.coulomb", [0.1, -1.0], r"friction\.coulomb\[1\] = -1\.0 N m must be at least 0"),
    ("casters", [], r"casters = \[\] must be a list of one or more"),
    ("casters", [{"x": 0.2, "y": 0.0, "radius": 0.02}], r"missing: casters\[0\]\.clearance"),
    ("name", "a" * 101, r"name = 'a+' must be text of up to 100 letters"),
    ("joints.left", "j" * 201, r"joints\.left = 'j+' must be text of up to 200 letters"),
    ("joints.left", "left wheel", r"joints\.left = 'left wheel' must be text of up to 200 letters"),
    ("body", 4.2, r"body must hold named values, not 4\.2"),
    ("appearance.body", [1.0, 0.5, 2.0], r"appearance\.body\[2\] = 2\.0 must be at most 1"),
]


@pytest.mark.parametrize(("field", "value", "message"), WRONG_VALUES)
def test_wrong_value_is_named(tmp_path, field, value, message):
    path = write(tmp_path, changed(field, value))
    with pytest.raises(ValueError, match=message) as caught:
        load_robot(path)
    assert str(caught.value).startswith(path)


INCONSISTENT = [
    ("wheels.separation", 0.02, r"wheels\.separation = 0\.02 m must be above wheels\.width"),
    ("wheels.inertia_spin", 2.0, r"wheels\.inertia_spin = 2 kg m\^2 must be at most .* 100 times"),
    ("joints.signs", [1], r"joints\.signs = \[1\] must hold 1 or -1 for each of left_wheel_joint"),
    ("joints.signs", [1, 0], r"joints\.signs = \[1, 0\] must hold 1 or -1"),
    ("body.inertia.yaw", 0.08, r"body\.inertia\.yaw = 0\.08 .* body\.inertia\.roll \+ body"),
    ("body.inertia.roll", 0.11, r"body\.inertia\.roll = 0\.11"),
    ("body.shape.front", -0.2, r"body\.shape\.front = -0\.2 m must be above body\.shape\.rear"),
    ("body.center_of_mass.x", 0.3, r"body\.center_of_mass\.x = 0\.3 m .* tip forwards"),
    ("body.center_of_mass.x", -0.1, r"body\.center_of_mass\.x = -0\.1 m .* tip backwards"),
    (
        "casters",
        [{"x": 0.2, "y": 0.0, "radius": 0.02, "clearance": 0.03}],
        r"casters\[0\]\.clearance = 0\.03 m must be below its radius",
    ),
    ("joints.right", "left_wheel_joint", r"joints\.right = left_wheel_joint must differ"),
    ("excitation.amplitude", 6.0, r"excitation\.amplitude = 6\.0 N m must be at most limits"),
]


@pytest.mark.parametrize(("field", "value", "message"), INCONSISTENT)
def test_inconsistent_values_are_named(tmp_path, field, value, message):
    with pytest.raises(ValueError, match=message):
        load_robot(write(tmp_path, changed(field, value)))


def test_unknown_and_missing_key_are_named_with_a_proposal(tmp_path):
    data = changed("wheels.raduis", 0.075)
    del data["wheels"]["radius"]
    message = r"unknown: wheels\.raduis; missing: wheels\.radius\. Did you mean wheels\.radius\?"
    with pytest.raises(ValueError, match=message):
        load_robot(write(tmp_path, data))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name: a\nname: b\n", r"line 2: the key 'name' appears twice"),
        ("name: [", r"is no valid YAML"),
        ("[name]: x", r"is no valid YAML"),
        ("", r"the file must hold named values, not None"),
    ],
)
def test_broken_file_is_named(tmp_path, text, message):
    path = tmp_path / "broken.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        load_robot(path)
    assert str(caught.value).startswith(str(path))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("1:30", r"line 2: .*YAML reads 1:30 as 90: write 90"),
        ("-1:30.5", r"line 2: .*YAML reads -1:30.5 as -90.5: write -90.5"),
        ("010", r"line 2: .*YAML reads 010 as 8: write 8"),
        ("9" * 5000, r"line 2: .*value has 5000 digits\)\.$"),
    ],
)
def test_a_number_that_yaml_takes_for_another_one_is_refused(text, says):
    with pytest.raises(ValueError, match=says):
        parse_yaml(f"a: 1\nb: {text}")
    assert parse_yaml(f'a: [0, -0.5, 0.0, 1_000, 0x10, "{text}"]')["a"][:5] == [
        0,
        -0.5,
        0,
        1000,
        16,
    ]


def test_a_name_that_is_too_long_is_named_as_what_was_not_written(tmp_path):
    with pytest.raises(OSError, match="was not written: File name too long; free space there, or"):
        write_atomically(tmp_path / ("a" * 300), "text")


ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


@given(field=st.sampled_from(number_fields()), value=ANYTHING)
def test_any_value_loads_or_is_refused_by_name(tmp_path_factory, field, value):
    """Whatever stands in a number's place: a finite number of its own kind, or a ValueError."""
    path = write(tmp_path_factory.getbasetemp(), changed(field, value))
    try:
        robot = load_robot(path)
    except ValueError as error:
        assert path in str(error)
        # A number that no program holds is refused as it is read, by its line.
        too_long = re.search(r"line \d+: .*more than 64 bits", str(error))
        assert too_long or field.rsplit(".", 1)[0] in str(error)
        return
    for key in field.split("."):
        robot = getattr(robot, key)
    assert isinstance(robot, (int, float))
    assert not isinstance(robot, bool)
    assert math.isfinite(robot)
    assert robot == value


def test_any_missing_key_is_named(tmp_path):
    keys = [(section, key) for section in TWIL if isinstance(TWIL[section], dict)
            for key in TWIL[section]]  # fmt: skip
    assert len(keys) > 30
    for section, key in keys:
        content = copy.deepcopy(TWIL)
        del content[section][key]
        with pytest.raises(ValueError, match=rf"missing: {section}\.{key}"):
            load_robot(write(tmp_path, content))


@pytest.mark.parametrize(
    ("drive", "says"),
    [
        ({"effort_unit": "ampere"}, "ampere and percent need one"),
        ({"torque_constant": [0.3, 0.3]}, "newton_metre has none"),
        ({"effort_unit": "volt", "torque_constant": [0.3, 0.3]}, "a voltage is no torque"),
        ({"effort_unit": "ampere", "torque_constant": [0.3, 0.0]}, "must be above 0"),
    ],
)
def test_a_unit_of_effort_that_gives_no_torque_is_refused(tmp_path, drive, says):
    with pytest.raises(ValueError, match=says):
        load_robot(write(tmp_path, {**TWIL, "drive": drive}))


def test_efforts_and_torques_are_each_other_s_inverse(tmp_path):
    drive = {"effort_unit": "percent", "torque_constant": [0.02, 0.03]}
    robot = load_robot(write(tmp_path, {**TWIL, "drive": drive}))
    assert robot.drive.torque_of((50.0, -100.0)) == pytest.approx((1.0, -3.0))
    assert robot.drive.effort_of((1.0, -3.0)) == pytest.approx((50.0, -100.0))
    assert robot.without_friction().drive == robot.drive
