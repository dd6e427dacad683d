"""Making of a robot's URDF from its YAML file."""

from __future__ import annotations

from diffbot_description.loading import share_directory
from diffbot_description.robot import Robot

MOCK_HARDWARE = "mock_components/GenericSystem"


def urdf(robot: Robot, hardware_plugin: str = MOCK_HARDWARE) -> str:
    """Return the URDF of a robot as XML text.

    Runs urdf/robot.urdf.xacro with the robot's YAML file. ``hardware_plugin`` is the class of
    the ros2_control hardware, for example "gz_ros2_control/GazeboSimSystem".
    """
    import xacro  # here, because it is slow to import and only this function needs it

    source = share_directory() / "urdf" / "robot.urdf.xacro"
    arguments = {"robot": str(robot.path), "hardware_plugin": hardware_plugin}
    return xacro.process_file(str(source), mappings=arguments).toprettyxml(indent="  ")
