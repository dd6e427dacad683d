# SPDX-License-Identifier: Apache-2.0
"""Possible readings of the paper's simulation: an ensemble over everything that it leaves open.

Table 1 is one run per excitation, on a simulated robot of which the text gives the parameters and
little else. A single estimate can only be compared with the spread of results that are consistent
with the text. A reading is one draw of everything that is open:

    sensors     "noise of up to 10 % of the maximum sensed value": the maximum of that very
                run so far, or of the run with the constant excitation; a bound of 10 % for all, or
                of 0 to 10 % for each channel; from the arm's start, or after it has settled
    averages    of 1, 2, 4 or 8 samples of 5 ms; no filter is mentioned
    arm         the printed inertia about its centre of mass or about its base
    limits      0 to 90 or -45 to 135 degrees, 3 to 12 rad/s, 30 to 120 rad/s^2, 2 to 8 Hz; a new
                motion replaces the old one within 0.1 to 0.4 s
    guesses     off by a factor of up to 1.5 to 4, the arm's base by up to 0.1 to 1 m, products of
                inertia by 0.05 to 0.5 kg m^2
    filter      R of all noise or of F's alone, with 1 or up to 100 times its standard deviation;
                Q = 0, or a random walk of the parameters by 0.01 to 1 of the prior deviations in
                0.4 s
    measure     (16) as printed, or rising with the information, as it is meant

Limits, blend and measure only affect the variable excitation.
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
    """One draw.

    Attributes:
        settings: Settings of both runs.
        prior: Initial knowledge of both runs.
        metric: Measure of the variable excitation, a name of METRICS.
    """

    settings: ExperimentSettings
    prior: ParameterPrior
    metric: str


def draw_reading(truth: Array, seed: int, settings: ExperimentSettings) -> TextReading:
    """Draw a reading from the seed.

    Args:
        truth: True parameters of the base, shape (22,).
        seed: Seed, >= 0.
        settings: Settings whose duration, period, interval and optimiser are kept.
    """
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
        # A rod's inertia about its end is four times that about its centre.
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
        constant: With the constant excitation, shape (readings, 22).
        variable: With the variable one, shape (readings, 22).
        ratios: Mean error with the variable excitation over that with the constant one, shape
            (readings,).
    """

    constant: Array
    variable: Array
    ratios: Array


def simulate_readings(
    truth: Array, seeds: Iterable[int], settings: ExperimentSettings
) -> TextReadings:
    """Simulate both of the paper's tests for a reading per seed.

    Args:
        truth: True parameters of the base, shape (22,).
        seeds: Seeds, >= 0 each.
        settings: See `draw_reading`.
    """
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
