# SPDX-License-Identifier: Apache-2.0
"""What a joint sample has to be before an estimator may learn from it."""

from __future__ import annotations

import math

from arc_odometry import JointSample
from arc_odometry.joints import PLAUSIBLE
from arc_odometry.odometry import MAX_WHEEL_SPEED

_SQUARES = {field: largest**2 for field, largest in PLAUSIBLE.items()}


class SampleCheck:
    """Refuses joint samples that are not finite, absurdly large, or out of step.

    Args:
        max_gap: longest period between samples that may be bridged, s.
        min_step: shortest period between samples that can be told from a doubled one, s.
    """

    def __init__(self, max_gap: float = 0.06, min_step: float = 1e-4) -> None:
        self._max_gap = max_gap
        self._min_step = min_step
        self.reset()

    def reset(self) -> None:
        """Forget the sample before."""
        self._stamp: float | None = None
        self._position = (0.0, 0.0)

    def passes(self, sample: JointSample) -> bool:
        """Whether values and step are surely good; then the sample counts as the newest.

        Short, for the many good samples. Where it says no, `values` and `follows` say why.
        """
        (p, q), (v, w), (t, u) = sample.position, sample.velocity, sample.effort
        (o, n), last = self._position, self._stamp
        # Written so that a comparison with NaN fails.
        if (
            last is not None
            and self._min_step <= sample.stamp - last <= self._max_gap
            and p * p + q * q <= _SQUARES["position"]
            and v * v + w * w <= _SQUARES["velocity"]
            and t * t + u * u <= _SQUARES["effort"]
            and (p - o) * (p - o) + (q - n) * (q - n)
            <= (MAX_WHEEL_SPEED * (sample.stamp - last)) ** 2
        ):
            self._stamp = sample.stamp
            self._position = sample.position
            return True
        return False

    def values(self, sample: JointSample) -> None:
        """Check the sample's values.

        Raises:
            ValueError: one is not finite or absurdly large.
        """
        for field, largest in PLAUSIBLE.items():
            left, right = getattr(sample, field)
            # Written so that a comparison with NaN fails.
            if not (-largest <= left <= largest and -largest <= right <= largest):
                raise ValueError(
                    f"{field} = {[left, right]} of [left, right]: must be finite and at most "
                    f"{largest:g} in size; check the robot's driver"
                )

    def follows(self, sample: JointSample) -> None:
        """Check against the sample before, whose place this one takes in any case.

        Raises:
            ValueError: the stamp does not follow by [min_step, max_gap], or a wheel has turned
                faster than wheels can.
        """
        last, self._stamp = self._stamp, sample.stamp
        before, self._position = self._position, sample.position
        if last is None:
            return
        step = sample.stamp - last
        if not self._min_step <= step <= self._max_gap:
            raise ValueError(
                f"time step = {step:.6g} s: must be {self._min_step} to {self._max_gap} s; check "
                "the rate and the clock of the joint states"
            )
        for name, old, new in zip(("left", "right"), before, sample.position, strict=True):
            turn = math.remainder(new - old, math.tau)
            if abs(turn) > MAX_WHEEL_SPEED * step:
                raise ValueError(
                    f"angle of the {name} wheel jumps by {turn:.3g} rad in {step:.3g} s: must be "
                    f"at most {MAX_WHEEL_SPEED:g} rad/s; check the encoder"
                )
