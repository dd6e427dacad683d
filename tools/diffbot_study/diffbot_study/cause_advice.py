# SPDX-License-Identifier: Apache-2.0
"""What a named cause means for a person, and what to do, in plain words."""

from __future__ import annotations

from typing import NamedTuple

SIDES = ("left", "right")


class CauseAdvice(NamedTuple):
    """What a cause is, and what a person does about it."""

    meaning: str
    action: str


ADVICE = {
    "load": CauseAdvice(
        "it carries more or less than before or than the others",
        "look for a load, or weigh it; if the load stays, identify it again",
    ),
    "tyre": CauseAdvice(
        "its wheels are smaller or larger",
        "check wear and pressure of both tyres, then calibrate",
    ),
    "brake": CauseAdvice(
        "this wheel turns harder",
        "lift the wheel and turn it by hand: brake, bearing, hair and cord around the axle",
    ),
    "current sensor": CauseAdvice(
        "the reported torque of this wheel is not the one that acts",
        "compare the currents of both motor drivers on a straight drive; recalibrate the sensor",
    ),
    "encoder": CauseAdvice(
        "the wheel angles are noisier",
        "check plug, shield and disc of the encoders",
    ),
    "track": CauseAdvice(
        "the wheels are nearer to each other or farther apart, or turn on another floor",
        "check the wheels' fastening, then calibrate",
    ),
    "gyro": CauseAdvice(
        "the gyro's scale changed",
        "check that it is fastened and level; give its scale to the localisation, or replace it",
    ),
    "pose source moved": CauseAdvice(
        "the laser, or another pose source, sits elsewhere on the robot",
        "check its fastening; give the new mounting to the description of the robot (tf)",
    ),
    "slip": CauseAdvice(
        "the wheels slip more",
        "look for a wet, dusty or uneven floor, and worn tyres; drive more gently there",
    ),
    "windings": CauseAdvice(
        "the motor's resistance grew", "let it cool and measure again; check plugs and brushes"
    ),
    "magnets": CauseAdvice(
        "the motor gives less torque per ampere",
        "it may have been too hot: check its temperature, and replace it if it stays",
    ),
    "motor": CauseAdvice(
        "this motor answers otherwise than the other one", "swap the motors to see whether it moves"
    ),
    "battery": CauseAdvice(
        "all wheels answer more weakly to the same command",
        "measure the battery under load; check the plugs and the driver's supply",
    ),
    "velocity scale": CauseAdvice(
        "it drives faster or slower than commanded", "calibrate the driver's scale of velocities"
    ),
    "delay": CauseAdvice(
        "the driver answers later",
        "look at the load of its computer and bus, and at the rate of the commands",
    ),
}
"""By the cause's name without its side."""
UNKNOWN = CauseAdvice(
    "no known cause explains it", "look at the robot's page: which values differ, and since when"
)


def advice_on(cause: str) -> CauseAdvice:
    """Return the advice on a cause, such as "brake left".

    Example:
        >>> advice_on("brake left").meaning
        'this wheel turns harder'
    """
    name = cause.removesuffix(", too much")
    for part in (*(f" {side}" for side in SIDES), " of one side"):
        name = name.removesuffix(part)
    return ADVICE.get(name) or ADVICE.get(name.removesuffix("s")) or UNKNOWN
