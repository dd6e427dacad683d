# SPDX-License-Identifier: Apache-2.0
"""What the URDF holds for each simulator, and nothing else."""

from xml.etree import ElementTree

import pytest

from diffbot_description import load_robot, urdf

TWIL = load_robot("twil")


def plugins(simulator, **arguments):
    root = ElementTree.fromstring(urdf(TWIL, simulator=simulator, **arguments))
    return [plugin for gazebo in root.findall("gazebo") for plugin in gazebo.findall("plugin")]


def named(result, name):
    return [plugin for plugin in result if plugin.get("name") == name]


def test_none_has_no_plugins():
    assert plugins("none") == []


def test_gz_has_stock_systems_only():
    result = plugins("gz")
    files = [plugin.get("filename") for plugin in result]
    assert sorted(files) == [
        "gz-sim-apply-joint-force-system",
        "gz-sim-apply-joint-force-system",
        "gz-sim-joint-state-publisher-system",
        "gz-sim-odometry-publisher-system",
    ]
    forces = named(result, "gz::sim::systems::ApplyJointForce")
    assert [f.findtext("joint_name") for f in forces] == ["left_wheel_joint", "right_wheel_joint"]
    (states,) = named(result, "gz::sim::systems::JointStatePublisher")
    assert [j.text for j in states.findall("joint_name")] == [
        "left_wheel_joint",
        "right_wheel_joint",
    ]
    (odometry,) = named(result, "gz::sim::systems::OdometryPublisher")
    assert odometry.findtext("odom_publish_frequency") == "100"


@pytest.mark.parametrize(
    "simulator, name",
    [
        ("gz_ros2_control", "gz_ros2_control::GazeboSimROS2ControlPlugin"),
        ("gazebo_ros", "gazebo_ros2_control"),
    ],
)
def test_ros2_control_gets_the_controllers(simulator, name):
    result = plugins(simulator, controllers="/some/where.yaml")
    (control,) = named(result, name)
    assert control.findtext("parameters") == "/some/where.yaml"
    assert len(result) == 2  # and the true pose


def test_controllers_of_gz_hear_gazebos_own_clock():
    (control,) = named(plugins("gz_ros2_control"), "gz_ros2_control::GazeboSimROS2ControlPlugin")
    # Stamps of joint states are what this clock last said: the suite's comes every 10 ms only.
    rules = [rule.text for rule in control.iterfind("ros/remapping")]
    assert rules == ["/clock:=gazebo/clock"]


def test_unknown_simulator_is_refused():
    with pytest.raises(ValueError, match="'gzz': must be one of none, gz,"):
        urdf(TWIL, simulator="gzz")
