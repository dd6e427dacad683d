# SPDX-License-Identifier: Apache-2.0
"""The simulator node with ros2_control inside, while its programs are on their way."""

import time

import pytest

rclpy = pytest.importorskip("rclpy")

import fake_gz  # noqa: E402
from rclpy.executors import SingleThreadedExecutor  # noqa: E402
from std_msgs.msg import Float64MultiArray  # noqa: E402

from diffbot_sim.gz import external_simulator  # noqa: E402
from diffbot_sim.gz import external_simulator as simulator  # noqa: E402


class StartingLaunch:
    """Programs of a launch that are not ready, and nothing is wrong."""

    is_ready = False

    def fault(self):
        return None

    def stop(self):
        pass


@pytest.fixture
def node(monkeypatch, domain):
    monkeypatch.setattr(external_simulator, "check_installed", lambda sim: None)
    monkeypatch.setattr(simulator, "launch_ros2_control", lambda *arguments: StartingLaunch())
    fake_gz.start("leave_when_alone:=true", "patience:=1.0")
    made = simulator.Ros2ControlSimulatorNode()
    yield made
    made.close()
    made.destroy_node()
    rclpy.shutdown()


def spin(executor, seconds, until):
    end = time.monotonic() + seconds
    while time.monotonic() < end and not until():
        executor.spin_once(timeout_sec=0.01)


def test_simulator_that_still_starts_ends_with_its_commander(node):
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    spin(executor, 2.0, lambda: node.exit_code is not None)
    assert node.exit_code is None  # who commands is waited for: patience begins when all is ready
    commander = rclpy.create_node("commander")
    commander.create_publisher(Float64MultiArray, "effort_controller/commands", 10)
    spin(executor, 20.0, lambda: node._commanders.presence.met)
    assert node._commanders.presence.met
    commander.destroy_node()
    spin(executor, 20.0, lambda: node.exit_code is not None)
    assert node.exit_code == 0
