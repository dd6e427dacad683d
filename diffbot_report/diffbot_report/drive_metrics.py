# SPDX-License-Identifier: Apache-2.0
"""How well a run followed its reference, answered steps of velocity, and bore a changed robot."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diffbot_controllers.laws.tracking_errors import TrackingErrors
from diffbot_report.drive_recording import AdaptationRun, DriveRun

# Kinds of the part of a run over which tracking is judged.
LAST_LAP, ONLY_LAP, LAST_SECOND = "last lap", "only lap, approach included", "last second"
# A reference this near to its final pose is at it, at the least: m and rad.
SAME_POSITION, SAME_HEADING = 1e-3, 1e-2
# In samples: a moving reference that passes a pose has a sample within half its step.
SAME_STEPS = 0.75
CHANNELS = ("v", "omega")
# Within which a velocity has settled, finely and roughly: shares of its step.
FINE, ROUGH = 0.01, 0.05
# Steps smaller than this, m/s or rad/s, are none.
SMALLEST_STEP = 1e-6
# A set point that changes again sooner, s, is a ramp.
SHORTEST_STEP = 0.1
# Robot time that a change of the robot may disturb its tracking for, s.
RECOVERY = 12.0


@dataclass(frozen=True)
class Window:
    """Part of a run.

    Attributes:
        kind: LAST_LAP, ONLY_LAP (there is none but the first) or LAST_SECOND.
        begin: s since driving began.
        end: s.
    """

    kind: str
    begin: float
    end: float

    def holds(self, time: NDArray[np.float64]) -> NDArray[np.bool_]:
        """Which of these times, s, are inside, its ends included."""
        return (time >= self.begin - 1e-9) & (time <= self.end + 1e-9)


def judged_window(time: NDArray[np.float64], reference: NDArray[np.float64]) -> Window:
    """The last lap of a closed curve, else the last second.

    A lap is found from the references alone. It lasts since the reference was last before at its
    final pose, heading included: closed curves end where they begin, and an 8 crosses itself with
    another heading. Rest at the end is no part of it.

    Args:
        time: s, rising, shape (n,), n > 0.
        reference: x, y, theta, m, m, rad, finite, shape (n, 3).
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
    # Of the last visit before, the instant nearest to the pose; the last one of a rest.
    visit = np.arange(_first_of_visit(near, before[-1]), before[-1] + 1)
    miss = distance[visit] + turn[visit] * SAME_POSITION / SAME_HEADING
    begin = visit[np.flatnonzero(miss <= miss.min() + 1e-12)[-1]]
    moving = np.flatnonzero((step > 1e-9) | (turn_step > 1e-9))
    kind = LAST_LAP if moving[0] < begin else ONLY_LAP
    return Window(kind, float(time[begin]), float(time[min(moving[-1], len(time) - 1)]))


