"""Where Gazebo 11 is: on this machine, or in a private folder that ./diffbot has made."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

FOLDER_VARIABLE = "DIFFBOT_GAZEBO"
"""Names the folder that holds the private Gazebo, in `prefix`, and the plugin."""

MISSING = (
    "this machine has no Gazebo 11 with its headers: run ./diffbot setup gazebo in a checkout, or "
    "on Ubuntu 22.04 and Debian 11: sudo apt install gazebo libgazebo-dev; or use sim:=mujoco"
)

_LIBRARIES = Path("usr/lib/x86_64-linux-gnu")
_HEADERS = Path("usr/include")
# Every folder in which the private Gazebo has libraries, relative to the prefix.
_LIBRARY_FOLDERS = (
    _LIBRARIES,
    _LIBRARIES / "blas",
    _LIBRARIES / "lapack",
    _LIBRARIES / "pulseaudio",
    _LIBRARIES / "gazebo-11/plugins",
    _LIBRARIES / "OGRE-1.9.0",
    Path("usr/lib"),
    Path("lib/x86_64-linux-gnu"),
)


class GazeboError(ConnectionError):
    """Gazebo did not start, ended, or does not answer; the message says which, and why."""


@dataclass(frozen=True)
class Installation:
    """A Gazebo 11 with the headers that the plugin needs.

    Attributes:
        prefix: root of the file system that it is in; "/" for the machine's own.
        folder: where the plugin is kept.
    """

    prefix: Path
    folder: Path

    def program(self, name: str) -> str:
        """Return the path of gzserver, gzclient or gz."""
        return str(self.prefix / "usr/bin" / name)

    def is_private(self) -> bool:
        """Tell whether it is not the machine's own."""
        return self.prefix != Path("/")

    def include_folders(self) -> list[Path]:
        """Return the folders of headers that the plugin is compiled with."""
        headers = self.prefix / _HEADERS
        patterns = ("gazebo-11", "gazebo-11/gazebo", "sdformat-9*", "ignition/*")
        found = [folder for pattern in patterns for folder in sorted(headers.glob(pattern))]
        # The machine's own are where the compiler looks anyway.
        general = [headers, headers / "x86_64-linux-gnu"] if self.is_private() else []
        return found + general

    def library_folder(self) -> Path:
        """Return the folder of the libraries that the plugin is linked with."""
        return self.prefix / _LIBRARIES

    def variables(self, home: Path) -> dict[str, str]:
        """Return the environment variables that its programs need, and nothing else may have.

        Args:
            home: folder for what they write; else each run would leave files in ~/.gazebo.
        """
        share, libraries = self.prefix / "usr/share/gazebo-11", self.library_folder()
        variables = {
            # No address: a model that is missing is an error and not a download.
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
            # Software rendering, and keyboard layouts for the windows.
            variables["LIBGL_DRIVERS_PATH"] = str(libraries / "dri")
            variables["QT_PLUGIN_PATH"] = str(libraries / "qt5/plugins")
            variables["XKB_CONFIG_ROOT"] = str(self.prefix / "usr/share/X11/xkb")
        return variables


def find_installation() -> Installation | None:
    """Return the machine's own Gazebo 11 or the private one; None where there is neither."""
    named = os.environ.get(FOLDER_VARIABLE)
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = Path(named or f"{cache}/diffbot/gazebo")
    for prefix in (folder / "prefix", Path("/")):
        headers = (prefix / _HEADERS / "gazebo-11/gazebo/gazebo.hh").is_file()
        if headers and shutil.which(str(prefix / "usr/bin/gzserver")):
            return Installation(prefix, folder)
    return None
