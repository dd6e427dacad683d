# SPDX-License-Identifier: Apache-2.0
"""The ident node with a driver that reports no torque: what was commanded counts."""

import pytest

pytest.importorskip("rclpy")

from one_process import Together

from diffbot_ident.ident_node import IdentNode
from diffbot_sim.simulator_node import SimulatorNode
from diffbot_sim.simulator_topics import SimulatorTopics


@pytest.fixture
def mute(monkeypatch):
    """Simulators that say nothing of the torque, as gz_ros2_control."""
    publish = SimulatorTopics.publish_sample

    def publish_without_effort(self, sample):
        publish(self, type(sample)(sample.stamp, sample.position, sample.velocity, (NAN, NAN)))

    monkeypatch.setattr(SimulatorTopics, "publish_sample", publish_without_effort)


NAN = float("nan")


def identify(source):
    """Run the ident node for 10 s of robot time; returns it, ended, and the simulator."""
    words = ["engine:=ideal", "encoder_counts:=0", "duration:=10.0", "ident:use_sim_time:=true"]
    words.append("verification:=0.0")
    words.append(f"effort_source:={source}")
    together = Together(["--ros-args", *(w for word in words for w in ("-p", word))])
    simulator, ident = together.add(SimulatorNode()), together.add(IdentNode())
    try:
        together.spin(
            lambda: ident.exit_code is not None or (source == "joint_states" and ident.refused > 3),
            timeout=60.0,
        )
        return ident.exit_code, ident.refused, ident.run.estimate, simulator._virtual.engine
    finally:
        together.close()


def test_commands_take_the_place_of_the_effort(domain, mute):
    code, refused, estimate, engine = identify("commands")
    assert (code, refused) == (0, 0)
    truth = engine.parameters()
    for value, wanted in zip(
        estimate.values, (truth.k5, truth.k6, truth.k7, truth.k8), strict=True
    ):
        assert value == pytest.approx(wanted, rel=0.01)


def test_effort_that_is_no_number_is_refused_otherwise(domain, mute):
    code, refused, _, _ = identify("joint_states")
    assert refused > 3
    assert code is None
