# SPDX-License-Identifier: Apache-2.0
"""`identify` of a log of plain MuJoCo finds the model that was driven: examples/mujoco_log.py."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from identify_command import identify

from diffbot_description import closed_form, load_robot
from diffbot_export.description_files import mjcf

pytest.importorskip("mujoco")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/mujoco_log.py"
DELAY = 0.013  # s
VISCOUS, COULOMB = (0.003, 0.002), (0.03, 0.02)


def test_the_log_gives_the_parameters_friction_and_delay_of_the_model(tmp_path):
    twil = load_robot("twil")
    robot = replace(twil, friction=replace(twil.friction, viscous=VISCOUS, coulomb=COULOMB))
    model, table = tmp_path / "model.xml", tmp_path / "log.csv"
    model.write_text(mjcf(robot, DELAY))
    words = [str(model), str(table), "0.6", "8"]
    subprocess.run([sys.executable, "-I", str(EXAMPLE), *words], check=True)
    status, summary = identify(tmp_path, table, "--robot", "twil")
    assert status == 0
    identified = summary["parameters"]
    truth = closed_form(robot.model)
    for name, true in zip(("K5", "K6", "K7", "K8"), truth, strict=True):
        assert identified[name]["value"] == pytest.approx(true, rel=0.002), name
        # Four intervals of 95 %: twice the width misses once in 10,000 seeds.
        assert abs(identified[name]["value"] - true) < 4.0 * identified[name]["std"], name
    rubs = [summary["friction"][name]["value"] for name in summary["friction"]]
    np.testing.assert_allclose(rubs[:4], [*VISCOUS, *COULOMB], rtol=0.02)
    assert any("(13 ms) after it is reported" in warning for warning in summary["warnings"])
