# SPDX-License-Identifier: Apache-2.0
"""Verification: do identified parameters predict a motion that was not used to identify them?

Predictions a control period and seconds ahead are compared with those of constant velocity and of
the description; docs/theory/estimates.md#verification.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from arc_odometry import JointSample, WheelGeometry
from diffbot_description.spoken import spoken
from diffbot_ident.estimate import Array, Pair
from diffbot_ident.prediction_model import Model
from diffbot_ident.prediction_model import predictions as predict
from diffbot_ident.samples.timed_readings import readings_of
from diffbot_ident.samples.wheel_speeds import Heading, turns, wraps
from diffbot_ident.torque.torque_delay import delayed


@dataclass(frozen=True)
class _Predictions:
    """Predictions over `steps` periods from instants `spacing` periods apart.

    Velocities at both ends are means over `average` periods (odd); torques must be known for `late`
    periods before.
    """

    steps: int
    spacing: int
    average: int
    late: int

    def starts(self, periods: int) -> NDArray[np.int_]:
        """Return the indices of the starts in a segment of so many periods, shape (n,)."""
        middle = self.average // 2
        return np.arange(max(middle, self.late), periods - self.steps - middle, self.spacing)


class _Segment:
    """Motion without a gap: samples (n, 5), as HeldOutMotion.longest; first heading, rad."""

    def __init__(self, samples: Array, geometry: WheelGeometry, heading: float) -> None:
        paths = geometry.body_velocity(*turns(samples[:, 1:3]).T)
        self._periods: Array = np.diff(samples[:, 0])
        self._velocity: Array = np.array(paths) / self._periods
        turned = np.array(paths[1])
        self._heading: Array = heading + np.cumsum(turned) - 0.5 * turned
        self._torque = samples[1:, 3:5].T
        self._geometry = geometry

    def lengths(self, yaw_by_speed: Sequence[float], predictions: _Predictions) -> NDArray[np.int_]:
        """Return the periods of each prediction, 1 to `predictions.steps`, (n,).

        It ends before a yaw rate's error grows MAX_GROWTH times with any of these K6, 1/m.
        """
        starts = predictions.starts(self._velocity.shape[1])
        path = np.concatenate(([0.0], np.cumsum(self._velocity[0] * self._periods)))
        ends = starts[:, None] + np.arange(1, predictions.steps + 1)
        ways = path[ends] - path[starts, None]
        grown = np.any([k6 * ways > math.log(MAX_GROWTH) for k6 in yaw_by_speed], axis=0)
        first = np.where(grown.any(axis=1), grown.argmax(axis=1), predictions.steps)
        lengths: NDArray[np.int_] = np.maximum(first, 1)
        return lengths

    def errors(
        self,
        models: Sequence[Model],
        predictions: _Predictions,
        period: float,
        lengths: NDArray[np.int_],
    ) -> Array:
        """Return the errors of [v, omega] at the ends, (2, models, n); (2, 1, n) of no change.

        `lengths`: control periods, s each, of the predictions, shape (n,).
        """
        steps, average = predictions.steps, predictions.average
        starts = predictions.starts(self._velocity.shape[1])
        if len(starts) == 0:
            return np.empty((2, len(models) or 1, 0))
        middle = average // 2
        kernel = np.ones(average) / average
        mean = np.array([np.convolve(u, kernel, "valid") for u in self._velocity])
        begin, end = mean[:, starts - middle], mean[:, starts - middle + lengths]
        if not models:
            changes: Array = end - begin
            return changes[:, None]
        instants = starts + np.arange(steps)[:, None]
        delays = [model.delay for model in models]
        each = [self._acting(delay)[:, instants] for delay in dict.fromkeys(delays)]
        acting = np.array(
            each if len(each) == 1 else [self._acting(d)[:, instants] for d in delays]
        )
        predicted = predict(
            models,
            begin,
            acting.transpose(2, 1, 0, 3),
            period,
            self._geometry,
            lengths,
            self._heading[starts],
        )
        errors: Array = end[:, None] - predicted
        return errors

    def _acting(self, delay: float) -> Array:
        """Return the torques from the middle of each of n periods to the next, (2, n - 1)."""
        late = delayed(self._torque, delay)
        result: Array = 0.5 * (late[:, :-1] + late[:, 1:])
        return result

    def headings(self, predictions: _Predictions) -> Array:
        """Return the headings at the middle of predictions of one period, rad, (n,)."""
        starts = predictions.starts(self._velocity.shape[1])
        return 0.5 * (self._heading[starts] + self._heading[starts + 1])


# Duration of the long predictions, and time between the starts of two of them, s.
HORIZON, SPACING = 2.0, 0.1
# An initial error of a prediction may grow by less than this factor.
MAX_GROWTH = 10.0
# Periods of the mean velocities at both ends of long predictions (odd).
AVERAGE = 5
# Long predictions' errors must be below this share of those without a model,
MAX_ERROR_FRACTION = 0.5
# and at most this factor times the description's, or this share of those without a model, as an
# exact description cannot be beaten.
MAX_OF_NOMINAL, SMALL_FRACTION = 1.2, 0.05
# Standard deviations of chance by which one period may be predicted worse than without a model.
CHANCE = 3.0
# Larger errors are accepted if a model within this squared distance in the estimate's deviations
# (exceeded in one of a hundred, chi squared, 8 values) predicts.
MAX_DEVIATIONS = 20.09
# Rounds of the search for that model.
ROUNDS = 3
# Least number of long predictions for a decision, and change of the velocities, over their scale.
MIN_PREDICTIONS = 20
MIN_CHANGE = 0.02

Errors = Callable[[Sequence[Model]], Array]
"""Errors of the predictions of models, shape (2, models, n); without models, of no change."""


class VerificationState(IntEnum):
    """Whether the model predicts (NOT_VERIFIED: too little motion); as in DynamicParameters.msg."""

    NOT_VERIFIED = 0
    VERIFIED = 1
    REFUTED = 2


@dataclass(frozen=True)
class Verification:
    """Result of a verification.

    Errors are root mean squares of [v in m/s, omega in rad/s]; NaN if nothing is decided.

        >>> from arc_odometry import WheelGeometry
        >>> model = Model((0.0, 0.0, 2.0, -10.0))
        >>> HeldOutMotion(WheelGeometry(0.1, 0.1, 0.5)).verify(model, model).decided
        False

    Attributes:
        state: Whether the identified model predicts the motion.
        reason: Why it does not; empty if it does.
        duration: Duration of the held-out motion, without gaps, s.
        horizon: Duration of the long predictions, s; they end earlier where errors grow fast.
        one_step, horizon_error: Errors of the identified model after one control period, and at the
            end of the horizon.
        one_step_no_model, horizon_no_model: Those of constant velocity.
        one_step_nominal, horizon_nominal: Those of the description.
    """

    state: VerificationState
    reason: str
    duration: float
    horizon: float
    one_step: Pair
    one_step_no_model: Pair
    one_step_nominal: Pair
    horizon_error: Pair
    horizon_no_model: Pair
    horizon_nominal: Pair

    @property
    def decided(self) -> bool:
        return self.state is not VerificationState.NOT_VERIFIED

    @property
    def passed(self) -> bool:
        return self.state is VerificationState.VERIFIED


class HeldOutMotion:
    """Stores a motion and judges models by it.

    Args:
        scale: Size of exciting motions, [v in m/s, omega in rad/s].
        longer: What makes the motion longer, for the message if it is too short.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        scale: Pair = (0.0, 0.0),
        longer: str = "raise verification",
    ) -> None:
        self._geometry = geometry
        self._scale = scale
        self._longer = longer
        self._segments: list[list[tuple[float, ...]]] = [[]]
        self._headings: dict[int, float] = {}  # known first headings of segments, rad

    def add(self, sample: JointSample) -> None:
        self._segments[-1].append((sample.stamp, *sample.position, *sample.effort))

    def interrupt(self) -> None:
        if self._segments[-1]:
            self._segments.append([])

    def begin(self, sample: JointSample, heading: float) -> None:
        """Note that another recording begins with this sample, not held out; heading, rad."""
        self.interrupt()
        self._headings[len(self._segments) - 1] = heading
        self.add(sample)
        self.interrupt()

    def since(self, stamp: float) -> HeldOutMotion:
        later = HeldOutMotion(self._geometry, self._scale, self._longer)
        kept = ([each for each in part if each[0] >= stamp] for part in self._segments)
        later._segments = [part for part in kept if part] or [[]]
        return later

    @property
    def longest(self) -> Array:
        """Longest segment, rows of [stamp, angles left, right, torques left, right], (n, 5)."""
        return np.reshape(np.array(max(self._segments, key=len), dtype=float), (-1, 5))

    @property
    def duration(self) -> float:
        return sum(kept[-1][0] - kept[0][0] for kept in self._segments if kept)

    @property
    def period(self) -> float:
        """NaN before there is one, s."""
        periods = sum(len(kept) - 1 for kept in self._segments if kept)
        return self.duration / periods if periods else math.nan

    def enough(self, delay: float = 0.0) -> bool:
        """Whether `verify` will decide, with models of this torque delay, periods; NaN: 0."""
        if math.isnan(self.period):
            return False
        far = self._far(math.ceil(delay) if math.isfinite(delay) else 0)
        count = sum(len(far.starts(len(kept) - 1)) for kept in self._segments)
        return count >= MIN_PREDICTIONS

    def verify(self, identified: Model, nominal: Model) -> Verification:
        """Compare predictions of an identified and of the described model with the motion."""
        delay = max(identified.delay, nominal.delay)
        if not self.enough(delay):
            return self._undecided(self._too_short())
        far = self._far(math.ceil(delay))
        near = _Predictions(1, 1, 1, far.late)
        segments = self._made_segments()
        identified = self._with_gravity(identified, segments)
        nominal = replace(nominal, gravity=identified.gravity)
        # At the same instants; predictions of a hopeless model may overflow.
        growths = identified.values[1], nominal.values[1]
        errors_near, errors_far = (
            self._errors_at(segments, predictions, growths) for predictions in (near, far)
        )
        with np.errstate(over="ignore", invalid="ignore"):
            near_errors, far_errors = (
                _compared(errors, identified, nominal) for errors in (errors_near, errors_far)
            )
            if still := self._still(far_errors["none"]):
                return self._undecided(still)
            worse = _worse(errors_near, identified)
            reason = _reason(near_errors, far_errors, far_errors["model"], worse)
            if reason is not None:
                # A model within the doubts of the identified one may predict better.
                overlap = max(1.0, far.steps / far.spacing)
                within = _within_doubts(errors_far, identified, far_errors["nominal"], overlap)
                reason = _reason(near_errors, far_errors, within, worse)
        return Verification(
            state=VerificationState.VERIFIED if reason is None else VerificationState.REFUTED,
            reason=reason or "",
            duration=self.duration,
            horizon=far.steps * self.period,
            one_step=near_errors["model"],
            one_step_no_model=near_errors["none"],
            one_step_nominal=near_errors["nominal"],
            horizon_error=far_errors["model"],
            horizon_no_model=far_errors["none"],
            horizon_nominal=far_errors["nominal"],
        )

    def _made_segments(self) -> list[_Segment]:
        kept = [np.array(each) for each in self._segments]
        heading = Heading(self._geometry, any(wraps(each[:, 1:3]) for each in kept if len(each)))
        made = []
        for index, (samples, readings) in enumerate(zip(kept, readings_of(kept), strict=True)):
            if index in self._headings:
                heading.begin(self._headings[index])
            if len(samples):
                heading.interrupt()
                first = float(heading.at(samples[:, 1:3])[0])
                if len(readings) > 1:
                    made.append(_Segment(readings, self._geometry, first))
        return made

    def with_gravity(self, model: Model) -> Model:
        """Return a `sloped` model with the gravity that its errors of one period show."""
        return self._with_gravity(model, self._made_segments())

    def _with_gravity(self, model: Model, segments: Sequence[_Segment]) -> Model:
        if not model.sloped:
            return model
        near = _Predictions(1, 1, 1, max(0, math.ceil(model.delay)))
        gained = self._errors_at(segments, near, (model.values[1],))((model,))[0, 0]
        heading = np.concatenate([segment.headings(near) for segment in segments])
        columns = self.period * np.column_stack((np.cos(heading), np.sin(heading)))
        x, y = np.linalg.lstsq(columns, gained)[0].tolist()
        return replace(model, gravity=(x, y))

    def _far(self, late: int) -> _Predictions:
        steps, spacing = (max(1, round(time / self.period)) for time in (HORIZON, SPACING))
        return _Predictions(steps, spacing, AVERAGE, late)

    def _errors_at(
        self,
        segments: Sequence[_Segment],
        predictions: _Predictions,
        yaw_by_speed: Sequence[float],
    ) -> Errors:
        """Return the errors over all segments as a function of the models, with these K6, 1/m."""
        lengths = [segment.lengths(yaw_by_speed, predictions) for segment in segments]

        def errors(models: Sequence[Model]) -> Array:
            results = [
                segment.errors(models, predictions, self.period, taken)
                for segment, taken in zip(segments, lengths, strict=True)
            ]
            return np.concatenate(results, axis=2)

        return errors

    def _too_short(self) -> str:
        gaps = max(0, sum(len(kept) > 1 for kept in self._segments) - 1)
        least = HORIZON + MIN_PREDICTIONS * SPACING + 0.1
        result = f"{self.duration:.1f} s of held-out motion"
        if gaps:
            return (
                f"{result} with samples lost {gaps} times, too short for {MIN_PREDICTIONS} "
                f"predictions of {HORIZON:g} s between gaps; find where joint states are lost, or "
                f"{self._longer}"
            )
        return f"{result}: must be at least {least:.1f} s; {self._longer}"

    def _still(self, changes: Pair) -> str | None:
        """Return why nothing is decided, if the velocities hardly changed."""
        for change, scale, name, unit in zip(
            changes, self._scale, ("velocity", "yaw rate"), ("m/s", "rad/s"), strict=True
        ):
            if change < (least := MIN_CHANGE * scale):
                return (
                    f"over {HORIZON:g} s the {name} of the held-out motion changed by "
                    f"{spoken(change, 2)} {unit} (rms): must be at least {spoken(least, 2)} "
                    f"{unit}; find why the robot did "
                    "not move, such as torque that was withheld"
                )
        return None

    def _undecided(self, why: str) -> Verification:
        reason = f"verification not decided: {why}"
        unknown = ((math.nan, math.nan),) * 6
        state = VerificationState.NOT_VERIFIED
        return Verification(state, reason, self.duration, HORIZON, *unknown)


