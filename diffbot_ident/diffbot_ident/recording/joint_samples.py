"""Joint samples of a stretch, as the estimators take them."""

from __future__ import annotations

import numpy as np

from arc_odometry import JointSample, WheelGeometry
from diffbot_ident.coverage import MotionScale
from diffbot_ident.recording.resample import UniformStretch

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
