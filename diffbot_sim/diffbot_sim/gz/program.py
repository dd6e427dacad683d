"""Gazebo (Ionic or newer) as it is started for one run: server, window, bridges, the robot."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import yaml

from diffbot_description import Robot, urdf
from diffbot_sim.companions import Companion, stop_all
from diffbot_sim.gz import commands

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
        self.partition = commands.partition()

    @staticmethod
    def check() -> None:
        """Raise ImportError unless all is installed; the message says what is not, and the way."""
        commands.require_packages(SIM, "ros_gz_sim", "ros_gz_bridge", "ros_gz_interfaces")
        commands.require_program(SIM, "gz", "ros_gz_sim, in a sourced ROS 2 install")

    def start(self) -> None:
        """Start everything."""
        self._folder = tempfile.TemporaryDirectory(prefix="diffbot_gz_")
        world, self._urdf = self._file("world.sdf"), self._file("robot.urdf")
        world.write_text(commands.world_text(FASTEST))
        self._urdf.write_text(urdf(self._robot, simulator=SIM))
        self._add("gz server", commands.server_command(world, running=False))
        main, second = commands.split_bridge(commands.bridge_entries(self._robot))
        for name, entries, control in (("gz_bridge", main, True), ("gz_seen", second, False)):
            file = self._file(f"{name}.yaml")
            file.write_text(yaml.safe_dump(entries))
            self._add(name, commands.bridge_command(file, name, control))
        self._spawn()
        if self._gui:
            self._add("gz window", commands.window_command())

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
        command = commands.spawn_command(self._urdf, self._robot, self._start)
        self._spawning = Companion("spawning", command, self._environment)

    def _add(self, name: str, command: Sequence[str]) -> None:
        self._companions.append(Companion(name, command, self._environment))

    @property
    def _environment(self) -> dict[str, str]:
        return {"GZ_PARTITION": self.partition}

    def _file(self, name: str) -> Path:
        return Path(self._folder.name) / name
