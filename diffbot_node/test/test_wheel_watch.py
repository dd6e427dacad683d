# SPDX-License-Identifier: Apache-2.0
"""The wheel watch on motions that are calculated by hand: no law, no simulator."""

import math
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import JointSample
from diffbot_description import closed_form, load_robot
from diffbot_node.wheel_watch import LONGEST_GAP, WheelWatch

ROBOT = load_robot("twil")
K7 = closed_form(ROBOT.model).k7
RADIUS = ROBOT.wheels.radius
PERIOD = 0.01
COUNT = math.tau / 4096


def straight(torque, push=None, *, start=0.0, seconds=1.0, counts=4096, period=PERIOD):
    """Samples and torques of a robot that drives straight on under `push`, N m per wheel.

    From v' = 2 K7 push, in steps of constant torque; `torque` is what is commanded.
    """
    angle, speed, samples = 0.0, start, []
    for i in range(round(seconds / period) + 1):
        count = math.tau / counts
        seen = math.floor(angle / count) * count
        command = 0.0 if i == 0 else torque((i - 1) * period)
        samples.append((JointSample(i * period, (seen, seen), (0.0, 0.0), (0.0, 0.0)), command))
        acting = (push or torque)(i * period)
        acceleration = 2.0 * K7 * acting / RADIUS
        angle += speed * period + 0.5 * acceleration * period**2
        speed += acceleration * period
    return samples


def first(watch, samples):
    """Time of the first sentence, and it; None where there is none."""
    for sample, torque in samples:
        why = watch.update(sample, (torque, torque))
        if why:
            return sample.stamp, why
    return None


def kept(samples, sides, since):
    """The same samples, with angles that repeat themselves from a time on."""
    kept, result = None, []
    for sample, torque in samples:
        if sample.stamp <= since + 1e-9:
            kept = sample.position
        else:
            position = tuple(
                kept[i] if i in sides else angle for i, angle in enumerate(sample.position)
            )
            sample = replace(sample, position=position)
        result.append((sample, torque))
    return result


def test_a_robot_that_obeys_is_let_drive():
    assert first(WheelWatch(ROBOT), straight(lambda t: math.sin(5.0 * t), seconds=3.0)) is None


@pytest.mark.parametrize(("torque", "longest"), [(1.0, 0.08), (-1.0, 0.08), (0.5, 0.12)])
def test_flipped_torque_from_rest_is_found_soon(torque, longest):
    # By hand: energy E = |W| against the torque; seen with the delay of one sample, and after
    # 0.05 rad of motion, which 1 N m needs 39 ms for and 0.5 N m 55 ms.
    stamp, why = first(WheelWatch(ROBOT), straight(lambda t: torque, lambda t: -torque))
    assert stamp <= longest
    assert "both wheels turn against their torque" in why
    assert "check the signs" in why


def test_dead_motors_of_a_heavy_robot_are_found_as_soon_as_the_stated_bounds_allow():
    """Under 6 N m agv may stand for 0.31 s: the physics behind its rows of the fault table."""
    torque, robot = 6.0, load_robot("agv")
    model = robot.model
    straight = 1.0 / (model.equivalent_mass * model.wheel_radius**2)
    turning = model.half_track**2 / (model.equivalent_inertia * model.wheel_radius**2)
    # Wheel acceleration: own torque less 3/4 of the limit, and the other wheel's against it.
    net = (straight + turning) * (torque - 0.75 * torque) - (straight - turning) * torque
    count, heavier, delay = math.tau / 256, 2.5, 5 * PERIOD
    longest = delay + math.sqrt(2.0 * count * heavier / net)
    assert longest == pytest.approx(0.312, abs=0.001)
    watch, still = WheelWatch(robot, torque), (0.0, 0.0)
    samples = [(JointSample(i * PERIOD, still, still, still), torque if i else 0.0)
               for i in range(60)]  # fmt: skip
    stamp, why = first(watch, samples)
    assert "stood still" in why
    assert longest <= stamp <= longest + 2.0 * PERIOD


def late_driver(effort, *, taken=0.7):
    """Drive on and back by torques of 0.5 N m; the change at 0.3 s is taken at a later time."""

    def torque(time):
        return 0.5 if time < 0.3 - 1e-9 else -0.5

    def acting(time):
        return 0.5 if time < taken - 1e-9 else -0.5

    reported = [0.0, *(effort(acting(i * PERIOD), torque(i * PERIOD)) for i in range(100))]
    # As a mean over a period, which is rounded.
    reported = [value * (1.0 + i % 3 * 1e-15) for i, value in enumerate(reported)]
    return [
        (replace(sample, effort=(now, now)), command)
        for (sample, command), now in zip(straight(torque, acting), reported, strict=True)
    ]


