# SPDX-License-Identifier: Apache-2.0
"""Descriptions of unusual wheels: reversed, cambered, geared, too dense, and beside an arm."""

import math
from pathlib import Path

import pytest
from foreign_urdfs import (
    CASTERS,
    DISC,
    HALF_PI,
    HALF_TRACK,
    RADIUS,
    WHEEL,
    base,
    cylinder,
    inertial,
    joint,
    link,
    origin,
    robot,
    shape,
    wheel,
)

from diffbot_description import closed_form
from diffbot_description.command_kind import CommandKind
from diffbot_description.describe import describe
from diffbot_description.robot_parsing import robot_from
from diffbot_description.urdf_files import Packages

HERE = Path(__file__)
LEFT, RIGHT = wheel("left", HALF_TRACK), wheel("right", -HALF_TRACK)


def described(text):
    result = describe(text, Packages(HERE))
    return result, robot_from(result.content, HERE)


def commanded(*names, interface="velocity"):
    inside = "".join(
        f'<joint name="{name}"><command_interface name="{interface}"/></joint>' for name in names
    )
    return f'<ros2_control name="{names[0]}" type="system">{inside}</ros2_control>'


# Signs.


def test_a_joint_that_turns_about_minus_y_has_a_sign():
    text = robot(base(), LEFT, wheel("right", -HALF_TRACK, sign=-1), CASTERS)
    result, own = described(text)
    assert result.content["joints"]["signs"] == [1, -1]
    assert own.joints.directions == (1, -1)
    assert "signs" not in described(robot())[0].content["joints"]


def test_each_wheel_of_a_side_has_its_own_sign():
    wheels = [
        wheel(f"{end}_{side}", y, x, sign=-1 if (end, side) == ("rear", "left") else 1)
        for end, x in (("front", 0.15), ("rear", -0.15))
        for side, y in (("left", HALF_TRACK), ("right", -HALF_TRACK))
    ]
    _, own = described(robot(base(), *wheels))
    assert own.joints.names[1] == "rear_left_joint"
    assert own.joints.directions == (1, -1, 1, 1)


# Camber.

CAMBER = math.radians(8.6)


def cambered(camber=CAMBER, sign=-1, radius=0.085):
    """Wheels whose lowest points are outside of their centres, the right one about -z."""
    height = radius * math.cos(camber) - RADIUS
    parts = []
    for name, side in (("left", 1), ("right", -1)):
        place = origin(0, side * 0.2, height, -side * (HALF_PI - camber))
        body = link(
            f"{name}_wheel", inertial(0.5, 1e-3, 1e-3, 1.8e-3) + shape(cylinder(radius, 0.03))
        )
        axis = f'<axis xyz="0 0 {side if sign < 0 else 1}"/>'
        parts.append(body + joint(f"{name}_joint", "base_link", f"{name}_wheel", "continuous",
                                  place + axis))  # fmt: skip
    free = [wheel(f"{n}_roller", y, -0.25, radius=0.04) for n, y in (("l", 0.12), ("r", -0.12))]
    return robot(base(), *parts, *free, commanded("left_joint", "right_joint"))


def test_cambered_wheels_that_are_commanded_drive():
    result, own = described(cambered())
    assert own.joints.first == ("left_joint", "right_joint")
    assert own.wheels.radius == pytest.approx(0.085)
    assert own.wheels.separation == pytest.approx(0.4 + 2 * 0.085 * math.sin(CAMBER), rel=1e-6)
    assert own.wheels.inertia_spin == pytest.approx(1.8e-3, rel=1e-6)
    assert any("slopes by 8.6 degrees (camber)" in entry for entry in result.corrected)


def test_a_commanded_wheel_that_is_too_cambered_is_refused_by_its_axis():
    with pytest.raises(
        ValueError, match=r"commanded joint 'left_joint' turns about \(0 0.819 0.57"
    ):
        described(cambered(math.radians(35.0)))


# Arms.


def arm(end):
    shoulder = '<axis xyz="0 0 1"/><limit lower="-1.5" upper="1.5" effort="9" velocity="2"/>'
    hand = inertial(0.1, 1e-4, 1e-4, 1e-4) + shape(cylinder(0.02, 0.05))
    links = link("upper", inertial(0.5, 1e-3, 1e-3, 1e-3)) + link("hand", hand)
    return (
        links
        + joint("shoulder", "base_link", "upper", "revolute", origin(0, 0, 0.3) + shoulder)
        + joint("wrist", "upper", "hand", "continuous", origin(0.1) + end)
    )


