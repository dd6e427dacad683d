# SPDX-License-Identifier: Apache-2.0
"""Estimate K5..K8 from a recording as a running robot does, verified on held-out parts."""

from __future__ import annotations

import math
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from arc_odometry.sample_check import EffortSize
from diffbot_description import Robot
from diffbot_description.robot import Uncertainty
from diffbot_ident.estimate import Advice, Estimate, EstimateState, Estimator
from diffbot_ident.interpretation.effort_units import EffortCheck, EffortQuestion, EffortUnit
from diffbot_ident.interpretation.geometry_errors import EXACT, DimensionedEstimator, as_wheels_see
from diffbot_ident.interpretation.yaw_gyro import YawGyro
from diffbot_ident.prediction_model import Model
from diffbot_ident.samples.wheel_speeds import nearest, turns
from diffbot_ident.torque.integral_estimator import IntegralEstimator
from diffbot_ident.torque.learning import MotionScale
from diffbot_ident.torque.torque_delay import delayed
from diffbot_ident.verification import HeldOutMotion, Verification
from diffbot_recordings.options import Weighing
from diffbot_recordings.samples import (
    EFFORTS,
    POSITIONS,
    TORQUE_COMMANDS,
    WHEELS,
    Array,
    Batch,
    RecordingError,
    body_velocity,
)
from diffbot_recordings.segments import Segment, Segmenter, SegmentSettings
from diffbot_recordings.wheel_check import WheelCheck
from diffbot_recordings.wheel_signs import WheelSigns

# Typical size of the motion, as a share of the largest motion in a segment.
TYPICAL = 0.5
# Held-out part, s (30 predictions of 2 s), and shortest cycle of learning and holding out, s.
HELD_OUT, CYCLE = 5.0, 20.0
# Maximum total time held out, s.
MOST_HELD_OUT = 300.0
# Standstill of a wheel, rad/s.
WHEELS_STILL = dict.fromkeys(WHEELS, 0.02)
# Longest time between joint states that is bridged, s; see SampleCheck.
JOINT_GAP = 0.06
TORQUE_SEGMENTS = SegmentSettings(gap=JOINT_GAP, shortest=0.5, still=WHEELS_STILL, uniform=False)
UNKNOWN = (math.nan, math.nan)
# Periods over which `free_run` averages velocities, to smooth encoder steps.
AVERAGE = 5


@dataclass(frozen=True)
class TorqueResult:
    """Result of the analysis of a torque-driven robot.

    Attributes:
        verification: Verification on the held-out parts; None if there is no estimate to verify.
        learnt: Recording time that the estimate rests on, s.
        held_out: Recording time held out, s.
        held_out_motion: Longest held-out part, rows of [stamp in s, angles left, right in rad,
            torques left, right in N m], shape (n, 5); may be empty.
        nominal: Model of the robot's description, if any.
        runs: Estimates from the individual recordings, by name; empty if there is only one.
        question: What the efforts' size raises about their unit, if anything.
    """

    estimate: Estimate
    verification: Verification | None
    learnt: float
    held_out: float
    held_out_motion: Array
    geometry: WheelGeometry
    nominal: Model | None
    runs: Mapping[str, Estimate] = field(default_factory=dict)
    question: EffortQuestion | None = None

    @property
    def verified(self) -> bool:
        passed = self.verification is not None and self.verification.passed
        return passed and self.estimate.state is EstimateState.ESTIMATED


