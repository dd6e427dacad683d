# SPDX-License-Identifier: Apache-2.0
"""Blocks of robots against one robot at a time: engine, motors, encoders and whole drives.

Seeds 0 to 16 were looked at: engine angles and poses differ by up to 1e-13 after 10 s, errors of
drives by up to 1e-12 m. Seeds below are others.
"""

from dataclasses import replace

import numpy as np
import pytest
from made_recordings.random_runs import with_unmodelled_effect, without_friction

from diffbot_controllers import tuned_backstepping
from diffbot_controllers.laws.friction import KnownWheels
from diffbot_description import closed_form, load_robot
from diffbot_sim.engines.ideal import IdealSimulator
from diffbot_sim.engines.ideal_batch import IdealBatch
from diffbot_sim.virtual_robot import Actuator, BatchActuator, BatchEncoders, Encoders
from diffbot_study.batch_backstepping import BatchBackstepping
from diffbot_study.batch_driving import simulate_drives
from diffbot_study.driving import simulate_drive
from diffbot_study.random_robots import draw
from pose2d_trajectories import Reference, make_trajectory

EQUAL = 1e-9
EIGHT = make_trajectory("figure_eight", amplitude_x=1.0, amplitude_y=1.0, period=20.0, ramp_up=0.0)


def law_of(robot, **options):
    limits = robot.limits
    return tuned_backstepping(
        closed_form(robot.model),
        limits.traction,
        limits.linear_velocity,
        limits.angular_velocity,
        **{"mean_velocity": True, "wheels": KnownWheels.of(robot), **options},
    )


def by_direction(robot):
    """Less friction backward."""
    left, right = robot.friction.coulomb
    return replace(
        robot, friction=replace(robot.friction, coulomb_backward=(0.6 * left, 0.7 * right))
    )


def geared(robot):
    """With gears that lose a part of the torque."""
    return replace(robot, friction=replace(robot.friction, gear_loss=(0.1, 0.3)))


@pytest.mark.kernels
def test_a_block_moves_as_each_robot_alone():
    free = without_friction(draw(102)).robot
    robots = [draw(100).robot, by_direction(draw(101).robot), free]
    robots += [geared(robot) for robot in robots[1:]]
    batch, alone = IdealBatch(robots), [IdealSimulator(robot) for robot in robots]
    start = np.array([[0.1, -0.2, 0.3], [0.0, 1.0, 2.0], [0.5, -3.0, 9.0]])[:, [0, 1, 2, 1, 2]]
    batch.reset(start)
    for index, engine in enumerate(alone):
        engine.reset(tuple(start[:, index]))
    generator = np.random.default_rng(7)
    amplitude = np.array([robot.excitation.amplitude for robot in robots])
    rests = 0
    for step in range(400):
        if step == 200:
            batch.set_payload(1, 0.3 * robots[1].body.mass, 0.0, 0.1, 0.01)
            alone[1].set_payload(0.3 * robots[1].body.mass, 0.0, 0.1, 0.01)
        if step % 13 == 0:
            torque = amplitude * generator.choice([-1.0, -0.3, 0.0, 0.5, 1.0], (2, len(robots)))
        batch.step(torque, 0.01)
        for index, engine in enumerate(alone):
            engine.step(tuple(torque[:, index].tolist()), 0.01)
        rests += np.count_nonzero(batch.wheel_velocities() == 0.0)
    assert rests > 20  # wheels have stopped, held and started
    for index, engine in enumerate(alone):
        pose = [batch.x[index], batch.y[index], batch.theta[index]]
        assert pose == pytest.approx(engine.pose(), abs=EQUAL)
        assert batch.angles[:, index] == pytest.approx(engine.wheel_angles(), abs=EQUAL)
        assert batch.wheel_velocities()[:, index] == pytest.approx(
            engine.wheel_velocities(), abs=EQUAL
        )
        assert np.array(batch.parameters)[:, index] == pytest.approx(engine.parameters())
    assert batch.time == pytest.approx(4.0)


def test_a_long_step_is_many_short_ones():
    robots = [draw(seed).robot for seed in (103, 104)]
    once, often = IdealBatch(robots), IdealBatch(robots)
    torque = np.array([[1.0, -0.7], [0.4, 1.0]]) * [r.excitation.amplitude for r in robots]
    once.step(torque, 0.5)
    for _ in range(100):
        often.step(torque, 0.005)
    assert np.allclose([once.x, once.y, once.theta], [often.x, often.y, often.theta], atol=1e-9)


