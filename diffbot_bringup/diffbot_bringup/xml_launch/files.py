"""Finds the launch files of the suite by name, and tells what each is for."""

from __future__ import annotations

from pathlib import Path

from diffbot_bringup.usage import UsageError, check_one_of
from diffbot_bringup.xml_launch.document import read
from diffbot_bringup.xml_launch.substitutions import Share

SUFFIX = ".launch.xml"
NO_FILES = "no launch files found; is the workspace sourced?"
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


def launch_files(share: Share) -> dict[str, Path]:
    """Return name (without ``.launch.xml``) -> path of the suite's launch files."""
    files: dict[str, Path] = {}
    for package in PACKAGES:
        for path in _of_package(package, share):
            files.setdefault(path.name.removesuffix(SUFFIX), path)
    return dict(sorted(files.items()))


def find(name: str, words: list[str], share: Share) -> tuple[Path, list[str]]:
    """Return the absolute path of a launch file, and the words that are left.

    Args:
        name: of a launch file of the suite (``ident`` or ``ident.launch.xml``), a path, or a
            package whose launch file is the first word, as `ros2 launch` takes it.
        words: that follow it on the command line.
        share: finds the packages.

    Raises:
        UsageError: there is none; it lists the known names.
    """
    if words and ":=" not in words[0]:
        files = {path.name: path for path in _of_package(name, share)}
        if words[0] in files:
            return files[words[0]].absolute(), words[1:]
    path = Path(name).absolute()
    if "/" in name:
        if path.is_file():
            return path, words
        raise UsageError(f"launch file {path} does not exist")
    files = launch_files(share)
    if (short := name.removesuffix(SUFFIX)) in files:
        return files[short].absolute(), words
    if not path.is_file():
        if not files:
            raise UsageError(NO_FILES)
        check_one_of("launch file", name, files, "the launch files are")
    return path, words


def headline(path: Path) -> str:
    """Return the first line of the first comment that is not a copyright notice."""
    for comment in read(path).comments:
        line = next((line.strip() for line in comment.splitlines() if line.strip()), "")
        if line and not line.startswith(("Copyright", "SPDX")):
            return line
    return ""


def _of_package(package: str, share: Share) -> list[Path]:
    """Return the launch files of one package; none where it is not installed."""
    try:
        return sorted(Path(share(package), "launch").glob(f"*{SUFFIX}"))
    except ValueError:
        return []
