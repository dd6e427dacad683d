# SPDX-License-Identifier: Apache-2.0
"""Descriptions of URDFs: wheels, body, casters and limits, and what is implausible in them."""

import itertools
import math
import re
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest
from foreign_urdfs import (
    BODY,
    CASTERS,
    COM_X,
    DISC,
    HALF_PI,
    HALF_TRACK,
    RADIUS,
    SIZE,
    WHEEL,
    base,
    box,
    caster,
    cylinder,
    inertial,
    joint,
    link,
    origin,
    robot,
    shape,
    sphere,
    wheel,
    write_stl,
)
from hypothesis import given
from hypothesis import strategies as st
from strict_urdf import model_of

from diffbot_description import load_robot, urdf
from diffbot_description.describe import Description, describe
from diffbot_description.ground_loads import GRAVITY
from diffbot_description.robot_parsing import robot_from
from diffbot_description.urdf_files import Packages

LEFT, RIGHT = wheel("left", HALF_TRACK), wheel("right", -HALF_TRACK)
HERE = Path(__file__)


def described(text, file=HERE, **options) -> Description:
    description = describe(text, Packages(file), **options)
    robot_from(description.content, HERE)  # every description is a robot
    return description


def model(result):
    return robot_from(result.content, HERE).model


def assert_same_model(result, expected, rel=1e-6):
    assert asdict(result) == pytest.approx(asdict(expected), rel=rel, abs=1e-9)


def said(result):
    return "\n".join(result.corrected)


def test_a_clean_urdf_gives_the_model_that_the_strict_reader_reads():
    result = described(robot())
    expected = model_of(robot(), "left_joint", "right_joint")
    assert_same_model(model(result), expected)
    (only,) = result.corrected
    assert only == (
        "caster (collision sphere of link 'rear_caster_link'): stands on the ground with the "
        "others; used: 1.6 mm above it, or it is chance which ones carry"
    )
    assert result.content["joints"] == {"left": "left_joint", "right": "right_joint"}
    assert result.content["name"] == "foreign"


@pytest.mark.parametrize(("count", "named"), [(1, 1), (5, 5), (7, 5)])
@pytest.mark.parametrize("role", ["visual", "collision"])
def test_links_with_a_shape_and_without_a_mass_are_named(count, named, role):
    own = shape(box(0.1, 0.1, 0.1), role=role)
    parts = [
        link(f"part_{k}", own) + joint(f"to_{k}", "base_link", f"part_{k}") for k in range(count)
    ]
    frame = link("frame") + joint("to_frame", "base_link", "frame")
    weighed = link("weighed", inertial(0.1, 1e-4, 1e-4, 1e-4) + own)
    weighed += joint("to_weighed", "base_link", "weighed")
    # Without the casters of `robot()`, which have no mass either.
    text = robot(base(), LEFT, RIGHT, frame, weighed, *parts)
    (result,) = [entry for entry in described(text).assumed if entry.startswith("body.mass: ")]
    assert f"lacks: {count} (" in result and result.count("part_") == named
    assert result.endswith(" and 2 more)") == (count > named)
    # The whole mass is told.
    assert not any(e.startswith("body.mass: ") for e in described(text, mass=9.0).assumed)
    none = robot(base(), LEFT, RIGHT, frame, weighed)
    assert not any(e.startswith("body.mass: ") for e in described(none).assumed)


@pytest.mark.parametrize("name", ["twil", "agv", "turtlebot2"])
def test_the_suites_own_robots_come_back(name):
    own = load_robot(name)
    robot = robot_from(described(urdf(own)).content, HERE)
    assert_same_model(robot.model, own.model)
    assert robot.joints == own.joints
    # What <dynamics> of a URDF can hold of the friction.
    assert robot.friction.viscous == own.friction.viscous
    assert robot.friction.coulomb == own.friction.coulomb
    assert robot.limits.torque == pytest.approx(own.limits.torque)
    hull = {key: pytest.approx(value) for key, value in asdict(own.body.shape).items()}
    assert asdict(robot.body.shape) == hull
    assert {(c.x, c.y) for c in robot.casters} == {(c.x, c.y) for c in own.casters}


