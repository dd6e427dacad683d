"""A bounded choice of stretches, spread evenly over a recording of any length."""

from __future__ import annotations

from diffbot_ident.recording.resample import UniformStretch


class StretchStore:
    """Keeps stretches up to a total duration.

    When it is full, every other one is dropped, and from then on only as large a share of what
    comes is taken.

    Args:
        most: duration kept, s, > 0.

    Attributes:
        stretches: that are kept, in the order of time.
        seen: duration of all that came, s.
    """

    def __init__(self, most: float) -> None:
        self._most = most
        self._every = 1
        self._count = 0
        self.stretches: list[UniformStretch] = []
        self.seen = 0.0

    @property
    def kept(self) -> float:
        """Duration of what is kept, s."""
        return sum(stretch.duration for stretch in self.stretches)

    def add(self, stretch: UniformStretch) -> None:
        """Take a stretch in, or not."""
        self.seen += stretch.duration
        if self._count % self._every == 0:
            self.stretches.append(stretch)
            # A single stretch is always kept.
            while len(self.stretches) > 1 and self.kept > self._most:
                self.stretches = self.stretches[::2]
                self._every *= 2
        self._count += 1
