# SPDX-License-Identifier: Apache-2.0
"""What the tests of Gazebo share: who runs, and installations with another server."""

import math
import os
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from diffbot_sim.engines import gazebo_engine
from diffbot_sim.gazebo.installation import Installation


def state(sim):
    return np.array([*sim.velocity(), *sim.pose(), *sim.wheel_angles(), *sim.wheel_velocities()])


def gentle(amplitude, k):
    """Torques of a manoeuvre with turns both ways, forwards and backwards; period 10 ms."""
    t = 0.01 * k
    common, difference = 0.5 * math.sin(1.3 * t), 0.3 * math.sin(4.1 * t)
    return amplitude * (common + difference), amplitude * (common - difference)


def runs(number):
    """Whether a process runs; one that has ended and was not asked for its status does not."""
    try:
        text = Path(f"/proc/{number}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


def children(parent=None):
    """(number, name) of the processes that a process, by default this one, has started."""
    results = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            text = Path(f"/proc/{entry}/stat").read_text()
        except OSError:
            continue
        name = text[text.index("(") + 1 : text.rindex(")")]
        if int(text.rpartition(")")[2].split()[1]) == (parent or os.getpid()) and runs(entry):
            results.append((int(entry), name))
    return results


def servers(parent=None):
    """Numbers of the Gazebo servers that a process, by default this one, has started."""
    return [number for number, name in children(parent) if name.startswith("gzserver")]


@dataclass(frozen=True)
class OtherServer(Installation):
    """A Gazebo with a script of ours in place of gzserver; {real} in it is the real one."""

    script: str = field(default="", kw_only=True)

    def program(self, name):
        real = super().program(name)
        if name != "gzserver":
            return real
        file = self.folder / "gzserver"
        file.write_text(f"#!/bin/sh\n{self.script.format(real=real)}\n")
        file.chmod(0o755)
        return str(file)


def use_server(monkeypatch, gazebo, folder, script):
    """Let the engine start the script instead of gzserver."""
    plugin = gazebo_engine.plugin(gazebo)
    other = OtherServer(gazebo.prefix, folder, script=script)
    monkeypatch.setattr(gazebo_engine, "find_installation", lambda: other)
    monkeypatch.setattr(gazebo_engine, "plugin", lambda installation: plugin)
