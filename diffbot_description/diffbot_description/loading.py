# SPDX-License-Identifier: Apache-2.0
"""Robots by name or file: finding, reading, checking and writing of robot files; their URDF."""

from __future__ import annotations

import functools
import os
from dataclasses import MISSING, fields, is_dataclass, replace
from enum import Enum
from numbers import Integral, Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from diffbot_description.files import parse_yaml, read_text, write_atomically
from diffbot_description.named_paths import expanded
from diffbot_description.robot import Robot
from diffbot_description.robot_parsing import ROUNDING, robot_from
from diffbot_description.urdf_appearance import shapes_file, with_shapes
from diffbot_description.urdf_files import URDF_SUFFIXES

PACKAGE = "diffbot_description"
SUFFIXES = (".yaml", ".yml")


def share_directory() -> Path:
    """Return the directory with config/ and urdf/ of the installed package."""
    own = Path(__file__).with_name("share")
    if own.is_dir():  # installed with pip, without ROS
        return own
    from ament_index_python.packages import get_package_share_directory

    return Path(get_package_share_directory(PACKAGE))


def known_robots() -> list[str]:
    """Return the names of the robots that are part of the package.

    Example:
        >>> known_robots()
        ['agv', 'turtlebot2', 'twil']
    """
    return sorted(path.stem for path in (share_directory() / "config").glob("*.yaml"))


def load_robot(robot: str | os.PathLike[str]) -> Robot:
    """Return the robot with a name ("twil", "agv"), or of a .yaml, .yml, .urdf or .xacro file.

    Raises:
        ValueError: The robot is unknown, or its file is wrong; the message states file, field,
            value, limit and what to change.

    Example:
        >>> robot = load_robot("twil")
        >>> robot.geometry
        WheelGeometry(left_radius=0.075, right_radius=0.075, separation=0.27217)
    """
    path = _find(robot)
    return _parsed(path, read_text(path))


@functools.lru_cache(maxsize=32)
def _parsed(path: Path, text: str) -> Robot:
    try:
        return robot_from(parse_yaml(text), path)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _find(robot: str | os.PathLike[str]) -> Path:
    text = os.fspath(robot)
    path = expanded(text).absolute()
    if text.endswith(SUFFIXES):
        if path.exists():
            return path
        raise ValueError(f"robot file {path} does not exist. Check the path.")
    if text.endswith(URDF_SUFFIXES):
        from diffbot_description.described_robot import robot_file_for  # it imports this module

        return robot_file_for(path)
    if text in known_robots():
        return share_directory() / "config" / f"{text}.yaml"
    what = f"robot '{text}' is a folder" if path.is_dir() else f"unknown robot '{text}'"
    raise ValueError(
        f"{what}. Known robots: {', '.join(known_robots())}; "
        "or give the path of your own file, ending in .yaml, .urdf or .xacro."
    )


def save_robot(robot: Robot, path: str | os.PathLike[str]) -> Path:
    """Write the file of a robot, such as one changed in code; return its path.

    The path ends in .yaml or .yml; its folder is created.

    Raises:
        ValueError: The robot violates a rule of robot files, or the path is wrong; nothing is
            written.
        OSError: The file cannot be written.

    Example:
        >>> from tempfile import TemporaryDirectory
        >>> robot = load_robot("twil")
        >>> heavy = replace(robot, body=replace(robot.body, mass=10.0))
        >>> with TemporaryDirectory() as folder:
        ...     load_robot(save_robot(heavy, f"{folder}/heavy.yaml")).body.mass
        10.0
    """
    file = expanded(path).absolute()
    if file.suffix not in SUFFIXES:
        raise ValueError(f"robot file {file}: its name must end in {' or '.join(SUFFIXES)}")
    data = robot_data(robot)
    try:
        robot_from(data, file)
    except ValueError as error:
        raise ValueError(f"robot '{robot.name}' was not written: {error}") from None
    return write_atomically(file, robot_text(data))


def robot_data(robot: Robot) -> dict[str, Any]:
    """Return the content of a file that describes this robot, without default values."""
    data: dict[str, Any] = _plain(robot)
    del data["path"]
    for side, names in data["joints"].items():
        if side != "signs" and len(names) == 1:  # a single name is written without a list
            data["joints"][side] = names[0]
    if robot.appearance.urdf is not None:
        data["appearance"]["urdf"] = str(shapes_file(robot).absolute())
    return data


