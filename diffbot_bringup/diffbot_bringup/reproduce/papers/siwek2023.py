"""Siwek et al. (2023): Tables 1 to 4 beside ours."""

from __future__ import annotations

from diffbot_bringup.reproduce.papers import siwek2023_published as paper
from diffbot_bringup.reproduce.papers.siwek2023_experiments import (
    NOISE,
    TURTLEBOT_LIMITS,
    Conditions,
    adapt,
    drive,
    fit_from_random_starts,
    record,
    three_ways,
)
from diffbot_bringup.reproduce.papers.siwek2023_figures import (
    errors_picture,
    published_law_picture,
    sigma_picture,
)
from diffbot_bringup.reproduce.papers.siwek2023_tables import (
    AFTER,
    EightRuns,
    errata_table,
    exact_table,
    on_line_table,
    table_1,
)
from diffbot_bringup.reproduce.section import Report, Section
from diffbot_bringup.velocity_rehearsal import VelocityDrive
from diffbot_controllers.velocity_tracking.dynamic import VelocityLimits
from diffbot_ident.velocity.adaptation_law import AdaptationGains, AdaptationLaw
from diffbot_ident.velocity.batch_fit import fit_sigma

STARTS = 50

TEXT = (
    "A robot that takes velocity commands is described by four numbers, σ1 to σ4 of (3). They are "
    "fitted to a recording by Levenberg–Marquardt, followed on line by recursive least squares on "
    "integrals, and used by Klančar's kinematic law with the inverse dynamics (12).",
    "The paper's recordings are not public. Everything here is a simulation of a robot whose true "
    "σ is the average of the rows of Table 1. The columns called laboratory are simulations too, "
    "with encoders of 2578 counts per turn read at 50 Hz, noise of the drive of 0.01 m/s and "
    "0.01 rad/s, a dead time of 0.1 s that the controller knows, and the TurtleBot 2's limits of "
    "0.7 m/s and π rad/s. All errors are those of the true pose.",
    "Wrong in the paper: (10) has the wrong signs and no feed-forward, (11) takes its gains from "
    "the robot's own velocity; (5) lacks a transpose; (6) is a gradient with a leak, not recursive "
    "least squares, and its error (7) is no prediction error; (A2) prints v_x = 0 for v_y = 0.",
)


def section(report: Report) -> Section:
    """Compute all tables and pictures of the paper; about half a minute of one core."""
    report("Siwek 2023: 50 fits from random starts")
    starts = fit_from_random_starts(STARTS, seed=0)
    report("Siwek 2023: on-line fits")
    random = _on_line([(start, None) for start in paper.TABLE_2_STARTS])
    batches = [starts.fit] + [fit_sigma([record(seed)]) for seed in range(1, 5)]
    warm = _on_line([(fit.sigma, fit.covariance) for fit in batches])
    report("Siwek 2023: the figure of 8")
    runs = EightRuns(
        three_ways(Conditions(), starts.fit),
        three_ways(Conditions(TURTLEBOT_LIMITS), starts.fit),
        three_ways(Conditions(TURTLEBOT_LIMITS, laboratory=True), starts.fit),
    )
    exact = drive(Conditions(period=0.01), paper.TRUE, adaptive=False)
    slow = VelocityLimits(linear_velocity=0.7)
    limited = drive(Conditions(slow, period=0.01, duration=AFTER), paper.TRUE, adaptive=False)
    printed = drive(
        Conditions(TURTLEBOT_LIMITS, duration=AFTER), paper.TRUE, adaptive=False, published=True
    )
    laws = {
        name: adapt(AdaptationLaw(paper.TABLE_2_STARTS[0], gains), random[0])
        for name, gains in (
            ("published", AdaptationGains(rate=1.0, leak=0.01, corrected=False)),
            ("corrected", AdaptationGains()),
        )
    }
    tables = [
        table_1(starts),
        on_line_table(2, "random starts", random, paper.TABLE_2_AVERAGE, paper.TABLE_2_DEVIATION),
        on_line_table(
            3, "starts from batch fits", warm, paper.TABLE_3_AVERAGE, paper.TABLE_3_DEVIATION
        ),
        *runs.tables(),
        exact_table(exact, limited),
        errata_table(printed, laws),
    ]
    pictures = [
        errors_picture(
            runs.limited, "siwek2023-limited", "Simulation, |v| ≤ 0.7 m/s, from rest",
            "Beside Figs. 7 to 13",
        ),
        errors_picture(
            runs.laboratory, "siwek2023-laboratory", "Simulated laboratory, from rest",
            "Beside Figs. 15 to 22",
        ),
        sigma_picture(random[0], warm[0], laws),
        published_law_picture(printed, limited),
    ]  # fmt: skip
    return Section(
        "Velocity-commanded robots",
        "M. Siwek, J. Panasiuk, L. Baranowski, W. Kaczmarek, P. Prusaczyk, S. Borys: "
        "Identification of Differential Drive Robot Dynamic Model Parameters, 2023",
        TEXT,
        tables,
        pictures,
    )


def _on_line(starts: list) -> list[VelocityDrive]:
    """Adaptive runs of the length of the paper's, with noisy velocities."""
    return [
        drive(
            Conditions(noise=NOISE, duration=120.0 if index == 0 else 60.0, seed=index),
            start,
            covariance,
            adaptive=True,
        )
        for index, (start, covariance) in enumerate(starts)
    ]
