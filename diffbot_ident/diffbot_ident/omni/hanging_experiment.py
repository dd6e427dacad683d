"""Method 3 as a simulation: a camera reads the angle of the hanging robot, as in Fig. 9(a)."""

from __future__ import annotations

import numpy as np

from diffbot_ident.omni.hanging import HangingRig
from diffbot_ident.omni.kinematics import Array
from diffbot_ident.omni.published import SAMPLE_PERIOD
from diffbot_ident.omni.sensors import Reading

DURATION, START_ANGLE = 4.5, 1.0
"""s and rad, as in Fig. 9(a)."""


def hang(
    rig: HangingRig, inertia: float, sensor: Reading, random: np.random.Generator, runs: int = 1
) -> Array:
    """Readings of theta every SAMPLE_PERIOD from the mass's release on, (runs, n) rad.

    Nothing but the falling mass turns the robot: no friction and no twist of the robot's own wire.

    Args:
        rig: mass and disc.
        inertia: J, kg m^2.
        sensor: noise and quantisation of the angle, rad.
        random: source of the noise.
        runs: repetitions, each with noise of its own.
    """
    time = np.arange(0.0, DURATION + 1e-9, SAMPLE_PERIOD)
    truth = START_ANGLE + 0.5 * rig.acceleration(inertia) * time**2
    return sensor.of(np.broadcast_to(truth, (runs, len(time))), random)
