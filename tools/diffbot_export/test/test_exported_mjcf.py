# SPDX-License-Identifier: Apache-2.0
"""The exported MJCF drives in plain MuJoCo as the identified robot does on the suite's engine."""

import json
import subprocess
import sys

import numpy as np
import pytest
import result_files

from diffbot_description import load_robot
from diffbot_export.command import main
from diffbot_ident.estimate import FrictionEstimate
from diffbot_sim.engines import make_simulator

pytest.importorskip("mujoco")

STEP, PERIOD, LATE = 0.0005, 0.01, 20  # s, and steps of the delay that result_files has
TORQUES = np.random.default_rng(5).uniform(-0.6, 0.6, (40, 2))

# Drives as any user of MuJoCo would; prints the positions and what was imported.
PLAIN = """
import json, sys
import mujoco
model = mujoco.MjModel.from_xml_path(sys.argv[1])
data = mujoco.MjData(model)
mujoco.mj_resetDataKeyframe(model, data, model.key("standing").id)
positions = []
for torques in json.loads(sys.stdin.read()):
    data.ctrl[:] = torques
    mujoco.mj_step(model, data, nstep=20)
    positions.append(data.qpos[:2].tolist())
mujoco.mj_forward(model, data)
suite = [name for name in sys.modules if name.startswith("diffbot")]
print(json.dumps([positions, suite, data.sensordata.tolist(), data.qvel.tolist()]))
"""


def exported(tmp_path, **options):
    words = [str(result_files.torque_results(tmp_path / "r", **options)), "--to", "mjcf"]
    assert main([*words, "--output", str(tmp_path / "out")]) == 0
    return tmp_path / "out" / "twil_identified_mjcf.xml"


def plain_drive(path, torques):
    run = subprocess.run(
        [sys.executable, "-I", "-c", PLAIN, str(path)],
        input=json.dumps(torques.tolist()), capture_output=True, text=True, check=True,
    )  # fmt: skip
    return json.loads(run.stdout)


def engine_positions(robot, torques):
    late = np.vstack((np.zeros(2), torques))[:-1]  # one period
    positions = []
    engine = make_simulator("mujoco", robot)
    for torque in late.tolist():
        engine.step(tuple(torque), PERIOD)
        positions.append(engine.pose()[:2])
    engine.close()
    return np.array(positions)


def test_plain_mujoco_drives_as_the_engine_to_a_thousandth_of_the_path(tmp_path):
    path = exported(tmp_path)
    torques = np.repeat(TORQUES, 20, axis=0)
    positions, suite, sensors, speeds = plain_drive(path, torques)
    assert suite == []
    expected = engine_positions(load_robot(path.with_name("twil_identified.yaml")), torques)
    length = np.linalg.norm(np.diff(expected, axis=0), axis=1).sum()
    assert length > 0.5
    distance = np.linalg.norm(np.array(positions) - expected, axis=1).max()
    assert distance < 1e-3 * length
    assert sensors[2:] == pytest.approx(speeds[6:8])


def test_the_motors_keep_the_torque_limit_and_the_delay(tmp_path):
    import mujoco

    model = mujoco.MjModel.from_xml_path(str(exported(tmp_path)))
    data = mujoco.MjData(model)
    data.ctrl[:] = 1e3, -1e3
    for step in range(LATE + 1):
        assert data.actuator_force.tolist() == [0.0, 0.0], step
        mujoco.mj_step(model, data)
    limit = load_robot("twil").limits.torque
    assert data.actuator_force.tolist() == [limit, -limit]


def test_what_mujoco_does_not_have_is_named(tmp_path, capsys):
    friction = FrictionEstimate(
        result_files.FRICTION,
        (1e-8, 1e-8, 1e-6, 1e-6),
        gear_loss=(0.1, 0.1),
        gear_variances=(1e-4, 1e-4),
    )
    text = exported(tmp_path, friction=friction).read_text()
    said = "losses of gears, which MuJoCo does not have"
    assert said in capsys.readouterr().out and said in text