@pytest.mark.parametrize("axis", ["1 0 0", "0 1 0", "0 0 1"])
def test_the_joints_of_an_arm_are_no_steering(axis):
    end = f'<axis xyz="{axis}"/>'
    control = commanded("left_joint", "right_joint") + commanded(
        "shoulder", "wrist", interface="position"
    )
    _, own = described(robot(base(), LEFT, RIGHT, CASTERS, arm(end), control))
    assert own.joints.first == ("left_joint", "right_joint")
    assert own.wheels.radius == RADIUS


def test_an_arm_beside_wheels_whose_meshes_are_missing_is_no_steering():
    mesh = shape('<mesh filename="package://nowhere/wheel.stl"/>')
    inside = inertial(WHEEL, DISC[1], DISC[1], DISC[0]) + mesh
    parts = [wheel(n, y, inside=inside) for n, y in (("left", 0.15), ("right", -0.15))]
    control = commanded("left_joint", "right_joint")
    control += commanded("shoulder", "wrist", interface="position")
    text = robot(base(), *parts, CASTERS, arm('<axis xyz="1 0 0"/>'), control)
    result = describe(text, Packages(HERE), wheel_radius=RADIUS)
    assert result.content["joints"]["left"] == "left_joint"


def test_steered_wheels_on_the_ground_are_refused():
    steered = []
    for name, y in (("fl", HALF_TRACK), ("fr", -HALF_TRACK)):
        steered.append(link(f"{name}_knuckle", inertial(0.1, 1e-4, 1e-4, 1e-4)))
        turn = '<axis xyz="0 0 1"/><limit lower="-0.6" upper="0.6" effort="9" velocity="2"/>'
        steered.append(joint(f"{name}_turn", "base_link", f"{name}_knuckle", "revolute",
                             origin(0.2, y) + turn))  # fmt: skip
        steered.append(wheel(name, 0.0, parent=f"{name}_knuckle"))
    control = commanded("left_joint", "right_joint") + commanded(
        "fl_turn", "fr_turn", interface="position"
    )
    with pytest.raises(ValueError, match="'fl_turn' turns a wheel about the vertical"):
        described(robot(base(), LEFT, RIGHT, *steered, control))


# Mass and inertia.


def test_wheels_denser_than_metal_are_refused():
    spin, yaw = (100 * value for value in DISC)
    inside = inertial(100 * WHEEL, yaw, yaw, spin) + shape(cylinder(RADIUS, 0.03))
    parts = [wheel(n, y, inside=inside) for n, y in (("a", 0.15), ("b", -0.15))]
    with pytest.raises(ValueError, match=r"wheel of joint 'a_joint', 30 kg .* heavier than solid"):
        described(robot(base(), *parts, CASTERS))


def test_a_rotor_in_the_inertia_of_a_wheel_is_kept():
    """Spin 5 m r^2, everything else that of a disc: a rotor behind a gear."""
    spin = 5 * WHEEL * RADIUS**2
    inside = inertial(WHEEL, DISC[1], DISC[1], spin) + shape(cylinder(RADIUS, 0.03))
    parts = [wheel(n, y, inside=inside) for n, y in (("a", 0.15), ("b", -0.15))]
    result, own = described(robot(base(), *parts, CASTERS))
    assert own.wheels.inertia_spin == pytest.approx(spin, rel=1e-6)
    assert own.wheels.inertia_yaw == pytest.approx(DISC[1], rel=1e-6)
    assert any("motor's rotor" in entry for entry in result.assumed)


def test_a_rotor_of_a_transmission_is_reflected():
    """Drake's elements: 2e-6 kg m^2 behind a gear of 50."""
    transmissions = "".join(
        f'<transmission name="{n}"><joint name="{n}_joint"/><actuator name="{n}">'
        '<drake:gear_ratio value="50"/><drake:rotor_inertia value="2e-6"/></actuator>'
        "</transmission>"
        for n in ("left", "right")
    )
    text = robot(base(), LEFT, RIGHT, CASTERS, transmissions).replace(
        "<robot ", '<robot xmlns:drake="http://drake.mit.edu" ', 1
    )
    _, own = described(text)
    assert own.wheels.inertia_spin == pytest.approx(DISC[0] + 2e-6 * 50**2, rel=1e-6)
    assert closed_form(own.model).k7 < closed_form(described(robot())[1].model).k7
    with pytest.raises(ValueError, match="rotor_inertia '-1' and gear_ratio '50' must be positive"):
        described(text.replace('"2e-6"', '"-1"'))


def test_a_sides_sum_is_named_after_all_its_joints():
    wheels = [
        wheel(f"{end}_{side}", y, x, more='<limit effort="900" velocity="9"/>')
        for end, x in (("front", 0.15), ("rear", -0.15))
        for side, y in (("left", HALF_TRACK), ("right", -HALF_TRACK))
    ]
    result, _ = described(robot(base(), *wheels))
    (entry,) = [e for e in result.corrected if "effort limit" in e]
    assert entry.startswith("joint 'front_left_joint + rear_left_joint': effort limit 1800 N m")


