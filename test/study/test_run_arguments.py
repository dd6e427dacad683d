# SPDX-License-Identifier: Apache-2.0
"""Runs in one process: what they load, what is refused, and that it says why."""

import math
import subprocess
import sys

import numpy as np
import pytest

from diffbot_study import simulate_drive, simulate_identification
from pose2d_trajectories import Reference


def test_what_takes_seconds_to_load_is_loaded_when_it_is_needed():
    """SciPy's signal and optimize took three quarters of the time of `import diffbot_study`."""
    slow = {"scipy", "matplotlib", "rclpy", "mujoco"}
    code = f"import sys, diffbot_study; print({slow!r} & sys.modules.keys() or 'none')"
    reported = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert reported.stdout == "none\n"


class Gives:
    """A law that always gives the same."""

    def __init__(self, torque):
        self.torque = torque

    def update(self, state, reference, dt):
        return self.torque


def drive(torque=(0.1, 0.1), duration=0.2, **options):
    return simulate_drive(
        "ideal", "twil", Gives(torque), lambda t: Reference(), duration, **options
    )


def test_a_robot_may_be_named_and_torques_may_be_an_array():
    pair, array = drive(), drive(np.array([0.1, 0.1]))
    assert pair.pose[-1, 0] > 0.001
    np.testing.assert_array_equal(pair.pose, array.pose)


@pytest.mark.parametrize("torque", [None, 0.1, (0.1,), (0.1, 0.1, 0.1)])
def test_a_law_that_gives_no_pair_is_told_what_it_gave(torque):
    with pytest.raises(ValueError, match="the law returned .*: must be two torques"):
        drive(torque)


@pytest.mark.parametrize("duration", [0.0, -1.0, math.nan, math.inf, 0.004])
def test_a_drive_without_a_period_is_refused(duration):
    with pytest.raises(ValueError, match="duration = .* at least a control period, 0.01 s"):
        drive(duration=duration)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"seconds": 0.0}, "seconds = 0.0 s: must be finite and at least a control period"),
        ({"seconds": -1.0}, "seconds = -1.0 s"),
        ({"seconds": math.nan}, "seconds = nan s"),
        ({"record": 0.0}, "record = 0.0 s"),
        ({"hold": 1.5}, "hold = 1.5 samples: must be whole"),
        ({"excitation": lambda t: 0.1}, "the excitation returned 0.1 at 0 s: must be two torques"),
        ({"excitation": lambda t: None}, "the excitation returned None at 0 s"),
    ],
)
def test_so_is_an_identification_by_what_cannot_be(options, words):
    with pytest.raises(ValueError, match=words):
        simulate_identification("twil", **{"seconds": 0.2, **options})
