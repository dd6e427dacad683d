"""Reads a recording while a person watches."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from types import FrameType

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from diffbot_ident.recording.opened import Opened
from diffbot_ident.recording.resample import Resampler, ResampleSettings, UniformStretch
from diffbot_ident.recording.stream import Block, RecordingError


class Reading:
    """Stretches of a recording, with a bar, and with what was left out at the end.

    Args:
        opened: what is read.
        settings: how stretches are made.
        console: where all goes.

    Attributes:
        interrupted: whether Ctrl-C ended it; the stretches until then count.
    """

    def __init__(self, opened: Opened, settings: ResampleSettings, console: Console) -> None:
        self._opened = opened
        self._resampler = Resampler(settings)
        self._console = console
        self.interrupted = False

    def stretches(self) -> Iterator[UniformStretch]:
        """The stretches.

        Raises:
            RecordingError: a channel is missing.
        """
        columns = (TextColumn("reading"), BarColumn(), TextColumn("{task.percentage:.0f} %"))
        # Ctrl-C may come anywhere, also while what was read is worked off.
        before = signal.signal(signal.SIGINT, self._on_signal)
        try:
            with Progress(
                *columns,
                TimeRemainingColumn(),
                console=self._console,
                transient=True,
                disable=not self._console.is_terminal,
            ) as bar:
                blocks = self._watched(bar)
                yield from self._resampler.stretches(blocks, self._opened.channels)
        except RecordingError:
            # Often the reason is a file that is damaged.
            self._say_what_was_left_out()
            raise
        finally:
            signal.signal(signal.SIGINT, before)
        if self.interrupted:
            self._say("interrupted: what follows rests on what was read until then")
        self._say_what_was_left_out()

    @property
    def period(self) -> float:
        """Between samples, s; NaN while it is not known."""
        return self._resampler.period

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        """End with what there is; a second time, at once."""
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    def _watched(self, bar: Progress) -> Iterator[Block]:
        task = bar.add_task("", total=None)
        for block in self._opened.blocks():
            if self.interrupted:
                return
            parts = [source.progress for source in self._opened.sources]
            done, total = (sum(getattr(part, n) for part in parts) for n in ("done", "total"))
            bar.update(task, completed=done, total=total or None)
            yield block

    def _say_what_was_left_out(self) -> None:
        for source in self._opened.sources:
            for warning in source.warnings:
                self._say(f"warning: {warning}")
        lines = self._resampler.losses.lines()
        read = f"read {self._resampler.seconds:.1f} s of recording"
        self._say(read + (", left out:" if lines else ""))
        for line in lines:
            self._say(f"  {line}")

    def _say(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)
