# SPDX-License-Identifier: Apache-2.0
"""Requirements, programs and start order of runs with a ROS 2 installation's simulators.

| sim             | simulator               | what applies torques and reports joint states   |
|-----------------|-------------------------|-------------------------------------------------|
| gz              | Gazebo (Ionic or newer) | gz_simulator_node.py, by way of ros_gz_bridge   |
| gz_ros2_control | Gazebo (Ionic or newer) | ros2_control inside it                          |
| gazebo_ros      | Gazebo 11, with Humble  | ros2_control inside it                          |

Each run has its own Gazebo, isolated from all others.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from uuid import uuid4
from xml.etree import ElementTree

import yaml
from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)

from diffbot_description import Robot, urdf
from diffbot_sim.child_processes import Launch, ProgramStep
from diffbot_sim.gazebo.installation import MULTIARCH
from diffbot_sim.gazebo.server import free_port
from diffbot_sim.simulator import Triple

# World files: the element that sets the speed, and its value for real time.
WORLDS = {
    "gz_floor.sdf": ("real_time_factor", 1.0),
    "gazebo_ros_floor.world": ("real_time_update_rate", 1000.0),
}
# World of gz_floor.sdf, and step of its physics, s.
WORLD = "diffbot"
STEP = 0.001
MODEL = "robot"
CONTROL_SERVICE = f"/world/{WORLD}/control"
PREFIX = "gz/"
# Suffix of the topics in the bridge's file that belong to a second bridge; see `split_bridge`.
SEEN = "_seen"
# Largest speed with sim:=gz. Releases before 2026 without a limit loop while the world stands.
FASTEST = 5.0
# Further messages would disrupt the live table.
QUIET = ("--log-level", "warn")
GZ_WINDOW = ["gz", "sim", "-g", "-v", "1"]

HARDWARE = {
    "gz_ros2_control": "gz_ros2_control/GazeboSimSystem",
    "gazebo_ros": "gazebo_ros2_control/GazeboSystem",
}
# In order of start: torques must be taken before joint states arrive.
CONTROLLERS = ("effort_controller", "joint_state_broadcaster")
CONTROL_PACKAGES = (
    "controller_manager",
    "forward_command_controller",
    "joint_state_broadcaster",
    "robot_state_publisher",
)
PACKAGES = {
    "gz": ("ros_gz_sim", "ros_gz_bridge", "ros_gz_interfaces"),
    "gz_ros2_control": ("ros_gz_sim", "ros_gz_bridge", "gz_ros2_control", *CONTROL_PACKAGES),
    "gazebo_ros": ("gazebo_ros", "gazebo_plugins", "gazebo_ros2_control", *CONTROL_PACKAGES),
}


def left_out(robot: Robot, sim: str) -> list[str]:
    """Return what a simulator does not model of friction and drive, as keys of the robot's file."""
    friction = robot.friction
    there = {
        "friction.static": friction.static is not None,
        "friction.coulomb_backward": friction.coulomb_backward is not None,
        "friction.rolling_resistance": friction.rolling_resistance != 0.0,
        "friction.gear_loss": any(friction.gear_loss),
        "drive.dead_band": sim != "gz" and any(robot.drive.dead_band),
    }
    return [name for name, is_there in there.items() if is_there]


def check_installed(sim: str) -> None:
    """Raise ImportError, with a remedy, unless all is installed."""
    require_packages(sim, *PACKAGES[sim])
    program = "gzserver" if sim == "gazebo_ros" else "gz"
    require_program(sim, program, f"{PACKAGES[sim][0]}, in a sourced ROS 2 install")


def require_packages(sim: str, *packages: str) -> None:
    """Raise ImportError unless all ROS packages that `sim` needs are installed."""
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


def executable(package: str, name: str) -> str:
    """Return the path of a ROS package's executable."""
    return str(Path(get_package_prefix(package)) / "lib" / package / name)


def config_text(name: str, robot: Robot) -> str:
    """Return the text of a file of the suite's config folder, with the robot's joint names."""
    try:
        file = Path(get_package_share_directory("diffbot_bringup")) / "config" / name
    except PackageNotFoundError:
        raise ImportError(
            f"config/{name} is missing: build and source the package diffbot_bringup, too"
        ) from None
    own = dict(zip(("left_wheel_joint", "right_wheel_joint"), robot.joints.first, strict=True))
    return re.sub("|".join(own), lambda match: own[match[0]], file.read_text())


def world_text(name: str, speed: float) -> str:
    """Return the text of a file of WORLDS for a speed (simulated time per wall time, > 0)."""
    file = Path(get_package_share_directory("diffbot_sim")) / "worlds" / name
    element, at_real_time = WORLDS[name]
    wanted = f"<{element}>{at_real_time * speed:g}</{element}>"
    text, count = re.subn(f"<{element}>.*?</{element}>", wanted, file.read_text())
    if count != 1:
        raise ValueError(f"{file}: must have one <{element}>, has {count}")
    return text


