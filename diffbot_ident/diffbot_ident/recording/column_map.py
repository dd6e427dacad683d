"""Which column of a table holds which channel, and in which unit."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from diffbot_ident.recording.stream import COMMANDS, MEASURED, RecordingError

TIME = "time"
CHANNELS = (TIME, *COMMANDS, *MEASURED)

# Names that columns are known by without being told, in order of preference; case does not matter.
KNOWN: Mapping[str, tuple[str, ...]] = {
    TIME: ("time", "t", "t_s", "time_s", "timestamp", "stamp", "__time", "seconds", "sec"),
    "command_v": ("command_v", "cmd_v", "v_cmd", "cmd_vel_x", "cmd_vel.linear.x", "v_ref"),
    "command_w": (
        "command_w",
        "cmd_w",
        "w_cmd",
        "cmd_omega",
        "cmd_vel_omega",
        "cmd_vel.angular.z",
        "w_ref",
    ),
    "command_left": ("command_left", "cmd_left", "effort_command_left"),
    "command_right": ("command_right", "cmd_right", "effort_command_right"),
    "v": ("v", "speed", "linear_velocity", "odom_v", "odom.twist.twist.linear.x"),
    "w": ("w", "omega", "yaw_rate", "angular_velocity", "odom_w", "odom.twist.twist.angular.z"),
    "left_position": ("left_position", "left_angle"),
    "right_position": ("right_position", "right_angle"),
    "left_velocity": ("left_velocity", "meas_left_vel", "left_wheel_velocity"),
    "right_velocity": ("right_velocity", "meas_right_vel", "right_wheel_velocity"),
    "left_effort": ("left_effort", "left_torque"),
    "right_effort": ("right_effort", "right_torque"),
}
FACTORS = {"pi": math.pi, "2pi": math.tau, "deg": math.pi / 180.0, "rpm": math.tau / 60.0}


@dataclass(frozen=True)
class Column:
    """A column and the factor that turns it into SI."""

    name: str
    factor: float = 1.0


def parse_columns(texts: Iterable[str]) -> dict[str, Column]:
    """The map of texts such as "v=speed,w=gyro_z*deg", each CHANNEL=COLUMN[*FACTOR].

    Raises:
        RecordingError: a text is no such pair, or there is no such channel.
    """
    found: dict[str, Column] = {}
    for entry in (part.strip() for text in texts for part in text.split(",") if part.strip()):
        channel, equals, column = (part.strip() for part in entry.partition("="))
        if not equals or not column:
            raise RecordingError(
                f"--columns {entry!r}: must be CHANNEL=COLUMN or CHANNEL=COLUMN*FACTOR"
            )
        if channel not in CHANNELS:
            raise RecordingError(
                f"--columns {entry!r}: there is no channel {channel!r}; there are "
                f"{', '.join(CHANNELS)}"
            )
        name, times, factor = column.rpartition("*")
        found[channel] = Column(name.strip(), _factor(entry, factor)) if times else Column(column)
    return found


def _factor(entry: str, text: str) -> float:
    text = text.strip()
    if text.lstrip("-") in FACTORS:
        return (-1.0 if text.startswith("-") else 1.0) * FACTORS[text.lstrip("-")]
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not math.isfinite(factor) or factor == 0.0:
        raise RecordingError(
            f"--columns {entry!r}: factor {text!r} must be a number other than 0, or one of "
            f"{', '.join(FACTORS)}"
        )
    return factor


def columns_of(header: Sequence[str], chosen: Mapping[str, Column]) -> dict[str, Column]:
    """The channels that a table has.

    Args:
        header: names of its columns.
        chosen: by the user; what is not chosen is found by the names in KNOWN, but where the user
            chose any, only the time is.
    """
    lower = {name.strip().lower(): name for name in reversed(header)}
    found = {channel: column for channel, column in chosen.items() if column.name in header}
    for channel, names in KNOWN.items():
        if channel in chosen or (chosen.keys() - {TIME} and channel != TIME):
            continue
        name = next((lower[name] for name in names if name in lower), None)
        if name is not None:
            found[channel] = Column(name)
    return found
