# SPDX-License-Identifier: Apache-2.0
"""The bill of materials of what ./diffbot has installed, in CycloneDX 1.5 (JSON).

It lists what is there, not what was asked for: the Python packages by their metadata, and Debian's
packages of Gazebo by their changelogs. Packages of this checkout and of the machine are not listed.
"""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import Distribution, distributions
from pathlib import Path
from typing import Any
from urllib.parse import quote

from diffbot_bringup.usage import UsageError
from diffbot_bringup.workspace.pins import normalized

OPTION = "--sbom"
_LONGEST_LICENSE = 100  # characters; a longer text is the licence itself, not its name
_CHANGES = re.compile(rb"^(\S+) \((\S+)\)")
_PINNED = re.compile(r"^([\w.-]+)==(\S+)[^\n]*((?:\n    --hash=\S+(?: \\)?)+)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")


def taken_from(words: Sequence[str]) -> tuple[list[str], Path | None]:
    """Return the words without the option, and its file.

    Raises:
        UsageError: The option has no file.
    """
    if OPTION not in words:
        return list(words), None
    at = words.index(OPTION)
    if at + 1 == len(words) or words[at + 1].startswith("-"):
        raise UsageError(f"{OPTION} needs a FILE to write, for example: {OPTION} sbom.cdx.json")
    return [*words[:at], *words[at + 2 :]], Path(words[at + 1])


def write_bill(
    file: Path, sites: Iterable[Path], pins: Iterable[Path], debian: Path | None = None
) -> int:
    """Write the bill of materials; return the number of components.

    Args:
        file: File to write; its folder must exist.
        sites: Folders of installed Python packages; those that do not exist are left out.
        pins: Files of pinned versions, for the hashes.
        debian: Folder into which Debian packages were unpacked; None, or missing: there are none.

    Raises:
        UsageError: The file cannot be written.
    """
    hashes = _pinned_hashes(pins)
    found = {
        component["bom-ref"]: component
        for site in sites
        for component in _python_packages(site, hashes)
    }
    found |= {component["bom-ref"]: component for component in _debian_packages(debian)}
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "component": {"type": "application", "name": "diffbot", "bom-ref": "diffbot"},
        },
        "components": [found[key] for key in sorted(found)],
    }
    try:
        file.write_text(json.dumps(bill, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"{OPTION} {file}: cannot be written: {error.strerror}") from None
    return len(found)


def _python_packages(
    site: Path, hashes: Mapping[tuple[str, str], Sequence[str]]
) -> Iterator[dict[str, Any]]:
    for distribution in distributions(path=[str(site)]):
        name, version = normalized(distribution.metadata["Name"]), distribution.version
        component = _component(name, version, "pypi")
        if licenses := _licenses(distribution):
            component["licenses"] = licenses
        # Of several files of a version it is not known which one was installed.
        own = hashes.get((name, version), ())
        if len(own) == 1:
            component["hashes"] = [{"alg": "SHA-256", "content": own[0]}]
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


def _pinned_hashes(files: Iterable[Path]) -> dict[tuple[str, str], list[str]]:
    return {
        (name, version): _HASH.findall(hashes)
        for file in files
        for name, version, hashes in _PINNED.findall(file.read_text(encoding="utf-8"))
    }
