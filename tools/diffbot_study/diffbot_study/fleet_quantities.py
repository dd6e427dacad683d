# SPDX-License-Identifier: Apache-2.0
"""Quantities by which the robots of a type are compared: logarithms, or fractions of medians.

Torque recordings are compared by TORQUE, all others by values of their verdicts in COMPARED.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from arc_odometry.number_range import Array as Array
from diffbot_study.parquet_store import Row

TORQUE = (
    "log_k7", "log_k8", "k5", "k6", "coulomb_left", "coulomb_right", "log_residual",
    "torque_difference",
)  # fmt: skip
"""Quantities of torque recordings: logs of K7, |K8| and the residuals of v'; K5, K6 and Coulomb
friction relative to the type's medians; and how much larger the effect of a reported torque is at
the right wheel, as a fraction of both."""
GYRO = ("gyro_scale", "radius_difference")
"""Columns of recordings with a gyro that `identify` used: yaw rate by the gyro over that by the
wheels; right radius minus left one in excess of the file's, as a fraction of it."""
WITH_GYRO = (*TORQUE, "log_gyro_scale", "radius_difference")
"""Quantities of torque recordings with a gyro; K5 and |K8| refer to the gyro's yaw rate."""
COMPARED = {
    "motor": ("R", "Ke", "inertia", "viscous friction", "Coulomb friction"),
    "side": ("ks", "kv", "ka", "dead time"),
    "axis": ("ks", "kv", "ka", "time constant", "gain", "dead time"),
}
"""Names of values by the last word of the subject ("left motor", "right side", "yaw axis")."""
POSITIVE = {"R", "Ke", "inertia", "kv", "ka", "time constant", "gain"}
LOG = "log_"
"""Prefix of the names of logarithms."""
# Fraction of recordings that must contain a value, and its maximum relative standard deviation.
MOST, REPORTED = 0.8, 0.5
# Medians below this, in SI units, are not used as a scale.
SMALLEST = 1e-9


def choose_quantities(rows: Sequence[Row]) -> Quantities | None:
    """Return the quantities to compare a type's rows by; None if they have none in common."""
    torque = [row for row in rows if TorqueQuantities.tells(row)]
    if torque and 2 * len(torque) >= len(rows):
        return TorqueQuantities(torque)
    reported = [values for row in rows if (values := _values(row))]
    counts = Counter(name for values in reported for name in values)
    names = sorted((name for name, n in counts.items() if n >= MOST * len(reported)), key=_place)
    value_quantities = ValueQuantities(
        [values for values in reported if {*names} <= {*values}], names
    )
    if value_quantities.names:
        return value_quantities
    return TorqueQuantities(torque) if torque else None


class TorqueQuantities:
    """TORQUE or, if most rows have a gyro, WITH_GYRO of rows with K5..K8; their K's differ.

    Attributes:
        names: Names of the quantities; those of logarithms begin with "log_".
        scale: Scale of the non-logarithmic quantities: the type's signed medians, in their units.
    """

    def __init__(self, rows: Sequence[Row]) -> None:
        self._gyro = 2 * sum(_has_gyro(row) for row in rows) > len(rows)
        rows = [row for row in rows if _has_gyro(row) == self._gyro]
        self.names = WITH_GYRO if self._gyro else TORQUE
        medians = {
            name: float(np.median([_number(row[name]) for row in rows]))
            for name in ("k5", "k6", "coulomb_left", "coulomb_right")
        }
        friction = max(abs(medians["coulomb_left"]), abs(medians["coulomb_right"]), SMALLEST)
        medians |= {"coulomb_left": friction, "coulomb_right": friction}
        self.scale: Mapping[str, float] = {
            name: size if abs(size) > SMALLEST else SMALLEST for name, size in medians.items()
        }

    @staticmethod
    def tells(row: Row) -> bool:
        """Whether a row has K7 > 0 > K8 with standard deviations."""
        names = ("k7", "std_k7", "k8", "std_k8")
        known = all(row.get(name) is not None for name in names)
        return known and row["k7"] > 0.0 > row["k8"]

    def is_reported(self, row: Row) -> bool:
        """Whether a row contains all of the quantities."""
        return self.tells(row) and _has_gyro(row) == self._gyro

    def of(self, rows: Sequence[Row]) -> tuple[Array, Array]:
        """Return values and standard deviations of rows with them, (rows, quantities) each."""
        values, own = [], []
        for row in rows:
            values.append(
                [
                    math.log(row["k7"]),
                    math.log(-row["k8"]),
                    *(_number(row[name]) / size for name, size in self.scale.items()),
                    math.log(max(_number(row["residual_v"]), 1e-12)),
                    _number(row.get("torque_difference")),
                ]
            )
            if self._gyro:
                values[-1] += math.log(row["gyro_scale"]), row["radius_difference"]
            own.append(
                [
                    _number(row["std_k7"]) / row["k7"],
                    _number(row["std_k8"]) / -row["k8"],
                    *(_number(row[f"std_{n}"]) / abs(size) for n, size in self.scale.items()),
                    0.0,
                    _number(row.get("std_torque_difference")),
                ]
            )
            if self._gyro:
                own[-1] += (
                    row["std_gyro_scale"] / row["gyro_scale"],
                    row["std_radius_difference"],
                )
        return np.array(values), np.array(own)


