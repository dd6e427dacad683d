"""What a joint sample has to be before an estimator may learn from it."""

from __future__ import annotations

from arc_odometry import JointSample

# Beyond these a sample is garbage, whatever the robot: rad, rad/s, N m.
PLAUSIBLE = {"position": 1e9, "velocity": 1e4, "effort": 1e6}
_SQUARES = {field: largest**2 for field, largest in PLAUSIBLE.items()}


class SampleCheck:
    """Refuses joint samples that are not finite, absurdly large, or out of step.

    Args:
        max_gap: longest period between samples that may be bridged, s.
        min_step: shortest period between samples that can be told from a doubled one, s.
    """

    def __init__(self, max_gap: float = 0.05, min_step: float = 1e-4) -> None:
        self._max_gap = max_gap
        self._min_step = min_step
        self.reset()

    def reset(self) -> None:
        """Forget the sample before."""
        self._stamp: float | None = None

    def passes(self, sample: JointSample) -> bool:
        """Whether values and step are surely good; then the sample counts as the newest.

        Short, for the many good samples. Where it says no, `values` and `step` judge and say why.
        """
        (p, q), (v, w), (t, u) = sample.position, sample.velocity, sample.effort
        last = self._stamp
        # Written so that a comparison with NaN fails.
        if (
            last is not None
            and self._min_step <= sample.stamp - last <= self._max_gap
            and p * p + q * q <= _SQUARES["position"]
            and v * v + w * w <= _SQUARES["velocity"]
            and t * t + u * u <= _SQUARES["effort"]
        ):
            self._stamp = sample.stamp
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

    def step(self, stamp: float) -> None:
        """Check the time since the sample before, whose place this one takes in any case.

        Raises:
            ValueError: the stamp (s) does not follow the last one by [min_step, max_gap].
        """
        last, self._stamp = self._stamp, stamp
        if last is not None and not self._min_step <= stamp - last <= self._max_gap:
            raise ValueError(
                f"time step = {stamp - last:.6g} s: must be {self._min_step} to "
                f"{self._max_gap} s; check the rate and the clock of the joint states"
            )
