# SPDX-License-Identifier: Apache-2.0
"""Siwek et al. (2023): Tables 1 to 4 compared with our values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from arc_odometry import MotionLimits
from diffbot_description.sigma import Sigma
from diffbot_ident.estimate import NORMAL_95
from diffbot_papers.adaptation_law import AdaptationGains, AdaptationLaw
from diffbot_papers.page import (
    ComparisonRow,
    ComparisonTable,
    PaperPicture,
    PaperSection,
    Report,
    cannot_be,
    chart,
    chart_picture,
    improves,
    matches,
)
from diffbot_papers.siwek2023_experiments import (
    BEST_BAND,
    DEAD_TIME,
    LAP,
    NOISE,
    TABLE_2_STARTS,
    TRUE,
    TURTLEBOT_LIMITS,
    Array,
    Conditions,
    RandomStarts,
    adapt,
    drive,
    earliest_regulation,
    fit_from_random_starts,
    record,
    three_ways,
)
from diffbot_recordings.sigma_batch_fit import fit_sigma
from diffbot_report.chart import Chart, ChartGroup, Curve, Role
from diffbot_study.velocity_driving import VelocityDrive

# Tables 1 to 4 as printed, of [sigma1, sigma2, sigma3, sigma4].

NAMES = ("σ1", "σ2", "σ3", "σ4")
UNITS = ("s", "s", "", "")
TABLE_1_AVERAGE = (3.47, 4.58, 0.87, 0.25)
TABLE_1_DEVIATION = (0.35, 0.49, 0.06, 0.02)
TABLE_1_SECONDS = 6.13
TABLE_2_AVERAGE = (3.39, 4.21, 0.84, 0.26)
TABLE_2_DEVIATION = (0.24, 0.21, 0.06, 0.03)
TABLE_3_AVERAGE = (3.65, 4.51, 0.85, 0.22)
TABLE_3_DEVIATION = (0.03, 0.02, 0.04, 0.01)
ERRORS = ("e_x", "e_y", "e_θ", "e_v", "e_ω")
ERROR_UNITS = ("m", "m", "rad", "m/s", "rad/s")
Printed = tuple[tuple[float, ...], float]
"""A method's row in Table 4: largest errors, and the regulation time in s."""

SIMULATION: dict[str, Printed] = {
    "L-M": ((0.007, 0.007, 0.021, 0.001, 0.007), 8.2),
    "RLS": ((0.009, 0.016, 0.022, 0.001, 0.015), 7.8),
    "RLS + L-M": ((0.005, 0.002, 0.001, 0.001, 0.017), 4.8),
}
LABORATORY: dict[str, Printed] = {
    "L-M": ((0.033, 0.046, 0.2, 0.023, 0.18), 2.9),
    "RLS": ((0.021, 0.013, 0.025, 0.011, 0.033), 7.5),
    "RLS + L-M": ((0.009, 0.008, 0.012, 0.001, 0.033), 1.6),
}

# Our simulations.

TRUTH = TRUE.as_array()
AFTER = 20.0  # s; from then on, on-line estimates and errors of runs with limits are evaluated
ROLES = {"L-M": Role.FIRST, "RLS": Role.SECOND, "RLS + L-M": Role.THIRD}
LEAST = 1e-6  # m and rad; smaller errors are drawn at this value

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


def section(report: Report) -> PaperSection:
    """Compute all tables and pictures; about half a minute of one core."""
    report("Siwek 2023: 50 fits from random starts")
    starts = fit_from_random_starts(50, seed=0)
    report("Siwek 2023: on-line fits")
    random = _on_line([(start, None) for start in TABLE_2_STARTS])
    batches = [starts.fit] + [fit_sigma([record(seed)]) for seed in range(1, 5)]
    warm = _on_line([(fit.sigma, fit.covariance) for fit in batches])
    report("Siwek 2023: the figure of 8")
    free = three_ways(Conditions(), starts.fit)
    limited = three_ways(Conditions(TURTLEBOT_LIMITS), starts.fit)
    laboratory = three_ways(Conditions(TURTLEBOT_LIMITS, laboratory=True), starts.fit)
    exact = drive(Conditions(period=0.01), TRUE, adaptive=False)
    slow = MotionLimits(linear_velocity=0.7)
    exact_slow = drive(Conditions(slow, period=0.01, duration=AFTER), TRUE, adaptive=False)
    printed = drive(
        Conditions(TURTLEBOT_LIMITS, duration=AFTER), TRUE, adaptive=False, published=True
    )
    laws = {
        name: adapt(AdaptationLaw(TABLE_2_STARTS[0], gains), random[0])
        for name, gains in (
            ("published", AdaptationGains(rate=1.0, leak=0.01, corrected=False)),
            ("corrected", AdaptationGains()),
        )
    }
    tables = [
        _table_1(starts),
        _on_line_table(2, "random starts", random, TABLE_2_AVERAGE, TABLE_2_DEVIATION),
        _on_line_table(3, "starts from batch fits", warm, TABLE_3_AVERAGE, TABLE_3_DEVIATION),
        *_tables_4(free, limited, laboratory),
        _exact_table(exact, exact_slow),
        _errata_table(printed, laws),
    ]
    pictures = [
        _errors_picture(
            limited, "siwek2023-limited", "Simulation, |v| ≤ 0.7 m/s, from rest",
            "Beside Figs. 7 to 13",
        ),
        _errors_picture(
            laboratory, "siwek2023-laboratory", "Simulated laboratory, from rest",
            "Beside Figs. 15 to 22",
        ),
        _sigma_picture(random[0], warm[0], laws),
        _published_law_picture(printed, exact_slow),
    ]  # fmt: skip
    return PaperSection(
        "Velocity-commanded robots",
        "M. Siwek, J. Panasiuk, L. Baranowski, W. Kaczmarek, P. Prusaczyk, S. Borys: "
        "Identification of Differential Drive Robot Dynamic Model Parameters, 2023",
        TEXT,
        tables,
        pictures,
    )


