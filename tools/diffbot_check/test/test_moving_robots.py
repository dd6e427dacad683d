# SPDX-License-Identifier: Apache-2.0
"""Robots whose wheels are turned: each fault is named, no sound one is blamed, none goes far."""

import math
import random
from itertools import cycle

import pytest
from moving_plant import MovingPlant, Wiring, run

from diffbot_check.check_finding import Severity
from diffbot_check.moving_rules import judged
from diffbot_check.moving_test import MovingTest
from diffbot_check.observation import CheckedRobot, Observation
from diffbot_description import load_robot
from diffbot_description.command_kind import CommandKind

EFFORT, VELOCITY = CommandKind.EFFORT, CommandKind.VELOCITY
QUARTER = 0.5 * math.pi


def moved(name, kind, wiring, encoders_known=False, period=0.02, **more):
    robot = load_robot(name)
    test, plant = MovingTest(robot, kind), MovingPlant(robot, kind, wiring, **more)
    run(test, plant, period)
    subject = CheckedRobot(Observation(1.0), robot, given=f"{name}.yaml")
    return test, plant, judged(subject, test, encoders_known)


def faults(judgement):
    return [each.what for each in judgement.findings if each.severity is Severity.FAULT]


# Faults of a torque robot: wiring, whether there is a gyro, and words of the finding.
TORQUE_FAULTS = {
    "swapped motors": (Wiring(motors=(1, 0), gyro=True), "left command turns the right wheel"),
    "swapped encoders": (Wiring(encoders=(1, 0), gyro=True), "left command turns the right wheel"),
    "swapped, no gyro": (Wiring(motors=(1, 0)), "left command turns the right wheel"),
    "motor reversed": (Wiring(motor_signs=(-1, 1)), "'left_wheel_joint' backward"),
    "encoder reversed": (Wiring(encoder_signs=(1, -1)), "'right_wheel_joint' backward"),
    "joint reversed": (
        Wiring(motor_signs=(1, -1), encoder_signs=(1, -1), gyro=True), "'right_wheel_joint' rolls"),
    "dead left": (Wiring(dead=(0,)), "the left command turned no wheel"),
    "dead right": (Wiring(dead=(1,)), "the right command turned no wheel"),
    "both dead": (Wiring(dead=(0, 1)), "no wheel turned"),
    "stuck left": (Wiring(stuck=(0,), gyro=True), "'left_wheel_joint' stood still"),
    "stuck right": (Wiring(stuck=(1,), gyro=True), "'right_wheel_joint' stood still"),
    "amperes reported": (Wiring(reported=4.0), "reports an effort of 4"),
    "reported reversed": (Wiring(reported=-1.0), "reports an effort of -1"),
    "reports nothing": (Wiring(reported=0.0), "stays near 0"),
}  # fmt: skip


@pytest.mark.parametrize(("name", "case"), list(zip(cycle(("twil", "agv")), TORQUE_FAULTS)))
def test_faults_of_torque_robots_are_named_before_the_robot_turns_far(name, case):
    wiring, words = TORQUE_FAULTS[case]
    torque = load_robot(name).limits.torque
    _, plant, judgement = moved(name, EFFORT, wiring, friction=0.06 * torque)
    (what,) = faults(judgement)
    assert words in what
    assert plant.farthest < QUARTER and plant.turned < math.radians(10.0)


def test_a_stuck_encoder_is_named_before_the_robot_turns_by_10_degrees():
    """Robots with and without a gyro, friction of 1 to 25 % of the limit, delay to 0.1 s.

    Seed 5703. Half of them accelerate twice or half as much as described. A gyro's finding, too,
    names the encoder.
    """
    rng = random.Random(5703)
    for case in range(8):
        name, side = ("twil", "agv")[case % 2], case // 2 % 2
        torque, factor = load_robot(name).limits.torque, rng.choice([0.5, 1.0, 1.0, 2.0])
        friction = torque * math.exp(rng.uniform(math.log(0.01), math.log(0.25)))
        wiring = Wiring(
            stuck=(side,), gyro=rng.random() < 0.3, delay=rng.uniform(0.0, 0.1), unit=factor
        )
        more = {"friction": factor * friction, "static": rng.uniform(1.0, 1.6)}
        _, plant, judgement = moved(name, EFFORT, wiring, **more)
        said = [each.what + each.why for each in judgement.findings]
        assert any("encoder sticks" in each for each in said), (case, wiring, more, said)
        assert plant.turned < math.radians(10.0), (case, wiring, more)
        assert plant.farthest < QUARTER, (case, wiring, more)


def test_a_gyro_tells_exchanged_encoders_whose_file_can_be_mended_from_motors():
    robot = load_robot("twil")
    for encoders, motors, expected in (
        ((1, 0), (0, 1), (robot.joints.right, robot.joints.left)),
        ((0, 1), (1, 0), None),
    ):
        wiring = Wiring(encoders=encoders, motors=motors, gyro=True)
        _, _, judgement = moved("twil", EFFORT, wiring)
        joints = judgement.joints
        assert (None if joints is None else (joints.left, joints.right)) == expected


