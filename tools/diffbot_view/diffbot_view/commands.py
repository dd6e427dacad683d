# SPDX-License-Identifier: Apache-2.0
"""What a browser may ask for: the schema of its messages; knows no ROS.

A message is an object with `do`, the name of a button; `on` of pause, `mass` and `x` of payload.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from enum import Enum
from typing import Any

# Largest mass of a payload, kg, and distance from the axle, m.
HEAVIEST, FARTHEST = 1e4, 100.0


class Button(Enum):
    """Buttons of the page."""

    STOP = "stop"
    RELEASE = "release"
    ENABLE = "enable"
    PAUSE = "pause"
    PAYLOAD = "payload"


@dataclass(frozen=True)
class PageCommand:
    """A valid message of a browser; mass, kg, from 0 to HEAVIEST, x ahead of the axle, m."""

    button: Button
    on: bool = True
    mass: float = 0.0
    x: float = 0.0


def parse_command(text: str | bytes) -> PageCommand:
    """Return the command in a message of a browser. Raises ValueError."""
    try:
        # Numbers of any length become floats, and infinite ones are refused below.
        message = json.loads(text, parse_int=float)
    except RecursionError:
        raise ValueError("brackets are nested too deeply") from None
    if not isinstance(message, dict):
        raise ValueError("a message must be an object")
    name = message.pop("do", None)
    if not isinstance(name, str) or name not in {each.value for each in Button}:
        raise ValueError("do must be a button of the page")
    button = Button(name)
    page_command = PageCommand(button)
    if button is Button.PAUSE:
        on = message.pop("on", None)
        if not isinstance(on, bool):
            raise ValueError("pause: on must be true or false")
        page_command = PageCommand(button, on=on)
    elif button is Button.PAYLOAD:
        mass = _number(message, "mass", 0.0, HEAVIEST)
        page_command = PageCommand(button, mass=mass, x=_number(message, "x", -FARTHEST, FARTHEST))
    if message:
        raise ValueError("the message has parts that its button does not")
    return page_command


def _number(message: dict[str, Any], name: str, least: float, most: float) -> float:
    value = message.pop(name, 0.0 if name == "x" else None)
    if not isinstance(value, float) or not math.isfinite(value) or not least <= value <= most:
        raise ValueError(f"{name} must be a number from {least:g} to {most:g}")
    return value
