# SPDX-License-Identifier: Apache-2.0
"""What contradicts the commands of an excitation ends it soon, and a good robot never does."""

import math
import re
from dataclasses import dataclass

import numpy as np
import pytest

from arc_odometry import REST, Arc, Pose, Velocity
from diffbot_ident.excitation.velocity_excitation import VelocityExcitation
from diffbot_ident.excitation.velocity_watch import PATIENCE, VelocityWatch

STEP = 0.02
LIMITS = Velocity(0.5, 1.5)


@dataclass
class Fault:
    """What a robot does otherwise: factors on motion and on what its odometry tells."""

    motion: tuple[float, float] = (1.0, 1.0)
    twist: tuple[float, float] = (1.0, 1.0)
    world: bool = False  # the twist is in the odometry's frame


def watched(fault, seed, seconds=40.0):
    """Drive a random robot; return the sentence and when, s."""
    rng = np.random.default_rng(seed)
    tau, dead = rng.uniform(0.05, 1.0), int(rng.uniform(0.0, 0.4) / STEP)
    excitation = VelocityExcitation((2.0, 2.0), LIMITS, seed=seed)
    watch = VelocityWatch(LIMITS)
    pending, velocity, command = [np.zeros(2)] * (dead + 1), np.zeros(2), Velocity(0.0, 0.0)
    pose = Pose(0.0, 0.0, 0.0)
    for k in range(round(seconds / STEP)):
        noisy = velocity * fault.twist + rng.normal(size=2) * (0.003, 0.01)
        if fault.world:
            noisy[0] = velocity[0] * math.cos(pose.theta + 2.0)
        measured = Velocity(*noisy.tolist())
        if problem := watch.update(command, pose, measured, STEP):
            return problem, k * STEP
        command = excitation.command(k * STEP, pose, measured)
        pending.append(np.array(command))
        velocity = velocity + (pending.pop(0) * fault.motion - velocity) * (
            1.0 - math.exp(-STEP / tau)
        )
        x, y, theta = Arc(velocity[0] * STEP, velocity[1] * STEP).end(pose)
        pose = Pose(x, y, math.remainder(theta, math.tau))  # as a quaternion tells it
    return "", seconds


@pytest.mark.parametrize("seed", range(7300, 7306))
def test_a_good_robot_is_never_blamed(seed):
    assert watched(Fault(), seed) == ("", 40.0)


@pytest.mark.parametrize("seed", range(7320, 7322))
@pytest.mark.parametrize(
    ("fault", "says"),
    [
        (Fault(motion=(-1.0, 1.0)), "v of the odometry has the wrong sign"),
        (Fault(motion=(1.0, -1.0)), "omega of the odometry has the wrong sign"),
        (Fault(twist=(-1.0, 1.0)), "by v of its twist the robot has moved"),
        (Fault(twist=(0.3, 1.0)), "by v of its twist the robot has moved"),
        # Degrees per second: of small commands, the poses tell it first.
        (
            Fault(twist=(1.0, 57.3)),
            "rad/s by the odometry, but at most 1.5 was|by omega of its twist",
        ),
        (Fault(motion=(3.0, 1.0)), "m/s by the odometry, but at most 0.5 was commanded"),
        (Fault(world=True), "v "),
        (Fault(motion=(0.0, 0.0)), f"has not moved in {PATIENCE:.0f} s"),
    ],
)
def test_each_contradiction_is_said_before_the_end(fault, says, seed):
    problem, when = watched(fault, seed)
    assert re.search(says, problem) and when < 40.0


def test_poses_that_move_while_the_twist_stands_are_told_before_the_patience_is_over():
    watch, pose = VelocityWatch(LIMITS), Pose(1.0, 2.0, 0.3)
    arc, said, steps = Arc(0.0005, 0.002), "", 0
    while not said and steps < 400:
        pose, steps = arc.end(pose), steps + 1
        said = watch.update(Velocity(0.05, 0.0), pose, REST, 0.02)
    assert "by its poses the robot has moved" in said and watch.twist_differs
    assert steps * 0.02 < 5.0


def test_slow_motion_that_twist_and_poses_agree_on_is_no_contradiction():
    watch, pose = VelocityWatch(LIMITS), Pose(0.0, 0.0, 0.0)
    slow = Velocity(0.02 * LIMITS.v, 0.02 * LIMITS.omega)  # counts as standing
    for _ in range(700):
        pose = Arc(slow.v * 0.02, slow.omega * 0.02).end(pose)
        assert watch.update(Velocity(0.1 * LIMITS.v, 0.0), pose, slow, 0.02) == ""
    assert not watch.twist_differs


def test_a_single_speed_that_cannot_be_does_not_end_the_run():
    watch, fast = VelocityWatch(LIMITS), Velocity(3.0 * LIMITS.v, 0.0)
    pose = Pose(0.0, 0.0, 0.0)
    for velocity in (REST, fast, REST, fast):
        assert watch.update(REST, pose, velocity, 0.02) == ""
    assert "check the odometry's scale" in watch.update(REST, pose, fast, 0.02)
