# SPDX-License-Identifier: Apache-2.0
"""Export constants of a drivetrain for WPILib, as a Java class.

Those of yaw are in volts per rad/s, as identifyDrivetrainSystem takes them.
"""

from __future__ import annotations

from diffbot_export.known_robot import KnownRobot
from diffbot_export.results import FORWARD, SIDES, YAW
from diffbot_export.sourced_value import SourcedValue

FILE = "DriveConstants.java"
NAMES = {SIDES[0]: "Left", SIDES[1]: "Right", FORWARD: "Linear", YAW: "Angular"}


def wpilib_java(robot: KnownRobot) -> str:
    """Return the source of the class. Raises ValueError without voltage gains."""
    voltage = robot.results.voltage
    if voltage is None:
        raise ValueError(
            "no ks, kv, ka were identified: give the results of identify on SysId logs"
        )
    body: list[str] = []
    for subject, name in NAMES.items():
        gains = voltage.gains.get(subject)
        if gains is None:
            continue
        for symbol, quantity in (("kS", gains.ks), ("kV", gains.kv), ("kA", gains.ka)):
            body += _constant(f"{symbol}{name}", quantity)
    lengths: list[tuple[str, SourcedValue | None]] = [("kTrackwidth", voltage.track or robot.track)]
    if voltage.unit == "m":
        lengths[0] = ("kTrackwidthMeters", robot.track)
        lengths += [
            ("kLeftWheelRadiusMeters", robot.radius(0)),
            ("kRightWheelRadiusMeters", robot.radius(1)),
        ]
    for name, length in lengths:
        if length is None:
            robot.missing.append(f"{name}: not identified")
        else:
            body += _constant(name, length)
    head = [
        f"{robot.head('Drivetrain')}.",
        "Each value: its 95 % interval [lower, upper], and where it comes from. Left, Right and",
        f"Linear per {voltage.unit}, Angular per rad; volts of a side, and half their difference.",
        *robot.gaps(),
    ]
    lines = [*(f"// {line}" for line in head), "public final class DriveConstants {", *body]
    return "\n".join([*lines, "  private DriveConstants() {}", "}", ""])


def _constant(name: str, quantity: SourcedValue) -> list[str]:
    return [
        f"  /** {quantity.cited()}. */",
        f"  public static final double {name} = {quantity.value!r};",
        "",
    ]
