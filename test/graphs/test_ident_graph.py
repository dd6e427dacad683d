# SPDX-License-Identifier: Apache-2.0
"""The whole graph of launch/ident.launch.xml: results, repeatability, interruption, bad input."""

import json
import signal
from pathlib import Path

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from launched import (  # noqa: E402
    CommandRecorder,
    config,
    processes_of,
    run,
    start,
)
from rclpy.context import Context  # noqa: E402

from diffbot_description import closed_form, load_robot  # noqa: E402
from diffbot_ident.ident_node import IdentNode  # noqa: E402
from diffbot_ident.torque.fleet_prior import FleetPrior, write_prior  # noqa: E402

PICTURES = {"parameters", "covariance", "excitation", "trust", "verification"}


def parameters(results):
    with open(results / "dynamic_parameters.yaml", encoding="utf-8") as file:
        return yaml.safe_load(file)["/**"]["ros__parameters"]


def test_a_run_leaves_its_results_and_its_pictures(identification, domain):
    _, results, output = identification
    for name in ("K5", "K6", "K7", "K8", "equivalent mass"):
        assert name in output
    file = parameters(results)
    assert (file["state"], file["robot"], file["seconds"]) == ("estimated", "twil", 8.0)
    with open(results / "summary.json", encoding="utf-8") as text:
        summary = json.load(text)
    assert (summary["outcome"], summary["sim"], summary["seed"]) == ("completed", "mujoco", 3)
    assert summary["config"] == {"simulator.torque_noise": 0.01}
    for number in (5, 6, 7, 8):
        said = summary["parameters"][f"K{number}"]
        assert said["value"] == file[f"k{number}"]
        assert said["std"] ** 2 == pytest.approx(file["covariance_diagonal"][number - 5])
        low, high = said["interval95"]
        assert low < said["value"] < high and said["closed_form"] is not None
    assert {path.stem for path in results.glob("*.png")} == PICTURES


def test_a_run_repeats_to_the_last_digit_also_without_pictures(identification, tmp_path, domain):
    """On the ideal engine driving repeats, see test_drive_graph.py."""
    arguments, results, _ = identification
    status, output = run("ident", tmp_path, *arguments)
    assert status == 0, output
    first, second = parameters(results), parameters(tmp_path)
    del first["date"], second["date"]
    assert first == second
    assert not list(tmp_path.glob("*.png"))
    assert processes_of(domain) == []


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


def test_an_interrupted_run_ends_with_zero_torque_and_keeps_what_it_has(tmp_path, domain):
    """By SIGTERM. The runner passes each signal on as SIGINT, see test_xml_launch_processes.py."""
    recorder = CommandRecorder()
    try:
        process = start("ident", tmp_path, "sim:=ideal", "speed:=1.0", "duration:=600.0")
        assert recorder.spin(lambda: any(map(any, recorder.commands[100:])))
        process.send_signal(signal.SIGTERM)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
        output = process.stdout.read()
    finally:
        recorder.close()
    assert recorder.commands[-1] == (0.0, 0.0), output
    assert any(recorder.commands[-10])
    assert parameters(tmp_path)["samples"] > 50
    with open(tmp_path / "summary.json", encoding="utf-8") as file:
        summary = json.load(file)
    assert summary["outcome"] == "stopped", f"{summary['reason']}\n{output}"
    assert processes_of(domain) == []


@pytest.mark.wall_time
def test_ctrl_c_leaves_every_picture_of_what_there_is(tmp_path, domain):
    recorder = CommandRecorder()
    try:
        words = ("sim:=ideal", "speed:=1.0", "duration:=600.0", "until:=none")
        process = start("ident", tmp_path, *words, pictures=True)
        assert recorder.spin(lambda: any(map(any, recorder.commands[500:])))
        process.send_signal(signal.SIGINT)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        output = process.stdout.read()
    finally:
        recorder.close()
    assert process.returncode == 130, output
    assert {path.stem for path in tmp_path.glob("*.png")} == PICTURES - {"verification"}, output
    with open(tmp_path / "summary.json", encoding="utf-8") as file:
        assert json.load(file)["missing"] == []


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
    with open(tmp_path / "summary.json", encoding="utf-8") as file:
        summary = json.load(file)
    assert summary["outcome"] == "failed" and "beyond the limit" in summary["reason"]
    assert processes_of(domain) == []


CONFIG = Path(__file__).resolve().parents[2] / "config"


# By one of each process that refuses; what a node refuses has a test without a graph.
@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("robot:=robbie", "twil"),
        ({"ident": {"amplitude": 99.0}}, "'amplitude' = 99.0 N m: must be <= 1.0 N m"),
        (
            {"simulator": {"simulated_robot": f"{CONFIG}/sensors.yaml"}},
            "sensors.yaml: wrong keys, unknown: ",
        ),
        ("results:=/dev/null/no", "'results'"),
    ],
)
def test_bad_arguments_end_the_run_with_a_clear_message(tmp_path, domain, argument, says):
    word = argument if isinstance(argument, str) else config(tmp_path, **argument)
    status, output = run("ident", tmp_path, "sim:=ideal", word)
    assert status not in (0, 130), output
    assert says in output and "Traceback" not in output, output
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
