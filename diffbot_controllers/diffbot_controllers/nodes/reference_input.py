# SPDX-License-Identifier: Apache-2.0
"""The reference for a state's stamp, from references that may have others, be late, or be wrong."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

from arc_odometry.joints import STAMP_TOLERANCE

T = TypeVar("T")
KEPT_REFERENCES = 16  # number of references stored; the trajectory node is at most a few ahead


class ReferenceInput(Generic[T]):
    """Provides the reference for a state's stamp: a lasting set point, or one of a stream.

    Of a stream, the one with the state's stamp, else the newest before it, advanced. A stopped
    stream is old by its stamps, or has brought nothing for as long by the states' stamps. No clock
    is read: lock-step repeats.

    Args:
        timeout: Age of the newest stamped reference from which it is rejected, s; also the longest
            time without a new one, s.
        advance: Advances a reference by a time, s.
        state_age: Maximum age of a state at its arrival, s; references may be ahead of it by this
            and `timeout`.
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
        self._stream: deque[tuple[float, T | ValueError]] = deque(maxlen=KEPT_REFERENCES)
        self._problem: ValueError | None = None
        self._arrived = False  # whether a reference has arrived since the last answered state
        self._silent_since = 0.0  # stamp of the first state after the last arrival, s
        self._last_state = 0.0  # stamp of the last state, s

    def hold(self, reference: T | ValueError) -> None:
        self._stream.clear()
        self._lasting = self._problem = None
        if isinstance(reference, ValueError):
            self._problem = reference
        else:
            self._lasting = reference

    def add(self, stamp: float, reference: T | ValueError) -> None:
        """Store a reference for a stamp, s, or why it is invalid."""
        self._lasting = self._problem = None
        if self._stream and stamp < self._stream[-1][0]:
            self._stream.clear()  # time was reset
        self._stream.append((stamp, reference))
        self._arrived = True

    @property
    def empty(self) -> bool:
        return self._lasting is None and self._problem is None and not self._stream

    @property
    def is_stream(self) -> bool:
        """Whether the last reference was stamped, so that more must follow."""
        return bool(self._stream)

    @property
    def newest(self) -> T | ValueError | None:
        """The last reference, or why it was invalid; None before the first."""
        return self._stream[-1][1] if self._stream else self._lasting or self._problem

    def reaches(self, stamp: float) -> bool:
        """Whether a joint state of this stamp, s, can be answered without advancing."""
        if self._stream:
            return self._stream[-1][0] >= stamp - STAMP_TOLERANCE
        return not self.empty

    def at(self, stamp: float) -> T | None:
        """Return the reference for a stamp, s; None before the first one or before its stamp.

        Raises:
            ValueError: The reference is invalid, too old, far ahead of time, or arrived too long
                ago.
        """
        if self._problem is not None:
            raise self._problem
        if not self._stream:
            return self._lasting
        silence, longest = self._silence(stamp)
        self._check_newest(stamp)
        latest = next((e for e in reversed(self._stream) if e[0] <= stamp + STAMP_TOLERANCE), None)
        if latest is None:
            self._check_beginning(stamp)
            return None
        at, reference = latest
        if isinstance(reference, ValueError):
            raise reference
        age = stamp - at
        self._check_age(age, silence, longest)
        return reference if age <= STAMP_TOLERANCE else self._advance(reference, age)

    def _check_age(self, age: float, silence: float, longest: float) -> None:
        if age > self._timeout:
            raise ValueError(
                f"the newest reference is {age:.3f} s older than the {self._state_name}, limit "
                f"{self._timeout:g} s: publish references at a higher rate and with the stamps of "
                f"the {self._state_name}s' clock"
            )
        if silence > longest + STAMP_TOLERANCE:
            raise ValueError(
                f"no reference received for {silence:.3f} s, limit {longest:g} s, after some that "
                "were ahead of time: publish references at a higher rate and with the stamps of "
                f"the {self._state_name}s' clock"
            )

    def _silence(self, stamp: float) -> tuple[float, float]:
        """Return the time without a new reference and its limit, s, at least the states' period.

        In lock-step the reference may arrive before its state.
        """
        if self._arrived or stamp < self._silent_since:  # or time was reset
            self._arrived, self._silent_since = False, stamp
        period, self._last_state = stamp - self._last_state, stamp
        return stamp - self._silent_since, max(self._timeout, period)

    def _check_newest(self, stamp: float) -> None:
        ahead = self._stream[-1][0] - stamp
        if ahead > self._furthest:
            # Time may catch up with its stamp, but its clock is wrong all the same.
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
            "or raise reference_timeout if this lead is intended"
        )
