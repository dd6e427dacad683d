# SPDX-License-Identifier: Apache-2.0
"""A robot's own URDF with identified inertias: its body is the wanted one, the rest as it was."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from foreign_urdfs import CASTERS, HALF_TRACK, base, inertial, joint, link, origin, robot, wheel
from hypothesis import given
from hypothesis import strategies as st
from strict_urdf import model_of

from diffbot_description import closed_form
from diffbot_description.describe import describe
from diffbot_description.identified_urdf import own_urdf, with_inertias
from diffbot_description.robot_parsing import robot_from
from diffbot_description.urdf_files import Packages

HERE = Path(__file__)
MAST = link("mast", inertial(0.5, 1e-3, 1e-3, 2e-3)) + joint(
    "mast_joint", "base_link", "mast", inside=origin(0.1, 0.0, 0.2)
)
WHEELS = wheel("left", HALF_TRACK) + wheel("right", -HALF_TRACK, sign=-1)


def described(text):
    return robot_from(describe(text, Packages(HERE)).content, HERE)


def identified(own, mass, ahead, yaw):
    """The robot with that much of its mass, ahead (m) more of it, that much of its yaw inertia."""
    body = own.body
    centre = replace(body.center_of_mass, x=body.center_of_mass.x + ahead)
    inertia = body.inertia.with_yaw(yaw * body.inertia.yaw)
    return replace(
        own, body=replace(body, mass=mass * body.mass, center_of_mass=centre, inertia=inertia)
    )


def rest(urdf):
    return re.sub(r"<inertial>.*?</inertial>", "", urdf, flags=re.S)


@given(mass=st.floats(0.5, 2.0), ahead=st.floats(-0.02, 0.02), yaw=st.floats(0.6, 3.0))
def test_the_closed_form_is_that_of_the_identified_robot(mass, ahead, yaw):
    text = robot(base(), WHEELS, MAST, CASTERS)
    wanted = identified(described(text), mass, ahead, yaw)
    inertias = with_inertias(text, wanted)
    model = model_of(inertias, *wanted.joints.first)
    np.testing.assert_allclose(closed_form(model), closed_form(wanted.model), rtol=1e-5)
    assert rest(inertias) == rest(text)


def test_a_robot_as_it_is_keeps_its_text_to_the_letter():
    text = robot(base(), WHEELS, MAST, CASTERS)
    own = described(text)
    exact = replace(own.body, mass=6.5)
    inertias = with_inertias(text, replace(own, body=exact))
    assert inertias.count("<inertial>") == text.count("<inertial>")
    left = text[text.index('<link name="left_wheel">') : text.index('<link name="right_wheel">')]
    assert left in inertias


def test_other_links_shrink_where_the_heaviest_has_not_so_much_to_give():
    """A copied inertia of a light link is larger than all that the body has."""
    copied = MAST.replace("0.002", "0.9").replace("0.001", "0.9")
    text = robot(base(), WHEELS, copied, CASTERS)
    wanted = described(text)  # `describe` has replaced it
    inertias = with_inertias(text, wanted)
    model = model_of(inertias, *wanted.joints.first)
    np.testing.assert_allclose(closed_form(model), closed_form(wanted.model), rtol=1e-5)


def test_what_cannot_be_is_refused_with_both_numbers():
    text = robot(base(), WHEELS, MAST.replace('xyz="0.1 ', 'xyz="0.9 '), CASTERS)
    own = described(robot(base(), WHEELS, CASTERS))
    wanted = replace(own, body=replace(own.body, inertia=own.body.inertia.with_yaw(0.01)))
    with pytest.raises(
        ValueError, match=r"identified yaw inertia .* is 0\.01 kg m\^2, but its link"
    ):
        with_inertias(text, wanted)


def test_a_robot_without_a_urdf_of_its_own_has_none():
    assert own_urdf(described(robot())) is None
