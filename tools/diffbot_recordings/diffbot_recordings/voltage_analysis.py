# SPDX-License-Identifier: Apache-2.0
"""Voltage gains of sides and axes of a drivetrain: docs/theory/recordings.md#voltage-gains.

    V = ks sign(v) + kv v + ka dv/dt

of left, right, forward (means of both) and yaw, V = (right - left) / 2, after the motion's start.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import scipy

from diffbot_ident.estimate import NORMAL_95
from diffbot_recordings.axis_segment import AxisSegment, Prediction
from diffbot_recordings.samples import Array, Mask, RecordingError
from diffbot_recordings.segments import new_readings
from diffbot_recordings.sysid_log import SysIdLog, SysIdTest
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict, Evidence, Value, combined
from diffbot_recordings.voltage_gains import (
    LONGEST,
    ROWS,
    SysIdDelay,
    VoltageGains,
    dead_time_of,
    delay_from_rest,
    filter_delay,
    fit_voltage_gains,
    seen_dead_time,
    step_row,
)

LEFT, RIGHT, FORWARD, YAW = "left side", "right side", "forward axis", "yaw axis"
SUBJECTS = (LEFT, RIGHT, FORWARD, YAW)
LEAST_R_SQUARED = 0.9
# Share of its largest velocity above which an axis moves.
MOVING = 0.05
GAP = 3.0
# Share of the largest voltage that drives an axis.
DRIVEN = 0.2
LEAST_SAMPLES = 40
# Starts to leave out, s; in slow tests at least SETTLE.
CUTS = (0.0, 0.01, 0.02, 0.03, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.4)
SETTLE = 0.25
# Time after the start to be fitted well, s; probability that noise fails it; errors that do not
# matter.
EARLY, SIGNIFICANCE, PRACTICAL_FRACTION = 0.05, 0.005, 0.002
# A ramp's own dead time differs by these standard deviations, and this time, s.
OTHER_SIGMAS, OTHER_TIME = 5.0, 0.02
# Fast tests have dead times of their own beyond this many deviations of a reading.
DIFFERENT_ROWS = 5.0
# Longest start, s, that is left out without a note: the filter's.
SHORT = 0.03


@dataclass(frozen=True)
class VoltageMotion:
    """Motion of a side or an axis in one test.

    Attributes:
        segments: Segments; their samples count from the first motion on.
        fast: Whether the voltage is a step; otherwise it is a ramp.
        log: Name of the file; empty if there is only one.
        since: Time from the voltage's step, if it is one, to the first motion, s.
        slope: Mean change of the voltage's size, V/s.
        own: Group of a friction of its own; None: it has the friction ks.
    """

    segments: tuple[AxisSegment, ...]
    fast: bool
    log: str
    since: float = 0.0
    slope: float = 0.0
    own: int | None = None

    def after(self, cut: float) -> tuple[AxisSegment, ...]:
        """Return the segments without the first `cut` s of the motion; empty if nothing is left."""
        cut = cut if self.fast else max(cut, SETTLE)
        first, *later = self.segments
        counts = first.counts.copy()
        begin = int(np.argmax(counts))
        counts[: begin + round(cut / first.period)] = False
        kept = (
            [replace(first, fresh=counts)] if np.count_nonzero(counts) >= LEAST_SAMPLES // 2 else []
        )
        return (*kept, *later)


Motions = Mapping[str, VoltageMotion]
"""Motions by the test's name."""


@dataclass(frozen=True)
class VoltageAnalysis:
    """Result of one side or axis, with motions without their starts and predictions, by test."""

    verdict: AnalysisVerdict
    fit: VoltageGains | None = None
    motions: Mapping[str, tuple[AxisSegment, ...]] = field(default_factory=dict)
    predictions: Mapping[str, Prediction] = field(default_factory=dict)


