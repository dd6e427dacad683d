# SPDX-License-Identifier: Apache-2.0
"""The ident_report node as a process, against a made-up ident node."""

import math
import os
import signal
import subprocess
import sys
import time

import pytest
from launched import ended_after, summary

rclpy = pytest.importorskip("rclpy")
messages = pytest.importorskip("diffbot_msgs.msg")

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from diffbot_node.stop_inputs import FINDING_TIME, zero_to_wheels  # noqa: E402

TRUE = (0.08444, -3.7706, 2.6468, -16.084)
DURATION = 3.0
COMMAND = "import sys; from diffbot_report.executables import ident_report as run; sys.exit(run())"
# Keeps apart from other graphs on this machine.
DOMAIN = int(os.environ.get("ROS_DOMAIN_ID", "0"))


class FakeIdent:
    """Publishes what an ident node publishes."""

    def __init__(self, context):
        self.node = rclpy.create_node("ident", context=context)
        deep = QoSProfile(depth=100)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        create = self.node.create_publisher
        self.parameters = create(messages.DynamicParameters, "ident/dynamic_parameters", deep)
        self.status = create(messages.IdentStatus, "ident/status", deep)
        self.verification = create(messages.Verification, "ident/verification", latched)
        truth = create(messages.DynamicParameters, "ground_truth/dynamic_parameters", latched)
        truth.publish(self.estimate(0, math.inf))

    def estimate(self, tick, variance):
        message = messages.DynamicParameters(state=1, samples=tick)
        message.k5, message.k6, message.k7, message.k8 = TRUE
        message.covariance_diagonal[:] = [variance] * 4
        message.coverage[:] = [0.5] * 4
        return self.stamp(message, tick)

    @staticmethod
    def stamp(message, tick):
        message.header.stamp.sec = 5 + tick // 100
        message.header.stamp.nanosec = tick % 100 * 10_000_000
        return message

    def tick(self, tick, phase=1, message=""):
        """Tell of one control period."""
        self.parameters.publish(self.estimate(tick, 1.0 / (tick + 1)))
        status = messages.IdentStatus(phase=phase, duration=DURATION, message=message)
        status.elapsed = tick / 100
        status.pose[0] = 0.2 * math.sin(tick / 50)
        status.arena[:] = (2.0, 1.0)
        status.information, status.predicted_information = 0.01 * tick, math.nan
        status.linear_velocity, status.effort[0] = math.sin(tick / 30), 0.3
        self.status.publish(self.stamp(status, tick))

    def wait_for_listener(self):
        limit = time.monotonic() + 20.0
        topics = (self.parameters, self.status)
        while not all(topic.get_subscription_count() for topic in topics):
            assert time.monotonic() < limit, "the report node did not subscribe within 20 s"
            time.sleep(0.02)
        # The other side learns of the match a little later.
        time.sleep(0.3)


@pytest.fixture
def fake():
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    fake = FakeIdent(context)
    yield fake
    fake.node.destroy_node()
    context.try_shutdown()


