# SPDX-License-Identifier: Apache-2.0
"""Charts as data: pages draw them with Plotly, figure_style.draw_chart with matplotlib."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum

from numpy.typing import ArrayLike


class Role(Enum):
    """What a curve shows; the page gives each role one colour, in light and dark mode."""

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
        name: Name for the legend and the readout.
        x: x values, shape (n,).
        y: y values, shape (n,); NaN leaves a gap.
        role: Role, which determines the colour.
        half_width: Half width of a band around the line, shape (n,); None: no band.
        steps: Whether a value is held until the next one.
        dashed: Whether the line is dashed.
        dots: Whether only points are drawn, as for sensor readings.
        marks: Whether a point is drawn at each value of the line.
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


@dataclass(frozen=True)
class Chart:
    """Curves over one axis.

    Attributes:
        key: Id of the chart in the page.
        title: What the chart shows.
        unit: Unit of y.
        curves: Lines; empty ones are left out.
        x_unit: Name and unit of x.
        group: Charts of one group zoom together; None: alone.
        note: Text beside the title, such as the value at the end.
        limits: Values of y that must not be crossed.
        events: (x, name) of instants to mark.
        logarithmic: Whether y is logarithmic.
        logarithmic_x: Whether x is logarithmic, with its ticks at the values of the curves.
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
    """Values of one quantity side by side, each with its interval.

    Attributes:
        key: Id of the chart in the page.
        title: The quantity.
        unit: Unit of the values.
        names: Names of the n values.
        values: Values, shape (n,); NaN is left out.
        half_widths: Half widths of the intervals, shape (n,); NaN: none is drawn.
        below: Lengths of the intervals below the values if they differ from those above, shape
            (n,); None: symmetric.
        truth: The true or promised value; None: unknown.
        note: Text beside the title.
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
class ChartGroup:
    """Charts that belong together: a section of the page, and a picture.

    Attributes:
        picture: Name of the picture's file, without suffix.
        title: Title.
        text: A sentence below the title.
        charts: The charts; none if nothing was found.
    """

    picture: str
    title: str
    text: str
    charts: Sequence[Chart | Intervals]
