# SPDX-License-Identifier: Apache-2.0
"""Proposals of multipliers: what is proposed, what is not, the files and the way back."""

import pytest

from diffbot_description import load_robot
from diffbot_export.parameter_changes import read_parameters
from diffbot_learning.learned_values import LearnedValue
from diffbot_learning.proposals import proposals, write_proposals

TWIL = load_robot("twil")
RADIUS, TRACK = TWIL.geometry.left_radius, TWIL.geometry.separation


def learnt(name, value, half):
    return LearnedValue(name, value, half, "m", 9, 0.0)


def test_a_size_that_differs_by_more_than_its_interval_is_proposed():
    given = proposals(
        [
            learnt("left_radius", 0.99 * RADIUS, 0.002 * RADIUS),
            learnt("right_radius", 1.001 * RADIUS, 0.002 * RADIUS),
            learnt("track", 1.02 * TRACK, 0.03 * TRACK),
            learnt("K7", 2.0, 0.1),
        ],
        TWIL,
    )
    assert [(one.parameter, one.value) for one in given] == [("left_wheel_radius_multiplier", 0.99)]
    assert given[0].half_width == pytest.approx(0.002) and not given[0].refusal


def test_multipliers_of_an_odometry_are_proposed_as_they_are():
    (one,) = proposals([learnt("wheel_separation_multiplier", 1.05, 0.004)], TWIL)
    assert (one.parameter, one.value) == ("wheel_separation_multiplier", 1.05)


def test_what_only_a_wrong_description_explains_is_refused(tmp_path):
    given = proposals([learnt("track", 1.3 * TRACK, 0.002 * TRACK)], TWIL)
    assert "must be 0.85 to 1.15; correct track in the robot's description" in given[0].refusal
    assert write_proposals(given, TWIL, tmp_path) is None and not list(tmp_path.iterdir())


def test_the_file_has_the_lengths_intervals_and_sources_that_apply_shows(tmp_path):
    given = proposals([learnt("track", 1.02 * TRACK, 0.002 * TRACK)], TWIL)
    path = write_proposals(given, TWIL, tmp_path)
    length, multiplier = read_parameters(path).proposed
    assert (length.section, length.name) == ("/**", "wheel_separation")
    assert length.value == pytest.approx(TRACK, rel=1e-5)
    assert (multiplier.name, multiplier.value) == ("wheel_separation_multiplier", 1.02)
    assert multiplier.source == (
        "1.02 [1.018, 1.022]: of the described wheel_separation, learnt from 9 stretches"
    )
    assert f"apply {path.name}" in path.read_text()
    assert write_proposals([], TWIL, tmp_path) is None and not path.exists()


def test_multipliers_of_an_odometry_come_without_lengths(tmp_path):
    path = write_proposals(
        proposals([learnt("wheel_separation_multiplier", 1.05, 0.004)], TWIL), TWIL, tmp_path
    )
    (only,) = read_parameters(path).proposed
    assert "of an odometry whose multipliers are 1" in only.source
