# SPDX-License-Identifier: Apache-2.0
"""Rules that decide whether the values of K5..K8 may be used, and the reasons given if not.

The coupling of v and omega does no work: K5 K8 = b K6 K7. Values that clearly violate this are
rejected, others projected onto it; docs/theory/integral_estimator.md#consistency.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum

import numpy as np

from diffbot_ident.estimate import (
    MIN_SAMPLES,
    NORMAL_95,
    Advice,
    Array,
    Estimate,
    EstimateState,
)
from diffbot_ident.torque.columns import DOMEGA, DV
from diffbot_ident.torque.effects import DIFFERENCE, SUM
from diffbot_ident.torque.sums import RowSums
from diffbot_ident.torque.torque_delay import DELAYS

# A contradiction exceeds so many deviations and this share of the larger side: in a long run even
# slight slip is significant.
CONTRADICTION_STDS, CONTRADICTION_FRACTION = 5.0, 0.1
# Largest half width of the 95 % interval of K7 and K8, relative to the value, that may be used.
MAX_HALF_WIDTH = 0.1
# Beyond this relative standard deviation a parameter is not identifiable at all.
MAX_RELATIVE_STD = 0.25
# A sign is sure, and K5 differs from 0, beyond so many deviations; by chance once in 16000 runs.
SIGNIFICANT_STDS = 4.0
# A centre of mass nearer to the axle than this share of half the track counts as on it,
ON_AXLE = 0.01
# and so does one whose K5 is surely within this one.
MAX_AXLE_OFFSET = 0.05
# Disjoint windows below which the parameters contradict nothing.
MIN_WINDOWS = 15.0

NO_TURNING = (
    "the wheels move together; turn the robot, with unequal torques (if it did turn on the spot, "
    "one "
    "wheel's angle and torque are reversed)"
)
NO_TORQUE = (
    "too little torque in common; accelerate and brake the robot straight ahead (if it did, one "
    "wheel's angle and torque are reversed)"
)
UNEXPLAINED_MOTION = (
    "the robot {} as the wheels' angles tell, but not as the torques of the same time do: check "
    "that efforts and angles have one clock and belong to these wheels, and that the torques act "
    "within {} control periods"
)
# Share of the other's mean square from which on a motion, or torque, in common or opposed is there.
PRESENT = 0.1
NO_YAW_RATE = (
    "the effect of the yaw rate on the speed is not known: drive curves of 1 rad/s or more, both "
    "ways and for longer"
)

# Of wheels that turn by fewer counts, two periods in a row seldom hold one each, and the products
# of their velocities become too small: K5 and K6 were off by half. From 0.5 on their intervals held
# (test_coarse_readings.py).
FEWEST_COUNTS = 0.45
TOO_COARSE = (
    "the wheels turn by {:.2g} counts of their encoders per sample (must be "
    f"{FEWEST_COUNTS:g} or more): drive faster, publish joint states less often, or use finer "
    "encoders"
)


def judge(
    estimate: Estimate,
    half_track: float,
    *,
    problem: str | None,
    windows: float = math.inf,
    significant_windows: float = MIN_WINDOWS,
    sums: RowSums | None = None,
    counts: float = math.inf,
) -> Estimate:
    """Make K5..K8 consistent if they are known well enough, and set their states.

    Args:
        half_track: b, m.
        problem: Error in the robot's wiring, in words; None if there is none.
        windows: Number of disjoint windows; below MIN_WINDOWS only a wiring error is reported.
        significant_windows: Those below which a contradiction may be friction outside the model.
        sums: Sums of the rows, which tell a lack of motion from unexplained motion.
        counts: Counts of the encoders by which wheels turn in a control period.
    """
    if counts < FEWEST_COUNTS:
        estimate = _without_products(estimate, half_track)
    if problem is None and windows < MIN_WINDOWS:
        text = f"{windows:.0f} of {MIN_WINDOWS:.0f} windows of motion"
        return estimate.as_a_whole(EstimateState.UNESTIMATED, text, Advice.WAIT)
    values, covariance = np.array(estimate.values), np.array(estimate.covariance)
    deviations = np.sqrt(covariance.diagonal())
    if problem is None and (deviations[2:] < MAX_RELATIVE_STD * np.abs(values[2:])).all():
        problem = _wrong_sign(values, deviations)
        try:
            if problem is None:
                values, covariance = make_consistent(values, covariance, half_track)
        except ContradictionError as error:
            if windows < significant_windows:
                text = f"{error}; {windows:.0f} of {significant_windows:.0f} windows of motion"
                return estimate.as_a_whole(EstimateState.UNESTIMATED, text, Advice.WAIT)
            problem = str(error)
    estimate = estimate.with_values(values, covariance)
    if problem is None and estimate.samples < MIN_SAMPLES:
        text = f"{estimate.samples} of {MIN_SAMPLES} samples"
        return estimate.as_a_whole(EstimateState.UNESTIMATED, text, Advice.WAIT)
    deviations = np.sqrt(covariance.diagonal())
    problem = problem or _wrong_sign(values, deviations)
    if problem is not None:
        return estimate.as_a_whole(EstimateState.INVALID, problem, Advice.TORQUE_OFF)
    coarse = TOO_COARSE.format(counts) if counts < FEWEST_COUNTS else NO_YAW_RATE
    return with_states(estimate, half_track, lacks_of(sums, half_track), coarse)


def _without_products(estimate: Estimate, half_track: float) -> Estimate:
    """Return the estimate of a robot whose products of velocities the encoders do not tell.

    The centre of mass may be anywhere within half the track of the axle.
    """
    values, covariance = np.array(estimate.values), np.array(estimate.covariance)
    k7, k8 = float(values[2]), float(values[3])
    ratio = abs(k8 / k7) if k7 != 0.0 else math.inf
    covariance[[0, 1], [0, 1]] += half_track**2, min(ratio, 1e6) ** 2
    return estimate.with_values(values, covariance)


def lacks_of(sums: RowSums | None, half_track: float) -> tuple[str, str]:
    """Return why K7 and K8 are not identifiable, if they are not; without sums: not known."""
    if sums is None:
        return NO_TORQUE, NO_TURNING
    power = sums.moments.diagonal()
    straight, turning = float(power[DV]), half_track**2 * float(power[DOMEGA])
    common, opposed = (float(power[column.start]) for column in (SUM, DIFFERENCE))
    unexplained = [UNEXPLAINED_MOTION.format(does, DELAYS - 1) for does in ("drives", "turns")]
    drives = straight > PRESENT * turning and common > PRESENT * opposed
    turns = turning > PRESENT * straight and opposed > PRESENT * common
    return unexplained[0] if drives else NO_TORQUE, unexplained[1] if turns else NO_TURNING


class ContradictionError(ValueError):
    """No robot has these K5..K8."""


def make_consistent(values: Array, covariance: Array, half_track: float) -> tuple[Array, Array]:
    """Return the most likely values with K5 K8 = b K6 K7, and their covariance.

        >>> values, _ = make_consistent(np.array([0.1, -1.0, 2.0, -10.0]), np.eye(4), 0.5)
        >>> round(float(values[0] * values[3] - 0.5 * values[1] * values[2]), 2)
        0.0

    Raises:
        ContradictionError: The values contradict it; the message gives values and limits.
    """
    k5, k6, k7, k8 = values.tolist()
    left, right = k5 * k8, half_track * k6 * k7
    gap = left - right
    slope = np.array([k8, -half_track * k7, -half_track * k6, k5])
    spread = covariance @ slope
    variance = float(slope @ spread)
    deviation = math.sqrt(max(variance, 0.0))
    std5, std6 = np.sqrt(covariance.diagonal()[:2]).tolist()
    significantly_not_0 = (
        abs(k5) > CONTRADICTION_STDS * std5 and abs(k6) > CONTRADICTION_STDS * std6
    )
    if k5 * k6 > 0.0 and significantly_not_0:
        raise ContradictionError(
            f"K5 = {k5:.4g} and K6 = {k6:.4g} have the same sign, which no robot has (it would "
            "gain energy by turning); look for slip, a floor that is not level, and torques or "
            "stamps that belong to other samples"
        )
    apart = abs(gap) / deviation if deviation > 0.0 else math.inf
    larger = max(abs(left), abs(right))
    if apart > CONTRADICTION_STDS and abs(gap) > CONTRADICTION_FRACTION * larger:
        raise ContradictionError(
            f"K5 K8 = {left:.4g} and b K6 K7 = {right:.4g} must be equal; they are "
            f"{apart:.0f} standard deviations apart: check that the wheels do not "
            "slip, and their radius and separation in the robot's YAML"
        )
    if not 0.0 < variance < math.inf:
        return values, covariance
    fused = covariance - np.outer(spread, spread) / variance
    return values - spread * (gap / variance), fused


def _wrong_sign(values: Array, deviations: Array) -> str | None:
    for name, i, sign in (("K7", 2, 1.0), ("K8", 3, -1.0)):
        if sign * values[i] + SIGNIFICANT_STDS * deviations[i] <= 0.0:
            return (
                f"{name} = {values[i]:.4g} has the wrong sign; check for a flipped torque sign or "
                "swapped wheels"
            )
    return None


def with_states(
    estimate: Estimate,
    half_track: float,
    lacks: tuple[str, str] = (NO_TORQUE, NO_TURNING),
    unknown: str = NO_YAW_RATE,
) -> Estimate:
    """Return consistent values with states and reasons.

    Reasons are `lacks` for K7 and K8, `unknown` for K5 and K6 if those two are known.
    """
    values, deviations = np.array(estimate.values), np.sqrt(np.diag(estimate.covariance))
    _, _, k7, k8 = values.tolist()
    std5, _, std7, std8 = deviations.tolist()
    linear = None if std7 <= MAX_RELATIVE_STD * abs(k7) else lacks[0]
    angular = None if std8 <= MAX_RELATIVE_STD * abs(k8) else lacks[1]
    offset = _offset(float(values[0]), std5, half_track)
    coupling = angular or linear or _offset_reason(offset, float(values[0]), std5, unknown)
    reasons = (coupling, coupling, linear, angular)
    states = tuple(
        EstimateState.UNESTIMATED if reason else EstimateState.ESTIMATED for reason in reasons
    )
    # With the centre of mass on the axle, 0 may be used for K5 and K6.
    missing = linear or angular or offset is _Offset.UNKNOWN
    reason = _summary(reasons) if missing else _imprecise(values, deviations)
    return replace(
        estimate,
        parameter_states=states,
        parameter_reasons=tuple(reason or "" for reason in reasons),
        state=EstimateState.UNESTIMATED if reason else EstimateState.ESTIMATED,
        reason=reason or "",
    )


class _Offset(Enum):
    """Whether K5 determines the distance of the centre of mass from the axle."""

    KNOWN = "known"
    ON_AXLE = "on the axle"
    UNKNOWN = "unknown"


def _offset(k5: float, std: float, half_track: float) -> _Offset:
    if math.isfinite(std) and abs(k5) > max(SIGNIFICANT_STDS * std, ON_AXLE * half_track):
        return _Offset.KNOWN if std <= MAX_RELATIVE_STD * abs(k5) else _Offset.UNKNOWN
    near = abs(k5) + NORMAL_95 * std <= MAX_AXLE_OFFSET * half_track
    return _Offset.ON_AXLE if near else _Offset.UNKNOWN


def _offset_reason(offset: _Offset, k5: float, std: float, unknown: str) -> str | None:
    if offset is _Offset.ON_AXLE:
        return (
            f"the centre of mass is on the axle: K5 = {1e3 * k5:.1f} +- "
            f"{1e3 * NORMAL_95 * std:.1f} mm cannot be distinguished from 0"
        )
    return unknown if offset is _Offset.UNKNOWN else None


def _summary(reasons: tuple[str | None, ...]) -> str:
    groups: dict[str, list[str]] = {}
    for name, reason in zip(("K5", "K6", "K7", "K8"), reasons, strict=True):
        if reason:
            groups.setdefault(reason, []).append(name)
    return "; ".join(
        f"{', '.join(names)} {'is' if len(names) == 1 else 'are'} not identifiable: {reason}"
        for reason, names in groups.items()
    )


def _imprecise(values: Array, deviations: Array) -> str | None:
    for name, i in (("K7", 2), ("K8", 3)):
        half = NORMAL_95 * deviations[i]
        if half > MAX_HALF_WIDTH * abs(values[i]):
            return (
                f"{name} = {values[i]:.4g} +- {half:.2g} is not precise enough; excite longer or "
                "harder"
            )
    return None
