# SPDX-License-Identifier: Apache-2.0
"""Reading of foreign URDFs: lumping of links, and what a wrong URDF is told."""

import pytest
from urdf_texts import CYLINDER, robot, wheel

from diffbot_description import RobotModel


def read(text, **options):
    return RobotModel.from_urdf(text, "left_joint", "right_joint", **options)


def test_fixed_links_are_lumped_into_the_body():
    model = read(robot())
    assert model.wheel_radius == 0.1
    assert model.half_track == pytest.approx(0.2)
    assert model.mass_body == pytest.approx(6)
    # 4 kg at x = 0 and 2 kg at 0.12: centre at 0.04, and the axle is at -0.05.
    assert model.com_offset == pytest.approx(0.09)
    # 0.15 + 0.025 + reduced mass 4 * 2 / 6 times 0.12 squared.
    assert model.inertia_body == pytest.approx(0.175 + 4 / 3 * 0.0144)
    assert model.wheel_mass == 1
    assert model.wheel_inertia_spin == pytest.approx(0.005)
    assert model.wheel_inertia_yaw == pytest.approx(0.003)


def test_wheel_frame_may_be_turned():
    """A wheel whose own z is the axle, as many CAD exporters write it."""
    turned = """
      <link name="{0}_link">
        <inertial><mass value="1"/>
          <inertia ixx="0.003" iyy="0.003" izz="0.005" ixy="0" ixz="0" iyz="0"/></inertial>
        <collision><geometry><cylinder radius="0.1" length="0.04"/></geometry></collision>
      </link>
      <joint name="{0}_joint" type="continuous">
        <parent link="plate"/><child link="{0}_link"/>
        <origin xyz="-0.05 {1} 0" rpy="-1.5707963267948966 0 0"/><axis xyz="0 0 1"/>
      </joint>"""
    model = read(robot(turned.format("left", 0.2), turned.format("right", -0.2)))
    expected = read(robot())
    assert model.wheel_inertia_spin == pytest.approx(expected.wheel_inertia_spin)
    assert model.wheel_inertia_yaw == pytest.approx(expected.wheel_inertia_yaw)
    assert model.equivalent_inertia == pytest.approx(expected.equivalent_inertia)


def test_wheel_mass_outside_the_contact_point_counts_where_it_is():
    """Contact shapes 2 cm further in: b shrinks, the wheels' own yaw inertia does not."""
    inner = {
        side: CYLINDER.replace("<origin ", f'<origin xyz="0 {y} 0" ')
        for side, y in (("left", "-0.02"), ("right", "0.02"))
    }
    model = read(robot(wheel("left", shape=inner["left"]), wheel("right", shape=inner["right"])))
    assert model.half_track == pytest.approx(0.18)
    own = model.wheel_inertia_yaw + model.wheel_mass * model.half_track**2
    assert own == pytest.approx(0.003 + 1 * 0.2**2)


def test_locked_joint_counts_as_fixed():
    swivel = robot(battery_joint="continuous")
    with pytest.raises(ValueError, match=r"'battery_joint' \(continuous\) .*'battery' of 2 kg"):
        read(swivel)
    assert read(swivel, locked=["battery_joint"]) == read(robot())
    with pytest.raises(ValueError, match=r"no joint 'batery'. Its joints are: plate_joint"):
        read(swivel, locked=["batery"])


def test_given_radius_replaces_a_missing_shape():
    bare = robot(wheel("left", shape=""), wheel("right", shape=""))
    with pytest.raises(ValueError, match=r"'left_link' has no <collision>.*wheel_radius"):
        read(bare)
    assert read(bare, wheel_radius=0.1) == read(robot())


def test_a_joint_that_turns_about_minus_y_is_the_same_wheel():
    assert read(robot(wheel("left", axis="0 -1 0"))) == read(robot())


MASSLESS = '<link name="left_link">' + CYLINDER + "</link>"
LOOSE = '<link name="loose"/>'
WRONG = [
    ("<robot", r"no well-formed XML"),
    ("<model/>", r"first element is <model>, it must be <robot>"),
    (robot(more=LOOSE), r"one root link, but has \['root', 'loose'\]"),
    (robot(wheel("left", type="fixed")), r"'left_joint' is of type 'fixed'"),
    (robot(wheel("left", axis="0 0 1")), r"'left_joint' turns about \(0 0 1\)"),
    (robot(wheel("left", axis="0 0 0")), r"'left_joint': the axis is 0 0 0"),
    (robot(wheel("left", mass="1.1")), r"must be mirror images, but their mass is 1\.1 and 1"),
    (robot(wheel("left", y="0.25")), r"0\.025 m to the right of the middle|mirror images"),
    (robot(wheel("left", x="0")), r"0\.05 m apart in x or z"),
    (
        robot(wheel("left", y="-0.2"), wheel("right", y="0.2")),
        r"'left_joint' lies to the right of 'right_joint'",
    ),
    (robot(wheel("left", mass="-1")), r"link 'left_link': mass = -1\.0 kg must not be negative"),
    (robot(wheel("left", mass="one")), r'link \'left_link\': <mass value="one"> must hold one'),
    (robot(wheel("left", mass="nan")), r"'left_link': <mass value=\"nan\"> must hold one finite"),
    (robot(wheel("left", mass="0")), r"link 'left_link' has no mass"),
    (robot(battery="0.12 0.03"), r"0\.01 m to the left .* link 'battery'"),
    (robot(battery="0.12 -0.03"), r"0\.01 m to the right .* link 'battery'"),
    (robot().replace('izz="0.15"', 'izz="0.5"'), r"link 'plate': principal inertias"),
    (robot().replace('izz="0.005" ixy="0"', 'izz="0.005" ixy="0.001"'), r"not balanced about its"),
    (
        robot().replace('<child link="battery"/>', '<child link="accu"/>'),
        r"'battery_joint' refers to the link 'accu'",
    ),
    (robot(wheel("port")), r"no joint 'left_joint'.*turning joints are: port_joint, right_joint"),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_urdf_is_told_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)
