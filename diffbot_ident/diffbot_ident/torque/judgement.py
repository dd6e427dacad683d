# SPDX-License-Identifier: Apache-2.0
"""Rules that decide whether the values of K5..K8 may be used, and the reasons given if not.

The coupling of v and omega does no work, so M_e K5 + I_e K6 = 0 with M_e = 1 / (r K7) and
I_e = -b / (r K8): K5 and K6 have opposite signs, and K5 K8 = b K6 K7. Values that violate this
significantly and by much are rejected; others are projected onto it, which makes them more precise.

`likely_wiring` finds swapped wheels and flipped signs. `ResidualCorrelation` tests whether the
residuals are mere noise or the model misses something.
"""

from __future__ import annotations

import math
from dataclasses import replace
from enum import Enum

import numpy as np

from diffbot_ident.torque.axis_fit import (
    AXES,
    TINY,
    ExtraColumns,
    block,
    solutions,
)
from diffbot_ident.torque.estimate import NORMAL_95, Advice, Array, Estimate, EstimateState
from diffbot_ident.torque.integral_rows import (
    DIFFERENCE,
    DOMEGA,
    DV,
    OMEGA,
    SIGN_LEFT,
    SIGN_RIGHT,
    SUM,
    TORQUES,
    Flags,
    RowSums,
    V,
    torque_weights,
)
from diffbot_ident.torque.torque_delay import DELAYS

# Disagreement that counts as a contradiction: standard deviations, and share of the larger side.
# Both must be exceeded, as in a long run even slight slip of the wheels is significant.
CONTRADICTION_STDS, CONTRADICTION_SHARE = 5.0, 0.1
# Largest half width of the 95 % interval of K7 and K8, relative to the value, that may be used.
MAX_HALF_WIDTH = 0.1
# Beyond this relative standard deviation a parameter is not identifiable at all.
MAX_RELATIVE_STD = 0.25
# A sign is sure, and K5 differs from 0, beyond so many standard deviations; by chance this happens
# once in 16000 runs.
SURE_STDS = 4.0
# A centre of mass nearer to the axle than this share of half the track counts as on it.
ON_AXLE = 0.01
# With K5 surely within this share of half the track the centre of mass is on the axle; otherwise a
# K5 near 0 may also mean a lack of excitation.
MAX_AXLE_OFFSET = 0.05
# Disjoint windows below which the parameters are too poor to contradict anything.
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
# Accelerations of both wheels in common and against each other, or torques: if one has this share
# of the other's mean square or more, it is not missing.
PRESENT = 0.1
NO_YAW_RATE = (
    "the effect of the yaw rate on the speed is not known: drive curves of 1 rad/s or more, both "
    "ways and for longer"
)


def judge(
    found: Estimate,
    half_track: float,
    *,
    problem: str | None,
    min_samples: int,
    windows: float = math.inf,
    sure_windows: float = MIN_WINDOWS,
    sums: RowSums | None = None,
) -> Estimate:
    """Make K5..K8 consistent if they are known well enough, and set their states.

    Args:
        found: Values and covariance as fitted to the data, and the number of samples.
        half_track: b, m.
        problem: Error in the robot's wiring, in words; None if there is none.
        min_samples: Number of samples below which nothing is estimated.
        windows: Number of disjoint windows; below MIN_WINDOWS only a wiring error is reported.
        sure_windows: Number of windows below which contradicting parameters do not stop the robot,
            because friction outside the model may cause the contradiction.
        sums: Sums of the rows, which tell a lack of motion from motion that the torques do not
            explain; None: not known.
    """
    if problem is None and windows < MIN_WINDOWS:
        text = f"{windows:.0f} of {MIN_WINDOWS:.0f} windows of motion"
        return found.as_a_whole(EstimateState.UNESTIMATED, text, Advice.WAIT)
    values, covariance = np.array(found.values), np.array(found.covariance)
    deviations = np.sqrt(covariance.diagonal())
    if problem is None and (deviations[2:] < MAX_RELATIVE_STD * np.abs(values[2:])).all():
        # A wrong sign also contradicts the geometry, but the sign is the better hint.
        problem = _wrong_sign(values, deviations)
        try:
            if problem is None:
                values, covariance = make_consistent(values, covariance, half_track)
        except ContradictionError as error:
            if windows < sure_windows:
                text = f"{error}; {windows:.0f} of {sure_windows:.0f} windows of motion"
                return found.as_a_whole(EstimateState.UNESTIMATED, text, Advice.WAIT)
            problem = str(error)
    found = found.with_values(values, covariance)
    if problem is None and found.samples < min_samples:
        text = f"{found.samples} of {min_samples} samples"
        return found.as_a_whole(EstimateState.UNESTIMATED, text, Advice.WAIT)
    deviations = np.sqrt(covariance.diagonal())
    problem = problem or _wrong_sign(values, deviations)
    if problem is not None:
        return found.as_a_whole(EstimateState.INVALID, problem, Advice.TORQUE_OFF)
    return with_states(found, half_track, lacks_of(sums, half_track))