def _within_doubts(errors_of: Errors, identified: Model, least: Pair, overlap: float) -> Pair:
    """Return the errors of the most likely model within the doubts; infinite: too far away.

    It minimises |(e + D x) / least|^2 / overlap + |x|^2 over the deviations x.
    """
    if not identified.doubts:
        return math.inf, math.inf
    scale = np.maximum(np.array(least), np.finfo(float).tiny)[:, None] * math.sqrt(overlap)

    def errors(deviations: Array) -> Array:
        """Return the errors with m sets of deviations, shape (m, 2, n)."""
        moved = [identified.moved(each) for each in deviations]
        result: Array = errors_of(moved).swapaxes(0, 1) / scale
        return result

    x = np.zeros(len(identified.doubts))
    pair, *others = errors(np.vstack((x, np.eye(len(x)))))
    slopes = (np.array(others) - pair).reshape(len(x), -1)
    if not (np.isfinite(pair).all() and np.isfinite(slopes).all()):
        return math.inf, math.inf
    bend = slopes @ slopes.T + np.eye(len(x))
    for _ in range(ROUNDS):
        x = x - np.linalg.solve(bend, slopes @ pair.ravel() + x)
        (pair,) = errors(x[None])
    if not float(x @ x) <= MAX_DEVIATIONS:
        return math.inf, math.inf
    return _rms(pair * scale)


