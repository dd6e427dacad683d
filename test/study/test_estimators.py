# SPDX-License-Identifier: Apache-2.0
"""Estimators by name: one interface, and clear words where one cannot do what is asked."""

import math
from functools import cache

import pytest
from made_recordings.excited_runs import RunSetting, record

from arc_odometry import WheelGeometry
from diffbot_ident.estimate import EstimateState
from diffbot_ident.estimators import ESTIMATORS, make_estimator
from diffbot_ident.torque.learning import MotionScale

GEOMETRY, SCALE = WheelGeometry(0.075, 0.075, 0.272), MotionScale(1.0, 5.0, 0.4)


@cache
def run():
    return record(RunSetting(noise=0.0), 1, 2.0)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_all_answer_the_same_questions(name):
    """Before, during and after 2 s of a run; K7 to 20 % (the paper's does not know friction)."""
    recorded = run()
    estimator = make_estimator(name, recorded.geometry, recorded.scale)
    assert estimator.velocity is None and estimator.estimate().state is EstimateState.UNESTIMATED
    for sample in recorded.samples:
        estimator.update(sample)
    assert all(map(math.isfinite, estimator.velocity))
    estimate = estimator.estimate()
    assert estimate.state is not EstimateState.INVALID
    assert estimate.values[2] == pytest.approx(recorded.truth[2], rel=0.2)


def test_unknown_name_lists_the_known_ones():
    with pytest.raises(ValueError, match="'integrall': no such estimator; .*integral, rls"):
        make_estimator("integrall", GEOMETRY, SCALE)


@pytest.mark.parametrize(
    ("name", "setting", "words"),
    [
        ("integral", {"velocity_source": "velocity"}, "works on the wheels' angles"),
        ("rls", {"forgetting": 0.9}, "does not forget"),
    ],
)
def test_what_an_estimator_cannot_do_is_said(name, setting, words):
    with pytest.raises(ValueError, match=words):
        make_estimator(name, GEOMETRY, SCALE, **setting)
