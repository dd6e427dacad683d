# SPDX-License-Identifier: Apache-2.0
"""Samples of the two wheels: read by name from joint states, decimated, checked, and followed.

Several wheels on one side are combined: their mean angle and speed, and the sum of their efforts.
As joint angles start anywhere and may wrap, each at its own moment, the mean is computed from the
first joint's angle and the others' leads over it, without wraps. A wheel that does not turn as the
others has a stuck or reset encoder, is blocked, or has left the ground.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import NamedTuple

from arc_odometry.joint_names import listed, meant
from arc_odometry.odometry import DiffOdometry, EncoderJumpError

# Largest plausible magnitudes for any robot, rad, rad/s, N m.
PLAUSIBLE = {"position": 1e9, "velocity": 1e4, "effort": 1e6}
SQUARES = {field: largest**2 for field, largest in PLAUSIBLE.items()}
# Time between two samples, s; a shorter step is a repeated sample, a longer one is not bridged.
SHORTEST_STEP, LONGEST_STEP = 1e-4, 0.06
# Share of the longest step that rounding of the stamps may add.
LONGER = 1.01
# Rounding error of stamps, s; without it every 2nd sample of RateLimit could become every 3rd.
STAMP_TOLERANCE = 1e-6
# Longest step of the robot's time that counts as time of a run, s; a longer one is a pause, a loss
# of messages or a clock that was set.
LONGEST_PROGRESS = 1.0


@dataclass(frozen=True)
class JointSample:
    """Joint state of the two wheels; pairs are ordered [left, right].

    Example:
        >>> sample = JointSample(0.5, (2.0, 1.0), (4.0, 3.0), effort=(0.6, 0.5))
        >>> sample.beyond(dead_band=(0.55, 0.55)).effort
        (0.6, 0.0)

    Attributes:
        stamp: Time t_k of the sample, s.
        position: Wheel angles at t_k, rad; whole turns may be missing (wrapping encoders).
        velocity: Wheel speeds, rad/s.
        effort: Wheel torques that acted over (t_{k-1}, t_k], N m.
    """

    stamp: float
    position: tuple[float, float]
    velocity: tuple[float, float]
    effort: tuple[float, float]

    def beyond(self, dead_band: tuple[float, float]) -> JointSample:
        """Return the sample with efforts below the dead band, [left, right], N m, set to 0."""
        if not any(dead_band):
            return self
        left, right = (
            0.0 if abs(effort) < band else effort
            for effort, band in zip(self.effort, dead_band, strict=True)
        )
        return replace(self, effort=(left, right))


# Wheels are compared each time one has turned this far, forward plus backward, rad.
PATH = 1.0
# Largest difference of two wheels as a share of that path; slip is smaller.
FRACTION = 0.5
# Failed comparisons until a disagreement is reported: a wheel may jump over a bump.
FAILURES = 2


class SideWheels:
    """The wheels of one side.

    `disagreement` says which joints do not turn alike, with numbers and what to check; empty if
    they agree. It stays until `compare_anew`.
    """

    def __init__(self, names: Sequence[str]) -> None:
        self._names = tuple(names)
        self._ahead = [0.0] * len(names)
        self._last: tuple[float, ...] | None = None
        self.compare_anew()

    def compare_anew(self) -> None:
        """Clear the disagreement and start a new comparison."""
        self.disagreement = ""
        self._failures = 0
        self._begin()

    def _begin(self) -> None:
        self._turned = [0.0] * len(self._names)
        self._paths = [0.0] * len(self._names)

    def angle(self, angles: Sequence[float]) -> float:
        """Return the angle of the side, rad, from its joints'; call it with every reading."""
        first = angles[0]
        if len(angles) == 1:
            return first  # there is no other wheel to compare with
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
        if most - least > FRACTION * max(self._paths):
            self._failures += 1
            if self._failures >= FAILURES and not self.disagreement:
                self.disagreement = self._sentence()
        else:
            self._failures = 0
        self._begin()

    def _sentence(self) -> str:
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
            f"{FRACTION:.0%}; check the encoders' cables and signs, and whether a wheel is blocked "
            "or off the ground"
        )


