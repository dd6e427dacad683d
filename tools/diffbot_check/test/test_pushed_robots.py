# SPDX-License-Identifier: Apache-2.0
"""A robot that a person pushes shows which wheel is which, and the line for its file is right."""

import math
from dataclasses import replace

import pytest
import seen_robots as made

from diffbot_check.check_finding import Severity
from diffbot_check.hand_rules import Push, is_enough, pushed
from diffbot_check.judging import judge
from diffbot_check.observation import CheckedRobot
from diffbot_description import load_robot
from diffbot_description.files import parse_yaml

TWIL = load_robot("twil")
PUSHES = {Push.FORWARD: (made.NOW, made.NOW + 2.0), Push.LEFT: (made.NOW + 2.5, made.NOW + 4.9)}
V, OMEGA = 0.15, 0.8  # m/s, then rad/s


def wheels(t):
    """Angles [left, right] that truly roll, rad, of a push forward and then a turn to the left."""
    geometry = TWIL.geometry
    forward, turn = V * min(t, 2.0), OMEGA * max(0.0, t - 2.5)
    radius, half = geometry.left_radius, geometry.half_track
    return (forward - half * turn) / radius, (forward + half * turn) / radius


def seen(wiring=(0, 1), signs=(1, 1), wrap=False, v=1.0, omega=1.0):
    """Joint [left_wheel_joint, right_wheel_joint] is at the true wheel `wiring`, with its sign."""

    def turn(t):
        angles = [
            sign * wheels(t)[place] if place is not None else 0.4
            for place, sign in zip(wiring, signs, strict=True)
        ]
        return tuple(math.remainder(angle, math.tau) if wrap else angle for angle in angles)

    def speed(amount, begin, end):
        return lambda t: amount if begin <= t <= end else 0.0

    odometry = made.odometry(speed(v * V, 0.0, 2.0), speed(omega * OMEGA, 2.5, 5.0))
    ends = (*made.TORQUE_ENDS, made.VELOCITY_ENDS[0])
    return made.seen(ends, made.wheel_states(turn=turn), made.gyro(), odometry)


@pytest.mark.parametrize("wiring", [(0, 1), (1, 0)])
@pytest.mark.parametrize("signs", [(1, 1), (1, -1), (-1, 1), (-1, -1)])
@pytest.mark.parametrize("described", [(), (1, -1)])
@pytest.mark.parametrize("wrap", [False, True])
def test_every_wiring_is_recognised_and_its_line_mends_the_file(wiring, signs, described, wrap):
    robot = replace(TWIL, joints=replace(TWIL.joints, signs=described))
    subject = CheckedRobot(seen(wiring, signs, wrap), robot)
    findings = list(pushed(subject, PUSHES))
    right = wiring == (0, 1) and signs == (described or (1, 1))
    assert [each.severity for each in findings] == [Severity.FAULT] * (not right)
    if not right:
        joints = parse_yaml(findings[0].line.partition("   (")[0])["joints"]
        mended = replace(
            TWIL.joints,
            left=tuple(joints["left"]),
            right=tuple(joints["right"]),
            signs=tuple(joints["signs"]),
        )
        assert list(pushed(replace(subject, robot=replace(TWIL, joints=mended)), PUSHES)) == []
        assert ("exchanged" in findings[0].what) == (wiring == (1, 0))
        assert not judge(subject, findings).is_ready


def test_an_encoder_that_does_not_count_is_named():
    (finding,) = pushed(CheckedRobot(seen((0, None)), TWIL), PUSHES)
    assert finding.severity is Severity.FAULT and "right_wheel_joint turned by less" in finding.what


def test_a_robot_that_nobody_pushes_is_not_blamed():
    still = CheckedRobot(made.torque_robot(), TWIL)
    findings = list(pushed(still, PUSHES))
    assert findings and all(each.severity is Severity.WARNING for each in findings)
    assert not any(is_enough(still, push, PUSHES[push]) for push in Push)
    assert all(is_enough(CheckedRobot(seen(), TWIL), push, PUSHES[push]) for push in Push)


@pytest.mark.parametrize(
    ("signs", "words"),
    [({"v": -1.0}, "says backward"), ({"omega": -1.0}, "says a turn to the right")],
)
def test_odometry_of_the_wrong_sign_is_named(signs, words):
    findings = list(pushed(CheckedRobot(seen(**signs), TWIL), PUSHES))
    assert [words in each.what for each in findings] == [True]


def test_odometry_from_commands_does_not_move():
    findings = list(pushed(CheckedRobot(seen(v=0.0, omega=0.0), TWIL), PUSHES))
    assert len(findings) == 2 and all("did not move" in each.what for each in findings)
