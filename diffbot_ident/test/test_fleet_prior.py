# SPDX-License-Identifier: Apache-2.0
"""The prior of a type of robot: what its file may hold, and what it does to an estimate."""

from __future__ import annotations

import math

import numpy as np
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from diffbot_description import load_robot
from diffbot_ident.estimate import NORMAL_95, Advice, Estimate, EstimateState
from diffbot_ident.interpretation.fleet_prior import (
    FleetPrior,
    PriorEstimator,
    read_prior,
    with_prior,
    write_prior,
)
from diffbot_ident.torque.judgement import judge

MEAN = (0.0844, -3.7706, 2.6468, -16.084)
B = 0.136
# Of the robots, and of precise and of vague data, relative.
SPREAD = np.array((0.003, 0.01, 0.01, 0.008))
PRECISE, VAGUE = np.array((0.005, 0.005, 0.001, 0.001)), np.array((0.1, 0.1, 0.03, 0.03))


def prior(spread=SPREAD, correlation=0.6, **more):
    std = spread * np.array(MEAN)
    shape = np.full((4, 4), correlation) + (1.0 - correlation) * np.eye(4)
    about = {"robots": 40, "wheel_radius": 0.075, "track": 0.272} | more
    robot = load_robot("twil")
    about |= {"wheel_radius": robot.wheels.radius, "track": robot.wheels.separation}
    rows = tuple(map(tuple, (shape * np.outer(std, std)).tolist()))
    return FleetPrior("twil", MEAN, rows, date="2031-05-04T10:15:00+00:00", **about)


def estimate(shares=(1.0,) * 4, spread=VAGUE, **more):
    """What data alone say: so many times the mean."""
    values = np.array(shares) * MEAN
    result = Estimate(samples=1000, **more).with_values(values, np.diag((spread * MEAN) ** 2))
    return judge(result, B, problem=None)


def written(folder, **changes):
    path = folder / "prior_twil.yaml"
    write_prior(path, prior())
    document = yaml.safe_load(path.read_text())
    document["fleet_prior"] |= changes
    path.write_text(yaml.safe_dump(document))
    return str(path)


def test_what_was_written_is_read(tmp_path):
    assert read_prior(written(tmp_path), load_robot("twil")) == prior()


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"version": 2}, "version = 2: must be 1"),
        ({"robot": "agv"}, "robot = 'agv': must be 'twil'"),
        ({"units": ["mm", "1/m", "1/(kg m)", "1/(kg m^2)"]}, "units = "),
        ({"robots": 4}, "robots = 4: must be >= 5"),
        ({"robots": "many"}, "robots = 'many': must be a whole number"),
        ({"date": "yesterday"}, "date = 'yesterday'"),
        ({"track": 0.3}, "track = 0.3 m: must be"),
        ({"wheel_radius": None}, "wheel_radius = None: must be 1 numbers"),
        ({"mean": [0.08, -3.8, -2.6, -16.1]}, "must be finite, K7 > 0"),
        ({"mean": [0.08, -3.8, 2.6]}, "mean = [0.08, -3.8, 2.6]: must be 4 numbers"),
        ({"mean": [0.08, -3.8, math.inf, -16.1]}, "must be finite"),
        ({"covariance": [1.0] * 16}, "must be positive definite"),
        ({"covariance": (-np.eye(4)).ravel().tolist()}, "with variances > 0"),
        ({"covariance": [1.0, 0.5, *[0.0] * 14]}, "must be symmetric"),
        ({"covariance": np.diag([1e-3, 1e-3, 1e-30, 1e-3]).ravel().tolist()}, "deviation of k7"),
    ],
)
def test_what_may_not_be_trusted_is_refused_by_name(tmp_path, changes, says):
    path = written(tmp_path, **changes)
    with pytest.raises(ValueError) as caught:
        read_prior(path, load_robot("twil"))
    assert says in str(caught.value) and path in str(caught.value)
    assert "diffbot fleet" in str(caught.value)


def test_another_file_is_refused(tmp_path):
    for text in ("/**: {ros__parameters: {k5: 1.0}}", "[1, 2]", "{"):
        (tmp_path / "other.yaml").write_text(text)
        with pytest.raises(ValueError, match="other.yaml"):
            read_prior(str(tmp_path / "other.yaml"), load_robot("twil"))
    with pytest.raises(ValueError, match="nothing.yaml"):
        read_prior(str(tmp_path / "nothing.yaml"), load_robot("twil"))


def test_it_sharpens_what_agrees_and_says_so():
    alone = estimate()
    result = with_prior(alone, prior(), B)
    assert result.state is EstimateState.ESTIMATED
    assert "prior of 40 robots 'twil' (2031-05-04)" in result.warnings[-1]
    assert "K5" in result.warnings[-1].partition("; ")[2]
    for now, before, own in zip(result.variances, alone.variances, prior().deviations, strict=True):
        assert now < min(before, own**2) * (1.0 + 1e-9)


