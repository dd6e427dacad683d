"""How far an estimate may be trusted: coverage, whiteness and information in one picture."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from diffbot_bringup.report.quantity import UNITS
from diffbot_bringup.report.recording import IdentRecording
from diffbot_bringup.report.samples import ESTIMATED, ParameterSample
from diffbot_ident import figure_style as style

TIME = "robot time since the excitation began, s"
RESIDUALS = ("linear v̇", "angular ω̇")


def has_trust(recording: IdentRecording) -> bool:
    """Whether the ident node said anything that the picture would show."""
    sample = recording.latest
    return sample is not None and sample.coverage is not None


def trust_figure(recording: IdentRecording, title: str) -> Figure:
    """Coverage of each parameter, correlation of the residuals, information over time.

    Args:
        recording: the run; its newest estimate knows its coverage.
        title: what was run.
    """
    subtitle = "what was seen of the needed motion, what the model leaves over, what was learned"
    figure = style.new_figure(f"Trust in the estimate of {title}", subtitle, 3.6)
    grid = figure.add_gridspec(
        1, 3, width_ratios=(1.0, 1.0, 1.7), left=0.05, right=0.985, top=0.71, bottom=0.15,
        wspace=0.34,
    )  # fmt: skip
    coverage, correlation, information = (figure.add_subplot(grid[0, i]) for i in range(3))
    _draw_coverage(coverage, recording.latest)
    _draw_correlation(correlation, recording.latest)
    _draw_information(information, recording)
    style.legend(figure)
    return figure


def _bars(axes: Axes, names: tuple[str, ...]) -> None:
    style.quiet(axes)
    axes.grid(False, axis="y")
    axes.set_yticks(range(len(names)), names)
    axes.set_ylim(len(names) - 0.4, -0.6)  # The first on top.
    axes.tick_params(axis="y", length=0)


def _draw_coverage(axes: Axes, sample: ParameterSample | None) -> None:
    """Share of the needed excitation; orange where the parameter is not identified."""
    shares = sample.coverage if sample and sample.coverage else (0.0,) * 4
    states = (sample.states if sample else None) or (ESTIMATED,) * 4
    _bars(axes, tuple(UNITS))
    style.panel_title(axes, "coverage", "")
    axes.axvline(1.0, color=style.QUIET, linewidth=1.0)
    for i, (share, state) in enumerate(zip(shares, states, strict=True)):
        good = state == ESTIMATED
        axes.barh(
            i, share, 0.55, color=style.BLUE if good else style.ORANGE,
            hatch="" if good else "///", edgecolor="white", linewidth=0.0,
        )  # fmt: skip
        inside = share > 0.75
        boxed = {"facecolor": "white", "linewidth": 0, "pad": 1} if inside and not good else None
        axes.text(
            share - 0.03 if inside else share + 0.03, i, f"{100.0 * share:.0f} %", va="center",
            ha="right" if inside else "left", color="white" if inside and good else style.INK,
            fontsize=9, bbox=boxed,
        )  # fmt: skip
    if any(state != ESTIMATED for state in states):
        axes.set_xlabel("hatched: not identified", fontsize=9, color=style.INK)
    axes.set_xlim(0.0, max(1.02, *shares))
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, symbol=" %"))


def _draw_correlation(axes: Axes, sample: ParameterSample | None) -> None:
    """Autocorrelation of the residuals; a right model leaves noise without any."""
    found = sample.residual_correlation if sample else (np.nan, np.nan)
    _bars(axes, RESIDUALS)
    style.panel_title(axes, "residual correlation", "")
    axes.axvline(0.0, color=style.QUIET, linewidth=1.0)
    for i, value in enumerate(found):
        known = bool(np.isfinite(value))
        if known:
            axes.barh(i, value, 0.4, color=style.PURPLE)
        text = f"{value:+.2f}".replace("-", "−") if known else "not known yet"
        end = value if known else 0.0
        axes.text(
            end + (0.04 if end >= 0.0 else -0.04), i, text, va="center", fontsize=9,
            ha="left" if end >= 0.0 else "right", color=style.INK,
        )  # fmt: skip
    axes.set_xlim(-1.0, 1.0)
    axes.tick_params(axis="y", labelrotation=90)
    for label in axes.get_yticklabels():
        label.set_verticalalignment("center")
    axes.set_xlabel("0: white, as it should be", fontsize=9, color=style.INK)


def _draw_information(axes: Axes, recording: IdentRecording) -> None:
    times, rows = recording.information()
    style.quiet(axes)
    drawn = False
    for column, label, colour, dashes in (
        (1, "predicted", style.ORANGE, (0, (5, 3))),
        (0, "achieved", style.BLUE, "-"),
    ):
        known = np.isfinite(rows[:, column])
        if known.any() and rows[known, column].any():
            axes.plot(
                times[known], rows[known, column], color=colour, linestyle=dashes, linewidth=1.8,
                label=label,
            )  # fmt: skip
            drawn = True
    last = rows[-1, 0] if len(rows) else np.nan
    style.panel_title(axes, "information", f"{last:.1f} bits" if drawn else "")
    if not drawn:
        style.say(axes, "not known")
    axes.set_xlim(0.0, float(times[-1]) if len(times) and times[-1] > 0.0 else 1.0)
    axes.set_xlabel(TIME, fontsize=9, color=style.INK)
