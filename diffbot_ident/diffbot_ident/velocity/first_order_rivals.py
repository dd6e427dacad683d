"""Would another model than the first-order one explain what it leaves over?

Each rival adds to the first-order response v_1, for small changes, a linear combination of

    richer linear dynamics    past commands, u(t - i tau / 3)
    direction                 response to |u|; response of tau times sign(v)
    speed                     response to u |u|; response of tau times |v|
    braking                   response of tau times sign(v (u - v / gain))
    offset                    response to 1

Coefficients are fitted on some samples and judged on others, which gives the share of the held-out
error that the rival takes away: about 0 where the model is right, 1 where the rival is.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from diffbot_ident.velocity.dead_time import DeadTimeFit, power_law
from diffbot_ident.velocity.stretch import Stretch

Array = NDArray[np.float64]

# Past commands of the richest linear dynamics, three of them in a time constant.
LAGS = 12
# Ridge on the coefficients, as a share of each column's power.
RIDGE = 1e-6


def rival_columns(stretch: Stretch, fit: DeadTimeFit) -> dict[str, Array]:
    """Responses that each rival adds, shape (n, columns) each."""
    period, model = stretch.period, fit.fit.model
    tau, gain = model.time_constant, model.gain
    late = round(fit.dead_time / period)
    command = power_law(np.asarray(stretch.command, float), fit.exponent)
    u = _delayed(command, late)
    v = fit.simulate(stretch)
    a = math.exp(-period / tau)

    def response(drive: Array) -> Array:
        return lfilter((0.0, 1.0 - a), (1.0, -a), drive)

    size = max(float(np.abs(u).max()), 1e-300)
    speed = max(float(np.abs(v).max()), 1e-300)
    # What a longer time constant changes: d v / dt / (1 / tau), held back by the axis itself.
    slower = v - gain * u
    step = max(1, round(tau / 3.0 / period))
    lags = [_delayed(u, i * step) for i in range(LAGS)]
    return {
        "richer linear dynamics": np.column_stack([*lags, response(u)]),
        "direction": np.column_stack((response(np.abs(u)), response(slower * np.sign(v)))),
        "speed": np.column_stack(
            (response(u * np.abs(u)) / size, response(slower * np.abs(v)) / speed)
        ),
        "braking": response(slower * np.sign(v * -slower))[:, None],
        "offset": response(np.ones_like(u))[:, None],
    }


def shares(
    stretches: Sequence[Stretch],
    fits: Sequence[DeadTimeFit],
    seen: Sequence[Sequence[NDArray[np.bool_]]],
    held: Sequence[Sequence[NDArray[np.bool_]]],
) -> dict[str, float]:
    """Share of the held-out error that each rival takes away; negative: it only adds.

    Args:
        stretches: m of them.
        fits: one for each fold.
        seen: for each fit and stretch, the samples that the fit rests on, shape (n,).
        held: and those that are new to it.
    """
    left: dict[str, float] = {}
    error = 0.0
    for fit, masks, others in zip(fits, seen, held, strict=True):
        columns = [rival_columns(stretch, fit) for stretch in stretches]
        residuals = [np.asarray(s.velocity, float) - fit.simulate(s) for s in stretches]
        r_fit, r_held = (_chosen(residuals, chosen) for chosen in (masks, others))
        error += float(r_held @ r_held)
        for name in columns[0]:
            parts = [entry[name] for entry in columns]
            x_fit, x_held = (_chosen(parts, chosen) for chosen in (masks, others))
            scale = np.linalg.norm(x_fit, axis=0)
            scale[scale == 0.0] = 1.0
            x = x_fit / scale
            c = np.linalg.solve(x.T @ x + RIDGE * np.eye(x.shape[1]), x.T @ r_fit) / scale
            left[name] = left.get(name, 0.0) + float(np.sum((r_held - x_held @ c) ** 2))
    return {name: 1.0 - value / error if error > 0.0 else 0.0 for name, value in left.items()}


def _delayed(values: Array, samples: int) -> Array:
    return values[np.maximum(np.arange(len(values)) - samples, 0)]


def _chosen(parts: Sequence[Array], masks: Sequence[NDArray[np.bool_]]) -> Array:
    return np.concatenate([part[mask] for part, mask in zip(parts, masks, strict=True)])
