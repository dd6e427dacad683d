# SPDX-License-Identifier: Apache-2.0
"""CHANGELOG.rst of each package, from CHANGELOG.md, as ROS's release tools read it."""

from pathlib import Path

import pytest

from diffbot_bringup.workspace.changelogs import (
    PACKAGES_OF,
    changelog,
    changelogs,
    read_versions,
)
from diffbot_bringup.workspace.packages import find_packages

ROOT = Path(__file__).resolve().parents[2]
TEXT = """# Changelog

## [0.2.0] - unreleased

### Fixed

#### Safety

- A stop after `kill -9`.

## [0.1.0] - 2026-12-01

The first release.

### Added

#### Control

- Laws for **all** robots,
  also `a*b` and [poses](docs/poses.md), a*b and c_ and d_e.
- More.

#### Safety

- A watchdog.
"""


def test_the_files_are_those_of_the_changelog():
    for file, text in changelogs(ROOT).items():
        assert file.exists() and file.read_text(encoding="utf-8") == text, (
            "CHANGELOG.md has changed: ./diffbot python -m diffbot_bringup.workspace.changelogs"
        )


def test_every_package_has_a_section_and_every_section_existing_packages():
    named = {package for packages in PACKAGES_OF.values() for package in packages}
    assert named == {package.name for package in find_packages(ROOT)}


def test_ros_tools_read_versions_dates_and_entries():
    read = pytest.importorskip("catkin_pkg.changelog")
    text = changelog("diffbot_controllers", read_versions(TEXT))
    made = read.populate_changelog_from_rst(read.Changelog("diffbot_controllers"), text)
    # What is not released yet is no version for them.
    ((version, date, content),) = made.foreach_version()
    assert version == "0.1.0" and date.date().isoformat() == "2026-12-01"
    entries = [str(bullet) for bullet in content[0].bullets]
    assert entries[0].startswith("Laws for all robots, also ``a*b`` and poses, a*b and c")
    assert entries[1:] == ["More.", "A watchdog."]
    assert "Forthcoming\n-----------\n* Fixed: A stop after ``kill -9``.\n" in text
    assert "watchdog" not in changelog("diffbot_msgs", read_versions(TEXT))


@pytest.mark.parametrize("package", find_packages(ROOT), ids=lambda package: package.name)
def test_a_release_of_today_has_all_entries_of_a_package(package, capfd):
    read = pytest.importorskip("catkin_pkg.changelog")
    released = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = read_versions(released.replace("- unreleased", "- 2026-12-31"))
    text = changelog(package.name, versions)
    made = read.populate_changelog_from_rst(read.Changelog(package.name), text)
    ((_, _, content), *_) = made.foreach_version()
    sections = versions[0].entries.items()
    counts = [len(entries) for name, entries in sections if package.name in PACKAGES_OF[name]]
    assert len(content[0].bullets) == sum(counts) > 0
    assert "WARNING" not in "".join(capfd.readouterr())


def test_a_section_of_no_package_is_refused():
    with pytest.raises(ValueError, match="CHANGELOG.md:7: section 'Sefety' belongs to no package"):
        read_versions(TEXT.replace("#### Safety", "#### Sefety"))
