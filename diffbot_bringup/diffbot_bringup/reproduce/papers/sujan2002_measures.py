"""All measures of an excitation, and all readings of the noise, for Sujan and Dubowsky (2002)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from diffbot_bringup.reproduce.comparison import Row, Verdict, improves, shows
from diffbot_bringup.reproduce.papers import sujan2002_published as published
from diffbot_bringup.reproduce.papers.sujan2002_tables import average
from diffbot_bringup.reproduce.section import Table
from diffbot_ident.compliant_base.ensemble import Ensemble, ensemble, equal_sensors
from diffbot_ident.compliant_base.estimation import pseudo_inverse
from diffbot_ident.compliant_base.parameters import TABLE_1, mean_error
from diffbot_ident.compliant_base.sensors import SensorNoise
from diffbot_ident.compliant_base.setting import Setting

# Largest error of the regression without noise, %.
_EXACT = 1e-4
_PRINTED = "printed: from Table 1's rows"


def metrics_table(
    found: Mapping[str, Ensemble], spent: Mapping[str, float], optimised: str, setting: Setting
) -> Table:
    """Errors, ratios and cost of every measure.

    Args:
        found: ensembles by excitation, "constant" first.
        spent: CPU time of each, s.
        optimised: the measure that stands for the paper's.
        setting: of all runs.
    """
    constant, variable = (
        float(mean_error(each, TABLE_1))
        for each in (published.TABLE_1_CONSTANT, published.TABLE_1_VARIABLE)
    )
    measures = [name for name in found if name != "constant"]
    rows = [_exact_row(setting)]
    mean = {name: float(each.errors.mean()) for name, each in found.items()}
    rows.append(average("average error, published", variable, found["published"].errors, _PRINTED))
    rows.append(
        improves(
            "published : constant, average error", "", variable / constant,
            mean["published"] / mean["constant"], why="from means over the seeds",
        )
    )  # fmt: skip
    rows += [
        shows(
            f"average error, {name}", "%", "smaller than with the constant excitation",
            f"{mean[name]:.3g}, {mean[name] / mean['constant']:.2g} of the constant one's",
            mean[name] < mean["constant"], "means over the seeds",
        )
        for name in measures if name != "published"
    ]  # fmt: skip
    histories = mean_error(
        np.array([run.estimates for run in found[optimised].runs]), TABLE_1
    ).mean(0)
    below = histories <= mean["condition number"]
    reached = found[optimised].runs[0].times[np.argmax(below)] if below.any() else np.nan
    rows.append(
        improves(
            "time to the error that the condition number has at 10 s", "s", 1.0, float(reached),
            why=f"{optimised}; the paper: an order of magnitude faster",
        )
    )  # fmt: skip
    choices = len(found[optimised].runs) * setting.intervals
    choice = (spent[optimised] - spent["constant"]) / choices
    rows.append(
        shows(
            "CPU time of one choice", "s", f"{published.EVALUATION:g}, Pentium III at 750 MHz",
            choice, choice < setting.interval, "shorter than the time between two choices",
        )
    )  # fmt: skip
    start = found["constant"].starts.mean()
    return Table(
        "All measures of an excitation",
        rows,
        f"The same {len(found[optimised].runs)} seeds, guesses, sensors and estimator for all. The "
        f"guesses beforehand are off by {start:.0f} % on average.",
    )


def _exact_row(setting: Setting) -> Row:
    silent = replace(setting, noise=SensorNoise(0.0), duration=2.0)
    (run,) = ensemble(TABLE_1, None, [0], silent).runs
    worst = float(mean_error(pseudo_inverse(run.measured), TABLE_1))
    worst = max(worst, float(mean_error(run.estimates[-1], TABLE_1)))
    verdict = Verdict.REPRODUCED if worst < _EXACT else Verdict.NOT_REACHED
    why = f"pseudo-inverse and Kalman filter; {_EXACT:g} % allowed"
    return Row("average error without noise", "%", None, worst, verdict, why)


def readings_table(
    found: Mapping[str, Ensemble], optimised: str, setting: Setting, seeds: Sequence[int]
) -> Table:
    """Ratios of the mean errors with every reading of the noise.

    Args:
        found: ensembles with the first reading.
        optimised: the measure to compare with "constant".
        setting: of these runs.
        seeds: of the runs with the other readings.
    """
    printed = float(
        mean_error(published.TABLE_1_VARIABLE, TABLE_1)
        / mean_error(published.TABLE_1_CONSTANT, TABLE_1)
    )
    settled = replace(setting, settled=4.0)
    readings = {
        "own largest value, from rest": None,
        "own largest value, settled": settled,
        "equal sensors, from rest": equal_sensors(TABLE_1, setting),
        "equal sensors, settled": equal_sensors(TABLE_1, settled),
    }
    rows = []
    for name, reading in readings.items():
        pair = [found["constant"], found[optimised]]
        if reading is not None:
            pair = [ensemble(TABLE_1, each, seeds, reading) for each in (None, optimised)]
        constant, chosen = (float(each.errors.mean()) for each in pair)
        rows.append(
            improves(
                f"{optimised} : constant, {name}", "", printed, chosen / constant,
                why=f"{chosen:.1f} % : {constant:.1f} %",
                spread=f"{len(pair[0].errors)} seeds",
            )
        )  # fmt: skip
    return Table(
        "What the noise is a share of",
        rows,
        "'Up to 10 % of the maximum sensed value' may mean the largest value of that very run, so "
        "that one jolt, as at the start of (24), makes its sensors noisy for good; or the same "
        "sensors for both, scaled by what the constant excitation gives. Settled: the arm has been "
        "moved gently into (24) before measuring, and no jolt of a start is sensed.",
    )