def robot_text(data: dict[str, Any]) -> str:
    """Return the content of a robot file as YAML text."""
    text: str = yaml.safe_dump(_plain(data), sort_keys=False, default_flow_style=None)
    return text


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        entries = [(entry, getattr(value, entry.name)) for entry in fields(value)]
        return {
            entry.name: _plain(part)
            for entry, part in entries
            if entry.default is MISSING or part != entry.default
        }
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [_plain(part) for part in value]
    if isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    return value


MOCK_HARDWARE = "mock_components/GenericSystem"
SIMULATORS = ("none", "gz", "gz_ros2_control", "gazebo_ros")


def urdf(
    robot: Robot,
    hardware_plugin: str = MOCK_HARDWARE,
    simulator: str = "none",
    controllers: str = "",
) -> str:
    """Return the URDF of a robot, as it is in memory, as XML text.

    Args:
        hardware_plugin: Class of the ros2_control hardware.
        simulator: Simulator whose plugins are added, see SIMULATORS.
        controllers: Path of the controllers' YAML, for those with ros2_control.

    Raises:
        ValueError: The simulator is unknown, the ``appearance.urdf`` cannot be read, or the robot
            has no URDF.

    Example:
        >>> urdf(load_robot("agv")).startswith("<?xml")
        True
    """
    if simulator not in SIMULATORS:
        raise ValueError(f"simulator {simulator!r}: must be one of {', '.join(SIMULATORS)}")
    if simulator != "none" and len(robot.joints.names) > 2:
        raise ValueError(
            f"robot '{robot.name}' has the joints {', '.join(robot.joints.names)}: simulator "
            f"{simulator} moves one joint on each side; use sim:=ideal or sim:=mujoco, or the "
            "robot's own URDF"
        )
    text = _generated(
        str(share_directory() / "urdf" / "robot.urdf.xacro"),
        robot_text(robot_data(with_rotors_in_wheels(robot))),
        ("hardware_plugin", hardware_plugin),
        ("simulator", simulator),
        ("controllers", controllers),
    )
    return text if robot.appearance.urdf is None else with_shapes(text, robot)


def with_rotors_in_wheels(robot: Robot) -> Robot:
    """Return the robot with wheels and body that are solids of the same K5 to K8.

    In a URDF, without rotors, a solid wheel with J about its axle has at least J / 2 about the
    vertical; what is too much is taken from the body, or else ValueError.
    """
    wheels, inertia = robot.wheels, robot.body.inertia
    if wheels.inertia_spin <= 2 * wheels.inertia_yaw * (1 + ROUNDING):
        return robot
    more = 2 * (wheels.inertia_spin / 2 - wheels.inertia_yaw)
    yaw = inertia.yaw - more
    if not yaw > 0:
        raise ValueError(
            f"robot '{robot.name}': wheels.inertia_spin = {wheels.inertia_spin:.4g} kg m^2 must be "
            f"below body.inertia.yaw + 2 wheels.inertia_yaw = "
            f"{inertia.yaw + 2 * wheels.inertia_yaw:.4g} kg m^2 for a URDF, which has no rotors. "
            "Use sim:=mujoco or sim:=ideal, which need no URDF of them."
        )
    return replace(
        robot,
        wheels=replace(wheels, inertia_yaw=wheels.inertia_spin / 2),
        body=replace(robot.body, inertia=inertia.with_yaw(yaw)),
    )


@functools.lru_cache(maxsize=32)
def _generated(source: str, content: str, *arguments: tuple[str, str]) -> str:
    """Return the URDF, cached by the content of a robot file: xacro takes a tenth of a second."""
    import xacro  # here, because it is slow to import and only this function needs it

    with TemporaryDirectory() as folder:
        file = Path(folder) / "robot.yaml"
        file.write_text(content, encoding="utf-8")
        mappings = {"robot": str(file), **dict(arguments)}
        text: str = xacro.process_file(source, mappings=mappings).toprettyxml(indent="  ")
    return text
