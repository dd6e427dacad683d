# SPDX-License-Identifier: Apache-2.0
"""Read a recording's segments with a progress bar; Ctrl-C ends the reading early."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType

from rich.console import Console

from diffbot_description.terminal_text import printable
from diffbot_recordings.samples import Batch, Recording, RecordingError
from diffbot_recordings.segments import Segment, Segmenter
from diffbot_report.progress import Progress


class SegmentReader:
    """Reads segments, and prints what was left out; what was read before Ctrl-C is evaluated."""

    def __init__(self, files: Sequence[Path], console: Console) -> None:
        self.interrupted = False
        self.warnings: list[str] = []
        self._files = files
        self._console = console
        # Interrupted while reading: all that was read is still processed.
        self._cut_short = False

    def segments(self, recording: Recording, segmenter: Segmenter) -> Iterator[Segment]:
        """Yield the segments of a recording."""
        # Only the main thread receives Ctrl-C.
        main = threading.current_thread() is threading.main_thread()
        before = signal.signal(signal.SIGINT, self._on_signal) if main else None
        try:
            with Progress("identify", None, self._console) as progress:
                batches = self._read_batches(recording, progress)
                for segment in segmenter.segments(batches, recording.channels, recording.optional):
                    yield segment
                    if self.interrupted and not self._cut_short:
                        break
        except RecordingError as error:
            # A damaged file is often the cause.
            self._report_exclusions(recording, segmenter)
            files = [path.name for path in self._files]
            if any(name in str(error) for name in files):
                raise
            raise RecordingError(f"{', '.join(files)}: {error}") from None
        finally:
            if main:
                signal.signal(signal.SIGINT, before)
        if self.interrupted:
            self.say("interrupted: the results use only what was read before")
        self._report_exclusions(recording, segmenter)

    def _read_batches(self, recording: Recording, progress: Progress) -> Iterator[Batch]:
        progress.show("reading")
        for batch in recording.batches():
            if self.interrupted:
                self._cut_short = True
                break
            done, total = (
                sum(getattr(source, name) for source in recording.sources)
                for name in ("done", "total")
            )
            progress.update(done, total or None)
            yield batch
        progress.update(0.0, None)
        progress.show("evaluating")

    def _on_signal(self, _number: int, _frame: FrameType | None) -> None:
        if self.interrupted:
            raise KeyboardInterrupt
        self.interrupted = True

    def _report_exclusions(self, recording: Recording, segmenter: Segmenter) -> None:
        self.warnings = [text for source in recording.sources for text in source.warnings]
        self.warnings += segmenter.notes
        for warning in self.warnings:
            self.say(f"warning: {warning}")
        lines = segmenter.excluded.lines()
        read = f"read {segmenter.seconds:.1f} s of recording"
        self.say(read + (", ignored:" if lines else ""))
        for line in lines:
            self.say(f"  {line}")

    def fitting(self) -> Progress:
        """Show that parameters are being fitted, until the result's `with` ends."""
        progress = Progress("identify", None, self._console)
        progress.show("fitting")
        return progress

    def say(self, text: str) -> None:
        """Print a sentence."""
        self._console.print(printable(text), markup=False, highlight=False, soft_wrap=True)
