# SPDX-License-Identifier: Apache-2.0
"""Who publishes and subscribes, with which types and quality of service; what does not match."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum


class EndpointRole(Enum):
    """What an endpoint does, as a verb for one node and for several."""

    PUBLISHES = ("publishes", "publish")
    SUBSCRIBES = ("subscribes to", "subscribe to")

    def __init__(self, one: str, several: str) -> None:
        self.one, self.several = one, several


@dataclass(frozen=True)
class Endpoint:
    """A publisher or a subscription of a node; `type` as "sensor_msgs/msg/JointState".

    `reliable` and `lasting` (transient local) are offered or demanded.
    """

    role: EndpointRole
    topic: str
    type: str
    node: str
    reliable: bool = True
    lasting: bool = False


def unmatched(publisher: Endpoint, subscription: Endpoint) -> str:
    """Why messages of a publisher never reach a subscription of its topic; empty if they do."""
    if publisher.type != subscription.type:
        return f"{publisher.node} publishes {publisher.type}, not {subscription.type}"
    if subscription.reliable and not publisher.reliable:
        return (
            f"{publisher.node} publishes as best effort, and {subscription.node} demands reliable"
        )
    if subscription.lasting and not publisher.lasting:
        return (
            f"{publisher.node} publishes volatile, and {subscription.node} demands transient local"
        )
    return ""


def named(endpoints: Iterable[Endpoint]) -> str:
    """Return the nodes of the endpoints, sorted, as a list for people."""
    return ", ".join(sorted({each.node for each in endpoints}))


def elsewhere(
    role: EndpointRole, topic: str, types: Sequence[str], endpoints: Iterable[Endpoint]
) -> list[Endpoint]:
    """Return the partners on other topics of these types; none if there is one on the topic itself.

    If some have the topic's last word, only those.
    """
    partners = [each for each in endpoints if each.role is role and each.type in types]
    if any(each.topic == topic for each in partners):
        return []
    word = topic.rpartition("/")[2]
    return [each for each in partners if each.topic.rpartition("/")[2] == word] or partners


def instead(
    role: EndpointRole, topic: str, types: Sequence[str], endpoints: Sequence[Endpoint]
) -> str:
    """Return what uses a topic with another type, or another topic of such a type, as a clause."""
    here = [each for each in endpoints if each.role is role and each.topic == topic]
    if others := [each for each in here if each.type not in types]:
        used = ", ".join(sorted({each.type for each in others}))
        return f"; {named(others)} {role.one} it as {used}: must be {' or '.join(types)}"
    alike = elsewhere(role, topic, types, endpoints)
    if not alike:
        return ""
    topics = sorted({each.topic for each in alike})
    if len(topics) > 3:
        return f"; {len(topics)} topics are of this type, such as {', '.join(topics[:2])}"
    return (
        f"; there is {', '.join(topics)} of {named(alike)}: if it is this robot's, rename it to "
        f"{topic} or give these nodes its namespace"
    )
