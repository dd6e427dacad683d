#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Regression values that a refactoring must not change: store them once, compare afterwards.

    ./diffbot python benchmarks/freeze.py store|compare [--only TEXT] [--tolerance 1e-9] [--list]

Frozen are seeded runs in one process (poses, velocities and torques at selected instants, rms,
estimates with variances), every launch file in lock-step (all figures of summary.json except wall
time, and the parameter files), `identify` on the recordings of its tests, every row of `reproduce`,
and the fault table (kept or not; times if they are robot time). benchmarks/frozen/GROUP.json
contains the values and the versions of the software that produced them.

`compare` prints each value that differs by more than the tolerance, relative to the frozen one:
name, value, frozen value, relative difference. Use 1e-9 on the machine that stored them, 1e-6
across families of kernels (see `./diffbot test --kernels`). For runs marked as chaotic,
`--properties` limits the comparison across kernels to the properties. Exit status: 0 all are equal;
1 some are not, or a case is new or missing.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from freeze_cases import GROUPS, Case, cases

from diffbot_bringup.processor_kernels import own_kernels
from diffbot_report.summary import versions

FOLDER = Path(__file__).parent / "frozen"
TOLERANCE = 1e-9
# Values below this are compared absolutely, because rounding errors of zero have no relative size.
SMALLEST = 1e-12


@dataclass(frozen=True)
class Difference:
    """A value that differs from the frozen one.

    Attributes:
        case: Name of the case.
        key: Key of the value.
        value: Current value; None if missing.
        frozen: Stored value; None if missing.
        relative: Difference relative to the frozen value; infinite if not numeric.
    """

    case: str
    key: str
    value: Any
    frozen: Any
    relative: float

    def __str__(self) -> str:
        fraction = f"{self.relative:.1e}" if math.isfinite(self.relative) else "other"
        return f"{self.case}: {self.key}: {self.value!r}, frozen {self.frozen!r} ({fraction})"


def relative_difference(value: Any, frozen: Any) -> float:
    """Return the difference relative to the frozen value; infinite if they are not numbers."""
    numbers = all(isinstance(v, (int, float)) and not isinstance(v, bool) for v in (value, frozen))
    if value == frozen or (numbers and math.isnan(value) and math.isnan(frozen)):
        return 0.0
    if not numbers or not (math.isfinite(value) and math.isfinite(frozen)):
        return math.inf
    away = abs(value - frozen)
    return 0.0 if away <= SMALLEST else away / max(abs(frozen), SMALLEST)


def compare_case(
    case: Case,
    values: dict[str, Any],
    frozen: dict[str, Any],
    tolerance: float,
    properties: bool = False,
) -> list[Difference]:
    """Return the differences of a case's values from the frozen ones.

    Args:
        case: The case.
        values: Current values.
        frozen: Stored values.
        tolerance: Largest relative difference.
        properties: Whether to compare only the properties of chaotic cases.
    """
    keys = list(dict.fromkeys((*frozen, *values)))
    if properties and case.chaotic:
        keys = [key for key in keys if key in case.properties]
    differences = []
    for key in keys:
        if key not in values or key not in frozen:
            differences.append(
                Difference(case.name, key, values.get(key), frozen.get(key), math.inf)
            )
            continue
        fraction = relative_difference(values[key], frozen[key])
        if not fraction <= tolerance:
            differences.append(Difference(case.name, key, values[key], frozen[key], fraction))
    return differences


def read(group: str, folder: Path = FOLDER) -> dict[str, Any]:
    """Read the frozen content of a group: {"versions": ..., "cases": {name: {key: value}}}."""
    path = folder / f"{group}.json"
    if not path.exists():
        return {"versions": {}, "cases": {}}
    return json.loads(path.read_text(encoding="utf-8"))


def write(group: str, content: dict[str, Any], folder: Path = FOLDER) -> None:
    """Write a group, one line per value, so that a changed value changes one line."""
    folder.mkdir(exist_ok=True)
    text = json.dumps(content, indent=0, ensure_ascii=False) + "\n"
    (folder / f"{group}.json").write_text(text, encoding="utf-8")


def computed(chosen: list[Case]) -> Iterator[tuple[Case, dict[str, Any]]]:
    """Run the cases and print the time of each."""
    for case in chosen:
        begun = time.monotonic()
        with tempfile.TemporaryDirectory() as folder:
            values = case.compute(Path(folder))
        seconds = time.monotonic() - begun
        print(f"{case.group}: {case.name}: {len(values)} values, {seconds:.1f} s", flush=True)
        # A JSON round trip, as for the frozen values.
        yield case, json.loads(json.dumps(values))


def store(chosen: list[Case]) -> int:
    """Replace the frozen values of the chosen cases."""
    now = {**versions(), "kernels": str(own_kernels())}
    for case, values in computed(chosen):
        content = read(case.group)
        content["versions"] = now
        content["cases"][case.name] = values
        known = {each.name for each in cases() if each.group == case.group}
        content["cases"] = {k: v for k, v in sorted(content["cases"].items()) if k in known}
        write(case.group, content)
    return 0


def compare(chosen: list[Case], tolerance: float, properties: bool) -> int:
    """Print the differences from the frozen values; return the exit status."""
    now = {**versions(), "kernels": str(own_kernels())}
    for group in dict.fromkeys(case.group for case in chosen):
        for name, version in read(group)["versions"].items():
            if now.get(name) != version:
                print(f"{group}: frozen with {name} {version}, compared with {now.get(name)}")
    differences: list[Difference] = []
    for case, values in computed(chosen):
        frozen = read(case.group)["cases"].get(case.name)
        if frozen is None:
            differences.append(Difference(case.name, "the case", "new", None, math.inf))
            continue
        result = compare_case(case, values, frozen, tolerance, properties)
        print(
            *(f"    {each}" for each in result), sep="\n" if result else "", end="\n" * bool(result)
        )
        differences += result
    for each in {d.case for d in differences}:
        print(f"differs: {each}")
    print(f"{len(differences)} values of {len(chosen)} cases differ by more than {tolerance:g}")
    return int(bool(differences))


def main() -> int:
    """Store or compare; return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("store", "compare"))
    parser.add_argument(
        "--only", default="", metavar="TEXT", help="cases with TEXT in 'group: name'"
    )
    parser.add_argument("--group", choices=GROUPS, action="append", help="cases of these groups")
    parser.add_argument("--tolerance", type=float, default=TOLERANCE, help="relative difference")
    parser.add_argument(
        "--properties", action="store_true", help="compare only the properties of chaotic runs"
    )
    parser.add_argument("--list", action="store_true", help="list the cases and run none")
    options = parser.parse_args()
    chosen = [
        case
        for case in cases()
        if options.only in f"{case.group}: {case.name}"
        and (options.group is None or case.group in options.group)
    ]
    if not chosen:
        parser.error(f"no case has {options.only!r} in its name; see --list")
    if options.list:
        print(*(f"{c.group}: {c.name}{' (chaotic)' * c.chaotic}" for c in chosen), sep="\n")
        return 0
    if options.what == "store":
        return store(chosen)
    return compare(chosen, options.tolerance, options.properties)


if __name__ == "__main__":
    sys.exit(main())
