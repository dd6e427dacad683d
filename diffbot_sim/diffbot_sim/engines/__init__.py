"""Physics engines by name."""

from __future__ import annotations

from diffbot_description import Robot
from diffbot_sim.simulator import Simulator

ENGINES = ("ideal", "mujoco")


def make_simulator(name: str, robot: Robot) -> Simulator:
    """Return the robot at rest at the origin of the named engine.

    Args:
        name: "ideal" (closed-form model, exact integration) or "mujoco" (contact physics).
        robot: from diffbot_description.load_robot.

    Raises:
        ValueError: there is no such engine, or the robot cannot stand.
        ImportError: the engine's library is not installed.
    """
    # Imported on demand, so that the ideal engine works where MuJoCo is not installed.
    if name == "ideal":
        from diffbot_sim.engines.ideal import IdealSimulator

        return IdealSimulator(robot)
    if name == "mujoco":
        from diffbot_sim.engines.mujoco_engine import MujocoSimulator

        return MujocoSimulator(robot)
    raise ValueError(f"sim = {name!r}: no such engine; choose one of {', '.join(ENGINES)}")


__all__ = ["ENGINES", "make_simulator"]
