"""One process that a launch file asks for, everything resolved."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

OUTPUTS = ("screen", "log", "both")


@dataclass(frozen=True)
class ParameterText:
    """Text of a parameter file that is written just before the process starts."""

    text: str

    def write(self, directory: Path, number: int) -> str:
        """Write the text into `directory` and return the path."""
        path = directory / f"parameters_{number}.yaml"
        path.write_text(self.text, encoding="utf-8")
        return str(path)


@dataclass(frozen=True)
class ProcessDescription:
    """What to run, where, with which environment, and what its end means.

    `name` labels the process in messages (``ident-2``). `output` is one of OUTPUTS: "screen"
    (straight to the terminal), "log" (to a file, standard error also to the terminal), "both".
    """

    name: str
    command: tuple[str | ParameterText, ...]
    environment: dict[str, str]
    directory: str | None = None
    output: str = "log"
    shutdown_on_exit: bool = False
    place: str = ""  # file:line of the element, for messages

    def arguments(self, directory: Path) -> list[str]:
        """Return the command line; parameter texts become files in `directory`."""
        return [
            word.write(directory, number) if isinstance(word, ParameterText) else word
            for number, word in enumerate(self.command)
        ]

    def __str__(self) -> str:
        """Return the command as a shell would take it, parameter texts shown in place."""
        words = [
            f"<{' '.join(word.text.split())}>"
            if isinstance(word, ParameterText)
            else shlex.quote(word)
            for word in self.command
        ]
        return " ".join(words)
