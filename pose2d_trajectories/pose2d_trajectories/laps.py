"""Laps of a closed path within limits."""

from __future__ import annotations

import math

from pose2d_trajectories.checks import positive, zero_or_positive
from pose2d_trajectories.limits import Limits
from pose2d_trajectories.path import Path
from pose2d_trajectories.path_trajectory import PathTrajectory
from pose2d_trajectories.peaks import find_peaks
from pose2d_trajectories.ramp_law import RampLaw
from pose2d_trajectories.smooth_step import MAX_SLOPE


def drive_laps(
    path: Path, rate: float, laps: int, ramp_up: float, ramp_down: float, limits: Limits
) -> PathTrajectory:
    """Drive a closed path, at a rate or, where limits demand it, more slowly.

    First a whole lap is slowed until it keeps the limits. Where the ramps then break one, they are
    made as long as the acceleration limits demand for them alone, and should path and ramp
    together still break one, all is slowed once more, to 0.7 at the least.

    Args:
        path: closed.
        rate: of the path's parameter, per s, > 0.
        laps: >= 1; 0: for ever.
        ramp_up: time from rest to the rate, s, or more; 0: in motion from the start.
        ramp_down: time from the rate to rest at the end, s, > 0, or more.
        limits: that hold afterwards.
    """
    if isinstance(laps, bool) or not isinstance(laps, int) or laps < 0:
        raise ValueError(f"laps = {laps!r}: must be a whole number >= 0; 0 drives for ever")
    up = zero_or_positive("ramp_up", ramp_up, "s")
    down = positive("ramp_down", ramp_down, "s")
    if limits == Limits():
        return PathTrajectory(path, _law(path, rate, laps, up, down))
    lap = find_peaks(PathTrajectory(path, RampLaw.endless(1.0)), 0.0, path.length)
    rate = min(rate, lap.time_factor(limits))
    law = _law(path, rate, laps, up, down)
    factor = _factor(PathTrajectory(path, law), limits)
    if factor > 1.0 - 1e-9:  # but for rounding, the ramps keep the limits
        return PathTrajectory(path, law.slowed(factor))
    # Time of a ramp per rate that the acceleration limits ask for, wherever on the path it is.
    slowness = MAX_SLOPE * max(
        lap.v / limits.linear_acceleration, lap.omega / limits.angular_acceleration
    )
    if laps and slowness:
        # Higher rates would leave no way between such ramps.
        rate = min(rate, math.sqrt((1.0 if up else 2.0) * laps * path.length / slowness))
    shortest = rate * slowness
    law = _law(path, rate, laps, max(up, shortest) if up else 0.0, max(down, shortest))
    return PathTrajectory(path, law.slowed(_factor(PathTrajectory(path, law), limits)))


def _law(path: Path, rate: float, laps: int, up: float, down: float) -> RampLaw:
    if laps == 0:
        return RampLaw.endless(rate, up)
    return RampLaw.timed(laps * path.length, rate, up, down)


def _factor(trajectory: PathTrajectory, limits: Limits) -> float:
    """By how much time has to slow down for the ramps to keep the limits, 1 or less."""
    law, end = trajectory.law, trajectory.duration
    ramps = []
    if law.ramp_up:
        ramps.append((0.0, law.ramp_up))
    if law.ramp_down:
        ramps.append((end - law.ramp_down, end))
    factors = [find_peaks(trajectory, *ramp).time_factor(limits) for ramp in ramps]
    return min([1.0, *factors])
