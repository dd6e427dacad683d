# SPDX-License-Identifier: Apache-2.0
"""Combine several recordings of one robot, and find one that disagrees with the others.

What changes from run to run shows as a spread between recordings (DerSimonian and Laird; Hartung
and Knapp): docs/theory/recordings.md#several-recordings.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy.special import chdtri, stdtrit

from diffbot_ident.torque.estimate import NORMAL_95
from diffbot_recordings.samples import Array
from diffbot_recordings.verdict import Value

# Probability that noise alone scatters recordings as much.
SIGNIFICANCE = 0.01
# Standard deviations from all others from which one recording disagrees.
OUTLIER = 3.0


def combined(
    pooled: Sequence[Value], each: Mapping[str, Sequence[Value]]
) -> tuple[tuple[Value, ...], tuple[str, ...]]:
    """Return pooled values with intervals widened by the spread between recordings, and notes.

    `each` holds the values of each recording alone, by name.
    """
    results: list[Value] = []
    # Notes by recording that disagrees, and on parameters that scatter without one.
    disagree: dict[str, list[str]] = {}
    notes: list[str] = []
    for value in pooled:
        parts = {
            name: own
            for name, values in each.items()
            for own in values
            if own.name == value.name and own.identifiable and own.std > 0.0
        }
        if len(parts) < 2 or not value.identifiable:
            results.append(value)
            continue
        widened, who, note = _over_recordings(value, parts)
        results.append(widened)
        if who is not None:
            disagree.setdefault(who, []).append(note)
        elif note:
            notes.append(note)
    named = [
        f"{who} disagrees: {'; '.join(what)}; find out what differed, or remove it"
        for who, what in disagree.items()
    ]
    return tuple(results), (*named, *notes)


def _over_recordings(pooled: Value, parts: Mapping[str, Value]) -> tuple[Value, str | None, str]:
    values = np.array([part.value for part in parts.values()])
    variances = np.array([part.std**2 for part in parts.values()])
    between = _between(values, variances)
    if between == 0.0:
        return pooled, None, ""
    weights = 1.0 / (variances + between)
    mean = float(weights @ values / weights.sum())
    count = len(values)
    squares = float(weights @ (values - mean) ** 2) / ((count - 1) * float(weights.sum()))
    factor = float(stdtrit(count - 1, 0.975)) / NORMAL_95
    # The pooled value weighs each recording by its information.
    std = max(pooled.std, math.hypot(factor * math.sqrt(squares), mean - pooled.value))
    who, note = _disagreement(pooled, parts, values, variances)
    return replace(pooled, std=std), who, note


def _between(values: Array, variances: Array) -> float:
    """Return the variance between recordings beyond noise; 0 if noise may explain all of it."""
    weights = 1.0 / variances
    mean = weights @ values / weights.sum()
    scatter = float(weights @ (values - mean) ** 2)
    free = len(values) - 1
    if scatter <= float(chdtri(free, SIGNIFICANCE)):
        return 0.0
    return (scatter - free) / float(weights.sum() - (weights @ weights) / weights.sum())


def _disagreement(
    pooled: Value, parts: Mapping[str, Value], values: Array, variances: Array
) -> tuple[str | None, str]:
    names = list(parts)
    unit = "" if pooled.unit == "1" else f" {pooled.unit}"
    if len(names) > 2:
        far = []
        for i in range(len(names)):
            rest = np.arange(len(names)) != i
            own = _between(values[rest], variances[rest])
            weights = 1.0 / (variances[rest] + own)
            mean = float(weights @ values[rest] / weights.sum())
            deviation = math.sqrt(float(variances[i]) + own + 1.0 / float(weights.sum()))
            far.append((abs(float(values[i]) - mean) / deviation, i, mean))
        most, i, mean = max(far)
        if most > OUTLIER:
            text = f"its {pooled.name} is {values[i]:.3g}{unit}, that of the others {mean:.3g}"
            return names[i], text
    listed = ", ".join(f"{name} {part.value:.3g}" for name, part in parts.items())
    return None, (
        f"{pooled.name} differs from recording to recording by more than their noise: {listed}"
        f"{unit}; the interval counts that"
    )