def bridge_entries(robot: Robot) -> list[dict[str, str]]:
    """Return the entries of config/gz_bridge.yaml with the robot's joint names."""
    entries: list[dict[str, str]] = yaml.safe_load(config_text("gz_bridge.yaml", robot))
    return entries


def split_bridge(
    entries: list[dict[str, str]],
) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """Return the entries of the main bridge, and those of a second one.

    A bridge does not relay its own messages back: a second one confirms that a torque passed.
    """
    second = [entry for entry in entries if entry["ros_topic_name"].endswith(SEEN)]
    return [entry for entry in entries if entry not in second], second


def description(robot: Robot, sim: str, controllers: Path) -> str:
    """Return the URDF for a simulator of HARDWARE; gazebo_ros2_control fails on comments in it."""
    text = urdf(robot, HARDWARE[sim], sim, str(controllers))
    return ElementTree.tostring(ElementTree.fromstring(text), encoding="unicode")


# Command lines. Robots are spawned with their axle one wheel radius above the floor.


def bridge_command(node: str, carried: list[str], arguments: list[str]) -> list[str]:
    """Return the command of ros_gz_bridge for a node, topics and services, and arguments."""
    program = executable("ros_gz_bridge", "parameter_bridge")
    return [program, *carried, "--ros-args", "-r", f"__node:={node}", *arguments, *QUIET]


def gz_server_command(world: Path, running: bool) -> list[str]:
    """Return the command of Gazebo without a window; `running`: whether time starts at once."""
    return ["gz", "sim", "-s", "-v", "1", *(["-r"] if running else []), str(world)]


def gz_spawn_command(file: Path, robot: Robot, start: Triple) -> list[str]:
    """Return the command that spawns the robot of a URDF file in Gazebo (Ionic or newer)."""
    x, y, theta = start
    pose = {"x": x, "y": y, "z": robot.wheels.radius, "Y": theta}
    words = {"world": WORLD, "name": MODEL, "file": str(file)}
    # ROS would parse "1" as an integer and "1e-05" as text.
    words |= {name: f"{value:.9f}" for name, value in pose.items()}
    arguments = [word for key, value in words.items() for word in ("-p", f"{key}:={value}")]
    return [executable("ros_gz_sim", "create"), "--ros-args", *arguments, *QUIET]


def gazebo_server_command(world: Path) -> list[str]:
    """Return the command of Gazebo 11 with the plugins of gazebo_ros; clock at the control rate."""
    plugins = ["-s", "libgazebo_ros_init.so", "-s", "libgazebo_ros_factory.so"]
    # -p and -r are gzserver's own, and would play and record logs.
    clock = ["--param", "publish_rate:=100.0", "--remap", "gazebo:clock:=gazebo/clock"]
    return ["gzserver", str(world), *plugins, "--ros-args", *clock, "--"]


def gazebo_spawn_command(file: Path, robot: Robot, start: Triple) -> list[str]:
    """Return the command that spawns the robot of a URDF file in Gazebo 11."""
    pose = zip("xyY", start, strict=True)
    words = [word for name, value in pose for word in (f"-{name}", f"{value:.9f}")]
    program = executable("gazebo_ros", "spawn_entity.py")
    named = ["-entity", MODEL, "-file", str(file), "-timeout", "60"]
    return [program, *named, *words, "-z", f"{robot.wheels.radius:.9f}"]


def spawner_command(controller: str, controllers: Path, patience: float) -> list[str]:
    """Return the command that starts a controller; `patience` for the controller manager, s."""
    timeout = ["--controller-manager-timeout", f"{patience:g}"]
    program = executable("controller_manager", "spawner")
    return [program, controller, *timeout, "--param-file", str(controllers)]


def gz_environment() -> dict[str, str | None]:
    """Return variables that isolate a Gazebo (Ionic or newer); keep a partition set by the user."""
    return {"GZ_PARTITION": os.environ.get("GZ_PARTITION") or f"diffbot-{uuid4().hex}"}


def gz_control_environment() -> dict[str, str | None]:
    """Return the same variables, and the one by which Gazebo finds gz_ros2_control.

    Only the launch files of ros_gz_sim set it.
    """
    folder = f"{get_package_prefix('gz_ros2_control')}/lib"
    own = os.environ.get("GZ_SIM_SYSTEM_PLUGIN_PATH")
    path = os.pathsep.join([own, folder] if own else [folder])
    return {**gz_environment(), "GZ_SIM_SYSTEM_PLUGIN_PATH": path}


