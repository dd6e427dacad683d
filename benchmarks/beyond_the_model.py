#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether intervals hold, or the answer is refused, on data beyond the model.

Robots of independent_plant, drawn at random (1 to 200 kg, wheels of 3 to 20 cm, periods of 5 to
20 ms, 500 to 16384 counts), are recorded as tables and identified by `identify`, as a user would.
For each kind of data:

K5/K6/K7/K8, friction        intervals of verified runs that hold, % of those that are given;
                             friction: viscous/Coulomb
largest                      largest error of K5..K8 in standard deviations, where verified
refused                      runs that are not verified, %
named                        runs whose warnings or reasons name the defect, %
others                       runs that name a defect which they do not have, %
width                        median width of K5..K8 over that with clean data of the same robots

    ./diffbot python benchmarks/beyond_the_model.py [--rows late lag] [--robots 60] [--seed 1]
    ./diffbot python benchmarks/beyond_the_model.py --save DIR       # keeps the tables
    ./diffbot python benchmarks/beyond_the_model.py --untuned        # not tuned with
    ./diffbot python benchmarks/beyond_the_model.py --unlisted       # without a pattern
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from independent_plant import Array, Imperfections, Recording, Robots, draw, drive

from diffbot_recordings.identify import STATUS
from diffbot_recordings.options import Options
from diffbot_recordings.recording_analysis import analyse_recording

SECONDS = 20.0
# Share of a run that `identify` learns from; it holds the rest out.
LEARNT = 0.75
LEVELS = (0.4, 0.7, 1.0)
Change = Callable[[Robots, Imperfections, np.random.Generator], tuple[Robots, Imperfections]]


@dataclass(frozen=True)
class Row:
    """A kind of data.

    Attributes:
        change: Adds the imperfection to robots.
        words: Words of which a warning that names it contains at least one.
        holds: Which of K5..K8 the data can tell.
    """

    change: Change
    words: tuple[str, ...] = ()
    holds: tuple[bool, bool, bool, bool] = (True, True, True, True)


def _only(**own: Callable[[Robots, np.random.Generator], Array]) -> Change:
    """Return a change of imperfections alone."""

    def change(
        robots: Robots, imperfect: Imperfections, random: np.random.Generator
    ) -> tuple[Robots, Imperfections]:
        return robots, replace(imperfect, **{k: f(robots, random) for k, f in own.items()})

    return change


def _uniform(low: float, high: float, *shape: int) -> Callable[..., Array]:
    return lambda robots, random: random.uniform(low, high, (*shape, len(robots.mass)))


def _unlike(most: float) -> Callable[..., Array]:
    """Return shares that differ in sign between the wheels, shape (2, n)."""
    return lambda robots, random: (
        np.array([[-1.0], [1.0]]) * random.uniform(-most, most, len(robots.mass))
    )


def _constant(value: float) -> Callable[..., Array]:
    return lambda robots, random: np.full(len(robots.mass), value)


def _periods(low: float, high: float) -> Callable[..., Array]:
    return lambda robots, random: robots.period * random.uniform(low, high, len(robots.mass))


def _of_torque(low: float, high: float, *shape: int) -> Callable[..., Array]:
    return lambda robots, random: (
        robots.torque * random.uniform(low, high, (*shape, len(robots.mass)))
    )


def _moment(low: float, high: float) -> Callable[..., Array]:
    """Return moments against turning, as shares of the excitation's."""
    return lambda robots, random: (
        2.0
        * robots.torque
        * robots.half_track
        / robots.radius
        * random.uniform(low, high, len(robots.mass))
    )


def _slower(change: Change) -> Change:
    """Return the change for robots with a period of 10 ms."""

    def slower(
        robots: Robots, imperfect: Imperfections, random: np.random.Generator
    ) -> tuple[Robots, Imperfections]:
        return change(replace(robots, period=np.full(len(robots.mass), 0.01)), imperfect, random)

    return slower


def _drag(low: float, high: float) -> Callable[..., Array]:
    """Return forces of a caster, as shares of a wheel's from the excitation."""
    return lambda robots, random: (
        robots.torque / robots.radius * random.uniform(low, high, len(robots.mass))
    )


