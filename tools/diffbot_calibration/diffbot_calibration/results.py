# SPDX-License-Identifier: Apache-2.0
"""Write the files of a calibration: calibration.yaml, parameters, a robot file, summary.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from arc_odometry import WheelGeometry
from diffbot_calibration.calibration import CalibratedValue, Calibration, sizes_of
from diffbot_calibration.calibration_page import evidence_groups, sizes_group
from diffbot_calibration.held_out import HeldOut
from diffbot_description import Robot, write_atomically
from diffbot_description.files import CALIBRATION_FILE, SUMMARY, read_yaml, strict, write_json
from diffbot_description.robot_parsing import robot_from
from diffbot_description.spoken_commands import spoken
from diffbot_ident.parameter_writer import Export
from diffbot_recordings.sensor_readings import Subject

PARAMETERS_NAME = "odometry_parameters.yaml"
CALIBRATED = "_calibrated.yaml"
HEADER = """\
# Odometry of a differential-drive robot, calibrated: values with 95 % intervals, SI units.
# identified: false has an infinite interval and a reason; the value is then the given one, or
# depends on it. given: radii and track that were assumed before; of an odometry, its scales if it
# were right: true motion is linear_scale and angular_scale times the published one, and a straight
# line by it turns by heading_drift per metre.
"""
# Maximum number of characters of a reason below the title of a picture.
MOST = 118
# Decimals of radii and track, m; more than any calibration determines.
DIGITS = 7


def summary_of(calibration: Calibration) -> dict[str, Any]:
    """Return the keys `calibration.*` of summary.json, strict JSON with null for infinite ends."""
    results: dict[str, Any] = strict(_content(calibration))
    return results


def write_results(
    calibration: Calibration,
    folder: Path,
    *,
    robot: Robot | None = None,
    about: Mapping[str, Any] | None = None,
    pictures: bool = True,
) -> Export:
    """Write all files; a refused result has only calibration.yaml, summary.json and pictures.

    Wheels that do not fit the rest of the robot's description cost the calibrated robot file only.

    Args:
        robot: From which a calibrated one is written.
        about: Further keys of summary.json; None: another node writes it.

    Returns:
        The files that were written, and why there is no calibrated robot file.
    """
    refusal = None
    paths = [folder / CALIBRATION_FILE]
    text = yaml.safe_dump(_document(calibration), sort_keys=False, allow_unicode=True, width=100)
    write_atomically(paths[0], HEADER + text)
    if calibration.usable and calibration.subject is Subject.WHEELS:
        paths.append(folder / PARAMETERS_NAME)
        write_atomically(paths[-1], _parameters(calibration))
        if robot is not None:
            try:
                paths.append(write_calibrated_robot(calibration, robot, folder))
            except ValueError as error:
                refusal = f"{robot.name}{CALIBRATED} is not written: {error}"
    if about is not None:
        failed = {} if calibration.usable else {"outcome": "failed"}
        content = {
            **about,
            **failed,
            "reason": calibration.reason,
            "next_step": next_step(calibration, paths),
            "calibration": summary_of(calibration),
            **({"robot_file": refusal} if refusal else {}),
        }
        paths.append(write_json(folder / SUMMARY, content))
    if pictures:
        paths += draw_pictures(calibration, folder)
    return Export(tuple(paths), refusal)


def draw_pictures(calibration: Calibration, folder: Path) -> list[Path]:
    """Write the pictures; return their paths."""
    from diffbot_report.figure_style import group_figure  # Matplotlib takes long to load

    reason = calibration.reason
    result = reason if len(reason) <= MOST else f"{reason[: MOST - 1].rstrip()}…"
    groups = (sizes_group(calibration), *evidence_groups(calibration))
    return [
        write_atomically(folder / f"{group.picture}.png", group_figure(group, result).savefig)
        for group in groups
    ]


def next_step(calibration: Calibration, paths: Sequence[Path]) -> str:
    """Return one line on what to do with the files that were written."""
    folder = paths[0].parent
    if not calibration.usable:
        return (
            f"see the reasons above, and record again with what is missing; details are in {folder}"
        )
    if calibration.subject is Subject.ODOMETRY:
        return "give its multipliers to the driver: " + spoken(
            "export", str(folder), "--to", "ros2_control", "--robot", "FILE"
        )
    for path in map(str, paths):
        if path.endswith(CALIBRATED):
            return f"name it as the robot: {spoken('launch', 'ident', f'robot:={path}')}"
    publisher = ("run", "arc_odometry", "odometry_publisher", "--ros-args", "--params-file")
    return f"give it to your odometry: {spoken(*publisher, str(folder / PARAMETERS_NAME))}"


def write_calibrated_robot(calibration: Calibration, robot: Robot, folder: Path) -> Path:
    """Write `<robot>_calibrated.yaml`, for load_robot; ValueError if its wheels do not fit."""
    data = read_yaml(robot.path)
    geometry = calibration.geometry
    left, right = round(geometry.left_radius, DIGITS), round(geometry.right_radius, DIGITS)
    wheels = data["wheels"]
    wheels["radius"] = round(0.5 * (left + right), DIGITS + 1)
    wheels["separation"] = round(geometry.separation, DIGITS)
    wheels["radii"] = [left, right]
    if robot.appearance.urdf is not None:  # a relative path would refer to another folder
        from diffbot_description.urdf_appearance import shapes_file

        data["appearance"]["urdf"] = str(shapes_file(robot).absolute())
    try:
        robot_from(data, robot.path)
    except ValueError as error:
        raise ValueError(
            f"the calibrated lengths do not fit the description of robot '{robot.name}': {error}"
        ) from None
    sizes = sizes_of(geometry)
    head = [
        f"Robot '{robot.name}' with calibrated wheels ({calibration.source}): wheels.radius, ",
        "wheels.radii and wheels.separation are new, the rest is as in the robot file.",
        *(_line(name, q) for name, q in calibration.quantities.items() if name in sizes),
    ]
    text = "".join(f"# {line}".rstrip() + "\n" for line in head)
    text += "\n" + yaml.safe_dump(data, sort_keys=False, default_flow_style=None)
    path = folder / f"{robot.name}{CALIBRATED}"
    write_atomically(path, text)
    return path


def _line(name: str, quantity: CalibratedValue) -> str:
    if not quantity.identified:
        return f"{name}: {quantity.value:.6g} {quantity.unit}, not identified: {quantity.reason}"
    return f"{name}: {quantity.value:.6g} [{quantity.lower:.6g}, {quantity.upper:.6g}] " + (
        quantity.unit
    )


def _content(calibration: Calibration) -> dict[str, Any]:
    result = calibration.held_out
    return {
        "outcome": calibration.outcome.value,
        "reason": calibration.reason,
        "source": calibration.source,
        "given": (
            calibration.before
            if calibration.subject is Subject.ODOMETRY
            else _geometry(calibration.given)
        ),
        **{name: _quantity(q) for name, q in calibration.quantities.items()},
        "held_out": None if result is None else _held_out(result),
        "notes": list(calibration.notes),
    }


def _quantity(q: CalibratedValue) -> dict[str, Any]:
    return {
        **vars(q),
        **{name: float(getattr(q, name)) for name in ("value", "lower", "upper")},
    }


def _document(calibration: Calibration) -> dict[str, Any]:
    result = _content(calibration)
    for name, quantity in calibration.quantities.items():
        if quantity.reason is None:
            del result[name]["reason"]
    return {key: value for key, value in result.items() if value not in (None, [])}


def _parameters(calibration: Calibration) -> str:
    geometry, noise = calibration.geometry, calibration.quantities.get("path_noise")
    content: dict[str, Any] = _geometry(geometry)
    content["separation"] = content.pop("track")
    if noise is not None and noise.identified:
        content["path_noise"] = float(noise.value)
    head = "# Parameters of arc_odometry's odometry_publisher; load them with --params-file.\n"
    text: str = yaml.safe_dump({"/**": {"ros__parameters": content}}, sort_keys=False)
    return head + text


def _geometry(geometry: WheelGeometry) -> dict[str, float]:
    return {
        "left_radius": float(geometry.left_radius),
        "right_radius": float(geometry.right_radius),
        "track": float(geometry.separation),
    }


def _held_out(result: HeldOut) -> dict[str, Any]:
    return {
        "windows": result.windows,
        "window": result.window,
        "distance": result.distance,
        "before": vars(result.before),
        "after": vars(result.after),
        "sensor_noise": {"heading": result.noise[0], "position": result.noise[1]},
        "nees_expected": result.expected,
        "nees_bounds": list(result.bounds),
        "consistent": result.consistent,
    }
