"""From live estimates to the parameters that a control law uses, through gates."""

from __future__ import annotations

import math

from diffbot_controllers.adaptation_settings import AdaptationSettings, Four
from diffbot_controllers.dynamics import BodyDynamics
from diffbot_controllers.gates import Band, Offer, PrecisionGate, judge_set
from diffbot_controllers.judgement import GATES, AdaptationState, Judgement
from diffbot_controllers.parameter_file import NAMES

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
        nominal: BodyDynamics,
        half_track: float,
        settings: AdaptationSettings = AdaptationSettings(),  # noqa: B008  (frozen)
        start: BodyDynamics | None = None,
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

    def _inside(self, start: BodyDynamics) -> BodyDynamics:
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
        self.in_use = BodyDynamics(
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
        self.in_use = BodyDynamics(*values)

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
