# SPDX-License-Identifier: Apache-2.0
"""An excitation by velocity commands stays in its room and within its limits, and excites."""

import math

import numpy as np
import pytest

from arc_odometry import Arc, Pose, RimLimit, Velocity
from diffbot_description import load_robot
from diffbot_ident.excitation.velocity_course import VelocityCourse, VelocityCourseSettings
from diffbot_ident.excitation.velocity_excitation import SIZES, SMALLEST, VelocityExcitation

STEP = 0.01


def driven(seed, room=1.2, seconds=60.0, **more):
    """Drive a random robot: largest distance on an axis, and the commands, (n, 2).

    Lag 0.05 to 3 s, dead time to 0.4 s, gain 0.8 to 1.2, dead band, an acceleration limit in half.
    """
    rng = np.random.default_rng(seed)
    tau, gain = 10.0 ** rng.uniform(math.log10(0.05), 0.5), rng.uniform(0.8, 1.2)
    dead, band = int(rng.uniform(0.0, 0.4) / STEP), rng.uniform(0.0, 0.15)
    ramp = rng.uniform(0.2, 1.5) * np.array([1.0, 3.0]) if rng.random() < 0.5 else np.inf
    limits = Velocity(rng.uniform(0.3, 1.0), rng.uniform(1.0, 3.0))
    excitation = VelocityExcitation((room, room), limits, latency=0.1, seed=seed, **more)
    pending, limited, velocity = [np.zeros(2)] * (dead + 1), np.zeros(2), np.zeros(2)
    pose, farthest, commands = Pose(0.0, 0.0, 0.0), 0.0, []
    every = int(rng.integers(2, 11))
    for k in range(round(seconds / STEP)):
        if k % every == 0:
            command = excitation.command(k * STEP, pose, Velocity(*velocity))
            commands.append(command)
        pending.append(np.array(command))
        late = pending.pop(0)
        acting = np.where(np.abs(late) > band * np.array([1.0, 3.0]), late, 0.0)
        limited = limited + np.clip(acting - limited, -ramp * STEP, ramp * STEP)
        velocity = velocity + (gain * limited - velocity) * (1.0 - math.exp(-STEP / tau))
        pose = Arc(velocity[0] * STEP, velocity[1] * STEP).end(pose)
        farthest = max(farthest, abs(pose.x), abs(pose.y))
    return farthest, np.array(commands), limits


@pytest.mark.parametrize("seed", range(7100, 7104))
def test_no_robot_leaves_the_room_and_each_is_excited(seed):
    farthest, commands, limits = driven(seed)
    assert farthest < 1.2
    assert (np.abs(commands) <= np.array(limits) + 1e-12).all()
    sizes = [np.unique(np.round(np.abs(commands[:, i]) / limits[i], 6)) for i in range(2)]
    assert all(len(each) > 6 for each in sizes)
    moving = commands != 0.0
    alone = [moving[:, 0] & ~moving[:, 1], ~moving[:, 0] & moving[:, 1], moving.all(axis=1)]
    assert all(each.any() for each in alone)
    assert moving.any(axis=1).mean() > 0.5


def test_commands_keep_to_the_wheels_limit():
    rims = RimLimit(0.4, half_track=0.2)
    _, commands, _ = driven(7200, rims=rims)
    assert max(rims.rim(*command) for command in commands) <= 0.4 + 1e-12


def test_equal_seeds_give_equal_commands():
    (_, one, _), (_, other, _) = driven(7201, seconds=10.0), driven(7201, seconds=10.0)
    assert np.array_equal(one, other)


def test_small_commands_come_first():
    _, commands, limits = driven(7202, seconds=10.0)
    shares = np.abs(commands / np.array(limits)).max(axis=1)
    first = shares[shares > 0.0][0]
    assert SMALLEST * SIZES[0] <= first <= SIZES[0]


def test_no_threshold_hides_between_the_sizes():
    _, commands, limits = driven(7203, room=math.inf, seconds=90.0)
    for axis in range(2):
        sizes = np.unique(np.abs(commands[:, axis]) / limits[axis])
        small = sizes[(sizes > 0.0) & (sizes < 0.4)]
        assert (small[1:] / small[:-1]).max() < 1.6 and np.median(small[1:] / small[:-1]) < 1.15


def test_after_an_interruption_another_card_is_played():
    excitation = VelocityExcitation((9.0, 9.0), Velocity(0.5, 1.0), seed=3)
    rest = Pose(0.0, 0.0, 0.0), Velocity(0.0, 0.0)
    before = [excitation.command(0.1 * k, *rest) for k in range(100)][-1]
    excitation.interrupt()
    assert excitation.command(10.0, *rest) != before


@pytest.mark.parametrize(
    ("room", "limits", "says"),
    [
        ((0.0, 1.0), (0.5, 1.0), "half length = 0.0 m"),
        ((1.0, 1.0), (math.inf, 1.0), "linear velocity limit = inf m/s"),
        ((1.0, 1.0), (0.5, -1.0), "angular velocity limit = -1.0 rad/s"),
    ],
)
def test_impossible_settings_are_refused(room, limits, says):
    with pytest.raises(ValueError, match=says):
        VelocityExcitation(room, Velocity(*limits))


@pytest.mark.parametrize("given", ["", "none", "3x3"])
def test_the_border_is_kept_in_the_arena_that_is_meant_if_none_is_given(given):
    settings = VelocityCourseSettings(arena=given, border=0.3)
    assert VelocityCourse(load_robot("turtlebot2"), settings, 0.1).arena.allowed == (2.4, 2.4)
