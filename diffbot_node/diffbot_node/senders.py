# SPDX-License-Identifier: Apache-2.0
"""Who sends a message: by the publisher's identifier, or by the numbers of its messages.

rclpy names the publisher from Kilted on. Jazzy's tells the number that the publisher gave to the
message: these rise, so a message that continues no known count is another publisher's, and one that
continues several belongs to the nearest. Humble's tells neither.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

Origin = bytes | int | None
"""Identifier of a message's publisher, or the message's number, or None if neither is known."""

# Signature of a callback that receives rclpy's metadata, too: its `__signature__`.
WITH_METADATA = Signature(
    [Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("message", "information")]
)
# Publishers whose counts are kept.
MOST_COUNTS = 8
# Messages after which a sender that takes turns with others has been heard again.
TURNS = 2


def message_and_metadata(arguments: tuple[Any, ...]) -> tuple[Any, Any]:
    """Return message and metadata from the arguments of a callback.

    Kilted's EventsExecutor passes both as one tuple.
    """
    message, information = arguments[0] if len(arguments) == 1 else arguments
    return message, information


class WithOrigin:
    """A subscription callback that also receives the `Origin` of a message."""

    __signature__ = WITH_METADATA

    def __init__(self, callback: Callable[[Any, Origin], None]) -> None:
        self._callback = callback

    def __call__(self, *arguments: Any) -> None:
        message, information = message_and_metadata(arguments)
        self._callback(message, origin(information))


def origin(information: Any) -> Origin:
    """Return the origin of a message from rclpy's metadata, a dictionary."""
    if not isinstance(information, dict):
        return None
    if (gid := information.get("publisher_gid")) is not None:
        return bytes(gid["data"])
    number = information.get("publication_sequence_number")
    return number if isinstance(number, int) else None


class Senders:
    """Tells the senders of messages of one kind apart, such as those about a robot's wheels.

    Messages of other kinds on the same topic must not be passed: they have the same counts.
    """

    def __init__(self) -> None:
        # By sender: its newest number, and how many messages of all senders there were with it.
        self._counts: dict[int, tuple[int, int]] = {}
        self._made = self._heard = 0

    def identify(self, came_from: Origin) -> object:
        """Return a key of the message's sender; None: unknown."""
        if not isinstance(came_from, int):
            return came_from
        self._heard += 1
        continued = [
            (came_from - newest, self._rank(heard), key)
            for key, (newest, heard) in self._counts.items()
            if newest < came_from
        ]
        key = min(continued)[-1] if continued else self._begin()
        self._counts[key] = (came_from, self._heard)
        return key

    def _rank(self, heard: int) -> tuple[bool, int]:
        before = self._heard - heard
        return before > TURNS, -before

    def _begin(self) -> int:
        if len(self._counts) == MOST_COUNTS:
            del self._counts[min(self._counts)]
        self._made += 1
        return self._made


class Foreigners:
    """Recognises messages of other processes on a topic that this process publishes itself.

    `origins` returns those of what it publishes there; None: the node is alone.
    """

    def __init__(self, origins: Callable[[], frozenset[bytes]] | None) -> None:
        self._origins = origins
        self._own: frozenset[bytes] = frozenset()

    def include(self, origin: object) -> bool:
        """Whether a message comes from another process, if this one has published."""
        if self._origins is None or origin in self._own:
            return False
        self._own |= self._origins()
        return bool(self._own) and origin not in self._own

    def none_beside(self, origin: object) -> bool:
        """Whether this origin is, as of the last `include`, this process's only publisher."""
        return len(self._own) == 1 and origin in self._own
