"""Memory of which steps of the set-up are done, safe against being killed at any point."""

from __future__ import annotations

import hashlib
from pathlib import Path


def digest(*parts: str | bytes) -> str:
    """Return a hash of parts, in which their boundaries count too."""
    state = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.hexdigest()


class Stamps:
    """One small file for each finished step; it holds the key of what the step was done for."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def is_current(self, step: str, key: str) -> bool:
        """Tell whether the step was finished with just this key."""
        return self.key(step) == key

    def key(self, step: str) -> str | None:
        """Return the key that the step was finished with; None when it was not finished."""
        try:
            return (self._directory / step).read_text()
        except OSError:
            return None

    def set(self, step: str, key: str) -> None:
        """Remember that the step is finished; half a key, of who is killed here, is none."""
        self._directory.mkdir(parents=True, exist_ok=True)
        (self._directory / step).write_text(key)

    def clear(self, step: str) -> None:
        """Forget the step; done before it starts, so that half a step never counts as done."""
        (self._directory / step).unlink(missing_ok=True)

    def names(self) -> list[str]:
        """Return the finished steps."""
        return sorted(path.name for path in self._directory.glob("[!.]*"))
