"""One running process of a launch: its start, its output, its end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import IO

from diffbot_bringup.xml_launch.guard import Guard, signal_group
from diffbot_bringup.xml_launch.log_directory import LogDirectory
from diffbot_bringup.xml_launch.process_description import ProcessDescription
from diffbot_bringup.xml_launch.tee import Tee

LAST_LINES = 20  # of the log file, shown when a process fails


class Process:
    """A child in a session of its own, so that the terminal's Ctrl-C reaches it through us only.

    With output "screen" it inherits the terminal: a node may draw and redraw a table there.
    """

    def __init__(
        self, description: ProcessDescription, guard: Guard, log: LogDirectory, files: Path
    ) -> None:
        """Start the process. Raises OSError when the program cannot be run.

        `files` is a folder for the parameter files of this process.
        """
        self.description = description
        self.log_file = None if description.output == "screen" else log.file(description.name)
        self.tees: list[Tee] = []
        self.code: int | None = None
        self._guard = guard
        files.mkdir()
        sink: IO[bytes] | None = open(self.log_file, "ab", 0) if self.log_file else None  # noqa: SIM115
        try:
            self._popen = subprocess.Popen(
                description.arguments(files),
                env=description.environment,
                cwd=description.directory or None,
                stdin=subprocess.DEVNULL,
                stdout={"screen": None, "log": sink, "both": subprocess.PIPE}[description.output],
                stderr=None if sink is None else subprocess.PIPE,
                start_new_session=True,
                preexec_fn=guard.add_myself,
            )
        except BaseException:
            if sink:
                sink.close()
            raise
        self.pid = self._popen.pid
        if sink:
            self._copy(sink)

    def _copy(self, sink: IO[bytes]) -> None:
        """Standard error (and standard output for "both") go to the terminal and to the file."""
        for stream, screen in ((self._popen.stdout, sys.stdout), (self._popen.stderr, sys.stderr)):
            if stream:
                self.tees.append(Tee(stream, screen, self.description.name, sink))
        self._sink = sink

    def poll(self) -> bool:
        """True once the process has ended; `code` is then its exit code (negative: the signal)."""
        self.code = self._popen.poll()
        if self.code is None:
            return False
        if not self.group_alive():
            self._guard.remove(self.pid)
        return True

    def close(self) -> None:
        """Read what is left of the output and close the log file; call it after the end."""
        for tee in self.tees:
            tee.close()
        if self.log_file:
            self._sink.close()

    def signal(self, number: int) -> None:
        """Send a signal to the process and to what it has started."""
        signal_group(self.pid, number)

    def group_alive(self) -> bool:
        """True while the process or something it has started is there."""
        return signal_group(self.pid, 0)

    def last_lines(self) -> str:
        """Return the end of the log file, to explain a failure."""
        if self.log_file is None or not os.path.exists(self.log_file):
            return ""
        lines = self.log_file.read_text(errors="replace").splitlines()[-LAST_LINES:]
        return "\n".join([f"last lines of {self.log_file}:", *(f"    {line}" for line in lines)])
