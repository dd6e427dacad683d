# SPDX-License-Identifier: Apache-2.0
"""Checks and usual size of joint samples, for estimators."""

from __future__ import annotations

import math
from array import array

from arc_odometry.joints import LONGER, LONGEST_STEP, PLAUSIBLE, SHORTEST_STEP, SQUARES, JointSample
from arc_odometry.odometry import MAX_WHEEL_SPEED


class SampleCheck:
    """Rejects joint samples that are not finite, absurdly large, or badly timed.

    `max_gap`: longest period between samples that may be bridged, s.
    """

    def __init__(self, max_gap: float = LONGEST_STEP) -> None:
        self._max_gap, self._longest = max_gap, LONGER * max_gap
        self.reset()

    def reset(self) -> None:
        self._stamp: float | None = None
        self._position = (0.0, 0.0)

    def passes(self, sample: JointSample) -> bool:
        """Check a sample quickly; return True if it is certainly good, and store it as the newest.

        Where it returns False, `values` and `follows` do the exact checks and report the reason.
        """
        (p, q), (v, w), (t, u) = sample.position, sample.velocity, sample.effort
        (o, n), last = self._position, self._stamp
        # NaN does not pass.
        if (
            last is not None
            and SHORTEST_STEP <= sample.stamp - last <= self._longest
            and p * p + q * q <= SQUARES["position"]
            and v * v + w * w <= SQUARES["velocity"]
            and t * t + u * u <= SQUARES["effort"]
            and (p - o) * (p - o) + (q - n) * (q - n)
            <= (MAX_WHEEL_SPEED * (sample.stamp - last)) ** 2
        ):
            self._stamp = sample.stamp
            self._position = sample.position
            return True
        return False

    def values(self, sample: JointSample) -> None:
        """Raise a ValueError if a value of the sample is not finite or absurdly large."""
        for field, largest in PLAUSIBLE.items():
            left, right = getattr(sample, field)
            # NaN is rejected.
            if not (-largest <= left <= largest and -largest <= right <= largest):
                raise ValueError(
                    f"{field} = {[left, right]} of [left, right]: must be finite and at most "
                    f"{largest:g} in size; check the robot's driver"
                )

    def follows(self, sample: JointSample) -> None:
        """Check against the previous sample, which this one replaces in any case.

        Raises:
            ValueError: The time step is not in [SHORTEST_STEP, max_gap], or a wheel has turned
                faster than wheels can.
        """
        last, self._stamp = self._stamp, sample.stamp
        before, self._position = self._position, sample.position
        if last is None:
            return
        step = sample.stamp - last
        if not SHORTEST_STEP <= step <= self._longest:
            raise ValueError(
                f"time step = {step:.6g} s: must be {SHORTEST_STEP} to {self._max_gap} s; check "
                "the rate and the clock of the joint states"
            )
        for name, old, new in zip(("left", "right"), before, sample.position, strict=True):
            turn = math.remainder(new - old, math.tau)
            if abs(turn) > MAX_WHEEL_SPEED * step:
                raise ValueError(
                    f"angle of the {name} wheel jumps by {turn:.3g} rad in {step:.3g} s: must be "
                    f"at most {MAX_WHEEL_SPEED:g} rad/s; check the encoder"
                )


class EffortSize:
    """Usual size of the larger effort of both wheels: a quantile, as a noisy sensor has peaks."""

    # The quantile; and number of efforts that are kept, beyond which every other one is dropped.
    QUANTILE, KEPT = 0.9, 20000

    def __init__(self) -> None:
        self._efforts = array("d")
        self._skip = self._skipped = 0

    def add(self, sample: JointSample) -> None:
        self._skipped += 1
        if self._skipped > self._skip:
            self._skipped = 0
            self._efforts.append(max(map(abs, sample.effort)))
            if len(self._efforts) > self.KEPT:
                self._efforts, self._skip = self._efforts[::2], 2 * self._skip + 1

    @property
    def value(self) -> float:
        """The size, N m as read; 0 without samples."""
        efforts = sorted(self._efforts)
        return efforts[int(self.QUANTILE * (len(efforts) - 1))] if efforts else 0.0
