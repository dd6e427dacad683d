# SPDX-License-Identifier: Apache-2.0
"""An ensemble over everything that the paper's simulation leaves open.

docs/theory/compliant_base.md#readings-of-the-text lists what is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from diffbot_papers.compliant_base.estimation import ParameterPrior, PublishedFilter, draw_prior
from diffbot_papers.compliant_base.experiment import equal_sensors, run
from diffbot_papers.compliant_base.model import Arm, Array, BaseParameters, SensorNoise, mean_error
from diffbot_papers.compliant_base.simulation import ArmLimits, ExperimentSettings


@dataclass(frozen=True)
class TextReading:
    """One draw; the metric, a name of METRICS, is that of the variable excitation."""

    settings: ExperimentSettings
    prior: ParameterPrior
    metric: str


def draw_reading(truth: Array, seed: int, settings: ExperimentSettings) -> TextReading:
    """Draw a reading; duration, period, interval and optimiser of the settings are kept."""
    random = np.random.default_rng([seed, 2002])

    def between(low: float, high: float) -> float:
        """Draw uniformly in the logarithm."""
        return low * float((high / low) ** random.uniform())

    fraction = (0.1, random.uniform(0.0, 0.1, (8, 3)))[random.integers(2)]
    kind = PublishedFilter(
        drift=(0.0, between(0.01, 1.0))[random.integers(2)],
        outputs_only=bool(random.integers(2)),
        caution=(1.0, between(1.0, 100.0))[random.integers(2)],
    )
    middle, half = 0.25 * math.pi, (0.25 * math.pi, 0.5 * math.pi)[random.integers(2)]
    drawn = replace(
        settings,
        noise=SensorNoise(fraction),
        settled=(0.0, 4.0)[random.integers(2)],
        window=(1, 2, 4, 8)[random.integers(4)],
        thin=4,
        arm=Arm(across=(0.02, 0.005)[random.integers(2)]),
        limits=ArmLimits(
            lowest=middle - half,
            highest=middle + half,
            speed=between(3.0, 12.0),
            acceleration=between(30.0, 120.0),
            fastest=2.0 * math.pi * between(2.0, 8.0),
        ),
        blend=between(0.1, 0.4),
        published_filter=kind,
    )
    prior = draw_prior(truth, seed, between(1.5, 4.0), between(0.1, 1.0), between(0.05, 0.5))
    metric = ("published", "published, rising")[random.integers(2)]
    if random.integers(2):
        drawn = equal_sensors(truth, drawn)
    return TextReading(drawn, prior, metric)


@dataclass(frozen=True)
class TextReadings:
    """Estimates at the end of each reading's runs.

    Attributes:
        constant, variable: By excitation, shape (readings, 22).
        ratios: Mean error, variable over constant, shape (readings,).
    """

    constant: Array
    variable: Array
    ratios: Array


def simulate_readings(
    truth: Array, seeds: Iterable[int], settings: ExperimentSettings
) -> TextReadings:
    """Simulate both of the paper's tests for a reading per seed."""
    base = BaseParameters.from_array(truth)
    constant: list[Array] = []
    variable: list[Array] = []
    for seed in seeds:
        reading = draw_reading(truth, seed, settings)
        for metric, estimates in ((None, constant), (reading.metric, variable)):
            done = run(base, reading.prior, metric, seed, reading.settings)
            estimates.append(done.estimates[-1])
    ends = np.array(constant), np.array(variable)
    errors = [mean_error(each, truth) for each in ends]
    return TextReadings(*ends, errors[1] / errors[0])