def _of_stiction(low: float, high: float) -> dict[str, Callable[..., Array]]:
    """Return static friction beyond Coulomb's that vanishes over 2 to 10 % of the top speed."""
    return {
        "stiction": _uniform(low, high),
        "stribeck": lambda robots, random: (
            robots.speed / robots.radius * random.uniform(0.02, 0.1, len(robots.mass))
        ),
    }


def _one_wheel(low: float, high: float) -> Callable[..., Array]:
    """Return values of one of both wheels."""
    return lambda robots, random: (
        random.uniform(low, high, len(robots.mass))
        * (np.array([[0], [1]]) == random.integers(0, 2, len(robots.mass)))
    )


def _whole(low: int, high: int) -> Callable[..., Array]:
    return lambda robots, random: random.integers(low, high + 1, len(robots.mass)).astype(float)


def _rubs(change: Change) -> Change:
    """Return the change for robots of which one wheel has five times the viscous friction."""

    def rubs(
        robots: Robots, imperfect: Imperfections, random: np.random.Generator
    ) -> tuple[Robots, Imperfections]:
        more = robots.viscous * (1.0 + _one_wheel(4.0, 4.0)(robots, random))
        return change(replace(robots, viscous=more), imperfect, random)

    return rubs


LATE, STICTION = ("stamps are late",), ("low speed", "stiction")
ROWS: Mapping[str, Row] = {
    "clean": Row(_only()),
    "fractional delay": Row(_only(delay=_periods(0.0, 3.0)), ("after it is",)),
    "drops": Row(_only(dropped=_uniform(0.005, 0.02)), ("missing", "lost", "left out")),
    "slope": Row(_only(slope=_uniform(-0.03, 0.03)), ("not level",)),
    "torque offset": Row(_only(offset=_of_torque(-0.03, 0.03, 2)), ("differs by direction",)),
    "unequal radii": Row(_only(radius_error=_unlike(0.01)), ("not alike",)),
    "sag": Row(_only(sag=_uniform(0.02, 0.08)), ("effect of the torques",)),
    "warm-up": Row(_only(warm_up=_uniform(0.1, 0.4)), ("friction fell", "friction of")),
    "jitter, true stamps": Row(
        _only(jitter=lambda robots, random: 0.1 * robots.period), ("jitters by",)
    ),
    "late": Row(_only(late=_uniform(0.002, 0.003)), LATE),
    "late 1 ms": Row(_slower(_only(late=_constant(0.001))), LATE),
    "rounded": Row(
        _only(rounding=_constant(0.001), jitter=lambda robots, random: 0.05 * robots.period),
        ("stamps are rounded",),
    ),
    "lag": Row(_only(lag=_uniform(0.002, 0.02), delay=_periods(0.0, 3.5)), ("gradually",)),
    "backlash": Row(_only(backlash=_uniform(math.radians(0.2), math.radians(1.0))), ("backlash",)),
    "creep": Row(_only(creep=_uniform(0.01, 0.05)), ("slip in proportion",)),
    "skid": Row(
        _only(turning_coulomb=_moment(0.1, 0.25), turning_viscous=_moment(0.01, 0.05)),
        ("against turning", "skid"),
    ),
    "stribeck": Row(_only(**_of_stiction(0.3, 1.0)), STICTION),
    "caster": Row(_only(caster=_drag(0.05, 0.2)), ("drag",)),
    "saturation": Row(_only(saturation=_uniform(0.6, 0.9)), ("saturate",)),
    "stale": Row(_only(stale=_uniform(0.005, 0.03)), ("repeat the one before",)),
    "scale": Row(_only(scale=_uniform(-0.05, 0.05, 2)), ("not alike",), (True, True, False, False)),
}
STICKS = _of_stiction(0.3, 1.0)
# Defects that nothing was tuned with, of one wheel or two at once.
UNTUNED: Mapping[str, Row] = {
    "stiction, one rubs": Row(_rubs(_only(**STICKS)), STICTION),
    "one wheel slips": Row(_only(creep=_one_wheel(0.01, 0.05)), ("slip in proportion",)),
    "unlike lags": Row(
        _only(lag=_uniform(0.002, 0.02, 2), delay=_periods(0.0, 3.5)), ("gradually",)
    ),
    "backlash, stiction": Row(
        _only(backlash=_uniform(math.radians(0.2), math.radians(1.0)), **STICKS),
        ("backlash", *STICTION),
    ),
    "late, lag": Row(
        _only(late=_uniform(0.002, 0.003), lag=_uniform(0.002, 0.02)), (*LATE, "gradually")
    ),
    "slip, lag": Row(
        _only(creep=_uniform(0.01, 0.05), lag=_uniform(0.002, 0.02)),
        ("slip in proportion", "gradually"),
    ),
    "slope, caster": Row(
        _only(slope=_uniform(-0.03, 0.03), caster=_drag(0.05, 0.2)), ("not level", "drag")
    ),
    "sag, warm-up": Row(
        _only(sag=_uniform(0.02, 0.08), warm_up=_uniform(0.1, 0.4)),
        ("effect of the torques", "friction fell", "friction of"),
    ),
    "stale bursts": Row(
        _only(stale=_uniform(0.002, 0.01), burst=_whole(1, 4)), ("repeat the one before",)
    ),
    "slight saturation": Row(_only(saturation=_uniform(0.9, 0.99)), ("saturate",)),
    "few counts": Row(_only(count_error=_one_wheel(-0.01, -0.01)), ("not alike",)),
}
# Defects for which the estimator has no pattern of its own; words of what comes nearest.
OUTSIDE = ("no known effect explains", "not white")
UNLISTED: Mapping[str, Row] = {
    "slew limit": Row(_only(slew=_uniform(20.0, 100.0)), ("gradually", *OUTSIDE)),
    "torque in steps": Row(_only(quantum=_uniform(0.02, 0.1)), OUTSIDE),
    "gain by direction": Row(
        _only(forward_gain=_uniform(-0.03, 0.03)), ("differs by direction", *OUTSIDE)
    ),
    "ripple": Row(_only(ripple=_uniform(0.02, 0.1)), ("once per turn", *OUTSIDE)),
    "flat spot": Row(_only(flat=_uniform(0.1, 0.5)), ("once per turn", *OUTSIDE)),
    "quadratic friction": Row(_only(quadratic=_uniform(0.05, 0.2)), OUTSIDE),
    "floor gets rougher": Row(_only(rougher=_uniform(0.2, 1.0)), ("friction", *OUTSIDE)),
    "bumps": Row(_only(bumps=_uniform(0.05, 0.3)), OUTSIDE),
    "filtered efforts": Row(
        _only(filtered=_uniform(0.01, 0.04)), ("before it is reported", *OUTSIDE)
    ),
    "settling torque": Row(
        _only(settling=_uniform(0.03, 0.1)), ("effect of the torques", *OUTSIDE)
    ),
    "drifting clock": Row(_only(clock_drift=_constant(1e-4))),
    "one-sided friction": Row(
        _only(one_sided=_uniform(0.2, 1.0)), ("differs by direction", *OUTSIDE)
    ),
}
ALL = {**ROWS, **UNTUNED, **UNLISTED}
# Words of all other defects; of delays and gaps, a wrong name does no harm.
OTHERS = tuple(
    (name, row.words)
    for name, row in ROWS.items()
    if row.words and name not in ("fractional delay", "drops")
)