def lacks_of(sums: RowSums | None, half_track: float) -> tuple[str, str]:
    """Return why K7 and K8 are not identifiable, if they are not.

    Args:
        sums: Sums of the rows; None: not known.
        half_track: b, m.
    """
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

    One Gauss-Newton step is enough, as errors are small compared with the values here.

    Args:
        values: [K5, K6, K7, K8], shape (4,).
        covariance: Covariance of the values, shape (4, 4).
        half_track: b, m.

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
    surely_not_0 = abs(k5) > CONTRADICTION_STDS * std5 and abs(k6) > CONTRADICTION_STDS * std6
    if k5 * k6 > 0.0 and surely_not_0:
        raise ContradictionError(
            f"K5 = {k5:.4g} and K6 = {k6:.4g} have the same sign, which no robot has (it would "
            "gain energy by turning); look for slip, a floor that is not level, and torques or "
            "stamps that belong to other samples"
        )
    apart = abs(gap) / deviation if deviation > 0.0 else math.inf
    larger = max(abs(left), abs(right))
    if apart > CONTRADICTION_STDS and abs(gap) > CONTRADICTION_SHARE * larger:
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
        if sign * values[i] + SURE_STDS * deviations[i] <= 0.0:
            return (
                f"{name} = {values[i]:.4g} has the wrong sign; check for a flipped torque sign or "
                "swapped wheels"
            )
    return None


def with_states(
    found: Estimate, half_track: float, lacks: tuple[str, str] = (NO_TORQUE, NO_TURNING)
) -> Estimate:
    """Return consistent values with states and reasons set according to their covariance.

    Args:
        found: Values and covariance.
        half_track: b, m.
        lacks: Why K7 and K8 are not identifiable, if they are not.
    """
    values, deviations = np.array(found.values), np.sqrt(np.diag(found.covariance))
    _, _, k7, k8 = values.tolist()
    std5, _, std7, std8 = deviations.tolist()
    linear = "" if std7 <= MAX_RELATIVE_STD * abs(k7) else lacks[0]
    angular = "" if std8 <= MAX_RELATIVE_STD * abs(k8) else lacks[1]
    offset = _offset(float(values[0]), std5, half_track)
    coupling = angular or linear or _offset_reason(offset, float(values[0]), std5)
    reasons = (coupling, coupling, linear, angular)
    states = tuple(
        EstimateState.UNESTIMATED if reason else EstimateState.ESTIMATED for reason in reasons
    )
    # With the centre of mass on the axle, 0 may be used for K5 and K6.
    missing = linear or angular or offset is _Offset.UNKNOWN
    reason = _summary(reasons) if missing else _imprecise(values, deviations)
    return replace(
        found,
        parameter_states=states,
        parameter_reasons=reasons,
        state=EstimateState.UNESTIMATED if reason else EstimateState.ESTIMATED,
        reason=reason or "",
    )


class _Offset(Enum):
    """Whether K5 determines the distance of the centre of mass from the axle."""

    KNOWN = "known"
    ON_AXLE = "on the axle"
    UNKNOWN = "unknown"


def _offset(k5: float, std: float, half_track: float) -> _Offset:
    if math.isfinite(std) and abs(k5) > max(SURE_STDS * std, ON_AXLE * half_track):
        return _Offset.KNOWN if std <= MAX_RELATIVE_STD * abs(k5) else _Offset.UNKNOWN
    near = abs(k5) + NORMAL_95 * std <= MAX_AXLE_OFFSET * half_track
    return _Offset.ON_AXLE if near else _Offset.UNKNOWN


def _offset_reason(offset: _Offset, k5: float, std: float) -> str:
    """Return why K5 and K6 are not identifiable; empty if they are."""
    if offset is _Offset.ON_AXLE:
        return (
            f"the centre of mass is on the axle: K5 = {1e3 * k5:.1f} +- "
            f"{1e3 * NORMAL_95 * std:.1f} mm cannot be distinguished from 0"
        )
    return NO_YAW_RATE if offset is _Offset.UNKNOWN else ""


