"""What an identification from a recording leaves: verdicts, files, pictures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffbot_ident.recording.verdict import Verdict


@dataclass(frozen=True)
class Findings:
    """The result of an analysis, ready to be shown.

    Attributes:
        verdicts: of each axis, side or robot.
        notes: what else to know.
        summary: keys of summary.json.
        write: writes the parameter file, where there is one to write, and says the paths.
        draw: makes the pictures in a folder and says the paths.
    """

    verdicts: Sequence[Verdict]
    notes: Sequence[str]
    summary: Mapping[str, Any]
    write: Callable[[Path], Sequence[Path]]
    draw: Callable[[Path], Sequence[Path]] = field(default=lambda _directory: ())

    @property
    def trusted(self) -> bool:
        """Whether everything may be used."""
        return bool(self.verdicts) and all(verdict.usable for verdict in self.verdicts)
