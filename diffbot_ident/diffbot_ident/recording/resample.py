"""From streams with clocks of their own to stretches in which all channels share their instants.

Measured channels are interpolated between neighbours; commands hold until the next one, and what a
stretch says of a command is its mean over the period that begins at the sample, so that no part of
a command is lost between two instants. A stretch ends where samples are missing, where time jumps,
where no command is known, at standstill, and after `longest` seconds: memory stays flat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from diffbot_ident.recording.losses import GAP, NO_COMMAND, SHORT, STANDSTILL, Losses
from diffbot_ident.recording.standstill import moving_parts
from diffbot_ident.recording.stream import COMMANDS, Array, Block, RecordingError
from diffbot_ident.recording.stream_buffer import StreamBuffer, common
from diffbot_ident.recording.uniform_stretch import ResampleSettings, UniformStretch

__all__ = ["ResampleSettings", "Resampler", "UniformStretch"]

DEFAULT = ResampleSettings()
# Samples made of one that was recorded, at most: more only repeat it.
FINEST = 20


class Resampler:
    """Makes stretches of blocks.

    Args:
        settings: how.

    Attributes:
        losses: what was left out so far.
        period: of the stretches, s; NaN before the first block of each measured stream is there.
        seconds: recording time so far, without gaps, s.
    """

    def __init__(self, settings: ResampleSettings = DEFAULT) -> None:
        self._settings = settings
        self._buffers: dict[tuple[str, ...], StreamBuffer] = {}
        self.losses = Losses()
        self.period = np.nan
        self.seconds = 0.0

    def stretches(
        self, blocks: Iterable[Block], channels: Iterable[str]
    ) -> Iterator[UniformStretch]:
        """Stretches, as soon as their samples are complete.

        Args:
            blocks: of one or more streams, see stream.merged.
            channels: that stretches must have; others are ignored.

        Raises:
            RecordingError: a channel never came, or there are too few samples to tell the period.
        """
        wanted = tuple(channels)
        for block in blocks:
            key = tuple(name for name in wanted if name in block.channels)
            if not key or not len(block.times):
                continue
            buffer = self._buffers.setdefault(key, StreamBuffer(key, self.losses))
            for part in buffer.parts(block):
                if buffer.steps_back(part):
                    yield from self._finish(wanted, at_end=False)
                buffer.append(part)
            if self._span() > 2.0 * self._settings.longest and self._all_came(wanted):
                yield from self._cut(self._horizon())
        yield from self._finish(wanted, at_end=True)

    def _complete(self, wanted: tuple[str, ...]) -> bool:
        return {name for key in self._buffers for name in key} == set(wanted)

    def _all_came(self, wanted: tuple[str, ...]) -> bool:
        """Whether all streams spoke, also since time stepped back: commands may come first."""
        return self._complete(wanted) and all(map(len, self._buffers.values()))

    def _finish(self, wanted: tuple[str, ...], at_end: bool) -> Iterator[UniformStretch]:
        """Use up what is there: the end, or time goes back."""
        if self._complete(wanted):
            yield from self._cut(np.inf)
        elif at_end:
            have = {name for key in self._buffers for name in key}
            missing = ", ".join(name for name in wanted if name not in have)
            raise RecordingError(f"the recording holds no sample of {missing}")
        for buffer in self._buffers.values():
            buffer.clear()

    def _span(self) -> float:
        filled = [buffer for buffer in self._buffers.values() if len(buffer)]
        return max(b.newest for b in filled) - min(b.oldest for b in filled) if filled else 0.0

    def _horizon(self) -> float:
        """Instant up to which nothing more will come of any stream that still speaks."""
        newest = {key: b.newest for key, b in self._buffers.items() if len(b)}
        latest = max(newest.values())
        # A stream that fell silent must not hold up the others for ever.
        least = max(min(newest.values()), latest - self._settings.longest)
        # The next stretch begins where this one ends: at a measured sample.
        return min(b.last_until(least) for b in self._measured().values())

    def _measured(self) -> dict[tuple[str, ...], StreamBuffer]:
        return {k: b for k, b in self._buffers.items() if k[0] not in COMMANDS and len(b)}

    def _cut(self, until: float) -> Iterator[UniformStretch]:
        if not self._find_period():
            return
        settings = self._settings
        gap = settings.gap or max(3.0 * self.period, 0.1)
        measured, held = [], []
        for key, buffer in self._buffers.items():
            kind = held if key[0] in COMMANDS else measured
            kind.append(buffer.runs(until, settings.hold if kind is held else gap, kind is held))
        driven = common(measured)
        together = common([driven, *held])
        self._account(driven, together)
        for begin, end in together:
            yield from self._stretches_of(begin, end)
        for buffer in self._buffers.values():
            buffer.forget(until)

    def _find_period(self) -> bool:
        if np.isfinite(self.period):
            return True
        recorded = max((b.spacing() for b in self._measured().values()), default=np.nan)
        if not np.isfinite(recorded):
            return False
        self.period = self._settings.period or recorded
        if self.period < recorded / FINEST:
            raise RecordingError(
                f"--period {self.period:g} s: must be at least {recorded / FINEST:.3g} s, as the "
                f"samples are {recorded:.3g} s apart"
            )
        return True

    def _account(self, driven: list[tuple[float, float]], kept: list[tuple[float, float]]) -> None:
        self.seconds += sum(end - begin for begin, end in driven)
        for (_, end), (begin, _) in zip(driven[:-1], driven[1:], strict=True):
            self.losses.add(GAP, begin - end)
        lacking = sum(b - a for a, b in driven) - sum(b - a for a, b in kept)
        self.losses.add(NO_COMMAND, lacking, max(1, len(kept) - len(driven)) if lacking > 0 else 0)

    def _stretches_of(self, begin: float, end: float) -> Iterator[UniformStretch]:
        """Stretches of a time in which all is known."""
        times = self._instants(begin, end)
        if len(times) < 2:
            self.losses.add(SHORT, end - begin)
            return
        channels: dict[str, Array] = {}
        for buffer in self._buffers.values():
            channels |= buffer.at(times)
        parts = moving_parts(times, channels, self._settings.still, self._settings.rest)
        moving = sum(float(times[b - 1] - times[a]) for a, b in parts)
        self.losses.add(
            STANDSTILL, (times[-1] - times[0]) - moving, int(moving < times[-1] - times[0])
        )
        for a, b in parts:
            for start in range(a, b, step := max(2, round(self._settings.longest / self.period))):
                stop = min(start + step, b)
                length = float(times[stop - 1] - times[start])
                if length < self._settings.shortest:
                    self.losses.add(SHORT, length)
                    continue
                # Copies: who keeps a short stretch must not keep all that it was cut from.
                yield UniformStretch(
                    times[start:stop].copy(),
                    self.period,
                    {name: values[start:stop].copy() for name, values in channels.items()},
                )

    def _instants(self, begin: float, end: float) -> Array:
        if self._settings.uniform:
            # A rounding error must not cost the last instant.
            count = int((end - begin) / self.period + 1e-6) + 1
            return begin + self.period * np.arange(count)
        return next(iter(self._measured().values())).instants(begin, end)