@dataclass(frozen=True)
class Reported:
    """A value of a verdict, with its standard deviation and its unit."""

    value: float
    std: float
    unit: str


class ValueQuantities:
    """Values of verdicts: logarithms of positive ones, others as fractions of the median.

    Names without a usable median are left out; see TorqueQuantities.
    """

    def __init__(self, rows: Sequence[Mapping[str, Reported]], names: Sequence[str]) -> None:
        scale: dict[str, float] = {}
        for name in names:
            size = float(np.median([row[name].value for row in rows])) if rows else 0.0
            std = float(np.median([row[name].std for row in rows])) if rows else math.inf
            if abs(size) > SMALLEST and std <= REPORTED * abs(size):
                scale[name] = size
        self._sizes = scale
        self._logs = {name for name in scale if name.partition(": ")[2] in POSITIVE}
        self.scale: Mapping[str, float] = {n: s for n, s in scale.items() if n not in self._logs}
        self.names = tuple(f"{LOG}{n}" if n in self._logs else n for n in scale)

    def is_reported(self, row: Row) -> bool:
        reported = _values(row)
        return {*self._sizes} <= {*reported} and all(
            reported[name].value > 0.0 for name in self._logs
        )

    def of(self, rows: Sequence[Row]) -> tuple[Array, Array]:
        values, own = [], []
        for row in rows:
            reported = _values(row)
            values.append(
                [
                    math.log(reported[name].value)
                    if name in self._logs
                    else reported[name].value / size
                    for name, size in self._sizes.items()
                ]
            )
            own.append(
                [
                    reported[name].std / abs(reported[name].value if name in self._logs else size)
                    for name, size in self._sizes.items()
                ]
            )
        return np.array(values), np.array(own)


Quantities = TorqueQuantities | ValueQuantities
"""Quantities by which the robots of a type are compared."""


def _values(row: Row) -> dict[str, Reported]:
    """Return the compared values, by "subject: name"; those of the axes if there are no sides."""
    if row.get("usable") not in ("all", "some") or not row.get("values"):
        return {}
    results: dict[str, Reported] = {}
    for key, (value, std, unit) in json.loads(row["values"]).items():
        subject, _, name = key.partition(": ")
        last = subject.rpartition(" ")[2]
        if name in COMPARED.get(last, ()) and value is not None and std is not None:
            results[key] = Reported(float(value), float(std), str(unit))
    sides = any(key.partition(": ")[0].endswith("side") for key in results)
    return {key: reported for key, reported in results.items() if not (sides and "axis: " in key)}


def _place(key: str) -> tuple[str, int]:
    subject, _, name = key.partition(": ")
    return subject, COMPARED[subject.rpartition(" ")[2]].index(name)


def _has_gyro(row: Row) -> bool:
    reported = all(row.get(name) is not None for each in GYRO for name in (each, f"std_{each}"))
    return reported and row["gyro_scale"] > 0.0


def _number(value: float | None) -> float:
    return 0.0 if value is None or not math.isfinite(value) else value
