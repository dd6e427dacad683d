"""Robot time over wall time."""

from __future__ import annotations

# A shorter run says nothing about its pace, s of wall time.
SHORTEST = 0.05


class Pace:
    """How fast robot time runs, as the mean since the first instant.

    Attributes:
        factor: robot time over wall time; None before it is known.
    """

    def __init__(self) -> None:
        self.factor: float | None = None
        self._first: tuple[float, float] | None = None

    def update(self, robot: float, wall: float) -> None:
        """Take in an instant: robot time and wall time, both s."""
        if self._first is None or robot < self._first[0]:
            self._first = (robot, wall)
        passed = wall - self._first[1]
        if passed >= SHORTEST:
            self.factor = (robot - self._first[0]) / passed
