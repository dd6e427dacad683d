# SPDX-License-Identifier: Apache-2.0
"""A robot or its reference that leaves the arena is told of, wherever and however it starts."""

import math

import pytest

from arc_odometry import Pose
from diffbot_controllers.nodes.references import ArenaGuard
from diffbot_description import load_robot
from diffbot_description.arena import reach

TWIL = load_robot("twil")
REACH = reach(TWIL)


def at(start, x, y):
    """Pose with these coordinates in the frame of the start."""
    c, s = math.cos(start.theta), math.sin(start.theta)
    return Pose(start.x + c * x - s * y, start.y + s * x + c * y, 0.3)


@pytest.mark.parametrize("start", [Pose(0.0, 0.0, 0.0), Pose(3.0, -2.0, 2.0)])
def test_the_whole_robot_stays_in_its_arena(start):
    guard = ArenaGuard("4x3", TWIL)
    assert guard.left(start, start) == ""
    # The reference keeps the margin free, too.
    for place, name in (((2.0 - REACH, 0.0), "length"), ((0.0, REACH - 1.5), "width")):
        x, y = (0.99 * value for value in place)
        assert guard.left(at(start, x, y), None) == ""
        assert f"the robot is {math.hypot(x, y) / 0.99 * 1.01:.2f} m from the start" in guard.left(
            at(start, 1.01 * place[0], 1.01 * place[1]), None
        )
        text = guard.left(start, at(start, x, y))
        assert f"the reference is {math.hypot(x, y):.2f} m" in text and f"arena's {name}" in text


def test_without_an_arena_nothing_is_told():
    for text in ("", "none"):
        guard = ArenaGuard(text, TWIL)
        assert guard.left(Pose(0.0, 0.0, 0.0), None) == guard.left(Pose(9.0, 9.0, 0.0), None) == ""


def test_a_wrong_arena_is_refused():
    with pytest.raises(ValueError, match="arena = 'big': must be length x width"):
        ArenaGuard("big", TWIL)
    with pytest.raises(ValueError, match="arena width = 0.5 m: must be >="):
        ArenaGuard("3x0.5", TWIL)
