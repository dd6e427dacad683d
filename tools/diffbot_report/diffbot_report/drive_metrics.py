# SPDX-License-Identifier: Apache-2.0
"""Metrics of a run: tracking errors, responses to velocity steps, effect of robot changes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_report.drive_recording import AdaptationRun, DriveRun

# Parts of a run over which tracking is evaluated.
LAST_LAP, ONLY_LAP, LAST_SECOND = "last lap", "only lap, approach included", "last second"
# Least tolerances of a reference at its final pose: m and rad.
SAME_POSITION, SAME_HEADING = 1e-3, 1e-2
# Steps of the reference within which it passes a pose.
SAME_STEPS = 0.75
CHANNELS = ("v", "omega")
# Tolerances of a settled velocity, as fractions of its step.
FINE, ROUGH = 0.01, 0.05
# Smaller steps, m/s or rad/s, are ignored.
SMALLEST_STEP = 1e-6
# A set point that changes within this time, s, is a ramp.
SHORTEST_STEP = 0.1
# Time that a change may disturb, s.
RECOVERY = 12.0


@dataclass(frozen=True)
class Window:
    """Part of a run, s since driving began; kind: LAST_LAP, ONLY_LAP or LAST_SECOND."""

    kind: str
    begin: float
    end: float

    def holds(self, time: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Whether each of these times, s, is inside, including the ends."""
        return (time >= self.begin - 1e-9) & (time <= self.end + 1e-9)


def judged_window(time: NDArray[np.float64], reference: NDArray[np.float64]) -> Window:
    """Return the last lap of a closed curve or, for other references, the last second.

    A lap begins at the last visit of the final pose before, heading included. Rest at the end is no
    part of it. `time`: s, increasing, (n,), n > 0; `reference`: m, m, rad, finite, (n, 3).
    """
    final = reference[-1]
    distance = np.hypot(*(reference[:, :2] - final[:2]).T)
    turn = np.abs(np.remainder(reference[:, 2] - final[2] + math.pi, math.tau) - math.pi)
    step, turn_step = _steps(reference)
    near = (distance <= np.maximum(SAME_POSITION, SAME_STEPS * step)) & (
        turn <= np.maximum(SAME_HEADING, SAME_STEPS * turn_step)
    )
    away = np.flatnonzero(~near)
    before = np.flatnonzero(near[: away[-1]]) if len(away) else away
    if not len(before):
        return Window(LAST_SECOND, max(float(time[-1]) - 1.0, float(time[0])), float(time[-1]))
    # The sample of the previous visit nearest to the pose.
    visit = np.arange(_first_of_visit(near, before[-1]), before[-1] + 1)
    miss = distance[visit] + turn[visit] * SAME_POSITION / SAME_HEADING
    begin = visit[np.flatnonzero(miss <= miss.min() + 1e-12)[-1]]
    moving = np.flatnonzero((step > 1e-9) | (turn_step > 1e-9))
    kind = LAST_LAP if moving[0] < begin else ONLY_LAP
    return Window(kind, float(time[begin]), float(time[min(moving[-1], len(time) - 1)]))


