# SPDX-License-Identifier: Apache-2.0
"""What ``<diffbot_robot/>`` in launch files does: which kind of robot a launch is for.

`kind` (effort or velocity) is what the first of the arguments `commands`, `sim` and `robot` says,
and none with robot:=auto, which commands no robot; `sim` is set where it is auto.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.arguments import AUTO
from diffbot_bringup.xml_launch.substitutions import Share
from diffbot_description.command_kind import CommandKind, stated_kind
from diffbot_description.named_paths import expanded

_NO_SIMULATOR = (AUTO, "none")
_SIMULATORS = {CommandKind.EFFORT: "mujoco", CommandKind.VELOCITY: "velocity"}
_TAKES = {CommandKind.EFFORT: "torques", CommandKind.VELOCITY: "velocities (cmd_vel)"}


def kind_and_simulator(values: Mapping[str, Any], share: Share) -> dict[str, str]:
    """Return `kind` and `sim` for the arguments `commands`, `sim` and `robot`.

    Raises:
        UsageError: One is not declared, or two contradict each other; the text says which, and
            what to change.
    """
    if missing := [name for name in ("commands", "sim", "robot") if name not in values]:
        raise UsageError(f"<diffbot_robot/> needs <arg name={missing[0]!r}/> before it")
    asked, sim, robot = (str(values[name]) for name in ("commands", "sim", "robot"))
    if robot == AUTO:
        if sim not in _NO_SIMULATOR:
            raise UsageError(
                f"argument 'robot' is 'auto', to make a file from the topics of a real robot, but "
                f"sim is {sim!r}; give sim:=none"
            )
        return {"kind": "none", "sim": "none"}
    simulated = next((kind for kind, own in _SIMULATORS.items() if own == sim), CommandKind.EFFORT)
    stated = _stated(robot, share)
    sources = [
        ("commands", None if asked == AUTO else CommandKind(asked)),
        ("sim", None if sim in _NO_SIMULATOR else simulated),
        ("robot", stated),
    ]
    known = [(name, kind) for name, kind in sources if kind is not None]
    name, kind = known[0] if known else ("", CommandKind.EFFORT)
    for other, contrary in known[1:]:
        if contrary is not kind:
            raise UsageError(
                f"argument {name!r} is {values[name]!r}, for a robot that takes {_TAKES[kind]}, "
                f"but {other} {values[other]!r} takes {_TAKES[contrary]}"
                + (
                    f": its file states drive.command = {contrary.value}; leave {name}:= out, or "
                    "correct the file"
                    if other == "robot"
                    else f"; leave one of {name}:= and {other}:= out"
                )
            )
    return {"kind": kind.value, "sim": _SIMULATORS[kind] if sim == AUTO else sim}


def _stated(robot: str, share: Share) -> CommandKind | None:
    """Return the kind that a robot's file states; None if it states none, or is refused anyway."""
    from diffbot_description.files import parse_yaml, read_text  # imported late: loads yaml

    path = expanded(robot).absolute()
    try:
        if path.suffix in (".urdf", ".xacro"):
            from diffbot_description import load_robot  # imported late: NumPy loads slowly

            return load_robot(path).drive.command
        if path.suffix not in (".yaml", ".yml"):
            path = Path(share("diffbot_description"), "config", f"{robot}.yaml")
        return stated_kind(parse_yaml(read_text(path)))
    except (ValueError, OSError):
        return None  # the nodes report what is wrong
