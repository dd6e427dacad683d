# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of what ./diffbot has installed, in CycloneDX 1.5 (JSON).

Python packages by their metadata, and Debian's packages of Gazebo by their changelogs.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timezone
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

from diffbot_bringup.usage import UsageError

OPTION = "--sbom"
_LONGEST_LICENSE = 100  # characters; a longer text is the licence itself, not its name
_CHANGES = re.compile(rb"^(\S+) \((\S+)\)")


def taken_from(words: Sequence[str]) -> tuple[list[str], Path | None]:
    """Return the words without the option, and its file; UsageError if it has none."""
    if OPTION not in words:
        return list(words), None
    at = words.index(OPTION)
    if at + 1 == len(words) or words[at + 1].startswith("-"):
        raise UsageError(f"{OPTION} needs a FILE to write, for example: {OPTION} sbom.cdx.json")
    return [*words[:at], *words[at + 2 :]], Path(words[at + 1])


def write_bill(file: Path, sites: Iterable[Path], debian: Path | None = None) -> int:
    """Write the bill of materials; return the number of components.

    `sites`: folders of installed Python packages; `debian`: of unpacked Debian packages.
    """
    results = {each["bom-ref"]: each for site in sites for each in _python_packages(site)}
    results |= {component["bom-ref"]: component for component in _debian_packages(debian)}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "component": {"type": "application", "name": "diffbot", "bom-ref": "diffbot"},
        },
        "components": [results[key] for key in sorted(results)],
    }
    try:
        file.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{OPTION} {file}: cannot be written: {error.strerror}") from None
    return len(results)


def _python_packages(site: Path) -> Iterator[dict[str, Any]]:
    for distribution in distributions(path=[str(site)]):
        # The normalized form of a name, in which addresses have it.
        name = re.sub(r"[-_.]+", "-", distribution.metadata["Name"]).lower()
        component = _component(name, distribution.version, "pypi")
        if licenses := _licenses(distribution):
            component["licenses"] = licenses
        yield component


def _licenses(distribution: Distribution) -> list[dict[str, Any]]:
    metadata = distribution.metadata

    def field(name: str) -> str:
        return str((metadata.get_all(name) or [""])[0]).strip()

    if expression := field("License-Expression"):
        return [{"expression": expression}]
    text = field("License")
    if text and len(text) <= _LONGEST_LICENSE and "\n" not in text:
        return [{"license": {"name": text}}]
    classifiers = metadata.get_all("Classifier") or ()
    names = [line.rpartition(" :: ")[2] for line in classifiers if line.startswith("License :: ")]
    return [{"license": {"name": name}} for name in names]


def _debian_packages(prefix: Path | None) -> Iterator[dict[str, Any]]:
    """Yield the packages whose changelogs are there; a package without one shares another's."""
    if prefix is None:
        return
    for path in sorted(prefix.glob("usr/share/doc/*/changelog*.gz")):
        with gzip.open(path) as file:
            match = _CHANGES.match(file.readline(1000))
        if match and path.name.startswith("changelog.Debian"):
            yield _component(path.parent.name, match[2].decode(), "deb/debian")


def _component(name: str, version: str, kind: str) -> dict[str, Any]:
    address = f"pkg:{kind}/{quote(name)}@{quote(version)}"
    return {
        "type": "library",
        "bom-ref": address,
        "name": name,
        "version": version,
        "purl": address,
    }
