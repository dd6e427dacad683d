"""From messages of references to what a law is told."""

from __future__ import annotations

import math
from typing import Any

from diffbot_controllers.motion import Reference
from diffbot_msgs.msg import PoseReference
from diffbot_node import CommandNode

FIELDS = ("x", "y", "theta", "v", "omega", "dv", "domega")
STANDSTILL = 1e-9  # m/s and rad/s


def reference_fields(node: CommandNode, message: PoseReference, frame: str) -> dict[str, Any]:
    """Arguments of Reference; not a number, with a complaint, for one in another frame."""
    fields: dict[str, Any] = {name: getattr(message, name) for name in FIELDS}
    given = message.header.frame_id
    if given not in ("", frame):
        node.complain(f"reference in frame '{given}': must be in '{frame}'; transform it first")
        fields["x"] = math.nan
    return fields


def at_rest(reference: Reference) -> bool:
    """Whether a reference stands."""
    return max(abs(reference.v), abs(reference.omega)) <= STANDSTILL