def _compared(errors: Errors, identified: Model, nominal: Model) -> dict[str, Pair]:
    (none,) = errors(()).swapaxes(0, 1)
    both = errors((identified, nominal)).swapaxes(0, 1)
    return dict(zip(("model", "nominal", "none"), map(_rms, (*both, none)), strict=True))


def _worse(errors: Errors, identified: Model) -> tuple[bool, bool]:
    """Return whether a model predicts [v, omega] worse than none does, beyond chance.

    Of single periods, errors of the readings, as by play, may exceed all that torques change.
    """
    (none,) = errors(()).swapaxes(0, 1)
    (model,) = errors((identified,)).swapaxes(0, 1)
    more = model**2 - none**2
    chance = np.std(more, axis=1) / math.sqrt(max(more.shape[1], 1))
    v, omega = (~(np.mean(more, axis=1) <= CHANCE * chance)).tolist()
    return v, omega


def _rms(errors: Array) -> Pair:
    v, omega = np.sqrt(np.mean(errors**2, axis=1)).tolist()
    return v, omega


def _reason(
    one: dict[str, Pair], far: dict[str, Pair], within: Pair, worse: tuple[bool, bool]
) -> str | None:
    """Return why the model, or one `within` its doubts, does not predict, by errors; or None.

    `worse`: whether [v, omega] of one period are, beyond chance.
    """
    for i, (name, unit) in enumerate((("velocity", "m/s"), ("yaw rate", "rad/s"))):
        result, none, nominal = (far[key][i] for key in ("model", "none", "nominal"))
        if not result <= MAX_ERROR_FRACTION * none:
            return (
                f"{name} is predicted {HORIZON:g} s ahead with an error of {spoken(result)} "
                f"{unit}: must be at most {MAX_ERROR_FRACTION:g} of the {spoken(none)} {unit} "
                f"without a model; "
                "identify for longer, check for slip and slopes"
            )
        # A description whose predictions overflow cannot be worse than anything.
        allowed = MAX_OF_NOMINAL * nominal if math.isfinite(nominal) else math.inf
        if not min(result, within[i]) <= max(allowed, SMALL_FRACTION * none):
            return (
                f"{name} is predicted {HORIZON:g} s ahead with an error of {spoken(result)} "
                f"{unit}, by the robot's description with {spoken(nominal)} {unit}: must not be "
                f"worse; identify "
                "for longer, and a robot with gears with torques of several sizes (levels: 4)"
            )
        if worse[i]:
            return (
                f"{name} is predicted one control period ahead with an error of "
                f"{spoken(one['model'][i])} {unit}, without a model with {spoken(one['none'][i])} "
                f"{unit}: "
                "must not be worse; check the torque's delay, and the angles for jumps and play"
            )
    return None
