"""Pose over time, and how far it is from the reference."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, NullFormatter

from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.figure_source import source
from diffbot_bringup.drive_report.path_figure import LEGEND
from diffbot_bringup.drive_report.time_panels import DASHES, TIME
from diffbot_bringup.drive_report.tracking_metrics import DriveMetrics
from diffbot_bringup.report.formatting import significant
from diffbot_controllers.tracking_errors import SETTLED_HEADING, SETTLED_POSITION, TrackingErrors
from diffbot_ident import figure_style as style

# Smallest errors that the logarithmic panels show: mm and degrees.
FLOORS = 1e-2, 1e-3
# Name, unit, its size in SI units, and the least height of the panel, in the unit.
QUANTITIES = (("x", "m", 1.0, 0.04), ("y", "m", 1.0, 0.04), ("θ", "°", np.degrees(1.0), 4.0))


def pose_figure(run: DriveRun, metrics: DriveMetrics, title: str) -> Figure:
    """X, y, theta with the reference, and the sizes of the errors of position and heading.

    Args:
        run: with a reference of poses.
        metrics: of the run, for the titles.
        title: what was run.
    """
    subtitle = source(run, "over time with the reference", "Figs. 13–15, 20–22 and 30–32")
    figure = style.new_figure(f"Pose of {title}", subtitle, 7.0)
    edges = {"bottom": 0.075, "top": 0.845}
    left = figure.add_gridspec(3, 1, left=0.075, right=0.52, hspace=0.30, **edges)
    right = figure.add_gridspec(2, 1, left=0.605, right=0.985, hspace=0.22, **edges)
    for row in range(3):
        axes = figure.add_subplot(left[row])
        _quantity(axes, run, row)
        _over_time(axes, run, row == 2)
    errors = (
        (run.odometry_errors, "by odometry", style.ORANGE, 0.8),
        (run.true_errors, "true pose", style.BLUE, 1.6),
    )
    for row, (name, unit, limit, of) in enumerate(
        (
            ("distance", "mm", 1e3 * SETTLED_POSITION, lambda e: 1e3 * e.distance),
            ("heading error", "°", np.degrees(SETTLED_HEADING), lambda e: np.degrees(e.heading)),
        )
    ):
        axes = figure.add_subplot(right[row])
        tracking = metrics.true or metrics.odometry
        style.panel_title(axes, f"{name}, {unit}", _settled(tracking) if row == 0 else "")
        curves = [(np.maximum(of(e), FLOORS[row]), e, *r) for e, *r in errors if e is not None]
        _sizes(axes, curves, limit)
        _over_time(axes, run, row == 1)
        if metrics.window and tracking:
            axes.axvspan(
                metrics.window.begin, metrics.window.end, color=style.GREEN, alpha=0.07, zorder=0
            )
            rms = 1e3 * tracking.rms_position if row == 0 else np.degrees(tracking.rms_heading)
            axes.annotate(
                f"{metrics.window.kind}: rms {significant(rms, 2)} {unit}", (1.0, 1.0), (-4, -12),
                xycoords="axes fraction", textcoords="offset points", ha="right", fontsize=9,
                color=style.INK,
            )  # fmt: skip
    style.legend(figure, LEGEND)
    return figure


def _quantity(axes: Axes, run: DriveRun, column: int) -> None:
    name, unit, scale, least = QUANTITIES[column]
    style.panel_title(axes, f"{name}, {unit}", "")
    reference, odometry, true = (p[:, column] for p in (run.reference, run.odometry, run.true))
    if column == 2:
        # Whole turns apart they are the same heading.
        true = odometry + np.remainder(true - odometry + np.pi, 2.0 * np.pi) - np.pi
        turns = 2.0 * np.pi * np.round((reference - odometry) / (2.0 * np.pi))
        reference = reference - np.nanmedian(turns)
    axes.plot(run.time, scale * true, color=style.BLUE, linewidth=2.0, label="true pose")
    axes.plot(run.time, scale * odometry, color=style.ORANGE, linewidth=1.1, label="by odometry")
    axes.plot(
        run.time, scale * reference, color=style.INK, linewidth=1.2, linestyle=DASHES,
        label="reference",
    )  # fmt: skip
    axes.margins(y=0.12)
    low, high = axes.get_ylim()
    more = 0.5 * max(least - (high - low), 0.0)
    axes.set_ylim(low - more, high + more)


def _sizes(axes: Axes, curves: list[tuple], limit: float) -> None:
    """Errors on a logarithmic scale, with the size that counts as settled."""
    axes.set_yscale("log")
    shown = [np.array([limit])]
    for values, errors, label, colour, width in curves:
        shown.append(values)
        axes.plot(errors.time, values, color=colour, linewidth=width, label=label)
    axes.axhline(
        limit, color=style.GREEN, linewidth=1.1, linestyle=(0, (2, 2)), label="settled: 1 cm, 1°"
    )
    together = np.concatenate(shown)
    axes.set_ylim(0.5 * together.min(), 3.0 * together.max())
    axes.yaxis.set_major_formatter(FuncFormatter(_plain))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(which="minor", color="#BBBBBB", length=2)


def _plain(value: float, _position: int = 0) -> str:
    return f"{value:g}" if 1e-3 <= value < 1e5 else style.power_of_ten(value)


def _settled(tracking: TrackingErrors | None) -> str:
    if tracking is None:
        return ""
    if tracking.settling_time is None:
        return "not settled"
    return f"settled after {tracking.settling_time:.2f} s"


def _over_time(axes: Axes, run: DriveRun, last: bool) -> None:
    style.quiet(axes)
    axes.set_xlim(0.0, max(run.time[-1], 1e-3))
    axes.tick_params(labelbottom=last)
    if last:
        axes.set_xlabel(TIME, fontsize=9, color=style.INK)