def _on_line(starts: Sequence[tuple[Sigma, Array | None]]) -> list[VelocityDrive]:
    return [
        drive(
            Conditions(noise=NOISE, duration=120.0 if index == 0 else 60.0, seed=index),
            start,
            covariance,
            adaptive=True,
        )
        for index, (start, covariance) in enumerate(starts)
    ]


# Tables.


def _table_1(starts: RandomStarts) -> ComparisonTable:
    rows = []
    for index, (name, unit) in enumerate(zip(NAMES, UNITS, strict=True)):
        printed, recomputed = TABLE_1_AVERAGE[index], TRUTH[index]
        if abs(printed - recomputed) < 0.0051:
            rows.append(
                matches(
                    f"average of {name}",
                    unit,
                    printed,
                    recomputed,
                    absolute=0.0051,
                    why="of its rows",
                )
            )
        else:
            rows.append(
                cannot_be(
                    f"average of {name}", unit, printed, recomputed,
                    "the five rows average to this; their printed deviation is that of the five "
                    "rows (divided by n)",
                )
            )  # fmt: skip
    for index, (name, unit) in enumerate(zip(NAMES, UNITS, strict=True)):
        result = starts.result[:, index]
        rows.append(
            improves(
                f"deviation of {name} over the starts", unit, TABLE_1_DEVIATION[index],
                float(result.std()),
                why=f"{len(result)} random starts reach one minimum at {result.mean():.4f}; the "
                f"truth is {TRUTH[index]:.4f}, the fit's own 95 % interval "
                f"± {NORMAL_95 * starts.fit.deviations[index]:.4f}",
            )
        )  # fmt: skip
    seconds = starts.seconds
    rows.append(
        improves(
            "time of a fit", "s", TABLE_1_SECONDS, float(seconds.mean()),
            why="CPU time of both axes with intervals, 2400 samples; the paper's computer and "
            "number of samples are not known",
            spread=f"at most {seconds.max():.4f}",
        )
    )  # fmt: skip
    return ComparisonTable(
        "Table 1: Levenberg–Marquardt from random starts",
        rows,
        "One simulated recording of 120 s at 20 Hz, 20 pieces of constant command, velocities with "
        f"noise of {NOISE[0]:g} m/s and {NOISE[1]:g} rad/s. Starts: normal, mean 1, variance 1, "
        "within 0 to 1, as in the paper.",
    )


def _on_line_table(
    number: int,
    what: str,
    runs: list[VelocityDrive],
    average: Sequence[float],
    deviation: Sequence[float],
) -> ComparisonTable:
    rows = []
    last = np.array([run.estimate[-1] for run in runs])
    early = np.array([run.estimate[np.searchsorted(run.time, AFTER)] for run in runs])
    for index, (name, unit) in enumerate(zip(NAMES, UNITS, strict=True)):
        error = 100.0 * np.abs(early[:, index] / TRUTH[index] - 1.0)
        rows += [
            improves(
                f"deviation of {name} over the tests", unit, deviation[index],
                float(last[:, index].std(ddof=1)),
                why=f"published average {average[index]}, ours {last[:, index].mean():.4f}, truth "
                f"{TRUTH[index]:.4f}",
            ),
            improves(
                f"largest error of {name} after {AFTER:g} s", "%",
                round(100.0 * deviation[index] / average[index], 2),
                float(error.max()),
                why=f"published: the deviation in % of the average; "
                f"{np.count_nonzero(error <= 1.0)} of {len(error)} runs are within 1 %",
                spread=f"mean {error.mean():.2g}",
            ),
        ]  # fmt: skip
    return ComparisonTable(
        f"Table {number}: recursive least squares, {what}",
        rows,
        f"{len(runs)} runs of the figure of 8 that the estimate itself steers, the first of 120 s, "
        f"the others of 60 s, 50 Hz, velocities with noise of {NOISE[0]:g} m/s and {NOISE[1]:g} "
        "rad/s, a seed per run. σ4 is the least known: on this path the yaw axis accelerates far "
        "more than it drags.",
    )