def gazebo_environment() -> dict[str, str | None]:
    """Return variables that isolate a Gazebo 11, and let it find the plugins of ROS."""
    prefixes = [get_package_prefix(package) for package in PACKAGES["gazebo_ros"][:3]]
    own = os.environ.get("GAZEBO_PLUGIN_PATH") or f"/usr/lib/{MULTIARCH}/gazebo-11/plugins"
    return {
        "GAZEBO_MASTER_URI": os.environ.get("GAZEBO_MASTER_URI", f"http://127.0.0.1:{free_port()}"),
        "GAZEBO_PLUGIN_PATH": os.pathsep.join([f"{p}/lib" for p in prefixes] + [own]),
        "GAZEBO_MODEL_DATABASE_URI": "",
    }


def spawner_environment(folder: Path) -> dict[str, str | None]:
    """Return variables that keep a run's spawners independent of other runs; logs stay in place.

    A spawner locks a file in ROS_HOME, and other runs' spawners would give up meanwhile.
    """
    home = os.environ.get("ROS_HOME") or str(Path.home() / ".ros")
    log = os.environ.get("ROS_LOG_DIR") or str(Path(home) / "log")
    return {"ROS_HOME": str(folder), "ROS_LOG_DIR": log}


def launch_gz(robot: Robot, start: Triple, gui: bool) -> Launch:
    """Start Gazebo (Ionic or newer) with a paused world, and its bridges to ROS.

    Spawning is repeated until it reports success, or `retries` is false: Gazebo may answer late.
    """
    launch = Launch(gz_environment())
    world = launch.file("world.sdf", world_text("gz_floor.sdf", FASTEST))
    file = launch.file("robot.urdf", urdf(robot.with_forward_joints(), simulator="gz"))
    launch.start("gz server", gz_server_command(world, running=False))
    main, second = split_bridge(bridge_entries(robot))
    control = f"{CONTROL_SERVICE}@ros_gz_interfaces/srv/ControlWorld"
    for name, entries, carried in (("gz_bridge", main, [control]), ("gz_seen", second, [])):
        entries_file = launch.file(f"{name}.yaml", yaml.safe_dump(entries))
        settings = [f"config_file:={entries_file}", "subscription_heartbeat:=200"]
        arguments = [word for setting in settings for word in ("-p", setting)]
        launch.start(name, bridge_command(name, carried, arguments))
    launch.begin([ProgramStep("spawning", gz_spawn_command(file, robot, start))])
    if gui:
        launch.start("gz window", GZ_WINDOW, optional=True)
    return launch


def launch_ros2_control(
    sim: str, robot: Robot, start: Triple, speed: float, gui: bool, patience: float
) -> Launch:
    """Start a simulator with ros2_control inside: server, description, robot, controllers.

    Args:
        sim: One of HARDWARE.
        robot, start: The robot to spawn, and its initial pose.
        speed: Simulated time per wall time, > 0.
        gui: Whether to open the simulator's window.
        patience: Wall time that each step may take, s.
    """
    is_gz = sim == "gz_ros2_control"
    launch = Launch(gz_control_environment() if is_gz else gazebo_environment(), patience)
    controllers = launch.file("controllers.yaml", config_text("ros2_control.yaml", robot))
    own = spawner_environment(controllers.parent)
    launch.environment = {**launch.environment, **own}
    text = description(robot, sim, controllers)
    file = launch.file("robot.urdf", text)
    if is_gz:
        world = launch.file("world.sdf", world_text("gz_floor.sdf", speed))
        launch.start("gz server", gz_server_command(world, running=True))
        launch.start("gz_bridge", _truth_bridge_command())
        spawn, window = gz_spawn_command(file, robot, start), ("gz window", GZ_WINDOW)
    else:
        world = launch.file("floor.world", world_text("gazebo_ros_floor.world", speed))
        launch.start("gzserver", gazebo_server_command(world))
        spawn, window = gazebo_spawn_command(file, robot, start), ("gzclient", ["gzclient"])
    if gui:
        launch.start(*window, optional=True)
    launch.start("robot_state_publisher", _state_publisher_command(launch, text))
    # A repeated spawning may fail because the first one worked.
    steps = [ProgramStep("spawning the robot", spawn, may_fail=True)]
    steps += [
        ProgramStep(name, spawner_command(name, controllers, patience)) for name in CONTROLLERS
    ]
    launch.begin(steps)
    return launch


def _truth_bridge_command() -> list[str]:
    carried = [
        "/clock@rosgraph_msgs/msg/Clock[gz.msgs.Clock",
        "/robot/odometry@nav_msgs/msg/Odometry[gz.msgs.Odometry",
    ]
    remaps = ["-r", "/clock:=gazebo/clock", "-r", "/robot/odometry:=gazebo/odometry"]
    return bridge_command("gz_bridge", carried, remaps)


def _state_publisher_command(launch: Launch, text: str) -> list[str]:
    parameters = {"use_sim_time": True, "robot_description": text}
    document = yaml.safe_dump({"/**": {"ros__parameters": parameters}})
    program = executable("robot_state_publisher", "robot_state_publisher")
    file = launch.file("robot_description.yaml", document)
    return [program, "--ros-args", "--params-file", str(file), *QUIET]
