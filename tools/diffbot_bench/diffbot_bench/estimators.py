# SPDX-License-Identifier: Apache-2.0
"""Estimators by name, or from a file.

An estimator is a function of a Record. It returns a mapping from names to values or to (value, low,
high), the ends of a 95 % interval; what is not in it is refused, and None refuses all.
"""

from __future__ import annotations

import runpy
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from diffbot_bench import fits, paper_estimators, regressions, suite_estimators
from diffbot_bench.scoring import TaskAnswer, answer_of
from diffbot_bench.tasks import Record
from diffbot_description.command_kind import CommandKind
from diffbot_description.named_paths import expanded

Estimator = Callable[[Record], object]
TORQUE, VELOCITY = (CommandKind.EFFORT,), (CommandKind.VELOCITY,)
BOTH = (CommandKind.EFFORT, CommandKind.VELOCITY)


@dataclass(frozen=True)
class Entrant:
    """An estimator, what it is, the kinds of robots that it knows, and the library it needs."""

    estimate: Estimator
    text: str
    kinds: tuple[CommandKind, ...] = TORQUE
    library: str = ""


OWN = "diffbot"
ENTRANTS: Mapping[str, Entrant] = {
    OWN: Entrant(suite_estimators.identify, "`diffbot identify`", BOTH),
    "lages_rls": Entrant(paper_estimators.lages_rls, "RLS of Lages (2017), as published"),
    "ols": Entrant(regressions.ols, "least squares, NumPy, no friction"),
    "ols_friction": Entrant(regressions.ols_friction, "least squares, NumPy, 40 ms, friction"),
    "padasip": Entrant(
        regressions.padasip_rls, "FilterRLS of padasip, 40 ms, friction", BOTH, "padasip"
    ),
    "filterpy": Entrant(
        regressions.filterpy_kalman, "KalmanFilter of filterpy, 40 ms, friction", BOTH, "filterpy"
    ),
    "statsmodels": Entrant(
        regressions.statsmodels_rls,
        "RecursiveLS of statsmodels, 40 ms, friction",
        BOTH,
        "statsmodels",
    ),
    "scipy_velocity": Entrant(fits.velocities, "SciPy least_squares, simulated velocities"),
    "scipy_position": Entrant(fits.positions, "SciPy least_squares, simulated positions"),
    "sysid": Entrant(regressions.sysid, "WPILib SysId's regression", BOTH),
    "torqued": Entrant(regressions.torqued, "slope as openpilot's torqued estimates it"),
    "siwek_lm": Entrant(paper_estimators.siwek_lm, "Levenberg-Marquardt of Siwek (2023)", VELOCITY),
    "siwek_rls": Entrant(
        paper_estimators.siwek_rls, "RLS (6) of Siwek (2023), as printed", VELOCITY
    ),
    "siwek_rls_corrected": Entrant(
        paper_estimators.siwek_rls_corrected, "(6) of Siwek (2023), corrected", VELOCITY
    ),
    "arx": Entrant(regressions.arx, "first-order ARX with dead time, NumPy", VELOCITY),
    "scipy_first_order": Entrant(
        fits.first_order, "SciPy least_squares, lag and dead time", VELOCITY
    ),
}


def entrant(reference: str) -> Entrant:
    """Return an estimator by its name or as FILE.py:function; ValueError if there is none."""
    if reference in ENTRANTS:
        return ENTRANTS[reference]
    file, colon, function = reference.rpartition(":")
    if not colon or not file.endswith(".py"):
        raise ValueError(
            f"estimator = {reference!r}: must be FILE.py:function, or of {', '.join(ENTRANTS)}"
        )
    path = expanded(file)
    if not path.is_file():
        raise ValueError(f"estimator = {reference!r}: there is no file {path}")
    loaded = runpy.run_path(str(path), run_name="estimator").get(function)
    if not callable(loaded):
        raise ValueError(f"estimator = {reference!r}: the file has no function {function!r}")
    return Entrant(loaded, f"from {Path(file).name}", BOTH)


def answer(estimate: Estimator, record: Record) -> TaskAnswer:
    """Return what an estimator says of a record; any error but ImportError is a refusal."""
    begin = time.process_time()
    try:
        said = estimate(record)
        return answer_of(said, time.process_time() - begin)
    except ImportError:
        raise
    except Exception as error:  # an outside function may raise anything
        reason = f"{type(error).__name__}: {error}"
        return TaskAnswer({}, time.process_time() - begin, reason)
