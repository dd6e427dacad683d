"""A made-up identification run, to test the report and to look at its pictures without a robot."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from diffbot_bringup.report.recording import IdentRecording
from diffbot_bringup.report.samples import EXCITING, ParameterSample, StatusSample

# K5..K8 of a robot like twil, and with a load on it; units m, 1/m, 1/(kg m), 1/(kg m^2).
TRUE = (0.08444, -3.7706, 2.6468, -16.084)
PAYLOAD = (0.05, -2.5, 1.9, -11.0)
# Stamp at which the excitation begins, s.
START = 3.21


def example_estimate(
    time: float,
    true: Sequence[float] = TRUE,
    unknown: Sequence[int] = (),
    rng: np.random.Generator | None = None,
) -> ParameterSample:
    """An estimate that starts at 0, and whose spread is 10 % / sqrt(1 + 10 time).

    Args:
        time: since the excitation began, s.
        true: K5..K8 that it tends to.
        unknown: indices of parameters whose variance is infinite.
        rng: source of noise; None gives none.
    """
    std = np.abs(true) * 0.1 / math.sqrt(1.0 + 10.0 * time)
    noise = np.zeros(4) if rng is None else rng.standard_normal(4)
    variances = std**2
    variances[list(unknown)] = math.inf
    values = np.array(true) * (1.0 - math.exp(-time / 0.1)) + std * noise
    return ParameterSample(
        START + time,
        tuple(values.tolist()),
        tuple(variances.tolist()),
        samples=round(100.0 * time),
        residual_std=(0.02, 0.1),
    )


def example_recording(
    duration: float = 20.0,
    truth: bool = True,
    unknown: Sequence[int] = (),
    payload_at: float = math.inf,
    seed: int = 1,
    rate: float = 100.0,
) -> IdentRecording:
    """The recording of a whole run.

    Args:
        duration: of the excitation, s.
        truth: whether the true values are known.
        unknown: indices of parameters whose variance is infinite.
        payload_at: when PAYLOAD replaces TRUE, s since the excitation began.
        seed: of the noise and of the torques.
        rate: messages per second of robot time.
    """
    rng = np.random.default_rng(seed)
    recording = IdentRecording()
    true = TRUE
    if truth:
        recording.add_truth(0.0, true)
    for k in range(round(duration * rate) + 1):
        time = k / rate
        stamp = START + time
        if true is TRUE and time >= payload_at:
            true = PAYLOAD
            recording.add_truth(stamp, true)
        if recording.wants_status(stamp):
            velocity = (0.3 * math.sin(time), 2.0 * math.cos(1.3 * time))
            effort = tuple(rng.choice([-0.3, 0.3], 2).tolist())
            recording.add_status(
                StatusSample(stamp, EXCITING, "", time, duration, velocity, effort)
            )
        if recording.wants_parameters(stamp):
            recording.add_parameters(example_estimate(time, true, unknown, rng))
    # As in a real run, the newest estimate is known even where the pictures do not want it.
    recording.add_parameters(example_estimate(duration, true, unknown, rng))
    recording.finish()
    return recording
