"""What an experiment is made with."""

from __future__ import annotations

from dataclasses import dataclass, field

from diffbot_ident.compliant_base.arm import Arm
from diffbot_ident.compliant_base.excitation import ArmLimits
from diffbot_ident.compliant_base.sensors import SensorNoise


@dataclass(frozen=True)
class Setting:
    """The paper's values where it gives them.

    Attributes:
        arm: on the base.
        limits: of the arm; the paper names "bandwidth constraints" without values.
        noise: of the sensors.
        duration: s, a multiple of the interval.
        period: sampling time, s.
        interval: between two choices of the excitation, s, a multiple of the period.
        settled: how long the arm has moved as in (24), gently begun, before anything is measured,
            s; 0: it starts from rest, as the paper's.
        blend: how long the arm takes from one excitation to the next, that start included, s.
        window: samples that the estimator averages, see estimation.py; 1 is the paper's way.
        thin: sampling periods per step of a prediction.
        population: candidates of the optimiser per number that it chooses.
        generations: of candidates.

    Raises:
        ValueError: a time is not a multiple as said, or a number is not positive.
    """

    arm: Arm = field(default_factory=Arm)
    limits: ArmLimits = field(default_factory=ArmLimits)
    noise: SensorNoise = field(default_factory=SensorNoise)
    duration: float = 10.0
    period: float = 0.005
    interval: float = 0.4
    settled: float = 0.0
    blend: float = 0.2
    window: int = 8
    thin: int = 2
    population: int = 6
    generations: int = 6

    def __post_init__(self) -> None:
        for name in ("duration", "period", "interval", "blend"):
            if not getattr(self, name) > 0.0:
                raise ValueError(f"{name} = {getattr(self, name)} s: must be > 0")
        if not self.settled >= 0.0:
            raise ValueError(f"settled = {self.settled} s: must be >= 0")
        for name in ("window", "thin", "population", "generations"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} = {getattr(self, name)}: must be 1 or more")
        for whole, part in (("duration", "interval"), ("interval", "period")):
            ratio = getattr(self, whole) / getattr(self, part)
            if abs(ratio - round(ratio)) > 1e-6:
                raise ValueError(
                    f"{whole} = {getattr(self, whole)} s: must be a multiple of the {part}, "
                    f"{getattr(self, part)} s"
                )
        for name, count in (("window", self.window), ("thin", self.thin)):
            if self.samples % count:
                raise ValueError(f"{name} = {count}: must divide the interval's {self.samples}")
        if self.samples // self.thin % self.foreseen_window:
            raise ValueError(f"thin = {self.thin}: must divide the window, {self.window}")

    @property
    def intervals(self) -> int:
        """Choices of a run."""
        return round(self.duration / self.interval)

    @property
    def samples(self) -> int:
        """Sampling periods of an interval."""
        return round(self.interval / self.period)

    @property
    def foreseen_window(self) -> int:
        """Steps of a prediction that are averaged."""
        return max(1, self.window // self.thin)
