# SPDX-License-Identifier: Apache-2.0
"""Adaptation of a control law's parameters to live estimates, with checks ("gates").

An estimate of [K5, K6, K7, K8] must be good as a whole, and each value precise and excited. The
parameters in use then move towards it at a limited rate, inside a band around the nominal ones.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum, IntEnum

from diffbot_controllers.parameter_reader import NAMES, usable_dynamics
from diffbot_description import DynamicParameters
from diffbot_ident.estimate import NORMAL_95
from diffbot_ident.interpretation.fleet_prior import FleetPrior
from diffbot_node.parameter_fields import check_settings, parameter

Four = tuple[float, float, float, float]


# Distance from its estimate, standard deviations, at which a parameter in use stops.
ARRIVAL = 0.25
AUTO, ALWAYS, NEVER = "auto", "always", "never"


@dataclass(frozen=True)
class AdaptationSettings:
    """Parameters of the gates of live estimates, in a node and without one."""

    require_verified: str = parameter(
        AUTO,
        "follow only estimates that a separate motion has verified; auto: with parameters = "
        "topic, not with adaptive, which has no such motion and starts from a trusted set. "
        "Refuted estimates are never followed",
        # YAML reads true, yes and on as booleans, not as text.
        choices=(AUTO, ALWAYS, NEVER),
    )
    precision: tuple[float, float, float, float] = parameter(
        (0.3, 0.3, 0.1, 0.1),
        "largest half width of the 95 % intervals of K5..K8, as shares of the larger of estimate "
        "and nominal value, that are followed",
        above=0.0,
    )
    hysteresis: float = parameter(
        1.5,
        "factor on precision beyond which a parameter is no longer followed",
        minimum=1.0,
        maximum=10.0,
    )
    adaptation_rate: float = parameter(
        0.2,
        "fastest change of a parameter in use, as a share of the nominal one, 1/s",
        above=0.0,
        maximum=10.0,
    )
    band: float = parameter(
        2.0,
        "parameters in use stay between the nominal ones divided by this and multiplied by it",
        minimum=1.001,
        maximum=100.0,
    )
    offset_margin: float = parameter(
        0.02,
        "further allowed shift of the centre of mass along the robot, m; widens the band of K5 and "
        "K6, which would be none with the mass above the axle",
        minimum=0.0,
        maximum=1.0,
    )
    significance: float = parameter(
        1.0,
        "standard deviations from its estimate beyond which a parameter in use follows it; closer "
        "it would follow noise",
        minimum=ARRIVAL,
        maximum=10.0,
    )
    coverage: float = parameter(
        0.05,
        "minimum share of the excitation that a parameter needs before it is followed; 0: none",
        minimum=0.0,
        maximum=1.0,
    )

    def __post_init__(self) -> None:
        check_settings(self)
        if len(self.precision) != 4:
            raise ValueError(
                f"adaptation: precision = {list(self.precision)}: must be 4 numbers, of K5 to K8"
            )

    def demand_verification(self, trusted: bool) -> bool:
        """Whether only verified estimates count; `trusted`: a trusted set drives."""
        return {ALWAYS: True, NEVER: False, AUTO: not trusted}[self.require_verified]


# Largest deviation of parameters in use from the mean of a robot type, in standard deviations.
PRIOR_STDS = 4.0
# Substitutes for parameters that are not identifiable, to check the signs of the others.
UNKNOWN = (0.0, 0.0, 1.0, -1.0)


@dataclass(frozen=True)
class LiveEstimate:
    """An estimate of [K5, K6, K7, K8] received while the robot drives.

    Attributes:
        stamp: Of the newest joint state used, s.
        values: [K5, K6, K7, K8] in m, 1/m, 1/(kg m), 1/(kg m^2).
        variances: Infinite where not identifiable, as `friction_variances`.
        estimated: Whether the estimator reports the set as estimated; `reason`: why not.
        verified: Whether a separate motion agreed; None: there was none yet.
        coverage: Share of the needed excitation so far, 0 to 1.
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m]; NaN: unknown.
    """

    stamp: float
    values: Four
    variances: Four
    estimated: bool = True
    reason: str = ""
    verified: bool | None = None
    coverage: Four = (1.0, 1.0, 1.0, 1.0)
    friction: Four = (math.nan,) * 4
    friction_variances: Four = (math.inf,) * 4

    @property
    def deviations(self) -> Four:
        """Standard deviations of the values; infinite or NaN where unknown."""
        s5, s6, s7, s8 = (math.sqrt(v) if v >= 0.0 else math.nan for v in self.variances)
        return s5, s6, s7, s8


@dataclass(frozen=True)
class Band:
    """Bounds of K5..K8 in use; `scale`, > 0, is the size to which changes are relative."""

    lower: Four
    upper: Four
    scale: Four

    @staticmethod
    def around(nominal: DynamicParameters, half_track: float, settings: AdaptationSettings) -> Band:
        """Return the band around the nominal parameters; half_track is b, m, > 0.

        That of K5 = m_b d / M_e and K6 = -m_b d / I_e = K5 K8 / (b K7) is widened by the effect of
        a shift of the whole equivalent mass by `offset_margin`.
        """
        margin = settings.offset_margin
        turned = margin * abs(nominal.k8) / (half_track * nominal.k7)
        rows = []
        for value, more in zip(nominal, (margin, turned, 0.0, 0.0), strict=True):
            low, high = sorted((value / settings.band, value * settings.band))
            rows.append((low - more, high + more, max(abs(value), more, 1e-12)))
        lower, upper, scale = zip(*rows, strict=True)
        return Band(lower, upper, scale)

    @staticmethod
    def of_prior(prior: FleetPrior, settings: AdaptationSettings) -> Band:
        """Return the band of a robot type: PRIOR_STDS standard deviations around its mean.

        K7 and K8 stay within the factor `band`, too; K5 and K6 may be 0.
        """
        rows = []
        for name, value, std in zip(NAMES, prior.values, prior.deviations, strict=True):
            low, high = value - PRIOR_STDS * std, value + PRIOR_STDS * std
            if name in ("k7", "k8"):
                nearest, farthest = sorted((value / settings.band, value * settings.band))
                low, high = max(low, nearest), min(high, farthest)
            rows.append((low, high, max(abs(value), std)))
        lower, upper, scale = zip(*rows, strict=True)
        return Band(lower, upper, scale)

    def clip(self, index: int, value: float) -> float:
        """Clamp a finite value of parameter 0 to 3 (K5 to K8) to its band."""
        return max(self.lower[index], min(self.upper[index], value))


class FollowedParameter:
    """One parameter in use: the gate on the precision of its estimates, and its moves to them.

    The gate opens at `limit`, the relative half width of the 95 % interval, and closes at
    `settings.hysteresis` times it. Widths are relative to the value, or to `scale` if that is
    larger. Once value and estimate differ significantly, it `moves` until it arrives.
    """

    def __init__(self, name: str, limit: float, scale: float, settings: AdaptationSettings) -> None:
        self._name, self._limit, self._scale, self._settings = name, limit, scale, settings
        self._is_open = self.moves = False

    def vague(self, value: float, deviation: float) -> str | None:
        """Return why the estimate is not precise enough; None if it is."""
        limit = self._limit * (self._settings.hysteresis if self._is_open else 1.0)
        width = NORMAL_95 * deviation / max(abs(value), self._scale)
        self._is_open = width <= limit  # False for NaN
        if self._is_open:
            return None
        if not math.isfinite(width):
            return f"{self._name} is not identifiable from the motion so far"
        return (
            f"{self._name}: half the 95 % interval is {100.0 * width:.3g} % of it, limit "
            f"{100.0 * limit:g} %; drive with more change of speed and yaw rate"
        )

    def follow(self, now: float, target: float, deviation: float, most: float) -> float:
        """Return the next value, at most `most` from the present one."""
        away = abs(target - now)
        self.moves = away > (ARRIVAL if self.moves else self._settings.significance) * deviation
        return now + math.copysign(min(away, most), target - now) if self.moves else now


class Gate(str, Enum):
    """Gates that an estimate must pass, in the order in which reasons are given."""

    FINITE = "finite"
    ESTIMATED = "estimated"
    PHYSICAL = "physical"
    VERIFIED = "verified"
    EXCITED = "excited"
    PRECISE = "precise"
    BAND = "band"
    LAW = "law"


Reasons = dict[Gate, str]


def judge_set(estimate: LiveEstimate, demand_verification: bool) -> Reasons:
    """Return the reasons against the estimate as a whole, by the gates that it fails.

    Parameters that are not identifiable are left to their own gates.
    """
    reasons: Reasons = {}
    for name, value in zip(NAMES, estimate.values, strict=True):
        if not math.isfinite(value):
            reasons[Gate.FINITE] = f"{name} = {value}: must be finite"
    variances = estimate.variances
    if math.isnan(estimate.stamp) or any(math.isnan(v) or v < 0.0 for v in variances):
        reasons.setdefault(
            Gate.FINITE,
            f"variances = {list(variances)}: must be >= 0, or infinite where not identifiable",
        )
    if not estimate.estimated:
        reasons[Gate.ESTIMATED] = estimate.reason or "not reported as estimated yet"
    if Gate.FINITE not in reasons:
        try:
            _check_physical(estimate.values, variances)
        except ValueError as error:
            reasons[Gate.PHYSICAL] = str(error)
    if estimate.verified is False:
        reasons[Gate.VERIFIED] = "refuted by a verification motion; identify again"
    elif demand_verification and estimate.verified is None:
        reasons[Gate.VERIFIED] = (
            "not verified by a separate motion yet, which require_verified demands; run ident with "
            "a verification, or start from a trusted set with parameters = adaptive"
        )
    return reasons


def _check_physical(values: Sequence[float], variances: Sequence[float]) -> None:
    known = [
        (float(value), float(variance)) if math.isfinite(variance) else (stand_in, 0.0)
        for value, variance, stand_in in zip(values, variances, UNKNOWN, strict=True)
    ]
    usable_dynamics(*zip(*known, strict=True))


class AdaptationState(IntEnum):
    """State of the adaptation; the numbers are those of AdaptationStatus.msg."""

    WAITING = 0
    FOLLOWING = 1
    FROZEN = 2


@dataclass(frozen=True)
class Judgement:
    """Result for one estimate.

    Attributes:
        state: WAITING before the first accepted estimate, FROZEN while nothing may follow.
        reasons: By failed gates; EXCITED, PRECISE and BAND concern single parameters.
        follows: Whether each of K5..K8 moves; one that agrees with its estimate does not.
        refused: Whether no parameter could follow.
    """

    state: AdaptationState
    reasons: Reasons
    follows: tuple[bool, bool, bool, bool]
    refused: bool

    @property
    def reason(self) -> str:
        return "; ".join(self.reasons[gate] for gate in Gate if gate in self.reasons)


# Longest time between two estimates that counts for the rate limit, s.
LONGEST_STEP = 0.5


class Adaptation:
    """Lets the parameters in use follow good estimates slowly, inside a band.

    K7 and K8 can follow a load while K5 and K6 are not precise yet: the set in use may be that of
    no robot (K5 K8 = b K6 K7) for a while; no law divides by a combination of them.

    Args:
        nominal: K5..K8 known without adaptation; centre of the band.
        half_track: b, m, > 0.
        start: In use at the beginning, such as the last good ones; None: the nominal.
        started: Whether the robot may be driven with these; else the first estimate that determines
            K7 and K8 is used at once.
        prior: Of the robot's type; it then defines the band.

    Attributes:
        in_use: K5..K8 for the law.
        is_started: Whether the robot may be driven with them.
        accepted: Number of estimates that at least one parameter could follow; `refused`: of
            others.
        elapsed: Time between the last two estimates that counts for the rate limit, s.

    Raises:
        ValueError: `start`, or with a prior the nominal parameters, are outside the band.
    """

    def __init__(
        self,
        nominal: DynamicParameters,
        half_track: float,
        settings: AdaptationSettings = AdaptationSettings(),
        start: DynamicParameters | None = None,
        started: bool = True,
        prior: FleetPrior | None = None,
    ) -> None:
        self._settings, self._demands = settings, settings.demand_verification(started)
        self.is_started = started
        self._centre = "the nominal parameters" if prior is None else prior.about
        if prior is None:
            self.band = Band.around(nominal, half_track, settings)
        else:
            self.band = Band.of_prior(prior, settings)
            self._inside(nominal)
        self.in_use = nominal if start is None else self._inside(start)
        self._before = (self.in_use, started)  # before the last judgement
        self.refused = 0
        self.accepted = 0
        self.elapsed = 0.0
        self._stamp: float | None = None
        self._parameters = [
            FollowedParameter(name, limit, scale, settings)
            for name, limit, scale in zip(NAMES, settings.precision, self.band.scale, strict=True)
        ]

    def _inside(self, start: DynamicParameters) -> DynamicParameters:
        for index, name in enumerate(NAMES):
            value, (low, high) = start[index], self._bounds(index)
            if not low <= value <= high:
                raise ValueError(
                    f"{name} = {value}: outside the band from {low:.4g} to {high:.4g} around "
                    f"{self._centre}; identify the robot again, or widen the band"
                )
        return start

    def _bounds(self, index: int) -> tuple[float, float]:
        return self.band.lower[index], self.band.upper[index]

    def judge(self, estimate: LiveEstimate) -> Judgement:
        """Judge an estimate and move the parameters in use towards it."""
        self._before = (self.in_use, self.is_started)
        time = self.elapsed = self._elapsed(estimate.stamp)
        reasons = judge_set(estimate, self._demands)
        if reasons:
            self._rest()
            return self._judged(reasons, [False] * 4)
        allowed = self._allowed(estimate, reasons)
        if beyond := self._beyond(estimate, allowed):
            reasons[Gate.BAND] = beyond
        if not self.is_started:
            allowed = self._begin(estimate, allowed)
        else:
            self._move(estimate, allowed, time)
        return self._judged(reasons, allowed)

    def take_back(self, judgement: Judgement, why: str) -> Judgement:
        """Undo the last judgement: the law cannot use its parameters, because of `why`."""
        self.in_use, self.is_started = self._before
        self._rest()
        self.refused -= judgement.refused
        self.accepted -= not judgement.refused
        return self._judged({**judgement.reasons, Gate.LAW: why}, [False] * 4)

    def _rest(self) -> None:
        for each in self._parameters:
            each.moves = False

    def _elapsed(self, stamp: float) -> float:
        if not math.isfinite(stamp):
            return 0.0
        before, self._stamp = self._stamp, stamp
        return 0.0 if before is None else min(max(stamp - before, 0.0), LONGEST_STEP)

    def _allowed(self, estimate: LiveEstimate, reasons: Reasons) -> list[bool]:
        allowed = []
        limit, deviations = self._settings.coverage, estimate.deviations
        against: dict[Gate, list[str]] = {Gate.EXCITED: [], Gate.PRECISE: []}
        for index, each in enumerate(self._parameters):
            vague = each.vague(estimate.values[index], deviations[index])
            if vague is not None:
                against[Gate.PRECISE].append(vague)
            seen = estimate.coverage[index]
            if not seen >= limit:
                against[Gate.EXCITED].append(
                    f"{NAMES[index]}: coverage {seen:.2g}, limit {limit:g}"
                )
            allowed.append(vague is None and seen >= limit)
        reasons.update({gate: "; ".join(texts) for gate, texts in against.items() if texts})
        return allowed

    def _beyond(self, estimate: LiveEstimate, allowed: list[bool]) -> str:
        texts = []
        for index, name in enumerate(NAMES):
            value, (low, high) = estimate.values[index], self._bounds(index)
            if allowed[index] and not low <= value <= high:
                texts.append(f"{name} = {value:.4g}: band {low:.4g} to {high:.4g}")
        return "; ".join(texts)

    def _begin(self, estimate: LiveEstimate, allowed: list[bool]) -> list[bool]:
        """Use a first estimate at once, if it determines K7 and K8, which every law needs."""
        if not (allowed[2] and allowed[3]):
            return [False] * 4
        self.is_started = True
        self.in_use = DynamicParameters(
            *(
                self.band.clip(index, estimate.values[index]) if may else value
                for index, (may, value) in enumerate(zip(allowed, self.in_use, strict=True))
            )
        )
        return allowed

    def _move(self, estimate: LiveEstimate, allowed: list[bool], time: float) -> None:
        values, settings = list(self.in_use), self._settings
        for index, deviation in enumerate(estimate.deviations):
            target = self.band.clip(index, estimate.values[index])
            followed = self._parameters[index]
            if not allowed[index]:
                followed.moves = False
                continue
            step = settings.adaptation_rate * self.band.scale[index] * time
            moved = followed.follow(values[index], target, deviation, step)
            values[index] = self.band.clip(index, moved)  # against rounding at the band's edge
        self.in_use = DynamicParameters(*values)

    def _judged(self, reasons: Reasons, allowed: list[bool]) -> Judgement:
        refused = not any(allowed)
        self.refused += refused
        self.accepted += not refused
        state = AdaptationState.FOLLOWING
        if refused:
            state = AdaptationState.FROZEN if self.accepted else AdaptationState.WAITING
        k5, k6, k7, k8 = (each.moves for each in self._parameters)
        return Judgement(state, reasons, (k5, k6, k7, k8), refused)
