# SPDX-License-Identifier: Apache-2.0
"""Efforts in another unit than N m are asked for, in tables, bags and on line; no text says "nan".

The run is that of excited_runs.usual_run: twil, 30 s, seed 3, with friction. Only a factor on its
efforts differs, so that K7 is known to be off by that factor.
"""

import re
from dataclasses import replace

import numpy as np
import pytest
from identify_command import identify, torque_rows, write_table
from made_recordings.excited_runs import RunSetting, driver, usual_run
from made_recordings.recorded_bag import write_run

from arc_odometry import WheelGeometry
from diffbot_description import load_robot
from diffbot_ident.estimate import EstimateState, FrictionEstimate
from diffbot_ident.estimators import make_estimator
from diffbot_ident.excitation.excitations import make_excitation
from diffbot_ident.identification_run import Identification, Phase
from diffbot_ident.interpretation.effort_units import (
    EffortCheck,
    EffortUnit,
    Sign,
    compared,
    effort_question,
    suggested,
)
from diffbot_ident.runaway import RunawayLimits
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import VirtualRobot

ROBOT = ("--robot", "twil")
WHEELS_OF_TWIL = ("--wheel-radius", "0.075", "--track", "0.27217")
UNKNOWN = re.compile(r"(?<![\w.])[-+]?(nan|inf|infinity)(?!\w)", re.IGNORECASE)


def scaled(factor):
    """The usual run with efforts in units of 1 / factor N m."""
    for sample in usual_run().samples:
        yield replace(sample, effort=tuple(factor * effort for effort in sample.effort))


@pytest.fixture
def table(tmp_path):
    def written(factor):
        return write_table(tmp_path / "log.csv", torque_rows(scaled(factor)))

    return written


@pytest.mark.parametrize(
    ("factor", "named"),
    [
        (20.0, "A with a torque constant of 0.05"),
        (2e4, "mA with a torque constant of 0.05"),
        (100.0, "N cm"),
        (1000.0, "N mm"),
        (100.0 / 5.0, "% of the full torque"),
        (0.05, "shares of the full torque, which is 20"),
        (500.0, "PWM of up to 255"),
    ],
)
def test_efforts_in_another_unit_are_asked_for(table, tmp_path, capsys, factor, named):
    """Before: an equivalent mass of 101 kg for 5 kg, exit 0, without a word."""
    status, summary = identify(tmp_path, table(factor), *ROBOT)
    assert status == 2 and summary is None
    said = capsys.readouterr().err
    assert named in said and "are the efforts" in said and "by its description 5.04 kg" in said
    assert "--torque-constant" in said and "torque_constant" in said


def test_a_bag_is_asked_for_as_a_table_is(tmp_path, capsys):
    write_run(tmp_path / "bag", scaled(2e4))
    status, _ = identify(tmp_path, tmp_path / "bag", *ROBOT)
    assert status == 2 and "mA with a torque constant" in capsys.readouterr().err


def test_the_advice_gives_the_values_of_efforts_in_newton_metres(table, tmp_path, capsys):
    _, right = identify(tmp_path / "right", table(1.0), *ROBOT)
    identify(tmp_path / "asked", table(20.0), *ROBOT)
    asked = capsys.readouterr().err
    options = re.search(r"--effort-unit (\w+) --torque-constant (\S+)\)", asked)
    words = ("--effort-unit", options[1], "--torque-constant", options[2])
    status, result = identify(tmp_path / "advised", table(20.0), *ROBOT, *words)
    assert status == 0 and options[1] == "ampere"
    for name in ("K5", "K6"):
        assert result["parameters"][name]["value"] == pytest.approx(
            right["parameters"][name]["value"], rel=1e-3
        )
    # The constant is that of the description's mass; the run's friction hides 1 % of it at most.
    for name in ("K7", "K8"):
        assert result["parameters"][name]["value"] == pytest.approx(
            right["parameters"][name]["value"], rel=0.02
        )


def test_efforts_confirmed_in_newton_metres_are_used_with_a_warning(table, tmp_path):
    words = ("--effort-unit", "newton_metre")
    status, summary = identify(tmp_path, table(20.0), *ROBOT, *words)
    assert status == 0
    assert any("20 times more" in note for note in summary["notes"])


