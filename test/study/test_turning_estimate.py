# SPDX-License-Identifier: Apache-2.0
"""Robots with skid steer: the resistance against turning is told from the wheels' friction."""

import math
from dataclasses import replace

import numpy as np
import pytest
from made_recordings.random_runs import record_random, with_turning

from arc_odometry import WheelGeometry
from diffbot_description import load_robot
from diffbot_description.robot import Turning as DescribedTurning
from diffbot_ident.estimate import EstimateState
from diffbot_ident.estimators import make_estimator
from diffbot_ident.prediction_model import Model
from diffbot_ident.torque.columns import AxisFit
from diffbot_ident.torque.effect_search import EffectSearch
from diffbot_ident.torque.effects import DRAG
from diffbot_ident.torque.effects.turning import TURNING_COLUMNS
from diffbot_ident.torque.friction_fit import friction_terms, fuse_more
from diffbot_ident.torque.regression import Prior
from diffbot_sim.engines import make_simulator
from diffbot_study.random_robots import draw
from diffbot_study.simulated_identification import simulate_identification

# Robots of these seeds have a resistance of 6 to 29 % of the moment of the excitation.
SEEDS = (95001, 95002, 95004)


def learnt(run, **options):
    learner = make_estimator("integral", run.geometry, run.scale, **options)
    for sample in run.samples:
        learner.update(sample)
    return learner.estimate()


@pytest.fixture(scope="module", params=SEEDS)
def run(request):
    drawn = with_turning(draw(request.param))
    return drawn.robot, record_random(drawn, 20.0)


def test_resistance_friction_and_parameters_are_found_within_their_intervals(run):
    robot, recorded = run
    result = learnt(recorded, turning=True)
    assert result.state is EstimateState.ESTIMATED
    true = np.array([robot.turning.viscous, robot.turning.coulomb])
    std = np.sqrt(result.turning.variances)
    assert (np.abs(result.turning.values - true) < 4.0 * std).all()
    # They are worth something: f_w to 3 % of the moment of the excitation.
    own, wheels = robot.excitation, robot.wheels
    moment = 2.0 * own.amplitude * wheels.half_track / wheels.radius
    assert std[1] < 0.03 * moment
    friction = np.array([*robot.friction.viscous, *robot.friction.coulomb])
    error = np.abs(np.array(result.friction.values) - friction)
    assert (error < 4.0 * np.sqrt(result.friction.variances)).all()
    k = np.abs(np.array(result.values) - recorded.truth)
    assert (k < 4.0 * np.sqrt(np.diag(result.covariance))).all()
    assert DRAG.warning not in result.warnings


def test_k8_keeps_its_size_where_the_floor_holds_the_robot_now_and_then():
    """The floor holds against 30 % of the excitation: when the yaw rate turns round must be known.

    Of 32 seeds from 300 on the error was 0.022 % rms, its mean 0.003 % +- 0.004 %; it was 0.064 %
    and 0.037 % where only wheels that turn round were placed, and rows in which the floor holds the
    robot came in while f_w was vague.
    """
    robot = load_robot("twil")
    own, wheels = robot.excitation, robot.wheels
    moment = 2.0 * own.amplitude * wheels.half_track / wheels.radius
    robot = replace(robot, turning=DescribedTurning(viscous=0.0, coulomb=0.3 * moment))
    runs = [simulate_identification(robot, "ideal", seed, 20.0) for seed in range(300, 304)]
    errors = np.array([run.errors[3] for run in runs])
    assert np.sqrt(np.mean(np.square(errors))) < 0.035
    assert abs(errors.mean()) < 0.02


def test_who_does_not_describe_it_is_told(run):
    """It is found and taken into account; both estimates of it agree within their intervals."""
    _, recorded = run
    plain, described = learnt(recorded), learnt(recorded, turning=True)
    assert any("resists turning" in warning for warning in plain.warnings)
    apart = np.subtract(plain.turning.values, described.turning.values)
    spread = np.sqrt(np.add(plain.turning.variances, described.turning.variances))
    assert (np.abs(apart) < 2.0 * spread).all()


