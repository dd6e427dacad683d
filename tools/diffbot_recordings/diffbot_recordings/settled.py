# SPDX-License-Identifier: Apache-2.0
"""Which results of a run that goes on may be told: those that a second look confirms.

Early, a limit of acceleration or a dead band that no command has shown yet looks like lag and dead
time, by many standard deviations: no interval of the fit without it holds.
docs/theory/velocity_robots.md#while-the-robot-drives.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from diffbot_recordings.velocity_analysis import AxisAnalysis

# Values whose changes between two looks tell how far the intervals hold.
WATCHED = ("time constant", "gain", "dead time", "acceleration limit", "deceleration limit")


# Robot time until the next look, s, and until one that is to confirm the last.
LOOK_PERIOD, CONFIRMED_AFTER = 8.0, 4.0


class SettledLooks:
    """What the looks at a run tell, one after another.

    Attributes:
        axes: What may be told after the newest look, by axis.
        pause: Robot time until the next look, s.
    """

    def __init__(self) -> None:
        self.axes: dict[str, AxisAnalysis] = {}
        self.pause = LOOK_PERIOD
        self._last: Mapping[str, AxisAnalysis] = {}

    def add(self, newest: Mapping[str, AxisAnalysis]) -> None:
        """Take what a look has found."""
        before, self._last = self._last, newest
        self.axes = settled(newest, before)
        waits = any(result is not newest[name] for name, result in self.axes.items())
        self.pause = CONFIRMED_AFTER if before and waits else LOOK_PERIOD


def settled(
    axes: Mapping[str, AxisAnalysis], before: Mapping[str, AxisAnalysis]
) -> dict[str, AxisAnalysis]:
    """Return what may be told of a look, after the one before it; both by axis.

    The values of an axis are left out until two looks in a row find the same kind of driver.
    Intervals become wider by the root mean square of the changes, in standard deviations of the
    look before, where that is above 1.
    """
    return {name: _settled(analysis, before.get(name)) for name, analysis in axes.items()}


def _settled(now: AxisAnalysis, before: AxisAnalysis | None) -> AxisAnalysis:
    verdict = now.verdict
    if not verdict.usable:
        return now
    driver, last = _driver_of(now), "nothing yet" if before is None else _driver_of(before)
    if before is None or driver != last:
        reason = f"two looks in a row must find the same, this one {driver}, the one before {last}"
        return replace(now, verdict=replace(verdict.not_excited(reason), values=()))
    wider = _change(now, before)
    if wider <= 1.0:
        return now
    values = tuple(replace(value, std=wider * value.std) for value in verdict.values)
    return replace(now, verdict=replace(verdict, values=values))


def _driver_of(analysis: AxisAnalysis) -> str:
    """Return in words what a driver makes of commands."""
    if analysis.fit is None:
        return "nothing yet"
    driver, parts = analysis.fit.driver, list[str]()
    if driver.ramp is not None:
        parts.append("a limit of acceleration")
    if driver.dead_band > 0.0:
        parts.append(f"a dead band ({driver.kind.value})")
    if driver.exponent != 1.0:
        parts.append("a power law")
    return " and ".join(parts) or "neither a limit of acceleration nor a dead band"


def _change(now: AxisAnalysis, before: AxisAnalysis) -> float:
    """Return the root mean square of the changes in standard deviations of the look before."""
    earlier = {value.name: value for value in before.verdict.values}
    squares = []
    for value in now.verdict.values:
        last = earlier.get(value.name)
        if value.name not in WATCHED or last is None:
            continue
        if value.identifiable and last.identifiable and last.std > 0.0:
            squares.append(((value.value - last.value) / last.std) ** 2)
    return math.sqrt(sum(squares) / len(squares)) if squares else 1.0
