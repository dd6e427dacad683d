# SPDX-License-Identifier: Apache-2.0
"""Print the URDF of a robot with the simulated hardware of this folder.

    python3 robot_description.py twil delay=0.002 jitter=0.001 log=truth.csv

K5 to K8, the wheels, friction and encoder are those of the robot's file; the further arguments
are parameters of the hardware, see src/simulated_robot.cpp.
"""

from __future__ import annotations

import sys
from xml.etree import ElementTree

from diffbot_description import closed_form, load_robot
from diffbot_description.loading import urdf

PLUGIN = "diffbot_ros2_control_robot/SimulatedRobot"


def description(name: str, given: dict[str, str]) -> str:
    """Return the URDF of a robot, given by name or path, with parameters of its hardware."""
    robot = load_robot(name)
    k = closed_form(robot.model)
    parameters = {
        "k5": repr(k.k5),
        "k6": repr(k.k6),
        "k7": repr(k.k7),
        "k8": repr(k.k8),
        "radius": repr(robot.wheels.radius),
        "half_track": repr(robot.wheels.separation / 2.0),
        "counts": repr(robot.encoder.counts),
        "viscous": repr(robot.friction.viscous[0]),
        "coulomb": repr(robot.friction.coulomb[0]),
        **given,
    }
    root = ElementTree.fromstring(urdf(robot, PLUGIN))
    hardware = root.find("ros2_control/hardware")
    if hardware is None:
        raise ValueError(f"{name}: its URDF has no ros2_control hardware")
    for key, value in parameters.items():
        ElementTree.SubElement(hardware, "param", name=key).text = value
    return ElementTree.tostring(root, encoding="unicode")


if __name__ == "__main__":
    print(description(sys.argv[1], dict(word.split("=", 1) for word in sys.argv[2:])))