def test_a_pattern_that_resembles_the_resistance_widens_its_intervals(run, monkeypatch):
    """As it does those of the wheels' friction; else f_w is wrong by six of its deviations."""
    _, recorded = run
    deviations = []
    for factor in (1.0, DRAG.friction_factor):
        result = (replace(DRAG, friction_factor=factor),)
        monkeypatch.setattr(EffectSearch, "likely", lambda *_, f=result, **__: f)
        monkeypatch.setattr(EffectSearch, "doubtful", lambda *_: None)
        estimate = learnt(recorded, turning=True)
        deviations.append(np.sqrt([*estimate.turning.variances, *estimate.friction.variances]))
    assert deviations[1] == pytest.approx(DRAG.friction_factor * deviations[0])


def test_fusion_solves_for_six_from_nine():
    geometry = WheelGeometry(0.075, 0.075, 0.272)
    wheels = np.array([0.01, 0.02, 0.05, 0.03])
    turning = np.array([0.04, 0.3])
    linear, angular = friction_terms(geometry)
    k7, k8, lever = 2.6, -16.0, 0.075 / 0.136
    v = k7 * linear @ wheels
    omega = k8 * angular @ wheels
    omega[1] += k8 * lever * turning[0]
    first = AxisFit(np.array([0.1, k7, *v]), 1e-6 * np.eye(6), 0.0, (0.0, 0.0))
    theta = np.array([-3.8, k8, *omega, k8 * lever * turning[1]])
    second = AxisFit(theta, 1e-6 * np.eye(7), 0.0, (0.0, 0.0))
    friction, floor = fuse_more(first, second, geometry, TURNING_COLUMNS)
    assert friction.values == pytest.approx(wheels)
    assert floor.values == pytest.approx(turning)
    assert all(math.isfinite(v) and v > 0.0 for v in (*friction.variances, *floor.variances))
    # Without the linear axis nobody can tell the wheels' viscous friction from the floor's.
    without = AxisFit(first.theta, np.full((6, 6), math.inf), 0.0, (0.0, 0.0))
    _, floor = fuse_more(without, second, geometry, TURNING_COLUMNS)
    assert all(map(math.isinf, floor.variances))


def test_a_prediction_knows_the_floor():
    robot = load_robot("twil")
    turning = DescribedTurning(viscous=0.05, coulomb=0.2)
    robot = replace(robot, turning=turning)
    engine = make_simulator("ideal", robot)
    torque = np.tile(np.array([[-0.3], [0.3]]), (50, 1, 1))
    for left, right in torque[:, :, 0]:
        engine.step((left, right), 0.01)
    k = engine.parameters()
    model = Model.described(tuple(k), robot)
    assert model.turning == (0.05, 0.2)
    predicted = model.predict(np.zeros((2, 1)), torque, 0.01, robot.geometry)
    assert predicted[:, 0] == pytest.approx(engine.velocity(), rel=5e-3)
    without = Model(tuple(k)).predict(np.zeros((2, 1)), torque, 0.01, robot.geometry)
    assert without[1, 0] > 1.2 * engine.velocity()[1]


def test_with_a_prior_the_resistance_is_still_learnt_from_the_data(run):
    robot, recorded = run
    prior = Prior(
        tuple(recorded.truth),
        (0.05,) * 4,
        (*robot.friction.viscous, *robot.friction.coulomb),
        (0.2 * robot.excitation.amplitude,) * 4,
    )
    result = learnt(recorded, turning=True, prior=prior)
    true = np.array([robot.turning.viscous, robot.turning.coulomb])
    assert (np.abs(result.turning.values - true) < 4.0 * np.sqrt(result.turning.variances)).all()
