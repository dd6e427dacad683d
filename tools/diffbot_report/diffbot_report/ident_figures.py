# SPDX-License-Identifier: Apache-2.0
"""Pictures of an identification run, after Figs. 10-17 of Lages (2017)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from diffbot_ident.verification import Verification
from diffbot_report import figure_style as style
from diffbot_report.chart import Chart, ChartGroup, Curve, Intervals, Role
from diffbot_report.drawing import Picture
from diffbot_report.ident_page import (
    EXCITING,
    TIME,
    coverage_chart,
    estimate_charts,
    excitation_charts,
    information_chart,
)
from diffbot_report.ident_recording import IdentRecording, variance_limits
from diffbot_report.panels import draw_panels, group_picture, picture, rms_text
from diffbot_report.quantity import Quantity, significant

SQUARED = {"K5": "m²", "K6": "m⁻²", "K7": "(kg m)⁻²", "K8": "(kg m²)⁻²"}
MODELS = ("identified", "nominal", "no model")


def ident_pictures(
    recording: IdentRecording, parameters: Sequence[Quantity], title: str
) -> list[Picture]:
    """Return the pictures that have data to show; `title` says what was run."""
    pictures = [
        group_picture(parameters_group(recording, parameters, title)),
        group_picture(covariance_group(recording, parameters, title)),
        picture("excitation", partial(excitation_figure, recording, title)),
    ]
    estimate, verification, state = recording.estimate, recording.verification, recording.state
    if estimate is not None and any(estimate.coverage):
        pictures.append(group_picture(trust_group(recording, title), columns=3))
    if verification is not None and verification.decided:
        pictures.append(group_picture(verification_group(verification, title), row=1.4))
    if state is not None and state.arena is not None:
        pictures.append(group_picture(arena_group(recording, state.arena, title)))
    return pictures


def parameters_group(
    recording: IdentRecording, parameters: Sequence[Quantity], title: str
) -> ChartGroup:
    """Return K5..K8 over time with 95 % bands and true values (Figs. 10-13)."""
    text = "as identified over time, after Figs. 10–13 of Lages (2017)"
    charts = estimate_charts(recording, parameters)
    return ChartGroup("parameters", f"Dynamic parameters of {title}", text, charts)


def covariance_group(
    recording: IdentRecording, parameters: Sequence[Quantity], title: str
) -> ChartGroup:
    """Return the diagonal of the covariance matrix over time, logarithmic (Figs. 14-17)."""
    times, _, variances = recording.parameters()
    charts = []
    for i, quantity in enumerate(parameters):
        known = np.isfinite(variances[:, i]) & (variances[:, i] > 0.0)
        seen, shown = times[known], variances[known, i]
        end = f"σ {quantity.std:.2g} {quantity.unit} at the end" if quantity.std else ""
        charts.append(
            Chart(
                f"variance_{quantity.symbol}", quantity.symbol, SQUARED[quantity.symbol],
                [Curve("variance", seen, shown)], TIME, EXCITING, end or quantity.lack_in_full,
                logarithmic=bool(len(seen)),
                y_range=variance_limits(seen, shown) if len(seen) else None,
            )
        )  # fmt: skip
    text = "diagonal of the covariance matrix, after Figs. 14–17 of Lages (2017)"
    return ChartGroup("covariance", f"Variance of the parameters of {title}", text, charts)


def excitation_figure(recording: IdentRecording, title: str) -> Figure:
    """Draw torques and body velocity: the whole run, and its first seconds."""
    subtitle = "wheel torques that acted and the body velocity that they caused"
    figure = style.new_figure(f"Excitation of {title}", subtitle, 7.0)
    (times, motion), (early, beginning) = recording.motion(), recording.beginning()
    whole = [
        replace(chart, note=rms_text(motion[:, column], chart.unit))
        for chart, column in zip(excitation_charts(times, motion), (2, 3, 0, 1), strict=True)
    ]
    end, early_end = (float(t[-1]) if len(t) and t[-1] > 0.0 else 1.0 for t in (times, early))
    span = (0.0, min(early_end, 0.5 * end))
    details = excitation_charts(early, beginning)
    draw_panels(figure, end, [(a, b, span) for a, b in zip(whole, details, strict=True)])
    return figure


def trust_group(recording: IdentRecording, title: str) -> ChartGroup:
    """Return coverage of each parameter, correlation of the residuals, and information."""
    estimate = recording.estimate
    charts: list[Chart | Intervals] = []
    if estimate is not None:
        unit = "0: white noise, as expected"
        values = estimate.residual_correlation
        names = ("linear v̇", "angular ω̇")
        charts = [
            coverage_chart(estimate),
            Intervals("whiteness", "Residual correlation", unit, names, values, (0.0, 0.0), 0.0),
        ]
    text = "share of the needed motion that was seen, correlation of the residuals"
    if np.nan_to_num(recording.information()[1]).any():
        text += ", information gained"
        charts.append(information_chart(recording))
    return ChartGroup("trust", f"Trust in the estimate of {title}", text, charts)


def verification_group(verification: Verification, title: str) -> ChartGroup:
    """Return the errors of the identified parameters, of the description's and of no model."""
    done = verification
    steps = (
        ("after one control period", done.one_step, done.one_step_nominal, done.one_step_no_model),
        (f"after {done.horizon:.3g} s", done.horizon_error, done.horizon_nominal,
         done.horizon_no_model),
    )  # fmt: skip
    charts = []
    for row, (name, unit) in enumerate((("velocity v", "m/s"), ("yaw rate ω", "rad/s"))):
        for when, *errors in steps:
            values = [pair[row] for pair in errors]
            charts.append(
                Intervals(
                    f"{name} {when}", f"{name}, {when}", unit, MODELS, values, [0.0] * 3, 0.0,
                    _fractions(values),
                )
            )  # fmt: skip
    verdict = "verified" if done.passed else f"refuted: {done.reason}"
    text = f"{verdict}; rms errors of predictions over {done.duration:.3g} s of another motion"
    return ChartGroup("verification", f"Verification of {title}", text, charts)


