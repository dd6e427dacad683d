# SPDX-License-Identifier: Apache-2.0
"""The cases of freeze.py, by group, and the values that each produces."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, redirect_stdout
from dataclasses import dataclass, field
from functools import cache, partial
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
from launch_runs import OF_THE_MACHINE, RUNS, LaunchRun, execute, flat, values_of
from made_recordings.excited_runs import RunSetting, record
from made_recordings.recorded_bag import write_run

from arc_odometry import JointSample
from diffbot_controllers import (
    LinearizingController,
    PublishedBackstepping,
    tuned_backstepping,
    tuned_polar_pose,
)
from diffbot_description import load_robot
from diffbot_description.files import strict
from diffbot_ident.estimators import make_estimator
from diffbot_papers.page import PAPERS, section_maker
from diffbot_papers.siwek2023_experiments import (
    NOISE,
    RLS_START,
    TRUE,
    Conditions,
)
from diffbot_papers.siwek2023_experiments import drive as drive_siwek
from diffbot_recordings.identify import main as identify
from diffbot_sim.engines import make_simulator
from diffbot_sim.virtual_robot import PayloadSchedule, payload_from_text
from diffbot_study.driving import DriveSamples, LiveAdaptation, simulate_drive
from diffbot_study.simulated_identification import simulate_identification
from diffbot_study.velocity_driving import VelocityDrive
from faults.row import Row as FaultRow
from faults.table import chosen as chosen_faults
from faults.table import table as fault_table
from pose2d_trajectories import Reference, make_trajectory

GROUPS = ("runs", "launches", "identify", "reproduce", "faults")
Values = dict[str, Any]
PARAMETERS = ("K5", "K6", "K7", "K8")
INSTANTS = 8  # recorded instants of each run, evenly spaced, the last one at its end
STRONG = 5.0  # N m, torque limit of twil's motors
TESTS = Path(__file__).resolve().parents[1] / "test" / "recordings"
# Keys of `identify`'s summary with wall time and paths.
OF_THE_CALL = ("wall_time", "files", *OF_THE_MACHINE)
TIMED = ("CPU time", "time of a fit")  # rows of `reproduce` that differ at each call


@dataclass(frozen=True)
class Case:
    """A case with frozen values.

    Attributes:
        group: One of GROUPS.
        name: Name, unique in its group.
        compute: Returns the values; gets an empty folder to use.
        chaotic: Whether its values depend on the last digits, and thus on the family of kernels.
        properties: Keys of the values of a chaotic case that are valid for any family.
        quick: Whether the tests compare it, too.
    """

    group: str
    name: str
    compute: Callable[[Path], Values] = field(compare=False)
    chaotic: bool = False
    properties: tuple[str, ...] = ()
    quick: bool = False


@cache
def cases() -> tuple[Case, ...]:
    """Return all cases."""
    return (
        *_identifications(),
        *_drives(),
        *(_launch_case(run) for run in RUNS),
        *_recordings(),
        *(Case("reproduce", paper, partial(_reproduce, paper)) for paper in PAPERS),
        *(Case("faults", name, partial(_faults, *part)) for name, part in FAULTS.items()),
    )


# Runs in one process.


def _named(prefix: str, values: Sequence[float]) -> Values:
    return {
        f"{prefix}.{name}": float(value) for name, value in zip(PARAMETERS, values, strict=True)
    }


def _identification(
    engine: str, estimator: str, excitation: str, seconds: float, _folder: Path
) -> Values:
    run = simulate_identification("twil", engine, 3, seconds, 4096, 0.01, excitation=excitation,
                   estimator=estimator)  # fmt: skip
    result = _named("value", run.estimate.values) | _named("variance", run.estimate.variances)
    # Skip 1 s: the regression is nearly singular there, and digits from the 6th on are noise.
    for time, values in zip(run.times[1::2], run.history[1::2], strict=True):
        result |= _named(f"value at {time:g} s", values)
    if run.estimate.friction is not None:
        result |= flat([float(v) for v in run.estimate.friction.values], "friction")
    result |= _named("closed form", run.truth)
    result |= {
        "share of v": run.speeds[0], "share of omega": run.speeds[1],
        "extent x": run.extent[0], "extent y": run.extent[1],
        "information": run.information, "predicted": run.predicted_information,
        "guarded": run.guarded,
    }  # fmt: skip
    return strict({key: float(value) for key, value in result.items()})


def _identifications() -> Iterator[Case]:
    for engine in ("ideal", "mujoco"):
        for estimator, excitation in (
            ("integral", "prbs"),
            ("rls", "prbs"),
            ("integral", "multisine"),
            ("integral", "optimised"),
        ):
            yield Case(
                "runs",
                f"ident {engine} {estimator} {excitation}",
                partial(_identification, engine, estimator, excitation, 8.0),
                quick=engine == "ideal" and excitation == "prbs",
            )


def _series(
    time: np.ndarray, columns: Mapping[str, np.ndarray], instants: int = INSTANTS
) -> Values:
    """Return the values of columns, shape (n, m) each, at instants, and their rms."""
    results: Values = {}
    for index in np.linspace(0, len(time) - 1, instants + 1).round().astype(int)[1:]:
        for name, values in columns.items():
            results |= flat(values[index].tolist(), f"{name} at {time[index]:.2f} s")
    for name, values in columns.items():
        results |= flat(np.sqrt(np.mean(values**2, axis=0)).tolist(), f"{name} rms")
    return results


def _drive_values(run: DriveSamples) -> Values:
    values = _series(
        run.time,
        {
            "pose": run.pose,
            "odometry": run.odometry,
            "velocity": run.velocity,
            "torque": run.torque,
        },
    )
    # These properties do not depend on the last digits, unlike the other values of a chaotic run.
    values |= {
        "finite": bool(np.isfinite(np.column_stack((run.pose, run.torque))).all()),
        "peak torque": run.peak_torque,
        "peak speeds": None,
        "settling time": float(run.true.settling_time),
    }
    values.pop("peak speeds")
    values |= flat(run.peak_speeds.tolist(), "peak speeds")
    return strict(values)


PROPERTIES = ("finite", "peak torque")


def _drive(
    engine_name: str,
    make: Callable[..., Any],
    reference: Callable[[float], Reference],
    duration: float,
    limit: float | None,
    start: tuple[float, float, float],
    payload_time: float | None,
    _folder: Path,
) -> Values:
    """Return the values of a run of a law; with a payload the parameters adapt."""
    robot = load_robot("twil")
    with closing(make_simulator(engine_name, robot)) as engine:
        nominal, limits = engine.parameters(), robot.limits
        law = make(nominal, limit or limits.traction, limits)
        live = None
        if payload_time is not None:
            schedule = PayloadSchedule(payload_from_text("50%", robot), payload_time)

            def put_on(sample: JointSample) -> None:
                schedule.apply(engine, sample.stamp)

            live = LiveAdaptation(robot, nominal, law, also=put_on)
        run = simulate_drive(
            engine, robot, law, reference, duration, start=start, torque_limit=limit,
            torque_noise=0.0 if live is None else 0.01, seed=5, on_sample=live,
        )  # fmt: skip
    values = _drive_values(run)
    if live is not None:
        for index in np.linspace(0, len(live.rows) - 1, INSTANTS + 1).round().astype(int)[1:]:
            row = live.rows[index]
            values |= _named(f"in use at {row[0]:.2f} s", row[1:5])
            values |= _named(f"offered at {row[0]:.2f} s", row[5:9])
            values |= _named(f"deviation at {row[0]:.2f} s", row[9:13])
        values["refused"] = float(live.rows[:, 13].sum())
    return strict(values)


def _standard(k: Any, limit: float, limits: Any) -> Any:
    speeds = limits.linear_velocity, limits.angular_velocity
    return tuned_backstepping(k, limit, *speeds, mean_velocity=True)


def _polar(k: Any, limit: float, limits: Any) -> Any:
    speeds = limits.linear_velocity, limits.angular_velocity
    return tuned_polar_pose(k, limit, *speeds, mean_velocity=True)


def _published(k: Any, limit: float, _limits: Any) -> Any:
    return PublishedBackstepping(k, torque_limit=limit)


def _linearizing(k: Any, limit: float, _limits: Any) -> Any:
    return LinearizingController(k, torque_limit=limit, mean_velocity=True)


def _goal(t: float) -> Reference:
    return Reference(1.0, 0.2, 0.3)


def _velocity_steps(t: float) -> Reference:
    """Return velocity steps; the linearizing law ignores the pose."""
    v, omega = ((0.3, 0.0), (0.0, 1.5), (-0.2, -1.0))[min(int(t), 2)]
    return Reference(v=v, omega=omega)


def _drives() -> Iterator[Case]:
    eight = make_trajectory("figure_eight", period=20.0, ramp_up=0.0)
    first = eight.at(0.0)
    beside = (first.x + 0.1, first.y - 0.1, first.theta)
    rest = (0.0, 0.0, 0.0)
    for name, law, reference, duration, limit, start, payload in (
        ("backstepping goal", _standard, _goal, 4.0, STRONG, rest, None),
        ("backstepping eight", _standard, eight.at, 10.0, None, beside, None),
        ("pose goal", _polar, _goal, 4.0, None, rest, None),
        ("linearizing steps", _linearizing, _velocity_steps, 3.0, None, rest, None),
        ("adaptive eight", _standard, eight.at, 16.0, None, beside, 6.0),
    ):
        for engine in ("ideal", "mujoco"):
            drive = partial(_drive, engine, law, reference, duration, limit, start, payload)
            quick = engine == "ideal" and payload is None
            yield Case("runs", f"{name} {engine}", drive, quick=quick)
    published = partial(_drive, "ideal", _published, _goal, 4.0, STRONG, rest, None)
    yield Case("runs", "backstepping published ideal", published, True, PROPERTIES, quick=True)
    for name, conditions, sigma, adaptive in (
        ("siwek fixed", Conditions(duration=8.0, noise=NOISE, seed=1), TRUE, False),
        ("siwek adaptive", Conditions(duration=12.0, noise=NOISE, seed=1), RLS_START, True),
        ("siwek laboratory", Conditions(laboratory=True, duration=8.0, seed=1), TRUE, True),
    ):
        yield Case(
            "runs",
            name,
            partial(_siwek, conditions, sigma, adaptive),
            quick=not conditions.laboratory,
        )


def _siwek(conditions: Conditions, sigma: Any, adaptive: bool, _folder: Path) -> Values:
    run: VelocityDrive = drive_siwek(conditions, sigma, adaptive=adaptive)
    columns = {
        "pose": run.pose, "velocity": run.velocity, "command": run.command,
        "sigma": run.sigma, "estimate": run.estimate,
    }  # fmt: skip
    return strict(_series(run.time, columns))


# Launch files, recordings, papers, faults.


def _launch_case(run: LaunchRun) -> Case:
    return Case(
        "launches", run.name, partial(_launched, run), run.chaotic, ("exit status", "outcome")
    )


def _launched(run: LaunchRun, folder: Path) -> Values:
    outcome = execute(run, folder / "results")
    if outcome.values["exit status"] != 0:
        print(outcome.output)
    return {
        key: value
        for key, value in outcome.values.items()
        if not (isinstance(value, str) and str(folder) in value)
    }


def _identified(folder: Path, *words: object) -> Values:
    """Return exit status and figures of `identify`."""
    with redirect_stdout(StringIO()):
        status = identify([*map(str, words), "--no-pictures", "--output", str(folder / "out")])
    results = {
        key: value
        for key, value in values_of(folder / "out").items()
        if key.partition(".")[0] not in OF_THE_CALL
    }
    return {"exit status": status, **results}


def _torque_recording(storage: str, folder: Path) -> Values:
    """Identify the recording of test_identify_torque.py."""
    run = record(RunSetting(), 3, 30.0)
    write_run(folder / "bag", run.samples, storage)
    estimator = make_estimator("integral", run.geometry, run.scale)
    for sample in run.samples:
        estimator.update(sample)
    on_line = estimator.estimate()
    result = _named("on line", on_line.values) | _named("on line variance", on_line.variances)
    return result | _identified(folder, folder / "bag", "--robot", "twil")


def _fixtures(name: str) -> Any:
    """Return a test module, which creates recordings."""
    if str(TESTS) not in sys.path:
        sys.path.insert(0, str(TESTS))
    return __import__(name)


def _velocity_recording(storage: str, folder: Path) -> Values:
    """Identify the recording of test_identify_velocity.py."""
    made = _fixtures("test_identify_velocity")
    made.write_bag(folder / "bag", made.drive(25.0, 5), storage)
    return _identified(folder, folder / "bag")


def _recordings() -> Iterator[Case]:
    for storage in ("mcap", "sqlite3"):
        yield Case("identify", f"torque {storage}", partial(_torque_recording, storage))
        yield Case("identify", f"velocity {storage}", partial(_velocity_recording, storage))


def _reproduce(paper: str, _folder: Path) -> Values:
    """Return our value and the verdict of each row of a paper's tables."""
    section = section_maker(paper)(lambda _text: None)
    values: Values = {}
    for table in section.tables:
        for number, row in enumerate(table.rows):
            key = f"{table.title}: {number}: {row.quantity}"
            if not row.quantity.startswith(TIMED):
                values[key] = row.ours
            values[f"{key}: verdict"] = row.verdict.value
    return strict(values)


# Parts of the fault table: engine, part, and whether its times are in robot time.
FAULTS = {
    "in-process ideal": ("ideal", "in-process", True),
    "in-process mujoco": ("mujoco", "in-process", True),
    "processes": ("ideal", "processes", False),
}


def _faults(engine: str, part: str, timed: bool, _folder: Path) -> Values:
    """Return whether each row is kept; for robot time also time to zero and worst torque."""
    values: Values = {}
    rows: Iterator[tuple[FaultRow, str]] = chosen_faults(fault_table(part), [engine])
    for row, on in rows:
        verdict = row.judged(on)
        key = f"{row.group}: {row.name}"
        values[f"{key}: kept"] = verdict.passed
        if timed and verdict.outcome is not None:
            values[f"{key}: time to zero"] = verdict.outcome.time_to_zero
            worst = verdict.outcome.worst_torque
            values[f"{key}: worst torque"] = worst if math.isfinite(worst) else None
    return strict(values)
