# SPDX-License-Identifier: Apache-2.0
"""Limits of acceleration (ramps) and speed (a plateau), told by fits to limited commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_recordings.dead_time import DeadTimeFit
from diffbot_recordings.first_order import Array, AxisSegment, fit_first_order

# Limits tried, and the largest remaining share of squares if one explains the motion.
GRID, REMAINS = 14, 0.35
# Slowest ramp tried, s to the largest command; smallest plateau, a share of it.
LONGEST_RAMP, LOWEST_PLATEAU = 20.0, 0.15
# Dead times tried, as shares of the plain fit's: a ramp looks like one.
DEAD_TIMES = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True)
class DriverLimit:
    """A limit that explains the motion.

    Attributes:
        of_acceleration: Whether acceleration is limited; otherwise speed.
        search: The limit in the command's unit, per second for acceleration.
        remains: Share of the plain fit's sum of squares that remains with it.
    """

    of_acceleration: bool
    search: BoundedSearch
    remains: float

    def text(self, unit: str) -> str:
        """Return a sentence for the user; `unit` is that of the velocity."""
        limit = self.search.value
        if self.of_acceleration:
            per_second = unit.replace("/s", "/s^2")
            return (
                f"the velocity changes by no more than about {limit:.2g} {per_second}: a velocity "
                "smoother or the driver limits acceleration, so that steps become ramps, which is "
                "no first-order motion; record with that limit off or raised"
            )
        return (
            f"commands beyond about {limit:.2g} {unit} give no more speed: the driver limits it (a "
            f"plateau); record with commands of up to {0.9 * limit:.2g} {unit}"
        )


def driver_limit(segments: Sequence[AxisSegment], fit: DeadTimeFit) -> DriverLimit | None:
    """Return the limit that explains the motion better than a fit without one, or None."""
    largest = max(float(np.abs(segment.command).max(initial=0.0)) for segment in segments)
    if not largest > 0.0:
        return None
    period = segments[0].period
    ramps = np.geomspace(largest / LONGEST_RAMP, largest / (2.0 * period), GRID)
    plateaus = largest * np.linspace(LOWEST_PLATEAU, 1.0, GRID)
    lates = sorted({fraction * fit.dead_time for fraction in DEAD_TIMES})
    plain = _errors(segments, lates)
    if not plain > 0.0:
        return None
    results = [
        _best(segments, ramps, lates, plain, of_acceleration=True),
        _best(segments, plateaus, lates, plain, of_acceleration=False),
    ]
    best = min(results, key=lambda limit: limit.remains)
    return best if best.search.inside and best.remains <= REMAINS else None


def _best(
    segments: Sequence[AxisSegment],
    limits: Array,
    lates: Sequence[float],
    plain: float,
    of_acceleration: bool,
) -> DriverLimit:
    commands = [(_ramps if of_acceleration else _plateaus)(each, limits) for each in segments]
    errors = []
    for k in range(len(limits)):
        limited = [
            replace(segment, command=command[k], sent=None)
            for segment, command in zip(segments, commands, strict=True)
        ]
        errors.append(_errors(limited, lates))
    k = int(np.argmin(errors))
    # The first and the last limit tried are ends, however far the next one is.
    margin = 0.1 * float(limits[0])
    search = BoundedSearch(
        "limit", float(limits[k]), float(limits[0]), float(limits[-1]), "", margin=margin
    )
    return DriverLimit(of_acceleration, search, errors[k] / plain)


def _ramps(segment: AxisSegment, slopes: Array) -> Array:
    most = slopes * segment.period
    now = np.full(len(slopes), segment.command[0])
    result = np.empty((len(segment.command), len(slopes)))
    for k, target in enumerate(segment.command.tolist()):
        now = now + np.clip(target - now, -most, most)
        result[k] = now
    return result.T


def _plateaus(segment: AxisSegment, limits: Array) -> Array:
    return np.clip(segment.command, -limits[:, None], limits[:, None])


def _errors(segments: Sequence[AxisSegment], lates: Sequence[float]) -> float:
    results = [np.inf]
    for late in lates:
        try:
            results.append(fit_first_order(segments, dead_time=late).residual_std ** 2)
        except ValueError:
            continue
    return float(min(results))