def _tables_4(
    free: dict[str, VelocityDrive],
    limited: dict[str, VelocityDrive],
    laboratory: dict[str, VelocityDrive],
) -> list[ComparisonTable]:
    return [
        ComparisonTable(
            "Table 4, simulation, speeds unlimited",
            _table_4(free, SIMULATION, None),
            f"No noise. Largest errors from the published regulation time on to {LAP:.1f} s.",
        ),
        ComparisonTable(
            "Table 4, simulation, TurtleBot 2's limits",
            _table_4(limited, SIMULATION, 0.0),
            f"No noise. The robot starts at rest, and with σ1 / σ3 = 4 s and commands of "
            f"0.7 m/s at most it falls behind at first. Largest errors from {AFTER:g} s on.",
        ),
        ComparisonTable(
            "Table 4, simulated laboratory",
            _table_4(laboratory, LABORATORY, DEAD_TIME),
            "Not a laboratory: a simulation with the noise stated above, one seed; the "
            "noise is of our choice. Largest errors from "
            f"{AFTER:g} s on, of the true pose and velocity.",
        ),
    ]


def _table_4(
    runs: dict[str, VelocityDrive], published: dict[str, Printed], dead_time: float | None
) -> list[ComparisonRow]:
    """Return the rows for one set of conditions; dead_time None: without limits."""
    rows = []
    for direction, run in runs.items():
        band, regulation = published[direction]
        since = regulation if dead_time is None else AFTER
        late = run.time >= since
        largest = np.abs(run.errors()[late]).max(axis=0)
        seen = np.abs(run.errors(true=False)[late]).max(axis=0)
        for name, unit, theirs, ours, measured in zip(
            ERRORS, ERROR_UNITS, band, largest, seen, strict=True
        ):
            why = f"by the sensors {measured:.2g}" if measured > 1.05 * ours else ""
            rows.append(improves(f"{direction}: {name}", unit, theirs, float(ours), why=why))
        ours = run.within_from(band[:3])
        least = (
            0.0
            if dead_time is None
            else earliest_regulation(TURTLEBOT_LIMITS.linear_velocity, band[0], dead_time)
        )
        why = "position and heading stay within the published errors from then on"
        if regulation < least:
            rows.append(
                cannot_be(
                    f"{direction}: t_r", "s", regulation, ours,
                    f"at 0.7 m/s from rest no controller is there before {least:.1f} s; the paper "
                    "does not state how its robot starts",
                )
            )  # fmt: skip
        else:
            rows.append(improves(f"{direction}: t_r", "s", regulation, ours, why=why))
    return rows


def _exact_table(exact: VelocityDrive, limited: VelocityDrive) -> ComparisonTable:
    best, band = SIMULATION["RLS + L-M"][1], BEST_BAND
    return ComparisonTable(
        "Table 4's best errors with exact σ",
        [
            improves(
                "within 5 mm, 2 mm, 1 mrad for good, speeds unlimited", "s", best,
                exact.within_from(band),
                why="ε 0.8, b 40, k 10, 100 Hz; published: the best t_r of the simulations",
            ),
            cannot_be(
                "the same with |v| ≤ 0.7 m/s", "s", best, limited.within_from(band),
                "from rest no controller can be there before "
                f"{earliest_regulation(0.7, band[0]):.1f} s; after that the robot has to lose the "
                "speed that it caught up with",
            ),
        ],
        "The robot starts at rest on the path, whose reference is in motion at once.",
    )  # fmt: skip


