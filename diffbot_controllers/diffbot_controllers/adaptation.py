"""From live estimates to the parameters that a control law uses, through gates."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import yaml

from arc_odometry.checks import check_positive
from diffbot_controllers.parameter_file import NAMES, read_dynamics, usable_dynamics
from diffbot_description import DynamicParameters, write_atomically
from diffbot_ident.torque.estimate import NORMAL_95

# ---
# Limits of what an adaptive controller lets live estimates do to its parameters.

Four = tuple[float, float, float, float]


@dataclass(frozen=True)
class AdaptationSettings:
    """Limits of the gates.

    Attributes:
        precision: largest half width of the 95 % interval of [K5, K6, K7, K8], relative to the
            larger of the estimate and the nominal value, with which a gate opens, > 0.
        hysteresis: factor on `precision` beyond which an open gate shuts again, >= 1.
        rate: fastest change of a parameter in use, relative to its nominal value, 1/s, > 0.
        band: factor, > 1: parameters in use stay between nominal / band and nominal * band.
        offset_margin: how far the centre of mass may move along the robot beyond that, m, >= 0;
            it widens the band of K5 and K6, which are proportional to its distance d from the axle
            and would have no band at all with d = 0.
        significance: in standard deviations, >= 0: a parameter in use begins to move when it is
            further than this from its estimate. Within, the two agree, and following would
            only copy the estimate's noise into the law.
        arrival: in standard deviations, < significance: it stops to move when it is so near.
        coverage: least share, 0 to 1, of the excitation that a parameter needs. An estimator that
            is held because the motion excites nothing offers 0.
        require_verified: whether estimates have to be verified by a motion that they were not made
            from. Those that such a motion refuted are always refused. There is none under
            control, where the set that adaptation starts with is the trusted one.

    Raises:
        ValueError: a limit is outside its range.
    """

    precision: Four = (0.3, 0.3, 0.1, 0.1)
    hysteresis: float = 1.5
    rate: float = 0.2
    band: float = 2.0
    offset_margin: float = 0.02
    significance: float = 1.0
    arrival: float = 0.25
    coverage: float = 0.05
    require_verified: bool = False

    def __post_init__(self) -> None:
        if len(self.precision) != 4:
            raise ValueError(
                f"adaptation: precision = {list(self.precision)}: must be 4 numbers, of K5 to K8"
            )
        names = {f"precision[{k}]": value for k, value in enumerate(self.precision)}
        check_positive("adaptation", **names, rate=self.rate)
        for name, low, high in (
            ("hysteresis", 1.0, math.inf),
            ("band", 1.001, math.inf),
            ("offset_margin", 0.0, math.inf),
            ("significance", 0.0, math.inf),
            ("arrival", 0.0, self.significance),
            ("coverage", 0.0, 1.0),
        ):
            value = getattr(self, name)
            if not (math.isfinite(value) and low <= value <= high):
                limit = f">= {low:g}" if math.isinf(high) else f"from {low:g} to {high:g}"
                raise ValueError(f"adaptation: {name} = {value}: must be finite and {limit}")


# ---
# What a live estimate of K5..K8 has to be before a control law may follow it.

# What stands for a parameter that is not identifiable when the others' signs are looked at.
UNKNOWN = (0.0, 0.0, 1.0, -1.0)


@dataclass(frozen=True)
class Offer:
    """An estimate of [K5, K6, K7, K8] as an estimator offers it.

    Attributes:
        stamp: of the newest joint state that it rests on, s.
        values: in m, 1/m, 1/(kg m), 1/(kg m^2).
        variances: of the values, in their units squared; infinite where not identifiable.
        estimated: whether the estimator calls the set as a whole estimated.
        reason: why it does not.
        verified: whether a motion that the values were not made from agreed with them; None:
            there was none yet.
        coverage: share of the excitation that each needs that has been seen, 0 to 1.
    """

    stamp: float
    values: Four
    variances: Four
    estimated: bool = True
    reason: str = ""
    verified: bool | None = None
    coverage: Four = (1.0, 1.0, 1.0, 1.0)

    @property
    def deviations(self) -> Four:
        """Standard deviations of the values; infinite or NaN where they are not known."""
        s5, s6, s7, s8 = (math.sqrt(v) if v >= 0.0 else math.nan for v in self.variances)
        return s5, s6, s7, s8


@dataclass(frozen=True)
class Band:
    """Bounds of K5..K8 in use.

    Attributes:
        lower: least values.
        upper: largest values.
        scale: size of a change that counts as the whole parameter, > 0.
    """

    lower: Four
    upper: Four
    scale: Four

    @staticmethod
    def around(nominal: DynamicParameters, half_track: float, settings: AdaptationSettings) -> Band:
        """The band around the nominal parameters.

        K5 = m_b d / M_e and K6 = -m_b d / I_e = K5 K8 / (b K7) are widened by what a move of the
        whole equivalent mass by `offset_margin` would do.

        Args:
            nominal: K5..K8 of the robot as it is known without adaptation.
            half_track: b, m, > 0.
            settings: `band` and `offset_margin`.
        """
        margin = settings.offset_margin
        turned = margin * abs(nominal.k8) / (half_track * nominal.k7)
        rows = []
        for value, more in zip(
            (nominal.k5, nominal.k6, nominal.k7, nominal.k8),
            (margin, turned, 0.0, 0.0),
            strict=True,
        ):
            low, high = sorted((value / settings.band, value * settings.band))
            rows.append((low - more, high + more, max(abs(value), more, 1e-12)))
        lower, upper, scale = zip(*rows, strict=True)
        return Band(lower, upper, scale)

    def clip(self, index: int, value: float) -> float:
        """A finite value of parameter 0 to 3 (K5 to K8), moved into its band."""
        return max(self.lower[index], min(self.upper[index], value))


class PrecisionGate:
    """Opens for one parameter at its limit of the relative interval and shuts beyond a larger one.

    Args:
        name: of the parameter, for the reason.
        limit: largest relative half width of the 95 % interval that opens.
        hysteresis: factor on the limit beyond which it shuts, >= 1.
        scale: size that a width is compared with at least, in the parameter's unit.
    """

    def __init__(self, name: str, limit: float, hysteresis: float, scale: float) -> None:
        self._name = name
        self._limit = limit
        self._hysteresis = hysteresis
        self._scale = scale
        self.is_open = False

    def judge(self, value: float, deviation: float) -> str:
        """Why the estimate is not precise enough; empty when it is."""
        limit = self._limit * (self._hysteresis if self.is_open else 1.0)
        width = NORMAL_95 * deviation / max(abs(value), self._scale)
        self.is_open = width <= limit  # False for NaN
        if self.is_open:
            return ""
        if not math.isfinite(width):
            return f"{self._name} is not identifiable from the motion so far"
        return (
            f"{self._name}: half the 95 % interval is {100.0 * width:.3g} % of it, limit "
            f"{100.0 * limit:g} %; drive with more change of speed and yaw rate"
        )


def judge_set(offer: Offer, settings: AdaptationSettings) -> dict[str, str]:
    """Reasons against the estimate as a whole, by gate; empty where it passes.

    What is not identifiable is not looked at: its own gate keeps it.
    """
    reasons = dict.fromkeys(("finite", "estimated", "physical", "verified"), "")
    for name, value in zip(NAMES, offer.values, strict=True):
        if not math.isfinite(value):
            reasons["finite"] = f"{name} = {value}: must be finite"
    if math.isnan(offer.stamp) or any(math.isnan(v) or v < 0.0 for v in offer.variances):
        reasons["finite"] = reasons["finite"] or (
            f"variances = {list(offer.variances)}: must be >= 0, or infinite where not identifiable"
        )
    if not offer.estimated:
        reasons["estimated"] = offer.reason or "the estimator does not call it estimated yet"
    if not reasons["finite"]:
        reasons["physical"] = _unphysical(offer.values, offer.variances)
    if offer.verified is False:
        reasons["verified"] = "a motion that it was not made from refutes it; identify anew"
    elif settings.require_verified and offer.verified is None:
        reasons["verified"] = (
            "not verified by a motion of its own yet, as require_verified demands; let ident drive "
            "one, or start from a trusted set with parameters = adaptive"
        )
    return reasons


def _unphysical(values: Sequence[float], variances: Sequence[float]) -> str:
    pairs = [
        (float(value), float(variance)) if math.isfinite(variance) else (stand_in, 0.0)
        for value, variance, stand_in in zip(values, variances, UNKNOWN, strict=True)
    ]
    try:
        usable_dynamics(*zip(*pairs, strict=True))
    except ValueError as error:
        return str(error)
    return ""


# ---
# What becomes of a live estimate.

GATES = ("finite", "estimated", "physical", "verified", "excited", "precise", "band", "law")


class AdaptationState(IntEnum):
    """What the parameters in use do; the numbers are those of AdaptationStatus.msg."""

    WAITING = 0
    FOLLOWING = 1
    FROZEN = 2


@dataclass(frozen=True)
class Judgement:
    """What became of one estimate.

    Attributes:
        state: WAITING before the first estimate was accepted, FROZEN while nothing may follow.
        reasons: against the estimate, by gate of GATES; empty where it passed. `excited` and
            `precise` hold those of single parameters while the others go on; `band` is
            of an estimate that the parameters in use follow to the edge of the band only; `law`
            is of one that passed and gave parameters that no law can be made of.
        follows: whether each of K5..K8 moves towards its estimate. One that agrees with it does
            not have to.
        refused: whether no parameter could follow the estimate.
    """

    state: AdaptationState
    reasons: dict[str, str]
    follows: tuple[bool, bool, bool, bool]
    refused: bool

    @property
    def reason(self) -> str:
        """All that is against the estimate, in one line."""
        return "; ".join(text for text in self.reasons.values() if text)


# Longest time between two estimates that a change is allowed for, s: after a pause the parameters
# go on from where they are at their rate, and do not make up for it in one step.
LONGEST_STEP = 0.5


class Adaptation:
    """Keeps the parameters in use inside a band, slow, and true to estimates worth following.

    Each parameter has gates of its own besides those of the set: K7 and K8 follow a load while K5
    and K6, which say little in slow motion, are not precise yet. The set in use may therefore
    for a while be that of no robot (K5 K8 = b K6 K7 holds for each robot); feedback linearization
    needs each of the four on its own, and none of the laws divides by a combination.

    Args:
        nominal: K5..K8 known without adaptation; centre of the band.
        half_track: b, m, > 0.
        settings: of the gates.
        start: parameters in use at the beginning, such as the last good ones; None: the nominal.
        started: whether those may be driven with; else the first estimate that fixes K7 and K8
            is taken at once.

    Attributes:
        in_use: K5..K8 for the law.
        band: that they stay in.
        is_started: whether the robot may be driven with them.
        refused: estimates refused so far.
        accepted: estimates so far that at least one parameter could follow.

    Raises:
        ValueError: `start` is outside the band.
    """

    def __init__(
        self,
        nominal: DynamicParameters,
        half_track: float,
        settings: AdaptationSettings = AdaptationSettings(),
        start: DynamicParameters | None = None,
        started: bool = True,
    ) -> None:
        self._settings = settings
        self.is_started = started
        self.band = Band.around(nominal, half_track, settings)
        self.in_use = nominal if start is None else self._inside(start)
        self._before = (self.in_use, started)
        self.refused = 0
        self.accepted = 0
        self._stamp: float | None = None
        self._moves = [False] * 4
        self._precise = [
            PrecisionGate(name, limit, settings.hysteresis, scale)
            for name, limit, scale in zip(NAMES, settings.precision, self.band.scale, strict=True)
        ]

    @property
    def values(self) -> Four:
        """K5..K8 in use."""
        d = self.in_use
        return d.k5, d.k6, d.k7, d.k8

    def _inside(self, start: DynamicParameters) -> DynamicParameters:
        for index, name in enumerate(NAMES):
            value, (low, high) = getattr(start, name), self._bounds(index)
            if not low <= value <= high:
                raise ValueError(
                    f"{name} = {value}: outside the band from {low:.4g} to {high:.4g} around the "
                    "nominal parameters; identify the robot anew, or widen the band"
                )
        return start

    def _bounds(self, index: int) -> tuple[float, float]:
        return self.band.lower[index], self.band.upper[index]

    def judge(self, offer: Offer) -> Judgement:
        """Judge an estimate and move the parameters in use towards it as far as they may."""
        self._before = (self.in_use, self.is_started)
        time = self._elapsed(offer.stamp)
        reasons = {**dict.fromkeys(GATES, ""), **judge_set(offer, self._settings)}
        if any(reasons.values()):
            self._moves = [False] * 4
            return self._judged(reasons, [False] * 4)
        allowed, against = self._allowed(offer)
        reasons.update(against)
        reasons["band"] = self._beyond(offer, allowed)
        if not self.is_started:
            allowed = self._begin(offer, allowed)
        else:
            self._move(offer, allowed, time)
        return self._judged(reasons, allowed)

    def take_back(self, judgement: Judgement, why: str) -> Judgement:
        """Undo the newest judgement, for the law cannot use what it gave.

        Args:
            judgement: that `judge` returned last.
            why: the law's words.
        """
        self.in_use, self.is_started = self._before
        self._moves = [False] * 4
        self.refused -= judgement.refused
        self.accepted -= not judgement.refused
        return self._judged({**judgement.reasons, "law": why}, [False] * 4)

    def _elapsed(self, stamp: float) -> float:
        """Time since the estimate before that counts for the rate limit, s."""
        if not math.isfinite(stamp):
            return 0.0
        before, self._stamp = self._stamp, stamp
        return 0.0 if before is None else min(max(stamp - before, 0.0), LONGEST_STEP)

    def _allowed(self, offer: Offer) -> tuple[list[bool], dict[str, str]]:
        """Which parameters may follow, and what is against the others."""
        allowed, against = [], {"excited": [], "precise": []}
        limit, deviations = self._settings.coverage, offer.deviations
        for index, gate in enumerate(self._precise):
            unknown = gate.judge(offer.values[index], deviations[index])
            seen = offer.coverage[index]
            poor = "" if seen >= limit else f"{NAMES[index]}: coverage {seen:.2g}, limit {limit:g}"
            allowed.append(not unknown and not poor)
            against["precise"].append(unknown)
            against["excited"].append(poor)
        return allowed, {name: "; ".join(filter(None, texts)) for name, texts in against.items()}

    def _beyond(self, offer: Offer, allowed: list[bool]) -> str:
        texts = []
        for index, name in enumerate(NAMES):
            value, (low, high) = offer.values[index], self._bounds(index)
            if allowed[index] and not low <= value <= high:
                texts.append(f"{name} = {value:.4g}: band {low:.4g} to {high:.4g}")
        return "; ".join(texts)

    def _begin(self, offer: Offer, allowed: list[bool]) -> list[bool]:
        """Take a first estimate at once, if it fixes what no law can do without."""
        if not (allowed[2] and allowed[3]):
            return [False] * 4
        self.is_started = True
        self.in_use = DynamicParameters(
            *(
                self.band.clip(index, offer.values[index]) if may else value
                for index, (may, value) in enumerate(zip(allowed, self.values, strict=True))
            )
        )
        return allowed

    def _move(self, offer: Offer, allowed: list[bool], time: float) -> None:
        values, settings = list(self.values), self._settings
        for index, deviation in enumerate(offer.deviations):
            target = self.band.clip(index, offer.values[index])
            away = abs(target - values[index])
            # One that moves goes all the way; one that rests waits for a difference that counts.
            far = settings.arrival if self._moves[index] else settings.significance
            self._moves[index] = allowed[index] and away > far * deviation
            if self._moves[index]:
                step = min(away, settings.rate * self.band.scale[index] * time)
                moved = values[index] + math.copysign(step, target - values[index])
                values[index] = self.band.clip(index, moved)  # a rounding error beyond its edge
        self.in_use = DynamicParameters(*values)

    def _judged(self, reasons: dict[str, str], allowed: list[bool]) -> Judgement:
        refused = not any(allowed)
        self.refused += refused
        self.accepted += not refused
        waiting, idle = AdaptationState.WAITING, AdaptationState.FROZEN
        state = AdaptationState.FOLLOWING
        if refused:
            state = idle if self.accepted else waiting
        k5, k6, k7, k8 = self._moves
        return Judgement(state, reasons, (k5, k6, k7, k8), refused)


# ---
# The file of adapted parameters that a later run begins with.

HEADER = """\
# Dynamic parameters k5 to k8 that an adaptive controller had in use, for a run to begin with.
"""
PERIOD = 10.0  # s of robot time between two writings


class LastGood:
    """Keeps parameters in use in a file, in the form that `read_dynamics` reads.

    Args:
        path: of the file; `~` is expanded. Its folder is made.
        robot: name of the robot.

    Raises:
        ValueError: the folder cannot be made.
    """

    def __init__(self, path: str, robot: str) -> None:
        self.path = Path(path).expanduser()
        self._robot = robot
        self._kept: DynamicParameters | None = None
        self._time = -PERIOD
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(
                f"parameter 'last_good' = '{path}': {error.strerror}; give a file in a folder that "
                "can be made and written"
            ) from None

    def restore(self) -> DynamicParameters | None:
        """The parameters in the file; None where there is no file yet.

        Raises:
            ValueError: the file holds nothing that a law may use; the message says why.
        """
        if not self.path.exists():
            return None
        self._kept = read_dynamics(str(self.path), self._robot)
        return self._kept

    def keep(self, dynamics: DynamicParameters, time: float) -> None:
        """Write new parameters, at most once per PERIOD; time: robot time, s.

        Raises:
            OSError: they cannot be written; the old file is whole.
        """
        if dynamics != self._kept and not 0.0 <= time - self._time < PERIOD:
            self.write(dynamics)
            self._time = time

    def write(self, dynamics: DynamicParameters) -> None:
        """Write parameters now; the file is either the old or the whole new one.

        Raises:
            OSError: they cannot be written.
        """
        if dynamics == self._kept:
            return
        values = {name: getattr(dynamics, name) for name in NAMES}
        parameters = {**values, "state": "estimated", "robot": self._robot}
        document = {"/**": {"ros__parameters": parameters}}
        write_atomically(self.path, HEADER + yaml.safe_dump(document, sort_keys=False))
        self._kept = dynamics
