"""How well a robot followed its reference."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.last_lap import LAP, Window, judged_window
from diffbot_controllers.tracking_errors import TrackingErrors


@dataclass(frozen=True)
class Errors:
    """Root mean squares and largest values over a window.

    Attributes:
        rms_position: m.
        rms_heading: rad.
        max_position: m.
        max_heading: rad.
    """

    rms_position: float
    rms_heading: float
    max_position: float
    max_heading: float


@dataclass(frozen=True)
class Tracking(Errors):
    """Errors against the reference.

    Attributes:
        settling_time: first time since driving began from which on the robot stays within 1 cm and
            1 degree of the reference to the end of the run, s; None if never, or where samples
            after it are missing.
    """

    settling_time: float | None


@dataclass(frozen=True)
class DriveMetrics:
    """Figures of a run.

    Attributes:
        window: over which errors are taken; None without a reference of poses.
        true: of the true pose; None where it is not known or there is no reference.
        odometry: of the pose by odometry.
        drift: true pose against odometry over the window; None where one is not known.
        peak_speed: largest |v|, m/s; the true one where it is known; None without samples.
        peak_yaw_rate: largest |omega|, rad/s.
    """

    window: Window | None
    true: Tracking | None
    odometry: Tracking | None
    drift: Errors | None
    peak_speed: float | None
    peak_yaw_rate: float | None


def drive_metrics(run: DriveRun) -> DriveMetrics:
    """Judge a run; it may be empty."""
    window = _window(run)
    whole = run.is_whole(true=True)
    speeds = [
        float(np.nanmax(np.abs(column))) if whole and np.isfinite(column).any() else None
        for column in run.best_velocity.T
    ]
    told = window is not None and run.is_whole(window.begin, window.end, true=True)
    return DriveMetrics(
        window=window,
        true=_tracking(run, run.true_errors, window, true=True) if told else None,
        odometry=_tracking(run, run.odometry_errors, window),
        drift=errors_within(run.drift, window) if told else None,
        peak_speed=speeds[0],
        peak_yaw_rate=speeds[1],
    )


def _window(run: DriveRun) -> Window | None:
    """Over which errors are taken; None where samples are missing that could move it."""
    if not run.has_pose_reference:
        return None
    known = np.isfinite(run.reference).all(axis=1)
    window = judged_window(run.time[known], run.reference[known])
    if run.is_whole():
        return window
    # What is missing before a lap cannot move it; it may hide that there was one.
    resting = not np.ptp(run.reference[known], axis=0).any()
    certain = window.kind == LAP or resting
    return window if certain and run.is_whole(window.begin) else None


def _tracking(
    run: DriveRun, errors: TrackingErrors | None, window: Window | None, true: bool = False
) -> Tracking | None:
    found = errors_within(errors, window)
    if found is None:
        return None
    settled = errors.settling_time
    earlier = errors.time[errors.time < settled]
    # It may have left again where samples are missing.
    known = run.is_whole(float(earlier[-1]) if len(earlier) else 0.0, true=true)
    time = settled if known and math.isfinite(settled) else None
    return Tracking(**vars(found), settling_time=time)


def errors_within(errors: TrackingErrors | None, window: Window | None) -> Errors | None:
    """Errors over a window; None where there are none."""
    if errors is None or window is None:
        return None
    inside = window.holds(errors.time)
    if not inside.any():
        return None
    part = TrackingErrors(errors.time[inside], errors.error[inside])
    begin = float(part.time[0])
    return Errors(*part.rms(begin), *part.largest(begin))