def _summary(reasons: tuple[str, ...]) -> str:
    """Return names with their reasons, such as 'K5, K6 are not identifiable: ...'."""
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


# Wiring check: which wheel a torque drives, and in which direction. It finds swapped wheels and
# flipped signs.
#
# On a correctly wired robot, the sum of the wheels' torques increases v and their difference
# decreases omega (K7 > 0, K8 < 0). With flipped signs or swapped sides, the torques that act as sum
# and difference are the other one of the two, or its negative. Eight wirings give eight patterns;
# the one that explains the motion best is reported once it does so much better than the right one.
#
# The part that friction may explain is removed first: a wheel that runs away under a guard of the
# wrong sign ends up at a speed where friction balances a constant torque.

# A wrong wiring is reported if the logarithm of its likelihood ratio to the right one exceeds this.
# Less is required after the robot has run away from its guard, which is itself evidence.
EVIDENCE, EVIDENCE_RUNAWAY = 5.0, 1.0
# Disjoint windows below which no wiring is reported.
MIN_WIRING_WINDOWS, MIN_WINDOWS_RUNAWAY = 3.0, 1.0
# Share of the motion of any robot that torque alone cannot explain: friction, coupling, noise.
UNEXPLAINED = 0.05
# Weight of the prior "no friction", as a share of the rows' information about friction. With hardly
# any weight, friction explains effects of the torque; with more than this, effects of friction
# remain (benchmarks/trust.py wiring).
NO_FRICTION = 0.05


class Wiring(Enum):
    """How the wheels may be wired.

    Attributes:
        problem: The error in words; None where the wiring is right.
        total: Reported torque that acts as the sum: "s", the reported sum, or "d", the reported
            left minus right, each with its sign.
        difference: Reported torque that acts as left minus right.
    """

    RIGHT = (None, "+s", "+d")
    BOTH_FLIPPED = (
        "both wheels turn against their torque: the torque's sign is flipped, or the encoders'",
        "-s",
        "-d",
    )
    LEFT_FLIPPED = (
        "the left wheel turns against its torque: the sign of its torque or encoder is flipped",
        "-d",
        "-s",
    )
    RIGHT_FLIPPED = (
        "the right wheel turns against its torque: the sign of its torque or encoder is flipped",
        "+d",
        "+s",
    )
    SWAPPED = ("the wheels are swapped: a torque on the left turns the right one", "+s", "-d")
    SWAPPED_BOTH_FLIPPED = ("the wheels are swapped and both signs are flipped", "-s", "+d")
    SWAPPED_LEFT_FLIPPED = (
        "the wheels are swapped, and the sign of the left torque is flipped",
        "-d",
        "+s",
    )
    SWAPPED_RIGHT_FLIPPED = (
        "the wheels are swapped, and the sign of the right torque is flipped",
        "+d",
        "-s",
    )

    def __init__(self, problem: str | None, total: str, difference: str) -> None:
        self.problem = problem
        self.total = total
        self.difference = difference


def likely_wiring(sums: RowSums, *, runaway: bool = False) -> Wiring:
    """Return the most likely wiring of the wheels; RIGHT also while the data are not conclusive.

    Args:
        sums: Sums of the rows so far.
        runaway: Whether the robot has run away from its guard.
    """
    windows = sums.rows / (sums.window + sums.smoothing)
    if windows < (MIN_WINDOWS_RUNAWAY if runaway else MIN_WIRING_WINDOWS):
        return Wiring.RIGHT
    found = _log_likelihoods(_without_friction(sums.moments_at(range(DELAYS))))
    likelihood = (found[0][_LINEAR] + found[1][_ANGULAR]).max(axis=1)
    best = int(np.argmax(likelihood))
    gain = 0.5 * windows * (likelihood[best] - likelihood[_WIRINGS.index(Wiring.RIGHT)])
    return _WIRINGS[best] if gain > (EVIDENCE_RUNAWAY if runaway else EVIDENCE) else Wiring.RIGHT


_WIRINGS = tuple(Wiring)
# Indices (sign of the gain, torque) into `_log_likelihoods` for each wiring. With correct wiring
# the sum increases v and the difference decreases omega.
_LINEAR = (
    np.array(["+-".index(wiring.total[0]) for wiring in _WIRINGS]),
    np.array(["sd".index(wiring.total[1]) for wiring in _WIRINGS]),
)
_ANGULAR = (
    np.array(["-+".index(wiring.difference[0]) for wiring in _WIRINGS]),
    np.array(["sd".index(wiring.difference[1]) for wiring in _WIRINGS]),
)


