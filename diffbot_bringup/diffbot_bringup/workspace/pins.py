# SPDX-License-Identifier: Apache-2.0
"""Writes constraints.txt from pip's own resolutions, one per supported Python.

Used by hand when requirements change (see CONTRIBUTING.md), not by ./diffbot:

    pythonX.Y -m pip install --dry-run --ignore-installed --report X.Y.json -r requirements.txt
    python3 -m diffbot_bringup.workspace.pins 3.10.json 3.11.json ... > constraints.txt

The result pins every package to an exact version for each Python. So ./diffbot installs without
pip's resolver, which saves time and gives every user the same versions.
"""

import json
import re
import sys
from pathlib import Path

HEADER = """\
# Exact versions of everything that ./diffbot installs, for each Python it supports.
# Made by workspace/pins.py from requirements.txt; CONTRIBUTING.md tells how. Do not edit by hand.
"""


def read_report(path: Path) -> tuple[str, dict[str, str]]:
    """Return the Python version "X.Y" (from the file's name) and {package: version}."""
    match = re.search(r"(\d+\.\d+)", path.stem)
    if match is None:
        raise ValueError(f"{path}: the name of a report must hold its Python version, as 3.12.json")
    installed = json.loads(path.read_text())["install"]
    names = (entry["metadata"] for entry in installed)
    return match.group(1), {normalized(m["name"]): m["version"] for m in names}


def normalized(name: str) -> str:
    """Return a package's name in the normalized form that the index compares."""
    return re.sub(r"[-_.]+", "-", name).lower()


def marker(versions: list[str], every: list[str]) -> str:
    """Return the environment marker that selects these Python versions; "" for all of them."""
    if versions == every:
        return ""
    return " ; " + " or ".join(f'python_version == "{version}"' for version in versions)


def pins(reports: dict[str, dict[str, str]]) -> list[str]:
    """Merge {Python version: {package: version}} to requirement lines, sorted by package."""
    every = sorted(reports, key=lambda version: [int(part) for part in version.split(".")])
    wanted: dict[tuple[str, str], list[str]] = {}
    for python in every:
        for name, version in reports[python].items():
            wanted.setdefault((name, version), []).append(python)
    return [
        f"{name}=={version}{marker(pythons, every)}"
        for (name, version), pythons in sorted(wanted.items())
    ]


def main(paths: list[str]) -> int:
    """Print the constraints made from the reports at paths."""
    reports = dict(read_report(Path(path)) for path in paths)
    print(HEADER + "\n".join(pins(reports)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
