# SPDX-License-Identifier: Apache-2.0
"""The environment of a sourced ROS 2, environment variables, stamps of finished steps."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from diffbot_bringup.workspace.process import SetupError

PATHS = (
    "PATH",
    "PYTHONPATH",
    "LD_LIBRARY_PATH",
    "AMENT_PREFIX_PATH",
    "CMAKE_PREFIX_PATH",
    "COLCON_PREFIX_PATH",
)

PYTHON_ONLY = Path(__file__).with_name("python_only.cmake")
"""File for CMake: interface packages without their C++ part."""

_RANGE = "ROS_AUTOMATIC_DISCOVERY_RANGE"
_CONFIG = Path(__file__).resolve().parents[2] / "config"
# Variables of a profile of Fast DDS 2 and 3, and profiles that bind it to the loopback interface.
# With the range _AS_PROFILE ROS 2 leaves the profile unchanged; LOCALHOST adds shared memory, and
# sockets that listen on all interfaces.
_PROFILE_2, _PROFILE_3 = "FASTRTPS_DEFAULT_PROFILES_FILE", "FASTDDS_DEFAULT_PROFILES_FILE"
_PROFILES = {
    _PROFILE_2: str(_CONFIG / "fastdds2_local.xml"),
    _PROFILE_3: str(_CONFIG / "fastdds_local.xml"),
}
_AS_PROFILE = "SYSTEM_DEFAULT"
# Each of these, if not empty, sets how far discovery reaches.
_CHOICES = {_RANGE, "ROS_LOCALHOST_ONLY", "ROS_STATIC_PEERS", "ROS_DISCOVERY_SERVER"}
_CHOICES |= {*_PROFILES, "CYCLONEDDS_URI"}
# Transports of Fast DDS without a profile: no shared memory (docs/safety.md).
_TRANSPORTS = {"FASTDDS_BUILTIN_TRANSPORTS": "UDPv4"}

Paths = dict[str, list[str]]
"""Variable -> the entries to prepend to it."""


def prepend(environment: Mapping[str, str], paths: Paths) -> dict[str, str]:
    """Return the environment with the entries of `paths` prepended, each entry once."""
    result = dict(environment)
    for name, entries in paths.items():
        old = [entry for entry in result.get(name, "").split(os.pathsep) if entry]
        result[name] = os.pathsep.join(dict.fromkeys([*entries, *old]))
    return result


def without_other_ros(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the settings of a sourced ROS 2, which disturb wheels."""
    prefixes = tuple(p for p in environment.get("AMENT_PREFIX_PATH", "").split(os.pathsep) if p)
    foreign = {"PYTHONPATH", "PYTHONHOME", "AMENT_PREFIX_PATH", "CMAKE_PREFIX_PATH"}
    foreign |= {"COLCON_PREFIX_PATH", "ROS_DISTRO", "ROS_VERSION", "ROS_PYTHON_VERSION"}
    chosen = without_sourced_range(environment)
    result = {name: value for name, value in chosen.items() if name not in foreign}
    for name in ("PATH", "LD_LIBRARY_PATH"):
        entries = result.get(name, "").split(os.pathsep)
        own = [e for e in entries if e and not (prefixes and e.startswith(prefixes))]
        if name in result:
            result[name] = os.pathsep.join(own)
    return result


def with_defaults(
    environment: Mapping[str, str], distro: str, *, fast_dds: bool = True
) -> dict[str, str]:
    """Return the environment with discovery limited to this machine, unless the user has chosen.

    A robot in the same network must not move because somebody tries a simulation. `distro` is the
    ROS 2 whose nodes are started: Humble knows only ROS_LOCALHOST_ONLY, which Kilted ignores. If
    the user has opened discovery, Fast DDS runs without shared memory. Without `fast_dds`, the user
    has another middleware, for which only the range is set.
    """
    result = {name: value for name, value in environment.items() if name not in _CHOICES or value}
    if any(result.get(name) == own for name, own in _PROFILES.items()):  # by an enclosing call
        ours = {_RANGE: _AS_PROFILE, **_PROFILES}
        result = {name: value for name, value in result.items() if ours.get(name) != value}
    chosen = _CHOICES & result.keys()
    if distro == "humble":
        return result if chosen else {**result, "ROS_LOCALHOST_ONLY": "1"}
    if result.get("ROS_LOCALHOST_ONLY") == "1":
        del result["ROS_LOCALHOST_ONLY"]
        result.setdefault(_RANGE, "LOCALHOST")
    # Static peers do not need the rest of the network.
    if chosen <= {"ROS_STATIC_PEERS"}:
        result[_RANGE] = "LOCALHOST"
    others = _CHOICES - {_RANGE, "ROS_LOCALHOST_ONLY"}
    if not fast_dds:
        return result
    if result.get(_RANGE) == "LOCALHOST" and not others & result.keys():
        variable = _PROFILE_2 if distro in ("iron", "jazzy") else _PROFILE_3
        result |= {_RANGE: _AS_PROFILE, variable: _PROFILES[variable]}
    return result if result.keys() & {*_PROFILES} else {**_TRANSPORTS, **result}


