"""A DDS domain for a graph that is to meet nobody."""

from __future__ import annotations

import contextlib
import random
import socket

# Above the domains that people choose, and clear of the ports that Linux gives to programs.
DOMAINS = range(215, 232)


def free_domain() -> int:
    """A DDS domain in which nobody on this machine is.

    Raises:
        OSError: all of DOMAINS are taken.
    """
    for domain in random.SystemRandom().sample(DOMAINS, len(DOMAINS)):
        with (
            contextlib.suppress(OSError),
            socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe,
        ):
            # The first participant of a domain takes this port.
            probe.bind(("", 7400 + 250 * domain + 10))
            return domain
    raise OSError(f"all ROS domains from {DOMAINS[0]} to {DOMAINS[-1]} are in use; try again later")
