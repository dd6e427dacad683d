# SPDX-License-Identifier: Apache-2.0
"""Launch files and settings of today's Gazebo: they fit each other and the simulators' systems."""

import os
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml
from ament_index_python.packages import get_package_share_directory

from diffbot_bringup.xml_launch.arguments import Arguments
from diffbot_bringup.xml_launch.document import check, read
from diffbot_bringup.xml_launch.resolver import Resolver
from diffbot_description import load_robot, urdf
from diffbot_node.parameter_fields import table
from diffbot_sim.gz import launches
from diffbot_sim.gz.external_simulator import (
    ExternalParameters,
    Ros2ControlParameters,
    refuse_unsupported,
)
from diffbot_sim.gz.gz_simulator_node import SIDES, GzParameters
from diffbot_sim.simulator_node import EngineParameters

BRINGUP = Path(get_package_share_directory("diffbot_bringup"))
TWIL = load_robot("twil")
# Types that ros_gz_bridge converts into each other.
PAIRS = {
    "std_msgs/msg/Float64": "gz.msgs.Double",
    "sensor_msgs/msg/JointState": "gz.msgs.Model",
    "nav_msgs/msg/Odometry": "gz.msgs.Odometry",
}


def offered_by_gz(robot):
    """Topics of Gazebo that the robot's systems hear or say, by what gz-sim's sources name them."""
    root = ElementTree.fromstring(urdf(robot, simulator="gz"))
    heard, said = set(), set()
    for plugin in root.iterfind("gazebo/plugin"):
        kind = plugin.get("name").rpartition("::")[2]
        if kind == "ApplyJointForce":
            joint = plugin.findtext("joint_name")
            heard.add(f"/model/{launches.MODEL}/joint/{joint}/cmd_force")
        elif kind == "JointStatePublisher":
            said.add(plugin.findtext("topic"))
        elif kind == "OdometryPublisher":
            said.add(plugin.findtext("odom_topic"))
    return heard, said


def test_bridge_names_each_topic_once_and_only_what_the_systems_offer():
    entries = yaml.safe_load((BRINGUP / "config" / "gz_bridge.yaml").read_text())
    ros = [entry["ros_topic_name"] for entry in entries]
    assert len(ros) == len(set(ros))
    assert all(name.startswith(launches.PREFIX) for name in ros)
    assert all(PAIRS[entry["ros_type_name"]] == entry["gz_type_name"] for entry in entries)
    main, second = launches.split_bridge(entries)
    heard, said = offered_by_gz(TWIL)
    topics = {
        direction: [entry["gz_topic_name"] for entry in main if entry["direction"] == direction]
        for direction in ("ROS_TO_GZ", "GZ_TO_ROS")
    }
    assert sorted(topics["ROS_TO_GZ"]) == sorted(heard)
    assert sorted(topics["GZ_TO_ROS"]) == sorted(said)
    # The second bridge hears what the first one says.
    assert sorted(entry["gz_topic_name"] for entry in second) == sorted(heard)
    assert {entry["direction"] for entry in second} == {"GZ_TO_ROS"}
    assert [f"gz/{side}_wheel_torque_seen" for side in SIDES] == [
        entry["ros_topic_name"] for entry in second
    ]


def test_names_of_the_robots_own_joints_reach_bridge_and_controllers(tmp_path):
    text = TWIL.path.read_text().replace("left_wheel_joint", "wheel_l")
    file = tmp_path / "own.yaml"
    file.write_text(text.replace("right_wheel_joint", "wheel_r"))
    robot = load_robot(file)
    heard, _ = offered_by_gz(robot)
    main, _ = launches.split_bridge(launches.bridge_entries(robot))
    assert {e["gz_topic_name"] for e in main if e["direction"] == "ROS_TO_GZ"} == heard
    controllers = yaml.safe_load(launches.config_text("ros2_control.yaml", robot))
    joints = controllers["effort_controller"]["ros__parameters"]["joints"]
    assert joints == ["wheel_l", "wheel_r"]


def test_controllers_are_the_ones_that_are_spawned():
    settings = yaml.safe_load(launches.config_text("ros2_control.yaml", TWIL))
    manager = settings["controller_manager"]["ros__parameters"]
    for name in launches.CONTROLLERS:
        assert name in settings
        assert "type" in manager[name]
    period = settings["joint_state_broadcaster"]["ros__parameters"]["update_rate"]
    assert period == 100
    assert manager["update_rate"] % period == 0


