# SPDX-License-Identifier: Apache-2.0
"""The course of an identification on the ideal engine: its ends, lost samples, wrong wiring."""

import math
import random
import re
from contextlib import closing
from dataclasses import replace

import numpy as np
import pytest

from arc_odometry import JointSample
from diffbot_description import load_robot
from diffbot_description.arena import Arena, extent, silhouette
from diffbot_ident.estimate import Estimate, EstimateState
from diffbot_ident.estimators import make_estimator
from diffbot_ident.excitation.excitations import make_excitation, nominal_prior
from diffbot_ident.identification_run import Identification, Phase
from diffbot_ident.precision import Precision
from diffbot_ident.prediction_model import Model
from diffbot_ident.runaway import RunawayLimits
from diffbot_ident.torque.learning import MotionScale
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import Actuator, Encoders, VirtualRobot

PERIOD = 0.01
ROBOT = load_robot("twil")
PRIOR = nominal_prior(ROBOT)


def straight(torque):
    return torque


def drive(duration, seed=0, kind="prbs", arena="", until="", verification=0.0, wires=straight,
          lost=lambda time: False, most=60.0, stall=None, acting=False,
          broken=lambda time: False):  # fmt: skip
    """Run a course to its end; returns it, the farthest |x| or |y| of the hull, and whether
    the robot stands but for a creep that any friction ends. At `stall` the driver stands still
    for 0.1 s between reading a sample and stamping it; `broken` samples hold no number. The driver
    reports what it was told, or the `acting` torque."""
    robot, prior = ROBOT, PRIOR
    own = robot.excitation
    geometry = robot.geometry
    room = Arena.parse(arena)
    course = Identification(
        make_estimator(
            "integral",
            geometry,
            MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude),
        ),
        make_excitation(kind, robot, seed, arena=room, prior=prior),
        geometry,
        RunawayLimits(own.linear_velocity, own.angular_velocity, own.amplitude, "twil"),
        duration,
        check=lambda: make_excitation("multisine", robot, seed + 1, arena=room, prior=prior),
        verification=verification,
        nominal=Model(prior.values),
        until=Precision.parse(until),
    )
    farthest = 0.0
    with closing(make_simulator("ideal", robot)) as engine:
        virtual = VirtualRobot(
            engine, Actuator(5.0, 0, 0.01, seed), Encoders(4096, PERIOD, seed), PERIOD
        )
        sample = virtual.sample
        torque = (0.0, 0.0)
        while not course.ended and sample.stamp < most:
            if stall is not None and sample.stamp >= stall:
                read, stall = sample, None
                for _ in range(10):
                    sample = replace(virtual.advance(wires(torque)), effort=torque)
                with pytest.raises(ValueError, match="time step"):
                    course.update(replace(read, stamp=sample.stamp - PERIOD))
            torque = (0.0, 0.0)
            if not lost(sample.stamp):
                if broken(sample.stamp):
                    sample = replace(sample, position=(math.nan, math.nan))
                try:
                    torque = course.update(sample)
                except ValueError as error:
                    assert re.search("time step|beyond the limit|finite", str(error))
                course.follow_up()
            # The wires may do something else than what the driver was told.
            sample = virtual.advance(wires(torque))
            sample = sample if acting else replace(sample, effort=torque)
            farthest = max(farthest, *extent(silhouette(robot), engine.pose()))
        v, omega = map(abs, engine.velocity())
        return course, farthest, v < 0.03 and omega < 0.15


def test_it_ends_at_the_precision_asked_for_verified_and_at_rest():
    course, farthest, stands = drive(
        30.0, kind="optimised", arena="3x3", until="K5 5% K6 5% K7 1% K8 1%", verification=5.0
    )
    assert course.phase is Phase.DONE and 5.0 <= course.excited < 12.0
    assert course.verified is not None and course.verified.passed, course.verified
    assert farthest < 1.5 and stands


def test_an_end_without_an_estimate_is_at_rest_inside_the_arena():
    course, farthest, stands = drive(0.95, 0, kind="optimised", arena="3x3")
    assert course.phase is Phase.DONE and farthest < 1.5 and stands


def test_lost_samples_do_not_lead_out_of_the_arena():
    course, farthest, _ = drive(
        12.0, kind="optimised", arena="3x3", verification=4.0, lost=lambda time: time % 5.0 < 0.2
    )
    assert course.phase is Phase.DONE, course.problem
    assert farthest < 1.5
    assert course.verified is not None and course.verified.decided


def test_a_sample_that_is_refused_is_not_bridged():
    """Zero torque answers it, and the one before it had another: no other sample tells both."""
    (clean, *_), (course, *_) = drive(10.0), drive(10.0, broken=lambda time: time % 0.5 < PERIOD)
    result = course.estimate
    assert result.state is EstimateState.ESTIMATED
    deviations = np.sqrt(np.diag(result.covariance))
    assert np.all(np.abs(np.subtract(result.values, PRIOR.values)) < 4.0 * deviations)
    assert np.all(np.array(result.residual_std) < 1.2 * np.array(clean.estimate.residual_std))


