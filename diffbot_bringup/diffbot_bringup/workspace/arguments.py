"""Refuse a wrong command line before anything is set up for it."""

from __future__ import annotations

from pathlib import Path

from diffbot_bringup.usage import UsageError, check_one_of
from diffbot_bringup.workspace.packages import find_packages
from diffbot_bringup.xml_launch.request import understand
from diffbot_bringup.xml_launch.substitutions import Share, installed_share

# Of `diffbot test`, which reads this before the packages that it runs are there.
KERNELS = "--kernels"
_EXAMPLES = {
    "echo": "TOPIC is missing, for example: ./diffbot echo /joint_states --once",
    "python": "FILE is missing, for example: ./diffbot python benchmarks/NAME.py",
    "identify": "FILE is missing, for example: ./diffbot identify my_run.mcap",
}


def check_arguments(root: Path, command: str, words: list[str], any_package: bool) -> None:
    """Raise UsageError, which lists what is right, when the words after command are wrong.

    any_package: the environment has packages besides those of this checkout, so that a package
    which is not here may be right. Commands check their other arguments themselves.
    """
    if "-h" in words or "--help" in words:
        return
    if command == "launch":
        understand(words, _share_of(root, any_package))
    elif command == "test":
        for word in words[: words.index("--")] if "--" in words else words:
            if word != KERNELS:
                check_one_of("package", word, _package_names(root))
    elif command == "run":
        if not words:
            raise UsageError(f"PACKAGE is missing; packages: {', '.join(_package_names(root))}")
        if not any_package:
            check_one_of("package", words[0], _package_names(root))
    elif command in _EXAMPLES:
        # An option of Python's may stand alone.
        if not [word for word in words if command == "python" or not word.startswith("-")]:
            raise UsageError(_EXAMPLES[command])
    elif command == "setup":
        for word in words:
            check_one_of("part", word, ["gazebo"])
    elif words and command == "clean":
        raise UsageError(f"{command} takes no arguments, but got: {' '.join(words)}")


def _package_names(root: Path) -> list[str]:
    return [package.name for package in find_packages(root)]


def _share_of(root: Path, any_package: bool) -> Share:
    """Find packages in the checkout, whose folders hold what is installed as their share."""

    def share(package: str) -> str:
        if (root / package / "package.xml").is_file():
            return str(root / package)
        if any_package:
            return installed_share(package)
        raise ValueError(f"package {package!r} is not in this checkout")

    return share
