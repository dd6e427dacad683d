"""Parameters of nodes for limits of speed and acceleration."""

from __future__ import annotations

from types import SimpleNamespace

from diffbot_node import Parameter
from pose2d_trajectories.limits import UNITS, Limits

PREFIX = "max_"


def limit_parameters(*names: str) -> tuple[Parameter, ...]:
    """A parameter for each of these fields of Limits."""
    return tuple(
        Parameter(
            PREFIX + name,
            0.0,
            f"largest {name.replace('_', ' ')}, {UNITS[name]}; 0: no limit",
            minimum=0.0,
        )
        for name in names
    )


def limits(values: SimpleNamespace) -> Limits:
    """The limits that a node's parameters give; fields without a parameter have none.

    Raises:
        ValueError: a limit is too small or too large.
    """
    given = {name: getattr(values, PREFIX + name, 0.0) for name in UNITS}
    return Limits(**{name: value for name, value in given.items() if value})
