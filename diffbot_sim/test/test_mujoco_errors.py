# SPDX-License-Identifier: Apache-2.0
"""What the mujoco engine refuses, and how it says so."""

import math
import sys

import pytest

from diffbot_description import load_robot
from diffbot_sim.engines import make_simulator

pytest.importorskip("mujoco")
from diffbot_sim.engines.mujoco_engine import MujocoSimulator


@pytest.mark.parametrize("torque", [(math.nan, 0.0), (0.0, math.inf)])
def test_torque_that_is_not_finite_is_refused(twil, torque):
    sim = MujocoSimulator(twil)
    with pytest.raises(ValueError, match="wheel torque"):
        sim.step(torque, 0.01)
    assert sim.time == 0.0


def test_robot_that_leans_is_refused(twil, tmp_path):
    """Casters that hang in the air: the robot drops on its nose."""
    text = twil.path.read_text().replace("clearance: 0.0}", "clearance: 0.018}")
    path = tmp_path / "leaning.yaml"
    path.write_text(text)
    with pytest.raises(ValueError, match="cannot stand.*casters"):
        MujocoSimulator(load_robot(path))


def test_unknown_engine_lists_the_engines(twil):
    with pytest.raises(ValueError, match="ideal, mujoco"):
        make_simulator("bullet", twil)


def test_missing_mujoco_says_what_to_do(twil, monkeypatch):
    monkeypatch.delitem(sys.modules, "diffbot_sim.engines.mujoco_engine")
    monkeypatch.setitem(sys.modules, "mujoco", None)
    with pytest.raises(ImportError, match="pip install mujoco.*sim:=ideal"):
        make_simulator("mujoco", twil)
