# SPDX-License-Identifier: Apache-2.0
"""K5..K8 for a controller's node: which of its parameters say where they come from."""

from __future__ import annotations

from dataclasses import dataclass

from diffbot_controllers.adaptation import AdaptationSettings
from diffbot_controllers.known_dynamics import KnownDynamics
from diffbot_controllers.nodes.references import ReferenceParameters
from diffbot_description import DynamicParameters, Robot
from diffbot_node import CountedTopic, EffortParameters, parameter
from diffbot_node.verdicts import GOOD, Verdict


class DynamicsSource:
    """K5..K8 for a law, for the whole run; `newest`: None before valid ones have arrived."""

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


NOWHERE = "none"
KNOWN_FRICTION, IGNORED_FRICTION = "known", "none"


@dataclass(frozen=True)
class DynamicsParameters(ReferenceParameters, EffortParameters, AdaptationSettings):
    """Parameters of controllers that use K5..K8: their source, and the gates of live estimates."""

    parameters: str = parameter(
        "robot",
        "K5..K8: 'robot' (closed form of its description), the path of a dynamic_parameters.yaml, "
        "'topic' (waits for valid ones on dynamic_parameters), or 'adaptive' (the nominal "
        "ones, which follow those on dynamic_parameters)",
    )
    friction: str = parameter(
        KNOWN_FRICTION,
        "friction of the wheels to compensate: known (of the robot's description, or as "
        "identified where `parameters` is a file or live), or none",
        choices=(KNOWN_FRICTION, IGNORED_FRICTION),
    )
    base_frame: str = parameter("base_link", "frame at the middle of the axle; child in tf")
    wait_for_estimates: bool = parameter(
        False,
        "lock-step with live parameters: answer each joint state only when the estimates due at "
        "its stamp have arrived",
    )
    estimate_delay: float = parameter(
        0.1, "robot time from the stamp of an estimate to its use, s", minimum=0.0, maximum=10.0
    )
    estimate_period: float = parameter(
        0.2,
        "robot time between the estimates that wait_for_estimates waits for, s; the estimator's "
        "own parameter `period`",
        above=0.0,
        maximum=10.0,
    )
    nominal_parameters: str = parameter(
        "robot",
        "K5..K8 that adaptation begins with and stays near: 'robot', or the path of a "
        "dynamic_parameters.yaml",
    )
    last_good: str = parameter(
        NOWHERE,
        "file in which adapted parameters are stored, and with which the next run begins if they "
        "are of this robot and inside the band; none: they are not stored",
    )
    prior: str = parameter(
        NOWHERE,
        "file prior_TYPE.yaml of `diffbot fleet`: parameters in use stay within the range of "
        "robots of this type, instead of within `band` of the nominal ones, and with "
        "nominal_parameters = robot begin with their mean; none: they do not",
    )


FROM_TOPIC, ADAPTIVE = "topic", "adaptive"
LIVE = (FROM_TOPIC, ADAPTIVE)


def known_dynamics(robot: Robot, values: DynamicsParameters) -> KnownDynamics:
    """Return what is known of a robot before its run, as the parameters say; see KnownDynamics."""
    source = values.nominal_parameters if values.parameters in LIVE else values.parameters
    return KnownDynamics(robot, source, values.friction == IGNORED_FRICTION)