@dataclass(frozen=True)
class CaseResult:
    """What `identify` says of one recording.

    Attributes:
        status: Exit status.
        errors: Errors of K5..K8 in standard deviations; NaN where not identifiable, shape (4,).
        widths: Half widths of the intervals over the values, shape (4,).
        friction: Errors of [viscous left, right, Coulomb left, right] in deviations, shape (4,).
        text: Warnings, reasons and notes.
    """

    status: int
    errors: Array
    widths: Array
    friction: Array
    text: str


def write_table(path: Path, recording: Recording) -> None:
    """Write a recording as `identify` reads it."""
    columns = np.column_stack((recording.stamps, recording.angles, recording.efforts))
    header = "time,left_position,right_position,left_effort,right_effort"
    np.savetxt(path, columns, fmt="%.9g", delimiter=",", header=header, comments="")


def identified(
    path: Path, radius: float, track: float, truth: Array, friction: Array
) -> CaseResult:
    """Return what `identify` says of a table, beside the truth."""
    nothing = np.full(4, math.nan)
    try:
        findings = analyse_recording(
            Options([path], wheel_radius=radius, track=track, pictures=False, page=False)
        )
    except ValueError as error:
        return CaseResult(2, nothing, nothing, nothing, str(error))
    values = {value.name: value for verdict in findings.verdicts for value in verdict.values}

    def errors(names: Sequence[str], true: Array) -> tuple[Array, Array]:
        error, width = nothing.copy(), nothing.copy()
        for i, name in enumerate(names):
            value = values.get(name)
            if value is None or not (math.isfinite(value.std) and value.std > 0.0):
                continue
            error[i] = (value.value - true[i]) / value.std
            width[i] = 1.96 * value.std / abs(true[i])
        return error, width

    k, widths = errors(("K5", "K6", "K7", "K8"), truth)
    rub, _ = errors(
        [f"{kind} friction, {side} wheel" for kind in ("viscous", "Coulomb")
         for side in ("left", "right")],
        friction,
    )  # fmt: skip
    reported = [
        *(note for note in findings.notes if note.startswith("warning")),
        *(verdict.summary() for verdict in findings.verdicts),
    ]
    return CaseResult(STATUS[findings.usable.value], k, widths, rub, "\n".join(reported))