def analyse_voltages(
    logs: Sequence[SysIdLog], subjects: Sequence[str] = SUBJECTS
) -> list[VoltageAnalysis]:
    """Analyse sides and axes (some of SUBJECTS) from logs of one robot, linear, angular, or both.

    Raises:
        RecordingError: The logs have different units.
    """
    if len({log.unit for log in logs}) > 1:
        units = ", ".join(f"{log.name}: {log.unit}" for log in logs)
        raise RecordingError(
            f"logs have positions of different units ({units}): export all in one unit"
        )
    tests = tests_of(logs)
    sign = yaw_sign(tests.values())
    unit = logs[0].unit
    results = {subject: _analyse(subject, tests, sign, unit) for subject in subjects}
    if YAW in results:
        results[YAW] = _with_track(results[YAW], tests.values(), sign, unit)
    return list(results.values())


def tests_of(logs: Sequence[SysIdLog]) -> dict[str, SysIdTest]:
    """Return the tests by name; with several logs, by test and file name."""
    if len(logs) == 1:
        return dict(logs[0].tests)
    names = [log.name for log in logs]
    return {
        f"{name} of {log.name}" + (f" ({i + 1})" if names.count(log.name) > 1 else ""): test
        for i, log in enumerate(logs)
        for name, test in log.tests.items()
    }


def _analyse(
    subject: str, tests: Mapping[str, SysIdTest], sign: float, length: str
) -> VoltageAnalysis:
    motions = motions_of(tests, subject, sign)
    unit = "rad/s" if subject == YAW else f"{length}/s"
    unknown = AnalysisVerdict(subject, AnalysisOutcome.NOT_EXCITED, error_unit=unit)
    if len(motions) < 2:
        why = f"{len(motions)} tests in which it moves by its own voltage: must be at least 2; " + (
            "run the angular tests" if subject == YAW else "run the linear tests"
        )
        return VoltageAnalysis(replace(unknown, reason=why))
    delay = _seen_delay(tests, motions, subject, sign)
    try:
        motions, start = _with_own_friction(motions, delay)
        delay = delay.from_rest(_from_rest(motions, start, delay))
        fit = _fitted(start.motions.values(), delay)
    except ValueError as error:
        return VoltageAnalysis(replace(unknown, reason=str(error)))
    predictions = _predictions(start, fit, delay)
    verdict = _verdict(subject, unit, start, fit, delay, predictions)
    segments = {name: motion.segments for name, motion in start.motions.items()}
    return VoltageAnalysis(verdict, fit, segments, predictions)


def _with_own_friction(motions: Motions, delay: SysIdDelay) -> tuple[Motions, _Start]:
    """Return the motions, with frictions of their own for ramps that need one, and their start."""
    start = _after_the_start(motions, delay)
    ramps = [name for name, motion in motions.items() if not motion.fast and motion.slope > 0.0]
    # The ramps of several logs may differ by the load.
    several = len({motion.log for motion in motions.values()}) > 1
    if several or not ramps or len(ramps) == len(motions):
        return motions, start
    free = {
        name: replace(motion, own=ramps.index(name) if name in ramps else None)
        for name, motion in motions.items()
    }
    own_start = _after_the_start(free, delay)
    if set(own_start.motions) != set(free):
        return motions, start
    fit = _fitted(own_start.motions.values(), delay)
    late = fit.own_friction[:, 0] / [motions[name].slope for name in ramps]
    spread = fit.own_friction[:, 1] / [motions[name].slope for name in ramps]
    # How exactly a dead time is seen, even if those of the fast tests differ.
    row = ROWS * motions[ramps[0]].segments[0].period
    seen, differ = min(delay.std, row), delay.std > DIFFERENT_ROWS * row
    wrong = np.abs(late) > np.maximum(OTHER_SIGMAS * np.hypot(spread, seen), OTHER_TIME)
    return (free, own_start) if differ or wrong.any() else (motions, start)


@dataclass(frozen=True)
class _Start:
    """The starts of motions left out, s, and the fit right after them; NaN: no fast test."""

    cut: float
    motions: Motions
    misfit: float
    limit: float

    @property
    def passes(self) -> bool:
        return not self.misfit > self.limit


