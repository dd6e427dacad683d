# SPDX-License-Identifier: Apache-2.0
"""The whole graph of launch/ident.launch.xml: results, repeatability, interruption, bad input."""

import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from launched import (  # noqa: E402
    PATIENCE,
    CommandRecorder,
    config,
    processes_of,
    run,
    start,
    summary,
)
from rclpy.context import Context  # noqa: E402

from diffbot_description import closed_form, load_robot  # noqa: E402
from diffbot_ident.ident_node import IdentNode  # noqa: E402
from diffbot_ident.interpretation.fleet_prior import FleetPrior, write_prior  # noqa: E402

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks"))
from marked_runs import node_commands  # noqa: E402

PICTURES = {"parameters", "covariance", "excitation", "trust", "verification"}


def parameters(results):
    with open(results / "dynamic_parameters.yaml", encoding="utf-8") as file:
        return yaml.safe_load(file)["/**"]["ros__parameters"]


@pytest.mark.full_speed
@pytest.mark.xdist_group("identification")
def test_a_run_leaves_its_results_and_its_pictures(identification, domain):
    _, results, output = identification
    for name in ("K5", "K6", "K7", "K8", "equivalent mass"):
        assert name in output
    file = parameters(results)
    assert (file["state"], file["robot"], file["seconds"]) == ("estimated", "twil", 8.0)
    whole = summary(results)
    assert (whole["outcome"], whole["sim"], whole["seed"]) == ("completed", "mujoco", 3)
    assert whole["config"] == {"simulator.torque_noise": 0.01}
    for number in (5, 6, 7, 8):
        said = whole["parameters"][f"K{number}"]
        assert said["value"] == file[f"k{number}"]
        assert said["std"] ** 2 == pytest.approx(file["covariance_diagonal"][number - 5])
        low, high = said["interval95"]
        assert low < said["value"] < high and said["closed_form"] is not None
    assert {path.stem for path in results.glob("*.png")} == PICTURES


@pytest.mark.full_speed
@pytest.mark.xdist_group("identification")
def test_a_run_repeats_to_the_last_digit_also_without_pictures(identification, tmp_path, domain):
    """On MuJoCo, with noise. test_freeze.py has other runs, and test_simulate_graph.py drives."""
    arguments, results, _ = identification
    status, output = run("ident", tmp_path, *arguments)
    assert status == 0, output
    first, second = parameters(results), parameters(tmp_path)
    del first["date"], second["date"]
    assert first == second
    assert not list(tmp_path.glob("*.png"))
    assert processes_of(domain) == []


@pytest.mark.full_speed
@pytest.mark.xdist_group("identification")
def test_the_identified_parameters_are_a_ros_parameter_file(identification, domain):
    _, results, _ = identification
    context = Context()
    path = str(results / "dynamic_parameters.yaml")
    rclpy.init(args=["--ros-args", "--params-file", path], context=context)
    node = rclpy.create_node(
        "controller", context=context, automatically_declare_parameters_from_overrides=True
    )
    try:
        file = parameters(results)
        for name in ("k5", "k6", "k7", "k8"):
            assert node.get_parameter(name).value == file[name]
        assert list(node.get_parameter("covariance_diagonal").value) == file["covariance_diagonal"]
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


def test_an_interrupted_run_ends_with_zero_torque_and_keeps_every_picture_of_what_it_has(
    tmp_path, domain
):
    """The runner passes each signal on as SIGINT, see test_xml_launch_processes.py."""
    recorder = CommandRecorder()
    try:
        words = ("sim:=ideal", "speed:=1.0", "duration:=600.0", "until:=none")
        process = start("ident", tmp_path, *words, pictures=True)
        assert recorder.spin(lambda: any(map(any, recorder.commands[150:])))
        process.send_signal(signal.SIGINT)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
        output = process.stdout.read()
    finally:
        recorder.close()
    assert process.returncode == 130, output
    assert recorder.commands[-1] == (0.0, 0.0), output
    assert any(recorder.commands[-10])
    assert parameters(tmp_path)["samples"] > 50
    said = summary(tmp_path)
    assert said["outcome"] == "stopped" and said["missing"] == [], f"{said['reason']}\n{output}"
    drawn = {path.stem for path in tmp_path.glob("*.png")}
    # On a busy machine the runner's patience ends before all are drawn, which is reported.
    late = {*re.findall(r"(\w+)\.png", (re.findall("no time left for (.*)", output) or [""])[0])}
    assert drawn | late == PICTURES - {"verification"} and len(drawn) >= 2, output
    assert processes_of(domain) == []


@pytest.mark.full_speed
def test_a_run_outlives_the_reader_of_its_output(tmp_path, domain):
    """As with `| head -1`, or with a log on a full disk."""
    words = ("sim:=ideal", "duration:=2.0", "until:=none", "verification:=0")
    process = start("ident", tmp_path, *words)
    process.stdout.readline()
    process.stdout.close()
    assert process.wait(PATIENCE) == 0
    said = summary(tmp_path)
    assert (said["outcome"], said["missing"]) == ("completed", [])
    assert processes_of(domain) == []