def test_a_mass_that_differs_notably_is_a_warning_and_a_right_one_none(table, tmp_path):
    status, summary = identify(tmp_path, table(1.9), *ROBOT)
    assert status == 0
    assert any("efforts in another unit" in text for text in summary["warnings"])
    status, summary = identify(tmp_path / "right", table(1.0), *ROBOT)
    assert status == 0 and not summary["warnings"]
    assert any("compared with the robot's description" in note for note in summary["notes"])


@pytest.mark.parametrize("robot", [ROBOT, WHEELS_OF_TWIL])
@pytest.mark.parametrize("factor", [0.0, 1e-9, 1e9])
def test_no_text_holds_a_number_that_is_none(table, tmp_path, capsys, factor, robot):
    """Before: "by the robot's description with nan m/s", "residuals inf m/s²"."""
    words = ("--effort-unit", "newton_metre") if factor > 1.0 else ()
    identify(tmp_path, table(factor), *robot, *words)
    reported = capsys.readouterr()
    assert reported.out + reported.err and not UNKNOWN.search(reported.out + reported.err)


def test_without_a_description_only_an_impossible_mass_is_asked_for(table, tmp_path, capsys):
    status, _ = identify(tmp_path, table(20.0), *WHEELS_OF_TWIL)
    assert status == 0  # 101 kg on a track of 0.27 m: heavy, and possible
    assert "equivalent mass 101 kg" in capsys.readouterr().out
    status, _ = identify(tmp_path / "heavy", table(2e4), *WHEELS_OF_TWIL)
    assert status == 2 and "equivalent mass" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("factor", "track", "asked"),
    [
        (1.1, 0.06, False),  # 5.5 kg on a track of 6 cm: more than steel
        (1.0, 2.0, False),  # on one of 2 m: less than a hundredth of foam
        (0.15, 2.0, False),  # 0.8 kg
        (0.05, 2.0, True),  # 0.25 kg
        (39.0, 0.06, False),  # 200 kg
        (200.0, 0.06, True),  # 1000 kg
    ],
)
def test_without_a_description_an_unusual_mass_is_no_question(factor, track, asked):
    """Before, sound robots of an unusual size were refused: 2 of 60 that were drawn at random."""
    result = estimated(factor)
    geometry = WheelGeometry(0.075, 0.075, track)
    question = effort_question(result, geometry, None, 1.0)
    assert (question is not None) is asked
    judged, _ = EffortCheck(geometry, None).judged(result, 1.0)
    assert (judged.state is EstimateState.INVALID) is asked
    if not asked:
        assert any("usually have" in text for text in judged.warnings)


def test_a_mass_or_a_limit_that_is_only_assumed_contradicts_nothing():
    robot, result = load_robot("twil"), estimated(20.0)
    assert effort_question(result, robot.geometry, robot, 1.0).sign is Sign.MASS
    assumed = replace(robot, assumed=("body.mass", "limits.torque"))
    assert effort_question(result, robot.geometry, assumed, 20.0) is None
    given = replace(robot, assumed=("body.mass",))
    assert effort_question(result, robot.geometry, given, 20.0).sign is Sign.LIMIT


def test_nothing_is_compared_with_what_a_description_only_assumes():
    """Before, reports told by how much a robot differs from masses that nobody had given."""
    robot, result = load_robot("twil"), estimated(1.0)
    every = compared(result, robot)
    assert all(word in every for word in ("equivalent mass", "yaw inertia", "K5"))
    assert compared(result, replace(robot, assumed=("body.mass",))) is None
    some = compared(result, replace(robot, assumed=("body.inertia.yaw",)))
    assert "equivalent mass" in some and "yaw" not in some and "K5" in some
    some = compared(result, replace(robot, assumed=("body.center_of_mass.x",)))
    assert "yaw inertia" in some and "K5" not in some


