"""Tables 1 and 2 of Sujan and Dubowsky (2002) beside ours."""

from __future__ import annotations

import numpy as np

from diffbot_bringup.reproduce.comparison import Row, cannot_be, improves, matches
from diffbot_bringup.reproduce.papers import sujan2002_published as published
from diffbot_bringup.reproduce.section import Table
from diffbot_ident.compliant_base.ensemble import Ensemble
from diffbot_ident.compliant_base.parameters import NAMES, TABLE_1, UNITS, mean_error


def table_1(name: str, printed: np.ndarray, found: Ensemble) -> Table:
    """All 22 parameters.

    Args:
        name: of the excitation, "constant" or a measure.
        printed: the paper's estimates, shape (22,).
        found: ours.
    """
    last = np.array([run.estimates[-1] for run in found.runs])
    rows: list[Row] = []
    for i, (parameter, unit, truth) in enumerate(zip(NAMES, UNITS, TABLE_1, strict=True)):
        zero = truth == 0.0
        scale = 1.0 if zero else 100.0 / abs(truth)
        errors = scale * np.abs(last[:, i] - truth)
        rows.append(
            improves(
                f"|error| of {parameter}",
                unit if zero else "%",
                scale * abs(printed[i] - truth),
                float(errors.mean()),
                why=f"truth {truth:g}, printed {printed[i]:g}, ours {last[:, i].mean():.4g} {unit}",
                spread=f"± {errors.std(ddof=1):.2g}, {len(errors)} seeds",
            )
        )
    own = float(mean_error(printed, TABLE_1))
    stated = published.TABLE_1_AVERAGES[0 if name == "constant" else 1]
    rows.append(
        cannot_be(
            "average error as printed", "%", stated, own,
            f"ours: from the printed rows that are not zero in truth; all 22, with zeros counted "
            f"as no error, give {own * np.count_nonzero(TABLE_1) / len(TABLE_1):.1f}",
        )
    )  # fmt: skip
    rows.append(average(f"average error, {name}", own, found.errors, "printed rows against ours"))
    return Table(
        f"Table 1, {'constant excitation' if name == 'constant' else 'excitation by ' + name}",
        rows,
        "Means of |error| over the seeds at 10 s. Errors of parameters that are zero in truth are "
        "in their unit and have no part in the average. Better means nearer to the truth than the "
        "paper's single run.",
    )


def average(quantity: str, printed: float, errors: np.ndarray, why: str) -> Row:
    """A mean error, %, with its spread over the seeds, shape (seeds,)."""
    spread = f"± {errors.std(ddof=1):.1f}, {len(errors)} seeds"
    return improves(quantity, "%", printed, float(errors.mean()), why=why, spread=spread)


def table_2() -> Table:
    """The experiment; only its averages can be recomputed."""
    reason = "a measurement on the authors' robot; its data are not published"
    rows = []
    for name, unit, truth, constant, variable in published.TABLE_2:
        for excitation, value in (("constant", constant), ("variable", variable)):
            what = f"{name}, {excitation} excitation"
            rows.append(cannot_be(what, unit, value, "no data", f"{reason}; truth {truth:g}"))
    values = np.array([row[2:] for row in published.TABLE_2])
    errors = 100.0 * np.abs(values[:, 1:] / values[:, :1] - 1.0).mean(axis=0)
    for excitation, printed, ours in zip(
        ("constant", "variable"), published.TABLE_2_AVERAGES, errors, strict=True
    ):
        what = f"average error, {excitation} excitation"
        rows.append(matches(what, "%", printed, float(ours), why="recomputed from the rows"))
    return Table("Table 2, experiment", rows)