def _steps(reference: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """How far (m) and by what angle (rad) the reference came to each sample, shape (n,)."""
    change = np.diff(reference, axis=0, prepend=reference[:1])
    turn = np.remainder(change[:, 2] + math.pi, math.tau) - math.pi
    return np.hypot(change[:, 0], change[:, 1]), np.abs(turn)


def _first_of_visit(near: NDArray[np.bool_], last: int) -> int:
    """First sample of the visit that ends with this one."""
    gaps = np.flatnonzero(~near[:last])
    return int(gaps[-1]) + 1 if len(gaps) else 0


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
    certain = window.kind == LAST_LAP or resting
    return window if certain and run.is_whole(window.begin) else None


def _tracking(
    run: DriveRun, errors: TrackingErrors | None, window: Window | None, true: bool = False
) -> Tracking | None:
    found = errors_within(errors, window)
    if errors is None or found is None:
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


@dataclass(frozen=True)
class Response:
    """Of one velocity to one step.

    Attributes:
        settling_time: from which on it stays within 1 % of the step, s since the step; None if it
            never does before the next one.
        settling_time_5: likewise within 5 %. One count of an encoder in a period is often more
            than 1 % of a step.
        overshoot: largest excess over the set point, % of the step, >= 0.
    """

    settling_time: float | None
    settling_time_5: float | None
    overshoot: float


@dataclass(frozen=True)
class VelocityStep:
    """A step of a set point.

    Attributes:
        channel: "v" (m/s) or "omega" (rad/s).
        time: since driving began, s.
        begin: set point before; 0 before the run.
        end: set point after.
        encoders: response as the law knows it, from the wheels' encoders; None where samples are
            missing.
        true: of the simulated robot; None where it is not known, or not all of it.
    """

    channel: str
    time: float
    begin: float
    end: float
    encoders: Response | None
    true: Response | None


def velocity_steps(run: DriveRun) -> list[VelocityStep]:
    """The steps of v and omega in a run, in order of time.

    A response is judged until either set point changes again.
    """
    changes = np.abs(np.diff(run.wanted, axis=0, prepend=np.zeros((1, 2)))) > SMALLEST_STEP
    instants = np.flatnonzero(changes.any(axis=1))
    found = []
    for at, until in pairwise([*instants, len(run)]):
        if run.time[until - 1] - run.time[at] < SHORTEST_STEP:
            continue
        for column in np.flatnonzero(changes[at]):
            begin = float(run.wanted[at - 1, column]) if at else 0.0
            found.append(_step(run, int(column), slice(at, until), begin))
    return found


def _step(run: DriveRun, column: int, part: slice, begin: float) -> VelocityStep:
    time, end = run.time[part], float(run.wanted[part.start, column])
    true = run.true_velocity[part, column]
    known = np.isfinite(true)
    first, last = max(part.start - 1, 0), min(part.stop, len(run) - 1)
    span = (float(run.time[first]), float(run.time[last]) if last >= part.stop else math.inf)
    whole, told = run.is_whole(*span), run.is_whole(*span, true=True)
    return VelocityStep(
        channel=CHANNELS[column],
        time=float(time[0]),
        begin=begin,
        end=end,
        encoders=response(time, run.velocity[part, column], begin, end) if whole else None,
        true=response(time[known], true[known], begin, end, time[0])
        if told and known.any()
        else None,
    )


def response(
    time: NDArray[np.float64],
    velocity: NDArray[np.float64],
    begin: float,
    end: float,
    since: float | None = None,
) -> Response:
    """Judge the answer to a step from `begin` to `end`, both in the unit of the velocity.

    Args:
        time: s, rising, shape (n,), n > 0.
        velocity: shape (n,).
        begin: set point before.
        end: set point after; differs from begin.
        since: time of the step, s; None for the first time.
    """
    # In units of the step: 0 before, 1 after.
    progress = (velocity - begin) / (end - begin)
    first = float(time[0] if since is None else since)

    def settled(share: float) -> float | None:
        outside = np.flatnonzero(np.abs(progress - 1.0) > share + 1e-9)
        sample = int(outside[-1]) + 1 if len(outside) else 0
        return None if sample == len(time) else float(time[sample]) - first

    overshoot = 100.0 * max(float(progress.max()) - 1.0, 0.0)
    return Response(settled(FINE), settled(ROUGH), overshoot)


@dataclass(frozen=True)
class Change:
    """Tracking around a change of the true parameters, such as a payload.

    Attributes:
        time: of the change, s since driving began.
        before: errors over a lap that ends there (less at the start of a run); None where unknown.
        after: errors over as long, from RECOVERY after it on.
    """

    time: float
    before: Errors | None
    after: Errors | None

    @property
    def ratio(self) -> float | None:
        """Rms of the position after over that before."""
        if self.before is None or self.after is None or not self.before.rms_position:
            return None
        return self.after.rms_position / self.before.rms_position


def changes_of(run: DriveRun, adaptation: AdaptationRun, lap: Window | None) -> list[Change]:
    """Tracking around each change; `lap` is the window that the run is judged by."""
    errors = run.true_errors or run.odometry_errors
    if errors is None or not len(run):
        return []
    found = []
    for time in adaptation.changes:
        length = min(time, float(run.time[-1]) - time - RECOVERY)
        if lap is not None and lap.kind == LAST_LAP:
            length = min(length, lap.end - lap.begin)
        if length <= 0.0:
            found.append(Change(time, None, None))
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
        found.append(Change(time, *parts))
    return found
