# SPDX-License-Identifier: Apache-2.0
"""Robots with wheels that scrub in turns: how v and the yaw rate follow the commands of both.

The driver is a PI controller of the wheels' speeds on each side, with a largest force; turning is
resisted by a friction that holds the robot until the integral part overcomes it. The model, and
how it is fitted: docs/theory/recordings.md#wheels-that-scrub.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass

import numpy as np
import scipy

from arc_odometry import REST, Velocity
from diffbot_recordings.axis_segment import AxisSegment, Prediction
from diffbot_recordings.held_out_tests import LEAST_R_SQUARED
from diffbot_recordings.samples import Array, Mask
from diffbot_recordings.segments import Segment, evenly_chosen
from diffbot_recordings.verdict import AnalysisVerdict, Evidence

SUBJECT = "yaw axis of wheels that scrub"
# Longest step of a simulation, and shortest period of samples, s.
STEP, PERIOD = 0.03, 0.02
# Length of a block, s; one in BATCHES is held out.
BATCH, BATCHES = 4.0, 3
# Motion that is fitted at most, and that is needed, s.
MOST, LEAST = 180.0, 20.0
# Speed below which a turn is one on the spot, m/s.
CREEP = 1e-3
# Evaluations of each start, and of the best one from there on.
FIRST_EVALUATIONS, EVALUATIONS = 8, 25


@dataclass(frozen=True)
class ScrubbingDrive:
    """A robot whose driver controls the speeds of both sides, and whose wheels scrub in turns.

    Attributes:
        proportional: Acceleration per missing speed, 1/s.
        integral: The same per missing way, 1/s^2.
        largest: Largest acceleration by the force of both sides, m/s^2.
        leverage: Yaw acceleration by a force over that of a point mass at the wheels' contacts.
        resistance: Yaw acceleration that friction takes off at any speed, rad/s^2.
        slowing: What it takes off in addition where the robot turns on the spot, rad/s^2.
        rolling: Acceleration that friction takes off ahead, m/s^2.
        dead_time: Of the commands, s.
        track: Effective track over track: what the wheels turn for 1 rad of the robot.
    """

    proportional: float
    integral: float
    largest: float
    leverage: float
    resistance: float
    slowing: float
    rolling: float
    dead_time: float
    track: float

    def __str__(self) -> str:
        return (
            f"the driver accelerates by {self.proportional:.3g} 1/s of the missing speed and "
            f"{self.integral:.3g} 1/s^2 of the missing way, by {self.largest:.3g} m/s^2 at most, "
            f"{self.dead_time:.2g} s late; friction takes {self.resistance:.3g} rad/s^2 off turns, "
            f"on the spot {self.resistance + self.slowing:.3g} rad/s^2; effective track "
            f"{self.track:.2f} times the track"
        )

    def simulate(
        self, commands: Array, period: float, separation: float, start: Velocity = REST
    ) -> Array:
        """Return v and omega, m/s and rad/s, shape (n, 2), one sample per command.

        Args:
            commands: v and omega, each held for a period, shape (n, 2).
            period: s.
            separation: Track of the wheels, m.
            start: Velocity at the first command.
        """
        parts = max(1, math.ceil(period / STEP))
        h, half, pull = period / parts, 0.5 * separation, self.leverage
        late_v, late_w = (self._late(column, period) for column in commands.T)
        v, w = start.v, start.omega * self.track  # of the wheels
        # The integral parts, as if the robot had driven so for long.
        sum_v = math.copysign(self.rolling, v) if v else 0.0
        sum_w = math.copysign(self._resisted(v, w), w) / pull if w else 0.0
        damp_v = 1.0 / (1.0 + h * self.proportional)
        damp_w = 1.0 / (1.0 + h * self.proportional * pull)
        result = np.empty((len(commands), 2))
        for i, (asked_v, asked_w) in enumerate(zip(late_v, late_w, strict=True)):
            result[i] = v, w
            for _ in range(parts):
                # Implicit, as the controller may be faster than a step.
                push = self.proportional * asked_v + sum_v
                next_v = _slowed((v + h * push) * damp_v, h * self.rolling * damp_v)
                push = self.proportional * asked_w + sum_w
                resisted = h * self._resisted(next_v, w)
                next_w = _slowed((w + h * pull * push) * damp_w, resisted * damp_w)
                miss_v, miss_w = asked_v - next_v, asked_w - next_w
                force = self.proportional * miss_v + sum_v
                turn = (self.proportional * miss_w + sum_w) * half
                left, right = force - turn, force + turn
                if max(abs(left), abs(right)) <= self.largest:
                    v, w = next_v, next_w
                else:
                    left, miss_left = self._limited(left, miss_v - half * miss_w)
                    right, miss_right = self._limited(right, miss_v + half * miss_w)
                    miss_v = 0.5 * (miss_left + miss_right)
                    miss_w = (miss_right - miss_left) / separation
                    v = _slowed(v + 0.5 * h * (left + right), h * self.rolling)
                    w = _slowed(w + h * pull * (right - left) / separation, resisted)
                sum_v += h * self.integral * miss_v
                sum_w += h * self.integral * miss_w
        result[:, 1] /= self.track
        return result

    def _resisted(self, v: float, w: float) -> float:
        return self.resistance + self.slowing * abs(w) / (abs(w) + abs(v) + CREEP)

    def _limited(self, force: float, miss: float) -> tuple[float, float]:
        """Return a side's force, and the missing speed that its integral part still counts."""
        if abs(force) <= self.largest:
            return force, miss
        return math.copysign(self.largest, force), 0.0 if force * miss > 0.0 else miss

    def _late(self, commands: Array, period: float) -> list[float]:
        whole, part = divmod(self.dead_time / period, 1.0)
        older = np.maximum(np.arange(len(commands)) - int(whole), 0)
        late: list[float] = (
            (1.0 - part) * commands[older] + part * commands[np.maximum(older - 1, 0)]
        ).tolist()
        return late


