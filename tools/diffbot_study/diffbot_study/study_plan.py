# SPDX-License-Identifier: Apache-2.0
"""Studies: YAML files with a grid and a sample, and the points that follow; see docs/studies.md.

A point is one run: kind, seed and settings. Its key is a hash of those, so a study that was stopped
or extended runs only what is missing.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from diffbot_description.files import closest, parse_yaml, read_regular

_READY_MADE = Path(__file__).parent / "ready_made"
READY_MADE = tuple(sorted(path.stem for path in _READY_MADE.glob("*.yaml")))
"""Names of the ready-made studies."""

IDENTIFICATION, DRIVE = "identification", "drive"
RANDOM = "random"
RESULTS = {
    IDENTIFICATION: ("error_k5", "error_k6", "error_k7", "error_k8"),
    DRIVE: ("settling_time", "rms_position", "rms_heading", "rms_torque", "torque_share"),
}
"""Results of a run that figures are made of, and that may have a tolerance; errors in per cent."""


@dataclass(frozen=True)
class Setting:
    """One setting of a run.

    Attributes:
        kind: float, int or str.
        text: Meaning, with unit.
        default: None: the robot's own.
        low, high: Limits.
        names: Valid words of a text; empty: any.
        of: Kinds of study that have the setting.
    """

    kind: type
    text: str
    default: Any
    low: float = -math.inf
    high: float = math.inf
    names: tuple[str, ...] = ()
    of: tuple[str, ...] = (IDENTIFICATION, DRIVE)

    def checked(self, name: str, value: Any) -> Any:
        """Return the value if it is valid; the text of the ValueError names the valid ones."""
        if self.kind is str:
            if not isinstance(value, str) or (self.names and value not in self.names):
                raise ValueError(f"{name} = {value!r}: must be one of {', '.join(self.names)}")
            return value
        whole = isinstance(value, int) and not isinstance(value, bool)
        if not whole and not (self.kind is float and isinstance(value, float)):
            raise ValueError(f"{name} = {value!r}: must be a {self.kind.__name__}: {self.text}")
        if not self.low <= value <= self.high:
            raise ValueError(
                f"{name} = {value}: must be from {self.low:g} to {self.high:g}: {self.text}"
            )
        return self.kind(value)


_ONE = (IDENTIFICATION,)
_DRIVEN = (DRIVE,)
SETTINGS: dict[str, Setting] = {
    "seconds": Setting(float, "robot time of the run, s", 30.0, 0.5, 3600.0),
    "encoder_counts": Setting(int, "counts per wheel revolution; 0: exact", None, 0, 2**31 - 1),
    "torque_noise": Setting(
        float, "standard deviation of the acting torque, as a share of it", 0.02, 0.0, 1.0
    ),
    "torque_delay": Setting(int, "delay of the torque, control periods", 0, 0, 100),
    "payload": Setting(
        float, "mass added at the body's centre of mass, as a share of the body's mass",
        0.0, 0.0, 5.0,
    ),
    "friction": Setting(float, "factor on the robot's viscous and Coulomb friction",
                        1.0, 0.0, 10.0),
    "speed": Setting(float, "factor on the excitation's speed limits", 1.0, 0.05, 1.5, of=_ONE),
    "excitation": Setting(
        str, "excitation of the identification", "prbs",
        names=("prbs", "multisine", "optimised"), of=_ONE,
    ),
    "estimator": Setting(
        str, "estimator of the identification", "integral",
        names=("integral", "rls"), of=_ONE,
    ),
    "path": Setting(
        str, "path to drive", "figure_eight", names=("figure_eight", "parking"), of=_DRIVEN
    ),
    "gain": Setting(float, "factor on the tuned gamma1 and gamma2", 1.0, 0.05, 20.0, of=_DRIVEN),
    "known_friction": Setting(
        float, "friction that the law assumes, as a factor on the true one",
        1.0, 0.0, 3.0, of=_DRIVEN,
    ),
    "known_inputs": Setting(
        float, "K7 and K8 that the law assumes, as a factor on the true ones",
        1.0, 0.1, 10.0, of=_DRIVEN,
    ),
    "known_couplings": Setting(
        float, "K5 and K6 that the law assumes, as a factor on the true ones",
        1.0, -10.0, 10.0, of=_DRIVEN,
    ),
}  # fmt: skip
DEFAULTS: dict[str, dict[str, Any]] = {
    kind: {
        name: setting.default
        for name, setting in SETTINGS.items()
        if kind in setting.of and setting.default is not None
    }
    for kind in (IDENTIFICATION, DRIVE)
}
DEFAULTS[DRIVE]["seconds"] = 20.0
_KEYS = (
    "name", "description", "kind", "robot", "repeats", "first_seed", "grid", "sample", "fixed",
    "tolerance",
)  # fmt: skip


@dataclass(frozen=True)
class Point:
    """One run of a study: IDENTIFICATION or DRIVE, of RANDOM or a robot's name or file.

    `seed` is that of robot, noise, phases and start; encoder_counts is left out of the settings for
    the robot's own.
    """

    kind: str
    robot: str
    seed: int
    settings: Mapping[str, Any]

    @property
    def key(self) -> str:
        """Hash that is equal only for the same run."""
        text = json.dumps([self.kind, self.robot, self.seed, dict(sorted(self.settings.items()))])
        return hashlib.sha256(text.encode()).hexdigest()[:24]


@dataclass(frozen=True)
class Study:
    """A study, as described by its file; docs/studies.md explains the keys.

    `robots`: RANDOM, or names or files; several form an axis of the grid.
    """

    name: str
    kind: str
    robots: tuple[str, ...] = (RANDOM,)
    repeats: int = 10
    first_seed: int = 0
    grid: Mapping[str, tuple[Any, ...]] = field(default_factory=dict)
    sample: Mapping[str, tuple[Any, Any]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    tolerance: Mapping[str, float] = field(default_factory=dict)
    description: str = ""

    @property
    def axes(self) -> tuple[str, ...]:
        """Names of the grid's axes, including the robot if there are several."""
        return (*(("robot",) if len(self.robots) > 1 else ()), *self.grid)

    def points(self) -> list[Point]:
        """Return all runs, cell by cell."""
        results = []
        for robot, *values in product(self.robots, *self.grid.values()):
            cell = dict(zip(self.grid, values, strict=True))
            for seed in range(self.first_seed, self.first_seed + self.repeats):
                settings = {**DEFAULTS[self.kind], **self.fixed, **cell, **self._drawn(seed)}
                results.append(Point(self.kind, robot, seed, settings))
        return results

    def _drawn(self, seed: int) -> dict[str, Any]:
        """Draw the sample of a seed: the same in every cell, so that cells can be compared."""
        generator = np.random.default_rng([seed, 77])
        drawn: dict[str, Any] = {}
        for name, (low, high) in sorted(self.sample.items()):
            if SETTINGS[name].kind is int:
                drawn[name] = int(generator.integers(low, high + 1))
            else:
                drawn[name] = float(generator.uniform(low, high))
        return drawn


