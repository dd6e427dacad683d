"""How a velocity loop answers steps of its set point."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from diffbot_bringup.drive_report.drive_run import DriveRun

CHANNELS = ("v", "omega")
SETTLED, ROUGHLY = 0.01, 0.05  # shares of the step
# Steps smaller than this, m/s or rad/s, are none.
SMALLEST = 1e-6
# A set point that changes again sooner, s, is a ramp.
SHORTEST = 0.1


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
    changes = np.abs(np.diff(run.wanted, axis=0, prepend=np.zeros((1, 2)))) > SMALLEST
    instants = np.flatnonzero(changes.any(axis=1))
    found = []
    for at, until in pairwise([*instants, len(run)]):
        if run.time[until - 1] - run.time[at] < SHORTEST:
            continue
        for column in np.flatnonzero(changes[at]):
            begin = float(run.wanted[at - 1, column]) if at else 0.0
            found.append(_step(run, column, slice(at, until), begin))
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
    return Response(settled(SETTLED), settled(ROUGHLY), overshoot)
