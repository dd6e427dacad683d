# SPDX-License-Identifier: Apache-2.0
"""What the driver of a robot with a URDF takes, by the command interfaces of its <ros2_control>."""

from __future__ import annotations

from collections.abc import Sequence

from diffbot_description.command_kind import CommandKind
from diffbot_description.findings import DescriptionFindings
from diffbot_description.urdf_tree import UrdfTree
from diffbot_description.urdf_wheels import Sides

SENTENCES = {
    CommandKind.EFFORT: "it takes torques of the wheels (drive.command: effort)",
    CommandKind.VELOCITY: "it takes cmd_vel (drive.command: velocity)",
    None: "no <ros2_control> says what it takes, torques or cmd_vel; torques unless you say "
    "--command velocity, or drive: {command: velocity} in its file",
}


def kind_of(
    tree: UrdfTree, sides: Sides, given: CommandKind | None, findings: DescriptionFindings
) -> CommandKind | None:
    """Return the kind of command that a robot takes; None if it is not known.

    `given`: the kind, if somebody knows it.
    """
    joints = [wheel.joint.name for wheel in (*sides.left, *sides.right)]
    result = given or _commanded_kind(tree, joints)
    if result is not None:
        source = "--command" if given else "command_interface of the wheels in <ros2_control>"
        findings.sources["drive.command"] = source
    return result


def _commanded_kind(tree: UrdfTree, joints: Sequence[str]) -> CommandKind | None:
    """Return the kind of these joints' command interfaces; None if they have none, or both."""
    kinds = {
        interface.get("name")
        for joint in tree.element.findall("ros2_control/joint")
        if joint.get("name") in joints
        for interface in joint.findall("command_interface")
    }
    result = [kind for kind in CommandKind if kind.value in kinds]
    return result[0] if len(result) == 1 else None
