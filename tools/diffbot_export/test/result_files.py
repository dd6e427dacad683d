# SPDX-License-Identifier: Apache-2.0
"""Files of results as identifications and calibrations write them, for tests."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from diffbot_description import closed_form, load_robot
from diffbot_ident.estimate import Estimate, EstimateState, FrictionEstimate
from diffbot_ident.parameter_writer import parameter_document

ROBOT = "twil"
FRICTION = (0.002, 0.003, 0.02, 0.025)


def write(folder: Path, name: str, section: dict[str, Any]) -> Path:
    """A ROS parameter file in a folder, which is made; the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    document = {"/**": {"ros__parameters": section}}
    (folder / name).write_text(yaml.safe_dump(document, sort_keys=False))
    return folder


def torque_results(
    folder: Path,
    *,
    robot: str = ROBOT,
    state: EstimateState = EstimateState.ESTIMATED,
    spread: float = 0.01,
    friction: FrictionEstimate | None = FrictionEstimate(FRICTION, (1e-8, 1e-8, 1e-6, 1e-6)),  # noqa: B008
    **changes: Any,
) -> Path:
    """A folder with dynamic_parameters.yaml of a robot, with standard deviations as shares."""
    values = np.array(closed_form(load_robot(robot).model))
    estimate = Estimate(
        values=tuple(values.tolist()),
        covariance=tuple(map(tuple, np.diag((spread * values) ** 2).tolist())),
        parameter_states=(EstimateState.ESTIMATED,) * 4,
        state=state,
        reason="" if state is EstimateState.ESTIMATED else "too little motion",
        samples=1001,
        delay=1.0,
        period=0.01,
        friction=friction,
    )
    section = parameter_document(estimate, robot, "2026-01-01", "0", 10.0)["/**"]["ros__parameters"]
    section["verification"] = {"state": "verified"}
    return write(folder, "dynamic_parameters.yaml", {**section, **changes})


def velocity_results(folder: Path, **changes: Any) -> Path:
    """A folder with velocity_parameters.yaml."""
    section = {
        "sigma": [0.3, 0.25, 1.0, 1.0],
        "covariance_diagonal": [1e-4, 1e-4, 1e-4, 1e-4],
        "dead_time": [0.08, 0.06],
        "exponent": [1.0, 1.0],
        "dead_band": [0.03, 0.1],
        "dead_band_variance": [1e-6, 1e-4],
        "dead_band_kind": ["offset", "offset"],
        "robot": "turtlebot2",
    }
    return write(folder, "velocity_parameters.yaml", {**section, **changes})


def voltage_results(folder: Path, *, without: tuple[str, ...] = (), unit: str = "m") -> Path:
    """A folder with voltage_parameters.yaml of a robot of 0.6 m track."""

    def gains(ks: float, kv: float, ka: float) -> dict[str, Any]:
        named = {"ks": ks, "kv": kv, "ka": ka, "dead_time": 0.02}
        return {name: {"value": value, "std": 0.01 * value} for name, value in named.items()}

    section: dict[str, Any] = {
        "left_side": gains(0.6, 2.7, 0.5),
        "right_side": gains(0.62, 2.7, 0.5),
        "forward_axis": gains(0.6, 2.7, 0.5),
        "yaw_axis": {**gains(0.6, 0.81, 0.15), "track_width": {"value": 0.6, "std": 0.001}},
        "unit": unit,
    }
    return write(
        folder,
        "voltage_parameters.yaml",
        {key: value for key, value in section.items() if key not in without},
    )


def calibration(folder: Path, **changes: Any) -> Path:
    """A folder with calibration.yaml of twil with wheels 2 % larger and a track 5 % wider."""
    wheels = load_robot(ROBOT).wheels

    def result(value: float, half: float) -> dict[str, Any]:
        return {
            "value": value,
            "lower": value - half,
            "upper": value + half,
            "identified": True,
        }

    document = {
        "outcome": "calibrated",
        "given": {
            "left_radius": wheels.radius,
            "right_radius": wheels.radius,
            "track": wheels.separation,
        },
        "left_radius": result(1.021 * wheels.radius, 1e-5),
        "right_radius": result(1.019 * wheels.radius, 1e-5),
        "track": result(1.05 * wheels.separation, 1e-4),
        "path_noise": result(1e-6, 2e-7),
        **changes,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "calibration.yaml").write_text(yaml.safe_dump(document, sort_keys=False))
    return folder


UNKNOWN = {"value": 0.1, "lower": -math.inf, "upper": math.inf, "identified": False, "reason": "x"}
