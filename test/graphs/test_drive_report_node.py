# SPDX-License-Identifier: Apache-2.0
"""The drive_report node as a process, against a made-up controller and simulator."""

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

from nav_msgs.msg import Odometry  # noqa: E402
from rclpy.qos import DurabilityPolicy, QoSProfile  # noqa: E402

COMMAND = "import sys; from diffbot_report.executables import drive_report as run; status = run()"
COMMAND += "; print('matplotlib loaded:', 'matplotlib' in sys.modules); sys.exit(status)"
# Keeps apart from other graphs on this machine.
DOMAIN = int(os.environ.get("ROS_DOMAIN_ID", "0"))
WAITING, DRIVING, DONE, STOPPED = range(4)
OFFSET = 0.002  # m, how far the true pose is beside the one by odometry


class FakeController:
    """Publishes what a backstep_controller and a simulator publish; it drives a circle of 1 m."""

    def __init__(self, context):
        self.node = rclpy.create_node("backstep_controller", context=context)
        deep = QoSProfile(depth=1000)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        create = self.node.create_publisher
        self.status = create(messages.BackstepStatus, "backstep_controller/status", deep)
        self.state = create(messages.ControllerState, "backstep_controller/state", latched)
        self.truth = create(Odometry, "ground_truth", deep)

    @staticmethod
    def stamp(message, tick):
        message.header.stamp.sec = 5 + tick // 100
        message.header.stamp.nanosec = tick % 100 * 10_000_000
        return message

    @staticmethod
    def pose(tick):
        """x, y, theta by odometry of a lap of a circle."""
        angle = math.tau * min(tick, 400) / 400
        return math.sin(angle) + 0.5 * math.exp(-tick / 20), 1.0 - math.cos(angle), angle

    def tell_truth(self, tick):
        x, y, angle = self.pose(tick)
        message = self.stamp(Odometry(), tick)
        message.pose.pose.position.x, message.pose.pose.position.y = x, y + OFFSET
        message.pose.pose.orientation.z = math.sin(0.5 * angle)
        message.pose.pose.orientation.w = math.cos(0.5 * angle)
        self.truth.publish(message)

    def tick(self, tick, truth=True):
        """Tell of one control period."""
        status = messages.BackstepStatus(mode="track", lambdas=[1.0], gammas=[2.0, 3.0])
        for pose in (status.set_point, status.process_value):
            pose.x, pose.y, pose.theta = self.pose(tick)
        status.set_point.x = math.sin(status.set_point.theta)
        status.command[:] = [0.5, -3.25 if tick == 123 else -0.5]
        self.status.publish(self.stamp(status, tick))
        if truth:
            self.tell_truth(tick)

    def say(self, tick, phase, text=""):
        state = messages.ControllerState(phase=phase, message=text, elapsed=tick / 100)
        state.law, state.torque_limit, state.k7 = "standard", 5.0, 2.5
        state.parameters_source = "robot"
        self.state.publish(self.stamp(state, tick))

    def drive(self, ticks, truth=True):
        for tick in range(ticks):
            self.tick(tick, truth)
            if tick % 10 == 0:
                self.say(tick, DRIVING)
            time.sleep(0.001)

    def wait_for_listener(self, truth=True):
        limit = time.monotonic() + 20.0
        topics = (self.status, self.state, self.truth)
        while not all(topic.get_subscription_count() for topic in topics):
            assert time.monotonic() < limit, "the report node did not subscribe within 20 s"
            if truth:
                self.tell_truth(0)  # as a simulator that waits to be answered
            time.sleep(0.02)
        # The other side learns of the match a little later.
        time.sleep(0.3)


@pytest.fixture
def fake():
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    fake = FakeController(context)
    yield fake
    fake.node.destroy_node()
    context.try_shutdown()


