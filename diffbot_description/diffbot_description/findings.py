# SPDX-License-Identifier: Apache-2.0
"""Notes on a robot description: sources of values, replaced values and assumptions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

ASSUMED = "assumed"
"""First word of the source of a value that is not known."""
_NAMED = 4  # maximum number of places listed in one sentence


@dataclass
class DescriptionFindings:
    """Notes collected while a URDF is converted to a robot file.

    Attributes:
        sources: Dotted field of the robot file -> source of its value.
        assumed: Assumptions, one sentence each.
    """

    sources: dict[str, str] = field(default_factory=dict)
    assumed: list[str] = field(default_factory=list)
    _places: dict[tuple[str, str], list[str]] = field(default_factory=dict)

    def replaced(self, where: str, result: str, used: str) -> None:
        self._places.setdefault((result, used), []).append(where)

    @property
    def assumed_fields(self) -> list[str]:
        return [name for name, source in self.sources.items() if source.startswith(ASSUMED)]

    @property
    def corrected(self) -> list[str]:
        """One sentence for each replaced value; equal ones at several places are merged."""
        return [
            f"{joined(where)}: {result}; used: {used}"
            for (result, used), where in self._places.items()
        ]


def joined(names: Sequence[str], most: int = _NAMED) -> str:
    """Join the first names, `most` at most, and state how many more there are."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