def _after_the_start(motions: Motions, delay: SysIdDelay) -> _Start:
    """Find the shortest start after which fast tests follow the model, and add a margin."""
    noise = _late_errors(motions, delay)
    tried: list[_Start] = []
    for cut in CUTS:
        try:
            start = _started(motions, cut, delay, noise)
        except ValueError:
            if not tried:
                raise
            break
        # The end of a jump fades out.
        if tried and start.passes and tried[-1].passes:
            return start
        tried.append(start)
    return min(tried, key=lambda start: (start.misfit, start.cut))


@dataclass(frozen=True)
class _Noise:
    power: float
    free: float = 0.0
    fraction: float = 1.0
    fit: VoltageGains | None = None


def _late_errors(motions: Motions, delay: SysIdDelay) -> _Noise:
    for cut in reversed(CUTS):
        left = _left(motions, cut)
        fast = [motion.segments[0] for motion in left.values() if motion.fast]
        if not fast or len(fast) < sum(motion.fast for motion in motions.values()):
            continue
        try:
            fit = _fitted(left.values(), delay, quick=True)
        except ValueError:
            continue
        errors = [(s.velocity - fit.simulate(s))[s.counts] for s in fast]
        largest = max(float(np.abs(s.velocity).max()) for s in fast)
        count, squares = sum(map(len, errors)), sum(float(e @ e) for e in errors)
        # Neighbouring errors are correlated, which leaves fewer independent ones.
        alike = sum(float(e[1:] @ e[:-1]) for e in errors) / squares if squares > 0.0 else 0.0
        fraction = (1.0 - max(alike, 0.0)) / (1.0 + max(alike, 0.0))
        power = squares / count + (PRACTICAL_FRACTION * largest) ** 2
        return _Noise(power, max(fraction * count, 2.0), fraction, fit)
    return _Noise(math.nan)


def _left(motions: Motions, cut: float) -> Motions:
    return {
        name: replace(motion, segments=part)
        for name, motion in motions.items()
        if (part := motion.after(cut))
    }


def _started(motions: Motions, cut: float, delay: SysIdDelay, noise: _Noise) -> _Start:
    left = _left(motions, cut)
    fit = _fitted(left.values(), delay, quick=True, near=noise.fit)
    early = []
    for first in (motion.segments[0] for motion in left.values() if motion.fast):
        error = (first.velocity - fit.simulate(first))[first.counts]
        early.append(error[: max(round(EARLY / first.period), 3)])
    misfit, limit = math.nan, math.inf
    if early and math.isfinite(noise.power):
        errors = np.concatenate(early)
        misfit = math.sqrt(float(np.mean(errors**2)) / noise.power)
        free = max(noise.fraction * len(errors), 1.0)
        limit = math.sqrt(float(scipy.special.fdtri(free, noise.free, 1.0 - SIGNIFICANCE)))
    return _Start(cut, left, misfit, limit)


def _fitted(
    motions: Iterable[VoltageMotion],
    delay: SysIdDelay,
    quick: bool = False,
    near: VoltageGains | None = None,
) -> VoltageGains:
    pairs = [(segment, motion.own) for motion in motions for segment in motion.segments]
    segments, own = [segment for segment, _ in pairs], [group for _, group in pairs]
    tau = None if near is None else near.ka / near.kv
    return fit_voltage_gains(segments, delay.total, 0.0 if quick else delay.std, tau, own)


def _predictions(start: _Start, whole: VoltageGains, delay: SysIdDelay) -> dict[str, Prediction]:
    """Predict each test by a fit to all others, if these include one of its kind (slow, fast)."""
    results = {}
    for name, motion in start.motions.items():
        # What is predicted keeps a friction of its own, which no other test tells.
        others = [other for each, other in start.motions.items() if each != name]
        if motion.own is not None:
            continue
        if not any(other.fast == motion.fast for other in others):
            continue
        try:
            fit = _fitted(others, delay, quick=True, near=whole)
        except ValueError:
            continue
        results[name] = _simulated(motion, fit)
    return results


