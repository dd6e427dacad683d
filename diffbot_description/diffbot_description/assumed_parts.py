# SPDX-License-Identifier: Apache-2.0
"""What a file of a robot that takes velocities may leave out: only torques and simulators need it.

Such values are listed in `assumed`, so that no export takes them for known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from diffbot_description.ground_loads import GRAVITY
from diffbot_description.robot import name_from

DENSITY = 250.0  # of the body's box, kg/m^3
WHEEL_FRACTION = 0.03  # mass of a wheel as a fraction of the body's
GRIP = 0.3  # traction as a fraction of the weight that half of the robot has


def with_assumed_parts(data: Mapping[str, Any], path: Path) -> dict[str, Any]:
    """Return the content of a robot file with assumed values where it has none.

    Wheels (radius, separation), body.shape (front, rear, width) and limits (linear_velocity,
    angular_velocity) are never assumed. The name is that of the file, `path`.
    """
    parts = _assumed(data)
    names = [name for name in _leaves(parts) if not _has(data, name)]
    content = _merged(parts, data)
    content.setdefault("name", name_from(path.stem))
    if names:
        listed = data.get("assumed", [])
        content["assumed"] = [*(listed if isinstance(listed, list) else [listed]), *names]
    return content


def _assumed(data: Mapping[str, Any]) -> dict[str, Any]:
    radius = _positive(data, "wheels.radius", 0.05)
    track = _positive(data, "wheels.separation", 0.3)
    front = _positive(data, "body.shape.front", track / 2)
    rear = abs(_number(data, "body.shape.rear", -track / 2))
    length = front + rear
    width = _positive(data, "body.shape.width", track)
    bottom = _positive(data, "body.shape.bottom", radius / 2)
    top = max(_number(data, "body.shape.top", 2.5 * radius), bottom + radius)
    speed = _positive(data, "limits.linear_velocity", 0.5)
    turn = _positive(data, "limits.angular_velocity", 1.0)
    height = top - bottom
    mass = _positive(data, "body.mass", DENSITY * length * width * height)
    wheel = _positive(data, "wheels.mass", WHEEL_FRACTION * mass)
    thickness = min(0.5 * radius, 0.3 * track)
    traction = GRIP * GRAVITY * (mass / 2 + wheel) * radius
    spin = wheel * radius**2 / 2

    def box(first: float, second: float) -> float:
        return mass * (first**2 + second**2) / 12

    return {
        "wheels": {
            "width": thickness,
            "mass": wheel,
            "inertia_spin": spin,
            "inertia_yaw": spin / 2 + wheel * thickness**2 / 12,
        },
        "body": {
            "mass": mass,
            "center_of_mass": {"x": 0.0, "z": (bottom + top) / 2},
            "inertia": {
                "roll": box(width, height),
                "pitch": box(length, height),
                "yaw": box(length, width),
            },
            "shape": {"bottom": bottom, "top": top},
        },
        "casters": [
            {"x": x, "y": 0.0, "radius": radius / 2, "clearance": 0.0}
            for x in (max(front, radius), -max(rear, radius))
        ],
        "joints": {"left": "left_wheel_joint", "right": "right_wheel_joint"},
        "friction": {"viscous": [0.0, 0.0], "coulomb": [0.0, 0.0]},
        "limits": {
            "torque": 2 * traction,
            "traction": traction,
            "torque_rate": 200 * traction,
        },
        "excitation": {
            "amplitude": traction / 2,
            "hold": 20,
            "register": 10,
            "linear_velocity": speed,
            "angular_velocity": turn,
        },
        "encoder": {"counts": 4096},
        "contact": {
            "stiffness": 1.0e7,
            "damping": 1.0e3,
            "wheel_friction": 10.0,
            "caster_friction": 0.0,
        },
        "appearance": {"body": [0.95, 0.45, 0.1], "accent": [0.1, 0.75, 0.85]},
    }


def _leaves(parts: Mapping[str, Any], where: str = "") -> Iterator[str]:
    for key, value in parts.items():
        if isinstance(value, dict):
            yield from _leaves(value, f"{where}{key}.")
        else:
            yield where + key


def _has(data: Any, name: str) -> bool:
    for key in name.split("."):
        if not isinstance(data, dict):
            return True
        if key not in data:
            return False
        data = data[key]
    return True


def _merged(parts: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
    result = {**parts, **data}
    for key, value in parts.items():
        if isinstance(value, dict) and isinstance(data.get(key), dict):
            result[key] = _merged(value, data[key])
    return result


def _number(data: Any, name: str, otherwise: float) -> float:
    for key in name.split("."):
        data = data.get(key) if isinstance(data, dict) else None
    right = isinstance(data, (int, float)) and not isinstance(data, bool)
    return float(data) if right and math.isfinite(data) and abs(data) < 1e4 else otherwise


def _positive(data: Any, name: str, otherwise: float) -> float:
    value = _number(data, name, otherwise)
    return value if value > 0.0 else otherwise
