"""Drawing the pictures of an identification run."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from diffbot_report.ident_recording import IdentRecording
from diffbot_report.quantity import Quantity

# ---
# Drawing the pictures of a run, with matplotlib loaded in the background.


@dataclass(frozen=True)
class Picture:
    """A file to draw.

    Attributes:
        name: of the file, for example "path.png".
        write: draws it to a path.
        seconds: wall time that it may take, s; it is not begun with less than this left.
    """

    name: str
    write: Callable[[Path], Any]
    seconds: float = 0.0


class BackgroundDrawing(ABC):
    """Loads matplotlib while the run goes on, so that its end is quick.

    Attributes:
        problem: why pictures were left out; empty when none was.
        unwritten: sentences on files that could not be written.
    """

    def __init__(self) -> None:
        self.problem = ""
        self.unwritten: list[str] = []
        self._loaded = False
        self._thread = threading.Thread(target=self._load, name="load-figures", daemon=True)

    def start(self) -> None:
        """Begin to load."""
        self._thread.start()

    @abstractmethod
    def load(self) -> None:
        """Import what draws, and draw once: the first drawing loads the fonts."""

    def _load(self) -> None:
        try:
            self.load()
            self._loaded = True
        except ImportError as error:
            self.problem = f"{error}; install matplotlib"

    def ready(self, deadline: float) -> bool:
        """Whether all is loaded; waits for it until time.monotonic() is `deadline`, s."""
        self._thread.join(timeout=max(0.0, min(deadline - time.monotonic(), 60.0)))
        if not self._loaded:
            self.problem = self.problem or "matplotlib was not loaded yet"
        return self._loaded

    def write(
        self, pictures: Sequence[Picture], directory: Path, deadline: float
    ) -> Iterator[Path]:
        """Draw one after the other into the directory; yields their paths.

        Args:
            pictures: what to draw.
            directory: where to.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        left_out = []
        for picture in pictures:
            if time.monotonic() + picture.seconds > deadline:
                left_out.append(picture.name)
                continue
            path = directory / picture.name
            try:
                picture.write(path)
            except OSError as error:
                self.unwritten.append(str(error))  # a smaller one may still find room
                continue
            yield path
        if left_out:
            self.problem = f"no time left for {', '.join(left_out)}"


class Drawing(BackgroundDrawing):
    """Pictures of K5..K8, of the excitation, and of how far they may be trusted."""

    def load(self) -> None:
        """Import what draws and warm it up."""
        from diffbot_report import ident_figures as arena_figure
        from diffbot_report import ident_figures as figures
        from diffbot_report import ident_figures as trust_figure
        from diffbot_report import ident_figures as verification_figure

        figures.warm_up()
        self._figures = figures
        self._trust, self._arena = trust_figure, arena_figure
        self._verification = verification_figure

    def draw(
        self,
        recording: IdentRecording,
        parameters: Sequence[Quantity],
        title: str,
        directory: Path,
        deadline: float,
    ) -> Iterator[Path]:
        """Write the PNGs into the directory, one after the other; yields their paths.

        Args:
            recording: the run.
            parameters: K5..K8 at its end.
            title: what was run, for example "twil, mujoco, seed 1".
            directory: where to.
            deadline: time.monotonic() after which no further picture is begun, s.
        """
        if not self.ready(deadline):
            return
        pictures = [
            Picture(f"{name}.png", lambda path, m=m: self._figures.save_figure(m(), path))
            for name, m in self._makers(recording, parameters, title).items()
        ]
        yield from self.write(pictures, directory, deadline)

    def _makers(
        self, recording: IdentRecording, parameters: Sequence[Quantity], title: str
    ) -> dict[str, Callable]:
        """What draws each picture for which there is something to show, by its name."""
        figures, status, verification = self._figures, recording.status, recording.verification
        make: dict[str, Callable] = {
            "parameters": lambda: figures.parameters_figure(recording, parameters, title),
            "covariance": lambda: figures.covariance_figure(recording, parameters, title),
            "excitation": lambda: figures.excitation_figure(recording, title),
        }
        if self._trust.has_trust(recording):
            make["trust"] = lambda: self._trust.trust_figure(recording, title)
        if verification is not None:
            make["verification"] = lambda: self._verification.verification_figure(
                verification, title
            )
        if status is not None and status.arena is not None:
            arena = status.arena
            make["arena"] = lambda: self._arena.arena_figure(recording, arena, title)
        return make
