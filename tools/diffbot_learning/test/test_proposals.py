# SPDX-License-Identifier: Apache-2.0
"""Proposals of multipliers: what is proposed, what is not, the files and the way back."""

import os
import subprocess

import pytest
import yaml

from diffbot_description import load_robot
from diffbot_learning.learned_values import LearnedValue
from diffbot_learning.proposals import PARAMETERS, SCRIPT, proposals, write_proposals

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
    assert write_proposals(given, TWIL, tmp_path) == [] and not list(tmp_path.iterdir())


def test_the_script_keeps_the_parameters_and_sets_the_multipliers(tmp_path):
    """With a stand-in for ros2 that notes how it is called."""
    given = proposals([learnt("track", 1.02 * TRACK, 0.002 * TRACK)], TWIL)
    assert len(write_proposals(given, TWIL, tmp_path)) == 2
    content = yaml.safe_load((tmp_path / PARAMETERS).read_text())
    assert content == {"/**": {"ros__parameters": {"wheel_separation_multiplier": 1.02}}}
    ros2 = tmp_path / "bin" / "ros2"
    ros2.parent.mkdir()
    ros2.write_text('#!/bin/sh\necho "$@" | tee -a "$CALLS"\n')
    ros2.chmod(0o755)
    calls = tmp_path / "calls"
    path = f"{ros2.parent}{os.pathsep}{os.environ['PATH']}"
    words = ["sh", str(tmp_path / SCRIPT), "/base"]
    subprocess.run(words, check=True, env={**os.environ, "PATH": path, "CALLS": str(calls)})
    assert calls.read_text().splitlines() == [
        "param dump /base",
        "param set /base wheel_separation_multiplier 1.02",
    ]
    assert (tmp_path / "before.yaml").read_text() == "param dump /base\n"
    assert write_proposals([], TWIL, tmp_path) == [] and not (tmp_path / SCRIPT).exists()
