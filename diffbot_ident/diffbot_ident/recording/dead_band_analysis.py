# SPDX-License-Identifier: Apache-2.0
"""The smallest command that moves an axis of a velocity-commanded robot, from a recording.

Both kinds of a dead band are fitted beside the axis and its dead time, an offset and a threshold
(diffbot_description/dead_band.py), and the one that leaves less counts. A dead band stands in the
model, so that it does not bias inertia and drag, where it is beyond doubt; otherwise they are those
of the model without it, and the interval of the dead band says how large it may be.

What was not tried is not known: without small commands, of at most a quarter of the largest or
twice the dead band, the smallest that moves the robot is not identifiable. Larger commands may show
all the same that velocity is no multiple of them, but a multiple less an offset. The model then has
it, for inertia and drag would be wrong without.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_description.dead_band import DeadBandKind
from diffbot_ident.recording.verdict import Value
from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_ident.velocity.dead_time import DeadTimeFit, fit_dead_band
from diffbot_ident.velocity.first_order import AxisSegment

NAME = "smallest command that moves the robot"
# A command is small up to this share of the largest, or so many dead bands.
SMALL, BANDS = 0.25, 2.0
# Small commands that are needed: samples, and their share of all samples.
LEAST_SAMPLES, LEAST_SHARE = 10, 0.02
# Deviations beyond which a dead band is there, and its least share of the largest command.
SIGNIFICANT_SIGMAS, LEAST_BAND = 4.0, 0.01
# Half width of the 95 % interval, as a share of the largest command, beyond which it says nothing.
WIDEST = 0.25


@dataclass(frozen=True)
class DeadBandFinding:
    """What a recording says of the dead band of an axis.

    Attributes:
        fit: of the axis with the dead band.
        value: the dead band and its interval; infinite deviation where it is not identifiable.
        note: what to say of it.
        sure: whether the axis has one beyond doubt, at least where commands were tried.
    """

    fit: DeadTimeFit
    value: Value
    note: str
    sure: bool


def find_dead_band(
    segments: Sequence[AxisSegment], plain: DeadTimeFit, longest: float, unit: str
) -> DeadBandFinding:
    """Fit both kinds of dead band, and judge.

    Args:
        segments: of one axis and one period.
        plain: the fit without a dead band.
        longest: end of the dead time's scan, s.
        unit: of command and velocity.
    """
    offset, threshold = (
        fit_dead_band(segments, longest, kind, plain=plain)
        for kind in (DeadBandKind.OFFSET, DeadBandKind.THRESHOLD)
    )
    largest = max(float(np.abs(segment.command).max()) for segment in segments)
    samples = sum(int(np.count_nonzero(segment.counts)) for segment in segments)
    surely = [fit for fit in (offset, threshold) if _sure(fit, plain, largest, samples)]
    found = min(surely, key=lambda fit: fit.fit.residual_std, default=offset)
    half = NORMAL_95 * found.dead_band_std
    if not _small_commands(segments, max(SMALL * largest, BANDS * found.dead_band)):
        value, note = not_identifiable(
            unit, f"no small commands were tried; hold some of up to {SMALL * largest:.2g} {unit}"
        )
    elif not half <= WIDEST * largest:
        value, note = not_identifiable(
            unit, f"it is known to {half:.2g} {unit} only; drive for longer"
        )
    else:
        value = Value(NAME, max(found.dead_band, 0.0), found.dead_band_std, unit)
        note = _told(found, unit) if surely else "no dead band of the command beyond doubt"
    return DeadBandFinding(found, value, note, bool(surely))


def not_identifiable(unit: str, reason: str) -> tuple[Value, str]:
    """The value, and the note, where the dead band cannot be told."""
    return Value(NAME, math.nan, math.inf, unit), f"{NAME} not identifiable: {reason}"


def _sure(fit: DeadTimeFit, plain: DeadTimeFit, largest: float, samples: int) -> bool:
    # The whole range of a threshold, which is all that is possible, has to be above 0.
    deviations = SIGNIFICANT_SIGMAS if fit.kind is DeadBandKind.OFFSET else NORMAL_95 / 0.95
    least = max(deviations * fit.dead_band_std, LEAST_BAND * largest)
    gained = (plain.fit.residual_std / fit.fit.residual_std) ** 2 - 1.0
    return fit.dead_band > least and gained * samples > SIGNIFICANT_SIGMAS**2


def _small_commands(segments: Sequence[AxisSegment], limit: float) -> bool:
    """Whether enough commands other than 0 are small.

    Only those that hold for three samples: where a command jumps, a resampled one lies between.
    """
    small = total = 0
    for segment in segments:
        size = np.abs(segment.command)
        fits = (size > 0.0) & (size <= limit)
        small += int(np.count_nonzero(fits[2:] & fits[1:-1] & fits[:-2]))
        total += len(size)
    return small >= max(LEAST_SAMPLES, LEAST_SHARE * total)


def _told(found: DeadTimeFit, unit: str) -> str:
    width = f"{found.dead_band:.3g} {unit}"
    if found.kind is DeadBandKind.THRESHOLD:
        return f"commands up to {width} move nothing, larger ones act in full (threshold)"
    return f"commands up to {width} move nothing, and so much is lost of larger ones (offset)"