@dataclass(frozen=True)
class Case:
    """One recording and its truth."""

    row: str
    path: Path
    radius: float
    track: float
    truth: Array
    friction: Array

    def reported(self) -> CaseResult:
        """Return what `identify` says."""
        return identified(self.path, self.radius, self.track, self.truth, self.friction)


def _truth(robots: Robots, imperfect: Imperfections, k: int) -> tuple[Array, Array]:
    """Return K5..K8 and the friction [viscous, Coulomb] of a robot at the end of what is learnt.

    The last quarter of a run is held out. A torque that fell by a share makes K7 and K8 smaller and
    the friction larger by it: friction is what a reported torque has to overcome. So it is with a
    wrong scale.
    """
    left = 1.0 - LEARNT * imperfect.sag[k] - imperfect.settling[k] * (1.0 - math.exp(-5.0 * LEARNT))
    scale = np.tile(1.0 + imperfect.scale[:, k], 2)
    viscous = robots.viscous[:, k] * (1.0 - LEARNT * imperfect.warm_up[k])
    gains = robots.truth[:, k] * (1.0, 1.0, left, left)
    # Of both directions and, of a floor that changes, the later one.
    dry = robots.coulomb[:, k] * (1.0 + imperfect.rougher[k]) * (1.0 + 0.5 * imperfect.one_sided[k])
    return gains, np.concatenate((viscous, dry)) / (left * scale)


def make_cases(rows: Sequence[str], n: int, seed: int, folder: Path) -> list[Case]:
    """Record n robots for each row, as tables in the folder."""
    made = []
    for row in rows:
        random = np.random.default_rng([seed, *row.encode()])
        made.append(ALL[row].change(draw(n, seed), Imperfections.none(n), random))
    robots, imperfect = (
        type(first)(
            **{
                name: np.concatenate([getattr(pair[i], name) for pair in made], axis=-1)
                for name in vars(first)
            }
        )
        for i, first in enumerate(made[0])
    )
    labels = [(row, i) for row in rows for i in range(n)]
    cases: list[Case | None] = [None] * len(labels)
    for period in np.unique(robots.period).tolist():
        own = np.flatnonzero(robots.period == period)
        some, theirs = (
            type(each)(**{name: value[..., own] for name, value in vars(each).items()})
            for each in (robots, imperfect)
        )
        for k, recording in zip(
            own.tolist(), drive(some, theirs, SECONDS, seed, LEVELS), strict=True
        ):
            row, i = labels[k]
            path = folder / f"{row.replace(' ', '_').replace(',', '')}_{i}.csv"
            write_table(path, recording)
            cases[k] = Case(
                row,
                path,
                float(robots.radius[k]),
                2.0 * float(robots.half_track[k]),
                *_truth(robots, imperfect, k),
            )
    return [case for case in cases if case is not None]


