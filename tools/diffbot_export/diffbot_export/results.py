# SPDX-License-Identifier: Apache-2.0
"""Read the results of identifications and calibrations from their folders or files.

Estimates that may not be used are refused; what was not identifiable is listed in `missing`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from diffbot_controllers.parameter_reader import DynamicsFile
from diffbot_description.files import (
    CALIBRATION_FILE,
    DYNAMIC_FILE,
    SUMMARY,
    VELOCITY_FILE,
    VOLTAGE_FILE,
    parse_json,
    read_regular,
    read_section,
    read_yaml,
)
from diffbot_description.named_paths import expanded
from diffbot_description.sigma import AXES
from diffbot_export.sourced_value import SourcedValue
from diffbot_ident.estimate import (
    FRICTION_NAMES,
    FRICTION_UNITS,
    NAMES,
    TURNING_NAMES,
    TURNING_UNITS,
    UNITS,
)

MADE_BY = (
    "give a result folder of launch ident, identify, calibrate or launch siwek, or one of its "
    f"files: {DYNAMIC_FILE}, {VELOCITY_FILE}, {VOLTAGE_FILE}, {CALIBRATION_FILE}, {SUMMARY}"
)
AXIS_UNITS = ("m/s", "rad/s")
SIDES = ("left_side", "right_side")
FORWARD, YAW = "forward_axis", "yaw_axis"


@dataclass(frozen=True)
class TorqueModel:
    """A robot driven by wheel torques.

    Attributes:
        k: By "k5" to "k8"; 0 without an interval if not identifiable.
        friction: Identifiable friction, by FRICTION_NAMES.
        delay: From a torque's report to its action, s; None: unknown.
        gear_loss: Share of the torque that each gear loses, [left, right]; None: no friction.
        turning: Identifiable resistance against turning, by TURNING_NAMES.
    """

    k: Mapping[str, SourcedValue]
    friction: Mapping[str, SourcedValue]
    robot: str
    delay: float | None
    gear_loss: tuple[float, float] | None = None
    turning: Mapping[str, SourcedValue] = field(default_factory=dict)


@dataclass(frozen=True)
class VelocityAxis:
    """One axis of a robot that takes velocity commands; (3) of Siwek et al. (2023).

    Attributes:
        inertia: sigma1 or sigma2, s.
        drag: sigma3 or sigma4.
        dead_time: s.
        dead_band: m/s or rad/s; None: not identifiable.
        acceleration, deceleration: Limits of the command's change in the driver, m/s^2 or rad/s^2;
            None: it has none.
    """

    inertia: SourcedValue
    drag: SourcedValue
    dead_time: SourcedValue
    dead_band: SourcedValue | None
    acceleration: SourcedValue | None = None
    deceleration: SourcedValue | None = None


@dataclass(frozen=True)
class SourcedGains:
    """ks, kv, ka of a side or axis, V, V s/unit, V s^2/unit, and dead time, s (None: unknown)."""

    ks: SourcedValue
    kv: SourcedValue
    ka: SourcedValue
    dead_time: SourcedValue | None


@dataclass(frozen=True)
class VoltageModel:
    """A drivetrain driven by voltages.

    Attributes:
        gains: By left_side, right_side, forward_axis, yaw_axis.
        unit: Of positions, "m" or another one.
        track: In this unit; None: not identified by angular tests.
    """

    gains: Mapping[str, SourcedGains]
    unit: str
    track: SourcedValue | None


@dataclass(frozen=True)
class SourcedCalibration:
    """Result of a calibration; None: not identified.

    Attributes:
        left_radius, right_radius, track: m.
        path_noise: Variance of a wheel's path per path, m^2/m.
        gyro_walk: Angle random walk of the gyro, rad^2/s.
        multipliers: Of the driver's lengths, by the names of diff_drive_controller's, if the
            odometry was calibrated instead of the wheels.
    """

    left_radius: SourcedValue | None
    right_radius: SourcedValue | None
    track: SourcedValue | None
    path_noise: SourcedValue | None
    gyro_walk: SourcedValue | None
    multipliers: Mapping[str, SourcedValue] = field(default_factory=dict)


@dataclass
class Results:
    """All results that were read.

    Attributes:
        velocity: Identified axes, by "v" and "omega".
        lengths: "radius" and "track" given to identify instead of the description's.
        robot: Name of the robot in the files; None: not named.
        missing: What was not identified, and why.
    """

    torque: TorqueModel | None = None
    velocity: Mapping[str, VelocityAxis] = field(default_factory=dict)
    voltage: VoltageModel | None = None
    calibration: SourcedCalibration | None = None
    lengths: dict[str, SourcedValue] = field(default_factory=dict)
    robot: str | None = None
    files: list[Path] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


def read_results(paths: Sequence[str | os.PathLike[str]]) -> Results:
    """Read all results in folders and files.

    Raises:
        ValueError: A path does not exist, holds nothing to export, or holds an estimate that may
            not be used; the message names the file and what to do.
    """
    results = Results()
    for given in paths:
        path = expanded(given)
        if not path.exists():
            raise ValueError(f"{path}: there is no such file or folder; {MADE_BY}")
        for file in _files_of(path):
            before = [name for name in _KINDS if name == file.name]
            if any(read.name == name for read in results.files for name in before):
                raise ValueError(f"{file}: a second {file.name}; give the results of one robot")
            _reader_of(file)(file, results)
            if file.name in (DYNAMIC_FILE, VELOCITY_FILE):
                results.lengths |= _given_lengths(file.with_name(SUMMARY))
            results.files.append(file)
    if results.torque and results.velocity:
        raise ValueError(
            "the results are of a torque robot and of a velocity robot: give those of one robot"
        )
    return results


def _given_lengths(path: Path) -> dict[str, SourcedValue]:
    """Return --wheel-radius and --track of `identify` from its summary.json. Raises ValueError."""
    if not path.is_file():
        return {}
    summary = _summary(path)
    wheels = summary.get("wheels") if summary.get("name") == "identify" else None
    results = {}
    for name, length in wheels.items() if isinstance(wheels, dict) else ():
        if type(length) not in (int, float) or not 0.0 < length < math.inf:
            raise ValueError(f"{path}: wheels.{name} = {length!r}: must be a length in m")
        results[name] = SourcedValue(float(length), "m", f"wheels.{name} of {path.name}")
    return results


def _summary(path: Path) -> dict[str, Any]:
    try:
        summary = parse_json(read_regular(path))
    except ValueError as error:
        raise ValueError(f"{path}: {error}; {MADE_BY}") from None
    return summary if isinstance(summary, dict) else {}


def _files_of(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    files = [path / name for name in _KINDS if (path / name).is_file()]
    # The parameter files contain all that the summary does.
    if len(files) > 1:
        files = [file for file in files if file.name != SUMMARY]
    if not files:
        raise ValueError(f"{path}: holds no results; {MADE_BY}")
    return files


def _reader_of(file: Path) -> Callable[[Path, Results], None]:
    if file.name in _KINDS:
        return _KINDS[file.name]
    if file.suffix == ".json":
        return _read_summary
    # Renamed files are recognised by their content.
    try:
        text = read_regular(file)
    except ValueError as error:
        raise ValueError(f"{file}: not a result file: {error}; {MADE_BY}") from None
    for key, reader in (
        ("k7:", _read_torque),
        ("sigma:", _read_velocity),
        ("ka:", _read_voltage),
        ("left_radius:", _read_calibration),
        ("linear_scale:", _read_calibration),
    ):
        if key in text:
            return reader
    raise ValueError(f"{file}: not a result file; {MADE_BY}")


def _read_torque(path: Path, results: Results) -> None:
    file = DynamicsFile(str(path), MADE_BY)
    section = file.section
    robot = str(section.get("robot", ""))
    dynamics = file.dynamics(robot)
    variances = section.get("covariance_diagonal", [math.nan] * 4)
    k = {}
    for name, unit, value, variance in zip(NAMES, UNITS, dynamics, variances, strict=True):
        k[name] = _with_variance(value, max(variance, 0.0), unit, f"{name.upper()} of {path.name}")
        if not k[name].identified:
            results.missing.append(f"{name.upper()}: not identifiable, {value:g} assumed")
    friction = _of_group(
        path, section.get("friction"), "friction ", FRICTION_NAMES, FRICTION_UNITS,
        file.friction(),
    )  # fmt: skip
    results.missing += [
        f"friction {name}: not identified" for name in FRICTION_NAMES if name not in friction
    ]
    delay = file.torque_delay()
    if delay is None:
        results.missing.append("delay of the torque: not in the file, 0 assumed")
    gear_loss = file.gear_loss()
    if gear_loss is not None and any(gear_loss):
        left, right = (100.0 * loss for loss in gear_loss)
        results.missing.append(
            f"gear losses of {left:.3g} % (left) and {right:.3g} % (right) of the torque, except "
            "in the robot file of urdf and sdf: the friction is that without load, and wheel loops "
            "are slower than predicted"
        )
    turning = _of_group(
        path, section.get("turning"), "", TURNING_NAMES, TURNING_UNITS, file.turning()
    )
    results.torque = TorqueModel(k, friction, robot, delay, gear_loss, turning)
    results.robot = robot or None


def _of_group(
    path: Path,
    group: Any,
    prefix: str,
    names: Sequence[str],
    units: Sequence[str],
    values: Sequence[float | None],
) -> dict[str, SourcedValue]:
    identified = {}
    for name, unit, value in zip(names, units, values, strict=True):
        entry = (group or {}).get(name)
        entry = entry if isinstance(entry, dict) else {}
        variance = entry.get("variance", entry.get("std", math.nan) ** 2)
        if value is not None:
            source = f"{prefix}{name} of {path.name}"
            identified[name] = _with_variance(value, variance, unit, source).at_least(0.0)
    return identified


def _with_variance(value: float, variance: float, unit: str, source: str) -> SourcedValue:
    if math.isfinite(variance) and variance >= 0.0:
        return SourcedValue.normal(value, math.sqrt(variance), unit, source)
    return SourcedValue(value, unit, source)


def _read_velocity(path: Path, results: Results) -> None:
    section = read_section(str(path), ("sigma",), MADE_BY)
    axes = {}
    for index, axis in enumerate(AXES):
        try:
            axes[axis] = _velocity_axis(path, section, index)
        except ValueError as error:
            results.missing.append(f"axis {axis}: {error}")
            continue
        if axes[axis].dead_band is None:
            results.missing.append(f"dead band of {axis}: none beyond doubt, or not identifiable")
    if not axes:
        raise ValueError(
            f"{path}: neither axis was identified ({'; '.join(results.missing)}); identify the "
            "robot again: diffbot identify RECORDING"
        )
    results.velocity = axes
    results.robot = str(section.get("robot") or "") or results.robot


def _velocity_axis(path: Path, section: Mapping[str, Any], index: int) -> VelocityAxis:
    def number(name: str, position: int, default: float | None = None) -> float:
        values = section.get(name)
        if values is None and default is not None:
            return default
        if not (isinstance(values, list) and len(values) > position):
            raise ValueError(f"{name} = {values!r}: must be a list of numbers")
        if type(values[position]) not in (int, float):
            raise ValueError(f"{name} = {values!r}: must be numbers")
        return float(values[position])

    names = (f"sigma{index + 1}", f"sigma{index + 3}")
    pairs = []
    for position, name, unit in zip((index, 2 + index), names, ("s", "1"), strict=True):
        value = number("sigma", position)
        variance = number("covariance_diagonal", position, math.nan)
        if not (math.isfinite(value) and value > 0.0) or variance == math.inf:
            raise ValueError(f"{name} = {value:g}, variance {variance:g}: not identified")
        pairs.append(_with_variance(value, variance, unit, f"{name} of {path.name}"))
    if number("exponent", index, 1.0) != 1.0:
        raise ValueError(
            "its command follows a power law, which the exported files cannot represent"
        )
    late = number("dead_time", index, 0.0)
    band = number("dead_band_estimate", index, number("dead_band", index, math.nan))
    # The model does without one: the estimate is then what small commands can exclude.
    without = number("dead_band", index, math.nan) == 0.0 and "dead_band_estimate" in section
    spread = number("dead_band_variance", index, math.nan)
    of_band = f"dead_band of {path.name}"
    unknown = not math.isfinite(band) or spread == math.inf or without

    def ramp(name: str) -> SourcedValue | None:
        limit = number(name, index, math.inf)
        if not math.isfinite(limit):
            return None
        unit = f"{AXIS_UNITS[index]}^2"
        spread = number(f"{name}_variance", index, math.nan)
        return _with_variance(limit, spread, unit, f"{name} of {path.name}")

    return VelocityAxis(
        inertia=pairs[0],
        drag=pairs[1],
        dead_time=_with_variance(
            late, number("dead_time_variance", index, math.nan), "s", f"dead_time of {path.name}"
        ).at_least(0.0),
        dead_band=None
        if unknown
        else _with_variance(band, spread, AXIS_UNITS[index], of_band).at_least(0.0),
        acceleration=ramp("acceleration_limit"),
        deceleration=ramp("deceleration_limit"),
    )


def _read_voltage(path: Path, results: Results) -> None:
    section = read_section(str(path), (*SIDES, FORWARD, YAW), MADE_BY)
    unit = str(section.get("unit", "m"))
    gains, track = {}, None
    for subject in (*SIDES, FORWARD, YAW):
        entries = section.get(subject)
        if entries is None:
            results.missing.append(f"{subject.replace('_', ' ')}: not identified")
            continue
        per = "rad" if subject == YAW else unit
        units = {"ks": "V", "kv": f"V s/{per}", "ka": f"V s^2/{per}", "dead_time": "s"}
        all_results = {
            name: _with_std(entries.get(name), of, f"{name} of {subject} in {path.name}")
            for name, of in units.items()
        }
        ks, kv, ka = (all_results[name] for name in ("ks", "kv", "ka"))
        if ks is None or kv is None or ka is None or not (kv.value > 0.0 and ka.value > 0.0):
            results.missing.append(f"{subject.replace('_', ' ')}: ks, kv or ka not identifiable")
            continue
        gains[subject] = SourcedGains(ks.at_least(0.0), kv, ka, all_results["dead_time"])
        if subject == YAW:
            track = _with_std(entries.get("track_width"), unit, f"track_width of {path.name}")
    if not gains:
        raise ValueError(f"{path}: no side and no axis was identified; repeat SysId's tests")
    results.voltage = VoltageModel(gains, unit, track)


def _with_std(entry: Any, unit: str, source: str) -> SourcedValue | None:
    if not isinstance(entry, dict):
        return None
    numbers = [entry.get("value"), entry.get("std", math.nan)]
    if any(type(number) not in (int, float) for number in numbers):
        raise ValueError(f"{source} = {entry!r}: must hold numbers value and std")
    value, std = (float(number) for number in numbers if number is not None)
    if not math.isfinite(value) or std == math.inf:
        return None
    if math.isnan(std):
        return SourcedValue(value, unit, source)
    return SourcedValue.normal(value, std, unit, source)


def _read_calibration(path: Path, results: Results) -> None:
    document = read_yaml(path)
    section = _holding(document, "linear_scale") or _holding(document, "left_radius")
    if section is None:
        raise ValueError(f"{path}: holds no left_radius and no linear_scale; {MADE_BY}")
    if section.get("outcome") == "refused":
        raise ValueError(
            f"{path}: the calibration was refused ({section.get('reason')}); repeat it"
        )
    lengths: dict[str, SourcedValue | None]
    multipliers: dict[str, SourcedValue] = {}
    if "linear_scale" in section:
        lengths = dict.fromkeys(("left_radius", "right_radius", "track"))
        multipliers = _multipliers(section, path, results)
    else:
        lengths = {
            name: _calibrated(section, name, "m", path, results)
            for name in ("left_radius", "right_radius", "track")
        }
        if not any(lengths.values()):
            lengths = _by_ratios(section, path, results)
    for name, quantity in lengths.items():
        if quantity is not None and not quantity.value > 0.0:
            raise ValueError(f"{path}: {name} = {quantity.value:g} m: must be > 0")
    if not any(lengths.values()) and not multipliers:
        raise ValueError(
            f"{path}: neither radii nor track were identified; calibrate with more motion"
        )
    walk = "gyro_angle_random_walk"
    results.calibration = SourcedCalibration(
        **lengths,
        path_noise=_calibrated(section, "path_noise", "m^2/m", path, results),
        gyro_walk=_calibrated(section, walk, "rad^2/s", path, results) if walk in section else None,
        multipliers=multipliers,
    )
    results.robot = str(section.get("robot") or "") or results.robot


def _multipliers(
    section: Mapping[str, Any], path: Path, results: Results
) -> dict[str, SourcedValue]:
    """Return what corrects a calibrated odometry; by a gyro, with radii that stay as they are."""
    names = ("left_wheel_radius", "right_wheel_radius", "wheel_separation")
    entries = {}
    for name in (f"{name}_multiplier" for name in names):
        value = _calibrated(section, name, "1", path, results) if name in section else None
        if value is not None:
            entries[name] = value
    turn = section.get("angular_scale")
    if not entries and isinstance(turn, dict) and turn.get("identified"):
        value = _calibrated(section, "angular_scale", "1", path, results)
        if value is not None and value.low > 0.0:
            entries["wheel_separation_multiplier"] = SourcedValue(
                1.0 / value.value,
                "1",
                f"1 / angular_scale of {path.name}, for radii as they are",
                1.0 / value.high,
                1.0 / value.low,
            )
    return entries


def _by_ratios(
    section: Mapping[str, Any], path: Path, results: Results
) -> dict[str, SourcedValue | None]:
    entries: dict[str, SourcedValue | None] = dict.fromkeys(
        ("left_radius", "right_radius", "track")
    )
    given = section.get("given")
    if not isinstance(given, dict):
        return entries
    mean = 0.5 * sum(_number(given, name, path) for name in ("left_radius", "right_radius"))
    words = f"of {path.name} for the given mean radius of {mean:.6g} m"
    ratio = section.get("track_over_mean_radius")
    if isinstance(ratio, dict) and ratio.get("identified"):
        value = _calibrated(section, "track_over_mean_radius", "1", path, results)
        entries["track"] = value and value.times(mean, "m", f"track {words}")
    radii = section.get("radius_ratio")
    if isinstance(radii, dict) and radii.get("identified"):
        value = _calibrated(section, "radius_ratio", "1", path, results)
        if value is not None:
            left = [2.0 * mean / (1.0 + end) for end in (value.value, value.high, value.low)]
            right = [2.0 * mean - end for end in left]
            entries["left_radius"] = SourcedValue(
                left[0], "m", f"left_radius {words}", left[1], left[2]
            )
            entries["right_radius"] = SourcedValue(
                right[0], "m", f"right_radius {words}", right[2], right[1]
            )
    return entries


def _number(section: Mapping[str, Any], name: str, path: Path) -> float:
    value = section.get(name)
    if not isinstance(value, (int, float)) or not math.isfinite(value):
        raise ValueError(f"{path}: {name} = {value!r}: must be a finite number")
    return float(value)


def _holding(document: Any, key: str, depth: int = 4) -> dict[str, Any] | None:
    if not isinstance(document, dict) or depth == 0:
        return None
    if key in document:
        return document
    inner = (_holding(entry, key, depth - 1) for entry in document.values())
    return next((result for result in inner if result is not None), None)


def _calibrated(
    section: Mapping[str, Any], name: str, unit: str, path: Path, results: Results
) -> SourcedValue | None:
    entry = section.get(name)
    if not isinstance(entry, dict) or entry.get("identified") is False:
        why = entry.get("reason") if isinstance(entry, dict) else None
        results.missing.append(f"{name}: not calibrated{f' ({why})' if why else ''}")
        return None
    numbers = [entry.get(key) for key in ("value", "lower", "upper")]
    if any(type(number) not in (int, float) for number in numbers):
        raise ValueError(f"{path}: {name} = {entry!r}: must hold numbers value, lower, upper")
    value, lower, upper = (float(number) for number in numbers if number is not None)
    if not (lower <= value <= upper and math.isfinite(upper - lower)):
        raise ValueError(
            f"{path}: {name} = {value:g} in [{lower:g}, {upper:g}]: must be inside its interval"
        )
    return SourcedValue(value, unit, f"{name} of {path.name}", lower, upper)


def _late(entry: Mapping[str, Any], source: str) -> SourcedValue:
    value, std = entry.get("value"), entry.get("std")
    if value is None or std is None:
        return SourcedValue(0.0, "s", f"dead time of {source}: not known, 0 assumed")
    if std == 0.0:
        return SourcedValue(float(value), "s", f"dead time of {source}, as given")
    sourced_value = SourcedValue.normal(float(value), float(std), "s", f"dead time of {source}")
    return sourced_value.at_least(0.0)


def _read_summary(path: Path, results: Results) -> None:
    summary = _summary(path)
    controller = summary.get("controller")
    result = controller.get("parameters") if isinstance(controller, dict) else None
    if not (isinstance(controller, dict) and isinstance(result, dict) and "sigma1" in result):
        raise ValueError(
            f"{path}: holds no sigma, so it is not a summary of launch siwek; {MADE_BY}"
        )
    sigma = []
    for name, unit in zip(
        ("sigma1", "sigma2", "sigma3", "sigma4"), ("s", "s", "1", "1"), strict=True
    ):
        entry = result.get(name) or {}
        if entry.get("std") is None or entry.get("value") is None:
            raise ValueError(
                f"{path}: sigma was given to the controller, not identified: drive with "
                "adaptive:=true, or give results of identify"
            )
        source = f"{name} of {path.name}"
        sigma.append(SourcedValue.normal(entry["value"], entry["std"], unit, source))
    bands, lates = controller.get("dead_band") or {}, controller.get("dead_time") or {}
    axes = {}
    for index, (axis, unit) in enumerate(zip(AXES, AXIS_UNITS, strict=True)):
        band = bands.get(axis) or {}
        dead_band = None
        if band.get("identifiable") and band.get("std") is not None:
            dead_band = SourcedValue.normal(band["value"], band["std"], unit, "dead_band")
        axes[axis] = VelocityAxis(
            sigma[index],
            sigma[index + 2],
            _late(lates.get(axis) or {}, f"{axis} of {path.name}"),
            dead_band and dead_band.at_least(0.0),
        )
        if not axes[axis].dead_time.identified:
            results.missing.append(f"dead time of {axis}: not identified while driving")
    results.velocity = axes
    results.robot = str(summary.get("robot") or "") or results.robot


_KINDS: dict[str, Callable[[Path, Results], None]] = {
    DYNAMIC_FILE: _read_torque,
    VELOCITY_FILE: _read_velocity,
    VOLTAGE_FILE: _read_voltage,
    CALIBRATION_FILE: _read_calibration,
    SUMMARY: _read_summary,
}
