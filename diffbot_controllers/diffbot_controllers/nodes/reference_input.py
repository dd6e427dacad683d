"""References as they come: for the stamp of the robot's state, at another pace, late, or wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
TOLERANCE = 1e-6  # s, between equal stamps
KEPT = 16  # references; the trajectory node is a few ahead at most


class ReferenceInput(Generic[T]):
    """Gives the reference for a joint state's stamp.

    Either a lasting one (a set point, without a stamp) or a stream of stamped ones. Of a stream
    the one with the joint state's stamp is taken, else the newest before it, advanced to it.

    That a stream has stopped shows in two ways. The newest reference is old by its stamp; or, as
    one that is stamped ahead of time would only be old by its stamp when it is too late, nothing
    has come for as long. That time is counted by the stamps of the states, from the first that was
    answered after a reference came: no clock is read, so a run in lock-step repeats, and may pause.

    Args:
        timeout: age of the newest stamped reference from which on it is refused, s; and how long
            none may come, s.
        advance: what a reference has become after a time, s.
        state_name: what tells the state of the robot, for messages.
        state_age: how old a state may be when it comes, s, >= 0; references of the same clock are
            so far ahead of it. More than `timeout` beyond that is refused.
    """

    def __init__(
        self,
        timeout: float,
        advance: Callable[[T, float], T],
        state_name: str = "joint state",
        state_age: float = 0.0,
    ) -> None:
        self._state_name = state_name
        self._timeout = timeout
        self._furthest = timeout + state_age
        self._advance = advance
        self._lasting: T | None = None
        self._stream: deque[tuple[float, T | ValueError]] = deque(maxlen=KEPT)
        self._problem: ValueError | None = None
        self._came = False  # since the last state that was answered
        self._heard = self._asked = 0.0  # stamps: first state after one came, last state, s

    def hold(self, reference: T | ValueError) -> None:
        """Take a lasting reference, or the reason why what came is none."""
        self._stream.clear()
        self._lasting = self._problem = None
        if isinstance(reference, ValueError):
            self._problem = reference
        else:
            self._lasting = reference

    def add(self, stamp: float, reference: T | ValueError) -> None:
        """Take a reference for a stamp, s, or the reason why what came is none."""
        self._lasting = self._problem = None
        if self._stream and stamp < self._stream[-1][0]:
            self._stream.clear()  # time was reset
        self._stream.append((stamp, reference))
        self._came = True

    @property
    def empty(self) -> bool:
        """Whether nothing has come yet."""
        return self._lasting is None and self._problem is None and not self._stream

    @property
    def is_stream(self) -> bool:
        """Whether what came last is for a stamp, so that more has to come."""
        return bool(self._stream)

    @property
    def newest(self) -> T | ValueError | None:
        """What came last; None before."""
        return self._stream[-1][1] if self._stream else self._lasting or self._problem

    def reaches(self, stamp: float) -> bool:
        """Whether what is there answers a joint state of this stamp, s, without being advanced."""
        if self._stream:
            return self._stream[-1][0] >= stamp - TOLERANCE
        return not self.empty

    def at(self, stamp: float) -> T | None:
        """The reference for a stamp, s; None while a stream has not begun yet, or nothing came.

        Raises:
            ValueError: what came is not a reference, is too old, is for a time that is far ahead,
                as of another clock, or came too long ago.
        """
        if self._problem is not None:
            raise self._problem
        if not self._stream:
            return self._lasting
        silence, longest = self._silence(stamp)
        self._check_newest(stamp)
        latest = next((e for e in reversed(self._stream) if e[0] <= stamp + TOLERANCE), None)
        if latest is None:
            self._check_beginning(stamp)
            return None
        at, reference = latest
        if isinstance(reference, ValueError):
            raise reference
        age = stamp - at
        self._check_age(age, silence, longest)
        return reference if age <= TOLERANCE else self._advance(reference, age)

    def _check_age(self, age: float, silence: float, longest: float) -> None:
        if age > self._timeout:
            raise ValueError(
                f"the newest reference is {age:.3f} s older than the {self._state_name}, limit "
                f"{self._timeout:g} s: publish references at a higher rate and with the stamps of "
                f"the {self._state_name}s' clock"
            )
        if silence > longest + TOLERANCE:
            raise ValueError(
                f"no reference has come for {silence:.3f} s, limit {longest:g} s, after some that "
                "were ahead of time: publish references at a higher rate and with the stamps of "
                f"the {self._state_name}s' clock"
            )

    def _silence(self, stamp: float) -> tuple[float, float]:
        """How long nothing has come, and how long that may be, s.

        Between two states that are further apart than `timeout` one may be missed: in lock-step
        the one that comes early enough for the next state may come before this one.
        """
        if self._came or stamp < self._heard:  # or time was reset
            self._came, self._heard = False, stamp
        period, self._asked = stamp - self._asked, stamp
        return stamp - self._heard, max(self._timeout, period)

    def _check_newest(self, stamp: float) -> None:
        ahead = self._stream[-1][0] - stamp
        if ahead > self._furthest:
            # Until another comes: its clock is not right because time catches up with it.
            self._problem = ValueError(self._ahead("newest", ahead, self._furthest))
            raise self._problem

    def _check_beginning(self, stamp: float) -> None:
        ahead = self._stream[0][0] - stamp
        if ahead > self._timeout:
            raise ValueError(self._ahead("oldest", ahead, self._timeout))

    def _ahead(self, which: str, ahead: float, limit: float) -> str:
        return (
            f"the {which} reference is {ahead:.3f} s ahead of the {self._state_name}, limit "
            f"{limit:g} s: publish references with the stamps of the {self._state_name}s' clock, "
            "or raise reference_timeout where they are to be so early"
        )