def _kept(errors: Array) -> str:
    """Return the share of given intervals that hold, %."""
    given = errors[np.isfinite(errors)]
    return f"{100.0 * np.mean(np.abs(given) <= 1.96):4.0f}" if given.size else "   –"


def line(row: str, tolds: Sequence[CaseResult], clean: Sequence[CaseResult]) -> str:
    """Return the line of a row."""
    verified = [reported for reported in tolds if reported.status == 0]
    errors = np.array([reported.errors for reported in verified]).reshape(-1, 4)
    errors = np.where(ALL[row].holds, errors, math.nan)
    friction = np.array([reported.friction for reported in verified]).reshape(-1, 4)
    words = ALL[row].words
    named = (
        np.mean([any(word in reported.text for word in words) for reported in tolds])
        if words
        else 0.0
    )
    wrong = [
        any(any(word in reported.text for word in others) for name, others in OTHERS
            if not set(words) & set(others))
        for reported in tolds
    ]  # fmt: skip
    ratio = math.nan
    if clean:
        widths = [a.widths / b.widths for a, b in zip(tolds, clean, strict=True)]
        ratio = float(np.nanmedian(np.array(widths)))
    largest = np.nanmax(np.abs(errors)) if np.isfinite(errors).any() else math.nan
    k = "/".join(_kept(errors[:, i]).strip() for i in range(4))
    rub = f"{_kept(friction[:, :2]).strip()}/{_kept(friction[:, 2:]).strip()}"
    return (
        f"{row:20s} {k:>16s} {rub:>9s} {largest:7.1f} "
        f"{100.0 * (1.0 - len(verified) / len(tolds)):7.0f} {100.0 * named:6.0f} "
        f"{100.0 * np.mean(wrong):6.0f} {ratio:6.2f}"
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", nargs="+", choices=ALL)
    parser.add_argument("--untuned", action="store_true", help="defects nothing was tuned with")
    parser.add_argument("--unlisted", action="store_true", help="defects without a pattern")
    parser.add_argument("--robots", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--save", type=Path, help="folder to keep the tables in")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="print each run that is wrong")
    options = parser.parse_args()
    chosen = UNTUNED if options.untuned else UNLISTED if options.unlisted else ROWS
    rows = list(dict.fromkeys(("clean", *(options.rows or chosen))))
    with TemporaryDirectory() as temporary:
        folder = options.save or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        cases = make_cases(rows, options.robots, options.seed, folder)
        with ProcessPoolExecutor(options.workers) as pool:
            reported = list(pool.map(Case.reported, cases, chunksize=4))
    by_row = {
        row: [t for c, t in zip(cases, reported, strict=True) if c.row == row] for row in rows
    }
    print(
        f"{'data':20s} {'K5/K6/K7/K8':>16s} {'friction':>9s} {'largest':>7s} {'refused':>7s} "
        f"{'named':>6s} {'others':>6s} {'width':>6s}"
    )
    for row in rows:
        print(line(row, by_row[row], by_row["clean"]), flush=True)
    if options.verbose:
        for case, each in zip(cases, reported, strict=True):
            if each.status or np.nanmax(np.abs(each.errors), initial=0.0) > 2.5:
                print(
                    f"{case.path.name}: status {each.status}, errors "
                    f"{np.round(each.errors, 1).tolist()}, friction "
                    f"{np.round(each.friction, 1).tolist()}\n    "
                    + each.text.replace("\n", "\n    ")
                    + f"\n    --wheel-radius {case.radius:.9g} --track {case.track:.9g}"
                )


if __name__ == "__main__":
    main()
