# SPDX-License-Identifier: Apache-2.0
"""The smallest command that moves an axis of a velocity-commanded robot, and a limit of its speed.

Method: docs/velocity_robots.md and docs/theory/recordings.md#dead-band.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_description.dead_band import DeadBandKind
from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_ident.velocity.dead_band_estimate import BANDS, LEAST_FRACTION, SMALL
from diffbot_recordings.axis_search import AxisSearch
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.dead_time import DeadTimeFit, fit_dead_band, largest_command
from diffbot_recordings.first_order import Array
from diffbot_recordings.sent_commands import levels_of
from diffbot_recordings.verdict import Value

# Limits tried, and the largest remaining share of squares if one explains the motion.
LIMITS, REMAINS = 14, 0.35
# Smallest limit, as a share of the largest command.
LOWEST = 0.15
# Dead times tried, as shares of the plain fit's.
DEAD_TIMES = (0.5, 0.75, 1.0)


@dataclass(frozen=True)
class Plateau:
    """A limit of speed in the command's unit, and the deviation of velocities that remains."""

    limit: float
    residual_std: float

    def text(self, unit: str) -> str:
        """Return a sentence for the user; `unit` is that of the velocity."""
        return (
            f"commands beyond about {self.limit:.2g} {unit} give no more speed: the driver limits "
            f"it (a plateau); record with commands of up to {0.9 * self.limit:.2g} {unit}"
        )


def plateau_of(segments: Sequence[AxisSegment], plain: DeadTimeFit) -> Plateau | None:
    """Return the plateau that explains the motion much better than a plain fit, or None."""
    largest = largest_command(segments)
    if not largest > 0.0:
        return None
    limits = largest * np.linspace(LOWEST, 1.0, LIMITS)
    late = plain.dead_time / segments[0].period
    lates = sorted({round(fraction * late) for fraction in DEAD_TIMES})
    errors = []
    for limit in limits.tolist():
        clipped = [
            segment.acting(lambda command, most=limit: np.clip(command, -most, most))  # type: ignore[misc]
            for segment in segments
        ]
        errors.append(AxisSearch(clipped, plain.longest).scan(lates).error)
    best = int(np.argmin(errors))
    # The first and the last limit tried are ends, however far the next one is.
    search = BoundedSearch(
        "limit", float(limits[best]), float(limits[0]), largest, "", margin=0.1 * float(limits[0])
    )
    if not search.inside or errors[best] ** 2 > REMAINS * plain.fit.residual_std**2:
        return None
    return Plateau(search.value, errors[best])


NAME = "smallest command that moves the robot"
LEAST_SAMPLES = 10
# Beyond doubt: standard deviations, and share of the largest command.
SIGNIFICANT_SIGMAS, LEAST_BAND = 4.0, 0.01
# Widest identifiable half interval, as a share of the largest command.
WIDEST = 0.25
# Sizes of acting commands that tell an offset from a threshold.
LEAST_SIZES = 2
ONE_SIZE = (
    "; warning: commands of one size only moved the robot, so that the gain holds for that size, "
    "and larger commands may act in full or reduced: send commands of more sizes"
)


@dataclass(frozen=True)
class DeadBandFinding:
    """Dead band of an axis, and whether it is beyond doubt for the commands that were tried."""

    fit: DeadTimeFit
    value: Value
    note: str
    significant: bool


def find_dead_band(
    segments: Sequence[AxisSegment], plain: DeadTimeFit, longest: float, unit: str
) -> DeadBandFinding:
    """Fit both kinds of dead band, and judge whether there is one.

    Args:
        plain: Fit without a dead band.
        longest: Longest dead time to scan, s.
    """
    offset, threshold = (
        fit_dead_band(segments, longest, kind, plain=plain)
        for kind in (DeadBandKind.OFFSET, DeadBandKind.THRESHOLD)
    )
    levels = levels_of(np.concatenate([segment.sent_values for segment in segments]))
    largest = float(levels[-1])
    samples = sum(int(np.count_nonzero(segment.counts)) for segment in segments)
    sizes = _acting_sizes(offset, levels)
    reported = (offset, threshold) if sizes >= LEAST_SIZES else (threshold,)
    significant = [fit for fit in reported if _is_significant_band(fit, plain, largest, samples)]
    result = min(significant, key=lambda fit: fit.fit.residual_std, default=offset)
    half = NORMAL_95 * result.dead_band_std
    if not _small_commands(segments, max(SMALL * largest, BANDS * result.dead_band)):
        value, note = not_identifiable(
            unit,
            (
                "the recording holds no small commands; hold some of up to "
                f"{SMALL * largest:.2g} {unit}"
            ),
        )
    elif result.kind is DeadBandKind.OFFSET and sizes < LEAST_SIZES:
        value, note = not_identifiable(
            unit, "commands of one size only moved the robot; send some of other sizes"
        )
    elif result.kind is DeadBandKind.OFFSET and not half <= WIDEST * largest:
        value, note = not_identifiable(
            unit, f"it is known to {half:.2g} {unit} only; drive for longer"
        )
    elif not significant:
        value, note = _no_dead_band(segments, result, levels, unit)
    else:
        value = Value(NAME, max(result.dead_band, 0.0), result.dead_band_std, unit)
        note = kind_note(result, levels, unit) + _other_kind(significant, result, samples)
        if sizes < LEAST_SIZES:
            note += ONE_SIZE
    return DeadBandFinding(result, value, note, bool(significant))


