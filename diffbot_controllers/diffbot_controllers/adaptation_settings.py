"""Limits of what an adaptive controller lets live estimates do to its parameters."""

from __future__ import annotations

import math
from dataclasses import dataclass

from diffbot_controllers.checks import check_positive

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
