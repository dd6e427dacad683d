"""A simulator with ros2_control inside, as it is started for one run, one thing after the other."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from diffbot_description import Robot
from diffbot_sim.companions import Companion, stop_all
from diffbot_sim.gz import commands as gz_commands
from diffbot_sim.ros2_control import commands

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
        needed = (*commands.PACKAGES[self._sim], *commands.CONTROL_PACKAGES)
        gz_commands.require_packages(self._sim, *needed)
        program = "gz" if self._is_gz else "gzserver"
        gz_commands.require_program(self._sim, program, f"{needed[0]}, in a sourced ROS 2 install")

    def start(self) -> None:
        """Start the simulator and begin with the steps."""
        self._folder = tempfile.TemporaryDirectory(prefix="diffbot_gazebo_")
        folder = Path(self._folder.name)
        controllers = folder / "controllers.yaml"
        controllers.write_text(commands.controllers_text(self._robot))
        text = commands.description(self._robot, self._sim, controllers)
        urdf = folder / "robot.urdf"
        urdf.write_text(text)
        spawn = self._start_gz(folder) if self._is_gz else self._start_gazebo(folder)
        self._add("robot_state_publisher", commands.state_publisher_command(text, folder))
        steps = [(SPAWNING, spawn(urdf, self._robot, self._start))]
        for name in commands.CONTROLLERS:
            steps.append((name, commands.spawner_command(name, controllers, self._patience)))
        self._steps = iter(steps)
        self._next()

    def _start_gz(self, folder: Path) -> Spawn:
        self._environment = {"GZ_PARTITION": gz_commands.partition()}
        world = folder / "world.sdf"
        world.write_text(gz_commands.world_text(self._speed))
        self._add("gz server", gz_commands.server_command(world, running=True))
        self._add("gz_bridge", commands.clock_bridge_command())
        if self._gui:
            self._window = self._companion("gz window", gz_commands.window_command())
        return gz_commands.spawn_command

    def _start_gazebo(self, folder: Path) -> Spawn:
        self._environment = commands.gazebo_environment()
        world = folder / "floor.world"
        world.write_text(commands.gazebo_world_text(self._speed))
        self._add("gzserver", commands.gazebo_server_command(world))
        if self._gui:
            self._window = self._companion("gzclient", ["gzclient"])
        return commands.gazebo_spawn_command

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
