# SPDX-License-Identifier: Apache-2.0
"""A floor that is not level. On one that slopes downhill towards theta_0, gravity adds.

    dv/dt = g sin(slope) cos(theta_0 - theta) m / M_e,
    domega/dt = -K6 g sin(slope) sin(theta_0 - theta)

with the robot's mass m and equivalent mass M_e: cosine and sine of the heading, from odometry.
"""

from __future__ import annotations

import math

import numpy as np

from diffbot_description.ground_loads import GRAVITY
from diffbot_ident.estimate import Array, Estimate, Pair
from diffbot_ident.torque.columns import new_columns
from diffbot_ident.torque.effects.effect import Effect, StepMotion

# Smallest slope to report, rad: errors of the model look like it.
LEAST_SLOPE = 3e-4
COS_HEADING, SIN_HEADING = new_columns("cos heading", "sin heading")


def _fill(steps: Array, motion: StepMotion) -> None:
    steps[:, COS_HEADING] = motion.gap * np.cos(motion.heading)
    steps[:, SIN_HEADING] = motion.gap * np.sin(motion.heading)


def floor_slope(own: Array) -> Pair:
    """Return the slope and the heading that points downhill, rad, relative to the first heading.

    Args:
        own: Parameters of SLOPE in dv/dt, m/s^2, shape (2,). The slope neglects the wheels'
            inertia, and is a few per cent too small.
    """
    ahead, left = own.tolist()
    return math.asin(min(math.hypot(ahead, left) / GRAVITY, 1.0)), math.atan2(left, ahead)


def gravity_along(slope: float, downhill: float) -> Pair:
    """Return the gravity along and to the left of the first heading, m/s^2: see `floor_slope`."""
    pull = GRAVITY * math.sin(slope)
    return pull * math.cos(downhill), pull * math.sin(downhill)


def _said(estimate: Estimate, size: Pair | None) -> str | None:
    if estimate.slope is None:
        return None
    slope, downhill = map(math.degrees, estimate.slope)
    return (
        f"about {slope:.2g} degrees, downhill at {round(downhill)} degrees from the first heading"
    )


SLOPE = Effect(
    "slope",
    ((COS_HEADING, SIN_HEADING), (COS_HEADING, SIN_HEADING)),
    "the floor is not level: the estimate takes it into account; a level floor gives narrower "
    "intervals",
    _fill,
    said=_said,
    like_a_delay=True,  # by chance, as gravity changes as slowly as the heading
)
