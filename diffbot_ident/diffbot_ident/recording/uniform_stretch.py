"""Stretches of a recording, and how they are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from diffbot_ident.recording.stream import Array


@dataclass(frozen=True)
class ResampleSettings:
    """How stretches are made.

    Attributes:
        period: between the samples of a stretch, s; None: the median spacing of the measured
            stream that comes least often.
        gap: longest time between two measured samples that is bridged, s; None: 3 periods, and at
            least 0.1 s.
        hold: for how long a command holds at most, s.
        shortest: stretches below this are dropped, s.
        longest: a stretch is cut after this, s.
        still: what counts as no motion, by channel, in its unit; standstill is kept if empty.
        rest: longest standstill that is kept, s.
        uniform: whether stretches have equal periods; otherwise the instants of the first measured
            stream are kept.
    """

    period: float | None = None
    gap: float | None = None
    hold: float = 0.5
    shortest: float = 1.0
    longest: float = 60.0
    still: Mapping[str, float] = field(default_factory=dict)
    rest: float = 1.0
    uniform: bool = True


@dataclass(frozen=True)
class UniformStretch:
    """An uninterrupted part of a recording.

    Attributes:
        times: instants, shape (n,), s; equally spaced but where the settings keep instants.
        period: between two of them, s; else their median spacing.
        channels: values at these instants, shape (n,) each. A command's is its mean over the
            period that begins there; the last one repeats the one before.
    """

    times: Array
    period: float
    channels: Mapping[str, Array]

    @property
    def duration(self) -> float:
        """From the first sample to the last, s."""
        return float(self.times[-1] - self.times[0])