def test_voltages_as_efforts_are_no_torques(table, tmp_path, capsys):
    """Motors of 1.2 ohm and 0.1 V s/rad: effort u gives k (u - k w) / R, a time constant of 1.7 s;
    with 0.6 V s/rad it is 0.05 s, which no friction of a rolling robot gives; with 0.35 V s/rad it
    is 0.14 s, which is asked where the mass differs from the description, too, by 3.4."""
    rows = torque_rows(scaled(1.0))
    for ke, words, asked in (
        (0.1, WHEELS_OF_TWIL, False),
        (0.6, WHEELS_OF_TWIL, True),
        (0.35, WHEELS_OF_TWIL, False),
        (0.35, ROBOT, True),
    ):
        volts = rows.copy()
        speeds = np.gradient(np.unwrap(rows[:, 1:3], axis=0), rows[:, 0], axis=0)
        volts[:, 5:7] = 1.2 / ke * rows[:, 5:7] + ke * speeds
        path = write_table(tmp_path / "volts.csv", volts)
        identify(tmp_path / f"{ke}{words[0]}", path, *words)
        assert ("voltages or duty cycles" in capsys.readouterr().err) is asked


def identification(factor):
    """A run of 10 s on the ideal engine whose driver reports its efforts times a factor."""
    robot, setting = load_robot("twil"), RunSetting()
    own = robot.excitation
    estimator = make_estimator("integral", robot.geometry, usual_run().scale)
    limits = RunawayLimits(own.linear_velocity, own.angular_velocity, own.amplitude, robot.name)
    run = Identification(
        estimator,
        make_excitation("prbs", robot, 1),
        robot.geometry,
        limits,
        duration=10.0,
        efforts=EffortCheck(robot.geometry, robot),
    )
    _, actuator, encoders = driver(setting, setting.make_robot(), 3)
    virtual = VirtualRobot(make_simulator("ideal", robot), actuator, encoders, setting.period)
    sample = virtual.sample
    while not run.ended:
        reported = replace(sample, effort=tuple(factor * each for each in sample.effort))
        torque = run.update(reported)
        run.follow_up()
        sample = virtual.advance(torque)
    return run


def test_a_run_ends_with_the_question_and_its_values_are_not_used():
    run = identification(20.0)
    assert run.phase is Phase.STOPPED and run.verified is None
    assert run.estimate.state is EstimateState.INVALID
    assert "A with a torque constant of 0.05" in run.problem
    run = identification(1.0)
    assert run.phase is Phase.DONE and run.estimate.state is EstimateState.ESTIMATED


def estimated(factor=1.0):
    run = usual_run()
    estimator = make_estimator("integral", run.geometry, run.scale)
    for sample in scaled(factor):
        estimator.update(sample)
    return estimator.estimate()


def test_efforts_beyond_the_limit_are_asked_for_unless_the_mass_agrees():
    robot, result = load_robot("twil"), estimated()
    assert effort_question(result, robot.geometry, robot, 20.0) is None
    doubtful = result.with_values(
        np.array(result.values) * (1.0, 1.0, 0.5, 0.5), np.array(result.covariance)
    )
    asked = effort_question(doubtful, robot.geometry, robot, 20.0)
    assert asked.sign is Sign.LIMIT and "limits.torque of twil is 5 N m" in asked.result
    assert effort_question(doubtful, robot.geometry, robot, 4.0) is None
    unknown = result.as_a_whole(EstimateState.UNESTIMATED, "")
    assert "mass is not known" in str(effort_question(unknown, robot.geometry, robot, 20.0))


def test_a_described_short_time_constant_is_no_question():
    robot, result = load_robot("twil"), estimated()
    viscous, std = 0.2, 1e-3  # r / (K7 2 d) = 0.07 s
    friction = FrictionEstimate((viscous, viscous, 0.0, 0.0), (std**2,) * 4)
    result = replace(result, friction=friction)
    asked = effort_question(result, robot.geometry, robot, 1.0)
    assert asked.sign is Sign.TIME_CONSTANT
    described = replace(robot, friction=replace(robot.friction, viscous=(viscous, viscous)))
    assert effort_question(result, robot.geometry, described, 1.0) is None


def test_a_given_constant_is_named_as_the_doubtful_one():
    robot, unit = load_robot("twil"), EffortUnit("A", 0.4)
    asked = effort_question(estimated(0.05), robot.geometry, robot, 0.02, unit)
    assert "by its efforts in A" in str(asked)
    # 0.4 N m/A made efforts 20 times too small: 8 N m/A are right.
    assert asked.torque_of_one == pytest.approx(8.0, rel=0.02)


@pytest.mark.parametrize(("one", "size"), [(1e-7, 1e7), (300.0, 1e-3), (0.3, 2.0)])
def test_some_unit_is_always_suggested(one, size):
    assert suggested(one, size)
