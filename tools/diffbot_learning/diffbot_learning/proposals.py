# SPDX-License-Identifier: Apache-2.0
"""Proposals of what a person gives to ros2_control's diff_drive_controller, and the way back.

A multiplier is proposed if its interval is narrow and leaves out the value that is in use, and if
it lies within BOUNDS: beyond them the description is wrong, not the tyre.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from diffbot_description import Robot, write_atomically
from diffbot_learning.learned_values import LearnedValue

PARAMETERS, SCRIPT = "proposal.yaml", "proposal.sh"
BOUNDS = 0.85, 1.15
# Widest half width of an interval, as a fraction.
WIDEST = 0.01
DECIMALS = 5

_SCRIPT = """\
#!/bin/sh
# Multipliers that this robot's driving proposes, with 95 % intervals, of a controller whose
# wheel_radius and wheel_separation are {base}. Run it yourself: sh {name} [NODE]
# They hold from the next activation of the controller on. The way back:
#   ros2 param load NODE before.yaml
set -e
node="${{1:-/diff_drive_controller}}"
ros2 param dump "$node" > "$(dirname "$0")/before.yaml"
{lines}
"""


@dataclass(frozen=True)
class Proposal:
    """A parameter, the value that is proposed, and half its 95 % interval.

    Attributes:
        refusal: Why it is not to be applied; empty: it may be.
    """

    parameter: str
    value: float
    half_width: float
    refusal: str = ""


def proposals(values: Sequence[LearnedValue], robot: Robot) -> list[Proposal]:
    """Return what learnt values propose; nothing for those that are as described.

    Args:
        robot: Its description; its mean radius and its track are those of the controller.
    """
    own = robot.geometry
    mean = 0.5 * (own.left_radius + own.right_radius)
    used = {
        "left_radius": ("left_wheel_radius_multiplier", mean),
        "right_radius": ("right_wheel_radius_multiplier", mean),
        "track": ("wheel_separation_multiplier", own.separation),
        # Of an odometry whose multipliers are 1.
        "left_wheel_radius_multiplier": ("left_wheel_radius_multiplier", 1.0),
        "right_wheel_radius_multiplier": ("right_wheel_radius_multiplier", 1.0),
        "wheel_separation_multiplier": ("wheel_separation_multiplier", 1.0),
    }
    results = []
    for learnt in values:
        if learnt.name not in used:
            continue
        parameter, size = used[learnt.name]
        value, half = learnt.value / size, learnt.half_width / size
        if half > WIDEST or abs(value - 1.0) <= half:
            continue
        refusal = ""
        if not BOUNDS[0] <= value <= BOUNDS[1]:
            refusal = (
                f"{parameter} = {value:.3f}: must be {BOUNDS[0]} to {BOUNDS[1]}; correct "
                f"{learnt.name} in the robot's description"
            )
        results.append(Proposal(parameter, round(value, DECIMALS), half, refusal))
    return results


def write_proposals(given: Sequence[Proposal], robot: Robot, folder: Path) -> list[Path]:
    """Write proposal.yaml and proposal.sh, or remove old ones if there is nothing to propose.

    Raises:
        OSError: They cannot be written.
    """
    usable = [one for one in given if not one.refusal]
    paths = [folder / PARAMETERS, folder / SCRIPT]
    if not usable:
        for path in paths:
            path.unlink(missing_ok=True)
        return []
    content = {one.parameter: one.value for one in usable}
    text = yaml.safe_dump({"/**": {"ros__parameters": content}}, sort_keys=False)
    write_atomically(paths[0], text)
    lines = "\n".join(
        f'ros2 param set "$node" {one.parameter} {one.value}  # +- {one.half_width:.2g}'
        for one in usable
    )
    own = robot.geometry
    base = f"{0.5 * (own.left_radius + own.right_radius):.6g} m and {own.separation:.6g} m"
    write_atomically(paths[1], _SCRIPT.format(base=base, name=SCRIPT, lines=lines))
    return paths
