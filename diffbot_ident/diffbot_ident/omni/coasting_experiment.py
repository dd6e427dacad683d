"""Method 2 as a simulation: bring the robot to speed, switch the motors off, read on; Fig. 6."""

from __future__ import annotations

import numpy as np

from diffbot_ident.omni.coasting import Coasting
from diffbot_ident.omni.published import SAMPLE_PERIOD
from diffbot_ident.omni.recording import OmniRecording, record
from diffbot_ident.omni.robot import OmniRobot
from diffbot_ident.omni.sensors import OmniSensors

START_SPEEDS = (1.3, 0.9, 1.8)
"""[V, Vn in m/s, W in rad/s] from which the robot of Fig. 6 coasts."""

DRIVEN, OFF = 65, 45
"""Readings with the motors on and off; the robot rests before the last."""


def coast(
    robot: OmniRobot,
    sensors: OmniSensors,
    random: np.random.Generator,
    runs: int = 1,
    speeds: tuple[float, float, float] = START_SPEEDS,
) -> OmniRecording:
    """Each axis by itself: from rest to its speed, then coasting to standstill.

    Args:
        robot: that is driven.
        sensors: noise and quantisation of its readings.
        random: source of the noise.
        runs: repetitions, each with noise of its own.
        speeds: at which [V, Vn, W] are when the motors go off, m/s, m/s, rad/s.

    Returns:
        Recordings with the leading dimensions (runs, 3 axes).
    """
    wanted = np.broadcast_to(np.diag(speeds), (runs, 3, 3))
    driven = np.arange(DRIVEN + OFF) < DRIVEN
    return record(robot, wanted, driven, SAMPLE_PERIOD, sensors, random)


def coasting_of(recording: OmniRecording, run: int, axis: int) -> Coasting:
    """The readings of one run and axis (0, 1, 2: V, Vn, W) from when the motors are off."""
    off = ~recording.driven
    return Coasting(recording.period, recording.velocity[run, axis, off, axis])