def report_process(folder, *more):
    arguments = ["--ros-args", "-p", "sim:=ideal", "-p", "seed:=3"]
    arguments += ["-p", f"results:={folder}", "-p", "arguments:='duration:=3.0'", *more]
    process = subprocess.Popen(
        [sys.executable, "-c", COMMAND, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env={**os.environ, "ROS_DOMAIN_ID": str(DOMAIN), "PYTHONIOENCODING": "utf-8"},
    )
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def report(tmp_path):
    yield from report_process(tmp_path)


@pytest.fixture
def page_report(tmp_path):
    """One that draws nothing."""
    yield from report_process(tmp_path, "-p", "shown:=html")


def test_completed_run(fake, report, tmp_path):
    fake.wait_for_listener()
    for tick in range(300):
        fake.tick(tick)
        time.sleep(0.001)
    verification = messages.Verification(passed=True, duration=10.0, horizon=2.0)
    verification.horizon_error[:], verification.horizon_no_model[:] = (0.01, 0.1), (0.2, 1.0)
    fake.verification.publish(verification)
    fake.tick(300, phase=2)
    output, _ = report.communicate(timeout=30)
    assert report.returncode == 0, output
    assert "\x1b" not in output
    for part in ("completed", "equivalent mass 5.04 kg", "summary.json", "parameters.png"):
        assert part in output
    read = summary(tmp_path)
    assert (read["outcome"], read["seed"], read["sim"]) == ("completed", 3, "ideal")
    assert read["arguments"] == {"duration": 3.0}
    assert read["duration"] == pytest.approx(DURATION)
    assert read["samples"] == 300
    assert read["real_time_factor"] > 0.0
    for symbol, true in zip(("K5", "K6", "K7", "K8"), TRUE, strict=True):
        entry = read["parameters"][symbol]
        assert entry["value"] == entry["closed_form"] == true
        assert entry["std"] == pytest.approx(math.sqrt(1.0 / 301))
    assert read["verification"]["state"] == "verified"
    assert "watchdog" not in read
    assert read["verification"]["at_horizon"]["identified"] == [0.01, 0.1]
    assert "after 2 s v 5.0 %, ω 10 % of the error without a model" in output
    assert (read["arena"], read["information"]["achieved"]) == ([2.0, 1.0], 3.0)
    for name in ("parameters", "covariance", "excitation", "trust", "verification", "arena"):
        assert (tmp_path / f"{name}.png").stat().st_size > 15_000


def test_what_the_watchdog_did_not_pass_stands_in_the_summary(fake, page_report, tmp_path):
    said = fake.node.create_publisher(DiagnosticArray, "diagnostics", 10)
    fake.wait_for_listener()
    levels = DiagnosticStatus.OK, DiagnosticStatus.ERROR, DiagnosticStatus.OK
    for tick in range(300):
        fake.tick(tick)
        if tick % 100 == 50:
            level = levels[tick // 100]
            trips = KeyValue(key="trips", value=str(min(tick // 100, 1)))
            reason = "torque changed too fast" if level == DiagnosticStatus.ERROR else "passing"
            for name in ("ident: commands", "effort_watchdog: commands"):
                status = DiagnosticStatus(level=level, name=name, message=reason, values=[trips])
                said.publish(DiagnosticArray(status=[status]))
        time.sleep(0.001)
    fake.tick(300, phase=2)
    output, _ = page_report.communicate(timeout=30)
    assert page_report.returncode == 0, output
    read = summary(tmp_path)
    assert read["watchdog"] == {"trips": 1, "reasons": ["torque changed too fast"]}


def test_interrupt_leaves_a_report_and_is_quick(fake, report, tmp_path):
    fake.wait_for_listener()
    for tick in range(100):
        fake.tick(tick)
        time.sleep(0.01)

    def interrupt():
        report.send_signal(signal.SIGINT)
        fake.tick(100, 3, "interrupted")  # as a user's Ctrl-C reaches it, too

    output, work = ended_after(interrupt, report)
    assert work < 3.0
    assert report.returncode == 0, output
    read = summary(tmp_path)
    assert read["outcome"] == "stopped"
    assert read["parameters"]["K7"]["value"] == TRUE[2]


@pytest.mark.wall_time
def test_an_interrupted_node_that_tells_the_wheels_zero_itself_does_not_hang(
    fake, page_report, tmp_path
):
    """A driver that was killed takes no zero: it is waited for, longer than silence is borne."""
    fake.wait_for_listener()
    for tick in range(100):
        fake.tick(tick)
        time.sleep(0.01)
    time.sleep(0.3)  # all that was said has come
    page_report.send_signal(signal.SIGINT)
    begin = time.monotonic()
    commands = Float64MultiArray, "effort_controller/commands"
    zero_to_wheels(fake.node, commands, Float64MultiArray(data=[0.0, 0.0]), "torque")
    assert time.monotonic() - begin >= FINDING_TIME
    fake.tick(100, 3, "interrupted")
    output, _ = page_report.communicate(timeout=30)
    assert page_report.returncode == 0, output
    read = summary(tmp_path)
    assert (read["outcome"], read["reason"]) == ("stopped", "interrupted")


def test_failed_run(fake, page_report, tmp_path):
    fake.wait_for_listener()
    for tick in range(20):
        fake.tick(tick)
        time.sleep(0.002)
    fake.tick(20, message="the left wheel stands still")
    time.sleep(1.0)
    fake.tick(21, phase=3, message="no joint state for 20 s")
    output, _ = page_report.communicate(timeout=30)
    assert page_report.returncode == 1, output
    assert output.count("ident twil (ideal): the left wheel stands still") == 1
    read = summary(tmp_path)
    assert (read["outcome"], read["reason"]) == ("failed", "no joint state for 20 s")
