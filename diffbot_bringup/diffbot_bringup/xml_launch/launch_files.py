"""Finds launch files of the suite by name, and lists them."""

from __future__ import annotations

from pathlib import Path

from ament_index_python.packages import (
    PackageNotFoundError,
    get_package_share_directory,
)

from diffbot_bringup.xml_launch.document import read
from diffbot_bringup.xml_launch.errors import LaunchError, suggestion

# Where a bare NAME is looked up, in this order.
PACKAGES = (
    "diffbot_bringup",
    "diffbot_description",
    "diffbot_sim",
    "diffbot_ident",
    "diffbot_controllers",
    "arc_odometry",
    "pose2d_trajectories",
)
SUFFIX = ".launch.xml"


def all_files() -> dict[str, Path]:
    """Return name (without ``.launch.xml``) -> path of the suite's launch files."""
    files: dict[str, Path] = {}
    for package in PACKAGES:
        for path in package_files(package):
            files.setdefault(path.name.removesuffix(SUFFIX), path)
    return files


def package_files(package: str) -> list[Path]:
    """Return the launch files of one package; nothing when the package is not installed."""
    try:
        share = get_package_share_directory(package)
    except (PackageNotFoundError, LookupError, OSError, ValueError):
        return []
    return sorted(Path(share, "launch").glob(f"*{SUFFIX}"))


def find(name: str) -> Path:
    """Return the absolute path of a launch file.

    `name` is a launch name of the suite (``ident`` or ``ident.launch.xml``) or a path.
    Raises LaunchError that lists the known names.
    """
    path = Path(name).absolute()
    if "/" in name:
        if path.is_file():
            return path
        raise LaunchError(f"launch file {path} does not exist")
    files = all_files()
    short = name.removesuffix(SUFFIX)
    if short in files:
        return files[short].absolute()
    if path.is_file():
        return path
    raise LaunchError(
        f"unknown launch file {name!r}{suggestion(short, files)}; "
        f"the launch files are: {', '.join(sorted(files)) or 'none (is the workspace sourced?)'}"
    )


def headline(path: Path) -> str:
    """Return the first line of the first comment that is not a copyright notice."""
    for comment in read(path).comments:
        line = next((line.strip() for line in comment.splitlines() if line.strip()), "")
        if line and not line.startswith(("Copyright", "SPDX")):
            return line
    return ""
