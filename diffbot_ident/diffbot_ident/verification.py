"""Do identified parameters predict a motion that they were not identified from?

The motion is driven by another excitation; where samples are lost it falls into stretches. From
many instants of them the velocity is predicted, with the torques as reported, one control period
and a few seconds ahead: by the identified model, by none (the velocity stays as it is), and by the
robot's description. Nothing is fitted here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.held_out import Run, Stretch
from diffbot_ident.prediction import Model

# Time over which the long predictions run, s.
HORIZON = 2.0
# Time between the starts of two long predictions, s.
SPACING = 0.1
# Periods that a velocity is averaged over where a long prediction begins and ends (odd).
AVERAGE = 5
# Long prediction errors have to be below this share of those without a model.
BETTER = 0.5
# They may exceed the description's by this factor, or be below this share of those without a model:
# a description that is exact, as a simulator's, cannot be beaten.
AS_GOOD, GOOD = 1.2, 0.05
# Least number of long predictions that count as evidence.
LEAST = 20

Pair = tuple[float, float]


@dataclass(frozen=True)
class Verification:
    """Errors, root mean squares of [v in m/s, omega in rad/s].

    Attributes:
        decided: whether there was motion enough to tell; where not, nothing is refuted either, and
            the errors are NaN.
        passed: whether the identified model predicts; False where it is not decided.
        reason: why not; empty where it does.
        duration: held-out motion, without gaps, s.
        horizon: of the long predictions, s.
        one_step: errors after one control period: identified.
        one_step_no_model: the same where the velocity stays.
        one_step_nominal: the same by the description.
        horizon_error: errors at the end of the horizon: identified.
        horizon_no_model: the same where the velocity stays.
        horizon_nominal: the same by the description.
    """

    decided: bool
    passed: bool
    reason: str
    duration: float
    horizon: float
    one_step: Pair
    one_step_no_model: Pair
    one_step_nominal: Pair
    horizon_error: Pair
    horizon_no_model: Pair
    horizon_nominal: Pair


class HeldOutMotion:
    """Keeps a motion and judges models by it.

    Args:
        geometry: of the wheels.
    """

    def __init__(self, geometry: WheelGeometry) -> None:
        self._geometry = geometry
        self._stretches: list[list[tuple[float, ...]]] = [[]]

    def add(self, sample: JointSample) -> None:
        """Take in the next sample; stamps must increase."""
        self._stretches[-1].append((sample.stamp, *sample.position, *sample.effort))

    def interrupt(self) -> None:
        """Samples were lost: what follows does not follow what came before."""
        if self._stretches[-1]:
            self._stretches.append([])

    @property
    def duration(self) -> float:
        """Motion kept, without gaps, s."""
        return sum(kept[-1][0] - kept[0][0] for kept in self._stretches if kept)

    @property
    def period(self) -> float:
        """Mean control period of the motion kept, s; NaN before there is one."""
        periods = sum(len(kept) - 1 for kept in self._stretches if kept)
        return self.duration / periods if periods else math.nan

    def enough(self, delay: float = 0.0) -> bool:
        """Whether at least LEAST long predictions can be made, so that `verify` will decide.

        Args:
            delay: longest torque delay of the models, control periods; NaN, where it is not known,
                counts as none.
        """
        if math.isnan(self.period):
            return False
        run = self._far(math.ceil(delay) if math.isfinite(delay) else 0)
        return sum(run.count(len(kept) - 1) for kept in self._stretches) >= LEAST

    def verify(self, identified: Model, nominal: Model) -> Verification:
        """Compare predictions with the motion.

        Args:
            identified: the model to judge.
            nominal: of the robot's description.
        """
        delay = max(identified.delay, nominal.delay)
        if not self.enough(delay):
            return self._undecided()
        far = self._far(math.ceil(delay))
        stretches = [
            Stretch(np.array(kept), self._geometry) for kept in self._stretches if len(kept) > 1
        ]
        # All models are judged by the same instants.
        near_errors, far_errors = (
            {
                name: self._error(stretches, model, run)
                for name, model in (("model", identified), ("nominal", nominal), ("none", None))
            }
            for run in (Run(1, 1, 1, far.late), far)
        )
        reason = _reason(near_errors, far_errors)
        return Verification(
            decided=True,
            passed=not reason,
            reason=reason,
            duration=self.duration,
            horizon=far.steps * self.period,
            one_step=near_errors["model"],
            one_step_no_model=near_errors["none"],
            one_step_nominal=near_errors["nominal"],
            horizon_error=far_errors["model"],
            horizon_no_model=far_errors["none"],
            horizon_nominal=far_errors["nominal"],
        )

    def _far(self, late: int) -> Run:
        """The long predictions, with so many periods of torque before each start."""
        steps, spacing = (max(1, round(time / self.period)) for time in (HORIZON, SPACING))
        return Run(steps, spacing, AVERAGE, late)

    def _error(self, stretches: Sequence[Stretch], model: Model | None, run: Run) -> Pair:
        """Root mean square of the errors over all stretches."""
        errors = [stretch.errors(model, run, self.period) for stretch in stretches]
        v, omega = np.sqrt(np.mean(np.concatenate(errors, axis=1) ** 2, axis=1)).tolist()
        return v, omega

    def _undecided(self) -> Verification:
        gaps = max(0, sum(map(bool, self._stretches)) - 1)
        least = HORIZON + LEAST * SPACING + 0.1
        found = f"verification not decided: {self.duration:.1f} s of held-out motion"
        if gaps:
            why = (
                f"{found} with samples lost {gaps} times, too short for {LEAST} predictions of "
                f"{HORIZON:g} s between gaps; find where joint states are lost, or raise "
                "verification"
            )
        else:
            why = f"{found}: must be at least {least:.1f} s; raise verification"
        unknown = ((math.nan, math.nan),) * 6
        return Verification(False, False, why, self.duration, HORIZON, *unknown)


def _reason(one: dict[str, Pair], far: dict[str, Pair]) -> str:
    for i, (name, unit) in enumerate((("velocity", "m/s"), ("yaw rate", "rad/s"))):
        found, none, nominal = (far[key][i] for key in ("model", "none", "nominal"))
        if not found <= BETTER * none:
            return (
                f"{name} is predicted {HORIZON:g} s ahead with an error of {found:.3g} {unit}: "
                f"must be at most {BETTER:g} of the {none:.3g} {unit} without a model; identify "
                "for longer, check for slip and slopes"
            )
        if not found <= max(AS_GOOD * nominal, GOOD * none):
            return (
                f"{name} is predicted {HORIZON:g} s ahead with an error of {found:.3g} {unit}, by "
                f"the robot's description with {nominal:.3g} {unit}: must not be worse; identify "
                "for longer"
            )
        if not one["model"][i] <= one["none"][i]:
            return (
                f"{name} is predicted one control period ahead with an error of "
                f"{one['model'][i]:.3g} {unit}, without a model with {one['none'][i]:.3g} {unit}: "
                "must not be worse; check the torque's delay"
            )
    return ""
