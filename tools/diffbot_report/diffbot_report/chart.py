# SPDX-License-Identifier: Apache-2.0
"""Charts as data: pages draw them with Plotly, figure_style.draw_chart with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike


class Role(Enum):
    """What a curve shows; it has one colour, in light and dark mode."""

    FIRST = "first"  # the estimate, the left wheel, measured values
    SECOND = "second"  # the right wheel, predicted values
    THIRD = "third"
    FOURTH = "fourth"
    TRUTH = "truth"
    WANTED = "wanted"
    QUIET = "quiet"


FOUR = (Role.FIRST, Role.SECOND, Role.THIRD, Role.FOURTH)
"""Roles of curves that only differ in what they are of, in order."""


@dataclass(frozen=True)
class Curve:
    """A line of a chart.

    Attributes:
        y: Shape (n,), as x; NaN leaves a gap.
        half_width: Of a band around the line, shape (n,).
        steps: Whether a value is held until the next one.
        dots, marks: Whether only points are drawn, or points on the line.
    """

    name: str
    x: ArrayLike
    y: ArrayLike
    role: Role = Role.FIRST
    half_width: ArrayLike | None = None
    steps: bool = False
    dashed: bool = False
    dots: bool = False
    marks: bool = False

    @classmethod
    def path(cls, name: str, places: ArrayLike, role: Role = Role.FIRST, **how: bool) -> Curve:
        """Return a curve through places [x, y], or poses that begin with them, shape (n, >= 2)."""
        array = np.asarray(places, float)
        return cls(name, array[:, 0], array[:, 1], role, **how)


@dataclass(frozen=True)
class Chart:
    """Curves over one axis.

    Attributes:
        key: Id in the page.
        group: Charts of one group zoom together; None: alone.
        note: Text beside the title, such as the value at the end.
        limits: Values of y that must not be crossed.
        events: (x, name) of instants to mark.
        logarithmic_x: Whether x is logarithmic, with ticks at the values of the curves.
        y_range: Initial (low, high) of y; None: all values.
        equal: Whether x and y have equal scales, as on a map.
    """

    key: str
    title: str
    unit: str
    curves: Sequence[Curve]
    x_unit: str = "time, s"
    group: str | None = "time"
    note: str = ""
    limits: Sequence[float] = ()
    events: Sequence[tuple[float, str]] = ()
    logarithmic: bool = False
    logarithmic_x: bool = False
    y_range: tuple[float, float] | None = None
    equal: bool = False


@dataclass(frozen=True)
class Intervals:
    """Values of one quantity side by side, shape (n,), each with its interval; NaN: none.

    `below`: lengths below the values, if not as above; `truth`: the true or promised value.
    """

    key: str
    title: str
    unit: str
    names: Sequence[str]
    values: ArrayLike
    half_widths: ArrayLike
    truth: float | None = None
    note: str = ""
    below: ArrayLike | None = None


@dataclass(frozen=True)
class Strips:
    """States over times (n,), s: a strip per name, filled where `holds`, (n, names), is 1."""

    key: str
    title: str
    names: Sequence[str]
    x: ArrayLike
    holds: ArrayLike
    note: str = ""
    x_unit: str = "time, s"


@dataclass(frozen=True)
class ChartGroup:
    """Charts that belong together: a section of the page, and a picture of this file name."""

    picture: str
    title: str
    text: str
    charts: Sequence[Chart | Intervals | Strips]
