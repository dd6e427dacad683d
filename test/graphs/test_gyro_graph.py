# SPDX-License-Identifier: Apache-2.0
"""The ident node with a gyro: its K8 does not hang on the track that it is told."""

import pytest
import yaml

pytest.importorskip("rclpy")

from one_process import Together

from diffbot_description import load_robot
from diffbot_ident.estimate import NORMAL_95, EstimateState
from diffbot_ident.ident_node import IdentNode
from diffbot_sim.simulator_node import SimulatorNode

GYRO = ["imu:=true", "imu_noise:=0.003", "imu_bias:=0.01", "imu_delay:=0.015"]


def identify(folder):
    """Run the ident node, told a track 5 % too wide, until it ends; returns it."""
    robot = load_robot("twil")
    data = yaml.safe_load(robot.path.read_text())
    data["wheels"]["separation"] *= 1.05
    reported = folder / "told.yaml"
    reported.write_text(yaml.safe_dump(data))
    given = [
        "engine:=ideal",
        "duration:=10.0",
        "ident:use_sim_time:=true",
        f"ident:robot:={reported}",
    ]
    given += ["ident:verification:=5.0", f"ident:results:={folder}"]
    given += ["torque_noise:=0.01", *GYRO]
    together = Together(["--ros-args", *(w for word in given for w in ("-p", word))])
    simulator, ident = together.add(SimulatorNode()), together.add(IdentNode())
    try:
        together.spin(lambda: ident.exit_code is not None, timeout=150.0)
        return ident.exit_code, ident.run, simulator._virtual.engine.parameters()
    finally:
        ident.close()
        together.close()


@pytest.mark.full_speed
def test_the_yaw_rate_comes_from_the_gyro(domain, tmp_path):
    code, run, truth = identify(tmp_path)
    assert code == 0
    result = run.estimate
    assert result.state is EstimateState.ESTIMATED
    for value, variance, wanted in zip(
        result.values, result.variances, (truth.k5, truth.k6, truth.k7, truth.k8), strict=True
    ):
        # One run: twice the 95 % interval.
        assert abs(value - wanted) < 2.0 * NORMAL_95 * variance**0.5
    assert result.gyro.delay == pytest.approx(0.015, abs=1e-3)
    assert result.gyro.bias == pytest.approx(0.01, abs=1e-3)
    assert run.verified.passed
    # The robot that others take has the track that the gyro gives.
    patched = load_robot(tmp_path / "twil_identified.yaml")
    track = load_robot("twil").wheels.separation
    assert patched.wheels.separation == pytest.approx(track, rel=3e-3)
    written = yaml.safe_load((tmp_path / "dynamic_parameters.yaml").read_text())
    section = written["/**"]["ros__parameters"]
    assert section["gyro"]["scale"] == pytest.approx(1.05, rel=3e-3)
    assert any("K5 and K8 rest on the gyro" in text for text in section["warnings"])