def _seen_delay(
    tests: Mapping[str, SysIdTest], motions: Motions, subject: str, sign: float
) -> SysIdDelay:
    seen: list[float | None] = []
    filters: list[float | None] = []
    period = 0.0
    for name, motion in motions.items():
        if motion.fast:
            period = motion.segments[0].period
            voltage, velocity, position = _signals(tests[name], subject, sign)
            seen.append(seen_dead_time(voltage, velocity, period))
            filters.append(filter_delay(velocity, position, period))
    dead_time = dead_time_of([each for each in seen if each is not None], period)
    return SysIdDelay.seen(dead_time, [each for each in filters if each is not None])


def _from_rest(motions: Motions, start: _Start, delay: SysIdDelay) -> list[float]:
    fit = _fitted(start.motions.values(), delay, quick=True)
    results = []
    for name, motion in start.motions.items():
        first = motion.segments[0]
        if motion.fast:
            left_out = np.argmax(first.counts) - np.argmax(motions[name].segments[0].counts)
            since = motion.since + first.period * float(left_out)
            if (late := delay_from_rest(first, since, fit)) is not None:
                results.append(late)
    return results


def _verdict(
    subject: str,
    unit: str,
    start: _Start,
    fit: VoltageGains,
    delay: SysIdDelay,
    predictions: Mapping[str, Prediction],
) -> AnalysisVerdict:
    unseen = Prediction.joined(predictions.values()) if predictions else None
    evidence = [
        Evidence(
            f"misfit right after the first {start.cut:g} s, which are left out, over that later",
            start.misfit,
            f"<= {start.limit:.2g}",
            None if math.isnan(start.misfit) else start.passes,
        )
    ]
    for name in start.motions:
        fraction = predictions[name].explained if name in predictions else math.nan
        evidence.append(
            Evidence(
                f"R^2 of {name}, predicted by the other tests",
                fraction,
                f">= {LEAST_R_SQUARED:g}",
                fraction >= LEAST_R_SQUARED if math.isfinite(fraction) else None,
            )
        )
    for name, value, std in zip(("ks", "kv", "ka"), (fit.ks, fit.kv, fit.ka), fit.std, strict=True):
        least = -2.0 * std if math.isfinite(std) else -math.inf
        evidence.append(Evidence(name, value, ">= 0", value >= least))
    values, repeats = _over_logs(_values(subject, unit, fit, delay), delay, subject, unit, start)
    fitted = Prediction.joined(_simulated(motion, fit) for motion in start.motions.values())
    return AnalysisVerdict(
        subject,
        values=values,
        r_squared_fit=fitted.r_squared,
        r_squared_held_out=math.nan if unseen is None else unseen.r_squared,
        error_held_out=math.nan if unseen is None else unseen.error,
        error_unit=unit,
        evidence=tuple(evidence),
        notes=(*_start_notes(start), *_own_notes(start, fit), *repeats),
    ).judged(
        refusal="the tests do not fit one set of gains: ",
        needed="",
        to_excite="",
        to_identify="add the fast tests",
    )


def _simulated(motion: VoltageMotion, fit: VoltageGains) -> Prediction:
    more = 0.0 if motion.own is None else float(fit.own_friction[motion.own, 0])
    return Prediction(motion.segments, tuple(fit.simulate(part, more) for part in motion.segments))


def _own_notes(start: _Start, fit: VoltageGains) -> list[str]:
    own = {name: motion for name, motion in start.motions.items() if motion.own is not None}
    if not own:
        return []
    late = [
        f"{name} {fit.own_friction[motion.own, 0] / motion.slope:+.2g} ± "
        f"{NORMAL_95 * fit.own_friction[motion.own, 1] / motion.slope:.1g} s"
        for name, motion in own.items()
    ]
    return [
        "the slow tests have dead times of their own, which differ from those of the fast tests by "
        f"{', '.join(late)}; ks is that of the fast tests"
    ]


