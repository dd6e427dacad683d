"""Build the plugin for the Gazebo that is there, once.

As a program it ends with status 0 when the plugin is ready and 3 where there is no Gazebo; with
--find it only looks for Gazebo.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

from diffbot_sim.gazebo.installation import (
    MISSING,
    GazeboError,
    Installation,
    find_installation,
)

SOURCE = Path(__file__).with_name("plugin") / "diffbot_gazebo.cc"
NO_GAZEBO = 3

_OPTIONS = ("-std=c++17", "-O2", "-fPIC", "-shared")
_LIBRARIES = ("libgazebo_physics.so.11", "libgazebo_transport.so.11", "libgazebo_common.so.11")


def plugin(installation: Installation) -> Path:
    """Return the plugin's file for this Gazebo; it is built, in about 20 s, if it is missing.

    Raises:
        GazeboError: the compiler refuses it; the message holds what it says.
    """
    command = _command(installation)
    key = hashlib.sha256(SOURCE.read_bytes() + "\0".join(command).encode()).hexdigest()[:16]
    # The name changes with the source, so that an old plugin is never taken for a new one.
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
    # As system headers, whose warnings are not ours.
    includes = [word for x in installation.include_folders() for word in ("-isystem", str(x))]
    return [
        *os.environ.get("CXX", "c++").split(),
        *_OPTIONS,
        *includes,
        SOURCE.name,
        # What the libraries themselves need is found by the server that loads the plugin.
        "-Wl,--allow-shlib-undefined",
        f"-L{installation.library_folder()}",
        *(f"-l:{name}" for name in _LIBRARIES),
    ]


def main() -> int:
    """Build the plugin; returns the exit status."""
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
