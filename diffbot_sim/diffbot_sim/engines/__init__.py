# SPDX-License-Identifier: Apache-2.0
"""Physics engines by name."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

from diffbot_description import Robot
from diffbot_sim.simulator import Simulator

ENGINES = ("ideal", "mujoco", "gazebo")


def make_simulator(
    name: str,
    robot: Robot,
    gui: bool = False,
    pictures: str | PathLike[str] | None = None,
    seed: int = 0,
) -> Simulator:
    """Return the robot at rest at the origin of an engine.

    Args:
        name: "ideal" (closed-form model), "mujoco" (contact physics) or "gazebo" (Gazebo 11, ODE).
        robot: The robot.
        gui, pictures, seed: Window, folder for a camera's pictures, and random seed; only of
            gazebo.

    Raises:
        ValueError: There is no such engine, window or camera, or the robot cannot stand.
        ImportError, OSError: The engine is not installed, or does not start.
    """
    if name == "gazebo":
        from diffbot_sim.engines.gazebo_engine import GazeboSimulator

        folder = None if pictures is None else Path(pictures).absolute()
        return GazeboSimulator(robot, gui=gui, pictures=folder, seed=seed)
    if gui or pictures is not None:
        wish = "gui" if gui else "pictures"
        raise ValueError(f"{wish}: sim:={name} has no window and no camera; use sim:=gazebo")
    if name == "ideal":
        from diffbot_sim.engines.ideal import IdealSimulator

        return IdealSimulator(robot)
    if name == "mujoco":
        try:
            from diffbot_sim.engines.mujoco_engine import MujocoSimulator
        except ImportError as error:
            raise ImportError(
                f"sim:=mujoco needs the Python package mujoco ({error}): "
                "install it with 'pip install mujoco', or use sim:=ideal"
            ) from error
        return MujocoSimulator(robot)
    raise ValueError(f"sim = {name!r}: no such engine; choose one of {', '.join(ENGINES)}")


__all__ = ["ENGINES", "make_simulator"]