# Wheels that nothing commands, and wheels that follow others.


@pytest.mark.parametrize("camber", [1.5, 8.6, 19.0])
def test_casters_do_not_drive_in_place_of_cambered_wheels(camber):
    text = cambered(math.radians(camber)).partition("<ros2_control")[0] + "</robot>"
    for casters in ("roller", "wheel"):
        result, own = described(text.replace("roller", casters))
        assert own.joints.first == ("left_joint", "right_joint")
        assert own.wheels.radius == pytest.approx(0.085)
        assert sum("(camber)" in entry for entry in result.corrected) == 1


def test_wheels_that_are_not_understood_do_not_leave_the_driving_to_casters():
    text = cambered(math.radians(35.0)).partition("<ros2_control")[0] + "</robot>"
    with pytest.raises(ValueError, match=r"the joint 'left_joint' turns about \(0 0.819 0.57"):
        described(text)
    toed = "".join(wheel(n, y) for n, y in (("left", HALF_TRACK), ("right", -HALF_TRACK)))
    toed = toed.replace('<axis xyz="0 0 1"/>', '<axis xyz="0.1 0 1"/>')
    assert "0.1 0 1" in toed
    free = [wheel(f"{n}_roller", y, -0.25, radius=0.04) for n, y in (("l", 0.12), ("r", -0.12))]
    with pytest.raises(ValueError, match="the joint 'left_joint' turns about"):
        described(robot(base(), toed, *free))


def following(mimics, sign=1):
    """Four wheels, of which the rear ones mimic others: {joint: (other, multiplier)}."""
    wheels = [
        wheel(f"{end}_{side}", y, x, sign=sign if end == "rear" else 1,
              more=''.join(f'<mimic joint="{other}" multiplier="{factor}"/>'
                           for other, factor in [mimics.get(f"{end}_{side}", ("", 0))] if other))
        for end, x in (("front", 0.15), ("rear", -0.15))
        for side, y in (("left", HALF_TRACK), ("right", -HALF_TRACK))
    ]  # fmt: skip
    return robot(base(), *wheels, commanded("front_left_joint", "front_right_joint"))


def test_wheels_that_follow_those_before_them_drive():
    for sign in (1, -1):
        text = following({f"rear_{s}": (f"front_{s}_joint", sign) for s in ("left", "right")}, sign)
        assert len(described(text)[1].joints.names) == 4


@pytest.mark.parametrize(
    ("mimics", "said"),
    [
        (("front_left_joint", -1), "mimics 'front_left_joint' with multiplier = -1, and rolls"),
        (("front_left_joint", 2), "multiplier = 2, and rolls along with it by 1 only"),
        (("front_right_joint", 1), "mimics 'front_right_joint', the wheel of the other side"),
    ],
)
def test_wheels_that_follow_others_otherwise_are_refused(mimics, said):
    rear_right = {"rear_right": ("front_right_joint", 1)}
    with pytest.raises(ValueError, match=said):
        described(following({"rear_left": mimics, **rear_right}))


# Masses that are stand-ins, and values that a rule gives.


def test_a_body_lighter_than_foam_is_refused_unless_it_takes_cmd_vel():
    light = robot(base(mass=0.004), LEFT, RIGHT, CASTERS)
    with pytest.raises(ValueError, match=r"0\.0\d+ kg in a hull of .* lighter than foam .*--mass"):
        described(light)
    describe(light, Packages(HERE), mass=5.0)
    describe(light, Packages(HERE), command=CommandKind.VELOCITY)


def test_inertias_that_a_rule_gives_are_assumed():
    bare = shape(cylinder(RADIUS, 0.03))
    parts = [wheel("left", HALF_TRACK), wheel("right", -HALF_TRACK, inside=bare)]
    result, own = described(robot(base(), *parts, CASTERS))
    names = {"wheels.mass", "wheels.inertia_spin", "wheels.inertia_yaw"}
    assert names <= {*own.assumed}
    assert not any("their mean" in entry for entry in result.corrected)
    assert any("the URDF gives the right one none" in entry for entry in result.assumed)
    assert not names & {*described(robot())[1].assumed}


# What does not stand on the ground, what steers, and what cannot be.