def _without_friction(moments: Array) -> Array:
    """Return the moments of the columns' residuals of a regression on speeds and their signs."""
    columns = (V, OMEGA, SIGN_LEFT, SIGN_RIGHT)
    own, along = moments[block(columns)], moments[columns, :]
    own += np.diag(NO_FRICTION * own.diagonal() + TINY)
    left: Array = moments - along.T @ np.linalg.solve(own, along)
    return left


def _log_likelihoods(moments: Array) -> Array:
    """Return twice the log likelihood per independent row, up to a constant for all wirings.

    Returns:
        Shape (2, 2, 2, DELAYS): outputs DV and DOMEGA, gains of sign + and -, the torques' sum and
        difference, and delays.
    """
    outputs = [DV, DOMEGA]
    power = moments.diagonal()
    product = power[outputs, None] * power[TORQUES:]
    along = moments[outputs, TORQUES:]
    share = np.square(np.maximum((along, -along), 0.0)) / (product + TINY)
    found: Array = -np.log(np.minimum(np.maximum(1.0 - share, 0.0), 1.0) + UNEXPLAINED)
    return found.reshape(2, 2, DELAYS, 2).transpose(1, 0, 3, 2)


def standing_wheel(sums: RowSums) -> str | None:
    """Return the problem of a wheel that never turned under torque; None if both turned."""
    power = sums.moments.diagonal()
    if power[SUM.start] + power[DIFFERENCE.start] == 0.0:
        return None
    still = [
        name
        for name, column in (("left", SIGN_LEFT), ("right", SIGN_RIGHT))
        if power[column] == 0.0
    ]
    if not still:
        return None
    which = "neither wheel turns" if len(still) == 2 else f"the {still[0]} wheel does not turn"
    return f"{which} under torque: check its power, brake, cable and encoder, or raise amplitude"


# Residuals that should be mere noise.

# Lags at which residuals should be uncorrelated, in lengths of a row from its first reading to its
# last.
LAGS = (1, 2, 3)
# Correlation that is worth a warning, and how many standard deviations of chance it has to exceed.
NOTABLE_CORRELATION, CHANCE_STDS = 0.25, 4.0
# Rows, in lengths of a row, below which the parameters are too poor for meaningful residuals.
MIN_LENGTHS = 20
# Standard deviations of chance beyond which a correlation widens the intervals.
CHANCE_STDS_OF_VARIANCE = 3.0
# New rows, as a share of the weighted number of rows, after which the parameters are refitted.
REFIT_SHARE = 0.4
# The previous parameters were too poor if the mean square of their residuals exceeds this multiple
# of that of new parameters over all rows: without turns so far, a drive cannot determine turning.
# With 2 instead of 4, slow forces are found a little less often; with 6 some such drives cause
# false warnings.
POOR = 4.0


