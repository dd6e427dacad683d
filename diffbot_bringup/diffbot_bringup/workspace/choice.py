"""Which environment to use: the sourced ROS 2 or the wheels."""

import importlib.util
import os
from pathlib import Path

from diffbot_bringup.workspace.environment import Environment
from diffbot_bringup.workspace.failure import UsageError
from diffbot_bringup.workspace.system import SystemEnvironment
from diffbot_bringup.workspace.wheels import WheelsEnvironment


def choose(root: Path) -> Environment:
    """Return the sourced ROS 2 if there is one, else the wheels; DIFFBOT_ROS overrides."""
    choice = os.environ.get("DIFFBOT_ROS", "")
    if choice not in ("", "wheels", "system"):
        raise UsageError(f"DIFFBOT_ROS is {choice!r}; it must be wheels, system or empty")
    distro = os.environ.get("ROS_DISTRO", "")
    # The wheels set no ROS_DISTRO, so that their own environment is not mistaken for an install.
    sourced = bool(distro) and importlib.util.find_spec("rclpy") is not None
    if choice == "system" and not sourced:
        raise UsageError(
            "DIFFBOT_ROS is system but no ROS 2 is sourced; source /opt/ros/<distro>/setup.bash"
        )
    if sourced and choice != "wheels":
        return SystemEnvironment(root, distro)
    return WheelsEnvironment(root)
