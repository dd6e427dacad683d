# SPDX-License-Identifier: Apache-2.0
"""The two wheels' samples: picked by name from joint states, unwrapped, decimated by stamp."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Beyond these a value is garbage, whatever the robot: rad, rad/s, N m.
PLAUSIBLE = {"position": 1e9, "velocity": 1e4, "effort": 1e6}


@dataclass(frozen=True)
class JointSample:
    """What the joint states said of the two wheels; pairs are ordered [left, right].

    Attributes:
        stamp: time t_k of the sample, s.
        position: wheel angles at t_k, rad; whole turns may be missing (wrapping encoders).
        velocity: wheel speeds, rad/s.
        effort: wheel torques that acted over (t_{k-1}, t_k], N m.
    """

    stamp: float
    position: tuple[float, float]
    velocity: tuple[float, float]
    effort: tuple[float, float]


class JointReader:
    """Finds the two wheels in joint states.

    Args:
        left: name of the left wheel's joint.
        right: name of the right wheel's joint.
        required: which of position, velocity and effort must be there and finite; the others
            are 0 where they are missing.
        torque_of_unit: N m of one unit of effort, [left, right].
    """

    FIELDS = ("position", "velocity", "effort")
    UNITS = {"position": "rad", "velocity": "rad/s", "effort": "N m"}

    def __init__(
        self,
        left: str,
        right: str,
        required: Sequence[str] = FIELDS,
        torque_of_unit: tuple[float, float] = (1.0, 1.0),
    ) -> None:
        if left == right:
            raise ValueError(f"both wheels have the joint name '{left}': give two names")
        self._names = (left, right)
        self._required = frozenset(required)
        self._torque_of_unit = torque_of_unit
        # Drivers name the same joints each time.
        self._known: tuple[list[str] | None, tuple[int, int]] = (None, (0, 0))

    def concerns(self, names: Sequence[str]) -> bool:
        """Whether any of the wheels is among the names; other devices publish joints too."""
        return any(name in names for name in self._names)

    def read(
        self,
        stamp: float,
        names: Sequence[str],
        position: Sequence[float],
        velocity: Sequence[float],
        effort: Sequence[float],
    ) -> JointSample:
        """The wheels' sample, from the fields of a sensor_msgs/JointState and its stamp in s.

        Raises:
            ValueError: the stamp is negative, as a message's cannot be; a wheel's joint is missing
                or there twice, or a required value is missing, not finite, or absurdly large. The
                message names the joint and the field.
        """
        if not stamp >= 0.0:
            raise ValueError(
                f"stamp of a joint state = {stamp} s: must be >= 0; check the clock of the driver"
            )
        if names != self._known[0]:
            self._known = ([*names], self._places(names))
        left, right = self._known[1]
        pairs = [
            self._pair(field, values, left, right)
            for field, values in zip(self.FIELDS, (position, velocity, effort), strict=True)
        ]
        angles, speeds, efforts = pairs
        unit = self._torque_of_unit
        return JointSample(stamp, angles, speeds, (unit[0] * efforts[0], unit[1] * efforts[1]))

    def _places(self, names: Sequence[str]) -> tuple[int, int]:
        """Where the wheels are among the names."""
        places = []
        for wanted in self._names:
            found = [index for index, name in enumerate(names) if name == wanted]
            if len(found) != 1:
                raise ValueError(
                    f"joint '{wanted}' is {len(found)} times among the joint states' "
                    f"{list(names)}: must be there once; check the names given for the wheels"
                )
            places.append(found[0])
        return places[0], places[1]

    def _pair(
        self, field: str, values: Sequence[float], left: int, right: int
    ) -> tuple[float, float]:
        if field not in self._required:
            if max(left, right) >= len(values):
                return 0.0, 0.0
            pair = float(values[left]), float(values[right])
            return pair if all(map(math.isfinite, pair)) else (0.0, 0.0)
        if max(left, right) >= len(values):
            raise ValueError(
                f"joint states hold {len(values)} values of {field}: must hold one per joint; "
                f"add the {field} state interface"
            )
        pair = float(values[left]), float(values[right])
        for name, value in zip(self._names, pair, strict=True):
            # Written so that a comparison with NaN fails.
            if not abs(value) <= PLAUSIBLE[field]:
                raise ValueError(
                    f"{field} of joint '{name}' = {value} {self.UNITS[field]}: must be finite and "
                    f"at most {PLAUSIBLE[field]:g} in size; check the robot's driver"
                )
        return pair


class EncoderJumpError(ValueError):
    """A wheel's angle changed faster than the wheel can turn."""


def wheel_turn(name: str, before: float, after: float, limit: float) -> float:
    """The angle that a wheel has turned by between two readings, rad.

    An angle of more than a turn shows an encoder that counts turns: its difference is taken as it
    is, over any gap, as long as it is within the limit. Every other difference of more than half
    a turn is taken for a wrap: whole turns are added or removed until half a turn is left at
    most. So encoders may wrap at any whole number of turns, given a reading every half turn. For
    those that wrap after several turns the limit must be below 3 pi rad, that is a reading every
    90 ms at 100 rad/s. An encoder that is set to 0 at a run can look like one that wraps; the
    error is then half a turn at most.

    Args:
        name: of the wheel, for the message.
        before: earlier reading, rad.
        after: later reading, rad.
        limit: what the wheel can have turned at most, rad.

    Raises:
        EncoderJumpError: it would have turned by more than the limit.
        ValueError: a reading is not finite.
    """
    change = after - before
    if not math.isfinite(change):
        raise ValueError(
            f"angle of the {name} wheel = {after} rad after {before} rad: must be finite; check "
            "the encoder's driver"
        )
    counts_turns = max(abs(before), abs(after)) > math.tau
    if abs(change) > (limit if counts_turns else math.pi):
        change = math.remainder(change, math.tau)
    if abs(change) > limit:
        raise EncoderJumpError(
            f"angle of the {name} wheel jumped from {before:g} to {after:g} rad: must change by "
            f"<= {limit:.3g} rad in this time; check the encoder or raise max_wheel_speed"
        )
    return change


class RateLimit:
    """Lets stamps through at a mean rate that does not exceed a limit.

    Args:
        rate: largest rate, Hz, >= 0; 0 lets everything through.
    """

    # Rounding of stamps, s, must not turn every 2nd sample into every 3rd.
    ROUNDING = 1e-6

    def __init__(self, rate: float) -> None:
        if not (math.isfinite(rate) and rate >= 0.0):
            raise ValueError(f"rate = {rate} Hz: must be finite and >= 0; 0 means no limit")
        self._period = 1.0 / rate if rate > 0.0 else 0.0
        self._due = -math.inf

    def due(self, stamp: float) -> bool:
        """Whether what has this stamp, s, may go out; then it counts as gone."""
        if self._period == 0.0:
            return True
        wait = self._due - stamp
        if self.ROUNDING < wait <= self._period + self.ROUNDING:
            return False
        # Kept in step where stamps come regularly; begun anew after gaps and resets of time.
        self._due = (self._due if -self._period < wait <= self.ROUNDING else stamp) + self._period
        return True