class ResidualCorrelation:
    """Autocorrelations of the residuals, each with the parameters known when its row arrived.

    Rows that share no torque and no angle must have uncorrelated residuals. A correlation at such
    lags shows that something outside the model moves the robot: slopes, slip, a flexible load,
    another kind of friction, or a delay that is not a whole number of periods.
    """

    def __init__(self) -> None:
        # For each lag, sums of the products of two rows' residuals in dv/dt and domega/dt, 1, and
        # squares of the residuals.
        self._sums = np.zeros((len(LAGS), 5, 5))
        # Map from a row to its residuals in dv/dt and domega/dt; None before there are parameters.
        self._map: Array | None = None
        self._extra: ExtraColumns = ((), ())
        self._unfitted = 0
        self._length = 1
        self.interrupt()

    def forget(self, factor: float) -> None:
        """Scale the weight of everything so far by this factor (0 to 1)."""
        self._sums *= factor

    def restart(self, rows: int) -> None:
        """Forget residuals and parameters, which are fitted to so many rows once they suffice."""
        self.forget(0.0)
        self._map = None
        self._unfitted = max(self._unfitted, rows)

    def interrupt(self) -> None:
        """Start a new segment: the next rows do not continue the previous ones."""
        # The residuals of the newest rows and 1; all 0 where a direction was not kept.
        self._seen = np.empty((0, 3))

    def add(
        self,
        rows: Array,
        turning: Flags,
        sums: RowSums,
        delay: float,
        extra: ExtraColumns = ((), ()),
        lag: float = 0.0,
    ) -> None:
        """Add new rows, which must already be part of `sums`.

        Args:
            rows: Rows from IntegralRows.
            turning: Whether all directions are kept in a row, shape (n,).
            sums: Sums of all rows.
            delay: Delay of the torque, control periods.
            extra: Columns of additional regressors of the model. When they change, earlier
                residuals belong to another model and are forgotten.
            lag: Time constant of a lag behind the delay, control periods.
        """
        self._length = sums.window + sums.smoothing + 1
        if extra != self._extra:
            self._extra = extra
            self.restart(int(sums.rows))
        self._unfitted += len(rows)
        if self._unfitted > max(MIN_LENGTHS * self._length, REFIT_SHARE * sums.rows):
            seen, weights = sums.delayed(delay, lag), torque_weights((delay,), sums.fine, lag)
            error = np.zeros((len(seen.moments), 2))
            for side, (theta,) in enumerate(solutions(seen.moments, (extra,))):
                *columns, output = AXES[side].columns(extra[side])
                error[columns, side] = -theta
                error[output, side] = 1.0
            self._map = np.concatenate((error[:TORQUES], weights @ error[TORQUES:]))
            self._unfitted = 0
            self._forget_poor(seen, error)
        if self._map is None:
            return
        clear: Array = turning[:, None].astype(float)
        errors = (rows @ self._map) * clear
        new = len(self._seen)
        self._seen = np.concatenate((self._seen, np.concatenate((errors, clear), axis=1)))
        every = np.concatenate((self._seen, np.square(self._seen[:, :2])), axis=1)
        for i, lag in enumerate(LAGS):
            step = lag * self._length
            first = max(new, step)
            if first < len(every):
                self._sums[i] += every[first:].T @ every[first - step : len(every) - step]
        self._seen = self._seen[-max(LAGS) * self._length :]

    def _forget_poor(self, seen: RowSums, error: Array) -> None:
        """Forget residuals that stem from too poor parameters rather than from the robot.

        Args:
            seen: Sums of all rows, with the torques of one delay.
            error: Map from one of these rows to its residuals with new parameters, (columns, 2).
        """
        counted = self._sums[0, 3:, 2] / max(self._sums[0, 2, 2], 1.0)
        expected = np.diag(error.T @ seen.moments @ error) / seen.weights[0]
        if (counted > POOR * expected).any():
            self.forget(0.0)
            self.interrupt()

    def correlation(self) -> tuple[float, float]:
        """Return the largest in size over the lags, [linear, angular], -1 to 1; NaN if unknown."""
        found = self._at_lags()
        if found is None:
            return math.nan, math.nan
        linear, angular = (float(r[np.argmax(np.abs(r))]) for r in found.T)
        return linear, angular

    def _at_lags(self) -> Array | None:
        """Return the correlations, shape (lags, 2) for [linear, angular]; None if unknown."""
        products = self._sums[:, :2, :2].diagonal(axis1=1, axis2=2)
        power = np.sqrt(self._sums[:, 3:, 2] * self._sums[:, 2, 3:])
        return products / power if power.all() else None

    def _chance(self) -> Array:
        """Return the correlations' standard deviations for white residuals, shape (lags,)."""
        chance: Array = np.sqrt(self._length / np.maximum(self._sums[:, 2, 2], 1.0))
        return chance

    def variance_factors(self) -> tuple[float, float]:
        """Return the factors on the parameters' variances due to correlated errors.

        They are 1 + 2 sum r over the lags (Bartlett 1946, for regressors that change as slowly as
        the errors), as far as r is beyond chance; [linear, angular], 1 to 7. Unmodelled forces do
        not average out as torque noise does.
        """
        found = self._at_lags()
        if found is None:
            return 1.0, 1.0
        beyond = np.maximum(found - CHANCE_STDS_OF_VARIANCE * self._chance()[:, None], 0.0)
        linear, angular = (1.0 + 2.0 * beyond.sum(axis=0)).tolist()
        return linear, angular

    def warnings(self) -> list[str]:
        """Return warnings about notable correlations."""
        found = []
        for name, value in zip(("dv/dt", "domega/dt"), self.correlation(), strict=True):
            if abs(value) > max(NOTABLE_CORRELATION, CHANCE_STDS * self._chance()[0]):
                found.append(
                    f"residuals of {name} are not white (correlation {value:+.2f}): an effect "
                    "outside the model moves the robot; check for slopes, slip, a loose load, or "
                    "velocities and torques that are filtered"
                )
        return found