def test_what_the_data_do_not_tell_rests_on_it():
    # Next to nothing of K5 and K6: straight ahead.
    alone = estimate(spread=np.array((50.0, 50.0, 0.01, 0.01)))
    assert math.isinf(alone.variances[0])
    result = with_prior(alone, prior(), B)
    assert result.state is EstimateState.ESTIMATED
    assert math.sqrt(result.variances[0]) == pytest.approx(prior().deviations[0], rel=0.3)


@pytest.mark.parametrize("shares", [(1.0, 1.0, 0.9, 0.9), (1.5, 1.5, 1.0, 1.0)])
def test_it_is_dropped_where_the_data_contradict_it(shares):
    alone = estimate(shares, PRECISE)
    result = with_prior(alone, prior(), B)
    assert result.values == alone.values and result.covariance == alone.covariance
    assert result.state is alone.state is EstimateState.ESTIMATED
    assert "contradict the prior of 40 robots" in result.warnings[-1]
    assert "the prior was dropped" in result.warnings[-1]


def test_what_is_invalid_stays_so_and_before_data_there_is_the_prior():
    invalid = estimate((1.0, 1.0, -1.0, 1.0), PRECISE)
    assert invalid.state is EstimateState.INVALID and with_prior(invalid, prior(), B) is invalid
    early = with_prior(Estimate.unknown(5), prior(), B)
    assert early.state is EstimateState.UNESTIMATED and early.values == MEAN
    assert early.covariance == prior().covariance
    # However good the prior is: too few samples are too few.
    waiting = estimate().as_a_whole(
        EstimateState.UNESTIMATED, "3 of 15 windows of motion", Advice.WAIT
    )
    assert with_prior(waiting, prior(), B).state is EstimateState.UNESTIMATED


@given(st.integers(0, 10**6))
def test_it_is_the_product_of_both_densities(seed):
    generator = np.random.default_rng(seed)
    scale = np.diag(np.abs(MEAN) * 0.01)
    p, c = (scale @ m @ m.T @ scale for m in generator.standard_normal((2, 4, 6)))
    data = np.array(MEAN) + 0.3 * np.sqrt(np.diag(p))
    rows = tuple(map(tuple, (0.5 * (c + c.T)).tolist()))
    robot = load_robot("twil").wheels
    fleet = FleetPrior("twil", MEAN, rows, 40, robot.radius, robot.separation, "2031-05-04")
    alone = Estimate(samples=1000, parameter_reasons=("a", "", "", "")).with_values(data, p)
    estimate = with_prior(alone, fleet, B)
    information = np.linalg.inv(p) + np.linalg.inv(c)
    wanted = np.linalg.solve(information, np.linalg.solve(p, data) + np.linalg.solve(c, MEAN))
    assert estimate.values == pytest.approx(wanted, rel=1e-6)
    assert np.array(estimate.covariance) == pytest.approx(np.linalg.inv(information), rel=1e-4)


def test_intervals_hold_as_often_as_they_say_for_robots_of_the_type():
    # 400 robots x 4 parameters of two dimensions at most: 1520 are expected; with the prior left
    # aside by mistake, or counted twice, it would be outside.
    generator = np.random.default_rng(3)
    fleet, b = prior(), B
    kept = dropped = 0
    for _ in range(400):
        truth = generator.multivariate_normal(MEAN, fleet.covariance)
        own = np.diag((VAGUE * np.array(MEAN) / 3.0) ** 2)
        data = generator.multivariate_normal(truth, own)
        alone = Estimate(samples=1000, parameter_reasons=("a", "", "", "")).with_values(data, own)
        estimate = with_prior(alone, fleet, b)
        half = NORMAL_95 * np.sqrt(np.diag(estimate.covariance))
        kept += int((np.abs(estimate.values - truth) <= half).sum())
        dropped += "dropped" in estimate.warnings[-1]
    assert 1480 <= kept <= 1560
    assert dropped <= 12


class Silent:
    """An estimator that has seen no more than a velocity."""

    velocity = (0.1, 0.2)

    def update(self, sample):
        return True

    def interrupt(self):
        self.velocity = None

    def estimate(self):
        return Estimate.unknown(3)

    def suspicion(self):
        return "no idea"


def test_the_estimator_hands_on_all_but_its_estimate():
    made = PriorEstimator(Silent(), prior(), B)
    assert made.update(None) and made.velocity == (0.1, 0.2) and made.suspicion() == "no idea"
    made.interrupt()
    assert made.velocity is None
    assert made.estimate().values == MEAN