def test_a_driver_that_takes_a_command_late_is_not_called_wired_wrongly():
    # The loop of a controller manager went on with an old torque for 0.4 s, on a busy computer.
    watch = WheelWatch(ROBOT)
    late = []
    for sample, torque in late_driver(lambda acting, commanded: acting):
        assert watch.update(sample, (torque, torque)) is None
        if watch.late:
            late.append(sample.stamp)
            assert "does not take the commands" in watch.late
            assert "effort of 0.5 and 0.5 N m" in watch.late
    # From when the torque would have been blamed until the command is taken.
    assert late[0] == pytest.approx(0.42, abs=0.04)
    assert late[-1] == pytest.approx(0.70)
    assert len(late) == round((late[-1] - late[0]) / PERIOD) + 1


@pytest.mark.parametrize("sign", [1.0, -1.0], ids=["late", "of the wrong sign"])
def test_a_command_that_was_taken_in_time_may_be_the_last_for_a_while(sign):
    # Commands that change all the time act 2 periods late; the last one before the sign changes
    # acts until 0.7 s. With effort of the wrong sign, and torque too, nothing is late.
    def torque(time):
        return math.copysign(0.5 + 0.2 * math.sin(40.0 * time), 0.3 - 1e-9 - time)

    def acting(time):
        return sign * torque(time - 0.02 if sign < 0.0 or not 0.32 <= time + 1e-9 < 0.7 else 0.29)

    reported = [0.0, *(acting(i * PERIOD) for i in range(100))]
    watch, late, result = WheelWatch(ROBOT), 0, None
    for (sample, commanded), now in zip(straight(torque, acting), reported, strict=True):
        sample = replace(sample, effort=(now, now))
        result = result or watch.update(sample, (commanded, commanded))
        late += bool(watch.late)
    assert (result is None and late) if sign > 0.0 else (result and not late)


def test_what_acted_before_a_late_command_was_taken_blames_nobody_afterwards():
    # Taken before it would have been blamed: the motion of the late torque is still in the window.
    for taken in (0.36, 0.37, 0.38, 0.39, 0.40, 0.41, 0.42, 0.43, 0.44):
        watch = WheelWatch(ROBOT)
        assert first(watch, late_driver(lambda acting, commanded: acting, taken=taken)) is None


@pytest.mark.parametrize(
    "effort",
    [
        lambda acting, commanded: commanded,
        lambda acting, commanded: -commanded,
        lambda acting, commanded: 0.0,
        lambda acting, commanded: math.nan,
    ],
    ids=["echoed", "of the wrong sign", "none", "missing"],
)
def test_effort_that_tells_nothing_of_lateness_excuses_nobody(effort):
    watch = WheelWatch(ROBOT)
    stamp, why = first(watch, late_driver(effort))
    assert "both wheels turn against their torque" in why
    assert 0.36 <= stamp <= 0.46  # 6 steps and more after the command
    assert not watch.late


def test_a_robot_that_rolls_down_a_slope_against_its_torque_is_let_roll():
    # 10 degrees: 9.81 sin(10 deg) = 1.70 m/s^2, against 0.2 N m on each wheel, which give 1.1.
    pull = 1.70 / (2.0 * K7)
    assert first(WheelWatch(ROBOT), straight(lambda t: -0.2, lambda t: pull - 0.2)) is None


def test_a_push_that_no_wiring_explains_is_not_called_a_wrong_sign():
    # 40 N m on each wheel from outside, 0.05 N m against it: 800 times its work.
    assert first(WheelWatch(ROBOT), straight(lambda t: -0.05, lambda t: 2.0, seconds=0.2)) is None


def test_a_wheel_that_leaves_the_ground_and_comes_back_is_no_wrong_sign():
    # Braked by 1 N m from 40 rad/s, it stops turning in the air for 20 ms and is dragged along
    # again: energy that comes back against the torque, as a wrong sign would have it.
    samples, lost = [], 0.0
    for i, (sample, torque) in enumerate(straight(lambda t: -1.0, start=40.0, seconds=0.5)):
        lost += 0.1 * (i in (20, 21))
        position = tuple(angle - lost for angle in sample.position)
        samples.append((replace(sample, position=position), torque))
    assert first(WheelWatch(ROBOT), samples) is None