def _slowed(speed: float, friction: float) -> float:
    """Return a speed after a change by dry friction, which stops but does not turn round."""
    return math.copysign(max(abs(speed) - friction, 0.0), speed)


_LEAST = ScrubbingDrive(1.0, 0.02, 0.2, 0.1, 0.005, 0.002, 0.002, 0.002, 0.9)
_LARGEST = ScrubbingDrive(300.0, 3000.0, 300.0, 20.0, 300.0, 300.0, 20.0, 0.6, 12.0)
STARTS = (
    ScrubbingDrive(20.0, 20.0, 6.0, 1.0, 3.0, 0.3, 0.1, 0.1, 2.0),
    ScrubbingDrive(60.0, 100.0, 6.0, 1.0, 6.0, 0.3, 0.1, 0.1, 3.0),
    ScrubbingDrive(3.0, 3.0, 3.0, 1.0, 1.0, 0.3, 0.1, 0.1, 1.8),
)
"""Where a fit begins: stiff drivers of small robots, and a soft one of a large one."""


class ScrubbingData:
    """The motion to be fitted.

    Args:
        segments: With channels v, w, command_v and command_w, w not from the wheels.
        separation: Track of the wheels, m.
    """

    def __init__(self, segments: Sequence[Segment], separation: float) -> None:
        self._separation = separation
        self._parts: list[tuple[float, Array, Array, Array]] = []
        passed = 0.0
        for segment in segments:
            every = max(1, round(PERIOD / segment.period))
            count = len(segment.times) // every
            if count < 3:
                continue
            commands, measured = (
                segment.pair(names)[: count * every].reshape(count, every, 2).mean(axis=1)
                for names in (("command_v", "command_w"), ("v", "w"))
            )
            period = every * segment.period
            blocks = ((passed + period * np.arange(count)) / BATCH).astype(int)
            self._parts.append((period, commands, measured, blocks))
            passed += count * period
        self.duration = passed
        every_one = [part[2] for part in self._parts]
        self._spread = np.concatenate(every_one).std(axis=0) if every_one else np.zeros(2)
        # A robot that stood still, or never turned, tells nothing.
        self.excited = passed >= LEAST and bool(np.all(self._spread > 0.0))

    def simulated(self, drive: ScrubbingDrive) -> list[Array]:
        """Return v and omega of each segment, shape (n, 2)."""
        return [
            drive.simulate(commands, period, self._separation, Velocity(*measured[:3].mean(axis=0)))
            for period, commands, measured, _ in self._parts
        ]

    def fit(self, starts: Sequence[ScrubbingDrive], held_out: bool) -> ScrubbingDrive:
        """Fit, without the held-out blocks or with them."""
        blocks = np.concatenate([part[3] for part in self._parts])
        seen = np.ones(len(blocks), bool) if held_out else blocks % BATCHES != BATCHES - 1
        measured = np.concatenate([part[2] for part in self._parts])

        def errors(logarithms: Array) -> Array:
            simulated = np.concatenate(self.simulated(ScrubbingDrive(*np.exp(logarithms))))
            scaled: Array = ((simulated - measured) / self._spread)[seen].ravel()
            return scaled

        low, high = (np.log(astuple(bound)) for bound in (_LEAST, _LARGEST))

        def improved(start: Array, evaluations: int) -> scipy.optimize.OptimizeResult:
            inside = np.clip(start, low + 1e-3, high - 1e-3)
            return scipy.optimize.least_squares(
                errors, inside, bounds=(low, high), diff_step=2e-3, max_nfev=evaluations
            )

        begun = (improved(np.log(astuple(start)), FIRST_EVALUATIONS) for start in starts)
        best = min(begun, key=lambda result: float(result.cost))
        return ScrubbingDrive(*np.exp(improved(best.x, EVALUATIONS).x))

    def held_out(self, drive: ScrubbingDrive) -> Prediction:
        """Return the yaw rate of the held-out blocks, and its prediction."""
        axes, simulated = [], []
        for (period, commands, measured, blocks), predicted in zip(
            self._parts, self.simulated(drive), strict=True
        ):
            fresh: Mask = blocks % BATCHES == BATCHES - 1
            axes.append(AxisSegment(period, commands[:, 1], measured[:, 1], fresh))
            simulated.append(predicted[:, 1])
        return Prediction(tuple(axes), tuple(simulated))


