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
from diffbot_ident.torque.estimate import Friction
from diffbot_ident.torque.integral_rows import Array, turns

# ---
# Prediction of body velocities from measured torques, by a model that may be right or wrong.
#
# (41) of Lages (2017) less the wheels' friction, one control period after another.

# Wheel speed over which the Coulomb friction of a prediction fades in, rad/s. A sign would chatter.
FADE = 0.05


@dataclass(frozen=True)
class Model:
    """What predicts.

    Attributes:
        values: [K5, K6, K7, K8].
        friction: [viscous left, right in N m s/rad, Coulomb left, right in N m].
        delay: control periods between a torque's report and its action, >= 0; d + a, d whole, means
            that (1 - a) tau[k - d] + a tau[k - d - 1] acts in period k.
    """

    values: tuple[float, float, float, float]
    friction: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)
    delay: float = 0.0

    @classmethod
    def of(
        cls,
        values: tuple[float, float, float, float],
        friction: Friction | None,
        delay: float,
    ) -> Model:
        """The model of an estimate.

        Args:
            values: [K5, K6, K7, K8].
            friction: what is not known, or negative, is taken for none.
            delay: control periods; one that is not known, or negative, is taken for none.
        """
        known = (0.0,) * 4
        if friction is not None:
            known = tuple(
                max(0.0, value) if np.isfinite(variance) else 0.0
                for value, variance in zip(friction.values, friction.variances, strict=True)
            )
        return cls(values, known, max(0.0, float(delay)) if np.isfinite(delay) else 0.0)

    def acceleration(self, v: Array, omega: Array, torque: Array, geometry: WheelGeometry) -> Array:
        """[dv/dt, domega/dt] of n robots, shape (2, n), m/s^2 and rad/s^2.

        Args:
            v: m/s, shape (n,).
            omega: rad/s, shape (n,).
            torque: [left, right], N m, shape (2, n).
            geometry: of the wheels.
        """
        k5, k6, k7, k8 = self.values
        viscous, coulomb = np.array(self.friction[:2]), np.array(self.friction[2:])
        speed = np.array(geometry.wheel_velocity(v, omega))
        acting = torque - viscous[:, None] * speed - coulomb[:, None] * np.tanh(speed / FADE)
        return np.array(
            [
                k5 * omega**2 + k7 * (acting[0] + acting[1]),
                k6 * v * omega + k8 * (acting[0] - acting[1]),
            ]
        )

    def predict(self, start: Array, torque: Array, period: float, geometry: WheelGeometry) -> Array:
        """Velocities [v, omega] after m periods, shape (2, n).

        Args:
            start: [v, omega] at the beginning, shape (2, n).
            torque: [left, right] of each period, N m, shape (m, 2, n).
            period: s.
            geometry: of the wheels.
        """
        velocity = start
        for acting in torque:
            # The midpoint rule: products of velocities change little within a period.
            half = velocity + 0.5 * period * self.acceleration(*velocity, acting, geometry)
            velocity = velocity + period * self.acceleration(*half, acting, geometry)
        return velocity


# ---
# Errors of predictions along one stretch of motion without a gap.


@dataclass(frozen=True)
class Run:
    """Predictions that are alike.

    Attributes:
        steps: control periods from start to end.
        spacing: control periods between two starts.
        average: periods that a velocity is averaged over where a prediction begins and ends (odd).
        late: control periods of torque that must be known before a start, for its delay.
    """

    steps: int
    spacing: int
    average: int
    late: int

    @property
    def first(self) -> int:
        """Index of the first start."""
        return max(self.average // 2, self.late)

    def starts(self, periods: int) -> Array:
        """Indices of the starts in a stretch of so many control periods."""
        return np.arange(self.first, periods - self.steps - self.average // 2, self.spacing)

    def count(self, periods: int) -> int:
        """Number of starts in a stretch of so many control periods."""
        room = periods - self.steps - self.average // 2 - self.first
        return max(0, math.ceil(room / self.spacing))


class Stretch:
    """A motion without a gap.

    Args:
        samples: rows of [stamp in s, angles left, right in rad, torques left, right in N m], shape
            (n, 5); the torques acted until the stamp.
        geometry: of the wheels.
    """

    def __init__(self, samples: Array, geometry: WheelGeometry) -> None:
        turned = turns(samples[:, 1:3])
        paths = geometry.body_velocity(turned[:, 0], turned[:, 1])
        self._velocity = np.array(paths) / np.diff(samples[:, 0])
        self._torque = samples[1:, 3:5].T
        self._geometry = geometry

    def errors(self, model: Model | None, run: Run, period: float) -> Array:
        """Errors of [v in m/s, omega in rad/s] at the ends, shape (2, n).

        Args:
            model: that predicts; None: the velocity stays as it is.
            run: where predictions start and end.
            period: control period, s.
        """
        starts = run.starts(self._velocity.shape[1])
        if len(starts) == 0:
            return np.empty((2, 0))
        middle = run.average // 2
        kernel = np.ones(run.average) / run.average
        mean = np.array([np.convolve(u, kernel, "valid") for u in self._velocity])
        begin, end = mean[:, starts - middle], mean[:, starts - middle + run.steps]
        if model is not None:
            late = delayed(self._torque, model.delay)
            # A mean velocity is that of the period's middle: half of the torque of either period.
            acting = np.array(
                [0.5 * (late[:, starts + i] + late[:, starts + i + 1]) for i in range(run.steps)]
            )
            # What a hopeless model predicts may be beyond all numbers; it is judged below.
            with np.errstate(over="ignore", invalid="ignore"):
                begin = model.predict(begin, acting, period, self._geometry)
        return end - begin


def delayed(torque: Array, delay: float) -> Array:
    """Torques that act when reported ones act late: (1 - a) tau[k - d] + a tau[k - d - 1].

    Args:
        torque: as reported for each control period, N m, shape (2, n).
        delay: d + a control periods, d whole, 0 <= a < 1.

    Returns:
        Shape (2, n), N m; the first ceil(delay) periods, of which too little is known, are as
        reported first.
    """
    whole = math.floor(delay)
    share = delay - whole
    padded = np.pad(torque, ((0, 0), (whole + 1, 0)), mode="edge")
    n = torque.shape[1]
    return (1.0 - share) * padded[:, 1 : n + 1] + share * padded[:, :n]


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
