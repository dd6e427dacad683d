# SPDX-License-Identifier: Apache-2.0
"""The estimators of the papers that the suite reproduces, as published: no intervals, no verdicts.

Of the five papers, Lages (2017) and Siwek et al. (2023) have estimators that take any record. Those
of Conceição et al. (2006) need steady speeds and coasting, those of Sujan and Dubowsky (2002) an
arm that shakes its base, and Lages (2018) has none.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from diffbot_bench.independent_plant import Array
from diffbot_bench.regressions import STEP
from diffbot_bench.suite_estimators import Entry, estimate
from diffbot_bench.tasks import NAMES_K, Record, even
from diffbot_description.sigma import Sigma
from diffbot_papers.adaptation_law import AdaptationGains, AdaptationLaw
from diffbot_recordings.sigma_batch_fit import VelocityRecording, fit_sigma

# The paper draws its starts between 0 and 1.
_START = Sigma(0.5, 0.5, 0.5, 0.5)


def lages_rls(record: Record) -> Mapping[str, Entry]:
    """The recursive least squares of Lages (2017): no friction."""
    values = zip(NAMES_K, estimate(record, "rls").values, strict=True)
    return {name: value for name, value in values if np.isfinite(value)}


def siwek_lm(record: Record) -> dict[str, Entry]:
    """Levenberg-Marquardt of section 3.2 of Siwek et al. (2023)."""
    command, velocity = _columns(record)
    return _entries(
        fit_sigma([VelocityRecording(STEP, command, velocity)], _START).sigma.as_array()
    )


def siwek_rls(record: Record) -> dict[str, Entry]:
    """What Siwek et al. (2023) call recursive least squares, (6) as printed."""
    return _by_law(record, AdaptationGains(rate=1.0, leak=0.01, corrected=False))


def siwek_rls_corrected(record: Record) -> dict[str, Entry]:
    """(6) of Siwek et al. (2023) with the error of the prediction, filtered, and a prior."""
    return _by_law(record, AdaptationGains())


def _columns(record: Record) -> tuple[Array, Array]:
    columns = even(record, STEP).columns
    command = np.column_stack((columns["command_v"], columns["command_omega"]))
    return command, np.column_stack((columns["v"], columns["omega"]))


def _by_law(record: Record, gains: AdaptationGains) -> dict[str, Entry]:
    command, velocity = _columns(record)
    law = AdaptationLaw(_START, gains)
    before = np.vstack((command[:1], command[:-1])).tolist()
    for k, (measured, asked) in enumerate(zip(velocity.tolist(), before, strict=True)):
        law.update(STEP * k, (measured[0], measured[1]), (asked[0], asked[1]))
    return _entries(law.values)


def _entries(sigma: Array) -> dict[str, Entry]:
    """Return lag and gain of each axis: command = s1 dv/dt + s3 v; the model has no dead time."""
    entries: dict[str, Entry] = {}
    for axis, inertia, drag in (("v", sigma[0], sigma[2]), ("omega", sigma[1], sigma[3])):
        if drag > 0.0:
            entries[f"time_constant_{axis}"] = float(inertia / drag)
            entries[f"gain_{axis}"] = float(1.0 / drag)
    return entries
