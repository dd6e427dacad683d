# SPDX-License-Identifier: Apache-2.0
"""Defects of robots and recordings, as kinds of data: what is changed, and which words name it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from diffbot_bench.independent_plant import (
    HOLD,
    Array,
    Imperfections,
    Robots,
    TorqueLog,
    draw,
    drive,
)

# Length of a run, s; share of it that `identify` learns from; sizes of the torques, as shares.
SECONDS, LEARNT, LEVELS = 20.0, 0.75, (0.4, 0.7, 1.0)
Change = Callable[[Robots, Imperfections, np.random.Generator], tuple[Robots, Imperfections]]


@dataclass(frozen=True)
class DataKind:
    """A kind of data: how robots change, words of a warning that names it, and what can be told."""

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
ROWS: Mapping[str, DataKind] = {
    "clean": DataKind(_only()),
    "fractional delay": DataKind(_only(delay=_periods(0.0, 3.0)), ("after it is",)),
    "drops": DataKind(_only(dropped=_uniform(0.005, 0.02)), ("missing", "lost", "left out")),
    "slope": DataKind(_only(slope=_uniform(-0.03, 0.03)), ("not level",)),
    "torque offset": DataKind(_only(offset=_of_torque(-0.03, 0.03, 2)), ("differs by direction",)),
    "unequal radii": DataKind(_only(radius_error=_unlike(0.01)), ("not alike",)),
    "sag": DataKind(_only(sag=_uniform(0.02, 0.08)), ("effect of the torques",)),
    "warm-up": DataKind(_only(warm_up=_uniform(0.1, 0.4)), ("friction fell", "friction of")),
    "jitter, true stamps": DataKind(
        _only(jitter=lambda robots, random: 0.1 * robots.period), ("jitters by",)
    ),
    "late": DataKind(_only(late=_uniform(0.002, 0.003)), LATE),
    "late 1 ms": DataKind(_slower(_only(late=_constant(0.001))), LATE),
    "rounded": DataKind(
        _only(rounding=_constant(0.001), jitter=lambda robots, random: 0.05 * robots.period),
        ("stamps are rounded",),
    ),
    "lag": DataKind(_only(lag=_uniform(0.002, 0.02), delay=_periods(0.0, 3.5)), ("gradually",)),
    "backlash": DataKind(
        _only(backlash=_uniform(math.radians(0.2), math.radians(1.0))), ("backlash",)
    ),
    "creep": DataKind(_only(creep=_uniform(0.01, 0.05)), ("slip in proportion",)),
    "skid": DataKind(
        _only(turning_coulomb=_moment(0.1, 0.25), turning_viscous=_moment(0.01, 0.05)),
        ("against turning", "skid"),
    ),
    "stribeck": DataKind(_only(**_of_stiction(0.3, 1.0)), STICTION),
    "caster": DataKind(_only(caster=_drag(0.05, 0.2)), ("drag",)),
    "saturation": DataKind(_only(saturation=_uniform(0.6, 0.9)), ("saturate",)),
    "stale": DataKind(_only(stale=_uniform(0.005, 0.03)), ("repeat the one before",)),
    "scale": DataKind(
        _only(scale=_uniform(-0.05, 0.05, 2)), ("not alike",), (True, True, False, False)
    ),
}
STICKS = _of_stiction(0.3, 1.0)
# Defects that nothing was tuned with, of one wheel or two at once.
UNTUNED: Mapping[str, DataKind] = {
    "stiction, one rubs": DataKind(_rubs(_only(**STICKS)), STICTION),
    "one wheel slips": DataKind(_only(creep=_one_wheel(0.01, 0.05)), ("slip in proportion",)),
    "unlike lags": DataKind(
        _only(lag=_uniform(0.002, 0.02, 2), delay=_periods(0.0, 3.5)), ("gradually",)
    ),
    "backlash, stiction": DataKind(
        _only(backlash=_uniform(math.radians(0.2), math.radians(1.0)), **STICKS),
        ("backlash", *STICTION),
    ),
    "late, lag": DataKind(
        _only(late=_uniform(0.002, 0.003), lag=_uniform(0.002, 0.02)), (*LATE, "gradually")
    ),
    "slip, lag": DataKind(
        _only(creep=_uniform(0.01, 0.05), lag=_uniform(0.002, 0.02)),
        ("slip in proportion", "gradually"),
    ),
    "slope, caster": DataKind(
        _only(slope=_uniform(-0.03, 0.03), caster=_drag(0.05, 0.2)), ("not level", "drag")
    ),
    "sag, warm-up": DataKind(
        _only(sag=_uniform(0.02, 0.08), warm_up=_uniform(0.1, 0.4)),
        ("effect of the torques", "friction fell", "friction of"),
    ),
    "stale bursts": DataKind(
        _only(stale=_uniform(0.002, 0.01), burst=_whole(1, 4)), ("repeat the one before",)
    ),
    "slight saturation": DataKind(_only(saturation=_uniform(0.9, 0.99)), ("saturate",)),
    "few counts": DataKind(_only(count_error=_one_wheel(-0.01, -0.01)), ("not alike",)),
}
# Defects for which the estimator has no pattern of its own; words of what comes nearest.
OUTSIDE = ("no known effect explains", "not white")
UNLISTED: Mapping[str, DataKind] = {
    "slew limit": DataKind(_only(slew=_uniform(20.0, 100.0)), ("gradually", *OUTSIDE)),
    "torque in steps": DataKind(_only(quantum=_uniform(0.02, 0.1)), ("rounds them", *OUTSIDE)),
    "gain by direction": DataKind(
        _only(forward_gain=_uniform(-0.03, 0.03)), ("differs by direction", *OUTSIDE)
    ),
    "ripple": DataKind(_only(ripple=_uniform(0.02, 0.1)), ("once per turn", *OUTSIDE)),
    "flat spot": DataKind(_only(flat=_uniform(0.1, 0.5)), ("once per turn", *OUTSIDE)),
    "quadratic friction": DataKind(_only(quadratic=_uniform(0.05, 0.2)), OUTSIDE),
    "floor gets rougher": DataKind(_only(rougher=_uniform(0.2, 1.0)), ("friction", *OUTSIDE)),
    "bumps": DataKind(_only(bumps=_uniform(0.05, 0.3)), OUTSIDE),
    "filtered efforts": DataKind(
        _only(filtered=_uniform(0.01, 0.04)), ("before it is reported", *OUTSIDE)
    ),
    "settling torque": DataKind(
        _only(settling=_uniform(0.03, 0.1)), ("effect of the torques", *OUTSIDE)
    ),
    "drifting clock": DataKind(_only(clock_drift=_constant(1e-4))),
    "one-sided friction": DataKind(
        _only(one_sided=_uniform(0.2, 1.0)), ("differs by direction", *OUTSIDE)
    ),
}


def _of_robot(**own: Callable[[Robots, np.random.Generator], Array]) -> Change:
    """Return a change of the robots alone."""

    def change(
        robots: Robots, imperfect: Imperfections, random: np.random.Generator
    ) -> tuple[Robots, Imperfections]:
        return replace(robots, **{k: f(robots, random) for k, f in own.items()}), imperfect

    return change


HARD: Mapping[str, DataKind] = {
    "torque noise": DataKind(_of_robot(noise=_uniform(0.05, 0.15))),
    "coarse encoders": DataKind(_of_robot(counts=_whole(100, 400))),
}
ALL = {**ROWS, **UNTUNED, **UNLISTED, **HARD}


def _truth(robots: Robots, imperfect: Imperfections, k: int) -> tuple[Array, Array]:
    """Return K5..K8 and the friction [viscous, Coulomb] of a robot at the end of what is learnt.

    A torque that fell, or whose scale is wrong, makes K7 and K8 smaller and the friction larger:
    friction is what a reported torque has to overcome.
    """
    left = 1.0 - LEARNT * imperfect.sag[k] - imperfect.settling[k] * (1.0 - math.exp(-5.0 * LEARNT))
    scale = np.tile(1.0 + imperfect.scale[:, k], 2)
    viscous = robots.viscous[:, k] * (1.0 - LEARNT * imperfect.warm_up[k])
    gains = robots.truth[:, k] * (1.0, 1.0, left, left)
    # Of both directions and, of a floor that changes, the later one.
    dry = robots.coulomb[:, k] * (1.0 + imperfect.rougher[k]) * (1.0 + 0.5 * imperfect.one_sided[k])
    return gains, np.concatenate((viscous, dry)) / (left * scale)


Ensemble = TypeVar("Ensemble", Robots, Imperfections)


def _joined(parts: Sequence[Ensemble]) -> Ensemble:
    return type(parts[0])(
        **{
            name: np.concatenate([getattr(part, name) for part in parts], axis=-1)
            for name in vars(parts[0])
        }
    )


def _chosen(ensemble: Ensemble, which: NDArray[np.intp]) -> Ensemble:
    return type(ensemble)(**{name: value[..., which] for name, value in vars(ensemble).items()})


@dataclass(frozen=True)
class RobotRun:
    """A recorded robot and its truth.

    Attributes:
        row, index: Kind of data, a key of ALL, and number of the robot within it.
        radius, track: As `identify` is told, m.
        truth: K5..K8, (4,).
        friction: [viscous left, right, Coulomb left, right], N m s/rad and N m.
    """

    row: str
    index: int
    radius: float
    track: float
    truth: Array
    friction: Array
    recording: TorqueLog


def record(
    rows: Sequence[str],
    n: int,
    seed: int,
    seconds: float = SECONDS,
    levels: tuple[float, ...] = LEVELS,
    hold: float = HOLD,
) -> list[RobotRun]:
    """Record n robots, the same ones for each row of ALL, for some seconds; see `drive`."""
    made = []
    for row in rows:
        random = np.random.default_rng([seed, *row.encode()])
        made.append(ALL[row].change(draw(n, seed), Imperfections.none(n), random))
    robots = _joined([pair[0] for pair in made])
    imperfect = _joined([pair[1] for pair in made])
    labels = [(row, i) for row in rows for i in range(n)]
    runs: dict[int, RobotRun] = {}
    for period in np.unique(robots.period).tolist():
        own = np.flatnonzero(robots.period == period)
        recordings = drive(
            _chosen(robots, own), _chosen(imperfect, own), seconds, seed, levels, hold=hold
        )
        for k, recording in zip(own.tolist(), recordings, strict=True):
            runs[k] = RobotRun(
                *labels[k],
                float(robots.radius[k]),
                2.0 * float(robots.half_track[k]),
                *_truth(robots, imperfect, k),
                recording,
            )
    return [runs[k] for k in range(len(labels))]
