"""A simulator with ros2_control inside, as it is started for one run, one thing after the other."""

from __future__ import annotations

import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from xml.etree import ElementTree

import yaml
from ament_index_python.packages import get_package_prefix, get_package_share_directory

from diffbot_description import Robot, urdf
from diffbot_sim.companions import Companion, stop_all
from diffbot_sim.gazebo.server import free_port
from diffbot_sim.gz import program as gz_commands
from diffbot_sim.gz.program import MODEL, QUIET, config_file, executable

# ---
# The command lines of simulators whose robot is driven by ros2_control inside the simulator.

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


# Wall time after which a step that failed is tried again, s.
RETRY = 2.0
SPAWNING = "spawning the robot"

Spawn = Callable[[Path, Robot, tuple[float, float, float]], list[str]]
"""From the URDF's file, the robot and its pose to the command line that spawns it."""


class Ros2ControlProgram:
    """The programs of one run: simulator, description, robot, torque controller, joint states.

    Args:
        sim: gz_ros2_control or gazebo_ros.
        robot: to be spawned.
        start: its pose x (m), y (m), theta (rad).
        speed: simulated time per wall time, > 0.
        gui: whether to open the simulator's window.
        patience: wall time that each step may take, s.
    """

    def __init__(
        self,
        sim: str,
        robot: Robot,
        start: tuple[float, float, float],
        speed: float,
        gui: bool,
        patience: float,
    ) -> None:
        self._sim, self._robot, self._start = sim, robot, start
        self._is_gz = sim == "gz_ros2_control"
        self._speed, self._gui, self._patience = speed, gui, patience
        self._lasting: list[Companion] = []
        self._window: Companion | None = None
        self._step: Companion | None = None
        self._steps: Iterator[tuple[str, list[str]]] = iter(())
        self._now: tuple[str, list[str]] | None = None
        self._began = self._failed = 0.0
        self._environment: dict[str, str] = {}
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the robot can be driven."""
        return self._folder is not None and self._now is None

    def check(self) -> None:
        """Raise ImportError unless all is installed; the message says what is not, and the way."""
        needed = (*PACKAGES[self._sim], *CONTROL_PACKAGES)
        gz_commands.require_packages(self._sim, *needed)
        program = "gz" if self._is_gz else "gzserver"
        gz_commands.require_program(self._sim, program, f"{needed[0]}, in a sourced ROS 2 install")

    def start(self) -> None:
        """Start the simulator and begin with the steps."""
        self._folder = tempfile.TemporaryDirectory(prefix="diffbot_gazebo_")
        folder = Path(self._folder.name)
        controllers = folder / "controllers.yaml"
        controllers.write_text(controllers_text(self._robot))
        text = description(self._robot, self._sim, controllers)
        urdf = folder / "robot.urdf"
        urdf.write_text(text)
        spawn = self._start_gz(folder) if self._is_gz else self._start_gazebo(folder)
        self._add("robot_state_publisher", state_publisher_command(text, folder))
        steps = [(SPAWNING, spawn(urdf, self._robot, self._start))]
        for name in CONTROLLERS:
            steps.append((name, spawner_command(name, controllers, self._patience)))
        self._steps = iter(steps)
        self._next()

    def _start_gz(self, folder: Path) -> Spawn:
        self._environment = {"GZ_PARTITION": gz_commands.partition()}
        world = folder / "world.sdf"
        world.write_text(gz_commands.world_text(self._speed))
        self._add("gz server", gz_commands.server_command(world, running=True))
        self._add("gz_bridge", clock_bridge_command())
        if self._gui:
            self._window = self._companion("gz window", gz_commands.window_command())
        return gz_commands.spawn_command

    def _start_gazebo(self, folder: Path) -> Spawn:
        self._environment = gazebo_environment()
        world = folder / "floor.world"
        world.write_text(gazebo_world_text(self._speed))
        self._add("gzserver", gazebo_server_command(world))
        if self._gui:
            self._window = self._companion("gzclient", ["gzclient"])
        return gazebo_spawn_command

    def fault(self) -> str | None:
        """What has gone wrong, if anything; also goes on with the next step."""
        for companion in self._lasting:
            if companion.status is not None:
                return f"{companion.name} has ended with status {companion.status}"
        if self._step is None:
            return None
        late = time.monotonic() - self._began > self._patience
        if self._step.status is None:
            return f"{self._now[0]} has not ended in {self._patience:g} s" if late else None
        if self._step.status == 0 or self._now[0] == SPAWNING:
            # Spawning may fail because it was asked for twice: the simulator answers late. The
            # controllers come only where a robot is.
            self._next()
        elif late:
            return f"{self._now[0]} failed with status {self._step.status}"
        elif not self._failed:
            self._failed = time.monotonic()
        elif time.monotonic() - self._failed > RETRY:
            self._try()
        return None

    def stop(self) -> None:
        """End everything that was started."""
        others = [companion for companion in (self._step, self._window) if companion]
        stop_all([*self._lasting, *others])
        self._lasting.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def _next(self) -> None:
        self._now = next(self._steps, None)
        self._step = None
        self._began = time.monotonic()
        if self._now is not None:
            self._try()

    def _try(self) -> None:
        self._failed = 0.0
        self._step = self._companion(*self._now)

    def _add(self, name: str, command: list[str]) -> None:
        self._lasting.append(self._companion(name, command))

    def _companion(self, name: str, command: list[str]) -> Companion:
        return Companion(name, command, self._environment)
