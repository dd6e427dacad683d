"""From a controller's messages to the samples and gains of a report."""

from __future__ import annotations

from typing import Any

import numpy as np
from builtin_interfaces.msg import Time

from diffbot_bringup.drive_report.controller_sample import ControllerSample
from diffbot_bringup.drive_report.controller_topics import StatusFields
from diffbot_bringup.report import samples
from diffbot_msgs.msg import ControllerState, DynamicParameters, VelocityParameters
from diffbot_node import seconds

NANOSECONDS = 1_000_000_000
DRIVING = "driving"
PHASES = {
    ControllerState.WAITING: samples.WAITING,
    ControllerState.DRIVING: DRIVING,
    ControllerState.DONE: samples.DONE,
    ControllerState.STOPPED: samples.STOPPED,
}


def controller_sample(message: ControllerState) -> ControllerSample:
    """The sample of a message."""
    return ControllerSample(
        time=seconds(message.header.stamp),
        phase=PHASES.get(message.phase, samples.STOPPED),
        message=message.message,
        elapsed=message.elapsed,
        duration=message.duration,
        refused=message.refused,
        law=message.law,
        torque_limit=message.torque_limit,
        parameters=(message.k5, message.k6, message.k7, message.k8),
        parameters_source=message.parameters_source,
        statuses=message.statuses,
        judgements=message.judgements,
    )


def true_parameters(message: DynamicParameters) -> tuple[int, tuple[float, ...]]:
    """Stamp in ns and K5..K8 of a simulator's truth."""
    return nanoseconds(message.header.stamp), (message.k5, message.k6, message.k7, message.k8)


def true_sigma(message: VelocityParameters) -> tuple[int, tuple[float, ...]]:
    """Stamp in ns and sigma1..sigma4 of a simulator's truth."""
    return nanoseconds(message.header.stamp), tuple(message.sigma.tolist())


def nanoseconds(stamp: Time) -> int:
    """A stamp in ns."""
    return stamp.sec * NANOSECONDS + stamp.nanosec


def gains_of(status: Any, fields: StatusFields) -> dict[str, Any]:
    """The gains in a status message, by the names of the summary."""
    found = {}
    for key, path in fields.gains.items():
        value = status
        for name in path.split("."):
            value = getattr(value, name)
        found[key] = np.asarray(value, float).tolist()
    return found