def test_a_driver_that_stood_still_before_it_stamped_a_reading_is_no_runaway():
    # A controller manager's thread did, in the middle of its read: 6.44 m/s, and the run failed.
    for stall in (1.0, 1.5, 2.0):
        course, _, _ = drive(3.0, stall=stall)
        assert course.phase is Phase.DONE, course.problem


def test_nothing_is_learnt_from_a_speed_that_no_torque_made():
    learnt = []

    class Noting(Estimating):
        def update(self, sample):
            learnt.append(sample.stamp)

    course = standing(Noting(1000, EstimateState.ESTIMATED))
    leap = 1.5 * ROBOT.excitation.linear_velocity * PERIOD / ROBOT.wheels.radius
    for step in range(10):
        course.update(at(step))
    with pytest.raises(ValueError, match="beyond the limit"):
        course.update(at(10, leap, leap))
    course.update(at(11, leap, leap))
    assert learnt == pytest.approx([PERIOD * step for step in (*range(10), 11)])
    assert course.phase is Phase.EXCITING


def test_time_that_is_reset_does_not_keep_a_run_from_ending():
    course, _, _ = drive(3.0)
    assert course.phase is Phase.DONE
    again, _, _ = drive(3.0, lost=lambda time: 1.0 < time < 2.5)
    assert again.phase is Phase.DONE and again.elapsed == pytest.approx(3.0, abs=2.1)


@pytest.mark.parametrize(
    ("wires", "named"),
    [
        (lambda torque: torque[::-1], "swapped|wrong sign"),
        (lambda torque: (-torque[0], -torque[1]), "both wheels turn against|wrong sign"),
        (lambda torque: (-torque[0], torque[1]), "left wheel turns against"),
        (lambda torque: (torque[0], -torque[1]), "right wheel turns against"),
    ],
)
def test_wrong_wiring_ends_the_run_with_its_name(wires, named):
    """Within 2.5 s, torque off; seed 0."""
    course, _, _ = drive(20.0, 0, wires=wires)
    assert course.phase is Phase.STOPPED and course.elapsed < 2.5
    assert any(word in course.problem for word in named.split("|")), course.problem


class LateCommands:
    """Once a second or so the wheels keep their torque for 80 to 160 ms, whatever is commanded."""

    def __init__(self, seed):
        self._random = random.Random(seed)
        self._kept, self._next, self._left = (0.0, 0.0), 100, 0

    def __call__(self, torque):
        self._next -= 1
        if self._next <= 0:
            self._left, self._next = self._random.randint(8, 16), self._random.randint(70, 130)
        if self._left > 0:
            self._left -= 1
        else:
            self._kept = torque
        return self._kept


def test_commands_that_come_late_do_not_end_a_run():
    wires = LateCommands(102)
    course, farthest, _ = drive(20.0, 102, "multisine", "3x3", wires=wires, acting=True)
    assert (course.phase, course.problem) == (Phase.DONE, None) and farthest < 1.5
    assert np.abs(course.estimate.values / np.array(PRIOR.values) - 1.0).max() < 0.05


class Estimating:
    """An estimator that has nothing to say until its last sample makes it say `state`."""

    def __init__(self, samples, state):
        self._left, self._state = samples, state

    def update(self, sample):
        self._left -= 1

    def interrupt(self):
        pass

    def estimate(self):
        state = EstimateState.UNESTIMATED if self._left > 0 else self._state
        return Estimate().as_a_whole(state, "the seventh wheel")


def standing(estimator, duration=1.0):
    own = ROBOT.excitation
    return Identification(
        estimator,
        make_excitation("prbs", ROBOT, 0),
        ROBOT.geometry,
        RunawayLimits(own.linear_velocity, own.angular_velocity, own.amplitude, "twil"),
        duration,
    )


def at(step, left=0.0, right=0.0):
    return JointSample(PERIOD * step, (left, right), (0.0, 0.0), (0.0, 0.0))


@pytest.mark.parametrize(
    ("state", "phase", "problem"),
    [
        (EstimateState.INVALID, Phase.STOPPED, "the seventh wheel"),
        (EstimateState.UNESTIMATED, Phase.DONE, None),
    ],
)
def test_a_run_that_ends_with_an_invalid_estimate_has_failed(state, phase, problem):
    """Though only its very last look says so."""
    course = standing(Estimating(101, state))
    for step in range(101):
        course.update(at(step))
        course.follow_up()
    assert (course.phase, course.problem) == (phase, problem)


