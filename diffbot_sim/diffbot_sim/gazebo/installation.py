# SPDX-License-Identifier: Apache-2.0
"""Finds Gazebo 11, on this machine or in ./diffbot's private folder, and builds its plugin once.

As a program it builds the plugin, and ends with status 0 when it is ready and 3 if there is no
Gazebo; with --find it only searches for Gazebo.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER_VARIABLE = "DIFFBOT_GAZEBO"
"""Environment variable with the folder of the private Gazebo, in `prefix`, and of the plugin."""

MISSING = (
    "this machine has no Gazebo 11 with its headers: run ./diffbot setup gazebo in a checkout, or "
    "on Ubuntu 22.04 and Debian 11: sudo apt install gazebo libgazebo-dev; or use sim:=mujoco"
)

MULTIARCH = f"{platform.machine()}-linux-gnu"
"""Debian's folder of libraries and headers for this machine's processor."""

_LIBRARIES = Path("usr/lib", MULTIARCH)
_HEADERS = Path("usr/include")
_LIBRARY_FOLDERS = (
    _LIBRARIES,
    _LIBRARIES / "blas",
    _LIBRARIES / "lapack",
    _LIBRARIES / "pulseaudio",
    _LIBRARIES / "gazebo-11/plugins",
    _LIBRARIES / "OGRE-1.9.0",
    Path("usr/lib"),
    Path("lib", MULTIARCH),
)

SOURCE = Path(__file__).with_name("plugin") / "diffbot_gazebo.cc"
NO_GAZEBO = 3

_OPTIONS = ("-std=c++17", "-O2", "-fPIC", "-shared")
_BUILT_LIBRARIES = (
    "libgazebo_physics.so.11",
    "libgazebo_transport.so.11",
    "libgazebo_common.so.11",
)


class GazeboError(ConnectionError):
    """Gazebo did not start, ended, or does not answer; the message states which, and why."""


@dataclass(frozen=True)
class Installation:
    """A Gazebo 11 with the headers that the plugin needs.

    Attributes:
        prefix: Root of the file system that contains it; "/" for the machine's own.
        folder: Folder of the plugin.
    """

    prefix: Path
    folder: Path

    def program(self, name: str) -> str:
        """Return the path of gzserver, gzclient or gz."""
        return str(self.prefix / "usr/bin" / name)

    def is_private(self) -> bool:
        """Whether it is the private Gazebo, not the machine's own."""
        return self.prefix != Path("/")

    def include_folders(self) -> list[Path]:
        """Return the folders of headers that the plugin is compiled with."""
        headers = self.prefix / _HEADERS
        patterns = ("gazebo-11", "gazebo-11/gazebo", "sdformat-9*", "ignition/*")
        results = [folder for pattern in patterns for folder in sorted(headers.glob(pattern))]
        general = [headers, headers / MULTIARCH] if self.is_private() else []
        return results + general

    def library_folder(self) -> Path:
        """Return the folder of the libraries that the plugin is linked with."""
        return self.prefix / _LIBRARIES

    def variables(self, home: Path) -> dict[str, str]:
        """Return the environment variables for its programs, which write into the folder `home`."""
        share, libraries = self.prefix / "usr/share/gazebo-11", self.library_folder()
        variables = {
            # No address: a missing model is an error instead of a download.
            "GAZEBO_MODEL_DATABASE_URI": "",
            "HOME": str(home),
            "XAUTHORITY": os.environ.get("XAUTHORITY", os.path.expanduser("~/.Xauthority")),
            "GAZEBO_IP": "127.0.0.1",
            "IGN_IP": "127.0.0.1",
            "GAZEBO_RESOURCE_PATH": str(share),
            "GAZEBO_MODEL_PATH": str(share / "models"),
            "GAZEBO_PLUGIN_PATH": str(libraries / "gazebo-11/plugins"),
            "OGRE_RESOURCE_PATH": str(libraries / "OGRE-1.9.0"),
        }
        if self.is_private():
            folders = [str(self.prefix / folder) for folder in _LIBRARY_FOLDERS]
            variables["LD_LIBRARY_PATH"] = os.pathsep.join(folders)
            variables["LIBGL_DRIVERS_PATH"] = str(libraries / "dri")
            variables["QT_PLUGIN_PATH"] = str(libraries / "qt5/plugins")
            variables["XKB_CONFIG_ROOT"] = str(self.prefix / "usr/share/X11/xkb")
        return variables


def find_installation() -> Installation | None:
    """Return the private Gazebo 11 or the machine's own; None if there is neither."""
    named = os.environ.get(FOLDER_VARIABLE)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(named or f"{cache}/diffbot/gazebo")
    for prefix in (folder / "prefix", Path("/")):
        headers = (prefix / _HEADERS / "gazebo-11/gazebo/gazebo.hh").is_file()
        if headers and shutil.which(str(prefix / "usr/bin/gzserver")):
            return Installation(prefix, folder)
    return None


def plugin(installation: Installation) -> Path:
    """Return the plugin's file for this Gazebo; it is built, in about 20 s, if it is missing.

    Raises:
        GazeboError: It does not compile; the message has the compiler's output.
    """
    command = _command(installation)
    key = hashlib.sha256(SOURCE.read_bytes() + "\0".join(command).encode()).hexdigest()[:16]
    # Named by source and command, so that no outdated plugin is used.
    file = installation.folder / f"plugin-{key}" / "libdiffbot_gazebo.so"
    if file.is_file():
        return file
    print("building the plugin for Gazebo, once, in about 20 s", file=sys.stderr, flush=True)
    file.parent.mkdir(parents=True, exist_ok=True)
    temporary = file.with_name(f".{file.name}.{os.getpid()}")
    try:
        result = subprocess.run(
            [*command, "-o", str(temporary)], cwd=SOURCE.parent, capture_output=True, text=True
        )
    except FileNotFoundError:
        raise GazeboError(
            f"no C++ compiler {command[0]!r} to build the plugin for Gazebo with: sudo apt install "
            "g++, or set CXX to another"
        ) from None
    if result.returncode != 0:
        raise GazeboError(f"{' '.join(command)}\n{result.stderr.strip()}")
    os.replace(temporary, file)
    return file


def _command(installation: Installation) -> list[str]:
    includes = [word for x in installation.include_folders() for word in ("-isystem", str(x))]
    return [
        *os.environ.get("CXX", "c++").split(),
        *_OPTIONS,
        *includes,
        SOURCE.name,
        # The server that loads the plugin provides the dependencies of these libraries.
        "-Wl,--allow-shlib-undefined",
        f"-L{installation.library_folder()}",
        *(f"-l:{name}" for name in _BUILT_LIBRARIES),
    ]


def main() -> int:
    """Build the plugin; return the exit status."""
    installation = find_installation()
    if installation is None:
        print(MISSING)
        return NO_GAZEBO
    if "--find" in sys.argv[1:]:
        print(installation.prefix)
        return 0
    try:
        print(plugin(installation))
    except OSError as error:
        print(error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