def analyse_torque(
    segments: Iterable[Segment],
    geometry: WheelGeometry,
    scale: MotionScale | None = None,
    nominal: Model | None = None,
    samples: int = 0,
    *,
    gyro: YawGyro | None = None,
    uncertainty: Uncertainty = EXACT,
    turning: bool = False,
    robot: Robot | None = None,
    unit: EffortUnit | None = None,
    estimator: Estimator | None = None,
) -> TorqueResult | None:
    """Learn from segments with left and right position and effort (or command), and verify.

    Args:
        segments: Segments in the order of time.
        scale: Size of the motion; None: taken from the first segment.
        nominal: Model of the robot's description, to compare with.
        samples: Number of samples of the recording; 0: not known.
        gyro: Source of the yaw rate, with all readings; only for a single recording.
        uncertainty: Uncertainty of radius and gyro, which the intervals include with a gyro.
        turning: Whether to estimate a resistance against turning (skid steer).
        robot: The description with which masses are compared.
        unit: Unit in which efforts were read; None: it is to be found, and not questioned.
        estimator: Another estimator, new, for a single recording.

    Returns:
        The result; None if there was no segment.
    """
    segments = iter(segments)
    first = next(segments, None)
    if first is None:
        return None
    cycle = _cycle(samples, first.duration / max(len(first.times) - 1, 1))
    scale = scale or motion_scale(first, geometry)
    # What differs between recordings widens the intervals (repeats).
    steady = first.run is None
    check = None if unit is None else EffortCheck(geometry, robot, unit)
    learner = _Learner(geometry, scale, cycle, gyro, uncertainty, turning, steady, estimator, check)
    every = chain((first,), segments)
    if steady:
        learner.learn(every)
        return learner.result(nominal)
    runs: dict[str, Estimate] = {}
    downhill: float | None = None  # direction in which the first floor falls that is not level
    for run, own in groupby(every, key=lambda segment: segment.run or ""):
        parts = list(own)
        alone = _Learner(geometry, scale, cycle, turning=turning)
        alone.learn(parts)
        runs[run] = result = alone.result(None).estimate
        # The robot may have been turned by hand: the floor's slope tells by how much.
        heading = 0.0
        if result.slope is not None:
            downhill = result.slope[1] if downhill is None else downhill
            heading = downhill - result.slope[1]
        learner.begin(joint_samples(parts[0])[0], heading)
        learner.learn(parts)
    return replace(learner.result(nominal), runs=runs if len(runs) > 1 else {})


def analyse_arrays(
    times: Array,
    angles: Array,
    efforts: Array,
    geometry: WheelGeometry,
    estimator: Estimator | None = None,
) -> TorqueResult | None:
    """Analyse arrays as `identify` does a table of these rows; None: no stretch can be used.

    Arguments as identify_arrays. Raises RecordingError if an encoder sticks, a wheel's sign is
    reversed, or the angles are not those of the wheels.
    """
    columns = [*angles.T, *efforts.T]
    batch = Batch(times, dict(zip((*POSITIONS, *EFFORTS), columns, strict=True)))
    wheels, signs = WheelCheck(), WheelSigns(geometry)
    outcome = wheels.watched(Segmenter(TORQUE_SEGMENTS).segments([batch], batch.channels))
    result = analyse_torque(
        signs.watched(outcome), geometry, unit=EffortUnit(), estimator=estimator
    )
    friction = None if result is None else result.estimate.friction
    wrong = wheels.wrong(result is not None and result.verified, friction)
    if wrong is None and result is not None:
        wrong = signs.contradiction(*result.estimate.values[2:], None)
    if wrong is not None:
        raise RecordingError(wrong)
    return result