def test_world_is_the_one_that_the_commands_name():
    world = ElementTree.fromstring(launches.world_text("gz_floor.sdf", 2.5)).find("world")
    assert world.get("name") == launches.WORLD
    assert world.findtext("physics/real_time_factor") == "2.5"
    assert float(world.findtext("physics/max_step_size")) == launches.STEP
    systems = {plugin.get("filename")[7:-7] for plugin in world.findall("plugin")}
    assert systems == {"physics", "user-commands", "scene-broadcaster"}
    friction = float(world.findtext("model/link/collision/surface/friction/ode/mu"))
    assert friction >= TWIL.contact.wheel_friction  # the smaller one of two counts


def test_world_of_gazebo_11_goes_at_the_speed_asked_for():
    world = ElementTree.fromstring(launches.world_text("gazebo_ros_floor.world", 0.5)).find("world")
    assert world.findtext("physics/real_time_update_rate") == "500"


@pytest.mark.parametrize("sim", ["gz_ros2_control", "gazebo_ros"])
def test_description_for_ros2_control_has_its_hardware_and_no_comments(sim, tmp_path):
    text = launches.description(TWIL, sim, tmp_path / "c.yaml")
    assert "<!--" not in text
    root = ElementTree.fromstring(text)
    plugin = root.findtext("ros2_control/hardware/plugin")
    assert plugin == launches.HARDWARE[sim]


@pytest.mark.parametrize(
    "sim, parameters",
    [
        ("gz", GzParameters),
        ("gz_ros2_control", Ros2ControlParameters),
        ("gazebo_ros", Ros2ControlParameters),
    ],
)
def test_launch_file_gives_parameters_that_simulators_have(sim, parameters):
    path = BRINGUP / "launch" / "simulator.launch.xml"
    root = read(path).root
    check(root)
    assert all(argument.description for argument in Arguments.of(root).declared)
    resolver = Resolver(os.environ)
    resolver.file(path, [("sim", sim)])
    (process,) = resolver.processes
    assert process.name.startswith(("gz_simulator", "ros2_control_simulator"))
    settings = yaml.safe_load((BRINGUP / "config" / "simulator.yaml").read_text())
    given = set(settings["/**/simulator"]["ros__parameters"])
    known = {
        each.name
        for kind in (parameters, EngineParameters, Ros2ControlParameters)
        for each in table(kind)
    }
    assert given <= known


def own_file_reaches_the_simulator(sim, folder, parameter):
    path = folder / "own.yaml"
    path.write_text(f"/**/simulator: {{ros__parameters: {{{parameter}}}}}", encoding="utf-8")
    resolver = Resolver(os.environ)
    given = [("sim", sim), ("config", str(path))]
    resolver.file(BRINGUP / "launch" / "ident.launch.xml", given)
    return str(path) in map(str, resolver.processes[0].command)


@pytest.mark.parametrize("sim", ["gz", "gz_ros2_control", "gazebo_ros"])
@pytest.mark.parametrize("sensor", ["imu", "pose_source"])
def test_sensor_that_is_not_there_is_refused(sim, sensor, tmp_path):
    assert own_file_reaches_the_simulator(sim, tmp_path, f"{sensor}: true")
    values = ExternalParameters(robot="twil", start="0,0,0", **{sensor: True})
    with pytest.raises(ValueError, match=f"parameter '{sensor}' = true: this simulator does not"):
        refuse_unsupported(values)


@pytest.mark.parametrize("sim", ["gz", "gz_ros2_control", "gazebo_ros"])
def test_a_sloped_floor_is_refused(sim, tmp_path):
    assert own_file_reaches_the_simulator(sim, tmp_path, "slope: 1.0")
    with pytest.raises(ValueError, match="'slope' = 1: must be 0, as the floor of this simulator"):
        refuse_unsupported(ExternalParameters(robot="twil", start="0,0,0", slope=1.0))


def test_what_is_not_installed_is_told(monkeypatch, tmp_path):
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    with pytest.raises(ImportError, match=r"sim:=gz needs ros_gz_sim of a ROS 2 install: sudo apt"):
        launches.require_packages("gz", "ros_gz_sim")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ImportError, match="needs the program 'gz', which comes with ros_gz_sim"):
        launches.require_program("gz", "gz", "ros_gz_sim")


def test_spawning_gives_ros_numbers_with_a_decimal_point(prefix):
    prefix.executable("create", package="ros_gz_sim")
    words = launches.gz_spawn_command(Path("/r.urdf"), TWIL, (1.0, -1e-7, 0.5))[2:]
    given = dict(word.split(":=") for word in words if ":=" in word)
    assert given["x"] == "1.000000000"
    assert given["y"] == "-0.000000100"
    assert given["z"] == f"{TWIL.wheels.radius:.9f}"
    assert (given["world"], given["name"]) == ("diffbot", "robot")
