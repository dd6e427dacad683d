# SPDX-License-Identifier: Apache-2.0
"""Whether a run fits into its room and its time, before anything of it starts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from diffbot_bringup.usage import UsageError
from diffbot_bringup.xml_launch.processes import ParameterText, ProcessDescription


def check_reach(values: Mapping[str, Any]) -> None:
    """Raise UsageError for a goal that the robot cannot reach in the time of the launch file."""
    if not {"goal", "start", "robot", "goal_time", "arrival_time"} <= values.keys():
        return
    if values.get("trajectory", "none") != "none":
        return  # the trajectory defines its own path
    from diffbot_description import load_robot  # imported late: NumPy loads slowly
    from diffbot_node import pose_from_text

    try:
        robot = load_robot(values["robot"])
        goal, start = (pose_from_text(name, values[name]) for name in ("goal", "start"))
    except (ValueError, ImportError, OSError):
        return  # the nodes report what is wrong
    time = float(values["goal_time"]) + float(values["arrival_time"])
    speed = min(robot.limits.linear_velocity, robot.rim_limit.speed)
    path = math.dist(goal[:2], start[:2])
    if path > speed * time:
        raise UsageError(
            f"argument 'goal' is {values['goal']!r}, {path:g} m from the start: robot "
            f"'{robot.name}' travels at most {speed * time:g} m, at {speed:g} m/s for "
            f"{time:g} s; give a nearer goal, or duration:={math.ceil(path / speed)}.0 or more"
        )


def check_room(processes: Sequence[ProcessDescription]) -> None:
    """Raise UsageError for an arena that is too small for the robot, or for the calibration."""
    nodes = _parameters(processes)
    calibrates = nodes.get("trajectory_publisher", {}).get("trajectory") == "calibration"
    bounded = [own for own in nodes.values() if own.get("arena") not in (None, "", "none")]
    if not calibrates and not bounded:
        return
    from diffbot_description import load_robot
    from diffbot_description.arena import Arena, reach

    for own in bounded:
        try:
            arena = Arena.parse(str(own["arena"]), float(own.get("border", 0.0)))
            robot = load_robot(own.get("robot", ""))
        except (ValueError, ImportError, OSError):
            continue  # the nodes report what is wrong
        if arena is not None:
            _refused(arena.room, reach(robot))
    if calibrates:
        from pose2d_trajectories.calibration_motion import calibration

        own = nodes["trajectory_publisher"]
        names = ("side", "border", "time", "speed", "acceleration", "turn_rate")
        _refused(calibration, **{name: own[name] for name in names if name in own})


def _refused(check: Any, *values: Any, **options: Any) -> None:
    try:
        check(*values, **options)
    except ValueError as error:
        raise UsageError(f"the run has no room: {error}") from None


def _parameters(processes: Sequence[ProcessDescription]) -> dict[str, dict[str, Any]]:
    """Return the parameters of the nodes that run, by their executables."""
    from diffbot_description.files import read_yaml

    nodes: dict[str, dict[str, Any]] = {}
    for process in processes:
        words = [word for word in process.command if isinstance(word, str)]
        own = {Path(word).name for word in words if "/" in word}
        for before, word in zip(process.command, process.command[1:], strict=False):
            if before != "--params-file":
                continue
            try:
                content = word.content if isinstance(word, ParameterText) else read_yaml(Path(word))
            except (ValueError, OSError):
                continue
            for key, section in (content if isinstance(content, dict) else {}).items():
                node = str(key).rpartition("/")[2]
                values = section.get("ros__parameters") if isinstance(section, dict) else None
                for name in own if node == "**" else own & {node}:
                    nodes.setdefault(name, {}).update(values if isinstance(values, dict) else {})
    return nodes
