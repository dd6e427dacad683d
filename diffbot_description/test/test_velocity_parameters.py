# SPDX-License-Identifier: Apache-2.0
"""Identified sigma comes from a file as it is, or is refused by name."""

import math

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from arc_odometry import Velocity
from diffbot_description.command_ramp import CommandRamp, RampCoupling
from diffbot_description.dead_band import DeadBand, DeadBandKind
from diffbot_description.velocity_parameters import read_sigma, sigma_from

GOOD = {
    "sigma": [3.4, 4.6, 0.86, 0.25],
    "covariance_diagonal": [1e-4, 4e-4, 1e-6, 1e-6],
    "dead_time": [0.02, 0.04],
    "robot": "turtlebot2",
}


def write(folder, **changes):
    content = {key: value for key, value in {**GOOD, **changes}.items() if value is not None}
    path = folder / "velocity_parameters.yaml"
    path.write_text(yaml.safe_dump({"/**": {"ros__parameters": content}}))
    return str(path)


def test_what_was_identified_arrives(tmp_path):
    known = read_sigma(write(tmp_path))
    assert known.sigma.as_array().tolist() == GOOD["sigma"]
    assert list(known.variances) == GOOD["covariance_diagonal"]
    assert known.dead_time == (0.02, 0.04)


def test_dead_bands_arrive_with_their_kinds(tmp_path):
    bands = {"dead_band": [0.05, 0.2], "dead_band_kind": ["offset", "threshold"]}
    known = read_sigma(write(tmp_path, **bands)).dead_band
    assert known == (DeadBand(0.05), DeadBand(0.2, DeadBandKind.THRESHOLD))
    assert read_sigma(write(tmp_path)).dead_band == (DeadBand(), DeadBand())


def test_a_threshold_counts_with_what_it_may_be_more(tmp_path):
    """A command between its value and its bound may be lost; an offset is best known as it is."""
    bands = {"dead_band": [0.05, 0.2], "dead_band_estimate": [0.06, 0.2]}
    bands |= {"dead_band_variance": [1e-4, 1e-4], "dead_band_kind": ["threshold", "offset"]}
    v, omega = read_sigma(write(tmp_path, **bands)).dead_band
    assert v.width == pytest.approx(0.06 + 1.96 * 0.01, rel=1e-4)
    assert omega == DeadBand(0.2)
    for unknown in ({"dead_band_variance": [math.inf] * 2}, {"dead_band_estimate": [math.nan] * 2}):
        v, _ = read_sigma(write(tmp_path, **{**bands, **unknown})).dead_band
        assert v == DeadBand(0.05, DeadBandKind.THRESHOLD)


def test_limits_of_acceleration_arrive_with_how_they_act(tmp_path):
    limits = {"acceleration_limit": [0.5, 2.0], "deceleration_limit": [1.0, 2.0]}
    assert read_sigma(write(tmp_path, **limits)).ramp == CommandRamp(
        Velocity(0.5, 2.0), Velocity(1.0, 2.0)
    )
    more = {"ramp_coupling": "scaled", "ramp_before_dead_band": True}
    ramp = read_sigma(write(tmp_path, acceleration_limit=[0.5, math.inf], **more)).ramp
    assert ramp.coupling is RampCoupling.SCALED and ramp.before_band
    assert ramp.braking == ramp.speeding == Velocity(0.5, math.inf)
    assert read_sigma(write(tmp_path, acceleration_limit=[math.inf] * 2)).ramp is None
    assert read_sigma(write(tmp_path)).ramp is None


def test_only_sigma_is_needed(tmp_path):
    known = read_sigma(write(tmp_path, covariance_diagonal=None, dead_time=None, robot=None))
    assert all(map(math.isnan, known.variances))
    assert known.dead_time is None


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"sigma": None}, "no sigma below"),
        ({"sigma": [1.0, 2.0, 3.0]}, "must be a list of 4 numbers"),
        ({"sigma": [1.0, 2.0, 3.0, "x"]}, "must be a list of 4 numbers"),
        ({"sigma": [1.0, 0.0, 3.0, 1.0]}, "sigma2 = 0.0 s: must be finite and > 0"),
        ({"sigma": [1.0, 2.0, math.nan, 1.0]}, "sigma3 = nan: must be finite and > 0"),
        ({"covariance_diagonal": [1.0, math.inf, 1.0, 1.0]}, "sigma2 is not identified"),
        ({"covariance_diagonal": [1.0, 1.0, -1.0, 1.0]}, r"variance of sigma3 = -1\.0: must be >="),
        ({"acceleration_limit": [0.0, 1.0]}, r"acceleration limit of v = 0\.0 m/s²: must be > 0"),
        (
            {"acceleration_limit": [1.0, 1.0], "ramp_coupling": "both"},
            "ramp_coupling = 'both': must be one of own, scaled, wheels",
        ),
        (
            {"acceleration_limit": [1.0, 1.0], "ramp_before_dead_band": 1},
            "ramp_before_dead_band = 1: must be true or false",
        ),
        ({"covariance_diagonal": 1.0}, "covariance_diagonal = 1.0: must be a list of 4"),
        ({"exponent": [1.0, 1.5]}, r"exponent of omega = 1\.5: must be 1"),
        ({"dead_time": [0.0, 2.0]}, "dead_time of omega = 2.0 s: must be from 0 to 1"),
        ({"dead_time": [-0.1, 0.0]}, r"dead_time of v = -0\.1 s: must be from 0 to 1"),
        ({"dead_band": [-0.1, 0.0]}, r"dead_band of v = -0\.1 m/s: must be finite and >= 0"),
        ({"dead_band": [0.0, math.nan]}, "dead_band of omega = nan rad/s: must be finite"),
        ({"dead_band": [0.1, 0.1], "dead_band_kind": ["offset", "odd"]}, "'odd': must be one of"),
        ({"dead_band": [0.1, 0.1], "dead_band_kind": "offset"}, "must be two kinds"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path, changes, says):
    path = write(tmp_path, **changes)
    with pytest.raises(ValueError, match=says) as result:
        read_sigma(path)
    assert path in str(result.value) and "identify" in str(result.value)


@given(st.lists(st.floats(), min_size=4, max_size=4))
def test_sigma_is_that_of_a_robot_or_refused(values):
    usable = all(math.isfinite(value) and value > 0.0 for value in values)
    try:
        sigma = sigma_from(tuple(values))
    except ValueError as error:
        assert not usable and "must be finite and > 0" in str(error)
    else:
        assert usable and sigma.as_array().tolist() == values
