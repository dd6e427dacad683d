# SPDX-License-Identifier: Apache-2.0
"""Whole experiments: optimised against constant excitation, same seed same result, settings."""

from dataclasses import replace

import numpy as np
import pytest

from diffbot_papers.compliant_base.experiment import ensemble, equal_sensors
from diffbot_papers.compliant_base.model import TABLE_1, SensorNoise
from diffbot_papers.compliant_base.simulation import ExperimentSettings

SHORT = replace(ExperimentSettings(), duration=2.0, population=4, generations=3)


def test_optimised_excitation_tells_more():
    """4 s of two seeds: deviations, as a geometric mean over the parameters, fall to a third.

    The estimates have errors of about these deviations, see test_compliant_base_estimation.
    """
    settings = replace(SHORT, duration=4.0)
    constant, optimised = (
        ensemble(TABLE_1, name, [0, 1], settings) for name in (None, "sum of bits")
    )
    assert np.array_equal(constant.starts, optimised.starts)
    for one, other in zip(constant.runs, optimised.runs, strict=True):
        reported = np.exp(np.log(other.deviations[-1] / one.deviations[-1]).mean())
        print(reported)
        assert reported < 0.6
        assert settings.limits.excess(other.motion) == 0.0


def test_same_seed_same_run():
    settings = replace(SHORT, duration=0.8)
    one, two = (ensemble(TABLE_1, "joint bits", [3], settings).runs[0] for _ in range(2))
    assert np.array_equal(one.estimates, two.estimates)
    assert np.array_equal(one.measured, two.measured)


def test_noise_is_a_tenth_of_the_largest_value():
    quiet = ensemble(TABLE_1, None, [1], replace(SHORT, noise=SensorNoise(0.0))).runs[0]
    equal = equal_sensors(TABLE_1, SHORT)
    noisy = ensemble(TABLE_1, None, [1], equal).runs[0]
    difference = np.abs(noisy.measured - quiet.measured).max(axis=(0, 1))
    scale = np.abs(quiet.measured).max(axis=(0, 1))
    # The largest of 1200 even draws is within 2 % of the bound.
    assert difference / scale == pytest.approx(0.1, rel=0.02)


def test_equal_sensors_have_the_same_noise_whatever_the_motion():
    equal = equal_sensors(TABLE_1, SHORT)
    assert np.array_equal(
        equal.noise.deviation(np.ones((8, 3))), equal.noise.deviation(np.zeros((8, 3)))
    )


def test_settled_motion_has_no_jolt():
    settings = replace(SHORT, noise=SensorNoise(0.0))
    jolted, settled = (
        np.abs(ensemble(TABLE_1, None, [0], each).runs[0].measured).max(axis=(0, 1))
        for each in (settings, replace(settings, settled=4.0))
    )
    assert (settled[4] < 0.5 * jolted[4]).all()


@pytest.mark.parametrize(
    ("field", "value"),
    [("duration", 1.0), ("interval", 0.403), ("window", 7), ("thin", 3), ("blend", 0.0),
     ("settled", -1.0), ("population", 0)],
)  # fmt: skip
def test_settings_are_refused_by_name(field, value):
    with pytest.raises(ValueError, match=field):
        replace(ExperimentSettings(), **{field: value})


def test_unknown_metric_is_refused():
    with pytest.raises(ValueError, match="metric"):
        ensemble(TABLE_1, "luck", [0], SHORT)
