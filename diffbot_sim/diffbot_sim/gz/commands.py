"""The command lines of Gazebo (Ionic or newer), of its bridge to ROS, and of what they need."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from uuid import uuid4

import yaml
from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)

from diffbot_description import Robot

# What worlds/gz_floor.sdf says: its name, and the step of its physics, s.
WORLD = "diffbot"
STEP = 0.001
MODEL = "robot"
CONTROL_SERVICE = f"/world/{WORLD}/control"
# Names of the suite's ROS topics that the bridge carries begin with this.
PREFIX = "gz/"
# What they tell besides would tear the live table apart.
QUIET = ("--log-level", "warn")
# Entries of the bridge's file for these ROS topics are a second bridge's, see `split_bridge`.
SEEN = "_seen"


def require_packages(sim: str, *packages: str) -> None:
    """Raise ImportError that tells what `sim` needs, unless all ROS packages are installed."""
    missing = []
    for package in packages:
        try:
            get_package_prefix(package)
        except PackageNotFoundError:
            missing.append(package)
    if missing:
        names = " ".join(f"ros-$ROS_DISTRO-{name.replace('_', '-')}" for name in missing)
        raise ImportError(
            f"sim:={sim} needs {', '.join(missing)} of a ROS 2 install: sudo apt install {names}, "
            "then source /opt/ros/$ROS_DISTRO/setup.bash; without them use sim:=mujoco"
        )


def require_program(sim: str, program: str, source: str) -> None:
    """Raise ImportError unless the program is on the PATH; `source` is where it comes from."""
    if shutil.which(program) is None:
        raise ImportError(f"sim:={sim} needs the program '{program}', which comes with {source}")


def config_file(name: str) -> Path:
    """Path of a file of the suite's config folder, which belongs to the package diffbot_bringup.

    Raises:
        ImportError: that package is not there.
    """
    try:
        return Path(get_package_share_directory("diffbot_bringup")) / "config" / name
    except PackageNotFoundError:
        raise ImportError(
            f"config/{name} is missing: build and source the package diffbot_bringup, too"
        ) from None


def executable(package: str, name: str) -> str:
    """Path of a ROS package's executable."""
    return str(Path(get_package_prefix(package)) / "lib" / package / name)


def world_text(speed: float) -> str:
    """worlds/gz_floor.sdf for a speed (simulated time per wall time, > 0)."""
    file = Path(get_package_share_directory("diffbot_sim")) / "worlds" / "gz_floor.sdf"
    wanted = f"<real_time_factor>{speed:g}</real_time_factor>"
    text, count = re.subn(r"<real_time_factor>.*?</real_time_factor>", wanted, file.read_text())
    if count != 1:
        raise ValueError(f"{file}: must have one <real_time_factor>, has {count}")
    return text


def server_command(world: Path, running: bool) -> list[str]:
    """Gazebo without a window; `running`: its time passes at once."""
    return ["gz", "sim", "-s", "-v", "1", *(["-r"] if running else []), str(world)]


def window_command() -> list[str]:
    """Gazebo's window, on the server of the same partition."""
    return ["gz", "sim", "-g", "-v", "1"]


def spawn_command(urdf: Path, robot: Robot, start: tuple[float, float, float]) -> list[str]:
    """Put the robot into the world, its axle one wheel radius above the floor.

    Args:
        urdf: file of its description.
        robot: the robot.
        start: pose x (m), y (m), theta (rad).
    """
    x, y, theta = start
    pose = {"x": x, "y": y, "z": robot.wheels.radius, "Y": theta}
    words = {"world": WORLD, "name": MODEL, "file": str(urdf)}
    # A fixed number of decimals: ROS would take "1" for a whole number and "1e-05" for text.
    words |= {name: f"{value:.9f}" for name, value in pose.items()}
    arguments = [word for key, value in words.items() for word in ("-p", f"{key}:={value}")]
    return [executable("ros_gz_sim", "create"), "--ros-args", *arguments, *QUIET]


def bridge_entries(robot: Robot) -> list[dict[str, str]]:
    """Entries of config/gz_bridge.yaml for the names of the robot's joints."""
    file = config_file("gz_bridge.yaml")
    text = file.read_text()
    for name, own in (("left", robot.joints.left), ("right", robot.joints.right)):
        text = text.replace(f"/joint/{name}_wheel_joint/", f"/joint/{own}/")
    return yaml.safe_load(text)


def split_bridge(
    entries: list[dict[str, str]],
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """What the bridge carries, and what a second one does.

    A bridge does not carry back what it has itself said. Only another one can tell that a torque
    has left the first.
    """
    second = [entry for entry in entries if entry["ros_topic_name"].endswith(SEEN)]
    return [entry for entry in entries if entry not in second], second


def bridge_command(file: Path, name: str, control: bool) -> list[str]:
    """ros_gz_bridge with a file of entries; `control`: it serves the control of the world too."""
    service = [f"{CONTROL_SERVICE}@ros_gz_interfaces/srv/ControlWorld"] if control else []
    return [
        executable("ros_gz_bridge", "parameter_bridge"),
        *service,
        "--ros-args",
        "-r",
        f"__node:={name}",
        "-p",
        f"config_file:={file}",
        "-p",
        "subscription_heartbeat:=200",
        *QUIET,
    ]


def partition() -> str:
    """Name that keeps this run's Gazebo apart from all others; the user's own if there is one."""
    return os.environ.get("GZ_PARTITION") or f"diffbot-{uuid4().hex}"