def test_a_reversed_joint_is_mended_by_its_sign():
    wiring = Wiring(motor_signs=(-1, 1), encoder_signs=(-1, 1), gyro=True)
    _, _, judgement = moved("twil", EFFORT, wiring)
    assert judgement.joints is not None and judgement.joints.signs == (-1, 1)


VELOCITY_FAULTS = {
    "swapped": (Wiring(motors=(1, 0)), "odometry says right"),
    "left motor reversed": (Wiring(motor_signs=(-1, 1)), "left wheel turns backward"),
    "right reversed": (Wiring(encoder_signs=(1, -1)), "right wheel turns backward"),
    "both reversed": (Wiring(motor_signs=(-1, -1)), "says backward; commanded left"),
    "backward": (Wiring(motors=(1, 0), motor_signs=(-1, -1)), "forward, odometry says backward"),
    "dead left": (Wiring(dead=(0,)), "left wheel stands"),
    "stuck right": (Wiring(stuck=(1,)), "right wheel stands"),
    "both dead": (Wiring(dead=(0, 1)), "nothing moved"),
}


@pytest.mark.parametrize("case", VELOCITY_FAULTS)
def test_faults_of_velocity_robots_are_named_before_the_robot_turns_far(case):
    wiring, words = VELOCITY_FAULTS[case]
    _, plant, judgement = moved("turtlebot2", VELOCITY, wiring)
    (what,) = faults(judgement)
    assert words in what
    assert plant.farthest < QUARTER and plant.turned < math.radians(30.0)


@pytest.mark.parametrize(("name", "kind"), [("twil", EFFORT), ("turtlebot2", VELOCITY)])
@pytest.mark.parametrize("timeout", [0.3, 0.8, 1.6, None])
def test_the_drivers_own_stop_is_seen(name, kind, timeout):
    test, _, judgement = moved(name, kind, Wiring(timeout=timeout))
    assert not faults(judgement)
    said = [each.what for each in judgement.findings]
    if timeout is None:
        assert test.result.timeout is None and "still acted" in said[0]
    elif test.result.timeout is None:  # a velocity ends where the wheel has turned far enough
        assert kind is VELOCITY and test.result.watched < timeout + 0.2 and "still acted" in said[0]
    else:
        assert timeout - 0.01 <= test.result.timeout <= timeout + 0.3
        assert bool(said) == (timeout > 1.0)


def test_sound_robots_are_not_blamed_and_turn_by_less_than_a_quarter():
    """Random robots: friction of 1 to 25 % of the limit, delay to 0.1 s, on the ground and lifted.

    Seed 5701. The least torque must be above the friction, and below twice the torque at which a
    pulse could be seen.
    """
    rng = random.Random(5701)
    for _ in range(8):
        name = rng.choice(["twil", "agv"])
        torque = load_robot(name).limits.torque
        friction = torque * math.exp(rng.uniform(math.log(0.01), math.log(0.25)))
        wiring = Wiring(delay=rng.uniform(0.0, 0.1), gyro=rng.random() < 0.5)
        more = {"friction": friction, "static": rng.uniform(1.0, 1.6)}
        lifted, period = rng.random() < 0.5, rng.choice([0.005, 0.01, 0.02, 0.04])
        test, plant, judgement = moved(name, EFFORT, wiring, period=period, lifted=lifted, **more)
        case = (name, wiring, more, lifted, period)
        assert not judgement.findings, (case, judgement.findings)
        assert plant.farthest < QUARTER, case
        for channel in (0, 1):
            assert friction < test.result.least(channel), case
        assert wiring.delay <= test.result.delay + 0.02, case


def test_sound_velocity_robots_are_not_blamed():
    """Random drivers: lag 0.05 to 0.4 s, delay to 0.15 s; seed 5702."""
    rng = random.Random(5702)
    for _ in range(5):
        wiring = Wiring(delay=rng.uniform(0.0, 0.15), gyro=rng.random() < 0.5)
        lag, period = rng.uniform(0.05, 0.4), rng.choice([0.01, 0.02, 0.05])
        test, plant, judgement = moved("turtlebot2", VELOCITY, wiring, period=period, lag=lag)
        case = (wiring, lag, period, test.result)
        assert not judgement.findings, (case, judgement.findings)
        assert plant.farthest < QUARTER, case


def test_a_wheel_that_runs_away_ends_the_test():
    robot = load_robot("twil")
    test, plant = MovingTest(robot, EFFORT), MovingPlant(robot, EFFORT)
    plant.advance = _pushed(plant)
    assert "where it should" in run(test, plant).ended


def _pushed(plant):
    advance = plant.advance

    def pushed(until):
        advance(until)
        if plant.time > 3.0:
            plant.angles[1] += 0.05

    return pushed


def test_the_unit_is_seen_from_the_motion():
    said = {}
    for unit in (0.05, 1.0):
        wiring = Wiring(unit=unit)
        friction = 0.05 * unit * load_robot("twil").limits.torque
        _, _, judgement = moved("twil", EFFORT, wiring, friction=friction)
        said[unit] = [each.what for each in judgement.findings]
    assert not said[1.0]
    assert "accelerates a wheel as" in said[0.05][0]