def scrubbing_turns(segments: Sequence[Segment], separation: float) -> list[AnalysisVerdict]:
    """Return a verdict for each recording, which are on grounds of their own.

    Args:
        segments: Their "w" (rad/s) must not come from the wheels.
        separation: Track of the wheels, m.
    """
    runs: dict[str | None, list[Segment]] = {}
    for segment in segments:
        if {"v", "w", "command_v", "command_w"} <= {*segment.channels}:
            runs.setdefault(segment.run, []).append(segment)
    names = {run: SUBJECT if len(runs) < 2 else f"{SUBJECT}, {run}" for run in runs}
    return [_verdict(own, separation, names[run]) for run, own in runs.items()]


def _verdict(segments: Sequence[Segment], separation: float, subject: str) -> AnalysisVerdict:
    data = ScrubbingData(evenly_chosen(segments, MOST), separation)
    if not data.excited:
        text = f"too little motion: {data.duration:.0f} s (must be >= {LEAST:g} s, with turns)"
        return AnalysisVerdict(subject).not_excited(text)
    learnt = data.fit(STARTS, held_out=False)
    whole = data.fit([learnt], held_out=True)
    prediction = data.held_out(learnt)
    explained = prediction.explained
    good = explained >= LEAST_R_SQUARED
    fitted = data.held_out(whole)
    verdict = AnalysisVerdict(
        subject,
        r_squared_fit=fitted.r_squared,
        r_squared_held_out=prediction.r_squared,
        error_held_out=prediction.error,
        error_unit="rad/s",
        evidence=(
            Evidence(
                "R^2 of the yaw rate on held-out samples, noise of single readings apart",
                explained,
                f">= {LEAST_R_SQUARED:g}",
                bool(good) if math.isfinite(explained) else None,
            ),
        ),
        notes=(
            f"{whole}; these values predict together, and none has an interval of its own. The "
            "laws do not use them: they take axes of first order",
        ),
    )
    if not math.isfinite(explained):
        return verdict.not_excited("too little motion was held out; record for longer")
    if good:
        return verdict
    return verdict.refused(
        f"a driver with PI control of wheels that scrub explains {explained:.2f} of the yaw rate "
        f"on held-out parts (must be >= {LEAST_R_SQUARED:g})"
    )
