# SPDX-License-Identifier: Apache-2.0
"""Which motions a robot has driven, and for how long: what ordinary driving can tell.

Speeds count as fractions of the robot's limits.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum

import numpy as np

from arc_odometry.number_range import Array

# Time of a motion after which more of it tells little that is new, s.
ENOUGH = 20.0
# Fractions of the speed limits: below STILL no motion, above FAST fast.
STILL, FAST = 0.05, 0.4
# Longest time between two samples that counts as driving, s.
LONGEST_STEP = 0.5


class MotionKind(str, Enum):
    """A kind of motion, as people name it."""

    FORWARDS = "forwards"
    BACKWARDS = "backwards"
    TURN_LEFT = "turning left"
    TURN_RIGHT = "turning right"
    FAST_LEFT = "turning left fast"
    FAST_RIGHT = "turning right fast"
    SPIN = "turning on the spot"
    CURVE = "curve at speed"


STRAIGHT = (MotionKind.FORWARDS,)
TURNS = (MotionKind.TURN_LEFT, MotionKind.TURN_RIGHT)
NEEDS: Mapping[str, tuple[MotionKind, ...]] = {
    "track_over_mean_radius": (*TURNS, MotionKind.SPIN),
    "radius": (*STRAIGHT, *TURNS),
    "linear_scale": STRAIGHT,
    "track": (*TURNS, MotionKind.SPIN),
    "angular_scale": (*TURNS, MotionKind.SPIN),
    "gyro_scale": (*TURNS, MotionKind.SPIN),
    "radius_ratio": (*STRAIGHT, *TURNS),
    "heading_drift": STRAIGHT,
    "mount_x": TURNS,
    "mount_y": TURNS,
    "mount_yaw": STRAIGHT,
    "gyro_bias": (),
    "K5": (MotionKind.FAST_LEFT, MotionKind.FAST_RIGHT),
    "K6": (MotionKind.CURVE,),
    "K7": (MotionKind.FORWARDS, MotionKind.BACKWARDS),
    "K8": TURNS,
}
"""Motions that tell a value, by the end of its name; of others, all motions."""
ADVICE: Mapping[MotionKind, str] = {
    MotionKind.FORWARDS: "a straight drive of some metres",
    MotionKind.BACKWARDS: "some metres backwards",
    MotionKind.TURN_LEFT: "turns to the left",
    MotionKind.TURN_RIGHT: "turns to the right",
    MotionKind.FAST_LEFT: "faster turns to the left",
    MotionKind.FAST_RIGHT: "faster turns to the right",
    MotionKind.SPIN: "one slow spin each way, such as at the dock",
    MotionKind.CURVE: "curves at speed",
}
"""The shortest harmless motion of each kind."""


def needs(name: str) -> tuple[MotionKind, ...]:
    """Return the motions that tell a value."""
    for end, kinds in NEEDS.items():
        if name.endswith(end):
            return kinds
    return tuple(MotionKind)


def coverage(name: str, seconds: Mapping[str, float]) -> tuple[float, str]:
    """Return how much of the motions that tell a value was driven, 0 to 1, and what tells more.

    Example:
        >>> times = {"turning left": 40.0, "turning right": 5.0, "turning on the spot": 9.0}
        >>> coverage("track", times)
        (0.25, 'turns to the right')
    """
    driven = {kind: min(1.0, seconds.get(kind.value, 0.0) / ENOUGH) for kind in needs(name)}
    least = min(driven, key=lambda kind: driven[kind], default=None)
    if least is None or driven[least] >= 1.0:
        return 1.0, ""
    return driven[least], ADVICE[least]


def motion_times(times: Array, v: Array, w: Array, limits: tuple[float, float]) -> dict[str, float]:
    """Return the seconds of each kind of motion; kinds overlap.

    Args:
        times: s, increasing, shape (n,).
        v, w: Speed, m/s, and yaw rate, rad/s, shape (n,) each.
        limits: Speed limits of the robot, m/s and rad/s.

    Example:
        >>> import numpy as np
        >>> t = np.arange(0.0, 10.0, 0.1)
        >>> motion_times(t, 0.5 + 0.0 * t, 0.0 * t, (1.0, 1.0))["forwards"]
        9.9
    """
    step = np.diff(times)
    step = np.where((step > 0.0) & (step <= LONGEST_STEP), step, 0.0)
    a, b = v[1:] / limits[0], w[1:] / limits[1]
    kinds = {
        MotionKind.FORWARDS: a > STILL,
        MotionKind.BACKWARDS: a < -STILL,
        MotionKind.TURN_LEFT: b > STILL,
        MotionKind.TURN_RIGHT: b < -STILL,
        MotionKind.FAST_LEFT: b > FAST,
        MotionKind.FAST_RIGHT: b < -FAST,
        MotionKind.SPIN: (np.abs(b) > STILL) & (np.abs(a) < STILL),
        MotionKind.CURVE: (np.abs(a) > FAST) & (np.abs(b) > FAST),
    }
    return {kind.value: round(float(step[mask].sum()), 6) for kind, mask in kinds.items()}


def fractions(seconds: Mapping[str, float]) -> dict[str, float]:
    """Return how much of each motion's ENOUGH has been driven, 0 to 1."""
    return {kind.value: min(1.0, seconds.get(kind.value, 0.0) / ENOUGH) for kind in MotionKind}
