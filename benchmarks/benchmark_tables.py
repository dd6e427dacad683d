# SPDX-License-Identifier: Apache-2.0
"""Options of the command line, intervals against the truth, and tables of the benchmarks."""

from __future__ import annotations

import argparse
import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from diffbot_ident.estimate import NORMAL_95
from diffbot_study.study import add_cluster_options

# Narrowest column of a table, characters.
NARROWEST = 8


def options(
    text: str | None, robots: int | None = None, seed: int = 0, cluster: bool = False
) -> argparse.ArgumentParser:
    """Return the parser of a script.

    Args:
        text: Its docstring.
        robots: Default of --robots, the number of robots, runs or starts; None: no such option,
            and no --seed.
        seed: Default of --seed, the first seed.
        cluster: Whether the robots may be tasks of a cluster.
    """
    parser = argparse.ArgumentParser(
        description=text, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if robots is not None:
        parser.add_argument(
            "--robots", type=int, default=robots, help="robots or runs, each %(default)s"
        )
        parser.add_argument("--seed", type=int, default=seed, help="first seed, %(default)s")
    if cluster:
        add_cluster_options(parser, limit=None)
    return parser


# Intervals.


def contains(values: ArrayLike, deviations: ArrayLike, truth: ArrayLike) -> NDArray[np.bool_]:
    """Return whether the 95 % intervals contain the truth; arrays of one shape."""
    return np.abs(np.subtract(values, truth)) <= NORMAL_95 * np.asarray(deviations)


def wilson(inside: ArrayLike) -> str:
    """Return the share of True in %, with its 95 % interval by Wilson."""
    n, z = np.size(inside), NORMAL_95
    fraction = float(np.mean(inside))
    middle = (fraction + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(fraction * (1 - fraction) / n + (z / (2 * n)) ** 2)
    return f"{100 * fraction:.1f} ({100 * (middle - half):.0f} to {100 * (middle + half):.0f})"


def by_robots(inside: Sequence[ArrayLike]) -> str:
    """Return the share of True in %, with its 95 % interval by the scatter between robots.

    Args:
        inside: Of each robot, whether its intervals hold: they share errors, so that those of one
            robot count for less than as many of as many robots.
    """
    shares = np.array([np.mean(one) for one in inside])
    weights = np.array([np.size(one) for one in inside], dtype=float)
    weights /= weights.sum()
    mean = float(weights @ shares)
    half = NORMAL_95 * math.sqrt(float(weights**2 @ (shares - mean) ** 2))
    return f"{100 * mean:.1f} +- {100 * half:.1f} by the scatter between {len(shares)} robots"


INTERVALS = (
    "intervals hold, %",
    "median",
    "mean",
    "median size",
    "95 % below",
    "half width",
    "rms, sigma",
)
"""Columns of `interval_cells`."""


def interval_cells(errors: ArrayLike, deviations: ArrayLike, unit: float = 100.0) -> list[Any]:
    """Return the columns INTERVALS of one quantity.

    Args:
        errors: Errors, shape (n,); those without a finite deviation are left out.
        deviations: Standard deviations of the estimates.
        unit: Factor of the printed errors.
    """
    error, deviation = np.asarray(errors, float), np.asarray(deviations, float)
    known = np.isfinite(error) & np.isfinite(deviation)
    error, deviation = error[known], deviation[known]
    if not len(error):
        return ["none"]
    size = np.abs(error)
    return [
        wilson(contains(error, deviation, 0.0)),
        unit * float(np.median(error)),
        unit * float(error.mean()),
        unit * float(np.median(size)),
        unit * float(np.percentile(size, 95.0)),
        unit * NORMAL_95 * float(np.median(deviation)),
        float(np.sqrt(np.mean((error / deviation) ** 2))),
    ]


# Tables.


class Table:
    """A table of text that is printed row by row.

    Args:
        heads: Names of the columns; the first is as wide as `width`.
        width: Width of the first column, characters.
    """

    def __init__(self, *heads: str, width: int = 24) -> None:
        self._widths = [width, *(max(len(head), NARROWEST) for head in heads[1:])]
        self.row(*heads)

    def row(self, *cells: object) -> None:
        """Print a row; numbers get four digits, several of a cell are separated by spaces."""
        texts = [text(cell) for cell in cells]
        padded = [
            each.rjust(width) if number else each.ljust(width)
            for number, (each, width) in enumerate(zip(texts, self._widths, strict=False))
        ]
        print(" | ".join([*padded, *texts[len(padded) :]]), flush=True)


def text(cell: object) -> str:
    """Return the text of a cell: numbers with four digits, `-` for what is not a number."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, (bool, int, np.integer)):
        return str(cell)
    if isinstance(cell, (float, np.floating)):
        return "-" if math.isnan(cell) else f"{cell:.4g}"
    if isinstance(cell, Iterable):
        return " ".join(text(each) for each in cell)
    return str(cell)


def percent(fraction: ArrayLike) -> str:
    """Return shares in %, with one digit."""
    return " ".join(f"{100.0 * each:.1f}" for each in np.atleast_1d(fraction).ravel())


def spread(values: Iterable[float]) -> tuple[float, float]:
    """Return median and largest value."""
    known = sorted(values)
    return statistics.median(known), known[-1]
