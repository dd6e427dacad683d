# SPDX-License-Identifier: Apache-2.0
"""Asks uv's resolver where diffbot-suite can be installed: systems, Pythons and extras.

Only built files count, so that no compiler is needed. Nothing is installed.

    ./diffbot python -m diffbot_bringup.workspace.suite_platforms
"""

from __future__ import annotations

import sys
from pathlib import Path

from diffbot_bringup.workspace.uv import Uv

PLATFORMS = {
    "Linux x86-64": "x86_64-manylinux_2_28",
    "Linux aarch64": "aarch64-manylinux_2_28",
    "macOS arm64": "aarch64-apple-darwin",
    "macOS x86-64": "x86_64-apple-darwin",
    "Windows x86-64": "x86_64-pc-windows-msvc",
}
PYTHONS = ("3.10", "3.11", "3.12", "3.13", "3.14")
EXTRAS = ("", "mujoco", "fleet")


def unresolved(root: Path, platform: str, python: str, extra: str = "") -> str:
    """Return why diffbot-suite cannot be installed from built files; empty: it can.

    `platform`: a name of uv's; `python`: a version; `extra`: one of EXTRAS.
    """
    words = ["--extra", extra] if extra else []
    return Uv(root).unresolved(platform, python, "pyproject.toml", *words)


def main(root: Path) -> int:
    """Print a table of systems and Pythons; return 1 where something does not resolve."""
    status = 0
    print(f"| system | {' | '.join(PYTHONS)} |")
    print("|---" * (len(PYTHONS) + 1) + "|")
    for name, platform in PLATFORMS.items():
        cells = []
        for python in PYTHONS:
            why = {extra: unresolved(root, platform, python, extra) for extra in EXTRAS}
            missing = [extra or "the base" for extra, text in why.items() if text]
            for text in filter(None, why.values()):
                print(f"{name}, Python {python}: {text}", file=sys.stderr)
            status |= bool(missing)
            cells.append(f"not {', '.join(missing)}" if missing else "all")
        print(f"| {name} | {' | '.join(cells)} |", flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[3]))
