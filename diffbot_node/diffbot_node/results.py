"""The folder that a run leaves its results in."""

from __future__ import annotations

import tempfile
from pathlib import Path


def results_folder(text: str) -> Path:
    """Make the folder, `~` expanded, and find out now, not after the run, that it can be written.

    Raises:
        ValueError: it cannot be made or written; the message names the parameter `results`.
    """
    folder = Path(text).expanduser()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ValueError(
            f"parameter 'results' = '{text}': {error.strerror}; give a folder that can be made "
            "and written"
        ) from error
    return folder
