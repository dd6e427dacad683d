"""How a run becomes a short film: which instants, and how much faster or slower than it was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from diffbot_bringup.drive_report.drive_run import DriveRun

RATE = 20  # frames per s
LONGEST = 8.0  # s of film
LAST_FRAME = 1.2  # s for which the last frame stays
# A shorter film is slowed down, s.
SHORTEST = 3.0
SLOW = (0.25, 0.5, 1.0)
FAST = (1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0, 10.0, 12.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0)
# The film ends this long after the last motion, s of film.
AFTERMATH = 0.6
# What counts as motion: m and rad away from where the robot or its reference ends.
MOVED, TURNED = 2e-3, 1e-2


@dataclass(frozen=True)
class Playback:
    """Instants of a film.

    Attributes:
        factor: robot time per time of the film.
        frames: indices of the run's samples, one for each frame.
    """

    factor: float
    frames: NDArray[np.intp]


def playback(run: DriveRun) -> Playback:
    """Choose the pace so that the film lasts 8 s at most; a long rest at the end is left out.

    Args:
        run: with at least one known pose.
    """
    known = run.known_poses
    time = run.time[known]
    begin, end = float(time[0]), float(time[_last_motion(run, known)])
    span = max(end - begin, 0.1)
    factor = next((f for f in FAST if span / f + AFTERMATH <= LONGEST), None)
    if factor is None:
        factor = float(np.ceil(span / (LONGEST - AFTERMATH)))
    if factor == 1.0:
        factor = next(f for f in SLOW if f == 1.0 or span / f + AFTERMATH >= SHORTEST)
        if span / factor + AFTERMATH > LONGEST:
            factor = 1.0
    until = min(end + AFTERMATH * factor, float(time[-1]))
    instants = np.arange(begin, until + 1e-9, factor / RATE)
    at = np.clip(np.searchsorted(time, instants - 1e-9), 0, len(time) - 1)
    return Playback(factor, known[at])


def _last_motion(run: DriveRun, known: NDArray[np.intp]) -> int:
    """Index into `known` of the last sample at which the robot or its reference moves."""
    last = 0
    for poses in (run.pose[known], run.reference[known]):
        away = np.hypot(*(poses[:, :2] - poses[-1, :2]).T) > MOVED
        away |= np.abs(np.remainder(poses[:, 2] - poses[-1, 2] + np.pi, 2 * np.pi) - np.pi) > TURNED
        if away.any():
            last = max(last, int(np.flatnonzero(away)[-1]) + 1)
    return min(last, len(known) - 1)
