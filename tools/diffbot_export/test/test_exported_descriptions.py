# SPDX-License-Identifier: Apache-2.0
"""The exported URDF is a robot whose closed form is what was identified."""

import json
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
import result_files
from strict_urdf import model_of

from diffbot_description import closed_form, load_robot
from diffbot_export.command import main
from diffbot_ident.estimate import FrictionEstimate
from diffbot_sim.engines import make_simulator


@pytest.fixture
def out(tmp_path):
    def run(*results):
        words = [*map(str, results), "--to", "urdf", "--output", str(tmp_path / "out")]
        assert main(words) == 0
        return tmp_path / "out"

    return run


def test_closed_form_of_the_urdf_is_what_was_identified(tmp_path, out):
    folder = out(result_files.torque_results(tmp_path / "r"))
    robot = load_robot("twil")
    model = model_of((folder / "twil_identified.urdf").read_text(), *robot.joints.first)
    np.testing.assert_allclose(closed_form(model), closed_form(robot.model), rtol=1e-9)


def test_calibrated_wheels_keep_the_wheel_inertias_and_change_the_body(tmp_path, out):
    """J = r / (2 K7) and r / (2 b |K8|) are what torques and encoders tell, whatever r and b."""
    results = result_files.torque_results(tmp_path / "r"), result_files.calibration(tmp_path / "c")
    folder = out(*results)
    described, measured = load_robot("twil"), load_robot(folder / "twil_identified.yaml")
    assert measured.wheels.radius == pytest.approx(1.02 * described.wheels.radius, rel=1e-9)
    assert measured.wheels.separation == pytest.approx(1.05 * described.wheels.separation, rel=1e-9)
    for one, other in zip(
        wheel_inertias(described.model), wheel_inertias(measured.model), strict=True
    ):
        assert other == pytest.approx(one, rel=1e-9)
    assert measured.body.mass < described.body.mass


def wheel_inertias(model):
    k = closed_form(model)
    return (
        model.wheel_radius / (2.0 * k.k7),
        -model.wheel_radius / (2.0 * model.half_track * k.k8),
    )


def test_the_exported_robot_moves_in_a_simulator(tmp_path, out):
    folder = out(result_files.torque_results(tmp_path / "r"))
    engine = make_simulator("mujoco", load_robot(folder / "twil_identified.yaml"))
    engine.step((0.2, 0.2), 0.5)
    k7 = closed_form(load_robot("twil").model).k7
    _, _, coulomb_left, coulomb_right = result_files.FRICTION
    expected = 0.5 * k7 * (0.4 - coulomb_left - coulomb_right)
    # Viscous friction takes 3 % of the torque at the end.
    assert engine.velocity()[0] == pytest.approx(expected, rel=0.05)
    engine.close()


def test_gear_losses_are_in_the_robot_file_and_told_where_a_file_has_none(tmp_path, out, capsys):
    friction = FrictionEstimate(
        result_files.FRICTION,
        (1e-8, 1e-8, 1e-6, 1e-6),
        gear_loss=(0.12, 0.2),
        gear_variances=(1e-4, 1e-4),
    )
    folder = out(result_files.torque_results(tmp_path / "r", friction=friction))
    assert load_robot(folder / "twil_identified.yaml").friction.gear_loss == (0.12, 0.2)
    reported = "gear losses of 12 % (left) and 20 % (right) of the torque, except in the robot file"
    assert reported in capsys.readouterr().out
    assert reported in (folder / "twil_identified.urdf").read_text()


def test_a_target_that_cannot_be_written_does_not_stop_the_others(tmp_path, capsys):
    k5, _, k7, k8 = closed_form(load_robot("twil").model)
    heavy_wheels = {"k6": 3.0 * k5 * k8 / (load_robot("twil").wheels.half_track * k7), "k8": 3 * k8}
    results = result_files.torque_results(tmp_path / "r", **heavy_wheels)
    words = [str(results), "--to", "urdf", "robot_localization", "--output", str(tmp_path / "o")]
    assert main(words) == 2
    said = capsys.readouterr()
    assert "--to urdf: not written: the identified parameters do not fit" in said.err
    assert "equivalent yaw inertia is" in said.err
    files = ["export.json", "robot_localization.yaml"]
    assert sorted(path.name for path in (tmp_path / "o").glob("[!.]*")) == files
    for name in files:
        assert str(tmp_path / "o" / name) in said.out
    summary = json.loads((tmp_path / "o" / "export.json").read_text())
    assert list(summary["refused"]) == ["urdf"]
    words[3:4] = []
    assert main([*words[:-1], str(tmp_path / "none")]) == 2
    assert not (tmp_path / "none").exists()


def test_a_urdf_is_xml_with_its_sources_in_a_comment(tmp_path, out):
    path = out(result_files.torque_results(tmp_path / "r")) / "twil_identified.urdf"
    text = path.read_text()
    ElementTree.fromstring(text)
    comment = text.split("<!--")[1].split("-->")[0]
    assert "K7 of dynamic_parameters.yaml: 2.64682 [" in comment
    assert text.count("<!--") == 1