@given(
    radius=st.floats(0.02, 0.3),
    aspect=st.floats(1.5, 5.0),
    ahead=st.floats(-0.5, 0.5),
    high=st.floats(-0.2, 0.5),
    upright=st.booleans(),
    sign=st.sampled_from([1, -1]),
)
def test_wheels_are_found_wherever_the_root_is_and_however_they_turn(
    radius, aspect, ahead, high, upright, sign
):
    half = radius * aspect
    spec = {"upright": upright, "sign": sign, "radius": radius, "x": ahead, "inside": None}
    size = (2.5 * half, 1.2 * half, radius)
    body = link(
        "plate",
        inertial(500 * math.prod(size), 0.1, 0.1, 0.1, origin(ahead + 0.2 * half))
        + shape(box(*size), origin(ahead)),
    )
    root = link("root") + joint("fix", "root", "plate", inside=origin(0, 0, high)) + body
    parts = [wheel(n, s * half, parent="plate", **spec) for n, s in (("a", 1), ("b", -1))]
    result = described(robot(root, *parts))
    wheels, com = result.content["wheels"], result.content["body"]["center_of_mass"]
    assert (result.content["joints"]["left"], result.content["joints"]["right"]) == (
        "a_joint",
        "b_joint",
    )
    assert wheels["radius"] == pytest.approx(radius, rel=1e-6)
    assert wheels["separation"] == pytest.approx(2 * half, rel=1e-6)
    assert com["x"] == pytest.approx(0.2 * half, rel=1e-5)
    assert com["z"] == pytest.approx(radius, rel=1e-5)
    assert result.content["joints"].get("signs", [1, 1]) == [sign, sign]


def test_rpy_of_1_57_is_an_upright_axle():
    text = robot().replace(repr(HALF_PI), "1.57")
    assert described(text).content["wheels"]["radius"] == RADIUS


def test_wheels_called_otherwise_than_they_lie_are_taken_by_their_place():
    result = described(
        robot(base(), wheel("right", HALF_TRACK), wheel("left", -HALF_TRACK), CASTERS)
    )
    assert result.content["joints"] == {"left": "right_joint", "right": "left_joint"}
    assert "joint 'right_joint': called right, but its wheel is at y = 0.15 m" in said(result)


def test_dozens_of_fixed_links_and_movable_ones_are_the_body():
    parts = [base(), LEFT, RIGHT, CASTERS]
    for i in range(30):
        part = inertial(0.01, 1e-6, 1e-6, 1e-6) + shape(sphere(0.01))
        parts += [
            link(f"s{i}", part),
            joint(f"s{i}_joint", "base_link", f"s{i}", inside=origin(0.01 * i - 0.1, 0, 0.05)),
        ]
    parts += [
        link("arm", inertial(0.4, 1e-3, 1e-3, 1e-3) + shape(box(0.1, 0.1, 0.1))),
        joint("arm_joint", "base_link", "arm", "revolute", origin(0, 0, 0.1)),
    ]
    result = described(robot(*parts))
    assert result.content["body"]["mass"] == pytest.approx(BODY + 0.7)
    assert "movable joints: arm_joint; used: fixed at zero" in said(result)
    assert result.content["body"]["shape"]["top"] == pytest.approx(RADIUS + 0.09)  # without the arm
    names = [f"s{i}_joint" for i in range(30)]
    assert not any(name in said(result) for name in names)


def test_casters_that_turn_are_no_driven_wheels():
    swivels = "".join(
        link(f"{n}_fork", inertial(0.05, 1e-5, 1e-5, 1e-5) + shape(box(0.02, 0.02, 0.02)))
        + joint(f"{n}_swivel", "base_link", f"{n}_fork", "continuous", origin(-0.14, y, -0.02)
                + '<axis xyz="0 0 1"/>')
        + link(f"{n}_roller", inertial(0.02, 1e-6, 1e-6, 1e-6)
               + shape(cylinder(0.02, 0.01), origin(roll=HALF_PI)))
        + joint(f"{n}_roll", f"{n}_fork", f"{n}_roller", "continuous",
                origin(-0.01, 0, -0.02) + '<axis xyz="0 1 0"/>')
        for n, y in (("one", 0.1), ("two", -0.1))
    )  # fmt: skip
    result = described(robot(base(), LEFT, RIGHT, caster("nose", 0.18), swivels))
    places = {(c["x"], c["y"]) for c in result.content["casters"]}
    assert places == {(0.18, 0.0), (-0.15, 0.1), (-0.15, -0.1)}
    assert result.content["joints"]["left"] == "left_joint"


