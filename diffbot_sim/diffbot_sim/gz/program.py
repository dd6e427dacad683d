"""Gazebo (Ionic or newer) as it is started for one run: server, window, bridges, the robot."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from uuid import uuid4

import yaml
from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_prefix,
    get_package_share_directory,
)
from rclpy.node import Node

from diffbot_description import Robot, urdf
from diffbot_sim.companions import Companion, stop_all

# ---
# The command lines of Gazebo (Ionic or newer), of its bridge to ROS, and of what they need.

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


SIM = "gz"
# Wall time after which a spawning that failed is tried again, s.
RETRY = 2.0
# Gazebo steps at most this many times faster than real time. Without a limit releases before 2026
# turn without a pause while the world stands still, and say the joints' states each time.
FASTEST = 5.0


class GzProgram:
    """The programs of one run.

    Args:
        robot: to be spawned.
        start: its pose x (m), y (m), theta (rad).
        gui: whether to open Gazebo's window.
    """

    def __init__(self, robot: Robot, start: tuple[float, float, float], gui: bool) -> None:
        self._robot, self._start, self._gui = robot, start, gui
        self._companions: list[Companion] = []
        self._spawning: Companion | None = None
        self.is_spawned = False
        """Whether the robot is in the world; set by whoever has seen it there."""
        self._retry_at = 0.0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.partition = partition()

    @staticmethod
    def check() -> None:
        """Raise ImportError unless all is installed; the message says what is not, and the way."""
        require_packages(SIM, "ros_gz_sim", "ros_gz_bridge", "ros_gz_interfaces")
        require_program(SIM, "gz", "ros_gz_sim, in a sourced ROS 2 install")

    def start(self) -> None:
        """Start everything."""
        self._folder = tempfile.TemporaryDirectory(prefix="diffbot_gz_")
        world, self._urdf = self._file("world.sdf"), self._file("robot.urdf")
        world.write_text(world_text(FASTEST))
        self._urdf.write_text(urdf(self._robot, simulator=SIM))
        self._add("gz server", server_command(world, running=False))
        main, second = split_bridge(bridge_entries(self._robot))
        for name, entries, control in (("gz_bridge", main, True), ("gz_seen", second, False)):
            file = self._file(f"{name}.yaml")
            file.write_text(yaml.safe_dump(entries))
            self._add(name, bridge_command(file, name, control))
        self._spawn()
        if self._gui:
            self._add("gz window", window_command())

    def fault(self) -> str | None:
        """What has gone wrong, if anything; also tries again to spawn the robot."""
        for companion in self._companions:
            if companion.status is not None and companion.name != "gz window":
                return f"{companion.name} has ended with status {companion.status}"
        self._look_after_spawning()
        return None

    def stop(self) -> None:
        """End everything that was started."""
        stop_all([*self._companions, *([self._spawning] if self._spawning else [])])
        self._companions.clear()
        if self._folder is not None:
            self._folder.cleanup()

    def _look_after_spawning(self) -> None:
        # A status of 0 alone is no proof, nor one of 1 of the contrary: Gazebo may answer late.
        if self._spawning is None or self.is_spawned or not self._spawning.status:
            return
        if not self._retry_at:
            self._retry_at = time.monotonic() + RETRY
        elif time.monotonic() > self._retry_at:
            self._spawn()

    def _spawn(self) -> None:
        self._retry_at = 0.0
        command = spawn_command(self._urdf, self._robot, self._start)
        self._spawning = Companion("spawning", command, self._environment)

    def _add(self, name: str, command: Sequence[str]) -> None:
        self._companions.append(Companion(name, command, self._environment))

    @property
    def _environment(self) -> dict[str, str]:
        return {"GZ_PARTITION": self.partition}

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name


# ---
# The stock service of Gazebo that lets a world that stands still advance by some steps.


class GzWorld:
    """Client of the world's control, through ros_gz_bridge.

    Args:
        node: whose client it is.
        on_refused: called with what was said when Gazebo refuses.

    Raises:
        ImportError: ros_gz_interfaces is not installed.
    """

    def __init__(self, node: Node, on_refused: Callable[[str], None]) -> None:
        # Here: a machine without Gazebo does not have it, and shall still be able to test the rest.
        from ros_gz_interfaces.srv import ControlWorld

        self._type = ControlWorld
        self._on_refused = on_refused
        self._client = node.create_client(ControlWorld, CONTROL_SERVICE)

    def is_ready(self) -> bool:
        """Whether the bridge offers the service."""
        return self._client.service_is_ready()

    def step(self, count: int) -> None:
        """Advance by so many steps of the physics, and stand still again."""
        request = self._type.Request()
        request.world_control.pause = True
        request.world_control.multi_step = count
        self._client.call_async(request).add_done_callback(self._on_reply)

    def _on_reply(self, future) -> None:
        if not future.result().success:
            self._on_refused(f"{CONTROL_SERVICE} refused to step the world")
