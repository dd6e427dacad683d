# SPDX-License-Identifier: Apache-2.0
"""Proposals of what a person gives to ros2_control's diff_drive_controller by `diffbot apply`.

A multiplier is proposed if its interval is narrow and leaves out the value that is in use, and if
it lies within BOUNDS: beyond them the description is wrong, not the tyre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from diffbot_description import Robot, write_atomically
from diffbot_description.spoken_commands import spoken
from diffbot_export.sourced_value import Entry, Tree, to_yaml
from diffbot_learning.learned_values import LearnedValue

FILE = "proposal.yaml"
BOUNDS = 0.85, 1.15
# Widest half width of an interval, as a fraction.
WIDEST = 0.01
DECIMALS = 5


@dataclass(frozen=True)
class Proposal:
    """A parameter, the value that is proposed, and half its 95 % interval.

    Attributes:
        length: Parameter and value, m, of the length that it multiplies; None: the controller's.
        stretches: Number of stretches that told it.
        refusal: Why it is not to be applied; empty: it may be.
    """

    parameter: str
    value: float
    half_width: float
    length: tuple[str, float] | None
    stretches: int
    refusal: str = ""


def proposals(values: Sequence[LearnedValue], robot: Robot) -> list[Proposal]:
    """Return what learnt values propose; nothing for those that are as described.

    Args:
        robot: Its description; its mean radius and its track are those of the controller.
    """
    own = robot.geometry
    mean = 0.5 * (own.left_radius + own.right_radius)
    radius, track = ("wheel_radius", mean), ("wheel_separation", own.separation)
    used: dict[str, tuple[str, tuple[str, float] | None]] = {
        "left_radius": ("left_wheel_radius_multiplier", radius),
        "right_radius": ("right_wheel_radius_multiplier", radius),
        "track": ("wheel_separation_multiplier", track),
        # Of an odometry whose multipliers are 1.
        "left_wheel_radius_multiplier": ("left_wheel_radius_multiplier", None),
        "right_wheel_radius_multiplier": ("right_wheel_radius_multiplier", None),
        "wheel_separation_multiplier": ("wheel_separation_multiplier", None),
    }
    results = []
    for learnt in values:
        if learnt.name not in used:
            continue
        parameter, length = used[learnt.name]
        size = 1.0 if length is None else length[1]
        value, half = learnt.value / size, learnt.half_width / size
        if half > WIDEST or abs(value - 1.0) <= half:
            continue
        refusal = ""
        if not BOUNDS[0] <= value <= BOUNDS[1]:
            refusal = (
                f"{parameter} = {value:.3f}: must be {BOUNDS[0]} to {BOUNDS[1]}; correct "
                f"{learnt.name} in the robot's description"
            )
        rounded = round(value, DECIMALS)
        results.append(Proposal(parameter, rounded, half, length, learnt.stretches, refusal))
    return results


def write_proposals(given: Sequence[Proposal], robot: Robot, folder: Path) -> Path | None:
    """Write proposal.yaml, or remove an old one if there is nothing to propose.

    Raises:
        OSError: It cannot be written.
    """
    usable = [one for one in given if not one.refusal]
    path = folder / FILE
    if not usable:
        path.unlink(missing_ok=True)
        return None
    values: dict[str, Entry | Tree] = {}
    for one in usable:
        words = "of an odometry whose multipliers are 1"
        if one.length is not None:
            name, length = one.length
            values[name] = Entry(length, "m, as described; the multipliers are of that")
            words = f"of the described {name}"
        ends = f"[{one.value - one.half_width:.5g}, {one.value + one.half_width:.5g}]"
        comment = f"{one.value:.5g} {ends}: {words}, learnt from {one.stretches} stretches"
        values[one.parameter] = Entry(one.value, comment)
    head = [
        f"Multipliers that the driving of {robot.name} proposes, with their 95 % intervals.",
        f"Give them to the running controller: {spoken('apply', FILE)}",
    ]
    return write_atomically(path, to_yaml({"/**": {"ros__parameters": values}}, head))
