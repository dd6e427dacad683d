"""What `diagnostics` says of an identification."""

from __future__ import annotations

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

from diffbot_ident.estimate import NAMES, NORMAL_95, Estimate, State
from diffbot_node import to_stamp

LEVELS = {
    State.UNESTIMATED: DiagnosticStatus.WARN,
    State.ESTIMATED: DiagnosticStatus.OK,
    State.INVALID: DiagnosticStatus.ERROR,
}


def diagnostics(estimate: Estimate, stamp: float, name: str, hardware: str) -> DiagnosticArray:
    """One status about the parameters K5..K8.

    Args:
        estimate: of the robot.
        stamp: of the newest joint state, s.
        name: of the node.
        hardware: name of the robot.
    """
    status = DiagnosticStatus(
        level=LEVELS[estimate.state],
        name=f"{name}: dynamic parameters",
        message=estimate.reason or "; ".join(estimate.warnings) or "estimated",
        hardware_id=hardware,
    )
    if status.level == DiagnosticStatus.OK and estimate.warnings:
        status.level = DiagnosticStatus.WARN
    for key, value, variance, state, reason in zip(
        NAMES,
        estimate.values,
        estimate.variances,
        estimate.parameter_states,
        estimate.parameter_reasons,
        strict=True,
    ):
        half = NORMAL_95 * variance**0.5
        text = f"{value:.6g} +- {half:.2g}" if state is State.ESTIMATED else reason
        status.values.append(KeyValue(key=key, value=f"{state.name.lower()}: {text}"))
    status.values.append(KeyValue(key="samples", value=str(estimate.samples)))
    status.values.append(KeyValue(key="torque delay, periods", value=f"{estimate.delay:g}"))
    array = DiagnosticArray(status=[status])
    array.header.stamp = to_stamp(stamp)
    return array
