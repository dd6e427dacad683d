"""Over which part of a run tracking is judged."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LAP, ONLY, SECOND = "last lap", "only lap, approach included", "last second"
# A reference this near to its final pose is at it, at the least: m and rad.
NEAR, NEAR_HEADING = 1e-3, 1e-2
# In samples: a moving reference that passes a pose has a sample within half its step.
NEAR_STEPS = 0.75


@dataclass(frozen=True)
class Window:
    """Part of a run.

    Attributes:
        kind: LAP, ONLY (there is none but the first) or SECOND.
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
    near = (distance <= np.maximum(NEAR, NEAR_STEPS * step)) & (
        turn <= np.maximum(NEAR_HEADING, NEAR_STEPS * turn_step)
    )
    away = np.flatnonzero(~near)
    before = np.flatnonzero(near[: away[-1]]) if len(away) else away
    if not len(before):
        return Window(SECOND, max(float(time[-1]) - 1.0, float(time[0])), float(time[-1]))
    # Of the last visit before, the instant nearest to the pose; the last one of a rest.
    visit = np.arange(_first_of_visit(near, before[-1]), before[-1] + 1)
    miss = distance[visit] + turn[visit] * NEAR / NEAR_HEADING
    begin = visit[np.flatnonzero(miss <= miss.min() + 1e-12)[-1]]
    moving = np.flatnonzero((step > 1e-9) | (turn_step > 1e-9))
    kind = LAP if moving[0] < begin else ONLY
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