def test_shoulders_of_two_arms_are_no_wheels():
    """Their joints turn about y, on both sides, and carry something round: above the ground."""
    arms = [
        link(f"{n}_arm", inertial(1.0, 3e-3, 3e-3, 3e-3) + shape(cylinder(0.05, 0.1), tilted))
        + joint(f"{n}_shoulder", "base_link", f"{n}_arm", "continuous",
                origin(0.1, y, 0.3) + '<axis xyz="0 1 0"/>')
        for n, y in (("left", HALF_TRACK), ("right", -HALF_TRACK))
        for tilted in [origin(roll=HALF_PI)]
    ]  # fmt: skip
    control = commanded("left_joint", "right_joint", "left_shoulder", "right_shoulder")
    for more in ("", control, control.replace("velocity", "effort")):
        result, own = described(robot(base(), LEFT, RIGHT, CASTERS, *arms, more))
        assert own.joints.names == ("left_joint", "right_joint")
        # The arms reach 0.41 m above the ground: their masses are not moved into the hull.
        assert own.body.center_of_mass.z == pytest.approx((6 * 0.09 + 2 * 0.36) / 8)
        assert not any("center_of_mass" in entry for entry in result.corrected)


def knuckle(name, x, y, turn):
    inside = link(f"{name}_knuckle", inertial(0.1, 1e-4, 1e-4, 1e-4))
    return (
        inside
        + joint(f"{name}_turn", "base_link", f"{name}_knuckle", turn[0], origin(x, y) + turn[1])
        + wheel(name, 0.0, parent=f"{name}_knuckle")
    )


STEERING = '<axis xyz="0 0 1"/><limit lower="-0.6" upper="0.6" effort="9" velocity="2"/>'


@pytest.mark.parametrize("places", [[("nose", 0.0)], [("fl", HALF_TRACK), ("fr", -HALF_TRACK)]])
def test_steered_wheels_that_nothing_commands_are_refused(places):
    steered = [knuckle(name, 0.25, y, ("revolute", STEERING)) for name, y in places]
    with pytest.raises(ValueError, match=r"_turn' turns by at most 68.8 degrees, and with it a wh"):
        described(robot(base(), LEFT, RIGHT, *steered))
    swivel = ("continuous", '<axis xyz="0 0 1"/>')
    free = [knuckle(name, 0.25, y, swivel) for name, y in places]
    assert described(robot(base(), LEFT, RIGHT, *free))[1].joints.first[0] == "left_joint"
    named = [part.replace("_turn", "_steering") for part in free]
    with pytest.raises(ValueError, match="_steering' turns a wheel about the vertical"):
        described(robot(base(), LEFT, RIGHT, *named))


SHAPE = shape(cylinder(RADIUS, 0.03))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (robot(base(), LEFT, RIGHT, CASTERS, LEFT), "two of <link name='left_wheel'>"),
        (robot(base(), wheel("left", 0.30), wheel("right", 0.10), CASTERS),
         "centre of mass is 0.2 m to the right of the middle between the wheels, whose track is"),
        (robot().replace('radius="0.06"', 'radius="-0.06"', 1), 'radius="-0.06"> must not be neg'),
        (robot().replace('<box size="0.4 ', '<box size="400 '),
         "shapes are 400 x 0.24 x 0.12 m at a track of 0.3 m, those of link 'base_link' 400 m"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_named(text, said):
    for command in CommandKind:
        with pytest.raises(ValueError) as caught:
            describe(text, Packages(HERE), command=command)
        assert said in str(caught.value)


def test_one_wheel_is_no_pair():
    with pytest.raises(ValueError, match="--wheels has 'left_joint' twice"):
        describe(robot(), Packages(HERE), wheels=("left_joint", "left_joint"))


def test_a_part_denser_than_metal_is_to_be_checked():
    heavy = base().replace("</link>", shape(cylinder(0.01, 0.01)) + "</link>")
    part = link("ballast", inertial(2.0, 1e-5, 1e-5, 1e-5) + shape(cylinder(0.01, 0.01)))
    fixed = joint("ballast_joint", "base_link", "ballast")
    result, _ = described(robot(heavy, LEFT, RIGHT, CASTERS, part, fixed))
    entries = [entry for entry in result.assumed if "denser than solid metal" in entry]
    assert len(entries) == 1 and "link 'ballast' (2 kg)" in entries[0]


def test_wheels_that_only_slide_along_are_named():
    """A four-wheeled robot of which two wheels are commanded is no robot on casters."""
    rear = [wheel(f"rear_{n}", y, -0.2) for n, y in (("left", 0.15), ("right", -0.15))]
    control = commanded("left_joint", "right_joint")
    result, _ = described(robot(base(), LEFT, RIGHT, *rear, control))
    (entry,) = [entry for entry in result.corrected if "neither drive nor swivel" in entry]
    assert "rear_left_joint, rear_right_joint slide sideways" in entry
    calm, _ = described(robot(base(), LEFT, RIGHT, CASTERS, control))
    assert not any("neither drive" in entry for entry in calm.corrected)
