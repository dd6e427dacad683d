"""What the camera in Gazebo's world needs: a display to draw on, and time to begin."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from diffbot_sim.gazebo.installation import GazeboError

# Wall time that the first picture may take, s, and how often it is looked for.
PATIENCE = 60.0
LOOK_PERIOD = 0.05


def start_display(run: Callable[..., object], last_words: Callable[[], str]) -> str:
    """Start an X server that shows nothing, and return its name.

    Args:
        run: starts a program; its path, its arguments, and a file descriptor that it inherits.
        last_words: gives what it has said.

    Raises:
        GazeboError: there is none on this machine, or it did not start.
    """
    program = shutil.which("Xvfb")
    if program is None:
        raise GazeboError(
            "the camera needs a display, and DISPLAY is not set: sudo apt install xvfb, which is "
            "then used, or do without pictures"
        )
    ours, theirs = os.pipe()
    with open(ours) as answer:
        words = ["-displayfd", str(theirs), "-screen", "0", "1280x1024x24", "-nolisten", "tcp"]
        run(program, words, theirs)
        os.close(theirs)
        number = answer.readline().strip()
    if not number:
        raise GazeboError(
            "Xvfb did not start, the display for the camera: set DISPLAY to another; its last "
            f"words:\n{last_words()}"
        )
    return f":{number}"


def wait_for_picture(folder: Path, look_around: Callable[[], None]) -> None:
    """Return when the camera has begun to fill the folder.

    Args:
        folder: of the pictures; it may hold older ones.
        look_around: called again and again; raises what else goes wrong.

    Raises:
        GazeboError: there is no new picture after PATIENCE.
    """
    before = _newest(folder)
    end = time.monotonic() + PATIENCE
    while _newest(folder) == before:
        look_around()
        if time.monotonic() > end:
            raise GazeboError(
                f"the camera has taken no picture for {PATIENCE:g} s: Gazebo cannot draw on the "
                "display; unset DISPLAY to draw on one that nobody sees"
            )
        time.sleep(LOOK_PERIOD)


def _newest(folder: Path) -> float:
    """When the newest file of a folder was written; 0 without one."""
    return max((file.stat().st_mtime for file in folder.glob("*")), default=0.0)
