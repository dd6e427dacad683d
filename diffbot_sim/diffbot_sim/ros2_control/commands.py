"""The command lines of simulators whose robot is driven by ros2_control inside the simulator."""

from __future__ import annotations

import os
import re
from pathlib import Path
from xml.etree import ElementTree

import yaml
from ament_index_python.packages import get_package_prefix, get_package_share_directory

from diffbot_description import Robot, urdf
from diffbot_sim.gazebo.server import free_port
from diffbot_sim.gz.commands import MODEL, QUIET, config_file, executable

# Class of the hardware and packages that each of them needs besides ros2_control's own.
HARDWARE = {
    "gz_ros2_control": "gz_ros2_control/GazeboSimSystem",
    "gazebo_ros": "gazebo_ros2_control/GazeboSystem",
}
PACKAGES = {
    "gz_ros2_control": ("ros_gz_sim", "ros_gz_bridge", "gz_ros2_control"),
    "gazebo_ros": ("gazebo_ros", "gazebo_plugins", "gazebo_ros2_control"),
}
CONTROL_PACKAGES = (
    "controller_manager",
    "effort_controllers",
    "joint_state_broadcaster",
    "robot_state_publisher",
)
# Torque first: when joint states come, somebody obeys.
CONTROLLERS = ("effort_controller", "joint_state_broadcaster")


def controllers_text(robot: Robot) -> str:
    """config/ros2_control.yaml for the names of the robot's joints."""
    file = config_file("ros2_control.yaml")
    text = file.read_text()
    for side, own in (("left", robot.joints.left), ("right", robot.joints.right)):
        text = text.replace(f"{side}_wheel_joint", own)
    return text


def description(robot: Robot, sim: str, controllers: Path) -> str:
    """URDF for a simulator of HARDWARE; without comments, which gazebo_ros2_control stumbles on."""
    text = urdf(robot, HARDWARE[sim], sim, str(controllers))
    return ElementTree.tostring(ElementTree.fromstring(text), encoding="unicode")


def state_publisher_command(urdf_text: str, folder: Path) -> list[str]:
    """robot_state_publisher, from which the simulator gets the description; writes to folder."""
    file = folder / "robot_description.yaml"
    parameters = {"use_sim_time": True, "robot_description": urdf_text}
    file.write_text(yaml.safe_dump({"/**": {"ros__parameters": parameters}}))
    program = executable("robot_state_publisher", "robot_state_publisher")
    return [program, "--ros-args", "--params-file", str(file), *QUIET]


def spawner_command(controller: str, controllers: Path, patience: float) -> list[str]:
    """Load, configure and activate a controller; waits for the controller manager, s."""
    return [
        executable("controller_manager", "spawner"),
        controller,
        "--controller-manager-timeout",
        f"{patience:g}",
        "--param-file",
        str(controllers),
    ]


def clock_bridge_command() -> list[str]:
    """ros_gz_bridge for Gazebo's time and the true pose."""
    return [
        executable("ros_gz_bridge", "parameter_bridge"),
        "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",
        "/robot/odometry@nav_msgs/msg/Odometry[gz.msgs.Odometry",
        "--ros-args",
        "-r",
        "__node:=gz_bridge",
        "-r",
        "/clock:=gazebo/clock",
        "-r",
        "/robot/odometry:=gazebo/odometry",
        *QUIET,
    ]


# Gazebo 11.


def gazebo_world_text(speed: float) -> str:
    """worlds/gazebo_ros_floor.world for a speed (simulated time per wall time, > 0)."""
    file = Path(get_package_share_directory("diffbot_sim")) / "worlds" / "gazebo_ros_floor.world"
    wanted = f"<real_time_update_rate>{1000.0 * speed:g}</real_time_update_rate>"
    return re.sub(r"<real_time_update_rate>.*?</real_time_update_rate>", wanted, file.read_text())


def gazebo_server_command(world: Path) -> list[str]:
    """Gazebo 11 with what gazebo_ros adds to it; its clock at the control rate."""
    plugins = ["-s", "libgazebo_ros_init.so", "-s", "libgazebo_ros_factory.so"]
    # Long names: -p and -r are gzserver's own, and would play and record logs.
    clock = ["--param", "publish_rate:=100.0", "--remap", "gazebo:clock:=gazebo/clock"]
    return ["gzserver", str(world), *plugins, "--ros-args", *clock, "--"]


def gazebo_spawn_command(file: Path, robot: Robot, start: tuple[float, float, float]) -> list[str]:
    """Put the robot into the world, its axle one wheel radius above the floor."""
    pose = zip("xyY", start, strict=True)
    words = [word for name, value in pose for word in (f"-{name}", f"{value:.9f}")]
    program = executable("gazebo_ros", "spawn_entity.py")
    named = ["-entity", MODEL, "-file", str(file), "-timeout", "60"]
    return [program, *named, *words, "-z", f"{robot.wheels.radius:.9f}"]


def gazebo_environment() -> dict[str, str]:
    """Variables that keep a server apart from others and let it find the plugins of ROS."""
    prefixes = [get_package_prefix(package) for package in PACKAGES["gazebo_ros"]]
    own = os.environ.get("GAZEBO_PLUGIN_PATH") or "/usr/lib/x86_64-linux-gnu/gazebo-11/plugins"
    return {
        "GAZEBO_MASTER_URI": os.environ.get("GAZEBO_MASTER_URI", f"http://127.0.0.1:{free_port()}"),
        "GAZEBO_PLUGIN_PATH": os.pathsep.join([f"{p}/lib" for p in prefixes] + [own]),
        # No search for models on the network.
        "GAZEBO_MODEL_DATABASE_URI": "",
    }
