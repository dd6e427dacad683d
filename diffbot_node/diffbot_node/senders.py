# SPDX-License-Identifier: Apache-2.0
"""Who sends a message: by the publisher's identifier, or by the numbers of its messages.

rclpy names the publisher from Kilted on. Jazzy's tells the number that the publisher gave to the
message: each publisher counts its own messages 1, 2, 3 and so on. A publisher's numbers rise, so a
message that does not continue any known count is another publisher's, and one that continues
several belongs to the nearest. Humble's tells neither.
"""

from __future__ import annotations

from collections.abc import Callable
from inspect import Parameter, Signature
from operator import itemgetter
from typing import Any

Origin = bytes | int | None
"""Identifier of a message's publisher, or the message's number, or None if neither is known."""

# Publishers whose counts are kept.
MOST_COUNTS = 8


class WithOrigin:
    """A subscription callback that also receives the origin of a message.

    rclpy passes message and metadata to a callback of two arguments; its EventsExecutor passes both
    as one tuple (Kilted), which no function of two arguments accepts.

    Args:
        callback: Called with the message and its `Origin`.
    """

    __signature__ = Signature(
        [Parameter(name, Parameter.POSITIONAL_ONLY) for name in ("message", "information")]
    )

    def __init__(self, callback: Callable[[Any, Origin], None]) -> None:
        self._callback = callback

    def __call__(self, *arguments: Any) -> None:
        """Pass a message and its origin to the callback."""
        message, information = arguments[0] if len(arguments) == 1 else arguments
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

    Messages of other kinds on the same topic must not be passed: two senders that are both welcome
    would be confused where one's count overtakes the other's.
    """

    def __init__(self) -> None:
        self._counts: dict[int, int] = {}  # newest number by sender
        self._made = 0

    def identify(self, came_from: Origin) -> object:
        """Return a key of the message's sender, equal for equal ones; None: unknown."""
        if not isinstance(came_from, int):
            return came_from
        # The newest first: of equally near counts it is the one that goes on.
        known = reversed(self._counts.items())
        continued = [(came_from - newest, key) for key, newest in known if newest < came_from]
        if continued:
            key = min(continued, key=itemgetter(0))[1]
        else:
            self._made = key = self._made + 1
            if len(self._counts) == MOST_COUNTS:
                del self._counts[next(iter(self._counts))]
        self._counts.pop(key, None)
        self._counts[key] = came_from  # the newest last
        return key