class JointReader:
    """Extracts the two wheels from joint states.

    Example:
        >>> reader = JointReader("left", "right")
        >>> reader.read(0.5, ["right", "left"], [1.0, 2.0], [3.0, 4.0], [0.5, 0.6])
        JointSample(stamp=0.5, position=(2.0, 1.0), velocity=(4.0, 3.0), effort=(0.6, 0.5))

    Args:
        left: Name of the left wheel's joint, or names of all joints of that side; `right` likewise.
        required: Which of position, velocity and effort must be present and finite; else 0.
        torque_of_unit: Torque of one unit of effort, N m, [left, right].
        signs: 1 or -1 for each joint, left side first: -1 if positive values roll backward. Samples
            are positive forward.
    """

    FIELDS = ("position", "velocity", "effort")
    UNITS = {"position": "rad", "velocity": "rad/s", "effort": "N m"}

    def __init__(
        self,
        left: str | Sequence[str],
        right: str | Sequence[str],
        required: Sequence[str] = FIELDS,
        torque_of_unit: tuple[float, float] = (1.0, 1.0),
        signs: Sequence[int] = (),
    ) -> None:
        sides = [(side,) if isinstance(side, str) else tuple(side) for side in (left, right)]
        self._names = (*sides[0], *sides[1])
        for name in self._names:
            if self._names.count(name) > 1:
                raise ValueError(f"both wheels have the joint name '{name}': give two names")
        if signs and len(signs) != len(self._names):
            raise ValueError(f"{len(signs)} signs for the joints {self._names}: give one for each")
        self._signs = tuple(signs) if -1 in signs else None
        self._required = frozenset(required)
        self._torque_of_unit = torque_of_unit
        # The last names and the wheels' indices in them.
        self._known: tuple[list[str] | None, tuple[int, ...]] = (None, ())
        self._nothing = (0.0,) * len(self._names)
        self._strangers: Sequence[str] = ()
        self._sides = tuple(SideWheels(side) for side in sides)
        self._parts = (slice(len(sides[0])), slice(len(sides[0]), None))

    @property
    def disagreement(self) -> str:
        """Which joints of a side do not turn alike, and what to check; empty if they agree."""
        return next(filter(None, (side.disagreement for side in self._sides)), "")

    def compare_anew(self) -> None:
        for side in self._sides:
            side.compare_anew()

    def concerns(self, names: Sequence[str]) -> bool:
        """Whether the names include any wheel."""
        result = any(name in names for name in self._names)
        self._strangers = () if result else names
        return result

    @property
    def mismatch(self) -> str:
        """Why no wheel was in the newest joint state, with the names; empty if there was one."""
        if not self._strangers:
            return ""
        return (
            f"the joint states that arrive are of {listed(self._strangers)}, and the wheels are "
            f"{list(self._names)}: correct the names of the joints in the robot's file or in its "
            f"driver{meant(self._names, self._strangers)}"
        )

    def read(
        self,
        stamp: float,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> JointSample:
        """Return the wheels' sample from the fields of a sensor_msgs/JointState; stamp in s.

        Raises:
            ValueError: The stamp is negative, a wheel's joint is missing or present twice, or a
                required value is missing, not finite, or absurdly large.
        """
        if not stamp >= 0.0:
            raise ValueError(
                f"stamp of a joint state = {stamp} s: must be >= 0; check the clock of the driver"
            )
        if names != self._known[0]:
            self._known = ([*names], self._places(names))
        indices = self._known[1]
        angles, speeds, efforts = (
            self._values(field, values, indices)
            for field, values in zip(self.FIELDS, (position, velocity, effort), strict=True)
        )
        (first, left), (second, right) = zip(self._sides, self._parts, strict=True)
        unit = self._torque_of_unit
        return JointSample(
            stamp,
            (first.angle(angles[left]), second.angle(angles[right])),
            (sum(speeds[left]) / len(speeds[left]), sum(speeds[right]) / len(speeds[right])),
            (unit[0] * sum(efforts[left]), unit[1] * sum(efforts[right])),
        )

    def _places(self, names: Sequence[str]) -> tuple[int, ...]:
        places = []
        for wanted in self._names:
            results = [index for index, name in enumerate(names) if name == wanted]
            if len(results) != 1:
                raise ValueError(
                    f"joint '{wanted}' appears {len(results)} times in the joint states "
                    f"{listed(names)}: must appear once; check the names given for the wheels"
                    f"{meant((wanted,), names)}"
                )
            places.append(results[0])
        return tuple(places)

    def _values(
        self, field: str, values: Sequence[float], indices: Sequence[int]
    ) -> tuple[float, ...]:
        required = field in self._required
        if max(indices) >= len(values):
            if not required:
                return self._nothing
            raise ValueError(
                f"joint states hold {len(values)} values of {field}: must hold one per joint; "
                f"add the {field} state interface"
            )
        result = tuple([float(values[index]) for index in indices])
        if self._signs is not None:
            result = tuple([sign * value for sign, value in zip(self._signs, result, strict=True)])
        # NaN fails it.
        if sum([value * value for value in result]) <= SQUARES[field]:
            return result
        if not required:
            return result if all(map(math.isfinite, result)) else self._nothing
        for name, value in zip(self._names, result, strict=True):
            # NaN fails it.
            if not abs(value) <= PLAUSIBLE[field]:
                raise ValueError(
                    f"{field} of joint '{name}' = {value} {self.UNITS[field]}: must be finite and "
                    f"at most {PLAUSIBLE[field]:g} in size; check the robot's driver"
                )
        return result


class RateLimit:
    """Decimates stamps to a mean rate that does not exceed a limit, Hz; 0 passes everything."""

    def __init__(self, rate: float) -> None:
        if not (math.isfinite(rate) and rate >= 0.0):
            raise ValueError(f"rate = {rate} Hz: must be finite and >= 0; 0 means no limit")
        self._period = 1.0 / rate if rate > 0.0 else 0.0
        self._due = -math.inf

    def due(self, stamp: float) -> bool:
        """Whether to pass the item with this stamp, s; if so, it counts as passed."""
        if self._period == 0.0:
            return True
        wait = self._due - stamp
        if STAMP_TOLERANCE < wait <= self._period + STAMP_TOLERANCE:
            return False
        # Keep the phase while stamps are regular.
        self._due = (self._due if -self._period < wait <= STAMP_TOLERANCE else stamp) + self._period
        return True


# Default of the longest time between two stamps that is not reported as a gap, s.
LONGEST_GAP = 0.5
# Largest angles of encoders that start again after a gap, rad.
NEAR_ZERO = 0.05

# Age of a state, in usual periods, after which commands should end.
PATIENT = 2.5


def seldom(name: str, step: float, last: float, limit: float) -> str:
    """Return the sentence about states of the robot that come too seldom, with what to do.

    `step`: time between two of them, the earlier stamped `last`; `limit`: input_timeout; all in s.
    """
    result = (
        f"no {name} for {step:.3f} s by the stamps (the last one: {last:.3f} s), limit {limit:g} s"
    )
    needed = math.ceil(100.0 * PATIENT * step - 1e-6) / 100.0
    if name == "joint state" or needed > 1.0:
        least = max(1.0 / LONGEST_STEP if name == "joint state" else PATIENT, 1.0 / limit)
        return f"{result}; check the driver, which must publish it {least:.3g} times a second"
    return (
        f"{result}; check the driver; if it always is that slow, set input_timeout to {needed:g} s "
        f"(input_timeout: {needed:g} in a file, config:=FILE of the launch), for which the robot "
        "may drive on without one"
    )


class AnomalyKind(str, Enum):
    """Kinds of anomalies in the stamp or the values of a sample."""

    JUMP = "jump"
    GAP = "gap"
    STAMP = "stamp"
    LATE = "late"
    RESET = "reset"
    RESTART = "restart"


class Anomaly(NamedTuple):
    """Anomaly of a sample that was not rejected with an error, and a sentence about it."""

    kind: AnomalyKind
    text: str


class JointOdometry:
    """Feeds joint samples to a DiffOdometry and reports their anomalies.

    Example:
        >>> from arc_odometry import WheelGeometry
        >>> joints = JointOdometry(DiffOdometry(WheelGeometry(0.1, 0.1, 0.5)))
        >>> joints.update(JointSample(0.0, (0.0, 0.0), (0.0, 0.0), (0.0, 0.0)))
        >>> joints.update(JointSample(1.0, (2.0, 2.0), (0.0, 0.0), (0.0, 0.0))).kind
        <AnomalyKind.GAP: 'gap'>
        >>> joints.odometry.pose
        Pose(x=0.2, y=0.0, theta=0.0)

    Args:
        odometry: Odometry to feed; read pose and velocity there.
        longest_gap: Longer times between two samples are reported, s, > 0.
        reset_on_time_jump: Whether the pose returns to its present value, with no uncertainty, when
            time is reset; otherwise it stays as it is.
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

    def update(self, sample: JointSample) -> Anomaly | None:
        """Process a sample; return its anomaly, or None for a regular sample.

        - After an encoder jump or a reset of time, odometry starts again from the sample; the pose
          stays, unless reset_on_time_jump returns it to its start.
        - One sample with an earlier stamp than its predecessor is late and is skipped; a second one
          in a row shows that time was reset. One with the same stamp again is skipped.
        - A gap is bridged by one arc, except where both angles start at 0 again after it: then the
          driver was restarted, odometry starts again from the sample, and the pose stays.

        Raises:
            ValueError: Angles or stamp are not finite; nothing has changed then.
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
        if sample.stamp - last > self._longest_gap and self._encoders_restarted(sample):
            before = tuple(round(angle, 3) for angle in self.odometry.angles)
            self._restart_at(sample)
            return Anomaly(
                AnomalyKind.RESTART,
                f"the wheels' angles begin at 0 again, after {before} rad and "
                f"{sample.stamp - last:.3f} s without a joint state: the robot's driver was "
                "restarted; the pose is kept, any motion in between is lost",
            )
        try:
            self._feed(sample)
        except EncoderJumpError as error:
            self._restart_at(sample)
            text = f"{error}; the pose is kept and continues from the new angles"
            return Anomaly(AnomalyKind.JUMP, text)
        if sample.stamp - last > self._longest_gap:
            return Anomaly(
                AnomalyKind.GAP,
                f"no joint state for {sample.stamp - last:.3f} s, limit {self._longest_gap:g} s: "
                "the motion in between is integrated as one arc; check the driver",
            )
        return None

    def _encoders_restarted(self, sample: JointSample) -> bool:
        near = all(abs(angle) <= NEAR_ZERO for angle in sample.position)
        return near and any(abs(angle) > 2.0 * NEAR_ZERO for angle in self.odometry.angles)

    def _feed(self, sample: JointSample) -> None:
        self.odometry.update(sample.stamp, sample.position)

    def _restart_at(self, sample: JointSample) -> None:
        self.odometry.restart()
        self._feed(sample)

    def _same_stamp(self, sample: JointSample) -> Anomaly | None:
        if sample.position == self.odometry.angles:
            return None  # a repeated sample, as simulators send while they wait
        return Anomaly(
            AnomalyKind.STAMP,
            f"joint state with other angles and the same stamp {sample.stamp:.3f} s ignored: "
            "every joint state must have its own stamp; check the driver",
        )

    def _earlier(self, sample: JointSample, last: float) -> Anomaly | None:
        went = f"stamp {sample.stamp:.3f} s after {last:.3f} s"
        if not self._late:
            self._late = True
            return Anomaly(AnomalyKind.LATE, f"{went}: late joint state ignored")
        self._late = False
        self._restart_at(sample)
        if self._home is None:
            done = "the pose is kept and continues from the new angles"
        else:
            self.odometry.set_pose(self._home)
            done = f"the pose is back at {tuple(self._home)} (m, m, rad)"
        return Anomaly(AnomalyKind.RESET, f"{went}: time was reset; {done}")
