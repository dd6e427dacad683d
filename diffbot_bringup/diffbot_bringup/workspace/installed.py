"""Find and remove what an interrupted pip left half installed."""

import csv
import shutil
from pathlib import Path


def incomplete(site: Path) -> list[Path]:
    """Return the metadata folders of the distributions in site that miss some of their files.

    pip writes the list of a distribution's files last but its name first, so that a pip that was
    killed leaves distributions that look installed and are not.
    """
    return [info for info in sorted(site.glob("*.dist-info")) if not _is_complete(site, info)]


def _is_complete(site: Path, info: Path) -> bool:
    try:
        with (info / "RECORD").open(newline="") as file:
            rows = [row for row in csv.reader(file) if row]
    except OSError:
        return False
    names = (row[0] for row in rows if not row[0].endswith(".pyc"))
    return bool(rows) and all((site / name).exists() for name in names)


def remove_incomplete(site: Path) -> None:
    """Remove the metadata of incomplete distributions, so that pip installs them again."""
    for info in incomplete(site):
        shutil.rmtree(info)
    for leftover in site.glob("~*"):  # pip's name for what it was about to remove
        shutil.rmtree(leftover, ignore_errors=True)
