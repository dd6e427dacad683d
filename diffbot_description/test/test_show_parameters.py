# SPDX-License-Identifier: Apache-2.0
"""The command show_parameters."""

import pytest
from robot_files import changed, write

from diffbot_description import load_robot, urdf
from diffbot_description.show_parameters import main


def values(text):
    lines = [line.split() for line in text.split("\n\n")[0].splitlines()[2:]]
    return {line[0]: float(line[1]) for line in lines}


def test_prints_parameters_with_units(capsys):
    assert main(["twil"]) == 0
    text = capsys.readouterr().out
    result = values(text)
    assert result["K7"] == pytest.approx(2.6468, rel=1e-4)
    assert result["M_e"] == pytest.approx(1 / (0.075 * 2.6468), rel=1e-4)
    assert "rad/(s^2 N m)" in text
    assert "equivalent mass" in text


def test_urdf_file_gives_the_same_as_the_robot(tmp_path, capsys):
    path = tmp_path / "twil.urdf"
    path.write_text(urdf(load_robot("twil")), encoding="utf-8")
    main(["twil"])
    expected = values(capsys.readouterr().out)
    assert main([str(path)]) == 0
    assert values(capsys.readouterr().out) == expected


@pytest.mark.parametrize("wrong", ["twill", "/nowhere/robot.yaml", "/nowhere/robot.urdf"])
def test_wrong_robot_gives_a_message_and_exit_status_2(wrong, capsys):
    assert main([wrong]) == 2
    assert wrong in capsys.readouterr().err


def test_prints_the_friction_that_there_is(tmp_path, capsys):
    assert main(["twil"]) == 0
    assert "Friction" not in capsys.readouterr().out
    friction = {
        "viscous": [0.01, 0.02],
        "coulomb": [0.03, 0.03],
        "coulomb_backward": [0.03, 0.04],
        "static": [0.05, 0.06],
        "stribeck_velocity": [0.3, 0.3],
        "gear_loss": [0.0, 0.2],
    }
    assert main([write(tmp_path, changed("friction", friction))]) == 0
    result = capsys.readouterr().out.split("\n\n")[1].splitlines()[2:]
    assert {line.split()[0]: float(line.split()[1]) for line in result} == {
        "viscous_left": 0.01,
        "coulomb_left": 0.03,
        "static_left": 0.05,
        "viscous_right": 0.02,
        "coulomb_right": 0.03,
        "backward_right": 0.04,
        "static_right": 0.06,
        "gear_loss_right": 0.2,
    }


def test_joints_that_count_as_one_wheel_are_shown(tmp_path, capsys):
    joints = {"left": ["front_left", "rear_left"], "right": ["front_right", "rear_right"]}
    assert main([write(tmp_path, changed("joints", joints))]) == 0
    assert (
        "left: front_left, rear_left\n  right: front_right, rear_right" in capsys.readouterr().out
    )
    assert main(["twil"]) == 0
    assert "count as one" not in capsys.readouterr().out
