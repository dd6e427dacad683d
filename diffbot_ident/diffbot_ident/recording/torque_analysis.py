"""K5..K8 of a torque-driven robot from stretches of a recording, verified on parts held out.

The estimator is the one that a running robot uses (make_estimator), and so is the verification. Of
each cycle of the recording the last seconds are held out: nothing is learnt from them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.recording.resample import UniformStretch
from diffbot_ident.recording.stream import Array
from diffbot_ident.torque.estimate import Estimate, State
from diffbot_ident.torque.estimators import make_estimator
from diffbot_ident.torque.integral_rows import MotionScale
from diffbot_ident.verification import HeldOutMotion, Model, Verification

# ---
# Joint samples of a stretch, as the estimators take them.

# Share of the largest motion of a stretch that counts as the size of the motion.
TYPICAL = 0.5


def joint_samples(stretch: UniformStretch) -> list[JointSample]:
    """Samples of a stretch; the torque of each is the one that acted until its stamp.

    A command is held from its sample on, so that it acted until the next one: the first sample,
    before which nothing is known, is left out.
    """
    channels = stretch.channels
    pairs = {}
    for field in ("position", "velocity"):
        left, right = (channels.get(f"{side}_{field}") for side in ("left", "right"))
        pairs[field] = None if left is None or right is None else (left[1:], right[1:])
    if "left_effort" in channels:
        effort = (channels["left_effort"][1:], channels["right_effort"][1:])
    else:
        effort = (channels["command_left"][:-1], channels["command_right"][:-1])
    times = stretch.times[1:].tolist()
    position = zip(*(side.tolist() for side in pairs["position"]), strict=True)
    velocity = pairs["velocity"] or (np.zeros(len(times)),) * 2
    return [
        JointSample(stamp, p, v, e)
        for stamp, p, v, e in zip(
            times,
            position,
            zip(*(side.tolist() for side in velocity), strict=True),
            zip(*(side.tolist() for side in effort), strict=True),
            strict=True,
        )
    ]


def motion_scale(stretch: UniformStretch, geometry: WheelGeometry) -> MotionScale:
    """The size of the motion in a stretch."""
    samples = joint_samples(stretch)
    angles = np.unwrap(np.array([sample.position for sample in samples]), axis=0)
    stamps = np.array([sample.stamp for sample in samples])
    speeds = np.gradient(angles, stamps, axis=0)
    v, omega = geometry.body_velocity(speeds[:, 0], speeds[:, 1])
    torque = np.abs([sample.effort for sample in samples]).max()
    sizes = (float(np.abs(values).max()) for values in (v, omega))
    return MotionScale(*(TYPICAL * size + 1e-9 for size in (*sizes, float(torque))))


# Time held out at a time, s: 30 predictions of 2 s; and shortest cycle of learning and holding out.
HELD_OUT, CYCLE = 5.0, 20.0
# Longest time held out in all, s: it is kept in memory.
MOST_HELD_OUT = 300.0
UNKNOWN = (math.nan, math.nan)


@dataclass(frozen=True)
class TorqueResult:
    """What a recording says of a torque-driven robot.

    Attributes:
        estimate: of K5..K8.
        verification: by the parts held out; None where nothing was learnt that could be verified.
        learnt: recording time that the estimate rests on, s.
        held_out: recording time held out, s.
        held_out_motion: one part held out, rows of [stamp in s, angles left, right in rad, torques
            left, right in N m], shape (n, 5); empty where there is none.
        geometry: of the wheels.
        nominal: model of the robot's description; None: there is none.
    """

    estimate: Estimate
    verification: Verification | None
    learnt: float
    held_out: float
    held_out_motion: Array
    geometry: WheelGeometry
    nominal: Model | None


class TorqueAnalysis:
    """Learns from stretches as they come; memory does not grow with the recording.

    Args:
        geometry: of the wheels.
        scale: of the motion; None: as the first stretch has it.
        nominal: model of the robot's description, to compare with; None: there is none.
        samples: of the recording as far as they are known; 0 where they are not.
    """

    def __init__(
        self,
        geometry: WheelGeometry,
        scale: MotionScale | None = None,
        nominal: Model | None = None,
        samples: int = 0,
    ) -> None:
        self._geometry = geometry
        self._scale = scale
        self._nominal = nominal
        self._samples = samples
        self._cycle = CYCLE
        self._estimator = None
        self._held_out = HeldOutMotion(geometry)
        self._passed = 0.0
        self._learnt = 0.0
        self._last: float | None = None
        self._holding: list[tuple[float, ...]] = []
        self._example: list[tuple[float, ...]] = []

    def add(self, stretch: UniformStretch) -> None:
        """Learn from a stretch with left and right position and effort (or command)."""
        if self._estimator is None:
            scale = self._scale or motion_scale(stretch, self._geometry)
            self._estimator = make_estimator("integral", self._geometry, scale)
            self._cycle = _cycle(self._samples * stretch.period)
        self._end_part()
        self._last = None
        for sample in joint_samples(stretch):
            step = 0.0 if self._last is None else sample.stamp - self._last
            self._passed += step
            self._last = sample.stamp
            hold = self._passed % self._cycle > self._cycle - self._held_length()
            if hold and self._held_out.duration < MOST_HELD_OUT:
                self._held_out.add(sample)
                self._holding.append((sample.stamp, *sample.position, *sample.effort))
                continue
            self._end_part()
            self._learn(sample, step)

    def _held_length(self) -> float:
        return min(HELD_OUT, 0.25 * self._cycle)

    def _end_part(self) -> None:
        """What comes now does not follow the part held out before."""
        if len(self._holding) > len(self._example):
            self._example = self._holding
        if self._holding:
            self._held_out.interrupt()
        self._holding = []

    def _learn(self, sample: JointSample, step: float) -> None:
        try:
            self._estimator.update(sample)
        except ValueError:
            # The estimator says so of every first sample after a part that was held out; it then
            # goes on from that sample.
            return
        self._learnt += step

    def result(self) -> TorqueResult:
        """What is known by now.

        Raises:
            ValueError: there was no stretch at all.
        """
        if self._estimator is None:
            raise ValueError("no stretch of the recording can be used: nothing was learnt")
        self._end_part()
        estimate = self._estimator.estimate()
        return TorqueResult(
            estimate,
            self._verify(estimate) if estimate.state is State.ESTIMATED else None,
            self._learnt,
            self._held_out.duration,
            np.reshape(np.array(self._example, dtype=float), (-1, 5)),
            self._geometry,
            self._nominal,
        )

    def _verify(self, estimate: Estimate) -> Verification:
        model = Model.of(estimate)
        # Without a description, the model is compared with itself, and no figure is shown.
        found = self._held_out.verify(model, self._nominal or model)
        if self._nominal is None:
            found = replace(found, one_step_nominal=UNKNOWN, horizon_nominal=UNKNOWN)
        if not found.decided:
            text = found.reason.replace("raise verification", "give a longer recording")
            found = replace(found, reason=text)
        return found


def _cycle(duration: float) -> float:
    """Time from one part held out to the next, s, in a recording of this duration; 0: unknown."""
    shortest = min(CYCLE, duration) if duration > 0.0 else CYCLE
    # Those held out are spread over all of a long one.
    return max(shortest, duration * HELD_OUT / MOST_HELD_OUT)
