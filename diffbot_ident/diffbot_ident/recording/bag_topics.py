"""Which topics of a recording to use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from diffbot_ident.recording.bag_part import Topic
from diffbot_ident.recording.message_fields import (
    ARRAY,
    JOINT_STATE,
    ODOMETRY,
    TWIST,
    TWIST_STAMPED,
)
from diffbot_ident.recording.stream import RecordingError

# What only a simulator knows is no measurement.
NEVER = ("ground_truth",)


@dataclass(frozen=True)
class Role:
    """What a topic is used for.

    Attributes:
        option: of the command line, that chooses it.
        types: of its messages.
        text: what it is, for messages.
    """

    option: str
    types: tuple[str, ...]
    text: str


ROLES: Mapping[str, Role] = {
    "joint_states": Role("--joint-states", (JOINT_STATE,), "joint states"),
    "commands": Role("--commands", (ARRAY,), "wheel torque commands"),
    "odom": Role("--odom", (ODOMETRY,), "odometry"),
    "cmd_vel": Role("--cmd-vel", (TWIST, TWIST_STAMPED), "velocity commands"),
}


def candidates(topics: Mapping[str, Topic], role: Role) -> list[Topic]:
    """Topics of the right type that hold messages, or may do so."""
    known = any(topic.count for topic in topics.values())
    return [
        topic
        for topic in topics.values()
        if topic.type in role.types
        and (topic.count or not known)
        and topic.name.rsplit("/", 1)[-1] not in NEVER
    ]


def choose(
    topics: Mapping[str, Topic], role: Role, chosen: str | None, required: bool = True
) -> Topic | None:
    """The topic for a role: the chosen one, or the only one.

    Args:
        topics: of the recording.
        role: what it is for.
        chosen: by the user; None: find it.
        required: whether there must be one.

    Raises:
        RecordingError: the chosen one is not there or of another type, or there are none or many.
    """
    if chosen is not None:
        return _chosen(topics, role, chosen)
    found = candidates(topics, role)
    if len(found) == 1:
        return found[0]
    if found:
        raise RecordingError(
            f"which topic holds the {role.text}? Choose with {role.option} TOPIC among: "
            f"{_text(found)}"
        )
    if required:
        raise RecordingError(
            f"no topic holds {role.text} ({' or '.join(role.types)}); the recording has: "
            f"{_text(topics.values())}"
        )
    return None


def _chosen(topics: Mapping[str, Topic], role: Role, chosen: str) -> Topic:
    found = topics.get(chosen) or topics.get(f"/{chosen}")
    if found is None:
        right = candidates(topics, role) or list(topics.values())
        raise RecordingError(
            f"{role.option} {chosen}: the recording has no such topic; choose among: {_text(right)}"
        )
    if found.type not in role.types:
        raise RecordingError(
            f"{role.option} {chosen}: its type is {found.type}, must be {' or '.join(role.types)}; "
            f"choose among: {_text(candidates(topics, role))}"
        )
    return found


def _text(topics: Sequence[Topic] | object) -> str:
    found = [
        f"{t.name} ({t.type}" + (f", {t.count} messages)" if t.count else ")")
        for t in topics  # type: ignore[attr-defined]
    ]
    return ", ".join(found) or "nothing"
