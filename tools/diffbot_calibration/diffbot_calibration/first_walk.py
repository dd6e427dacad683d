# SPDX-License-Identifier: Apache-2.0
"""A first random walk and first noise levels for the fit of a drive; jumps of the pose's frame."""

from __future__ import annotations

import math

import numpy as np
from scipy.ndimage import median_filter

from diffbot_calibration.drive_model import DriveModel, rotated
from diffbot_calibration.drive_parameters import Parameters
from diffbot_calibration.noise_levels import Mask, Noise
from diffbot_recordings.sensor_readings import Array

# A frame jumped if readings step by JUMP standard deviations of a median of JUMP_SPAN.
JUMP, JUMP_SPAN = 7.0, 7


def first_walk(model: DriveModel, beta: Parameters) -> tuple[Array, Noise]:
    """Return a first walk, by running medians, and noise levels of a pose source."""
    walk = np.zeros((len(model.drive.stamps), model.sensors.size))
    residuals, odometry = model.predict(beta, walk)
    turned = np.exp(1j * residuals[:, 2])
    smooth = _median(turned.real) + 1j * _median(turned.imag)
    walk[:, 0] = np.unwrap(np.angle(smooth))
    residuals, odometry = model.predict(beta, walk)
    c = residuals[:, :2]
    # At the robot, where noise of the heading moves it little.
    local = c + rotated(walk[:, 0], odometry)
    noise = Noise(
        position=max(_white_noise_std(np.concatenate((local[:, 0], [np.nan], local[:, 1]))), 1e-4),
        yaw=max(_white_noise_std(residuals[:, 2]), 1e-4),
    )
    walk[:, 1], walk[:, 2] = _median(c[:, 0]), _median(c[:, 1])
    return walk, noise


def jumps(model: DriveModel, beta: Parameters, walk: Array, noise: Noise) -> Mask:
    """Return the lasting steps of the pose source's frame, where the walk may jump, (K - 1,)."""
    if len(model.drive.stamps) < 4 * JUMP_SPAN:
        return np.zeros(max(len(walk) - 1, 0), dtype=bool)
    anchored = np.tile(walk[len(walk) // 2], (len(walk), 1))
    a = walk[:, 0]
    anchored[:, 0] = a
    residuals, odometry = model.predict(beta, anchored)
    span = JUMP_SPAN
    steps = np.zeros(len(residuals) - 1)
    sizes = (noise.position, noise.position, noise.yaw)
    index = np.arange(span - 1, len(residuals) - span)
    offsets = np.arange(span)[:, None]
    turned = np.column_stack((residuals[:, :2], residuals[:, 2] + a))
    for column, size in enumerate(sizes):
        before = turned[index - offsets, column]
        after = turned[index + 1 + offsets, column]
        step = np.median(after, axis=0) - np.median(before, axis=0)
        step = (step + np.pi) % (2.0 * np.pi) - np.pi if column == 2 else step
        usual = 1.4826 * float(np.median(np.abs(step - np.median(step))))
        level = max(1.25 * size * math.sqrt(2.0 / span), usual)
        steps[index] = np.maximum(steps[index], np.abs(step) / level)
    result = np.zeros(len(steps), dtype=bool)
    for at in np.argsort(-steps):
        if steps[at] < JUMP:
            break
        if not result[max(0, at - 2 * span) : at + 2 * span].any():
            result[at] = True
    return result


def _median(values: Array) -> Array:
    smooth: Array = median_filter(values, size=2 * JUMP_SPAN + 1, mode="nearest")
    return smooth


def _white_noise_std(values: Array) -> float:
    second = values[1:-1] - 0.5 * (values[:-2] + values[2:])
    return 1.4826 * float(np.nanmedian(np.abs(second))) / math.sqrt(1.5)