def _start_notes(start: _Start) -> list[str]:
    if start.cut <= SHORT or math.isnan(start.misfit):
        return []
    return [
        f"the first {start.cut:g} s of each fast test are ignored: there the wheels jump through "
        "their backlash, or slip"
    ]


def _over_logs(
    values: tuple[Value, ...], delay: SysIdDelay, subject: str, unit: str, start: _Start
) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    logs = dict.fromkeys(motion.log for motion in start.motions.values())
    each = {}
    for log in logs if len(logs) > 1 else ():
        own = [motion for motion in start.motions.values() if motion.log == log]
        if {motion.fast for motion in own} == {False, True}:
            try:
                each[log] = _values(subject, unit, _fitted(own, delay), delay)
            except ValueError:
                continue
    return combined(values, each)


def _values(
    subject: str, unit: str, voltage_gains: VoltageGains, delay: SysIdDelay
) -> tuple[Value, ...]:
    per = unit.removesuffix("/s")
    ks_std, kv_std, ka_std = voltage_gains.std
    values = [
        Value("ks", voltage_gains.ks, ks_std, "V"),
        Value("kv", voltage_gains.kv, kv_std, f"V s/{per}"),
        Value("ka", voltage_gains.ka, ka_std, f"V s^2/{per}"),
        delay.dead_time,
    ]
    effort = {FORWARD: "K7", YAW: "K8"}.get(subject)
    if effort:
        values.append(
            Value(
                effort, 0.5 / voltage_gains.ka, 0.5 * ka_std / voltage_gains.ka**2, f"{per}/(V s^2)"
            )
        )
    return tuple(values)


def _with_track(
    voltage_analysis: VoltageAnalysis, tests: Iterable[SysIdTest], sign: float, length: str
) -> VoltageAnalysis:
    if voltage_analysis.fit is None:
        return voltage_analysis
    widths = []
    for test in tests:
        yaw = sign * (test.yaw - test.yaw[0])
        if np.ptp(yaw) > 1.0:
            # A regression slope about the mean: no derivative, independent of the start.
            centred = yaw - yaw.mean()
            widths.append(float(centred @ _path(test)) / float(centred @ centred))
    notes, values = voltage_analysis.verdict.notes, voltage_analysis.verdict.values
    if sign < 0.0:
        notes = (*notes, "yaw counts clockwise in this log: its sign was inverted")
    if widths:
        spread = math.inf
        if len(widths) > 1:
            # 1.96 standard deviations make a 95 % interval of Student's t.
            factor = float(scipy.special.stdtrit(len(widths) - 1, 0.975)) / NORMAL_95
            spread = factor * float(np.std(widths, ddof=1)) / math.sqrt(len(widths))
        values = (*values, Value("track width", float(np.mean(widths)), spread, length))
    return replace(
        voltage_analysis, verdict=replace(voltage_analysis.verdict, values=values, notes=notes)
    )


def yaw_sign(tests: Iterable[SysIdTest]) -> float:
    """Return 1 if yaw counts counter-clockwise (REP-103), -1 if clockwise, as of some gyros."""
    product = 0.0
    for test in tests:
        yaw, path = test.yaw - test.yaw.mean(), _path(test)
        product += float(np.ptp(test.yaw) > 0.0) * float(yaw @ (path - path.mean()))
    return -1.0 if product < 0.0 else 1.0


def _path(test: SysIdTest) -> Array:
    return test.right_position - test.left_position