def _no_dead_band(
    segments: Sequence[AxisSegment], fit: DeadTimeFit, levels: Array, unit: str
) -> tuple[Value, str]:
    """Return value and note where no dead band shows: a threshold may be below all commands."""
    # Recordings have thousands of levels; larger limits hold for more commands.
    first = bisect_left(levels, True, key=lambda level: _small_commands(segments, float(level)))
    smallest = float(levels[min(first, len(levels) - 1)])
    half = max(0.5 * smallest, NORMAL_95 * fit.dead_band_std)
    value = Value(NAME, 0.5 * smallest, (half + 0.01 * smallest) / NORMAL_95, unit)
    said = f"commands of {smallest:.3g} {unit} move the robot"
    return value, f"no dead band of the command beyond doubt: {said}"


def _acting_sizes(offset: DeadTimeFit, levels: Array) -> int:
    if not math.isfinite(offset.dead_band_std):
        return 0
    least = max(SIGNIFICANT_SIGMAS * offset.dead_band_std, LEAST_BAND * float(levels[-1]))
    return int(np.count_nonzero(levels > offset.dead_band + least))


def not_identifiable(unit: str, reason: str) -> tuple[Value, str]:
    """Return value and note of a dead band that is not identifiable."""
    return Value(NAME, math.nan, math.inf, unit), f"{NAME} not identifiable: {reason}"


def _is_significant_band(
    fit: DeadTimeFit, plain: DeadTimeFit, largest: float, samples: int
) -> bool:
    # A threshold's interval is its whole possible range: it must be above 0.
    deviations = SIGNIFICANT_SIGMAS if fit.kind is DeadBandKind.OFFSET else 0.999 * NORMAL_95
    least = max(deviations * fit.dead_band_std, LEAST_BAND * largest)
    gained = (plain.fit.residual_std / fit.fit.residual_std) ** 2 - 1.0
    return fit.dead_band > least and gained * samples > SIGNIFICANT_SIGMAS**2


def _small_commands(segments: Sequence[AxisSegment], limit: float) -> bool:
    """Whether enough commands that last for three samples are small, other than 0."""
    small = total = 0
    for segment in segments:
        size = np.abs(segment.command)
        fits = (size > 0.0) & (size <= limit)
        small += int(np.count_nonzero(fits[2:] & fits[1:-1] & fits[:-2]))
        total += len(size)
    return small >= max(LEAST_SAMPLES, LEAST_FRACTION * total)


def kind_note(dead_time_fit: DeadTimeFit, levels: Array, unit: str) -> str:
    """Return what a dead band does to commands, for the user; `levels`: sizes of those sent."""
    if dead_time_fit.kind is DeadBandKind.OFFSET:
        width = f"{dead_time_fit.dead_band:.3g} {unit}"
        return f"commands up to {width} move nothing, and so much is lost of larger ones (offset)"
    half = NORMAL_95 * dead_time_fit.dead_band_std
    below = levels[levels <= dead_time_fit.dead_band - 0.99 * half][-1:]
    above = levels[levels >= dead_time_fit.dead_band + 0.99 * half][:1]
    text = "larger ones act in full (threshold)"
    if not (len(below) and len(above)):
        return f"commands up to {dead_time_fit.dead_band:.3g} {unit} move nothing, {text}"
    return (
        f"commands up to {below[0]:.3g} {unit} move nothing, those from {above[0]:.3g} {unit} on "
        "act in full (threshold); send some in between to know it more exactly"
    )


def _other_kind(
    significant: Sequence[DeadTimeFit], dead_time_fit: DeadTimeFit, samples: int
) -> str:
    for other in significant:
        worse = (other.fit.residual_std / dead_time_fit.fit.residual_std) ** 2 - 1.0
        if other is not dead_time_fit and worse * samples <= SIGNIFICANT_SIGMAS**2:
            return (
                f"; warning: {other.kind.value} explains the motion as well, with gain "
                f"{other.fit.model.gain:.3g}: send commands of more sizes"
            )
    return ""
