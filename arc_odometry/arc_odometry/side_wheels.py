# SPDX-License-Identifier: Apache-2.0
"""Several wheels on one side of a robot, such as a skid-steer robot's, combined into one wheel.

Angle and speed of the side are the means over its joints, its effort is their sum. Joint angles
start anywhere and may wrap, each at its own moment. So the mean angle is computed from the first
joint's angle and the others' leads over it, from which wraps are removed.

Wheels of one side turn alike apart from a little slip. One that does not has a stuck or reset
encoder, is blocked, or has left the ground: then the mean is not the angle that the side rolls by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

# The wheels are compared each time one of them has turned this far, forward plus backward, rad.
PATH = 1.0
# Largest difference between two wheels, as a share of that path; slip on loose ground is smaller.
SHARE = 0.5
# Consecutive failed comparisons until a disagreement is reported: a wheel may jump over a bump.
FAILURES = 2


class SideWheels:
    """The wheels of one side.

    Args:
        names: Names of their joints, two or more. The side's angle is that of the first joint plus
            the mean lead of all joints over it.

    Attributes:
        disagreement: Which joints do not turn alike, with numbers and what to check; empty if they
            agree. It stays until `compare_anew`.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._ahead = [0.0] * len(names)
        self._last: tuple[float, ...] | None = None
        self.compare_anew()

    def compare_anew(self) -> None:
        """Clear the disagreement and start a new comparison; the angles are kept."""
        self.disagreement = ""
        self._failures = 0
        self._begin()

    def _begin(self) -> None:
        self._turned = [0.0] * len(self._names)
        self._paths = [0.0] * len(self._names)

    def angle(self, angles: Sequence[float]) -> float:
        """Return the angle of the side, rad, from its joints'; call it with every reading."""
        first = angles[0]
        if self._last is None:
            self._ahead = [angle - first for angle in angles]
        else:
            self._ahead = [
                ahead + math.remainder(angle - first - ahead, math.tau)
                for ahead, angle in zip(self._ahead, angles, strict=True)
            ]
            self._compare(self._last, angles)
        self._last = tuple(angles)
        return first + sum(self._ahead) / len(angles)

    def _compare(self, before: Sequence[float], after: Sequence[float]) -> None:
        for i, (old, new) in enumerate(zip(before, after, strict=True)):
            turn = math.remainder(new - old, math.tau)
            self._turned[i] += turn
            self._paths[i] += abs(turn)
        if max(self._paths) < PATH:
            return
        least, most = min(self._turned), max(self._turned)
        if most - least > SHARE * max(self._paths):
            self._failures += 1
            if self._failures >= FAILURES and not self.disagreement:
                self.disagreement = self._sentence()
        else:
            self._failures = 0
        self._begin()

    def _sentence(self) -> str:
        """Describe which joints disagree; one whose angle did not change is named as stuck."""
        turned = ", ".join(
            f"'{name}' by {turn:.2f} rad"
            for name, turn in zip(self._names, self._turned, strict=True)
        )
        still = [
            f"'{name}'" for name, path in zip(self._names, self._paths, strict=True) if path == 0.0
        ]
        who = f"joint {' and '.join(still)} keeps the same angle while others" if still else "they"
        return (
            f"the wheels of one side do not turn alike, {who} turn: {turned}; must agree to "
            f"{SHARE:.0%}; check the encoders' cables and signs, and whether a wheel is blocked or "
            "off the ground"
        )