def learn_weighed(
    segments: Sequence[Segment],
    geometry: WheelGeometry,
    weighing: Weighing,
    learn_one: Callable[[Iterable[Segment]], TorqueResult | None],
    runs: Sequence[str] | None = None,
    samples: int = 0,
) -> tuple[TorqueResult | None, Estimate | None, Weighing]:
    """Learn from recordings with efforts in an unknown unit.

    If the motion shows another ratio of the wheels' constants, they are scaled to it and learnt
    again.

    Args:
        segments: Segments in the order of the recordings; efforts in the ratio of the weighing.
        learn_one: Learns from one recording; used if there is no load.
        runs: Names of the recordings without and with the load, as in their segments.
        samples: Number of samples of both recordings; 0: not known.

    Returns:
        The result without the load (None: no segment can be used), the estimate with it, if any,
            and the weighing with the ratio that both are in.

    Raises:
        RecordingError: The recording with the load cannot be used, or its model fails.
    """

    def learn(some: Sequence[Segment]) -> tuple[TorqueResult | None, TorqueResult | None]:
        if weighing.load is not None:
            return _without_and_with_load(some, geometry, runs or (), samples // 2)
        return learn_one(some), None

    result, loaded = learn(segments)
    if result is not None:
        updated = weighing.with_motion(result.estimate.torque_difference)
        if updated != weighing:
            pairs = zip(updated.ratio, weighing.ratio, strict=True)
            left, right = (after / before for after, before in pairs)
            factors = {EFFORTS[0]: left, EFFORTS[1]: right}
            factors |= {TORQUE_COMMANDS[0]: left, TORQUE_COMMANDS[1]: right}
            result, loaded = learn([_scaled(segment, factors) for segment in segments])
            weighing = updated
    if loaded is None:
        return result, None, weighing
    verified = loaded.verification
    if verified is not None and verified.decided and not verified.passed:
        raise RecordingError(f"of the recording with the load, the second one: {verified.reason}")
    return result, loaded.estimate, weighing


def _scaled(segment: Segment, factors: Mapping[str, float]) -> Segment:
    channels = {name: factors.get(name, 1.0) * own for name, own in segment.channels.items()}
    return replace(segment, channels=channels)


def _without_and_with_load(
    segments: Iterable[Segment], geometry: WheelGeometry, runs: Sequence[str], samples: int
) -> tuple[TorqueResult | None, TorqueResult]:
    results = {}
    for run, own in groupby(segments, key=lambda segment: segment.run):
        parts = (replace(segment, run=None) for segment in own)
        results[run] = analyse_torque(parts, geometry, samples=samples)
    first, second = (results.get(run) for run in runs or (None, None))
    if second is None:
        raise RecordingError("no stretch of the recording with the load can be used")
    return first, second


def _cycle(samples: int, period: float) -> tuple[int, int]:
    """Return samples from one held-out part to the next, and how many are learnt from."""
    usual = nearest(CYCLE / period)
    # In a long recording, the held-out parts are spread over all of it.
    cycle = max(min(usual, samples or usual), math.ceil(samples * HELD_OUT / MOST_HELD_OUT))
    return cycle, cycle - min(nearest(HELD_OUT / period), cycle // 4)


class _Learner:
    def __init__(
        self,
        geometry: WheelGeometry,
        scale: MotionScale,
        cycle: tuple[int, int],
        gyro: YawGyro | None = None,
        uncertainty: Uncertainty = EXACT,
        turning: bool = False,
        steady: bool = True,
        other: Estimator | None = None,
        check: EffortCheck | None = None,
    ) -> None:
        self._geometry = geometry
        self._wheels = IntegralEstimator(geometry, scale, turning=turning, steady=steady)
        self._estimator: Estimator = other or self._wheels
        self._check, self._size = check, EffortSize()
        if gyro is not None:
            self._estimator = DimensionedEstimator(self._wheels, geometry, uncertainty, gyro)
        self._cycle, self._learning = cycle
        self._held_out = HeldOutMotion(
            geometry, (scale.velocity, scale.yaw_rate), Advice.RECORD_LONGER.value
        )
        self._passed = 0  # samples
        self._learnt = 0.0
        self._stamps = array("d")  # of the samples learnt from, s

    def begin(self, sample: JointSample, heading: float) -> None:
        self._wheels.begin(heading)
        self._held_out.begin(sample, heading)

    def learn(self, segments: Iterable[Segment]) -> None:
        for segment in segments:
            self.add(segment)

    def add(self, segment: Segment) -> None:
        self._held_out.interrupt()
        last: float | None = None
        for sample in joint_samples(segment):
            self._size.add(sample)
            step = 0.0 if last is None else sample.stamp - last
            self._passed += last is not None
            last = sample.stamp
            hold = self._passed % self._cycle > self._learning
            if hold and self._held_out.duration < MOST_HELD_OUT:
                self._held_out.add(sample)
                continue
            self._held_out.interrupt()
            try:
                self._estimator.update(sample)
            except ValueError:
                # The estimator raises after each held-out part, and continues from there.
                continue
            self._learnt += step
            self._stamps.append(sample.stamp)

    def result(self, nominal: Model | None) -> TorqueResult:
        estimate, question = self._estimator.estimate(), None
        if self._check is not None:
            estimate, question = self._check.judged(estimate, self._size.value)
        held_out, learnt = self._held_out, self._learnt
        if math.isfinite(estimate.since):
            held_out = held_out.since(estimate.since)
            learnt *= float(np.mean(np.array(self._stamps) > estimate.since))
        estimate = replace(estimate, advice=estimate.advice.of_recording)
        known = estimate.state is EstimateState.ESTIMATED
        return TorqueResult(
            estimate=estimate,
            verification=self._verify(held_out, estimate, nominal) if known else None,
            learnt=learnt,
            held_out=held_out.duration,
            held_out_motion=held_out.longest,
            geometry=self._geometry,
            nominal=nominal,
            question=question,
        )

    @staticmethod
    def _verify(held_out: HeldOutMotion, estimate: Estimate, nominal: Model | None) -> Verification:
        model = _wheel_model(estimate)
        verification = held_out.verify(model, nominal or model)
        if nominal is None:
            verification = replace(verification, one_step_nominal=UNKNOWN, horizon_nominal=UNKNOWN)
        return verification


def _wheel_model(estimate: Estimate) -> Model:
    """Return the model of the motion that the wheels measure; a gyro's yaw rate may differ."""
    return replace(Model.of(estimate), values=as_wheels_see(estimate))


def joint_samples(segment: Segment) -> list[JointSample]:
    """Convert a segment to samples, each with the torque that acted until its stamp.

    A command acts from its sample on. The first sample is left out: the torque before it is
    unknown.
    """

    def rows(names: tuple[str, str]) -> list[tuple[float, float]]:
        return list(map(tuple, segment.pair(names).tolist()))

    times = segment.times[1:].tolist()
    velocity = [(0.0, 0.0)] * len(times)
    if {*WHEELS} <= {*segment.channels}:
        velocity = rows(WHEELS)[1:]
    effort = rows(segment.efforts)
    effort = effort[1:] if segment.efforts == EFFORTS else effort[:-1]
    every = zip(times, rows(POSITIONS)[1:], velocity, effort, strict=True)
    return [JointSample(*sample) for sample in every]


def motion_scale(segment: Segment, geometry: WheelGeometry) -> MotionScale:
    """Return the typical size of the motion in a segment."""
    samples = joint_samples(segment)
    names = ("stamp", "position", "effort")
    stamps, angles, torque = (np.array([getattr(s, name) for s in samples]) for name in names)
    return typical_motion(stamps, angles, torque, geometry)


def typical_motion(
    stamps: Array, angles: Array, torque: Array, geometry: WheelGeometry
) -> MotionScale:
    """Return the typical size of a motion from stamps, s, angles, rad, and torques, (n, 2)."""
    speeds = np.gradient(np.unwrap(angles, axis=0), stamps, axis=0)
    body = body_velocity(geometry, speeds[:, 0], speeds[:, 1])
    sizes = (float(np.abs(values).max()) for values in (body["v"], body["w"], torque))
    return MotionScale(*(TYPICAL * size + 1e-9 for size in sizes))


def free_run(result: TorqueResult) -> tuple[Array, Array, Array]:
    """Simulate the held-out part from its first velocity and its torques; gravity is fitted.

    Args:
        result: Result with more than AVERAGE held-out rows.

    Returns:
        Stamps, s, shape (n,); measured and simulated [v, omega], m/s and rad/s, shape (2, n) each.
    """
    motion, estimate = result.held_out_motion, result.estimate
    geometry = result.geometry
    turned = turns(motion[:, 1:3])
    body = body_velocity(geometry, turned[:, 0], turned[:, 1])
    rates = np.array([body["v"], body["w"]]) / np.diff(motion[:, 0])
    kernel = np.ones(AVERAGE) / AVERAGE
    measured = np.array([np.convolve(rate, kernel, "valid") for rate in rates])
    whole = HeldOutMotion(geometry)
    for stamp, left, right, *torques in motion.tolist():
        whole.add(JointSample(stamp, (left, right), (0.0, 0.0), (torques[0], torques[1])))
    model = whole.with_gravity(_wheel_model(estimate))
    torque = delayed(motion[1:, 3:5].T, model.delay)
    middle = AVERAGE // 2
    period = float(np.median(np.diff(motion[:, 0])))
    velocity, simulated = measured[:, :1], [measured[:, 0]]
    heading = np.sum(body["w"][:middle], keepdims=True) + 0.5 * body["w"][middle]
    for k in range(middle, middle + measured.shape[1] - 1):
        # Mean velocities hold at middles of periods: half of each torque acts in between.
        acting = 0.5 * (torque[:, k] + torque[:, k + 1])
        velocity, heading = model.advance(velocity, heading, acting[:, None], period, geometry)
        simulated.append(velocity[:, 0])
    stamps = 0.5 * (motion[:-1, 0] + motion[1:, 0])[middle : middle + measured.shape[1]]
    return stamps, measured, np.array(simulated).T