def study_file(given: str) -> Path:
    """Return the file of a ready-made study, by its name, or of a user's; a ValueError names both.

    Example:
        >>> study_file("encoders").name
        'encoders.yaml'
    """
    if given in READY_MADE:
        return _READY_MADE / f"{given}.yaml"
    if not Path(given).exists():
        raise ValueError(f"{given}: no such file, nor a study of {', '.join(READY_MADE)}")
    return Path(given)


def load_study(path: Path) -> Study:
    """Load a study from a file; the ValueError names field, value, valid values and remedy."""
    try:
        return study_from(parse_yaml(read_regular(path)), path.stem)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def study_from(data: Any, name: str) -> Study:
    """Return the study that the content of a file describes; errors as in load_study."""
    if not isinstance(data, dict):
        example = study_file("encoders")
        raise ValueError(f"must be a mapping of names to values, not {data!r}; copy {example}")
    _check_names(data, _KEYS, "")
    kind = data.get("kind")
    if kind not in DEFAULTS:
        raise ValueError(f"kind = {kind!r}: must be one of {', '.join(DEFAULTS)}")
    robots = data.get("robot", RANDOM)
    robots = (robots,) if isinstance(robots, str) else tuple(robots or ())
    if not robots or not all(isinstance(robot, str) for robot in robots):
        raise ValueError(
            f"robot = {data.get('robot')!r}: must be random, a name or file, or a list"
        )
    sections = {part: _section(data, part) for part in ("grid", "sample", "fixed", "tolerance")}
    names = [key for key, setting in SETTINGS.items() if kind in setting.of]
    for part in ("grid", "sample", "fixed"):
        _check_names(sections[part], names, f"{part}.")
    _check_names(sections["tolerance"], RESULTS[kind], "tolerance.")
    twice = [key for key in sections["sample"] if key in sections["grid"]]
    if twice:
        raise ValueError(f"{', '.join(twice)}: both in grid and in sample; give one")
    return Study(
        name=str(data.get("name", name)),
        kind=kind,
        robots=robots,
        repeats=_whole(data, "repeats", 10, 1),
        first_seed=_whole(data, "first_seed", 0, 0),
        grid={key: _values(key, value) for key, value in sections["grid"].items()},
        sample={key: _range(key, value) for key, value in sections["sample"].items()},
        fixed={
            key: SETTINGS[key].checked(f"fixed.{key}", value)
            for key, value in sections["fixed"].items()
        },
        tolerance={key: _number(key, value) for key, value in sections["tolerance"].items()},
        description=str(data.get("description", "")),
    )


def _section(data: Mapping[str, Any], part: str) -> dict[str, Any]:
    section = data.get(part) or {}
    if not isinstance(section, dict):
        raise ValueError(f"{part} = {section!r}: must be a mapping of names to values")
    return section


def _check_names(section: Mapping[str, Any], names: Any, where: str) -> None:
    for key in section:
        if key not in names:
            near = closest(str(key), names)
            advice = f"did you mean {where}{near}? " if near else ""
            raise ValueError(f"{where}{key}: unknown; {advice}known are {', '.join(names)}")


def _whole(data: Mapping[str, Any], key: str, default: int, least: int) -> int:
    value = data.get(key, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise ValueError(f"{key} = {value!r}: must be a whole number >= {least}")
    return value


def _values(key: str, values: Any) -> tuple[Any, ...]:
    if not isinstance(values, list) or not values:
        raise ValueError(f"grid.{key} = {values!r}: must be a list of one or more values")
    return tuple(SETTINGS[key].checked(f"grid.{key}", value) for value in values)


def _range(key: str, values: Any) -> tuple[Any, Any]:
    setting = SETTINGS[key]
    if setting.kind is str or not isinstance(values, list) or len(values) != 2:
        raise ValueError(f"sample.{key} = {values!r}: must be a number's [lowest, highest]")
    low, high = (setting.checked(f"sample.{key}", value) for value in values)
    if low > high:
        raise ValueError(f"sample.{key} = {values}: the first must be <= the second")
    return low, high


def _number(key: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"tolerance.{key} = {value!r}: must be a number")
    return float(value)
