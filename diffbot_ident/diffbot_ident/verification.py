"""Do identified parameters predict a motion that they were not identified from?

The motion is driven by another excitation. From many instants of it the velocity is predicted, with
the torques as reported, one control period and a few seconds ahead: by the identified model, by
none (the velocity stays as it is), and by the robot's description. Nothing is fitted here.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.integral_rows import Array
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
        passed: whether the identified model predicts.
        reason: why not; empty where it does.
        duration: held-out motion, s.
        horizon: of the long predictions, s.
        one_step: errors after one control period: identified.
        one_step_no_model: the same where the velocity stays.
        one_step_nominal: the same by the description.
        horizon_error: errors at the end of the horizon: identified.
        horizon_no_model: the same where the velocity stays.
        horizon_nominal: the same by the description.
    """

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
        self._samples: list[tuple[float, ...]] = []

    def add(self, sample: JointSample) -> None:
        """Take in the next sample; stamps must increase."""
        self._samples.append((sample.stamp, *sample.position, *sample.effort))

    def interrupt(self) -> None:
        """What follows does not follow what came before, which is left out."""
        self._samples.clear()

    def verify(self, identified: Model, nominal: Model) -> Verification:
        """Compare predictions with the motion.

        Args:
            identified: the model to judge.
            nominal: of the robot's description.
        """
        samples = np.array(self._samples).reshape(-1, 5)
        duration = float(np.ptp(samples[:, 0])) if len(samples) else 0.0
        period = float(np.median(np.diff(samples[:, 0]))) if len(samples) > 1 else 0.01
        steps = round(HORIZON / period)
        if len(samples) < steps + 2 * AVERAGE + round(LEAST * SPACING / period):
            return _too_short(duration)
        velocity, torque = self._motion(samples)
        one, far = {}, {}
        for name, model in (("model", identified), ("nominal", nominal), ("none", None)):
            one[name] = self._error(model, velocity, torque, period, 1, 1, 1)
            far[name] = self._error(
                model, velocity, torque, period, steps, round(SPACING / period), AVERAGE
            )
        reason = _reason(one, far)
        return Verification(
            not reason,
            reason,
            duration,
            steps * period,
            one["model"],
            one["none"],
            one["nominal"],
            far["model"],
            far["none"],
            far["nominal"],
        )

    def _motion(self, samples: Array) -> tuple[Array, Array]:
        """Mean velocities [v, omega] and torques [left, right] of the periods, both (2, n)."""
        period = np.diff(samples[:, 0])
        turned = np.remainder(np.diff(samples[:, 1:3], axis=0) + np.pi, 2.0 * np.pi) - np.pi
        paths = self._geometry.body_velocity(turned[:, 0], turned[:, 1])
        return np.array(paths) / period, samples[1:, 3:5].T

    def _error(
        self,
        model: Model | None,
        velocity: Array,
        torque: Array,
        period: float,
        steps: int,
        spacing: int,
        average: int,
    ) -> Pair:
        """Root mean square of the errors after so many steps, from starts this far apart."""
        mean = np.array([np.convolve(u, np.ones(average) / average, "valid") for u in velocity])
        delay = 0 if model is None else model.delay
        middle = average // 2
        last = velocity.shape[1] - steps - middle
        starts = np.arange(max(middle, delay), last, spacing)
        begin, end = mean[:, starts - middle], mean[:, starts - middle + steps]
        if model is not None:
            # A mean velocity is that of the period's middle: half of the torque of either period.
            acting = np.array(
                [
                    0.5 * (torque[:, starts + i - delay] + torque[:, starts + i + 1 - delay])
                    for i in range(steps)
                ]
            )
            begin = model.predict(begin, acting, period, self._geometry)
        v, omega = np.sqrt(np.mean((end - begin) ** 2, axis=1)).tolist()
        return v, omega


def _too_short(duration: float) -> Verification:
    unknown = (float("nan"),) * 2
    reason = (
        f"only {duration:.1f} s of held-out motion: must be at least "
        f"{HORIZON + LEAST * SPACING + 0.1:.1f} s; raise verification"
    )
    return Verification(False, reason, duration, HORIZON, *((unknown,) * 6))


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
