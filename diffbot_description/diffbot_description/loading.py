"""Finding and reading of robot files."""

from __future__ import annotations

import functools
import os
from pathlib import Path

from ament_index_python.packages import get_package_share_directory

from diffbot_description.consistency import check_consistency
from diffbot_description.robot import Robot
from diffbot_description.sections import read_section
from diffbot_description.strict_yaml import parse_yaml, read_text

PACKAGE = "diffbot_description"
SUFFIXES = (".yaml", ".yml")


def share_directory() -> Path:
    """Return the directory with config/, urdf/, launch/ and rviz/ of the installed package."""
    return Path(get_package_share_directory(PACKAGE))


def known_robots() -> list[str]:
    """Return the names of the robots that come with the package."""
    return sorted(path.stem for path in (share_directory() / "config").glob("*.yaml"))


def load_robot(robot: str | os.PathLike[str]) -> Robot:
    """Return the robot of that name or file.

    ``robot`` is the name of a robot of the package ("twil", "agv") or the path of a YAML file
    that ends in .yaml or .yml. Raises ValueError for an unknown robot (lists the known ones) and
    for every fault of a file: names file, field, value, limit and what to change.
    """
    path = _find(robot)
    return _parsed(path, read_text(path))


@functools.lru_cache(maxsize=32)
def _parsed(path: Path, text: str) -> Robot:
    """The robot, made once per text: robots cannot be changed, and YAML is slow to read."""
    try:
        result = read_section(Robot, parse_yaml(text), path=path)
        check_consistency(result)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error
    return result


def _find(robot: str | os.PathLike[str]) -> Path:
    text = os.fspath(robot)
    path = Path(text).expanduser().absolute()
    if text.endswith(SUFFIXES):
        if path.exists():
            return path
        raise ValueError(f"robot file {path} does not exist. Check the path.")
    if text in known_robots():
        return share_directory() / "config" / f"{text}.yaml"
    what = f"robot '{text}' is a folder" if path.is_dir() else f"unknown robot '{text}'"
    raise ValueError(
        f"{what}. Known robots: {', '.join(known_robots())}; "
        "or give the path of your own file, ending in .yaml."
    )
