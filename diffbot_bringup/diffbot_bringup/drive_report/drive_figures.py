"""Torques and velocities of a driving run over time, after Lages (2018)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from diffbot_bringup.drive_report.controller_topics import TORQUE, VELOCITY
from diffbot_bringup.drive_report.drive_results import DriveResults
from diffbot_bringup.drive_report.drive_run import DriveRun
from diffbot_bringup.drive_report.figure_source import source
from diffbot_bringup.drive_report.time_panels import Curve, Row, panels, rms_text
from diffbot_ident import figure_style as style

HEIGHT = 6.2  # inch
MEASURED = {TORQUE.what: "u by encoders", VELOCITY.what: "u by odometry"}
QUANTITIES = (("v", "m/s"), ("ω", "rad/s"))
# How much of the time around a step of velocity is enlarged: before and after it, s.
STEP_DETAIL = (0.02, 0.18)
START_UP = 15.0  # s


def commands_figure(
    run: DriveRun, results: DriveResults, limits: tuple[float, float], title: str
) -> Figure:
    """What was commanded, with its limits: wheel torques, or velocities with those measured.

    Args:
        run: at least two samples.
        results: of the run.
        limits: of both; 0 where unknown.
        title: what was run.
    """
    what = run.commanded
    peaks = zip(results.peak_command or (np.nan, np.nan), what.units, strict=True)
    figure = style.new_figure(
        f"{what.title} of {title}",
        source(
            run,
            "as commanded, peaks " + " and ".join(f"{peak:.3g} {unit}" for peak, unit in peaks),
            "Figs. 16, 23 and 33",
        ),
        HEIGHT,
    )
    detail = details(run, results)[0]
    rows = []
    for column, (name, unit, limit) in enumerate(zip(what.names, what.units, limits, strict=True)):
        values = run.command[:, column]
        if what is TORQUE:
            colour = (style.BLUE, style.ORANGE)[column]
            curves = [Curve(f"{name} wheel", values, colour, 1.3, steps=True)]
        else:
            curves = [
                Curve("commanded", values, style.BLUE, 1.0, steps=True),
                Curve("measured", run.velocity[:, column], style.ORANGE, 1.4),
            ]
        known = 0.0 < limit < np.inf
        said = rms_text(values, unit) + (f", limit ±{limit:g}" if known else "")
        rows.append(Row(f"{name}, {unit}", said, curves, detail, (-limit, limit) if known else ()))
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
            Curve(MEASURED[run.commanded.what], run.velocity[:, column], style.ORANGE, 1.1),
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
    """The errors of the velocity, u minus what was asked for: e_1 and e_2 of (22), (23).

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
        name = run.commanded.error_names[column]
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
    if run.commanded is VELOCITY:
        # A robot that begins on its path has nothing to settle: the way to full speed is shown.
        opening = min(START_UP, 0.25 * end)
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
