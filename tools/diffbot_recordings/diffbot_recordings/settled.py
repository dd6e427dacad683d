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
    found, last = _driver_of(now), "nothing yet" if before is None else _driver_of(before)
    if before is None or found != last:
        reason = f"two looks in a row must find the same, this one {found}, the one before {last}"
        return replace(now, verdict=replace(verdict.not_excited(reason), values=()))
    wider = max(1.0, _change(now, before))
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
