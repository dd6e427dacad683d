"""Pictures beside Figs. 6-9 of Sujan and Dubowsky (2002)."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from diffbot_bringup.reproduce.section import Picture, picture
from diffbot_ident import figure_style as style
from diffbot_ident.compliant_base.ensemble import Ensemble
from diffbot_ident.compliant_base.metrics import MOST_BITS
from diffbot_ident.compliant_base.parameters import NAMES

_SHOWN = ("stiffness pitch", "stiffness yaw")


def pictures(found: Mapping[str, Ensemble], optimised: str) -> list[Picture]:
    """All pictures.

    Args:
        found: ensembles by excitation; "constant" and the optimised one among them.
        optimised: which one Figs. 7 to 9 stand for.
    """
    return [
        picture(
            "sujan2002-motions",
            "Angle of the arm, constant (beside Fig. 6) and chosen every 0.4 s by the "
            f"{optimised} (beside Fig. 7), of the first seed.",
            _motions(found, optimised),
        ),
        picture(
            "sujan2002-stiffness",
            "Information (15) about the pitch stiffness, beside Fig. 8, and its estimates, "
            "beside Fig. 9, and the same for yaw. One line per seed; they begin with different "
            "guesses. The filter's covariance, and so its information, knows nothing of the bias "
            "that noise of the regressors brings: large in yaw with the constant excitation.",
            _stiffness(found, optimised),
        ),
        picture(
            "sujan2002-errors",
            "Mean error of the 20 parameters that are not zero after 10 s, one dot per seed, the "
            "mean as a line. Dashed: what Table 1's own rows give.",
            _errors(found),
        ),
    ]


def _motions(found: Mapping[str, Ensemble], optimised: str) -> Figure:
    figure = style.new_figure(
        "What the arm does", "angle over 10 s, within 0 to 90° and the limits of the arm", 4.4
    )
    axes = figure.subplots(2, 1, sharex=True, sharey=True)
    figure.subplots_adjust(left=0.075, right=0.985, top=0.80, bottom=0.11, hspace=0.35)
    for panel, name, colour in zip(
        axes, ("constant", optimised), (style.ORANGE, style.BLUE), strict=True
    ):
        run = found[name].runs[0]
        style.quiet(panel)
        angle = np.degrees(run.motion.angle)
        times = run.times[-1] * np.arange(1, len(angle) + 1) / len(angle)
        panel.plot(times, angle, color=colour, linewidth=1.4)
        panel.set_ylim(-5.0, 95.0)
        panel.set_yticks([0, 45, 90])
        style.panel_title(panel, name, "f, °")
    axes[-1].set_xlim(0.0, 10.0)
    axes[-1].set_xlabel("time, s", color=style.INK)
    return figure


def _stiffness(found: Mapping[str, Ensemble], optimised: str) -> Figure:
    figure = style.new_figure(
        "Pitch and yaw stiffness: what is known, and the estimate", "every seed; 10 s", 6.4
    )
    panels = figure.subplots(2, 2, sharex=True)
    figure.subplots_adjust(left=0.06, right=0.985, top=0.82, bottom=0.085, wspace=0.2, hspace=0.28)
    for (left, right), shown in zip(panels, _SHOWN, strict=True):
        index = NAMES.index(shown)
        for name, colour in (("constant", style.ORANGE), (optimised, style.BLUE)):
            for i, run in enumerate(found[name].runs):
                look = {"color": colour, "linewidth": 1.1, "alpha": 0.75}
                label = name if i == 0 else None
                left.plot(run.times, MOST_BITS * run.shares[:, index], label=label, **look)
                right.plot(run.times, run.estimates[:, index], **look)
        truth = found["constant"].truth[index]
        right.axhline(truth, color=style.INK, linestyle="--", linewidth=1.0, label="truth")
        left.axhline(0.5 * MOST_BITS, color=style.QUIET, linestyle=":", linewidth=1.2)
        _finish(left, f"{shown}: information", "bits")
        _finish(right, f"{shown}: estimate", "N m/rad")
        left.set_ylim(0.0, MOST_BITS)
    panels[0, 0].annotate(
        "above the dotted line, (16) prefers less", (9.9, 1.0), ha="right", fontsize=9,
        color=style.QUIET,
    )  # fmt: skip
    for bottom in panels[1]:
        bottom.set_xlabel("time, s", color=style.INK)
    style.legend(figure, below=0.42)
    return figure


def _finish(axes: Axes, title: str, unit: str) -> None:
    style.quiet(axes)
    axes.set_xlim(0.0, 10.0)
    style.panel_title(axes, title, unit)


def _errors(found: Mapping[str, Ensemble]) -> Figure:
    figure = style.new_figure(
        "Mean error by excitation", "%, one dot per seed, the same guesses and sensors", 3.6
    )
    axes = figure.subplots()
    figure.subplots_adjust(left=0.175, right=0.985, top=0.80, bottom=0.13)
    style.quiet(axes)
    for row, (name, each) in enumerate(found.items()):
        colour = style.ORANGE if name == "constant" else style.BLUE
        axes.plot(each.errors, np.full(len(each.errors), row), "o", color=colour, alpha=0.6)
        mean = each.errors.mean()
        axes.plot([mean, mean], [row - 0.3, row + 0.3], color=style.INK, linewidth=2.0)
        axes.annotate(
            f"{mean:.1f}", (mean, row - 0.3), (0, 3), textcoords="offset points", ha="center",
            fontsize=9, color=style.INK,
        )  # fmt: skip
    axes.set_yticks(range(len(found)), list(found))
    axes.set_ylim(len(found) - 0.5, -0.7)
    axes.set_xlim(left=0.0)
    axes.set_xlabel("mean error after 10 s, %", color=style.INK)
    return figure