def test_a_run_that_is_over_does_not_advise_to_wait():
    """Its samples are too few for any value, as after a short duration or Ctrl-C."""
    geometry, own = ROBOT.geometry, ROBOT.excitation
    scale = MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude)
    for interrupted in (False, True):
        course = standing(make_estimator("integral", geometry, scale), duration=0.5)
        for step in range(60):
            course.update(at(step))
            course.follow_up()
            if step == 30:
                assert course.estimate.explanation.endswith("; wait")
                if interrupted:
                    course.stop("interrupted")
        assert course.ended
        assert course.estimate.explanation.endswith("; identify for longer (duration)")


def test_a_robot_that_is_pushed_while_it_is_stopped_knows_where_it_is():
    """1 m ahead, 90 degrees left, 1 m ahead, and back: not 2 m ahead."""
    course = standing(Estimating(1000, EstimateState.INVALID))
    radius, half_track = ROBOT.wheels.radius, ROBOT.wheels.half_track
    ahead, turn = 1.0 / radius, 0.5 * np.pi * half_track / radius
    pushes = ((0.0, 0.0), (ahead, ahead), (-turn, turn), (ahead, ahead), (turn, -turn))
    ends = np.cumsum(pushes, axis=0)
    angles = np.concatenate([np.linspace(a, b, 200) for a, b in zip(ends, ends[1:], strict=False)])
    course.update(at(0))
    before = course.elapsed
    for step, (left, right) in enumerate(angles.tolist(), start=1):
        course.rest(at(step, left, right))
    assert course.pose == pytest.approx((1.0, 1.0, 0.0), abs=1e-6)
    assert course.elapsed == before and course.phase is Phase.EXCITING
    course.update(at(step + 1, left, right))
    assert course.elapsed == pytest.approx(PERIOD)


@pytest.mark.parametrize("estimator", ["integral", "rls"])
@pytest.mark.parametrize("phase", [Phase.EXCITING, Phase.VERIFYING])
def test_a_pause_is_no_gap(estimator, phase):
    """After ~/enable false and true no sample is refused for the time in between."""
    own = ROBOT.excitation
    scale = MotionScale(own.linear_velocity, own.angular_velocity, own.amplitude)
    course = standing(make_estimator(estimator, ROBOT.geometry, scale), duration=60.0)
    for step in range(100):
        course.update(at(step))
    course.phase = phase
    for step in range(100, 579):
        course.rest(at(step))
    for step in range(579, 600):
        course.update(at(step))
    assert course.phase is phase


class Slow(Estimating):
    """An Estimating that notes what came before each estimate."""

    def __init__(self, said):
        super().__init__(0, EstimateState.ESTIMATED)
        self._said = said

    def estimate(self):
        self._said.append("estimate")
        return super().estimate()


@pytest.mark.parametrize(("kind", "until"), [("prbs", ""), ("multisine", ""), ("prbs", "K7 1%")])
def test_a_look_comes_after_the_torque(kind, until):
    said = []
    own = ROBOT.excitation
    course = Identification(
        Slow(said),
        make_excitation(kind, ROBOT, 0, prior=PRIOR),
        ROBOT.geometry,
        RunawayLimits(own.linear_velocity, own.angular_velocity, own.amplitude, "twil"),
        5.0,
        until=Precision.parse(until),
    )
    said.clear()
    for step in range(100):
        said.append("sample")
        course.update(at(step))
        said.append("torque")
        course.follow_up()
    before = [earlier for earlier, now in zip(said, said[1:], strict=False) if now == "estimate"]
    assert before == ["torque"] * course.looks == ["torque"] * 5


@pytest.mark.parametrize("text", ["K5 5% K7 1%", "k5=5%, k7=1 %", "K7 1%,K5 5.0%", "K5 5 % K7 1 %"])
def test_a_precision_is_read(text):
    assert Precision.parse(text).limits == {"k5": 0.05, "k7": pytest.approx(0.01)}


@pytest.mark.parametrize("text", ["", "  "])
def test_no_precision_is_none(text):
    assert Precision.parse(text) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("K5 5", "K5 5 must have the unit %: write K5 5%"),
        ("K5 5% K7 0.01", "K7 0.01 must have the unit %: write K7 0.01%"),
        ("K5 5 K6 5%", "write K5 5%"),
        ("K5", "'' after K5 must be a number > 0, in %"),
        ("K5 %", "'%' after K5 must be a number > 0, in %"),
        ("K5 -5%", "'-5' after K5"),
        ("K5 nan%", "must be a number > 0, in %"),
        ("5%", "'5' must be one of K5, K6, K7, K8"),
        ("K5 5% 1%", "'1' must be one of"),
        ("K9 5%", "'K9' must be one of"),
        ("K5 5% K5 1%", "each once"),
    ],
)
def test_a_precision_without_its_unit_is_refused_with_advice(text, said):
    """Before, "K5 5" counted as 5 %."""
    with pytest.raises(ValueError) as refused:
        Precision.parse(text)
    assert said in str(refused.value) and "K5 5% K6 5% K7 1% K8 1%" in str(refused.value)
