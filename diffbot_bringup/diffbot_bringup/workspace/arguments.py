"""Refuse a wrong command line before anything is set up for it."""

import difflib
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterable
from pathlib import Path

from diffbot_bringup.workspace.failure import UsageError
from diffbot_bringup.workspace.packages import find_packages

# Of `diffbot test`, which reads this before the packages that it runs are there.
KERNELS = "--kernels"
_SUFFIX = ".launch.xml"


def check_arguments(root: Path, command: str, words: list[str], any_package: bool) -> None:
    """Raise UsageError, which lists what is right, when the words after command are wrong.

    any_package: the environment has packages besides those of this checkout, so that a package
    which is not here may be right. Commands check their other arguments themselves.
    """
    if "-h" in words or "--help" in words:
        return
    if command == "launch":
        _check_launch(root, words)
    elif command == "test":
        packages = words[: words.index("--")] if "--" in words else words
        for word in packages:
            if word != KERNELS:
                _check_one_of("package", word, _package_names(root))
    elif command == "run":
        if not words:
            raise UsageError(f"PACKAGE is missing; packages: {', '.join(_package_names(root))}")
        if not any_package:
            _check_one_of("package", words[0], _package_names(root))
    elif command == "echo":
        if not [word for word in words if not word.startswith("-")]:
            raise UsageError("TOPIC is missing, for example: ./diffbot echo /joint_states --once")
    elif command == "python":
        if not words:
            raise UsageError("FILE is missing, for example: ./diffbot python benchmarks/NAME.py")
    elif command == "identify":
        if not words:
            raise UsageError("FILE is missing, for example: ./diffbot identify my_run.mcap")
    elif command in ("reproduce", "faults"):
        pass  # check their own
    elif command == "setup":
        for word in words:
            _check_one_of("part", word, ["gazebo"])
    elif words:
        raise UsageError(f"{command} takes no arguments, but got: {' '.join(words)}")


def _package_names(root: Path) -> list[str]:
    return [package.name for package in find_packages(root)]


def _check_one_of(what: str, word: str, known: Iterable[str]) -> None:
    names = sorted(known)
    if word in names:
        return
    near = difflib.get_close_matches(word, names, 1)
    hint = f" (did you mean {near[0]}?)" if near else ""
    raise UsageError(f"unknown {what} {word!r}{hint}; known: {', '.join(names) or 'none'}")


def launch_files(root: Path) -> dict[str, Path]:
    """Return {name: file} of the launch files of the checkout."""
    paths = [*root.glob(f"*/launch/*{_SUFFIX}"), *root.glob(f"launch/*{_SUFFIX}")]
    return {path.name.removesuffix(_SUFFIX): path for path in paths}


def _check_launch(root: Path, words: list[str]) -> None:
    if not words:
        return  # lists the launch files
    files = launch_files(root)
    names = [word for word in words if ":=" not in word and not word.startswith("-")]
    if not names:
        raise UsageError(f"NAME is missing; launch files: {', '.join(sorted(files))}")
    if len(names) > 1:
        package = {p.name for p in find_packages(root)}
        if names[0] in package:
            return  # PACKAGE FILE, as `ros2 launch` takes it
        raise UsageError(f"{names[1]!r} is not ARGUMENT:=VALUE; --show-args lists the arguments")
    name = names[0].removesuffix(_SUFFIX)
    if name not in files:
        if Path(names[0]).is_file():
            return
        _check_one_of("launch file", names[0], files)
    _check_launch_arguments(files[name], [word for word in words if ":=" in word])


def _check_launch_arguments(path: Path, words: list[str]) -> None:
    """Check the names only; a file that includes others takes theirs too, and is not checked."""
    try:
        root = ElementTree.parse(path).getroot()
    except ElementTree.ParseError:
        return  # the launch runner names file and line
    if root.find(".//include") is None:
        known = [element.get("name", "") for element in root.iter("arg")]
        for word in words:
            _check_one_of(f"argument of {path.name}", word.split(":=", 1)[0], known)
