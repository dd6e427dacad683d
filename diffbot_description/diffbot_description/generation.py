"""Making of a robot's URDF from its YAML file."""

from __future__ import annotations

import functools

from diffbot_description.loading import share_directory
from diffbot_description.robot import Robot

MOCK_HARDWARE = "mock_components/GenericSystem"
SIMULATORS = ("none", "gz", "gz_ros2_control", "gazebo_ros")


def urdf(
    robot: Robot,
    hardware_plugin: str = MOCK_HARDWARE,
    simulator: str = "none",
    controllers: str = "",
) -> str:
    """Return the URDF of a robot as XML text.

    Runs urdf/robot.urdf.xacro with the robot's YAML file. ``hardware_plugin`` is the class of
    the ros2_control hardware, for example "gz_ros2_control/GazeboSimSystem". ``simulator`` names
    the simulator whose plugins are added, see SIMULATORS; ``controllers`` is the path of the
    controllers' YAML, for those with ros2_control. Raises ValueError for an unknown simulator.
    """
    if simulator not in SIMULATORS:
        raise ValueError(f"simulator {simulator!r}: must be one of {', '.join(SIMULATORS)}")
    return _generated(
        str(share_directory() / "urdf" / "robot.urdf.xacro"),
        robot.path.read_bytes(),
        ("robot", str(robot.path)),
        ("hardware_plugin", hardware_plugin),
        ("simulator", simulator),
        ("controllers", controllers),
    )


@functools.lru_cache(maxsize=32)
def _generated(source: str, _content: bytes, *arguments: tuple[str, str]) -> str:
    """The URDF, made once per content of the robot's file: xacro takes a tenth of a second."""
    import xacro  # here, because it is slow to import and only this function needs it

    return xacro.process_file(source, mappings=dict(arguments)).toprettyxml(indent="  ")
