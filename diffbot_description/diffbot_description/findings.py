# SPDX-License-Identifier: Apache-2.0
"""What a description of a robot leaves to say: sources, what was replaced, what was assumed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

_NAMED = 4  # places of one sentence that are named


@dataclass
class DescriptionFindings:
    """Collected on the way from a URDF to a robot file.

    sources: dotted field of the robot file -> where its value comes from. assumed: what the URDF
    does not tell, one sentence each.
    """

    sources: dict[str, str] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    _places: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def replaced(self, where: str, found: str, used: str) -> None:
        """Note what the URDF says and is not used as it stands, and what is used instead."""
        self._places.setdefault((found, used), []).append(where)

    @property
    def corrected(self) -> list[str]:
        """One sentence for each; those that say the same of several places are one."""
        return [
            f"{joined(where)}: {found}; used: {used}"
            for (found, used), where in self._places.items()
        ]


def joined(names: Sequence[str], most: int = _NAMED) -> str:
    """The first names, so many at most, and how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
