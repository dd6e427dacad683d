# SPDX-License-Identifier: Apache-2.0
"""A limit of speed (a plateau), told by fits to clipped commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from diffbot_ident.velocity.bounded_search import BoundedSearch
from diffbot_recordings.axis_search import AxisSearch
from diffbot_recordings.dead_time import DeadTimeFit, largest_command
from diffbot_recordings.first_order import AxisSegment

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
        errors.append(float(AxisSearch(clipped, plain.longest).scan(lates)[0].min()))
    best = int(np.argmin(errors))
    # The first and the last limit tried are ends, however far the next one is.
    search = BoundedSearch(
        "limit", float(limits[best]), float(limits[0]), largest, "", margin=0.1 * float(limits[0])
    )
    if not search.inside or errors[best] ** 2 > REMAINS * plain.fit.residual_std**2:
        return None
    return Plateau(search.value, errors[best])
