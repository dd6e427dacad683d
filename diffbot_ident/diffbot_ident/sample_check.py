"""What a joint sample has to be before an estimator may learn from it."""

from __future__ import annotations

import math
from collections import deque

from arc_odometry import JointSample, WheelGeometry
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


# ---
# Whether a robot that somebody else drives changes its speeds enough to be identified.

# Robot time over which a speed is averaged, s: an encoder of 4096 counts tells 0.2 mm/s then.
BLOCK = 0.25
# Blocks from one speed to the next that it is compared with, and comparisons that are kept.
APART, KEPT = 2, 8


class MotionWatch:
    """Root mean squares of dv/dt and domega/dt over the last 2.5 s, from the wheels' angles.

    An estimator cannot tell this by itself within its windows of 0.1 s: there a figure of 8 gains
    10 mm/s at most, and the noise of encoders is not much less.

    Args:
        geometry: of the wheels.
        acceleration: least rms of dv/dt that excites, m/s^2, > 0.
        yaw_acceleration: least rms of domega/dt that excites, rad/s^2, > 0.
    """

    def __init__(
        self, geometry: WheelGeometry, acceleration: float, yaw_acceleration: float
    ) -> None:
        self._geometry = geometry
        self._least = (acceleration, yaw_acceleration)
        self._check = SampleCheck()
        self.reset()

    def reset(self) -> None:
        """Forget the motion."""
        self._check.reset()
        self._last: JointSample | None = None
        self._begin = 0.0
        self._turned = [0.0, 0.0]
        self._speeds: deque[tuple[float, float]] = deque(maxlen=APART)
        self._squares: deque[tuple[float, float]] = deque(maxlen=KEPT)

    def update(self, sample: JointSample) -> None:
        """Take in a sample.

        Raises:
            ValueError: after a pause, a step back in time, or a jump of an encoder, which would
                look like motion that excites. The motion begins anew with this sample. Values
                that are not finite or absurd are refused, too, and nothing has changed then.
        """
        self._check.values(sample)
        try:
            self._check.follows(sample)
        except ValueError:
            self.reset()
            self._check.follows(sample)
            self._last, self._begin = sample, sample.stamp
            raise
        last, self._last = self._last, sample
        if last is None:
            self._begin = sample.stamp
            return
        for i in (0, 1):
            change = sample.position[i] - last.position[i]
            self._turned[i] += math.remainder(change, math.tau)
        if sample.stamp - self._begin >= BLOCK - 1e-6:
            self._end_block(sample.stamp - self._begin)
            self._begin, self._turned = sample.stamp, [0.0, 0.0]

    def _end_block(self, span: float) -> None:
        v, omega = self._geometry.body_velocity(*(angle / span for angle in self._turned))
        if len(self._speeds) == APART:
            before_v, before_omega = self._speeds[0]
            time = APART * span
            self._squares.append(
                (((v - before_v) / time) ** 2, ((omega - before_omega) / time) ** 2)
            )
        self._speeds.append((v, omega))

    def lacks(self) -> str:
        """What the motion lacks; empty when both speeds change enough.

        Both are asked for: of a robot that goes straight, K6 and K8 would be fitted to noise.
        """
        if not self._squares:
            return "too short a motion"
        for i, (name, unit) in enumerate((("speed", "m/s^2"), ("yaw rate", "rad/s^2"))):
            rms = math.sqrt(sum(square[i] for square in self._squares) / len(self._squares))
            if not rms >= self._least[i]:
                return (
                    f"too little change of {name}: {rms:.2g} {unit} rms, limit {self._least[i]:g}"
                )
        return ""
