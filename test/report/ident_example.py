# SPDX-License-Identifier: Apache-2.0
"""A made-up identification run, to test the report and to look at its pictures without a robot."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from diffbot_ident.estimate import Estimate, EstimateState, FrictionEstimate
from diffbot_ident.verification import Verification, VerificationState
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.run_end import IdentState, RunPhase
from diffbot_report.sample_buffer import NANOSECONDS

# K5..K8 of a robot like twil, and with a load on it; units m, 1/m, 1/(kg m), 1/(kg m^2).
TRUE = (0.08444, -3.7706, 2.6468, -16.084)
PAYLOAD = (0.05, -2.5, 1.9, -11.0)
# Viscous left, right in N m s/rad, Coulomb left, right in N m.
FRICTION = (0.0101, 0.0098, 0.0312, 0.0287)
REASON = "the robot turned too little (0.2 rad/s rms, 1 needed)"
ARENA = (3.0, 2.0)  # m
# Stamp at which the excitation begins, s.
START = 3.21


VERIFICATION = Verification(
    VerificationState.VERIFIED,
    "",
    10.0,
    1.0,
    one_step=(0.0021, 0.0113),
    one_step_nominal=(0.0034, 0.0162),
    one_step_no_model=(0.0142, 0.0871),
    horizon_error=(0.0165, 0.0742),
    horizon_nominal=(0.0553, 0.3121),
    horizon_no_model=(0.4312, 2.2104),
)


def stamp_of(time: float) -> int:
    """A time in s as a stamp in ns."""
    return round(time * NANOSECONDS)


def make_estimate(
    values: Sequence[float] = TRUE,
    variances: Sequence[float] = (1.0, 1.0, 1.0, 1.0),
    state: EstimateState = EstimateState.ESTIMATED,
    **more: Any,
) -> Estimate:
    """An estimate of which no more is known than its values, their variances and its state.

    Args:
        values: K5..K8.
        variances: of them, in their units squared.
        state: of the set and, where not told, of each parameter.
        more: further fields.
    """
    fields = {
        "covariance": tuple(map(tuple, np.diag(variances).tolist())),
        "parameter_states": (state,) * 4,
        "parameter_reasons": ("",) * 4,
        "reason": "",
        "samples": 0,
        "residual_std": (0.0, 0.0),
        **more,
    }
    return Estimate(values=tuple(values), state=state, **fields)


def example_estimate(
    time: float,
    true: Sequence[float] = TRUE,
    unknown: Sequence[int] = (),
    rng: np.random.Generator | None = None,
) -> Estimate:
    """An estimate that starts at 0, and whose spread is 10 % / sqrt(1 + 10 time).

    Args:
        time: since the excitation began, s.
        true: K5..K8 that it tends to.
        unknown: indices of parameters that are not identifiable.
        rng: source of noise; None gives none.
    """
    std = np.abs(true) * 0.1 / math.sqrt(1.0 + 10.0 * time)
    noise = np.zeros(4) if rng is None else rng.standard_normal(4)
    values = np.array(true) * (1.0 - math.exp(-time / 0.1)) + std * noise
    open_ones = [i in unknown for i in range(4)]
    return make_estimate(
        values.tolist(),
        std**2,
        samples=round(100.0 * time),
        residual_std=(0.02, 0.1),
        parameter_states=tuple(
            EstimateState.UNESTIMATED if o else EstimateState.ESTIMATED for o in open_ones
        ),
        parameter_reasons=tuple(REASON if o else "" for o in open_ones),
        warnings=("the angular residuals are not white (0.31): friction or slip is missing",),
        friction=FrictionEstimate(FRICTION, (4e-8, 4e-8, 1e-6, 1e-6)),
        coverage=tuple(min(1.0, time / (0.5 if not o else 90.0)) for o in open_ones),
        residual_correlation=(0.04, -0.31),
        delay=1.0,
    )


def example_state(
    time: float, duration: float, effort: tuple[float, float], phase: RunPhase = RunPhase.EXCITING
) -> IdentState:
    """A state of a robot that drives Lissajous curves inside ARENA.

    Args:
        time: since the excitation began, s.
        duration: of the excitation, s.
        effort: wheel torques [left, right], N m.
        phase: EXCITING or VERIFYING.
    """
    bits = 12.0 + 2.0 * math.log2(1.0 + time)
    slow = 0.31 if phase is RunPhase.EXCITING else 0.47
    return IdentState(
        stamp_of(START + time),
        phase,
        elapsed=time,
        duration=duration,
        velocity=(0.3 * math.sin(time), 2.0 * math.cos(1.3 * time)),
        effort=effort,
        position=(1.2 * math.sin(slow * time), 0.8 * math.sin(1.618 * slow * time)),
        arena=ARENA,
        information=(bits, 1.05 * bits + 0.4),
    )


def example_recording(
    duration: float = 20.0,
    truth: bool = True,
    unknown: Sequence[int] = (),
    payload_at: float = math.inf,
    seed: int = 1,
    rate: float = 100.0,
    verification: Verification | None = None,
) -> IdentRecording:
    """The recording of a whole run.

    Args:
        duration: of the excitation, s.
        truth: whether the true values are known.
        unknown: indices of parameters that are not identifiable.
        payload_at: when PAYLOAD replaces TRUE, s since the excitation began.
        seed: of the noise and of the torques.
        rate: messages per second of robot time.
        verification: what a further motion says; None: there is none.
    """
    rng = np.random.default_rng(seed)
    recording = IdentRecording()
    true = TRUE
    if truth:
        recording.true_parameters.add(0, true)
    for k in range(round(duration * rate) + 1):
        time = k / rate
        stamp = stamp_of(START + time)
        if true is TRUE and time >= payload_at:
            true = PAYLOAD
            recording.true_parameters.add(stamp, true)
        if recording.wants_state(stamp):
            effort = tuple(rng.choice([-0.3, 0.3], 2).tolist())
            recording.add_state(example_state(time, duration, effort))
        if recording.wants_estimate(stamp):
            estimate = example_estimate(time, true, unknown, rng)
            recording.add_estimate(stamp, estimate, VerificationState.VERIFIED)
    if verification is not None:
        for k in range(1, round(verification.duration * rate) + 1):
            after = duration + k / rate
            recording.add_state(example_state(after, duration, (0.0, 0.0), RunPhase.VERIFYING))
        recording.verification = verification
    # As in a real run, the newest estimate is known even where the pictures do not want it.
    last = example_estimate(duration, true, unknown, rng)
    recording.add_estimate(stamp_of(START + duration), last, VerificationState.VERIFIED)
    recording.finish()
    return recording
