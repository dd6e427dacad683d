# SPDX-License-Identifier: Apache-2.0
"""Writes CHANGELOG.rst of each package, which ROS's release tools read, from CHANGELOG.md.

Used by hand; a test compares. A version without a date becomes "Forthcoming".

    ./diffbot python -m diffbot_bringup.workspace.changelogs
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path

from diffbot_bringup.workspace.packages import find_packages

# Section of CHANGELOG.md -> the packages that it is about.
PACKAGES_OF = {
    "Identification of robots that take torques": ("diffbot_ident", "diffbot_msgs"),
    "Control": ("arc_odometry", "diffbot_controllers", "diffbot_msgs", "pose2d_trajectories"),
    "Robots that take velocities": ("diffbot_controllers", "diffbot_ident", "diffbot_sim"),
    "Robots and simulators": ("diffbot_description", "diffbot_sim"),
    "Recordings, calibration, export": (
        "diffbot_calibration",
        "diffbot_export",
        "diffbot_recordings",
    ),
    "Reports, live view, studies": (
        "diffbot_bench",
        "diffbot_learning",
        "diffbot_papers",
        "diffbot_report",
        "diffbot_study",
        "diffbot_view",
    ),
    "Safety": ("diffbot_controllers", "diffbot_node", "diffbot_sim"),
    "Command line, ROS 2, library": ("diffbot_bringup", "diffbot_check"),
}
_VERSION = re.compile(r"^## \[([\d.]+)\] - (\S+)$")
_FORTHCOMING = "Forthcoming"
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_CODE = re.compile(r"`([^`]*)`")
# Characters that reStructuredText reads as mark-up.
_MARKUP = re.compile(r"([\\*|]|_(?!\w))")


@dataclass
class Version:
    """A version of CHANGELOG.md: "1.2.3 (2026-12-31)" or "Forthcoming", and entries by section."""

    title: str
    entries: dict[str, list[str]] = field(default_factory=dict)


def read_versions(text: str) -> list[Version]:
    """Read CHANGELOG.md. Raises ValueError with the line of a section that no package has."""
    versions: list[Version] = []
    kind = section = ""
    for number, line in enumerate(text.splitlines(), start=1):
        if match := _VERSION.match(line):
            number_, date = match.groups()
            dated = re.fullmatch(r"\d{4}-\d\d-\d\d", date)
            versions.append(Version(f"{number_} ({date})" if dated else _FORTHCOMING))
        elif line.startswith("### "):
            kind = line.removeprefix("### ").strip()
        elif line.startswith("#### "):
            section = line.removeprefix("#### ").strip()
            if section not in PACKAGES_OF:
                raise ValueError(
                    f"CHANGELOG.md:{number}: section {section!r} belongs to no package; use one "
                    f"of {', '.join(PACKAGES_OF)}, or add it to PACKAGES_OF"
                )
        elif line.startswith("- ") and versions and section:
            said = "" if kind == "Added" else f"{kind}: "
            versions[-1].entries.setdefault(section, []).append(said + line.removeprefix("- "))
        elif line.startswith("  ") and versions and versions[-1].entries.get(section):
            versions[-1].entries[section][-1] += f" {line.strip()}"
    return versions


def changelog(package: str, versions: list[Version]) -> str:
    """Return the package's CHANGELOG.rst."""
    title = f"Changelog for package {package}"
    lines = ["^" * len(title), title, "^" * len(title)]
    for version in versions:
        lines += ["", version.title, "-" * len(version.title)]
        for section, entries in version.entries.items():
            if package in PACKAGES_OF[section]:
                lines += [f"* {_restructured(entry)}" for entry in entries]
    return "\n".join([*lines, ""])


def _restructured(entry: str) -> str:
    """Return Markdown of one line as reStructuredText; links become their text."""
    text = _LINK.sub(r"\1", entry).replace("**", "")
    parts = _CODE.split(text)
    return "".join(
        f"``{part}``" if place % 2 else _MARKUP.sub(r"\\\1", part)
        for place, part in enumerate(parts)
    )


def changelogs(root: Path) -> dict[Path, str]:
    """Return the files of all packages of a checkout and their texts."""
    versions = read_versions((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    return {p.path / "CHANGELOG.rst": changelog(p.name, versions) for p in find_packages(root)}


def main(root: Path) -> int:
    """Write the files in the checkout root."""
    for file, text in changelogs(root).items():
        file.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parents[3]))
