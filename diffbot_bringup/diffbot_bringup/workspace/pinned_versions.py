# SPDX-License-Identifier: Apache-2.0
"""Renews constraints-*.txt: exact versions and hashes of all that ./diffbot installs.

Used by hand when requirements change. Versions that still fit stay; --upgrade takes the newest.

    PYTHONPATH=diffbot_bringup python3 -m diffbot_bringup.workspace.pinned_versions [--upgrade]
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from diffbot_bringup.workspace.uv import Uv

DISTROS = ("jazzy", "kilted")
_FIRST = f"constraints-{DISTROS[0]}.txt"
# Pinned files: requirements, and further constraints.
FILES = {
    Uv.CONSTRAINTS: ("requirements-uv.txt", ()),
    **{f"constraints-{d}.txt": (f"requirements-{d}.txt", ()) for d in DISTROS},
    "constraints-study.txt": ("requirements-study.txt", ("-c", _FIRST)),
    "constraints-docs.txt": ("requirements-docs.txt", ()),
    "constraints-bench.txt": ("requirements-bench.txt", ("--no-deps",)),
}
_HEADER = "PYTHONPATH=diffbot_bringup python3 -m diffbot_bringup.workspace.pinned_versions"


def main(root: Path, options: list[str]) -> int:
    """Write the files in the checkout root; return uv's exit status."""
    uv = Uv(root)
    uv.prepare(-1)
    for made, (requirements, more) in FILES.items():
        command: list[str | Path] = [
            uv.program, "pip", "compile", "--universal", "--python-version", "3.10",
            "--generate-hashes", "--no-annotate", "--quiet", "--custom-compile-command", _HEADER,
            requirements, *more, "-o", made, *options,
        ]  # fmt: skip
        if status := subprocess.run(command, cwd=root).returncode:
            return status
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[3], sys.argv[1:]))
