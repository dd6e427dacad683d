# SPDX-License-Identifier: Apache-2.0
"""Robots whose drive has a dead band: what moves them, and how fast, by the closed form."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description.dead_band import DeadBandKind
from diffbot_description.sigma import Sigma
from diffbot_sim.velocity_robot import DriveDeadBand, VelocityRobot

QUICK = Sigma(0.3, 0.2, 1.05, 0.95)
TRACK = 0.4
BANDS = (0.05, 0.2)
THRESHOLD = DeadBandKind.THRESHOLD


def constant(command, drive, seconds=6.0):
    """True velocity after a command was held from rest for many time constants."""
    robot = VelocityRobot(QUICK, dead_band=drive)
    for _ in range(round(seconds / 0.02)):
        robot.step(command, 0.02)
    return robot


@given(st.floats(-0.4, 0.4), st.floats(-1.0, 1.0))
def test_an_offset_of_the_axes_is_lost_of_the_final_speed(v, omega):
    result = constant((v, omega), DriveDeadBand(BANDS)).velocity()
    for speed, command, band, drag in zip(result, (v, omega), BANDS, (1.05, 0.95), strict=True):
        left = max(abs(command) - band, 0.0)
        assert speed == pytest.approx(math.copysign(left, command) / drag, abs=1e-7)


def test_a_threshold_leaves_the_full_speed():
    assert constant(
        (0.049, 0.21), DriveDeadBand(BANDS, kind=THRESHOLD)
    ).velocity() == pytest.approx((0.0, 0.21 / 0.95), abs=1e-6)


def test_wheels_stand_below_their_band_and_a_turn_takes_the_robot_out_of_it():
    drive = DriveDeadBand(wheels=(0.05, 0.05), track=TRACK)
    assert constant((0.04, 0.0), drive).distance == 0.0
    assert constant((0.0, 0.2), drive).pose()[2] == 0.0  # 0.04 m/s at the rims
    # Rims of 0.04 -+ 0.2 m/s lose as much forward as backward: all of v is left.
    v, omega = constant((0.04, 1.0), drive).velocity()
    assert v == pytest.approx(0.04 / 1.05, abs=1e-7)
    assert omega == pytest.approx((1.0 - 2.0 * 0.05 / TRACK) / 0.95, abs=1e-6)


@pytest.mark.parametrize("kind", DeadBandKind)
def test_static_friction_holds_what_stands_and_not_what_moves(kind):
    drive = DriveDeadBand(BANDS, kind=kind, stiction=1.6)
    robot = constant((0.079, 0.0), drive, 1.0)
    assert robot.distance == 0.0
    robot.step((0.081, 0.0), 1.0)
    robot.step((0.06, 0.0), 1.0)
    robot.step((0.06, 0.0), 1.0)
    left = 0.01 if kind is DeadBandKind.OFFSET else 0.06
    assert robot.velocity()[0] == pytest.approx(left / 1.05, rel=0.01)
    for _ in range(400):
        robot.step((0.0, 0.0), 0.02)
    distance = robot.distance
    robot.step((0.079, 0.0), 1.0)
    assert robot.distance == pytest.approx(distance, abs=1e-6)


def test_a_reset_robot_stands_again():
    drive = DriveDeadBand(BANDS, stiction=2.0)
    robot = constant((0.2, 0.0), drive)
    robot.reset()
    robot.step((0.09, 0.0), 1.0)
    assert robot.distance == 0.0


def test_without_dead_band_nothing_changes():
    commands = [(math.sin(k), math.cos(k)) for k in range(60)]
    ends = []
    for drive in (None, DriveDeadBand()):
        robot = VelocityRobot(QUICK, dead_time=0.03, command_noise=(0.01, 0.02), dead_band=drive)
        for command in commands:
            robot.step(command, 0.02)
        ends.append((*robot.pose(), *robot.velocity()))
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"axes": (-0.1, 0.0)}, "dead band = -0.1"),
        ({"wheels": (0.0, math.nan)}, "dead band = nan"),
        ({"stiction": 0.9}, "stiction = 0.9: must be finite and >= 1"),
        ({"track": 0.0}, "track = 0.0 m"),
    ],
)
def test_what_cannot_be_is_refused_by_name(arguments, says):
    with pytest.raises(ValueError, match=says):
        DriveDeadBand(**arguments)