def _steps(reference: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return distance, m, and angle, rad, that the reference moved up to each sample, (n,)."""
    change = np.diff(reference, axis=0, prepend=reference[:1])
    turn = np.remainder(change[:, 2] + math.pi, math.tau) - math.pi
    return np.hypot(change[:, 0], change[:, 1]), np.abs(turn)


def _first_of_visit(near: NDArray[np.bool_], last: int) -> int:
    gaps = np.flatnonzero(~near[:last])
    return int(gaps[-1]) + 1 if len(gaps) else 0


@dataclass(frozen=True)
class Errors:
    """Root mean squares and maxima over a window, m and rad."""

    rms_position: float
    rms_heading: float
    max_position: float
    max_heading: float


@dataclass(frozen=True)
class Tracking(Errors):
    """Errors against the reference.

    Attributes:
        settling_time: From when the robot stays within 1 cm and 1 degree, s since driving began;
            None: never, or later samples are missing.
    """

    settling_time: float | None


@dataclass(frozen=True)
class DriveMetrics:
    """Metrics of a run; None where samples or a reference are missing.

    Attributes:
        drift: Difference between true pose and odometry over the window.
        peak_speed: Maximum |v|, m/s, of the true velocity if known.
        peak_yaw_rate: Maximum |omega|, rad/s.
    """

    window: Window | None
    true: Tracking | None
    odometry: Tracking | None
    drift: Errors | None
    peak_speed: float | None
    peak_yaw_rate: float | None


def drive_metrics(run: DriveRun) -> DriveMetrics:
    """Return the metrics of a run, which may be empty."""
    window = _window(run)
    whole = run.is_whole(true=True)
    speeds = [
        float(np.nanmax(np.abs(column))) if whole and np.isfinite(column).any() else None
        for column in run.best_velocity.T
    ]
    reported = window is not None and run.is_whole(window.begin, window.end, true=True)
    return DriveMetrics(
        window=window,
        true=_tracking(run, run.true_errors, window, true=True) if reported else None,
        odometry=_tracking(run, run.odometry_errors, window),
        drift=errors_within(run.drift, window) if reported else None,
        peak_speed=speeds[0],
        peak_yaw_rate=speeds[1],
    )


def _window(run: DriveRun) -> Window | None:
    """Return the window for the errors, or None if missing samples could shift it."""
    if not run.has_pose_reference:
        return None
    known = np.isfinite(run.reference).all(axis=1)
    window = judged_window(run.time[known], run.reference[known])
    if run.is_whole():
        return window
    # Samples that are missing before a lap may hide one.
    resting = not np.ptp(run.reference[known], axis=0).any()
    certain = window.kind == LAST_LAP or resting
    return window if certain and run.is_whole(window.begin) else None


def _tracking(
    run: DriveRun, errors: TrackingErrors | None, window: Window | None, true: bool = False
) -> Tracking | None:
    result = errors_within(errors, window)
    if errors is None or result is None:
        return None
    settled = errors.settling_time
    earlier = errors.time[errors.time < settled]
    # It may have left where samples are missing.
    known = run.is_whole(float(earlier[-1]) if len(earlier) else 0.0, true=true)
    time = settled if known and math.isfinite(settled) else None
    return Tracking(**vars(result), settling_time=time)


def errors_within(errors: TrackingErrors | None, window: Window | None) -> Errors | None:
    """Return the errors over a window, or None if there are none."""
    if errors is None or window is None:
        return None
    inside = window.holds(errors.time)
    if not inside.any():
        return None
    part = TrackingErrors(errors.time[inside], errors.error[inside])
    begin = float(part.time[0])
    return Errors(*part.rms(begin), *part.largest(begin))


@dataclass(frozen=True)
class Response:
    """Response of one velocity to one step.

    Attributes:
        settling_time, settling_time_5: From when it stays within 1 %, or 5 %, of the step, s since
            it; None: not before the next one. A count is often more than 1 %.
        overshoot: Maximum excess over the set point, % of the step, >= 0.
    """

    settling_time: float | None
    settling_time_5: float | None
    overshoot: float


@dataclass(frozen=True)
class VelocityStep:
    """A step of a set point.

    Attributes:
        channel: "v" (m/s) or "omega" (rad/s).
        time: s since driving began.
        encoders: Response by the wheels' encoders; None if samples are missing.
        true: Response of the simulated robot; None if not completely known.
    """

    channel: str
    time: float
    begin: float
    end: float
    encoders: Response | None
    true: Response | None


def velocity_steps(run: DriveRun) -> list[VelocityStep]:
    """Return the steps in order of time, each evaluated until either set point changes again."""
    changes = np.abs(np.diff(run.wanted, axis=0, prepend=np.zeros((1, 2)))) > SMALLEST_STEP
    instants = np.flatnonzero(changes.any(axis=1))
    results = []
    for at, until in pairwise([*instants, len(run)]):
        if run.time[until - 1] - run.time[at] < SHORTEST_STEP:
            continue
        for column in np.flatnonzero(changes[at]):
            begin = float(run.wanted[at - 1, column]) if at else 0.0
            results.append(_step(run, int(column), slice(at, until), begin))
    return results


def _step(run: DriveRun, column: int, part: slice, begin: float) -> VelocityStep:
    time, end = run.time[part], float(run.wanted[part.start, column])
    true = run.true_velocity[part, column]
    known = np.isfinite(true)
    first, last = max(part.start - 1, 0), min(part.stop, len(run) - 1)
    span = (float(run.time[first]), float(run.time[last]) if last >= part.stop else math.inf)
    whole, reported = run.is_whole(*span), run.is_whole(*span, true=True)
    return VelocityStep(
        channel=CHANNELS[column],
        time=float(time[0]),
        begin=begin,
        end=end,
        encoders=response(time, run.velocity[part, column], begin, end) if whole else None,
        true=response(time[known], true[known], begin, end, time[0])
        if reported and known.any()
        else None,
    )


def response(
    time: NDArray[np.float64],
    velocity: NDArray[np.float64],
    begin: float,
    end: float,
    since: float | None = None,
) -> Response:
    """Evaluate the response of n > 0 velocities at times, s, to a step from `begin` to `end`.

    `since`: time of the step, s; None: the first time.
    """
    progress = (velocity - begin) / (end - begin)
    first = float(time[0] if since is None else since)

    def settled(fraction: float) -> float | None:
        outside = np.flatnonzero(np.abs(progress - 1.0) > fraction + 1e-9)
        sample = int(outside[-1]) + 1 if len(outside) else 0
        return None if sample == len(time) else float(time[sample]) - first

    overshoot = 100.0 * max(float(progress.max()) - 1.0, 0.0)
    return Response(settled(FINE), settled(ROUGH), overshoot)


@dataclass(frozen=True)
class Change:
    """Tracking around a change of the true parameters, such as a payload.

    Attributes:
        time: Time of the change, s since driving began.
        before: Errors over one lap before it, or less.
        after: Errors over the same length, from RECOVERY after it on.
    """

    time: float
    before: Errors | None
    after: Errors | None

    @property
    def ratio(self) -> float | None:
        """Rms position error after the change over that before."""
        if self.before is None or self.after is None or not self.before.rms_position:
            return None
        return self.after.rms_position / self.before.rms_position


def changes_of(run: DriveRun, adaptation: AdaptationRun, lap: Window | None) -> list[Change]:
    """Evaluate tracking around each change; `lap` is the window of the run's metrics."""
    errors = run.true_errors or run.odometry_errors
    if errors is None or not len(run):
        return []
    changes = []
    for time in adaptation.changes:
        length = min(time, float(run.time[-1]) - time - RECOVERY)
        if lap is not None and lap.kind == LAST_LAP:
            length = min(length, lap.end - lap.begin)
        if length <= 0.0:
            changes.append(Change(time, None, None))
            continue
        windows = (
            Window(LAST_LAP, time - length, time),
            Window(LAST_LAP, time + RECOVERY, time + RECOVERY + length),
        )
        parts = (
            errors_within(errors, window)
            if run.is_whole(window.begin, window.end, true=True)
            else None
            for window in windows
        )
        changes.append(Change(time, *parts))
    return changes