def test_small_wheels_on_the_bodys_own_axles_are_casters():
    small = {"radius": 0.02, "upright": False, "inside": inertial(0.01, 1e-6, 2e-6, 1e-6)
             + shape(cylinder(0.02, 0.01), origin(roll=HALF_PI))}  # fmt: skip
    rollers = "".join(
        wheel(n, y, -0.14, **small).replace(f'xyz="-0.14 {y!r} 0"', f'xyz="-0.14 {y!r} -0.04"')
        for n, y in (("front_l", 0.1), ("front_r", -0.1))
    )
    result = described(robot(base(), LEFT, RIGHT, caster("nose", 0.18), rollers))
    assert result.content["wheels"]["radius"] == RADIUS
    assert len(result.content["casters"]) == 3


def test_what_is_commanded_is_driven():
    control = (
        '<ros2_control name="c" type="system"><joint name="left_joint">'
        '<command_interface name="velocity"/></joint><joint name="right_joint">'
        '<command_interface name="velocity"/></joint></ros2_control>'
    )
    rear = wheel("rear_left", HALF_TRACK, -0.15) + wheel("rear_right", -HALF_TRACK, -0.15)
    result = described(robot(base(), LEFT, RIGHT, rear, caster("nose", 0.18), control))
    assert result.content["joints"]["left"] == "left_joint"
    assert result.sources["joints"] == "commanded in the URDF"
    assert [c["x"] for c in result.content["casters"] if c["clearance"] > 0] == [-0.15, -0.15]


def four_wheels(more=""):
    return robot(
        base(),
        *(
            wheel(f"{end}_{side}", y, x, more=more.format(side=side) if end == "rear" else "")
            for end, x in (("front", 0.15), ("rear", -0.15))
            for side, y in (("left", HALF_TRACK), ("right", -HALF_TRACK))
        ),
    )


@pytest.mark.parametrize("more", ["", '<mimic joint="front_{side}_joint"/>'])
def test_four_wheels_become_one_on_each_side(more):
    result = described(four_wheels(more))
    two = described(robot(base(), LEFT, RIGHT)).content
    content = result.content
    assert content["joints"] == {
        "left": ["front_left_joint", "rear_left_joint"],
        "right": ["front_right_joint", "rear_right_joint"],
    }
    wheels, one = content["wheels"], two["wheels"]
    for name in ("radius", "separation", "width"):
        assert wheels[name] == pytest.approx(one[name])
    for name in ("mass", "inertia_spin"):
        assert wheels[name] == pytest.approx(2 * one[name])
    # 0.15 m ahead of the middle and behind it.
    yaw = 2 * (one["inertia_yaw"] + one["mass"] * 0.15**2)
    assert wheels["inertia_yaw"] == pytest.approx(yaw)
    weight = GRAVITY * (content["body"]["mass"] + 2 * wheels["mass"])
    assert content["turning"]["coulomb"] == pytest.approx(0.05 * weight * 0.15, rel=1e-6)
    assert any("slide sideways" in entry for entry in result.assumed)
    # The limits of a side are the sums of its joints'.
    loaded = robot_from(content, Path("four.yaml"))
    assert loaded.joints.names[1] == "rear_left_joint"
    assert loaded.turning.coulomb > 0.0


@pytest.mark.parametrize("word", ["mecanum", "omni"])
def test_wheels_that_roll_sideways_are_refused(word):
    with pytest.raises(ValueError) as caught:
        described(four_wheels().replace("front_left_wheel", f"{word}_front_left_wheel"))
    text = str(caught.value)
    assert "left: front_left_joint, rear_left_joint; right: front_right_joint, rear_right" in text
    assert f"'{word}_front_left_wheel' indicates that they roll sideways" in text
    assert "--wheels LEFT RIGHT" in text


def test_a_plugin_that_moves_a_robot_sideways_says_what_its_wheels_are():
    plugin = '<gazebo><plugin filename="libgazebo_ros_planar_move.so" name="p"/></gazebo></robot>'
    with pytest.raises(ValueError, match=r"planar_move\.so' indicates that they roll sideways"):
        described(four_wheels().replace("</robot>", plugin))


def test_two_of_four_wheels_can_be_named():
    result = described(four_wheels(), wheels=("front_left_joint", "front_right_joint"))
    assert result.content["wheels"]["separation"] == pytest.approx(2 * HALF_TRACK)
    assert result.content["body"]["mass"] == pytest.approx(BODY + 2 * WHEEL)
    assert result.content["casters"][0]["x"] == pytest.approx(-0.3)