def without_sourced_range(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the range that sourcing ROS 2, from Jazzy on, sets."""
    result = dict(environment)
    by_itself = result.get("ROS_DISTRO") and result.get("ROS_LOCALHOST_ONLY") != "0"
    if by_itself and result.get(_RANGE) == "SUBNET":
        del result[_RANGE]
    return result


def read_hooks(install: Path, python: Path, base: Mapping[str, str]) -> Paths:
    """Return the entries that the workspace's local_setup.sh prepends to the path variables."""
    bare = {"PATH": base.get("PATH", os.defpath), "COLCON_CURRENT_PREFIX": str(install)}
    # colcon's script uses this path unquoted.
    plain = (
        str(python) if " " not in str(python) else getattr(sys, "_base_executable", sys.executable)
    )
    bare["COLCON_PYTHON_EXECUTABLE"] = plain
    for name in ("LD_LIBRARY_PATH", "_ROS_WHEELS_BOOTSTRAP_COMPLETE"):
        if name in base:
            bare[name] = base[name]
    script = 'set -e; . "$COLCON_CURRENT_PREFIX/local_setup.sh"; env -0'
    output = subprocess.run(["sh", "-c", script], env=bare, capture_output=True, check=True)
    after = dict(
        entry.split("=", 1) for entry in output.stdout.decode().split("\0") if "=" in entry
    )
    hooks = {}
    for name in PATHS:
        before = set(bare.get(name, "").split(os.pathsep))
        entries = [e for e in after.get(name, "").split(os.pathsep) if e and e not in before]
        if entries:
            hooks[name] = entries
    return hooks


def digest(*parts: str | bytes) -> str:
    """Return a hash of the parts and their boundaries."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.hexdigest()


class Stamps:
    """One small file per finished step, with the key that the step was done for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def is_current(self, step: str, key: str) -> bool:
        return self.key(step) == key

    def key(self, step: str) -> str | None:
        """Return the key that the step was finished with, or None if it was not finished."""
        try:
            return (self._directory / step).read_text()
        except OSError:
            return None

    def set(self, step: str, key: str) -> None:
        """Mark the step as finished; a key cut short by a kill matches none."""
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / step).write_text(key)

    def clear(self, step: str) -> None:
        """Unmark the step; called before it starts."""
        (self._directory / step).unlink(missing_ok=True)

    def names(self) -> list[str]:
        return sorted(path.name for path in self._directory.glob("[!.]*"))


# Module -> its Debian package; None if Debian has none.
_MODULES = {
    "rclpy": "ros-{distro}-rclpy",
    "xacro": "ros-{distro}-xacro",
    "yaml": "python3-yaml",
    "numpy": "python3-numpy",
    "scipy": "python3-scipy",
    "matplotlib": "python3-matplotlib",
    "PIL": "python3-pil",
    "rich": "python3-rich",
    "pytest": "python3-pytest",
    "hypothesis": "python3-hypothesis",
    "mujoco": None,
}


class SystemEnvironment:
    """A ROS 2 install that the user has sourced.

    Attributes:
        title: Description for the user.
        directory: Folder with build, install, log and stamps of this environment.
        python: The interpreter that nodes and colcon run with.
        cmake_arguments: CMake arguments for every package that CMake builds.
        sites: Folders of the Python packages.
    """

    def __init__(self, root: Path, distro: str) -> None:
        self._distro = distro
        self.directory = root / ".diffbot" / distro
        self.python = Path(sys.executable)
        self.sites = [Path(folder) for folder in sys.path if folder]
        self.title = f"the sourced ROS 2 {distro.capitalize()}"
        self.cmake_arguments = ["-GNinja"] if shutil.which("ninja") else []
        # Without this workspace, which may be sourced.
        sourced = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
        self._prefixes = [p for p in sourced if p and not p.startswith(f"{root}{os.sep}")]

    def key(self) -> str:
        """Return a hash of the folder, the Python and the sourced prefixes."""
        return digest(str(self.directory), sys.base_prefix, *self._prefixes)

    def is_ready(self) -> bool:
        return not self.missing()

    def missing(self) -> list[str]:
        names = [name for name in _MODULES if importlib.util.find_spec(name) is None]
        return names if shutil.which("colcon") else [*names, "colcon"]

    def prepare(self, lock: int) -> None:
        """Raise SetupError with one line that states what to install; nothing is made here."""
        missing = self.missing()
        if not missing:
            return
        debian = {**_MODULES, "colcon": "python3-colcon-common-extensions"}
        packages = [p.format(distro=self._distro) for name in missing if (p := debian[name])]
        others = [name for name in missing if debian[name] is None]
        commands = []
        if packages:
            commands.append(f"sudo apt install {' '.join(packages)}")
        if others:
            # Debian 12, Ubuntu 24.04 and newer refuse pip outside of virtual environments.
            pip = "PIP_BREAK_SYSTEM_PACKAGES=1 python3 -m pip install --user"
            commands.append(f"{pip} {' '.join(others)}")
        raise SetupError(
            f"{self.title} lacks {', '.join(missing)}; install with: {' && '.join(commands)} "
            "(or run DIFFBOT_ROS=jazzy ./diffbot ..., which brings its own)"
        )

    def variables(self, user: Mapping[str, str]) -> dict[str, str]:
        """Return the user's variables; the middleware is the user's choice, too."""
        middleware = user.get("RMW_IMPLEMENTATION") or "rmw_fastrtps_cpp"
        fast_dds = middleware.startswith("rmw_fastrtps") and self.has_package(middleware)
        own = without_sourced_range(user)
        return with_defaults(own, self._distro, fast_dds=fast_dds)

    def has_package(self, name: str) -> bool:
        index = f"share/ament_index/resource_index/packages/{name}"
        return any(Path(prefix, index).exists() for prefix in self._prefixes)
