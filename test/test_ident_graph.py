"""The whole graph of launch/ident.launch.xml: results, repeatability, interruption, bad input."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import pytest
import yaml

rclpy = pytest.importorskip("rclpy")

from rclpy.context import Context  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

# Far beyond what a run takes: a hang ends the test, a busy machine does not.
PATIENCE = 120.0


@pytest.fixture
def domain(monkeypatch):
    """A DDS domain of the test's own, so that runs side by side do not meet."""
    number = random.SystemRandom().randrange(1, 100)
    monkeypatch.setenv("ROS_DOMAIN_ID", str(number))
    return number


def start(results, *arguments):
    """The launch, in a session of its own, as a terminal would start it."""
    return subprocess.Popen(
        [sys.executable, "-m", "diffbot_bringup.cli", "launch", "ident"]
        + [f"results:={results}", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def run(results, *arguments):
    """Run the launch to its end; returns (exit status, output)."""
    process = start(results, *arguments)
    try:
        output, _ = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, output


def processes_of(domain):
    """Command lines of the processes that still run in the test's domain."""
    return [command for _, command in processes_by_number(domain)]


def processes_by_number(domain):
    """(number, command line) of the processes that run in the test's domain."""
    mark = f"ROS_DOMAIN_ID={domain}".encode()
    found = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit() or int(entry) == os.getpid():
            continue
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if mark not in file.read().split(b"\0"):
                    continue
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                found.append((int(entry), file.read().replace(b"\0", b" ").decode()))
        except OSError:
            continue
    return found


def parameters(results):
    with open(results / "dynamic_parameters.yaml", encoding="utf-8") as file:
        return yaml.safe_load(file)["/**"]["ros__parameters"]


@pytest.mark.parametrize("sim", ["ideal", "mujoco"])
def test_a_run_leaves_its_results_and_repeats_to_the_last_digit(tmp_path, domain, sim):
    arguments = (f"sim:={sim}", "duration:=8.0", "seed:=3", "torque_noise:=0.01")
    outcomes = [run(tmp_path / name, *arguments) for name in ("first", "second")]
    for status, output in outcomes:
        assert status == 0, output
        for name in ("K5", "K6", "K7", "K8", "equivalent mass"):
            assert name in output
    first, second = parameters(tmp_path / "first"), parameters(tmp_path / "second")
    first.pop("date"), second.pop("date")
    assert first == second
    assert first["state"] == "estimated" and first["robot"] == "twil" and first["seconds"] == 8.0

    with open(tmp_path / "first" / "summary.json", encoding="utf-8") as file:
        summary = json.load(file)
    assert (summary["outcome"], summary["sim"], summary["seed"]) == ("completed", sim, 3)
    assert summary["arguments"]["torque_noise"] == 0.01
    for number in (5, 6, 7, 8):
        said = summary["parameters"][f"K{number}"]
        assert said["value"] == first[f"k{number}"]
        assert said["std"] ** 2 == pytest.approx(first["covariance_diagonal"][number - 5])
        low, high = said["interval95"]
        assert low < said["value"] < high and said["closed_form"] is not None
    pictures = {path.name for path in (tmp_path / "first").glob("*.png")}
    assert pictures == {"parameters.png", "covariance.png", "excitation.png"}
    assert processes_of(domain) == []


def test_the_file_is_a_ros_parameter_file(tmp_path, domain):
    status, output = run(tmp_path, "sim:=ideal", "duration:=3.0")
    assert status == 0, output
    context = Context()
    path = str(tmp_path / "dynamic_parameters.yaml")
    rclpy.init(args=["--ros-args", "--params-file", path], context=context)
    node = rclpy.create_node(
        "controller", context=context, automatically_declare_parameters_from_overrides=True
    )
    try:
        file = parameters(tmp_path)
        for name in ("k5", "k6", "k7", "k8"):
            assert node.get_parameter(name).value == file[name]
        assert list(node.get_parameter("covariance_diagonal").value) == file["covariance_diagonal"]
    finally:
        node.destroy_node()
        rclpy.shutdown(context=context)


class CommandRecorder:
    """Somebody else on the wire who keeps the torque commands."""

    def __init__(self):
        self.context = Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node("recorder", context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.commands = []
        self.node.create_subscription(
            Float64MultiArray, "effort_controller/commands", self.on_command, 100
        )

    def on_command(self, message):
        self.commands.append(tuple(message.data))

    def spin(self, condition, timeout=PATIENCE):
        end = time.monotonic() + timeout
        while not condition() and time.monotonic() < end:
            self.executor.spin_once(timeout_sec=0.05)
        return condition()

    def close(self):
        self.node.destroy_node()
        rclpy.shutdown(context=self.context)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupted_run_ends_with_zero_torque_and_keeps_what_it_has(tmp_path, domain, number):
    recorder = CommandRecorder()
    try:
        process = start(tmp_path, "sim:=ideal", "speed:=1.0", "duration:=600.0")
        assert recorder.spin(lambda: any(map(any, recorder.commands[100:])))
        process.send_signal(number)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
        output = process.stdout.read()
    finally:
        recorder.close()
    assert recorder.commands[-1] == (0.0, 0.0), output
    assert any(recorder.commands[-10])
    assert parameters(tmp_path)["samples"] > 50
    with open(tmp_path / "summary.json", encoding="utf-8") as file:
        assert json.load(file)["outcome"] == "stopped"
    assert processes_of(domain) == []


def test_excitation_too_strong_for_the_speed_limits_ends_the_run(tmp_path, domain):
    status, output = run(tmp_path, "sim:=ideal", "amplitude:=5.0", "duration:=20.0")
    assert status == 1 and "is beyond the limit" in output and "lower amplitude" in output
    assert parameters(tmp_path)["seconds"] < 20.0
    with open(tmp_path / "summary.json", encoding="utf-8") as file:
        summary = json.load(file)
    assert summary["outcome"] == "failed" and "beyond the limit" in summary["reason"]
    assert processes_of(domain) == []


def test_killing_the_simulator_keeps_the_estimate_and_fails_the_launch(tmp_path, domain):
    process = start(tmp_path, "sim:=ideal", "speed:=1.0", "duration:=600.0")
    recorder = CommandRecorder()
    try:
        assert recorder.spin(lambda: any(map(any, recorder.commands[100:])))
        (simulator,) = [
            pid for pid, command in processes_by_number(domain) if "/simulator" in command
        ]
        os.kill(simulator, signal.SIGKILL)
        assert recorder.spin(lambda: process.poll() is not None), "the launch did not end"
        recorder.spin(lambda: False, timeout=0.5)
    finally:
        recorder.close()
    assert process.returncode == 1
    assert recorder.commands[-1] == (0.0, 0.0)
    assert parameters(tmp_path)["samples"] > 50
    assert processes_of(domain) == []


@pytest.mark.parametrize(
    ("argument", "says"),
    [
        ("robot:=robbie", "twil"),
        ("duration:=0.0", "'duration' = 0.0: must be finite and > 0"),
        ("amplitude:=99.0", "'amplitude' = 99.0 N m: must be <= 5.0 N m"),
        ("hold:=-1", "'hold' = -1"),
        ("encoder_counts:=-2", "'encoder_counts' = -2"),
        ("results:=/dev/null/no", "'results'"),
    ],
)
def test_bad_arguments_end_the_run_with_a_clear_message(tmp_path, domain, argument, says):
    status, output = run(tmp_path, "sim:=ideal", argument)
    assert status not in (0, 130), output
    assert says in output and "Traceback" not in output, output
    assert processes_of(domain) == []