@pytest.mark.parametrize(
    ("parts", "options", "message"),
    [
        ([base()], {}, "the URDF has no wheel: no joint of type 'continuous'"),
        ([base(), LEFT], {}, "found wheels at one side only: left_joint (y = 0.15"),
        (
            [base(), wheel("l", 0.1, kind="revolute"), RIGHT],
            {"wheels": ("l_joint", "no_joint")},
            "joint 'no_joint' is not in the URDF. Its turning joints are: l_joint, right_joint.",
        ),
        (
            [base(), LEFT, RIGHT],
            {"wheels": ("right_joint", "left_joint")},
            "Write --wheels left_joint right_joint.",
        ),
        (
            [base(), LEFT, RIGHT],
            {"wheels": ("base_joint", "left_joint")},
            "joint 'base_joint' is of type 'fixed'",
        ),
        ([base(), LEFT, RIGHT], {"mass": -1.0}, "--mass = -1.0 must be above 0"),
        (
            [base(), wheel("a", 0.1, inside=""), wheel("b", -0.1, inside="")],
            {},
            "link 'a_wheel' of joint 'a_joint' has no round shape on its axle",
        ),
        (
            [base(), *(wheel(n, y, radius=60.0) for n, y in (("a", 150.0), ("b", -150.0)))],
            {},
            "wheel radius = 60 m must be from 0.001 to 2 m",
        ),
        (
            [base(), LEFT, RIGHT, wheel("third", HALF_TRACK, -0.15)],
            {},
            "found 2 on the left and 1 on the right",
        ),
        ([base(mass=6000.0), LEFT, RIGHT], {}, "heavier than solid metal"),
        (
            [base().replace(box(*SIZE), box(0.0, *SIZE[1:])), LEFT, RIGHT],
            {},
            "m is heavier than solid metal. Correct the masses",
        ),
        ([base(y=1e308), LEFT, RIGHT], {}, "far too large to compute with"),
        ([link("base_link"), LEFT, RIGHT], {}, "no link of the body has a mass"),
    ],
)
def test_what_cannot_be_described_is_refused_with_what_to_write(parts, options, message):
    with pytest.raises(ValueError) as caught:
        described(robot(*parts), **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


NUMBER = re.compile(r"(?<=[\" ])-?\d[\d.e+-]*(?=[\" ])")
ODD = ("0", "0.0", "-0.02", repr(-RADIUS), "1e-9", "-1e-9", "1e9", "1e-300", "1e300", "nan", "inf")


@given(st.dictionaries(st.integers(0, 80), st.sampled_from(ODD), max_size=3), st.booleans())
def test_whatever_a_number_is_the_robot_is_described_or_refused(odd, shapeless):
    parts = [base(), LEFT, RIGHT]
    if shapeless:
        parts[0] = re.sub("<collision>.*?</collision>", "", parts[0])
    count = itertools.count()
    text = NUMBER.sub(lambda number: odd.get(next(count), number[0]), robot(*parts))
    try:
        described(text)
    except ValueError as error:
        assert not re.search(r"\b(nan|inf)\b", str(error)) or {"nan", "inf"} & {*odd.values()}


def test_a_root_that_looks_to_the_side_is_named():
    text = robot().replace('<axis xyz="0 0 1"/>', '<axis xyz="1 0 0"/>')
    with pytest.raises(ValueError, match=r"turns about \(1 0 0\) of the root link .*REP 103"):
        described(text)


def test_a_name_that_no_file_can_have_is_told():
    result = described(robot().replace('name="foreign"', 'name="Rübe Mk-2 (a)"', 1))
    assert result.content["name"] == "R_be_Mk_2_a"
    assert "name: 'Rübe Mk-2 (a)'; used: R_be_Mk_2_a" in result.corrected
    result = described(robot().replace('name="foreign"', f'name="{"n" * 300}"', 1))
    assert result.content["name"] == "n" * 100


def test_a_fixed_joint_may_have_any_axis():
    button = link("button") + joint("b", "base_link", "button", inside='<axis xyz="0 0 0"/>')
    assert (
        described(robot(base(), LEFT, RIGHT, CASTERS, button)).content == described(robot()).content
    )


def test_a_steered_wheel_is_refused():
    steering = (
        link("fork")
        + joint("steer", "base_link", "fork", "revolute", origin(0.15) + '<axis xyz="0 0 1"/>')
        + wheel("front", 0.0, parent="fork")
        + '<ros2_control name="c" type="system"><joint name="steer">'
        + '<command_interface name="position"/></joint></ros2_control>'
    )
    with pytest.raises(ValueError, match="the commanded joint 'steer' turns a wheel about"):
        described(robot(base(), LEFT, RIGHT, steering))


class TestImplausible:
    def test_inertia_of_1e_3_on_a_body_of_20_kg(self):
        result = described(robot(base((1e-3, 1e-3, 1e-3), 20.0), LEFT, RIGHT, CASTERS))
        yaw = result.content["body"]["inertia"]["yaw"]
        assert yaw == pytest.approx(20 / 12 * (0.4**2 + 0.24**2))
        assert (
            "link 'base_link' (20 kg): inertias 0.001, 0.001, 0.001 kg m^2 are below 10%"
            in said(result)
        )

    def test_inertia_of_1e_3_on_a_sensor_of_a_gram(self):
        sensor = link("imu", inertial(0.001, 1e-3, 1e-3, 1e-3) + shape(box(0.02, 0.02, 0.01)))
        place = joint("imu_joint", "base_link", "imu", inside=origin(COM_X, 0, 0.03))
        clean = described(robot())
        result = described(robot(base(), LEFT, RIGHT, CASTERS, sensor, place))
        before = clean.content["body"]["inertia"]["yaw"]
        assert result.content["body"]["inertia"]["yaw"] == pytest.approx(before, rel=1e-4)
        assert "link 'imu' (0.001 kg)" in said(result)
        assert "need mass 1 m from its middle, the part reaches 0.015 m" in said(result)

    def test_a_battery_without_shapes_keeps_its_inertia(self):
        """It may be far smaller than the body that holds it; with most of the mass it may not."""
        battery = link("battery", inertial(0.8 * BODY, 0.0027, 0.0036, 0.0044))
        place = joint("battery_joint", "base_link", "battery", inside=origin(COM_X, 0, 0.03))
        result = described(robot(base(), LEFT, RIGHT, CASTERS, battery, place))
        assert "battery" not in said(result)
        heavy = battery.replace(f"{0.8 * BODY}", f"{3 * BODY}")
        result = described(robot(base(), LEFT, RIGHT, CASTERS, heavy, place))
        assert "link 'battery'" in said(result) and "are below 10%" in said(result)

    def test_inertia_of_no_solid_body(self):
        result = described(robot(base((0.01, 0.01, 0.9)), LEFT, RIGHT, CASTERS))
        assert "belong to no solid body" in said(result)

    def test_inertia_that_no_masses_in_the_parts_box_have(self):
        """Halves of the mass at opposite corners have L^2 / 4 along each edge, nothing has more."""
        half = BODY / 4 * np.square([0.4, 0.24, 0.12])
        most = half.sum() - half
        assert "of masses at the ends" not in said(
            described(robot(base(tuple(most.tolist())), LEFT, RIGHT, CASTERS))
        )
        # Still within the sphere around the body, which has its middle 6 cm off that of the box.
        high = described(robot(base(tuple((1.3 * most).tolist())), LEFT, RIGHT, CASTERS))
        assert "link 'base_link' (6 kg): inertias" in said(high)
        assert "of masses at the ends of the part's box; used: " in said(high)
        expected = BODY / 12 * (0.4**2 + 0.24**2)
        assert high.content["body"]["inertia"]["yaw"] == pytest.approx(expected)

    @pytest.mark.parametrize("factor", [0.05, 100.0])
    def test_inertia_of_a_wheel(self, factor):
        spin, yaw = (factor * value for value in DISC)
        inside = inertial(WHEEL, yaw, yaw, spin) + shape(cylinder(RADIUS, 0.03))
        parts = [wheel(n, y, inside=inside) for n, y in (("a", 0.15), ("b", -0.15))]
        result = described(robot(base(), *parts, CASTERS))
        assert result.content["wheels"]["inertia_spin"] == pytest.approx(DISC[0])
        assert result.content["wheels"]["inertia_yaw"] == pytest.approx(DISC[1])
        assert "all in the rim" in said(result)

    def test_plausible_ones_are_kept_to_the_digit(self):
        for fraction in (0.3, 0.5, 0.9):
            spin = fraction * WHEEL * RADIUS**2
            inside = inertial(WHEEL, spin, spin, spin) + shape(cylinder(RADIUS, 0.03))
            parts = [wheel(n, y, inside=inside) for n, y in (("a", 0.15), ("b", -0.15))]
            result = described(robot(base(), *parts, CASTERS))
            assert result.content["wheels"]["inertia_spin"] == pytest.approx(spin, rel=1e-6)

    def test_centre_of_mass_outside_of_the_body(self):
        text = robot(base().replace(f'xyz="{COM_X!r} 0 0.03"', 'xyz="50.0 0 0.03"', 1), LEFT, RIGHT)
        result = described(text)
        assert "body.center_of_mass.x: 50 m, but the body's shapes are from" in said(result)
        assert result.content["body"]["center_of_mass"]["x"] < 0.23

    @pytest.mark.parametrize("height", [0.0, -0.02])
    def test_centre_of_mass_on_the_ground_of_a_body_without_a_shape(self, height):
        """As of a base_footprint with the mass and no origin."""
        text = base().replace(
            f'xyz="{COM_X!r} 0 0.03"', f'xyz="{COM_X!r} 0 {height - RADIUS!r}"', 1
        )
        text = re.sub("<collision>.*?</collision>", "", text)
        result = described(robot(text, LEFT, RIGHT))
        assert f"body.center_of_mass.z: {height:g} m, not above the ground" in said(result)
        assert result.content["body"]["center_of_mass"]["z"] == pytest.approx(RADIUS)

    def test_centre_of_mass_beside_the_middle_is_named(self):
        for y, side in ((0.03, "left"), (-0.03, "right")):
            result = described(robot(base(y=y), LEFT, RIGHT, CASTERS))
            assert f"30 mm to the {side} of the middle between the wheels" in said(result)

    def test_wheels_without_inertial_get_a_mass(self):
        inside = shape(cylinder(RADIUS, 0.03))
        parts = [wheel(n, y, inside=inside) for n, y in (("a", 0.15), ("b", -0.15))]
        result = described(robot(base(), *parts, CASTERS))
        volume = math.pi * RADIUS**2 * 0.03
        assert result.content["wheels"]["mass"] == pytest.approx(min(0.05 * BODY, 700 * volume))
        assert any(entry.startswith("wheels.mass = ") for entry in result.assumed)

    def test_mass_can_be_given(self):
        bare = [link("base_link", shape(box(0.4, 0.24, 0.12), origin(0.03))), CASTERS]
        inside = shape(cylinder(RADIUS, 0.03))
        parts = [wheel(n, y, inside=inside) for n, y in (("a", 0.15), ("b", -0.15))]
        result = described(robot(*bare, *parts), mass=8.0)
        total = result.content["body"]["mass"] + 2 * result.content["wheels"]["mass"]
        assert total == pytest.approx(8.0, rel=1e-3)
        heavier = described(robot(), mass=13.2)
        assert heavier.content["body"]["mass"] == pytest.approx(2 * BODY)
        assert heavier.content["wheels"]["mass"] == pytest.approx(2 * WHEEL)


class TestDrives:
    """What a simulator's drive or a hardware interface takes radius and track for."""

    def drive(self, more):
        name = 'name="diff_drive" filename="libgazebo_ros_diff_drive.so"'
        return robot(
            base(), LEFT, RIGHT, CASTERS, f"<gazebo><plugin {name}>{more}</plugin></gazebo>"
        )

    @pytest.mark.parametrize("tag", ["wheel_separation", "wheelSeparation"])
    def test_a_track_that_differs_is_named_with_both_values(self, tag):
        result = described(self.drive(f"<{tag}>0.4</{tag}><{tag}>0.4</{tag}>"))
        shown = f"{2 * HALF_TRACK:.4g} m apart"
        assert said(result).count("<plugin> 'diff_drive': ") == 1
        assert f"{tag} is 0.4 m, but the middles of the wheels are {shown}" in said(result)
        assert result.content["wheels"]["separation"] == pytest.approx(2 * HALF_TRACK)

    def test_a_diameter_and_a_radius_that_differ(self):
        result = described(self.drive("<wheel_diameter>0.2</wheel_diameter>"))
        assert f"shapes have a diameter of {2 * RADIUS:.4g} m" in said(result)
        result = described(self.drive("<wheel_radius>0.2</wheel_radius>"))
        assert f"wheel_radius is 0.2 m, but the wheels' shapes have a radius of {RADIUS:.4g} m" in (
            said(result)
        )

    def test_parameters_of_ros2_control(self):
        inside = '<hardware><param name="wheel_separation">0.5</param></hardware>'
        control = f'<ros2_control name="base" type="system">{inside}</ros2_control>'
        result = described(robot(base(), LEFT, RIGHT, CASTERS, control))
        assert "<ros2_control> 'base': wheel_separation is 0.5 m, but" in said(result)

    def test_what_agrees_or_is_no_length_is_not_named(self):
        track, diameter = 2 * HALF_TRACK * 1.005, 2 * RADIUS
        for text in (f"{track}", "twice", "-1", "", "nan"):
            result = described(
                self.drive(
                    f"<wheel_separation>{text}</wheel_separation>"
                    f"<wheel_diameter>{diameter}</wheel_diameter>"
                )
            )
            assert "<plugin>" not in said(result)


class TestLimits:
    def test_come_from_the_joints(self):
        more = '<limit effort="3" velocity="20"/><dynamics damping="0.002" friction="0.01"/>'
        parts = [wheel("left", HALF_TRACK, more=more), wheel("right", -HALF_TRACK, more=more)]
        result = described(robot(base(), *parts, CASTERS))
        limits = result.content["limits"]
        assert limits["torque"] == 3
        assert limits["linear_velocity"] == pytest.approx(20 * RADIUS)
        assert limits["wheel_velocity"] == 20
        assert result.content["friction"] == {"viscous": [0.002] * 2, "coulomb": [0.01] * 2}
        casters, encoder = result.assumed
        assert casters.startswith("body.mass: ") and encoder.startswith("encoder.counts = ")

    def test_of_ros2_control_count_where_they_are_smaller(self):
        more = '<limit effort="3" velocity="20"/>'
        parts = [wheel("left", HALF_TRACK, more=more), wheel("right", -HALF_TRACK, more=more)]
        control = "".join(
            f'<joint name="{side}_joint">'
            '<command_interface name="effort"><param name="min">-2</param>'
            '<param name="max">2</param></command_interface>'
            '<command_interface name="velocity"><param name="max">{most}</param>'
            "</command_interface></joint>"
            for side in ("left", "right")
        )
        control = f'<ros2_control name="c" type="system">{control}</ros2_control>'
        text = robot(base(), *parts, CASTERS, control.replace("{most}", "50"))
        limits = described(text).content["limits"]
        assert limits["torque"] == 2
        assert limits["linear_velocity"] == pytest.approx(20 * RADIUS)
        with pytest.raises(
            ValueError, match="limit in <ros2_control> is 'fast', it must be a numb"
        ):
            described(robot(base(), *parts, CASTERS, control.replace("{most}", "fast")))

    def test_placeholders_are_named_and_replaced(self):
        more = '<limit effort="1000000" velocity="1000"/><dynamics damping="1" friction="0"/>'
        parts = [wheel("left", HALF_TRACK, more=more), wheel("right", -HALF_TRACK, more=more)]
        result = described(robot(base(), *parts, CASTERS))
        for part in (
            "effort limit 1e+06 N m is",
            "velocity limit 1000 rad/s is 60 m/s",
            "damping 1",
        ):
            assert part in said(result)
        assert result.content["friction"]["viscous"] == [0.0, 0.0]

    @pytest.mark.parametrize(("times", "named"), [(4.5, False), (6.25, True)])
    def test_a_torque_that_would_slip_the_wheels_many_times_over_is_named(self, times, named):
        grip = 0.6 * (BODY + 2 * WHEEL) * 9.81 / 2 * RADIUS
        more = f'<limit effort="{times * grip!r}" velocity="20"/>'
        parts = [wheel("left", HALF_TRACK, more=more), wheel("right", -HALF_TRACK, more=more)]
        result = described(robot(base(), *parts, CASTERS))
        limits = result.content["limits"]
        used = 2.0 * limits["traction"] if named else times * grip
        assert limits["torque"] == pytest.approx(used, rel=1e-5)
        assert (f"is {times:g} times the {grip:.3g} N m at which a wheel" in said(result)) == named

    def test_a_weak_motor_bounds_traction(self):
        more = '<limit effort="0.05" velocity="20"/>'
        parts = [wheel("left", HALF_TRACK, more=more), wheel("right", -HALF_TRACK, more=more)]
        limits = described(robot(base(), *parts, CASTERS)).content["limits"]
        assert limits["traction"] == limits["torque"] == 0.05

    def test_the_traction_limit_is_grip_times_load(self):
        com_x = 0.07
        content = described(robot(base(x=com_x), LEFT, RIGHT, CASTERS)).content
        total = BODY + 2 * WHEEL
        load = total * 9.81 * (1 - BODY * com_x / total / 0.18) / 2
        assert content["limits"]["traction"] == pytest.approx(0.6 * load * RADIUS, rel=1e-6)

    def test_the_traction_limit_leaves_the_casters_a_fifth_of_their_load(self):
        result = described(robot())
        total = BODY + 2 * WHEEL
        equivalent = total + 2 * result.content["wheels"]["inertia_spin"] / RADIUS**2
        acceleration = 2 * result.content["limits"]["traction"] / (RADIUS * equivalent)
        moment = BODY * COM_X * 9.81  # of the weight about the wheels' contact
        tips = acceleration * (BODY * (RADIUS + 0.03) + 2 * WHEEL * RADIUS)
        assert moment - tips == pytest.approx(0.2 * moment, rel=1e-6)
        assert "lifts the casters" in result.sources["limits.traction"]


class TestCasters:
    def test_a_ball_too_low_or_too_high_stands_on_the_ground(self):
        for low in (-0.003, 0.004):
            result = described(robot(base(), LEFT, RIGHT, caster("front_caster", 0.18, low=low)))
            assert result.content["casters"][0] == {
                "x": 0.18,
                "y": 0.0,
                "radius": 0.015,
                "clearance": 0.0,
            }
            direction = "above" if low > 0 else "below"
            assert f"ends {abs(1000 * low):.2g} mm {direction} the wheels' lowest points" in said(
                result
            )

    def test_missing_ones_are_put_and_said(self):
        result = described(robot(base(), LEFT, RIGHT))
        assert [c["x"] > 0 for c in result.content["casters"]] == [True, False]
        assert any(
            entry.startswith("casters, front: the URDF has none") for entry in result.assumed
        )

    def test_a_robot_that_would_rock_stands_on_both(self):
        result = described(
            robot(base().replace(f'xyz="{COM_X!r}', 'xyz="0.001'), LEFT, RIGHT, CASTERS)
        )
        assert [c["clearance"] for c in result.content["casters"]] == [0.0, 0.0]
        quarter = (BODY + 2 * WHEEL) * 9.81 / 4
        assert result.content["limits"]["traction"] == pytest.approx(
            0.6 * quarter * RADIUS, rel=1e-5
        )


class TestMeshes:
    def wheels(self, name, role):
        mesh = f'<mesh filename="{name}" scale="0.001 0.001 0.001"/>'
        spin, yaw = DISC
        inside = inertial(WHEEL, yaw, yaw, spin) + shape(mesh, role=role)
        return [wheel(n, y, inside=inside) for n, y in (("a", 0.15), ("b", -0.15))]

    @pytest.mark.parametrize("role", ["collision", "visual"])
    def test_radius_and_width_of_an_stl(self, role, tmp_path):
        write_stl(tmp_path / "wheel.stl", (120.0, 120.0, 30.0))
        text = robot(base(), *self.wheels("wheel.stl", role), CASTERS)
        wheels = described(text, tmp_path / "robot.urdf").content["wheels"]
        assert wheels["radius"] == pytest.approx(0.06, rel=1e-6)
        assert wheels["width"] == pytest.approx(0.03, rel=1e-6)

    def test_casters_are_no_measure_of_a_body_whose_mesh_is_not_there(self, tmp_path):
        """Its mass, centre of mass and inertia are as the URDF has them."""
        text = robot(base(), LEFT, RIGHT, CASTERS).replace("caster", "knob")
        clean = described(text)
        body = '<box size="0.4 0.24 0.12"/>'
        assert body in text
        lost = text.replace(body, '<mesh filename="package://nowhere/body.stl"/>')
        result = described(lost, tmp_path / "robot.urdf")
        assert result.corrected == clean.corrected
        assert_same_model(model(result), model(clean))
        said = "\n".join(result.assumed)
        assert "the shapes of base_link, most of the body's mass, cannot be read" in said

    def test_a_mesh_that_is_not_round_or_not_there_needs_the_radius(self, tmp_path):
        write_stl(tmp_path / "wheel.stl", (120.0, 90.0, 30.0))
        for name, why in (("wheel.stl", "mesh with equal sides"), ("no.stl", "no.stl (not found)")):
            text = robot(base(), *self.wheels(name, "visual"), CASTERS)
            with pytest.raises(ValueError) as caught:
                described(text, tmp_path / "robot.urdf")
            assert why in str(caught.value)
            assert "--wheel-radius METRES" in str(caught.value)
            result = described(text, tmp_path / "robot.urdf", wheel_radius=0.06)
            assert result.content["wheels"]["radius"] == 0.06


def test_every_number_has_a_finite_value_and_few_digits():
    def walk(value):
        if isinstance(value, dict):
            for entry in value.values():
                walk(entry)
        elif isinstance(value, list):
            for entry in value:
                walk(entry)
        elif isinstance(value, float):
            assert np.isfinite(value)
            assert value == float(f"{value:.7g}")

    walk(described(robot()).content)
