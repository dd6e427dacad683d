"""Curves in the plane, with no time yet."""

from __future__ import annotations

from typing import NamedTuple, Protocol


class PathPoint(NamedTuple):
    """A point of a curve, at the parameter p; primes are derivatives with respect to p.

    Attributes:
        x: position, m.
        y: position, m.
        theta: direction of the tangent, rad; continuous in p.
        ds: s', path per parameter, m, >= 0.
        dds: s'', m.
        dtheta: theta', rad.
        ddtheta: theta'', rad.
    """

    x: float
    y: float
    theta: float
    ds: float
    dds: float
    dtheta: float
    ddtheta: float


class Path(Protocol):
    """A curve with a continuous curvature."""

    @property
    def length(self) -> float:
        """Parameter at the end; of closed curves, after one lap."""

    def at(self, p: float) -> PathPoint:
        """The point at parameter p, 0 <= p <= length; closed curves take any p >= 0."""
