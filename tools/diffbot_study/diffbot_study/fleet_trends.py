# SPDX-License-Identifier: Apache-2.0
"""Changes of a robot over its recordings: a step between two, or a drift over all.

Both are tested by Smyth's moderated t with the scatter of the type: docs/theory/fleet.md#changes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timezone
from typing import Any

import numpy as np
import scipy

from diffbot_ident.estimate import NORMAL_95
from diffbot_study.fleet_quantities import LOG, Array

# Minimum number of recordings of a robot at different times, and on either side of a step.
FEWEST, SIDE = 4, 2
# Degrees of freedom of a type's scatter, and the number of robots from which it is known.
TYPE_WEIGHT, TYPE_ROBOTS = 10.0, 5
# Ratio of standard deviation over median absolute deviation (normal distribution).
MAD = 1.4826
# Minimum standard deviation of a quantity, also for noise-free recordings.
LEAST_STD = 1e-9
# Increase of minus twice a log likelihood that bounds the place of a step, with 95 %.
CHI2_95 = 3.84
# Steps that are tested at once.
TOGETHER = 32
DAY = 86400.0
STEP, DRIFT = "step", "drift"


@dataclass(frozen=True)
class Track:
    """A robot's quantities over its recordings, in order of time.

    Attributes:
        times: Times, s, shape (n,), not decreasing.
        values: Values, shape (n, quantities).
        errors: Standard deviations by each recording itself, shape (n, quantities).
    """

    times: Array
    values: Array
    errors: Array


@dataclass(frozen=True)
class Trend:
    """The most significant change of a robot over its recordings; mappings are by quantity.

    Attributes:
        recordings: Number of recordings used.
        kind: STEP or DRIFT.
        quantity: Quantity that changed most significantly.
        p: Probability of such a change for a robot that did not change.
        between: Times, s since 1970, that bound the step with 95 %; for a drift, first and last
            recording.
        change, change_std: Value after minus before the step, or total drift, and its deviation.
        slopes, slope_half_widths: Of straight lines, per day, and of their 95 % intervals.
        alarm, near, cause, confidence: See RobotFinding.
    """

    name: str
    type: str
    recordings: int
    kind: str
    quantity: str
    p: float
    between: tuple[float, float]
    change: Mapping[str, float]
    change_std: Mapping[str, float]
    slopes: Mapping[str, float] = field(default_factory=dict)
    slope_half_widths: Mapping[str, float] = field(default_factory=dict)
    alarm: bool = False
    near: bool = False
    cause: str = ""
    confidence: float = 0.0


def find_trends(kind: str, tracks: Mapping[str, Track], names: Sequence[str]) -> list[Trend]:
    """Return the trend of each robot of a type that has recordings at enough times."""
    full = {name: track for name, track in tracks.items() if len(np.unique(track.times)) >= FEWEST}
    if not full:
        return []
    extra = _scatter(list(full.values()))
    weight = TYPE_WEIGHT if len(full) >= TYPE_ROBOTS else 0.0
    return [_trend(name, kind, track, extra, weight, names) for name, track in full.items()]


def _scatter(tracks: Sequence[Track]) -> Array:
    """Return the variances between successive recordings beyond their own, shape (quantities,)."""
    jumps = np.concatenate([np.abs(np.diff(track.values, axis=0)) for track in tracks])
    errors = np.concatenate([track.errors for track in tracks])
    total = (MAD * np.median(jumps, axis=0)) ** 2 / 2.0
    result: Array = np.maximum(total - np.median(errors**2, axis=0), 0.0)
    return result


@dataclass(frozen=True)
class _Tested:
    """The smallest t with one recording left out, change and its deviation, of all quantities."""

    t: Array
    change: Array
    std: Array


class _Sums:
    """Weighted sums over a robot's recordings, and with each recording left out in turn.

    `extra`: variances beyond the recordings' own; `weight`: freedom of the type's scatter.
    """

    def __init__(self, track: Track, extra: Array, weight: float) -> None:
        self._count = len(track.times)
        self._prior = weight
        self.freedom = weight + self._count - 3.0
        # Centred for accuracy: the sums below are differences of squares.
        self._y = track.values - np.median(track.values, axis=0)
        self._w = 1.0 / (track.errors**2 + extra + LEAST_STD**2)
        self._x = (track.times - track.times.mean()) / DAY
        y, w = self._y, self._w
        # The last row leaves nothing out; each other row leaves out its recording.
        nothing = np.zeros((3, 1, y.shape[1]))
        self._own = np.concatenate((np.stack((w, w * y, w * y * y)), nothing), axis=1)

    def steps(self, splits: Sequence[int]) -> _Tested:
        """Return the tests of steps before these recordings, (splits, quantities) each."""
        at = np.asarray(splits, dtype=int)
        own, first = self._own[:, None], (np.arange(self._count + 1) < at[:, None])[..., None]
        early = np.cumsum(self._own, axis=1)[:, at - 1, None]
        late = np.cumsum(self._own[:, ::-1], axis=1)[:, self._count - at, None]
        before, after = early - np.where(first, own, 0.0), late - np.where(first, 0.0, own)
        (wb, yb, qb), (wa, ya, qa) = before, after
        change = ya / wa - yb / wb
        left = np.maximum(qb - yb**2 / wb, 0.0) + np.maximum(qa - ya**2 / wa, 0.0)
        return self._tested(change, 1.0 / wb + 1.0 / wa, left)

    def drift(self) -> _Tested:
        x, y, w = self._x[:, None], self._y, self._w
        parts = np.stack((w, w * x, w * x * x, w * y, w * x * y, w * y * y))
        s, sx, sxx, sy, sxy, syy = parts.sum(axis=1)[:, None] - np.concatenate(
            (parts, np.zeros((6, 1, y.shape[1]))), axis=1
        )
        spread = np.maximum(sxx - sx**2 / s, np.finfo(float).tiny)
        slope = (sxy - sx * sy / s) / spread
        left = np.maximum(syy - sy**2 / s - slope**2 * spread, 0.0)
        return self._tested(slope, 1.0 / spread, left)

    def _tested(self, change: Array, variance: Array, left: Array) -> _Tested:
        """Return the moderated t of changes (..., n + 1, quantities), of residual sums `left`."""
        freedom = np.full(self._count + 1, self._prior + self._count - 3.0)
        freedom[-1] += 1.0
        scale = (self._prior + left) / freedom[:, None]
        std = np.sqrt(variance * np.maximum(scale, np.finfo(float).tiny))
        t = change / std
        signs = np.sign(t)
        lowest = signs[..., -1, :] * np.abs(t).min(axis=-2)
        # A change whose sign depends on one recording is not significant.
        lowest[(signs != signs[..., -1:, :]).any(axis=-2)] = 0.0
        return _Tested(lowest, change[..., -1, :], std[..., -1, :])

    def misfit(self, split: int, quantity: int) -> float:
        own = self._own[:, :-1, quantity]
        parts = (own[:, :split].sum(axis=1), own[:, split:].sum(axis=1))
        return float(sum(q - y * y / w for w, y, q in parts))


def _trend(
    name: str, kind: str, track: Track, extra: Array, weight: float, names: Sequence[str]
) -> Trend:
    sums = _Sums(track, extra, weight)
    count = len(track.times)
    # Splits between recordings of the same time would only reflect the order of their names.
    splits = [k for k in range(SIDE, count - SIDE + 1) if track.times[k] > track.times[k - 1]]
    batches = [splits[k : k + TOGETHER] for k in range(0, len(splits), TOGETHER)]
    steps = list(map(sums.steps, batches))
    drift = sums.drift()
    sizes = np.array([np.abs(drift.t), *(np.abs(t) for step in steps for t in step.t)])
    # Per quantity the tests are the splits and the slope; each kind gets half of p.
    shares = np.array([2.0, *[2.0 * len(splits)] * len(splits)])
    p = 2.0 * scipy.special.stdtr(sums.freedom, -sizes) * shares[:, None]
    # The magnitudes decide if p is rounded to 0.
    test, best = np.unravel_index(np.lexsort((-sizes.ravel(), p.ravel()))[0], p.shape)
    half = float(scipy.special.stdtrit(sums.freedom + 1.0, 0.975)) * drift.std

    def named(values: Array) -> dict[str, float]:
        return dict(zip(names, values.tolist(), strict=True))

    if test == 0:
        span = float(track.times[-1] - track.times[0]) / DAY
        change, std = span * drift.change, span * drift.std
        between = (float(track.times[0]), float(track.times[-1]))
    else:
        batch, row = divmod(int(test) - 1, TOGETHER)
        change, std = steps[batch].change[row], steps[batch].std[row]
        between = _place(sums, splits, int(test) - 1, int(best), track.times)
    return Trend(
        name=name,
        type=kind,
        recordings=count,
        kind=DRIFT if test == 0 else STEP,
        quantity=names[best],
        p=min(1.0, float(p[test, best]) * len(names)),
        between=between,
        change=named(change),
        change_std=named(std),
        slopes=named(drift.change),
        slope_half_widths=named(half),
    )


def _place(
    sums: _Sums, splits: Sequence[int], best: int, quantity: int, times: Array
) -> tuple[float, float]:
    misfits = np.array([sums.misfit(split, quantity) for split in splits])
    scale = max(misfits[best] / max(len(times) - 2.0, 1.0), 1.0)
    likely = [split for split, m in zip(splits, misfits, strict=True)
              if m <= misfits[best] + CHI2_95 * scale]  # fmt: skip
    return float(times[min(likely) - 1]), float(times[max(likely)])


def said(trend: Trend) -> str:
    """Describe a trend: what changed, by how much, when."""
    return change_text(asdict(trend), trend.quantity.removeprefix(LOG), minute)


def change_text(change: Mapping[str, Any], label: str, date: Callable[[float], str]) -> str:
    """Describe a Trend as a mapping, with its quantity's label and dates as texts."""
    name = change["quantity"]
    size = fraction(name, change["change"][name])
    half = NORMAL_95 * change["change_std"][name] * (1.0 + size if name.startswith(LOG) else 1.0)
    begin, end = map(date, change["between"])
    when = f"between {begin} and {end}" if change["kind"] == STEP else f"from {begin} to {end}"
    return f"{change['kind']} of {label} by {size:+.1%} ± {half:.1%} {when}"


def fraction(quantity: str, change: float) -> float:
    """Return a change of a quantity, or of its logarithm, as a fraction of its value."""
    return math.expm1(change) if quantity.startswith(LOG) else change


def minute(time: float) -> str:
    """Format a time (s since 1970, UTC) to the minute."""
    return datetime.fromtimestamp(time, timezone.utc).strftime("%Y-%m-%d %H:%M")