def test_motors_and_encoders_of_a_block_are_those_of_each_robot():
    seeds, limits, counts = [3, 4], [1.0, 2.0], [0, 512]
    batch = BatchActuator(limits, 2, [0.05, 0.0], seeds, np.array([[0.0, 0.1], [0.0, 0.1]]))
    alone = [
        Actuator(limits[0], 2, 0.05, 3),
        Actuator(limits[1], 2, 0.0, 4, (0.1, 0.1)),
    ]
    encoders = BatchEncoders(counts, 0.01, seeds)
    own = [Encoders(count, 0.01, seed) for count, seed in zip(counts, seeds, strict=True)]
    generator = np.random.default_rng(0)
    for _ in range(250):
        command = generator.uniform(-3.0, 3.0, (2, 2))
        reported, acting = batch.apply(command)
        angles = encoders.read(10.0 * command)
        for index in (0, 1):
            said, given = alone[index].apply(tuple(command[:, index]))
            assert reported[:, index] == pytest.approx(said, abs=1e-15)
            assert acting[:, index] == pytest.approx(given, abs=1e-15)
            read, _ = own[index].read(tuple(10.0 * command[:, index]), (0.0, 0.0))
            assert angles[:, index] == pytest.approx(read, abs=1e-12)


@pytest.mark.parametrize(
    ("name", "seconds"), [("eight", 4.0), pytest.param("park", 3.0, marks=pytest.mark.kernels)]
)
def test_a_block_drives_as_each_robot_alone(name, seconds):
    robots = [draw(106).robot, draw(107).robot, geared(draw(107).robot)]
    first = EIGHT.at(0.0)
    beside = {"eight": 0.7, "park": 0.4}[name]
    starts = np.array([[first.x, first.y, first.theta]]).T + beside * np.array(
        [[1.0, -0.5, -0.5], [-0.7, 1.0, 1.0], [0.5, -1.0, -1.0]]
    )

    def goal(_):
        return Reference(0.0, 0.0, 0.3)

    reference = goal if name == "park" else EIGHT.at
    laws = [law_of(robot) for robot in robots]
    batch = simulate_drives(
        robots,
        laws,
        reference,
        seconds,
        starts=starts,
        seeds=[8, 9, 10],
        torque_noise=0.02,
        torque_delay=1,
    )
    for index, robot in enumerate(robots):
        drive = simulate_drive(
            "ideal", robot, law_of(robot), reference, seconds,
            start=tuple(starts[:, index]), seed=8 + index, torque_noise=0.02, torque_delay=1,
        )  # fmt: skip
        position, heading = drive.true.rms(0.5 * seconds)
        assert batch.rms_position[index] == pytest.approx(position, abs=EQUAL)
        assert batch.rms_heading[index] == pytest.approx(heading, abs=EQUAL)
        assert batch.max_position[index] == pytest.approx(
            drive.true.largest(0.5 * seconds)[0], abs=EQUAL
        )
        assert batch.settling_time[index] == pytest.approx(drive.true.settling_time, abs=1e-6)
        assert batch.peak_torque[index] == pytest.approx(drive.peak_torque, abs=EQUAL)
        assert np.sqrt(np.mean(drive.torque**2)) == pytest.approx(batch.rms_torque[index])


def test_what_a_block_does_not_know_is_refused_by_name():
    stribeck = with_unmodelled_effect(draw(100), "stribeck").robot
    with pytest.raises(ValueError, match="random_100.*static friction"):
        IdealBatch([stribeck])
    with pytest.raises(ValueError, match="casters that drag"):
        IdealBatch([with_unmodelled_effect(draw(100), "caster").robot])
    with pytest.raises(ValueError, match="0 robots"):
        IdealBatch([])
    twil = load_robot("twil")
    with pytest.raises(ValueError, match="mean_velocity"):
        BatchBackstepping([law_of(twil, wheels=None)])
    with pytest.raises(ValueError, match="delay"):
        BatchBackstepping([law_of(twil, wheels=replace(KnownWheels.of(twil), delay=0.01))])
    with pytest.raises(ValueError, match="finite"):
        IdealBatch([twil]).step(np.array([[np.nan], [0.0]]), 0.01)