def start(folder, *words, sim="ideal"):
    parameters = ("name:=circle", f"sim:={sim}", "seed:=3", f"results:={folder}", *words)
    arguments = [word for p in parameters for word in ("-p", p)]
    return subprocess.Popen(
        [sys.executable, "-c", COMMAND, "--ros-args", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env={**os.environ, "ROS_DOMAIN_ID": str(DOMAIN), "PYTHONIOENCODING": "utf-8"},
    )


@pytest.fixture
def report(tmp_path):
    process = start(tmp_path, "arguments:='duration:=5.0'")
    yield process
    process.kill()
    process.wait()


@pytest.fixture
def page_report(tmp_path):
    """One that draws nothing."""
    process = start(tmp_path, "shown:=html")
    yield process
    process.kill()
    process.wait()


def leaves_before_it_draws(fake, folder):
    """A controller that took it for a reader would not wait for the report of its own run."""
    limit = time.monotonic() + 20.0
    while fake.status.get_subscription_count() and time.monotonic() < limit:
        time.sleep(0.01)
    assert not (folder / "drive.gif").exists()  # drawn last


@pytest.mark.wall_time  # what is sent in real time is received in real time
def test_a_completed_run_is_left_before_it_is_drawn(fake, report, tmp_path):
    fake.wait_for_listener()
    fake.say(0, WAITING, "waits for joint_states")
    fake.drive(500)
    fake.say(500, DONE)
    leaves_before_it_draws(fake, tmp_path)
    output, _ = report.communicate(timeout=40)
    assert report.returncode == 0 and "matplotlib loaded: True" in output, output
    assert "\x1b" not in output
    for part in ("completed", "by odometry", "summary.json", "path.png", "drive.gif"):
        assert part in output
    read = summary(tmp_path)
    assert (read["outcome"], read["name"], read["seed"]) == ("completed", "circle", 3)
    assert read["arguments"] == {"duration": 5.0}
    assert read["duration"] == pytest.approx(5.0)
    assert (read["samples"], read["samples_true"], read["kept_one_in"]) == (500, 500, 1)
    assert read["real_time_factor"] > 0.0
    # 0.5 exp(-t / 0.2 s) falls below 1 cm after 0.2 ln 50 = 0.782 s.
    assert read["tracking"]["odometry"]["settling_time"] == pytest.approx(0.79, abs=0.011)
    assert read["tracking"]["true"]["rms_position"] > OFFSET
    assert read["tracking"]["window"] == {
        "kind": "only lap, approach included",
        "begin": 0.0,
        "end": 4.0,
    }
    assert read["odometry_drift"]["max_position"] == pytest.approx(OFFSET)
    assert read["odometry_drift"]["max_heading"] == pytest.approx(0.0, abs=1e-9)
    assert read["peak_torque"] == 3.25
    controller = read["controller"]
    assert controller["gains"] == {"gamma": [2.0, 3.0], "lambda": [1.0]}
    assert (controller["law"], controller["parameters"]["K7"]) == ("standard", 2.5)
    for name in ("path", "pose", "torques", "velocities", "velocity_errors"):
        assert (tmp_path / f"{name}.png").stat().st_size > 20_000
    assert (tmp_path / "drive.gif").exists()


def test_a_page_alone_is_written_without_loading_what_draws(fake, page_report, tmp_path):
    """Of a run that failed, which its controller says."""
    fake.wait_for_listener()
    fake.drive(150)
    fake.say(150, STOPPED, "reference is not finite")
    output, _ = page_report.communicate(timeout=40)
    assert page_report.returncode == 1 and "matplotlib loaded: False" in output, output
    assert {path.name for path in tmp_path.glob("[!.]*")} == {"report.html", "summary.json"}
    read = summary(tmp_path)
    assert (read["outcome"], read["reason"]) == ("failed", "reference is not finite")


def test_real_robot_has_no_truth(fake, tmp_path):
    report = start(tmp_path, "shown:=html", sim="none")
    try:
        fake.wait_for_listener(truth=False)
        fake.drive(150, truth=False)
        fake.say(150, DONE)
        output, _ = report.communicate(timeout=40)
    finally:
        report.kill()
    assert report.returncode == 0, output
    read = summary(tmp_path)
    assert read["tracking"]["true"] is None and read["odometry_drift"] is None
    assert read["tracking"]["odometry"]["rms_position"] >= 0.0


def test_interrupt_leaves_a_report_and_is_quick(fake, report, tmp_path):
    fake.wait_for_listener()
    fake.drive(200)

    def interrupt():
        report.send_signal(signal.SIGINT)
        fake.say(200, STOPPED, "interrupted")  # as a user's Ctrl-C reaches it, too

    output, work = ended_after(interrupt, report)
    assert work < 3.0
    assert report.returncode == 0, output
    read = summary(tmp_path)
    assert read["outcome"] == "stopped"
    assert read["samples"] == 200


def test_a_controller_that_says_nothing_more_has_failed(fake, page_report, tmp_path):
    fake.wait_for_listener()
    fake.drive(50)
    page_report.send_signal(signal.SIGINT)  # as ros2 launch does after kill -9 of the controller
    time.sleep(0.05)
    fake.tick(50)  # sent before, and late
    output, _ = page_report.communicate(timeout=30)
    assert page_report.returncode == 1, output
    read = summary(tmp_path)
    assert read["outcome"] == "failed"
    assert "backstep_controller node sent nothing more" in read["reason"]


def test_a_run_of_which_something_did_not_come(fake, page_report, tmp_path):
    fake.wait_for_listener()
    fake.drive(100)
    for tick in range(100, 120):
        fake.tick(tick, truth=False)
    fake.say(120, DONE)
    output, _ = page_report.communicate(timeout=30)
    assert page_report.returncode == 1, output
    read = summary(tmp_path)
    assert (read["outcome"], read["complete"]) == ("completed", False)
    assert read["missing"] == ["20 of 120 true poses (ground_truth) not received"]
    assert read["tracking"]["true"] is None and read["tracking"]["odometry"] is not None
    assert "incomplete: 20 of 120 true poses" in output


def test_vanished_controller(fake, page_report, tmp_path):
    fake.wait_for_listener()
    fake.drive(50)
    fake.node.destroy_node()
    output, _ = page_report.communicate(timeout=30)
    assert page_report.returncode == 1, output
    assert "backstep_controller node ended after 0.4 s without" in summary(tmp_path)["reason"]


def test_unknown_controller_is_refused(tmp_path):
    report = start(tmp_path, "controller:=no_such")
    output, _ = report.communicate(timeout=30)
    assert report.returncode == 1
    assert "controller" in output and "backstep_controller" in output
    assert "Traceback" not in output
