"""Readings that a slow sensor repeats until it has a new one (sample and hold).

Wheels that take turns to say how fast they turn, more slowly than the rows come, would make a body
velocity of a new reading and an old one: `between_readings` takes each wheel on a straight line
between its own readings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from arc_odometry import WheelGeometry
from diffbot_ident.recording.samples import WHEELS, Array, Mask, body_velocity
from diffbot_ident.recording.segments import Segment

FRESH = "fresh"
"""Channel that is 1 where a segment's velocity rests on a new reading, else 0."""

# A reading is stale if it changes by less than this share of the changes around it: rows that are
# resampled change by a little just before the reading does.
SMALL = 0.2
# Samples between two changes that are long enough to be standstill, not a hold.
LONGEST = 40
# Share of the holds that must have the same length, within one sample or this share of it.
REGULAR, SHARE = 0.7, 0.15


def new_readings(series: Sequence[Array]) -> tuple[list[Mask], float]:
    """Which readings are new.

    Args:
        series: readings of one sensor in several segments, shape (n,) each.

    Returns:
        for each of the series, which readings are new, shape (n,), and how many samples a reading
        holds; all and 0 where the sensor is no slower than its rows.
    """
    masks = [_changes(np.asarray(values, float)) for values in series]
    holds = np.concatenate([np.diff(np.flatnonzero(mask)) for mask in masks] or [np.empty(0)])
    holds = holds[holds <= LONGEST]
    if len(holds) >= 3:
        usual = float(np.median(holds))
        # Now and then a reading is lost, or happens to be the same.
        times = np.maximum(np.round(holds / usual), 1.0)
        regular = np.mean(np.abs(holds - usual * times) <= max(1.0, SHARE * usual))
        if usual >= 2.0 and regular >= REGULAR:
            return masks, float(np.mean(holds[times == 1.0]))
    return [np.ones(len(mask), bool) for mask in masks], 0.0


def _changes(values: Array) -> Mask:
    """Samples at which the reading changes by much, compared with the changes around."""
    steps = np.abs(np.diff(values, prepend=values[:1]))
    padded = np.pad(steps, 1)
    around = np.maximum(padded[:-2], padded[2:])
    changes: Mask = (steps > 0.0) & (steps >= SMALL * around)
    return changes


def between_readings(
    segments: Sequence[Segment], geometry: WheelGeometry, axes: Sequence[str]
) -> tuple[list[Segment], float]:
    """Segments whose velocities are made of wheel speeds between readings, where these are slow.

    Args:
        segments: with the channels of WHEELS.
        geometry: of the wheels.
        axes: what the wheels tell, of "v" and "w".

    Returns:
        the segments, with a channel FRESH (1 where one of the wheels has a new reading), and the
        time between two readings of a wheel, s; as they are, and 0, where wheels are not slow.
    """
    found = [new_readings([segment.channels[wheel] for segment in segments]) for wheel in WHEELS]
    holds = [held for _, held in found if held > 0.0]
    if not holds:
        return list(segments), 0.0
    changed = []
    for i, segment in enumerate(segments):
        left_new, right_new = (new[i] for new, _ in found)
        left = _interpolated(segment.channels[WHEELS[0]], left_new)
        right = _interpolated(segment.channels[WHEELS[1]], right_new)
        body = body_velocity(geometry, left, right)
        channels = {axis: body[axis] for axis in axes}
        channels[FRESH] = (left_new | right_new).astype(float)
        changed.append(replace(segment, channels={**segment.channels, **channels}))
    return changed, segments[0].period * float(np.mean(holds))


def _interpolated(values: Array, fresh: Mask) -> Array:
    """Readings between two new ones on the straight line between them, shape (n,)."""
    known = np.flatnonzero(fresh)
    if not len(known):
        return values
    return np.interp(np.arange(len(values)), known, values[known])
