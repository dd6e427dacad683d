# SPDX-License-Identifier: Apache-2.0
"""Where a law's K5..K8 come from during a run: constant ones; live ones are in live_dynamics.py."""

from __future__ import annotations

from diffbot_description import DynamicParameters
from diffbot_node import CountedTopic
from diffbot_node.verdict import GOOD, Verdict


class DynamicsSource:
    """K5..K8 for a law: these, for the whole run.

    Attributes:
        newest: Parameters in use; None before valid ones have arrived.
        counted_topics: Topics of which a report needs every message.
    """

    counted_topics: tuple[CountedTopic, ...] = ()

    def __init__(self, newest: DynamicParameters | None) -> None:
        self.newest = newest

    def needs(self) -> Verdict:
        """Return what is missing before the robot may be driven."""
        return GOOD

    def awaits(self, stamp: float) -> Verdict:
        """Return what is missing before the joint state of a stamp (s) can be answered."""
        return GOOD

    def advance(self, stamp: float) -> None:
        """Process the estimates that are due at a stamp, s."""

    def reset(self, stamp: float) -> None:
        """React to a reset of the joint states' time to a stamp, s."""

    def close(self) -> None:
        """Store learnt parameters."""
