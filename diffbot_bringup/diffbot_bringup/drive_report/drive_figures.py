"""Torques and velocities of a driving run over time, after Lages (2018)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from diffbot_bringup.drive_report.drive_results import DriveResults
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.figure_source import source
from diffbot_bringup.drive_report.time_panels import Curve, Row, panels, rms_text
from diffbot_ident import figure_style as style

HEIGHT = 6.2  # inch
QUANTITIES = (("v", "m/s"), ("ω", "rad/s"))
# How much of the time around a step of velocity is enlarged: before and after it, s.
STEP_DETAIL = (0.02, 0.18)


def torques_figure(run: DriveRun, results: DriveResults, torque_limit: float, title: str) -> Figure:
    """Commanded torque of each wheel, with its limit.

    Args:
        run: at least two samples.
        results: of the run.
        torque_limit: N m; 0 where unknown.
        title: what was run.
    """
    limit = f"limit ±{torque_limit:g} N m" if 0.0 < torque_limit < np.inf else "no limit known"
    figure = style.new_figure(
        f"Wheel torques of {title}",
        source(
            run,
            f"as commanded, {limit}, peak {results.peak_torque:.3g} N m",
            "Figs. 16, 23 and 33",
        ),
        HEIGHT,
    )
    limits = (-torque_limit, torque_limit) if 0.0 < torque_limit < np.inf else ()
    rows = []
    for column, (name, colour) in enumerate((("left", style.BLUE), ("right", style.ORANGE))):
        values = run.torque[:, column]
        curve = Curve(f"{name} wheel", values, colour, 1.3, steps=True)
        detail = details(run, results)[0]
        rows.append(Row(f"{name}, N m", rms_text(values, "N m"), (curve,), detail, limits))
    panels(figure, run.time, rows)
    return figure


def velocities_figure(run: DriveRun, results: DriveResults, wanted_name: str, title: str) -> Figure:
    """Velocities asked for and driven.

    Args:
        run: at least two samples.
        results: of the run.
        wanted_name: symbol of what is asked for.
        title: what was run.
    """
    figure = style.new_figure(
        f"Velocities of {title}",
        source(run, f"{wanted_name} asked for and u driven", "Figs. 17, 24 and 34"),
        HEIGHT,
    )
    rows = []
    for column, ((name, unit), detail) in enumerate(
        zip(QUANTITIES, details(run, results), strict=True)
    ):
        true = run.true_velocity[:, column]
        curves = [
            Curve("u by encoders", run.velocity[:, column], style.ORANGE, 1.1),
            Curve(wanted_name, run.wanted[:, column], style.INK, 1.2, True, True),
        ]
        if np.isfinite(true).any():
            curves.insert(0, Curve("true u", true, style.BLUE, 2.0))
        said = f"max {np.nanmax(np.abs(run.best_velocity[:, column])):.3g} {unit}"
        rows.append(Row(f"{name}, {unit}", said, curves, detail))
    panels(figure, run.time, rows)
    return figure


def velocity_errors_figure(
    run: DriveRun, results: DriveResults, wanted_name: str, title: str
) -> Figure:
    """The errors of the velocity, e_1 and e_2 of (22), (23): u minus what was asked for.

    Args:
        run: at least two samples.
        results: of the run.
        wanted_name: symbol of what is asked for.
        title: what was run.
    """
    subtitle = source(run, f"u − {wanted_name}", "Figs. 18, 25 and 35")
    figure = style.new_figure(f"Velocity errors of {title}", subtitle, HEIGHT)
    rows = []
    for column, ((_, unit), detail) in enumerate(
        zip(QUANTITIES, details(run, results), strict=True)
    ):
        colour = (style.GREEN, style.PURPLE)[column]
        errors = run.velocity[:, column] - run.wanted[:, column]
        name = ("e₁", "e₂")[column]
        rows.append(
            Row(f"{name}, {unit}", rms_text(errors, unit), [Curve(name, errors, colour)], detail)
        )
    panels(figure, run.time, rows)
    return figure


def details(run: DriveRun, results: DriveResults) -> Sequence[tuple[float, float]]:
    """The part of the run that is enlarged, s, for v and for omega.

    It is the first step of each velocity, else what comes before the robot has settled.
    """
    end = float(run.time[-1])
    tracking = results.metrics.true or results.metrics.odometry
    settled = tracking.settling_time if tracking else None
    opening = min(2.0, 0.25 * end)
    if settled is not None:
        opening = float(np.clip(1.3 * settled, min(0.3, end), max(0.4 * end, min(2.0, end))))
    found = []
    for channel in ("v", "omega"):
        times = [step.time for step in results.steps if step.channel == channel]
        if not times:
            times = [step.time for step in results.steps]
        if times:
            found.append((max(times[0] - STEP_DETAIL[0], 0.0), min(times[0] + STEP_DETAIL[1], end)))
        else:
            found.append((0.0, opening))
    return found
