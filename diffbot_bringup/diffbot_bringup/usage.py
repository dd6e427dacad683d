# SPDX-License-Identifier: Apache-2.0
"""A command line, or a file that it names, is wrong: the error, and the word that was meant.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from importlib.util import find_spec

# Options of `diffbot test`.
KERNELS, NO_TYPES = "--kernels", "--no-types"


class UsageError(ValueError):
    """What is wrong and what would be right, in one sentence; the exit status is 2."""


def need_ros() -> None:
    """Raise UsageError where ROS 2 is not installed, as with `pip install diffbot-suite`."""
    if find_spec("rclpy") is None:
        raise UsageError(
            "needs ROS 2, which is not installed here: use ./diffbot in a checkout of the suite, "
            "which installs it, or source a workspace"
        )


# Optional packages, and the extra of diffbot-suite that installs each.
EXTRAS = {
    "mujoco": "mujoco",
    "dask": "fleet",
    "distributed": "fleet",
    "pyarrow": "fleet",
    "small_gicp": "laser",
}


def missing_extra(error: BaseException | None) -> str:
    """Return which optional package is missing, and what installs it; empty for other errors."""
    while error is not None:
        name = error.name if isinstance(error, ImportError) else None
        extra = EXTRAS.get((name or "").partition(".")[0])
        if extra:
            return (
                f"needs the package {name}, which is not installed: "
                f"pip install 'diffbot-suite[{extra}]', or ./diffbot in a checkout"
            )
        error = error.__cause__
    return ""


def split_at_dashes(words: list[str]) -> tuple[list[str], list[str]]:
    """Return the words before the first `--`, and those after it, which are pytest's."""
    at = words.index("--") if "--" in words else len(words)
    return words[:at], words[at + 1 :]


def tested_packages(words: list[str]) -> list[str]:
    """Return the packages that `diffbot test` names; none: all are tested."""
    return [word for word in split_at_dashes(words)[0] if word not in (KERNELS, NO_TYPES)]


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` when a known word is close to `word`, else nothing."""
    close = get_close_matches(word, list(known), n=1)
    return f"; did you mean {close[0]!r}?" if close else ""


def check_one_of(what: str, word: str, known: Iterable[str], listed: str = "known") -> None:
    """Raise UsageError, which lists the known words as `listed`, where `word` is none of them."""
    names = list(known)
    if word not in names:
        raise UsageError(
            f"unknown {what} {word!r}{suggestion(word, names)}; "
            f"{listed}: {', '.join(names) or 'none'}"
        )
