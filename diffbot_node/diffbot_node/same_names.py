# SPDX-License-Identifier: Apache-2.0
"""Packages of other projects that have a name of this suite, such as diffbot_description."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_INDEX = "share/ament_index/resource_index/packages"
_NAMES = "diffbot_*"
_OWN = "diffbot_node"
"""Package of this module; packages with its maintainers are of this suite, also other copies."""
_MAINTAINERS = re.compile(r"<maintainer\b[^>]*>\s*(.*?)\s*</maintainer>", re.DOTALL)


@dataclass(frozen=True)
class SameName:
    """A package of another project, in `prefix`, that has the name of the suite's in `own`.

    `used`: it comes first in the path, so that it is used.
    """

    name: str
    prefix: str
    own: str
    used: bool

    def __str__(self) -> str:
        if not self.used:
            return (
                f"the package {self.name} of another project in {self.prefix} is hidden by that "
                f"of this suite in {self.own}: use that project in another terminal"
            )
        return (
            f"{self.name} in {self.prefix} is a package of another project and hides that of this "
            f"suite in {self.own}: source the suite's workspace last, or do not source the other"
        )


def same_names(prefixes: str) -> list[SameName]:
    """Return other projects' packages with a name of this suite, in an AMENT_PREFIX_PATH."""
    places: dict[str, list[str]] = {}
    for prefix in dict.fromkeys(filter(None, prefixes.split(os.pathsep))):
        for marker in sorted(Path(prefix, _INDEX).glob(_NAMES)):
            places.setdefault(marker.name, []).append(prefix)
    own = {_maintainers(prefix, _OWN) for prefix in places.get(_OWN, [])[:1]}
    return [result for name, where in places.items() for result in _others(name, where, own)]


def _others(name: str, where: list[str], own: set[tuple[str, ...]]) -> Iterator[SameName]:
    ours = [prefix for prefix in where if _maintainers(prefix, name) in own]
    for prefix in where:
        if ours and prefix not in ours and _maintainers(prefix, name):
            yield SameName(name, prefix, ours[0], where.index(prefix) < where.index(ours[0]))


def _maintainers(prefix: str, name: str) -> tuple[str, ...]:
    try:
        text = Path(prefix, "share", name, "package.xml").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ()
    return tuple(_MAINTAINERS.findall(text))