def _errata_table(printed: VelocityDrive, laws: dict[str, Array]) -> ComparisonTable:
    end = laws["published"][-1]
    corrected = laws["corrected"][-1]
    return ComparisonTable(
        "Equations that cannot be as printed",
        [
            cannot_be(
                "(10): distance from the reference after 20 s", "m", "tracks",
                float(printed.true.distance[-1]),
                "with the commands limited to 0.7 m/s and π rad/s, else it overflows: the minus "
                "signs push the robot away from its reference, and without the "
                "reference's velocity nothing pulls it along",
            ),
            cannot_be(
                "(5): right side", "", "−J F", "−Jᵀ F",
                "J has a row per sample, so J F is not defined; the transpose is missing",
            ),
            cannot_be(
                "(6): σ1 after 120 s", "s", "recursive least squares", float(end[0]),
                f"a gradient with a leak to 0 and an error that is not 0 at the true σ: it ends at "
                f"({', '.join(f'{value:.2f}' for value in end)}); with the error of the "
                "prediction, filtered, and a leak to a prior it ends at "
                f"({', '.join(f'{value:.2f}' for value in corrected)}); the truth is "
                f"({', '.join(f'{value:.2f}' for value in TRUTH)})",
            ),
            cannot_be(
                "(A2): second line", "", "v_x = 0", "v_y = 0",
                "v_x is given by the line before; wheels that do not slip have no lateral velocity",
            ),
        ],
    )  # fmt: skip


# Pictures.


def _errors_picture(
    runs: dict[str, VelocityDrive], name: str, where: str, stands: str
) -> PaperPicture:
    charts = [_paths(runs)]
    for index, (title, what) in enumerate(
        zip(ERRORS, ("along", "across", "heading"), strict=False)
    ):
        curves = [
            Curve(
                method, run.time, np.maximum(np.abs(run.errors()[:, index]), LEAST), ROLES[method]
            )
            for method, run in runs.items()
        ]
        charts.append(
            chart(f"{title}, {what}", ERROR_UNITS[index], curves, limits=(BEST_BAND[index],),
                  logarithmic=True, y_range=(LEAST, 5.0))
        )  # fmt: skip
    text = f"{where}; dotted: Table 4's best"
    group = ChartGroup(name, "The figure of 8 in three ways", text, charts)
    return chart_picture(group, f"{where}. {stands}", row=2.8)


def _paths(runs: dict[str, VelocityDrive]) -> Chart:
    first = next(iter(runs.values()))
    curves = [
        Curve.path("reference", first.reference, Role.QUIET),
        *(Curve.path(method, run.pose, ROLES[method]) for method, run in runs.items()),
    ]
    return chart("path", "y, m", curves, "x, m", equal=True)


def _sigma_picture(
    random: VelocityDrive, warm: VelocityDrive, laws: dict[str, Array]
) -> PaperPicture:
    lines = {
        "RLS": (random.time, random.estimate, Role.SECOND),
        "RLS + L-M": (warm.time, warm.estimate, Role.THIRD),
        "(6) as printed": (random.time, laws["published"], Role.FOURTH),
        "(6) corrected": (random.time, laws["corrected"], Role.FIRST),
    }
    charts = []
    for index, (name, unit, truth) in enumerate(zip(NAMES, UNITS, TRUTH, strict=True)):
        curves = [
            Curve("truth", random.time[[0, -1]], [truth, truth], Role.WANTED, dashed=True),
            *(Curve(label, time, values[:, index], role)
              for label, (time, values, role) in lines.items()),
        ]  # fmt: skip
        charts.append(chart(name, unit, curves, y_range=(-0.5 * truth, 2.0 * truth)))
    text = "velocities with noise of 5 mm/s and 10 mrad/s; the adaptation laws get the same data"
    return chart_picture(
        ChartGroup("siwek2023-sigma", "σ while driving", text, charts),
        "σ1 to σ4 over time from the start of the paper's test 4 and from the batch fit, beside "
        "Figs. 4 and 5; the adaptation law (6) as printed leaves the picture or ends elsewhere.",
    )


def _published_law_picture(printed: VelocityDrive, right: VelocityDrive) -> PaperPicture:
    lines = (("printed", printed, Role.FOURTH), ("right signs", right, Role.THIRD))
    paths = [
        Curve.path("reference", right.reference, Role.QUIET),
        *(
            Curve.path(label, run.pose[np.abs(run.pose[:, 0]) < 6.0], role)
            for label, run, role in lines
        ),
    ]
    distance = [
        Curve(label, run.time, np.maximum(run.true.distance, LEAST), role)
        for label, run, role in lines
    ]
    high = 2.0 * float(printed.true.distance.max())
    charts = [
        chart("path within 6 m", "y, m", paths, "x, m", equal=True),
        chart(
            "distance from the reference", "m", distance, logarithmic=True, y_range=(LEAST, high)
        ),
    ]
    return chart_picture(
        ChartGroup(
            "siwek2023-published-law",
            "The kinematic law (10) as printed drives away from its reference",
            "exact σ, no noise, at most 0.7 m/s and π rad/s; from rest on the first pose",
            charts,
        ),
        "(10), (11) as printed and as implemented; the paper has no such picture.",
    )
