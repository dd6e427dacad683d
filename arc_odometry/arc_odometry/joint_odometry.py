"""Odometry from joint samples as they come: late, twice, after gaps, and after resets of time."""

from __future__ import annotations

from typing import NamedTuple

from arc_odometry.diff_odometry import DiffOdometry
from arc_odometry.joints import JointSample
from arc_odometry.wheel_turn import EncoderJumpError

LONGEST_GAP = 0.5  # s of the stamps, default


class Oddity(NamedTuple):
    """What was wrong with a joint sample that was not refused.

    Attributes:
        kind: one word, the same for the same trouble: jump, gap, stamp, late or reset.
        text: a sentence with the values, the limit, what was done, and what to look at.
    """

    kind: str
    text: str


class JointOdometry:
    """Feeds joint samples to a DiffOdometry and says what was wrong with them.

    Args:
        odometry: what is fed; read pose and velocity there.
        longest_gap: a longer time between two samples is reported, s, > 0.
        reset_on_time_jump: whether the pose goes back to where it is now, with no uncertainty,
            when time is reset; else it stays as it is.
    """

    def __init__(
        self,
        odometry: DiffOdometry,
        longest_gap: float = LONGEST_GAP,
        reset_on_time_jump: bool = False,
    ) -> None:
        if not longest_gap > 0.0:
            raise ValueError(f"longest_gap = {longest_gap} s: must be > 0")
        self.odometry = odometry
        self._longest_gap = longest_gap
        self._home = odometry.pose if reset_on_time_jump else None
        self._late = False

    def update(self, sample: JointSample) -> Oddity | None:
        """Take in a sample; returns what was odd about it, None where nothing was.

        - An encoder jump, or a reset of time: the sample is a new beginning, the pose stays.
        - One sample earlier than its predecessor came late and is left out, as its way is in the
          predecessor's already. A second one in a row shows that time was reset.
        - The same stamp again is left out.
        - A gap is taken for one arc.

        Raises:
            ValueError: angles or stamp are not finite; nothing has changed then.
        """
        last = self.odometry.time
        if last is None:
            self._feed(sample)
            return None
        if sample.stamp == last:
            return self._same_stamp(sample)
        if sample.stamp < last:
            return self._earlier(sample, last)
        self._late = False
        try:
            self._feed(sample)
        except EncoderJumpError as error:
            self._begin_anew(sample)
            return Oddity("jump", f"{error}; the pose stays and goes on from the new angles")
        if sample.stamp - last > self._longest_gap:
            return Oddity(
                "gap",
                f"no joint state for {sample.stamp - last:.3f} s, limit {self._longest_gap:g} s: "
                "the way in between is taken for one arc; check the driver",
            )
        return None

    def _feed(self, sample: JointSample) -> None:
        self.odometry.update(sample.stamp, sample.position)

    def _begin_anew(self, sample: JointSample) -> None:
        self.odometry.restart()
        self._feed(sample)

    def _same_stamp(self, sample: JointSample) -> Oddity | None:
        if sample.position == self.odometry.angles:
            return None  # said again, as simulators do while they wait
        return Oddity(
            "stamp",
            f"joint state with other angles and the same stamp {sample.stamp:.3f} s left out: "
            "every joint state must have its own time; check the driver",
        )

    def _earlier(self, sample: JointSample, last: float) -> Oddity | None:
        went = f"stamp {sample.stamp:.3f} s after {last:.3f} s"
        if not self._late:
            self._late = True
            return Oddity("late", f"{went}: late joint state left out")
        self._late = False
        self._begin_anew(sample)
        if self._home is None:
            done = "the pose stays and goes on from the new angles"
        else:
            self.odometry.set_pose(self._home)
            done = f"the pose is back at {tuple(self._home)} (m, m, rad)"
        return Oddity("reset", f"{went}: time was reset; {done}")
