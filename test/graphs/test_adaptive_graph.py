# SPDX-License-Identifier: Apache-2.0
"""The graph of launch/adaptive.launch.xml: a payload is learnt or refused.

And a robot of somebody else's is driven.
"""

import subprocess
import sys
from pathlib import Path

import pytest

rclpy = pytest.importorskip("rclpy")

from launched import config, processes_of, run, summary  # noqa: E402

from diffbot_controllers.parameter_reader import DynamicsFile  # noqa: E402
from diffbot_description import load_robot  # noqa: E402
from diffbot_report.page import read_data, unpacked  # noqa: E402

RUN = ("sim:=ideal", "seed:=3", "duration:=14.0", "payload_time:=4.0")


@pytest.mark.one_distribution
@pytest.mark.full_speed
def test_a_payload_is_learnt(tmp_path, domain):
    """On a small, quick 8, on which a short run excites the robot as a long one on the usual 8."""
    kept, results = tmp_path / "kept.yaml", tmp_path / "run"
    sizes = {"amplitude_x": 0.5, "amplitude_y": 0.25, "period": 15.0}
    eight = config(tmp_path, trajectory_publisher=sizes, simulator={"torque_noise": 0.01})
    status, output = run("adaptive", results, *RUN, eight, f"last_good:={kept}", pictures=True)
    assert status == 0, output
    whole = summary(results)
    learnt = DynamicsFile(str(kept)).dynamics("twil")
    assert whole["outcome"] == "completed"
    said = whole["adaptation"]
    # An estimate each 0.2 s, of which the first ones rest on too little.
    assert said["judged"] == pytest.approx(14.0 / 0.2, abs=2) and said["refused"] >= 1
    assert said["changes"][0]["time"] == pytest.approx(4.0, abs=0.02)
    for name, value in said["in_use"].items():
        assert value == pytest.approx(said["true"][name], rel=0.05)
        assert getattr(learnt, name.lower()) == value
    # K7 of twil without a load is 2.647, and the load divides it by 1.5.
    assert said["true"]["K7"] == pytest.approx(2.6468 / 1.5, rel=1e-3)
    (path,) = (
        each for each in read_data(results / "report.html")["charts"] if each["key"] == "path"
    )
    x, y = (unpacked(places) for places in path["paths"][0]["places"])
    # The 8 has the size of the file, 1 m by 0.5 m, of which it drives both ends of its width.
    assert (max(abs(x)), y[0]) == pytest.approx((0.5, -0.25), abs=0.01)
    for picture in ("adaptation.png", "adaptation_errors.png"):
        assert (results / picture).stat().st_size > 10_000
    assert processes_of(domain) == []


@pytest.mark.one_distribution
@pytest.mark.full_speed
def test_a_linearizing_controller_adapts_to_a_robot_that_is_not_as_described(tmp_path, domain):
    robot = Path(load_robot("twil").path).read_text(encoding="utf-8")
    heavy = tmp_path / "heavy.yaml"
    heavy.write_text(robot.replace("mass: 4.2375", "mass: 6.2"), encoding="utf-8")
    steps = ("times:=0,1,3,5,7,9", "linear:=0,0.3,0,0.3,0,0", "angular:=0,1,-1,0,1.5,0")
    words = ("sim:=ideal", "parameters:=adaptive", *steps)
    other = config(tmp_path, simulator={"simulated_robot": str(heavy)})
    status, output = run("linearizing", tmp_path / "run", *words, other)
    assert status == 0, output
    said = summary(tmp_path / "run")["adaptation"]
    assert said["true"]["K7"] == pytest.approx(2.6468 * 5.04 / 7.0, rel=0.02)  # another robot
    for name in ("K7", "K8"):
        assert said["in_use"][name] == pytest.approx(said["true"][name], rel=0.05), said


@pytest.mark.one_distribution
@pytest.mark.full_speed
def test_a_load_that_no_robot_carries_ends_the_run_with_a_clear_message(tmp_path, domain):
    # Its wheels would carry almost nothing, which only the engine's contacts tell.
    status, output = run("adaptive", tmp_path, "payload_time:=0.5", "payload:=9000,0.1999,0.1,0")
    assert status not in (0, 130), output
    assert "parameter 'payload' refused at 0.5 s" in output and "Traceback" not in output, output
    assert "parameter 'payload' refused at 0.5 s" in summary(tmp_path)["reason"]
    assert processes_of(domain) == []


@pytest.mark.wall_time
def test_a_robot_that_is_there_already_is_driven_and_stays(tmp_path, domain):
    """sim:=none: the run ends, its estimator with it, while the robot's driver goes on."""
    program = [sys.executable, "-m", "diffbot_bringup.cli", "run", "diffbot_sim", "simulator"]
    robot = subprocess.Popen([*program, "--ros-args", "-p", "engine:=ideal", "-p", "speed:=1.0"])
    try:
        circle = config(
            tmp_path, trajectory_publisher={"radius": 0.25, "speed": 0.2, "ramp_up": 0.5}
        )
        words = ("sim:=none", "trajectory:=circle", circle, "duration:=2.5")
        status, output = run("adaptive", tmp_path / "run", *words)
        assert status == 0, output
        assert "no subscriber of the estimates is left" in output
        assert robot.poll() is None
    finally:
        robot.terminate()
        robot.wait(timeout=30)
    result = summary(tmp_path / "run")
    assert result["outcome"] == "completed" and result["complete"] is True, result
    # A machine that is late gets zero torque, and the law makes up for it: the circle's own speed
    # of 0.3 m/s is certain in lock-step only.
    assert 0.0 < result["peak_speed"] < load_robot("twil").limits.linear_velocity, result
    assert processes_of(domain) == []
