"""Pictures of velocity axes: what was measured, what unseen samples were told to be, dead times."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_description import write_atomically
from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.figure_style import (
    BLUE,
    GREEN,
    INK,
    ORANGE,
    QUIET,
    legend,
    new_figure,
    panel_title,
    quiet,
    say,
)
from diffbot_ident.recording.velocity_analysis import AxisAnalysis, HeldOut
from diffbot_ident.recording.verdict import Verdict

Array = NDArray[np.float64]

# Motion that is drawn, s: more would be a blur.
SHOWN = 60.0


def draw_axes(axes: Mapping[str, AxisAnalysis], directory: Path) -> Sequence[Path]:
    """One picture for each axis, named after it; the paths.

    Args:
        axes: by name, such as "v" and "w".
        directory: exists.
    """
    paths = []
    for name, analysis in axes.items():
        paths.append(directory / f"axis_{name}.png")
        write_atomically(paths[-1], axis_picture(analysis).savefig)
    return paths


def axis_picture(analysis: AxisAnalysis) -> Figure:
    """Held-out simulation, its residual, and the dead time's scan."""
    verdict = analysis.verdict
    figure = new_figure(f"The {verdict.subject} from a recording", verdict.headline(), 6.2)
    grid = figure.add_gridspec(
        2,
        2,
        left=0.08,
        right=0.98,
        top=0.80,
        bottom=0.09,
        hspace=0.45,
        wspace=0.2,
        height_ratios=(1.6, 1.0),
        width_ratios=(2.2, 1.0),
    )
    top = figure.add_subplot(grid[0, :])
    residual, scan = figure.add_subplot(grid[1, 0]), figure.add_subplot(grid[1, 1])
    for panel in (top, residual, scan):
        quiet(panel)
    shown = _shown(analysis.held_out)
    if analysis.fit is None or not shown:
        for panel in (top, residual, scan):
            say(panel, verdict.outcome.value)
        return figure
    _velocities(top, shown, verdict)
    _residuals(residual, shown, verdict)
    _dead_times(scan, analysis)
    legend(figure, below=0.62)
    return figure


def _shown(held_out: Sequence[HeldOut]) -> list[tuple[float, HeldOut]]:
    """Stretches that are drawn, each with its beginning on the time axis: the longest ones."""
    by_length = sorted(held_out, key=lambda part: -part.stretch.duration)
    chosen, begin = [], 0.0
    for part in by_length:
        if begin < SHOWN:
            chosen.append((begin, part))
            begin += part.stretch.duration + 1.0
    return chosen


def _times(begin: float, part: HeldOut) -> Array:
    return begin + part.stretch.period * np.arange(len(part.simulated))


def _new(part: HeldOut) -> NDArray[np.bool_]:
    fresh = part.stretch.fresh
    return np.ones(len(part.simulated), bool) if fresh is None else np.asarray(fresh, bool)


def _velocities(panel: Axes, shown: Sequence[tuple[float, HeldOut]], verdict: Verdict) -> None:
    for i, (begin, part) in enumerate(shown):
        times, new = _times(begin, part), _new(part)
        names = ("command", "measured", "simulated, samples unseen by its fit")
        command, measured, simulated = names if i == 0 else (None, None, None)
        panel.plot(
            times,
            part.stretch.command,
            color=QUIET,
            linewidth=1.0,
            drawstyle="steps-post",
            label=command,
        )
        panel.plot(
            times[new], part.stretch.velocity[new], ".", markersize=3.0, color=BLUE, label=measured
        )
        panel.plot(times, part.simulated, color=ORANGE, linewidth=1.6, label=simulated)
    panel.set_xlim(0.0, min(SHOWN, max(_times(b, p)[-1] for b, p in shown)))
    panel.set_xlabel("time of motion, s", color=INK, fontsize=9)
    panel_title(
        panel,
        f"velocity, {verdict.error_unit}",
        f"held out: R² {verdict.r_squared_held_out:.3f}",
    )


def _residuals(panel: Axes, shown: Sequence[tuple[float, HeldOut]], verdict: Verdict) -> None:
    for begin, part in shown:
        new = _new(part)
        error = (part.stretch.velocity - part.simulated)[new]
        panel.plot(_times(begin, part)[new], error, ".", markersize=2.5, color=GREEN)
    panel.axhline(0.0, color=QUIET, linewidth=0.8)
    panel.set_xlim(0.0, min(SHOWN, max(_times(b, p)[-1] for b, p in shown)))
    panel.set_xlabel("time of motion, s", color=INK, fontsize=9)
    panel_title(panel, f"residual, {verdict.error_unit}", f"rms {verdict.error_held_out:.3g}")


def _dead_times(panel: Axes, analysis: AxisAnalysis) -> None:
    fit = analysis.fit
    if fit is None:
        return
    panel.plot(fit.scanned, fit.errors, ".-", color=BLUE, markersize=4.0, linewidth=1.0)
    half = NORMAL_95 * fit.dead_time_std
    if np.isfinite(half):
        panel.axvspan(
            max(fit.dead_time - half, 0.0), fit.dead_time + half, color=ORANGE, alpha=0.25
        )
    panel.axvline(fit.dead_time, color=ORANGE, linewidth=1.4)
    panel.set_xlim(0.0, max(float(fit.scanned[-1]), fit.dead_time))
    panel.set_xlabel("dead time tried, s", color=INK, fontsize=9)
    spread = f"± {half:.2g}" if np.isfinite(half) else "unknown"
    panel_title(panel, "residual", f"{fit.dead_time:.3f} {spread} s")
