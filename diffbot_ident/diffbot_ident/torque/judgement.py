"""May the values be used? The rules, and what is said when not."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from diffbot_ident.torque.estimate import NORMAL_95, State
from diffbot_ident.torque.integral_rows import (
    DIFFERENCE,
    DOMEGA,
    DV,
    OMEGA,
    SIGN_LEFT,
    SIGN_RIGHT,
    SUM,
    Array,
    RowSums,
    V,
)

# ---
# What energy and geometry demand of K5..K8, as a check and as knowledge.
#
# Coupling v and omega does no work, so M_e K5 + I_e K6 = 0 with M_e = 1 / (r K7) and
# I_e = -b / (r K8): K5 and K6 have opposite signs, and K5 K8 = b K6 K7.

# Disagreement that is called a contradiction: standard deviations, and share of the larger side.
# Only both together count: a long run tells slight slip of the wheels from none.
CONSISTENCY_SIGMAS, CONSISTENCY_SHARE = 5.0, 0.1


@dataclass(frozen=True)
class Consistency:
    """K5..K8 made consistent.

    Attributes:
        values: [K5, K6, K7, K8], shape (4,).
        covariance: of the values, shape (4, 4).
        problem: what contradicts, with values and limits; empty when nothing does. The values are
            then those that came in.
    """

    values: Array
    covariance: Array
    problem: str


def make_consistent(values: Array, covariance: Array, half_track: float) -> Consistency:
    """The most likely values with K5 K8 = b K6 K7, unless those at hand contradict it.

    One Gauss-Newton step: errors are small against the values where this is asked.

    Args:
        values: [K5, K6, K7, K8], shape (4,).
        covariance: of them, shape (4, 4).
        half_track: b, m.
    """
    k5, k6, k7, k8 = values.tolist()
    gap = k5 * k8 - half_track * k6 * k7
    slope = np.array([k8, -half_track * k7, -half_track * k6, k5])
    spread = covariance @ slope
    variance = float(slope @ spread)
    problem = _contradiction(values, covariance, gap, math.sqrt(max(variance, 0.0)), half_track)
    if problem or variance <= 0.0:
        return Consistency(values, covariance, problem)
    fused = covariance - np.outer(spread, spread) / variance
    return Consistency(values - spread * (gap / variance), fused, "")


def _contradiction(
    values: Array, covariance: Array, gap: float, deviation: float, half_track: float
) -> str:
    k5, k6, k7, k8 = values.tolist()
    std5, std6 = np.sqrt(np.diag(covariance)[:2]).tolist()
    if (
        k5 * k6 > 0.0
        and abs(k5) > CONSISTENCY_SIGMAS * std5
        and abs(k6) > CONSISTENCY_SIGMAS * std6
    ):
        return (
            f"K5 = {k5:.4g} and K6 = {k6:.4g} have the same sign, which no robot has (it would "
            "gain energy by turning); check the order [left, right] of the wheels and the signs "
            "of their angles"
        )
    left, right = k5 * k8, half_track * k6 * k7
    if abs(gap) > CONSISTENCY_SIGMAS * deviation and abs(gap) > CONSISTENCY_SHARE * max(
        abs(left), abs(right)
    ):
        return (
            f"K5 K8 = {left:.4g} and b K6 K7 = {right:.4g} must be equal; they are "
            f"{abs(gap) / deviation:.0f} standard deviations apart: check that the wheels do not "
            "slip, and their radius and separation in the robot's YAML"
        )
    return ""


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


# ---
# Which wheel a torque drives, and which way: finds swapped wheels and flipped signs.
#
# A robot as it should be gains v with the sum of its wheels' torques and loses omega with their
# difference (K7 > 0, K8 < 0). With signs flipped or sides swapped, what arrives as sum and
# difference is the other one of the two, or its negative. Eight ways of wiring give eight patterns;
# the one that explains the motion best is named once it does so much better than the right one.
#
# What friction may explain is taken out first: a wheel that runs away under a guard of the wrong
# sign ends where friction balances a constant torque.

# What the wheels see as (sum, difference), from s = tau_l + tau_r and d = tau_l - tau_r.
PATTERNS = {
    "": ("+s", "+d"),
    "both wheels turn against their torque: the torque's sign is flipped, or the encoders'": (
        "-s",
        "-d",
    ),
    "the left wheel turns against its torque: the sign of its torque or encoder is flipped": (
        "-d",
        "-s",
    ),
    "the right wheel turns against its torque: the sign of its torque or encoder is flipped": (
        "+d",
        "+s",
    ),
    "the wheels are swapped: a torque on the left turns the right one": ("+s", "-d"),
    "the wheels are swapped and both signs are flipped": ("-s", "+d"),
    "the wheels are swapped, and the sign of the left torque is flipped": ("-d", "+s"),
    "the wheels are swapped, and the sign of the right torque is flipped": ("+d", "-s"),
}
OTHER = {"+": "-", "-": "+"}
# Logarithm of how many times likelier than the right wiring another one has to be to be named.
LIKELIER = 5.0
# Share of a motion that torque alone cannot explain, in any robot: friction, coupling, noise.
UNEXPLAINED = 0.05
# Weight of "no friction", as a share of what the rows hold about it. Little more than none lets
# friction explain what the torque does, more than this leaves in what friction does
# (benchmarks/trust.py wiring).
NO_FRICTION = 0.05


# The same for a robot that has run away from its guard, which is evidence by itself.
LIKELIER_RUNAWAY = 1.0


def wiring_problem(sums: RowSums, likelier: float = LIKELIER) -> str:
    """What is wired wrongly; empty when nothing is, or while that cannot be told.

    Args:
        sums: of the rows so far.
        likelier: logarithm of how many times likelier than the right wiring one has to be.
    """
    independent = sums.rows / (sums.window + sums.smoothing)
    if independent < (3.0 if likelier >= LIKELIER else 1.0):
        return ""
    moments = _without_friction(sums.moments)
    found = {
        (output, name): _log_likelihoods(moments, output, columns)
        for output in (DV, DOMEGA)
        for name, columns in (("s", SUM), ("d", DIFFERENCE))
    }
    likelihood = {
        problem: max(
            # Wheels as they should be gain v by the sum, and lose omega by the difference.
            found[DV, linear[1]][linear[0]] + found[DOMEGA, angular[1]][OTHER[angular[0]]]
        )
        for problem, (linear, angular) in PATTERNS.items()
    }
    best = max(likelihood, key=lambda problem: likelihood[problem])
    gain = 0.5 * independent * (likelihood[best] - likelihood[""])
    return best if gain > likelier else ""


def standing_wheel(sums: RowSums) -> str:
    """Which wheel never turned though both got torque; empty when both did."""
    power = np.diag(sums.moments)
    if power[SUM.start] + power[DIFFERENCE.start] == 0.0:
        return ""
    still = [
        name
        for name, column in (("left", SIGN_LEFT), ("right", SIGN_RIGHT))
        if power[column] == 0.0
    ]
    if not still:
        return ""
    which = "neither wheel turns" if len(still) == 2 else f"the {still[0]} wheel does not turn"
    return f"{which} under torque: check its power, brake, cable and encoder, or raise amplitude"


def _without_friction(moments: Array) -> Array:
    """Moments of what is left of the columns after a regression on speeds and their signs."""
    columns = [V, OMEGA, SIGN_LEFT, SIGN_RIGHT]
    own = moments[np.ix_(columns, columns)]
    own = own + np.diag(NO_FRICTION * np.diag(own) + np.finfo(float).tiny)
    return moments - moments[:, columns] @ np.linalg.solve(own, moments[columns])


def _log_likelihoods(moments: Array, output: int, columns: slice) -> dict[str, Array]:
    """Twice the log likelihood per independent row, but for what all patterns share.

    Returns:
        For the sign of the gain, "+" and "-": one for each delay, shape (DELAYS,).
    """
    power = np.diag(moments)[columns] * moments[output, output]
    along = moments[columns, output]
    tiny = np.finfo(float).tiny
    return {
        sign: -np.log(
            np.clip(1.0 - np.maximum(direction * along, 0.0) ** 2 / (power + tiny), 0.0, 1.0)
            + UNEXPLAINED
        )
        for sign, direction in (("+", 1.0), ("-", -1.0))
    }
