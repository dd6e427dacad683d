"""Method 1 as a simulation: drive at steady speeds, read speeds and currents, as in Figs. 2-4."""

from __future__ import annotations

import numpy as np

from diffbot_ident.omni.kinematics import Array
from diffbot_ident.omni.published import SAMPLE_PERIOD, TABLE_1_SPEEDS
from diffbot_ident.omni.recording import OmniRecording, record
from diffbot_ident.omni.robot import OmniRobot
from diffbot_ident.omni.sensors import OmniSensors
from diffbot_ident.omni.steady_fit import steady_forces

DURATION, SETTLED = 5.0, 3.0
"""Length of a run as in Figs. 2-4, and from when on the speed counts as steady, s."""


def drive_steadily(
    robot: OmniRobot,
    sensors: OmniSensors,
    random: np.random.Generator,
    runs: int = 1,
    speeds: tuple[float, ...] = TABLE_1_SPEEDS,
) -> OmniRecording:
    """Each axis at each speed by itself, from rest, 5 s long.

    Args:
        robot: that is driven.
        sensors: noise and quantisation of its readings.
        random: source of the noise.
        runs: repetitions, each with noise of its own.
        speeds: of each axis, m/s or rad/s.

    Returns:
        Recordings with the leading dimensions (runs, 3 axes, speeds).
    """
    wanted = np.eye(3)[:, None, :] * np.asarray(speeds)[None, :, None]
    wanted = np.broadcast_to(wanted, (runs, *wanted.shape))
    driven = np.ones(round(DURATION / SAMPLE_PERIOD), dtype=bool)
    return record(robot, wanted, driven, SAMPLE_PERIOD, sensors, random)


def steady_points(recording: OmniRecording, robot: OmniRobot) -> tuple[Array, Array]:
    """Means over the steady part of each run: a table like the paper's Table 1.

    Args:
        recording: from `drive_steadily`.
        robot: gives l K_t / r and b of (4)-(8); nothing else of it is used.

    Returns:
        Speeds and forces, each (runs, 3 axes, speeds); m/s and N, rad/s and N m.
    """
    steady = recording.time >= SETTLED
    speeds = recording.velocity[..., steady, :].mean(axis=-2)
    forces = steady_forces(recording.current[..., steady, :].mean(axis=-2), robot)
    # The driven axis of each experiment, which is counted by the second dimension.
    own = np.arange(3)[:, None]
    column = np.arange(speeds.shape[-2])[None, :]
    return speeds[..., own, column, own], forces[..., own, column, own]