def test_a_run_whose_launch_is_killed_stops_and_keeps_its_results(tmp_path, domain):
    """As after kill -9 of `ros2 launch`, whose processes lose the reader of their output, too."""
    words = ["ident", f"results:={tmp_path / 'results'}", "report:=html", "sim:=ideal"]
    words += ["speed:=1", "duration:=600.0", "until:=none"]
    starter = "import subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.PIPE)"
    ((command, environment),) = node_commands(words, tmp_path)
    recorder = CommandRecorder()
    try:
        launch = subprocess.Popen([sys.executable, "-c", starter, *command], env=environment)
        assert recorder.spin(lambda: any(map(any, recorder.commands[150:])))
        launch.kill()
        assert recorder.spin(lambda: not processes_of(domain)), "it goes on without its launch"
    finally:
        recorder.close()
    assert launch.wait() == -signal.SIGKILL
    assert recorder.commands[-1] == (0.0, 0.0)
    said = summary(tmp_path / "results")
    assert (said["outcome"], said["missing"]) == ("stopped", [])


@pytest.mark.full_speed
def test_excitation_too_strong_for_the_speed_limits_ends_the_run(tmp_path, domain):
    """Of a robot that is described ten times as heavy as it is."""
    twil = yaml.safe_load(load_robot("twil").path.read_text())
    body = twil["body"]
    body["mass"] *= 10.0
    body["inertia"] = {axis: 10.0 * value for axis, value in body["inertia"].items()}
    twil["limits"] |= {"torque": 10.0, "traction": 10.0}
    heavy = tmp_path / "heavy.yaml"
    heavy.write_text(yaml.safe_dump(twil))
    other = config(tmp_path, simulator={"simulated_robot": "twil"}, ident={"amplitude": 10.0})
    words = (f"robot:={heavy}", "sim:=ideal", "duration:=20.0", other)
    status, output = run("ident", tmp_path, *words)
    assert status == 1 and "is beyond the limit" in output and "lower amplitude" in output
    assert parameters(tmp_path)["seconds"] < 20.0
    said = summary(tmp_path)
    assert said["outcome"] == "failed" and "beyond the limit" in said["reason"]
    assert processes_of(domain) == []


CONFIG = Path(__file__).resolve().parents[2] / "config"


@pytest.mark.full_speed
def test_what_a_node_refuses_ends_the_run_with_a_clear_message(tmp_path, domain):
    """What the launch refuses, before it starts anything: test_launch_arguments.py, _config.py."""
    wrong = config(tmp_path, simulator={"simulated_robot": f"{CONFIG}/sensors.yaml"})
    status, output = run("ident", tmp_path, "sim:=ideal", wrong)
    assert status not in (0, 130), output
    assert "sensors.yaml: wrong keys, unknown: " in output and "Traceback" not in output, output
    assert processes_of(domain) == []


@pytest.mark.parametrize(
    ("parameter", "says"),
    [
        ("duration:=0.0", "'duration' = 0.0: must be finite and > 0"),
        ("hold:=-1", "'hold' = -1"),
        ("prior:=/no/prior.yaml", "prior '/no/prior.yaml': No such file"),
    ],
)
def test_parameters_that_cannot_be_are_refused_by_name(parameter, says):
    rclpy.init(args=["--ros-args", "-p", parameter])
    try:
        with pytest.raises(ValueError, match=says):
            IdentNode()
    finally:
        rclpy.shutdown()


def test_a_prior_is_begun_with_and_said(tmp_path, capfd):
    robot, path = load_robot("twil"), tmp_path / "prior_twil.yaml"
    mean = tuple(1.02 * value for value in closed_form(robot.model))
    covariance = tuple(
        tuple((0.01 * value) ** 2 if i == j else 0.0 for j in range(4))
        for i, value in enumerate(mean)
    )
    sizes = (robot.wheels.radius, robot.wheels.separation)
    write_prior(path, FleetPrior("twil", mean, covariance, 40, *sizes, date="2031-05-04"))
    for estimator in ("integral", "rls"):
        words = [f"prior:={path}", "robot:=twil", f"estimator:={estimator}"]
        rclpy.init(args=["--ros-args", *(w for word in words for w in ("-p", word))])
        try:
            if estimator == "rls":
                with pytest.raises(ValueError, match="estimator rls has no reliable intervals"):
                    IdentNode()
                continue
            node = IdentNode()
            assert node.run.estimate.values == pytest.approx(mean)
            assert "beginning with the prior of 40 robots 'twil'" in capfd.readouterr().err
            node.destroy_node()
        finally:
            rclpy.shutdown()