@pytest.mark.parametrize("sides", [(0,), (1,), (0, 1)])
def test_an_encoder_that_sticks_in_motion_is_found_within_100_ms(sides):
    samples = straight(lambda t: 0.2, start=5.0)
    stamp, why = first(WheelWatch(ROBOT), kept(samples, sides, 0.3))
    assert 0.3 < stamp <= 0.4
    assert f"the {('left', 'right')[sides[0]]} wheel's angle has stood still" in why
    assert "check the encoder's cable" in why


def test_a_sensor_that_sticks_between_two_slow_samples_is_found_at_the_second_repeat():
    samples = straight(lambda t: 0.0, start=10.0, seconds=0.5, period=0.05)
    assert first(WheelWatch(ROBOT), kept(samples, (0,), 0.2))[0] == pytest.approx(0.3)


def test_an_encoder_that_sticks_at_rest_is_found_when_torque_exceeds_friction():
    def there_and_back(time):
        return 0.5 if time < 0.0995 else -0.5 if time < 0.1995 else 0.0 if time < 0.3995 else 1.0

    samples = kept(straight(there_and_back), (0, 1), 0.3)
    stamp, why = first(WheelWatch(ROBOT), samples)
    assert 0.4 < stamp <= 0.5
    assert "1 N m" in why


def test_an_encoder_that_never_moved_may_be_a_coarse_one():
    # 1/256 turn takes 85 ms with 0.25 N m to spare and 2.5 x the mass, 50 ms late; the other
    # wheel's torque can take some 0.08 N m of these: 105 ms.
    samples = kept(straight(lambda t: 1.0), (0, 1), 0.0)
    assert first(WheelWatch(ROBOT), samples)[0] <= 0.18
    # Half of the limit may be friction, a quarter a slope; of a lower limit that is less.
    weak = kept(straight(lambda t: 0.5), (0, 1), 0.0)
    assert first(WheelWatch(ROBOT), weak) is None
    assert first(WheelWatch(ROBOT, 0.5), weak) is not None


def test_friction_that_the_yaml_tells_is_believed():
    sticky = replace(ROBOT, friction=replace(ROBOT.friction, coulomb=(0.8, 0.8)))
    assert first(WheelWatch(sticky), kept(straight(lambda t: 1.0), (0, 1), 0.0)) is None
    # Gears that lose 0.75 of the torque hold as much as the torque of the motor.
    geared = replace(ROBOT, friction=replace(ROBOT.friction, gear_loss=(0.75, 0.75)))
    assert first(WheelWatch(geared), kept(straight(lambda t: 1.0), (0, 1), 0.0)) is None