def motions_of(tests: Mapping[str, SysIdTest], subject: str, sign: float) -> Motions:
    """Return the motion in each test that drives the subject; empty if none does.

    Args:
        sign: Sign of the yaw rate, see yaw_sign.
    """
    signals = {name: _signals(tests[name], subject, sign) for name in _driven(tests, subject, sign)}
    fastest = max((_largest(velocity) for _, velocity, _ in signals.values()), default=0.0)
    if not fastest > 0.0:
        return {}
    masks, hold = new_readings([velocity for _, velocity, _ in signals.values()])
    motions = {}
    for (name, (voltage, velocity, _)), mask in zip(signals.items(), masks, strict=True):
        test, fresh = tests[name], mask if hold > 0.0 else None
        pieces = _pieces(test.times, np.abs(velocity) > MOVING * fastest)
        segments = tuple(_segment(test, voltage, velocity, fresh, piece) for piece in pieces)
        if segments:
            rows = pieces[0].start - step_row(voltage)
            rise = np.abs(voltage[pieces[0].stop - 1]) - np.abs(voltage[pieces[0].start])
            motions[name] = VoltageMotion(
                segments,
                test.name.startswith("fast"),
                name.partition(" of ")[2],
                rows * segments[0].period,
                float(rise) / max(segments[0].duration, segments[0].period),
            )
    periods = [s.period for motion in motions.values() for s in motion.segments]
    period = float(np.mean(periods)) if periods else 0.0
    return {
        name: replace(motion, segments=tuple(replace(s, period=period) for s in motion.segments))
        for name, motion in motions.items()
    }


def _driven(tests: Mapping[str, SysIdTest], subject: str, sign: float) -> list[str]:
    most = max(
        max(_largest(test.left_voltage), _largest(test.right_voltage)) for test in tests.values()
    )
    # A side drives an inertia that depends on the axis: straight tests, if any.
    axis = YAW if subject == YAW else FORWARD
    driven = [
        name
        for name, test in tests.items()
        if _largest(_signals(test, axis, sign)[0]) >= DRIVEN * most > 0.0
    ]
    return driven or (list(tests) if subject in (LEFT, RIGHT) else [])


def _largest(values: Array) -> float:
    return float(np.abs(values).max(initial=0.0))


def _signals(test: SysIdTest, subject: str, sign: float) -> tuple[Array, Array, Array]:
    """Return voltage, velocity and position of a subject, shape (n,) each."""
    left = test.left_voltage, test.left_velocity, test.left_position
    right = test.right_voltage, test.right_velocity, test.right_position
    if subject in (LEFT, RIGHT):
        return left if subject == LEFT else right
    if subject == FORWARD:
        voltage, velocity, position = (0.5 * (a + b) for a, b in zip(left, right, strict=True))
        return voltage, velocity, position
    return 0.5 * (right[0] - left[0]), sign * test.yaw_rate, sign * test.yaw


def _pieces(times: Array, moving: Mask) -> list[slice]:
    lasting = np.flatnonzero(moving)
    if len(lasting) < LEAST_SAMPLES:
        return []
    still = np.flatnonzero(~moving[: lasting[len(lasting) // 2]])
    begin = int(still[-1]) + 1 if len(still) else 0
    stop = np.flatnonzero(~moving[begin:])
    end = begin + int(stop[0]) if len(stop) else len(moving)
    gaps = np.flatnonzero(np.diff(times[begin:end]) > GAP * float(np.median(np.diff(times))))
    edges = [begin, *(begin + gaps + 1).tolist(), end]
    return [
        slice(a, b) for a, b in zip(edges[:-1], edges[1:], strict=True) if b - a >= LEAST_SAMPLES
    ]


def _segment(
    test: SysIdTest, voltage: Array, velocity: Array, fresh: Mask | None, piece: slice
) -> AxisSegment:
    """Return the segment of a motion, preceded by the rows whose voltage a delay may need."""
    period = float(np.ptp(test.times[piece])) / (piece.stop - piece.start - 1)
    index = np.arange(piece.start - math.ceil(LONGEST / period), piece.stop)
    counts = index >= piece.start
    # Before its first row, a test held that row's voltage, 0.
    rows = np.maximum(index, 0)
    if fresh is not None:
        counts &= fresh[rows]
    return AxisSegment(period, voltage[rows], velocity[rows], counts)
