"""Pictures of a SysId log: each side and axis, its tests predicted by a fit to the other tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_description import write_atomically
from diffbot_ident.figure_style import (
    BLUE,
    INK,
    ORANGE,
    QUIET,
    legend,
    new_figure,
    panel_title,
    quiet,
    say,
)
from diffbot_ident.recording.sysid_analysis import Prediction, SysIdAnalysis
from diffbot_ident.recording.sysid_reader import TESTS
from diffbot_ident.velocity.stretch import Stretch


def draw_sysid(analyses: Sequence[SysIdAnalysis], directory: Path) -> Sequence[Path]:
    """One picture for each side and axis that was driven; the paths."""
    paths = []
    for analysis in analyses:
        if analysis.fit is None:
            continue
        name = analysis.verdict.subject.replace(" ", "_")
        paths.append(directory / f"sysid_{name}.png")
        write_atomically(paths[-1], sysid_picture(analysis).savefig)
    return paths


def sysid_picture(analysis: SysIdAnalysis) -> Figure:
    """The voltage against the velocity that it holds, and each test beside its prediction."""
    verdict = analysis.verdict
    figure = new_figure(f"{verdict.subject.capitalize()} of a SysId log", verdict.headline(), 6.6)
    grid = figure.add_gridspec(
        2, 3, left=0.07, right=0.98, top=0.82, bottom=0.08, hspace=0.42, wspace=0.30
    )
    voltage = figure.add_subplot(grid[:, 0])
    quiet(voltage)
    _voltage(voltage, analysis)
    for i, name in enumerate(TESTS):
        panel = figure.add_subplot(grid[i // 2, 1 + i % 2])
        quiet(panel)
        prediction = analysis.predictions.get(name)
        if prediction is None:
            panel_title(panel, name, "")
            say(panel, "not recorded, or no motion")
        else:
            _prediction(panel, name, prediction, verdict.error_unit)
    legend(figure, below=0.62)
    return figure


def _shown(stretch: Stretch) -> NDArray[np.bool_]:
    count = len(stretch.velocity)
    return np.ones(count, bool) if stretch.fresh is None else np.asarray(stretch.fresh, bool)


def _voltage(panel: Axes, analysis: SysIdAnalysis) -> None:
    """Slow tests hardly accelerate: their voltage is ks sign(v) + kv v, and a little ka dv/dt."""
    fit = analysis.fit
    if fit is None:
        return
    fastest = 0.0
    for name, stretches in analysis.stretches.items():
        if not name.startswith("slow"):
            continue
        for stretch in stretches:
            new = _shown(stretch)
            voltage, velocity = stretch.command[new], stretch.velocity[new]
            panel.plot(velocity, voltage, ".", markersize=2.0, color=BLUE)
            fastest = max(fastest, float(np.abs(velocity).max()))
    for sign in (-1.0, 1.0):
        v = sign * np.array([0.0, fastest])
        panel.plot(v, sign * fit.friction + fit.fit.model.drag * v, color=ORANGE, linewidth=1.6)
    panel.set_xlabel(f"velocity, {analysis.verdict.error_unit}", color=INK, fontsize=9)
    panel.set_ylabel("voltage of the slow tests, V", color=INK, fontsize=9)
    panel_title(panel, "fit", f"ks {fit.friction:.2f} V, kv {fit.fit.model.drag:.2f}")


def _prediction(panel: Axes, name: str, prediction: Prediction, unit: str) -> None:
    begin = 0.0
    for i, (stretch, simulated) in enumerate(
        zip(prediction.stretches, prediction.simulated, strict=True)
    ):
        new = _shown(stretch)
        times = begin + stretch.period * np.arange(len(new))
        first = int(np.argmax(new))
        labels = ("measured", "predicted from the other tests") if i == 0 else (None, None)
        panel.plot(
            times[new], stretch.velocity[new], ".", markersize=3.0, color=BLUE, label=labels[0]
        )
        panel.plot(times[first:], simulated[first:], color=ORANGE, linewidth=1.5, label=labels[1])
        begin = float(times[-1]) + 0.1
    panel.axhline(0.0, color=QUIET, linewidth=0.6)
    panel.set_xlabel("time, s", color=INK, fontsize=9)
    panel.set_ylabel(f"velocity, {unit}", color=INK, fontsize=9)
    panel_title(panel, name, f"rms {prediction.error:.2g}")
