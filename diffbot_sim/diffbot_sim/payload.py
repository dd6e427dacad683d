"""A load that is put on a simulated robot at a given robot time."""

from __future__ import annotations

import math
from typing import NamedTuple

from diffbot_description import Robot, RobotModel, urdf
from diffbot_sim.simulator import Simulator, check_payload

NOTHING = "none"
EXAMPLE = "give mass,x,z,yaw_inertia in kg, m, m, kg m^2, such as 2.5,0,0.05,0.06, or 50%, or none"
# Stamps are multiples of the control period but for rounding, s.
TOLERANCE = 1e-6


class Payload(NamedTuple):
    """A load; see Simulator.set_payload. mass in kg, x and z in m, yaw_inertia in kg m^2."""

    mass: float
    x: float
    z: float
    yaw_inertia: float


def payload_from_text(text: str, robot: Robot) -> Payload | None:
    """The load that a text gives; None for none.

    Args:
        text: "mass,x,z,yaw_inertia" with commas or spaces; or a share such as "50%", by which
            the load makes M_e and I_e larger (it lies on the axle, and divides all of K5..K8 by
            1.5); or "none".
        robot: that it is put on.

    Raises:
        ValueError: it is none of these, or no load can be so; the message has the text and an
            example.
    """
    words = text.replace(",", " ").split()
    if words in ([], [NOTHING]):
        return None
    try:
        if len(words) == 1 and words[0].endswith("%"):
            share = float(words[0].removesuffix("%")) / 100.0
            joints = robot.joints
            model = RobotModel.from_urdf(urdf(robot), joints.left, joints.right)
            load = Payload(
                share * model.equivalent_mass, 0.0, 0.0, share * model.equivalent_inertia
            )
        else:
            load = Payload(*map(float, words))
        if not all(map(math.isfinite, load)):
            raise ValueError
    except (TypeError, ValueError):
        raise ValueError(f"payload = {text!r}: {EXAMPLE}") from None
    try:
        check_payload(*load)
    except ValueError as error:
        raise ValueError(f"payload = {text!r}: {error}; {EXAMPLE}") from None
    return load


class PayloadSchedule:
    """Puts a load on at its time, once.

    Args:
        load: None: there is none.
        time: robot time, s; below 0: never.
    """

    def __init__(self, load: Payload | None, time: float) -> None:
        self._load = load if time >= 0.0 else None
        self._time = time

    def apply(self, engine: Simulator, time: float) -> bool:
        """Put the load on if its time has come; returns whether it was put on just now.

        Args:
            engine: with the robot.
            time: robot time of the state that the engine is in, s.

        Raises:
            ValueError: the robot cannot carry it (it would tip over).
        """
        if self._load is None or time < self._time - TOLERANCE:
            return False
        load, self._load = self._load, None
        engine.set_payload(*load)
        return True
