"""How well the identified model predicts a motion that it has not seen."""

from __future__ import annotations

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diffbot_bringup.report.formatting import significant
from diffbot_bringup.report.samples import PredictionErrors, VerificationSample
from diffbot_ident import figure_style as style

ROWS = (
    ("identified", style.BLUE),
    ("nominal", style.GREEN),
    ("no model", style.QUIET),
)


def verification_figure(verification: VerificationSample, title: str) -> Figure:
    """Errors of the identified parameters, of the description's and of no model.

    Args:
        verification: what a held-out motion said.
        title: what was run.
    """
    verdict = "verified" if verification.passed else f"refuted: {verification.reason}"
    subtitle = (
        f"{verdict}; rms errors of predictions over {verification.duration:.3g} s of another motion"
    )
    figure = style.new_figure(f"Verification of {title}", subtitle, 4.6)
    grid = figure.add_gridspec(
        2, 2, left=0.10, right=0.985, top=0.80, bottom=0.03, hspace=0.42, wspace=0.10
    )
    steps = (
        ("after one control period", verification.one_step),
        (f"after {verification.horizon:.3g} s", verification.at_horizon),
    )
    for row, (name, unit) in enumerate((("velocity v", "m/s"), ("yaw rate ω", "rad/s"))):
        for column, (when, errors) in enumerate(steps):
            axes = figure.add_subplot(grid[row, column])
            style.panel_title(axes, f"{name}, {unit}", when)
            _draw(axes, errors, row, column == 0)
    return figure


def _draw(axes: Axes, errors: PredictionErrors, index: int, labelled: bool) -> None:
    """Three bars, each with its error and its share of the error without a model."""
    values = [pair[index] for pair in (errors.identified, errors.nominal, errors.no_model)]
    base = values[-1]
    largest = max((value for value in values if math.isfinite(value)), default=0.0) or 1.0
    axes.spines[["top", "right", "bottom"]].set_visible(False)
    axes.spines["left"].set_color("#BBBBBB")
    axes.set_xticks([])
    axes.tick_params(axis="y", length=0, labelsize=10, labelcolor=style.INK, labelleft=labelled)
    axes.set_yticks(range(len(ROWS)), [name for name, _ in ROWS])
    axes.set_ylim(len(ROWS) - 0.5, -0.5)
    axes.set_xlim(0.0, 1.38 * largest)
    for i, ((_, colour), value) in enumerate(zip(ROWS, values, strict=True)):
        text = "unknown"
        if math.isfinite(value):
            axes.barh(i, value, 0.62, color=colour)
            text = significant(value, 3)
            if i < len(ROWS) - 1 and base > 0.0:
                text += f"  ({significant(100.0 * value / base, 2)} %)"
        start = value if math.isfinite(value) else 0.0
        axes.text(start + 0.02 * largest, i, text, va="center", fontsize=10, color=style.INK)
