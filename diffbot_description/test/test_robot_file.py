# SPDX-License-Identifier: Apache-2.0
"""Robots that were changed in code: their files and their URDF."""

import math
from dataclasses import replace

import numpy as np
import pytest
from strict_urdf import model_of

from diffbot_description import (
    closed_form,
    known_robots,
    load_robot,
    save_robot,
    urdf,
    write_identified_robot,
)

TWIL = load_robot("twil")


def changed():
    """The robot twil with another body, other wheels and another name."""
    return replace(
        TWIL,
        name="changed",
        wheels=replace(TWIL.wheels, radius=0.06, separation=0.4),
        body=replace(TWIL.body, mass=np.float64(10.0)),
        excitation=replace(TWIL.excitation, hold=np.int64(7)),
        friction=replace(TWIL.friction, static=(0.2, 0.3), stribeck_velocity=(1, 2)),
    )


@pytest.mark.parametrize("name", known_robots())
def test_a_robot_that_is_saved_and_loaded_is_the_same(name, tmp_path):
    robot = load_robot(name)
    path = save_robot(robot, tmp_path / "saved.yaml")
    assert replace(load_robot(path), path=robot.path) == robot


def test_so_is_one_that_was_changed_in_code(tmp_path):
    path = save_robot(changed(), str(tmp_path / "new_folder" / "changed.yml"))
    assert load_robot(path) == replace(changed(), path=path)


def test_the_urdf_is_that_of_the_changed_robot():
    read = model_of(urdf(changed()))
    assert read.mass_body == 10.0
    np.testing.assert_allclose(closed_form(read), closed_form(changed().model), rtol=1e-12)


def test_what_is_identified_of_a_changed_robot_keeps_the_change(tmp_path):
    k = closed_form(changed().model)
    path, _ = write_identified_robot(changed(), tmp_path, k.k5, k.k7, k.k8)
    assert load_robot(path).wheels == changed().wheels
    np.testing.assert_allclose(closed_form(load_robot(path).model), k, rtol=1e-9)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"body": replace(TWIL.body, mass=-1.0)}, "body.mass = -1.0 kg must be above 0"),
        ({"wheels": replace(TWIL.wheels, separation=math.nan)}, "wheels.separation = nan"),
        ({"friction": replace(TWIL.friction, viscous=0.1)}, "friction.viscous = 0.1"),
        ({"name": 3}, "name = 3"),
    ],
)
def test_a_robot_that_breaks_a_rule_is_not_saved(wrong, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        save_robot(replace(TWIL, **wrong), tmp_path / "wrong.yaml")
    assert not list(tmp_path.iterdir())


def test_nor_is_one_under_a_name_that_could_not_be_loaded(tmp_path):
    with pytest.raises(ValueError, match="must end in .yaml or .yml"):
        save_robot(TWIL, tmp_path / "twil.json")
