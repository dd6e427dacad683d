"""May the values be used? The rules, and what is said when not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_ident.consistency import make_consistent
from diffbot_ident.estimate import NORMAL_95, State
from diffbot_ident.integral_rows import Array

# Largest half width of the 95 % interval of K7 and K8, relative to the value, that may be used.
PRECISE = 0.1
# Beyond this relative standard deviation a parameter is not identifiable at all.
VAGUE = 0.25
# K5 is told from 0 beyond so many standard deviations; chance does that once in 16000 runs.
SIGMAS = 4.0
# A centre of mass nearer to the axle than this share of half the track counts as on it.
ON_AXLE = 0.01
# With K5 surely within this share of half the track, 0 means 0, not lack of excitation.
NEAR = 0.05
# Windows that share nothing before which the parameters are too poor to contradict anything.
MATURE = 15.0

STRAIGHT = "the wheels move together; turn the robot, with unequal torques"
TORQUE = "too little torque in common; accelerate and brake the robot straight ahead"
YAW = "too little yaw rate: it should reach 1 rad/s; turn faster, both ways and while driving"


@dataclass(frozen=True)
class Judgement:
    """States and reasons, of each parameter and of the set."""

    parameter_states: tuple[State, State, State, State]
    parameter_reasons: tuple[str, str, str, str]
    state: State
    reason: str


def conclude(
    values: Array,
    covariance: Array,
    half_track: float,
    problem: str,
    samples: int,
    min_samples: int,
    windows: float = math.inf,
) -> tuple[Array, Array, Judgement]:
    """Make K5..K8 consistent where they are known well enough, and judge them.

    Args:
        values: [K5, K6, K7, K8], shape (4,).
        covariance: of them, shape (4, 4).
        half_track: b, m.
        problem: what is wrong with the robot's wiring; empty: nothing.
        samples: that the values rest on.
        min_samples: fewer of them tell nothing.
        windows: that share nothing; with fewer than MATURE only the wiring can be wrong.

    Returns:
        Values, their covariance, and the judgement.
    """
    if windows < MATURE and not problem:
        text = f"{windows:.0f} of {MATURE:.0f} windows of motion; wait"
        return values, covariance, _whole(State.UNESTIMATED, text)
    deviations = np.sqrt(np.diag(covariance))
    if not problem and (deviations[2:] < VAGUE * np.abs(values[2:])).all():
        # A wrong sign also contradicts geometry; the sign is the better hint.
        problem = _wrong_sign(values.tolist(), deviations.tolist())
        if not problem:
            found = make_consistent(values, covariance, half_track)
            values, covariance, problem = found.values, found.covariance, found.problem
    deviations = np.sqrt(np.diag(covariance))
    judgement = judge(values, deviations, half_track, problem, samples, min_samples)
    return values, covariance, judgement


def judge(
    values: Array,
    deviations: Array,
    half_track: float,
    problem: str,
    samples: int,
    min_samples: int,
) -> Judgement:
    """Judge K5..K8.

    Args:
        values: [K5, K6, K7, K8], shape (4,).
        deviations: standard deviations, shape (4,).
        half_track: b, m.
        problem: what is wrong with the robot's wiring or the values together; empty: nothing.
        samples: that the values rest on.
        min_samples: fewer of them tell nothing.
    """
    if samples < min_samples and not problem:
        text = f"{samples} of {min_samples} samples; wait"
        return _whole(State.UNESTIMATED, text)
    reasons = _reasons(values.tolist(), deviations.tolist(), half_track)
    on_axle = reasons[0].startswith("the centre of mass") and not any(reasons[2:])
    states = [State.UNESTIMATED if reason else State.ESTIMATED for reason in reasons]
    if not problem:
        problem = _wrong_sign(values.tolist(), deviations.tolist())
    if problem:
        return Judgement(
            (State.INVALID,) * 4, (problem,) * 4, State.INVALID, f"{problem}; torque stays off"
        )
    state, text = State.ESTIMATED, ""
    if any(reasons) and not on_axle:
        state, text = State.UNESTIMATED, _summary(reasons)
    elif vague := _vague(values.tolist(), deviations.tolist()):
        state, text = State.UNESTIMATED, vague
    return Judgement(tuple(states), tuple(reasons), state, text)


def _whole(state: State, text: str) -> Judgement:
    return Judgement((state,) * 4, (text,) * 4, state, text)


def _reasons(values: list[float], deviations: list[float], half_track: float) -> list[str]:
    """Why each parameter is not identifiable; empty where it is."""
    _, _, k7, k8 = values
    std5, _, std7, std8 = deviations
    linear = "" if std7 <= VAGUE * abs(k7) else TORQUE
    angular = "" if std8 <= VAGUE * abs(k8) else STRAIGHT
    if linear or angular:
        both = angular or linear
        return [both, both, linear, angular]
    offset = _offset(values[0], std5, half_track)
    return [offset, offset, "", ""]


def _offset(k5: float, std: float, half_track: float) -> str:
    if math.isfinite(std) and abs(k5) > max(SIGMAS * std, ON_AXLE * half_track):
        return "" if std <= VAGUE * abs(k5) else YAW
    if abs(k5) + NORMAL_95 * std <= NEAR * half_track:
        return (
            f"the centre of mass is on the axle: K5 = {1e3 * k5:.1f} +- "
            f"{1e3 * NORMAL_95 * std:.1f} mm is too little to tell"
        )
    return YAW


def _summary(reasons: list[str]) -> str:
    """Names with their reasons, such as 'K5, K6 are not identifiable: ...'."""
    groups: dict[str, list[str]] = {}
    for name, reason in zip(("K5", "K6", "K7", "K8"), reasons, strict=True):
        if reason:
            groups.setdefault(reason, []).append(name)
    return "; ".join(
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not identifiable: {reason}"
        for reason, names in groups.items()
    )


def _wrong_sign(values: list[float], deviations: list[float]) -> str:
    for name, i, sign in (("K7", 2, 1.0), ("K8", 3, -1.0)):
        if sign * values[i] + SIGMAS * deviations[i] <= 0.0:
            return (
                f"{name} = {values[i]:.4g} has the wrong sign; check for a flipped torque sign or "
                "swapped wheels"
            )
    return ""


def _vague(values: list[float], deviations: list[float]) -> str:
    for name, i in (("K7", 2), ("K8", 3)):
        half = NORMAL_95 * deviations[i]
        if half > PRECISE * abs(values[i]):
            return (
                f"{name} = {values[i]:.4g} +- {half:.2g} is not precise enough; excite longer or "
                "harder"
            )
    return ""
