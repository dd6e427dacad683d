# SPDX-License-Identifier: Apache-2.0
"""The tree of a URDF: links that are lumped, and what a wrong URDF is told."""

import pytest
from strict_urdf import model_of
from urdf_texts import CYLINDER, robot, wheel


def read(text):
    return model_of(text, "left_joint", "right_joint")


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


LOOSE = '<link name="loose"/>'
WRONG = [
    ("<robot", r"no well-formed XML"),
    ("<model/>", r"first element is <model>, it must be <robot>"),
    (robot(more=LOOSE), r"one root link, but has \['root', 'loose'\]"),
    (robot(wheel("left", axis="0 0 0")), r"'left_joint': the axis is 0 0 0"),
    (robot(wheel("left", mass="-1")), r"link 'left_link': mass = -1\.0 kg must not be negative"),
    (robot(wheel("left", mass="one")), r'link \'left_link\': <mass value="one"> must hold one'),
    (robot(wheel("left", mass="nan")), r"'left_link': <mass value=\"nan\"> must hold one finite"),
    (robot().replace('izz="0.15"', 'izz="0.5"'), r"link 'plate': principal inertias"),
    (
        robot().replace('<child link="battery"/>', '<child link="accu"/>'),
        r"'battery_joint' refers to the link 'accu'",
    ),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_wrong_urdf_is_told_what_is_wrong(text, message):
    with pytest.raises(ValueError, match=message):
        read(text)
