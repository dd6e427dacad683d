# SPDX-License-Identifier: Apache-2.0
"""The command `identify`: analyse a recording, show and save the findings."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

from rich.console import Console

from diffbot_description.run_folder import output_folder
from diffbot_description.terminal_text import complain
from diffbot_recordings.options import Options, parse, robot_of
from diffbot_recordings.recording_analysis import SegmentReader, analyse_recording
from diffbot_recordings.samples import check_files
from diffbot_recordings.verdict import show
from diffbot_report.display import make_console
from diffbot_report.progress import Progress
from diffbot_report.summary import not_yet_written, note_unwritten, noted

if TYPE_CHECKING:
    from diffbot_recordings.findings import Findings

USAGE, INTERRUPTED = 2, 128 + signal.SIGINT
STATUS = {"all": 0, "none": 1, "some": 3}


def main(argv: Sequence[str] | None = None, program: str = "identify") -> int:
    """Identify from recordings; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    options = parse(words, program)
    console = make_console()
    try:
        return _Identify(options, words, console).run(program)
    except KeyboardInterrupt:
        console.print("interrupted: nothing was identified yet, nothing was written")
        return INTERRUPTED
    except (ValueError, OSError) as error:
        complain(program, error)
        return USAGE


class _Identify:
    def __init__(self, options: Options, words: Sequence[str], console: Console) -> None:
        self._options = options
        self._words = words
        self._console = console
        self._reader = SegmentReader(options.files, console)
        self._began = time.monotonic()

    def run(self, program: str) -> int:
        check_files(self._options.files)
        robot_of(self._options)
        with output_folder(self._options.output, "identify") as directory:
            result = analyse_recording(self._options, self._reader)
            unwritten = self._save_and_show(directory, result)
        if self._reader.interrupted:
            return INTERRUPTED
        for each in unwritten:
            complain(program, each)
        return USAGE if unwritten else STATUS[result.usable.value]

    def _save_and_show(self, directory: Path, findings: Findings) -> list[str]:
        """Show and save; return what could not be written, as summary.json says.

        Ctrl-C never leaves an incomplete file, and skips only the pictures.
        """
        unwritten: list[str] = []

        def on_signal(_number: int, _frame: FrameType | None) -> None:
            self._reader.interrupted = True

        before = signal.signal(signal.SIGINT, on_signal)
        try:
            # Saved first, so that the files exist even if the table is piped into `head`.
            written = findings.save(directory, self._about())
            show(self._console, findings.verdicts, findings.notes)
            if findings.trusted and written.refusal is not None:
                self._reader.say(written.refusal)
            for path in written.paths:
                self._reader.say(str(path))
            with noted(unwritten):
                self._page(directory, findings)
        finally:
            signal.signal(signal.SIGINT, before)
        self._draw(directory, findings, unwritten)
        note_unwritten(directory, unwritten)
        return unwritten

    def _draw(self, directory: Path, findings: Findings, unwritten: list[str]) -> None:
        if not self._options.pictures:
            return
        try:
            if self._reader.interrupted:
                raise KeyboardInterrupt
            with noted(unwritten):
                with Progress("identify", None, self._console) as progress:
                    progress.show("drawing")
                    paths = findings.draw(directory)
                for path in paths:
                    self._reader.say(str(path))
        except KeyboardInterrupt:
            self._reader.interrupted = True
            unwritten.append("pictures not written: interrupted")
            self._reader.say("interrupted: the numbers are saved, pictures are missing")

    def _page(self, directory: Path, findings: Findings) -> None:
        if not self._options.page:
            return
        from diffbot_recordings.identify_page import write_identify_page  # slow to import

        try:
            self._reader.say(str(write_identify_page(findings, directory, self._words)))
        except ModuleNotFoundError as error:
            self._reader.say(f"report.html not written: {error}; install {error.name}")

    def _about(self) -> dict[str, object]:
        options = self._options
        wheels = {"radius": options.wheel_radius, "track": options.track}
        given = {name: length for name, length in wheels.items() if length is not None}
        return {
            "name": "identify",
            "robot": options.robot,
            **({"wheels": given} if given else {}),
            "files": [str(path) for path in options.files],
            "missing_files": not_yet_written(options.page, options.pictures),
            "outcome": "stopped" if self._reader.interrupted else "completed",
            "wall_time": time.monotonic() - self._began,
            **({"recording_warnings": self._reader.warnings} if self._reader.warnings else {}),
        }
