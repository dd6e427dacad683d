# SPDX-License-Identifier: Apache-2.0
"""Renews constraints-*.txt: exact versions and hashes of all that ./diffbot installs.

Used by hand when requirements change. Versions that still fit stay; --upgrade takes the newest.

    PYTHONPATH=diffbot_bringup python3 -m diffbot_bringup.workspace.pinned_versions [--upgrade]
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
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
}
# What a ROS 2 install does not bring, and the processors that it may run on beside x86-64.
BESIDE_ROS = ("requirements.txt", "requirements-study.txt")
ARM = "aarch64-manylinux_2_28"
# Distributed as source only, which every platform can use.
_PURE_PYTHON = "empy"
_PIN = re.compile(r"^((?!ros-)[\w.-]+==\S+)(?: ; ([^\\]*))?")
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


def unresolved(root: Path, platform: str, python: str) -> str:
    """Return why pinned versions needed beside ROS do not exist for a platform; empty: all do.

    `platform`: a name of uv's, for example ARM; `python`: a version, for example "3.12".
    """
    pinned = [made for made in FILES if made in (_FIRST, "constraints-study.txt")]
    lines = [line for made in pinned for line in (root / made).read_text().splitlines()]
    versions = [
        f"{match[1]} ; {(match[2] or '').replace('x86_64', 'aarch64')}".rstrip("; ")
        for line in lines
        if (match := _PIN.match(line))
    ]
    with tempfile.TemporaryDirectory() as folder:
        (constraints := Path(folder, "versions.txt")).write_text("\n".join(versions))
        words: list[str | Path] = ["--no-binary", _PURE_PYTHON, "-c", constraints, *BESIDE_ROS]
        return Uv(root).unresolved(platform, python, *words, "-o", Path(folder, "found.txt"))


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[3], sys.argv[1:]))