def _fractions(errors: Sequence[float]) -> str:
    """Return the errors of models in per cent of the last, which is that without a model."""
    shares = [
        f"{name} {significant(100.0 * error / errors[-1], 2)} %"
        for name, error in zip(MODELS[:-1], errors, strict=False)
        if math.isfinite(error) and errors[-1] > 0.0
    ]
    return f"{', '.join(shares)} of no model" if shares else ""


def margin(places: NDArray[np.float64], arena: tuple[float, float]) -> float:
    """Return the least distance of places [x, y] (n, 2) to the arena's edge, m; < 0 outside."""
    if not len(places):
        return 0.5 * min(arena)
    return float((0.5 * np.array(arena) - np.abs(places).max(axis=0)).min())


def arena_group(recording: IdentRecording, arena: tuple[float, float], title: str) -> ChartGroup:
    """Return the path by odometry in the arena, [length along x, width along y], m."""
    exciting, verifying = recording.path()
    least = margin(np.concatenate([exciting, verifying]), arena)
    how = (
        f"stayed {1e3 * least:.0f} mm inside" if least >= 0.0 else f"{-1e3 * least:.0f} mm outside"
    )
    length, width = arena
    corners = 0.5 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)]) * arena
    curves = [
        Curve.path("arena", corners, Role.WANTED),
        Curve.path("exciting", exciting),
        Curve.path("verifying", verifying, Role.SECOND),
        Curve("start", [0.0], [0.0], Role.QUIET, dots=True, marks=True),
    ]
    chart = Chart("arena", "", "y, m", curves, "x, m (forward at the start)", None, equal=True)
    text = f"{length:g} m × {width:g} m, axle's middle by odometry; {how}"
    return ChartGroup("arena", f"Path in the arena of {title}", text, [chart])