def test_a_driver_that_repeats_angles_at_20_hz_is_let_drive():
    samples = straight(lambda t: 0.0, start=10.0)
    slow = [
        (replace(s, position=samples[5 * (i // 5)][0].position), t)
        for i, (s, t) in enumerate(samples)
    ]
    assert first(WheelWatch(ROBOT), slow) is None


def test_a_wheel_that_is_shaken_to_and_fro_within_each_sample_is_let_drive():
    # At a speed of -a T / 2 a torque that turns round with each sample brings the wheel back to its
    # angle in each of them.
    def shaking(time):
        step = round((time - 0.3) / PERIOD)
        return 0.0 if step < 0 else (-1.0) ** step

    drive = straight(shaking, start=-K7 / RADIUS * PERIOD, seconds=2.0)
    assert len({sample.position for sample, _ in drive if sample.stamp > 0.31}) == 1
    assert first(WheelWatch(ROBOT), drive) is None


def test_samples_at_1_khz_are_joined():
    watch = WheelWatch(ROBOT)
    stamp, _ = first(watch, straight(lambda t: 1.0, lambda t: -1.0, seconds=0.2, period=0.001))
    assert stamp <= 0.08


def test_wrapping_encoders_are_as_good():
    samples = [
        (replace(s, position=tuple(math.remainder(a, math.tau) for a in s.position)), t)
        for s, t in straight(lambda t: 0.3, start=20.0)
    ]
    assert first(WheelWatch(ROBOT), samples) is None


@pytest.mark.parametrize(
    "next_sample",
    [
        JointSample(0.45 + LONGEST_GAP, (3.0, 3.0), (0.0, 0.0), (0.0, 0.0)),
        JointSample(0.2, (3.0, 3.0), (0.0, 0.0), (0.0, 0.0)),
        JointSample(0.41, (30.0, 3.0), (0.0, 0.0), (0.0, 0.0)),
    ],
    ids=["gap", "back in time", "jump"],
)
def test_what_does_not_follow_is_a_new_beginning(next_sample):
    watch = WheelWatch(ROBOT)
    assert first(watch, straight(lambda t: 0.2, start=5.0, seconds=0.4)) is None
    # Not one of these could be explained by the torque, were it taken for motion.
    for i in range(4):
        sample = replace(next_sample, stamp=next_sample.stamp + i * PERIOD)
        assert watch.update(sample, (-1.0, -1.0)) is None


def test_the_same_stamp_again_says_nothing():
    watch = WheelWatch(ROBOT)
    for sample, torque in straight(lambda t: 1.0, seconds=0.3):
        for _ in range(3):
            assert watch.update(sample, (torque, torque)) is None


def test_reset_forgets_the_motion():
    watch = WheelWatch(ROBOT)
    samples = kept(straight(lambda t: 0.0, start=10.0), (0, 1), 0.3)
    stamp, _ = first(watch, samples)
    watch.reset()
    assert first(watch, [pair for pair in samples if pair[0].stamp > stamp]) is None


@pytest.mark.parametrize("limit", [0.0, -1.0, math.nan, math.inf])
def test_a_limit_that_is_none_is_refused(limit):
    with pytest.raises(ValueError, match="torque limit of the wheel watch"):
        WheelWatch(ROBOT, limit)


@given(
    torques=st.lists(st.floats(-1.0, 1.0), min_size=5, max_size=40),
    mass=st.floats(0.5, 2.0),
    friction=st.floats(0.0, 0.5),
    late=st.integers(0, 5),
    counts=st.sampled_from((256, 1000, 4096)),
)
def test_no_robot_within_the_bounds_is_stopped(torques, mass, friction, late, counts):
    """Any torque, with masses a factor 2 off, Coulomb friction, delay and coarse encoders."""
    watch = WheelWatch(ROBOT)
    gain, count = 2.0 * K7 / RADIUS / mass, math.tau / counts
    angle = speed = 0.0
    delayed = [0.0] * late + [torque for torque in torques for _ in range(5)]
    commanded = [*delayed[late:], *[0.0] * late]
    for i, acting in enumerate([0.0, *delayed]):
        # Coulomb friction in small steps: it stops a wheel, and holds it at rest.
        for _ in range(10):
            drive = gain * acting * PERIOD / 10.0
            grip = gain * friction * PERIOD / 10.0
            wanted = speed + drive
            speed = math.copysign(max(abs(wanted) - grip, 0.0), wanted)
            angle += speed * PERIOD / 10.0
        seen = math.floor(angle / count) * count
        torque = 0.0 if i == 0 else commanded[i - 1]
        sample = JointSample(i * PERIOD, (seen, seen), (0.0, 0.0), (0.0, 0.0))
        assert watch.update(sample, (torque, torque)) is None


@given(
    seed=st.integers(0, 2**32 - 1),
    wiring=st.sampled_from(("right", "both flipped", "swapped", "left flipped")),
    counts=st.sampled_from((0, 256, 4096)),
)
def test_the_bound_that_settles_most_steps_hides_no_finding(seed, wiring, counts):
    """With every window worked out at each step the findings are the same."""
    watch, thorough = WheelWatch(ROBOT), WheelWatch(ROBOT)
    thorough._energy._is_paid_for = lambda count: False
    for sample, torque in wandering(seed, wiring, counts):
        result = watch.update(sample, torque)
        assert result == thorough.update(sample, torque)
        if result:
            watch.reset(), thorough.reset()


def wandering(seed, wiring, counts):
    """Samples and torques of a robot that is driven at random, each torque for some periods."""
    random = Random(seed)
    k = closed_form(ROBOT.model)
    own, cross = ((k.k7 + side * ROBOT.wheels.half_track * k.k8) / RADIUS for side in (-1, 1))
    angles, speeds, torque = [0.0, 0.0], [0.0, 0.0], (0.0, 0.0)
    for step in range(150):
        seen = [math.floor(a * counts / math.tau) * math.tau / counts if counts else a
                for a in angles]  # fmt: skip
        yield JointSample(step * PERIOD, tuple(seen), (0.0, 0.0), (0.0, 0.0)), torque
        if random.random() < 0.1:
            torque = random.uniform(-1.0, 1.0), random.uniform(-1.0, 1.0)
        left, right = {
            "right": torque,
            "both flipped": (-torque[0], -torque[1]),
            "swapped": torque[::-1],
            "left flipped": (-torque[0], torque[1]),
        }[wiring]
        for side, (mine, others) in enumerate(((left, right), (right, left))):
            speeds[side] = 0.98 * speeds[side] + PERIOD * (own * mine + cross * others)
            angles[side] += PERIOD * speeds[side]
