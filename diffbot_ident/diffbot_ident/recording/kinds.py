"""What a recording of a torque-driven robot gave: verdict, files, summary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

import yaml

from arc_odometry import WheelGeometry
from diffbot_description import Robot, write_atomically
from diffbot_ident.parameter_file import (
    FILE_NAME,
    LABELS,
    estimate_physical,
    export_results,
    parameter_document,
    save_parameters,
    verification_section,
)
from diffbot_ident.recording.pictures import draw, draw_axes, draw_sysid
from diffbot_ident.recording.resample import FRESH, StretchStore, UniformStretch, continuous
from diffbot_ident.recording.sysid import SysIdAnalysis, SysIdLog, analyse_sysid, read_sysid
from diffbot_ident.recording.torque_analysis import TorqueResult
from diffbot_ident.recording.velocity_analysis import AxisAnalysis, analyse_axis
from diffbot_ident.recording.verdict import Evidence, Findings, Outcome, Value, Verdict
from diffbot_ident.torque.estimate import FRICTION_UNITS, NAMES, UNITS, Estimate, State
from diffbot_ident.torque.physical import friction_quantities
from diffbot_ident.velocity.first_order import Stretch
from diffbot_ident.verification import MAX_ERROR_SHARE, Verification

# Units of what cannot be negative.
MASSES = ("kg", "kg m²", "kg m^2")
OUTCOMES = {
    State.ESTIMATED: Outcome.ESTIMATED,
    State.INVALID: Outcome.REFUSED,
    State.UNESTIMATED: Outcome.NOT_EXCITED,
}


def torque_findings(result: TorqueResult, robot: Robot | None, name: str) -> Findings:
    """Judge a result.

    Args:
        result: of the analysis.
        robot: its description; None: only the wheels are known.
        name: of the robot, for the parameter file.
    """
    verdict = _verdict(result, robot)
    return Findings(
        verdicts=(verdict,),
        notes=[*_notes(result), *_impossible(verdict)],
        summary=_summary(result),
        write=lambda directory: _write_torque(directory, result, robot, name),
        draw=lambda directory: draw(directory, result, verdict),
    )


def _verdict(result: TorqueResult, robot: Robot | None) -> Verdict:
    estimate, verified = result.estimate, result.verification
    outcome, reason = OUTCOMES[estimate.state], estimate.reason
    if outcome is Outcome.ESTIMATED and (verified is None or not verified.passed):
        decided = verified is not None and verified.decided
        outcome = Outcome.REFUSED if decided else Outcome.NOT_EXCITED
        reason = verified.reason if verified is not None else "nothing was held out"
    values = [
        Value(label.upper(), value, _std(variance), unit)
        for label, value, variance, unit in zip(
            NAMES, estimate.values, estimate.variances, UNITS, strict=True
        )
    ]
    values += _physical(estimate, robot)
    return Verdict(
        "torque robot",
        outcome,
        reason,
        tuple(values),
        evidence=() if verified is None else _evidence(verified),
        notes=tuple(
            f"{label.upper()}: {why}"
            for label, why in zip(NAMES, estimate.parameter_reasons, strict=True)
            if why and why != reason
        ),
    )


def _physical(estimate: Estimate, robot: Robot | None) -> list[Value]:
    """Friction, and the masses that follow where the wheels' own are described."""
    if estimate.state is not State.ESTIMATED:
        return []
    found = {}
    if estimate.friction is not None:
        found |= friction_quantities(estimate.friction.values, estimate.friction.variances)
    if robot is not None:
        found |= estimate_physical(estimate, robot)
    return [
        Value(LABELS.get(key, key), quantity.value, quantity.std, quantity.unit)
        for key, quantity in found.items()
    ]


def _std(variance: float) -> float:
    return math.sqrt(max(variance, 0.0))


def _evidence(verified: Verification) -> tuple[Evidence, ...]:
    if not verified.decided:
        return ()
    found = []
    for name, error, none in zip(
        ("velocity", "yaw rate"), verified.horizon_error, verified.horizon_no_model, strict=True
    ):
        share = error / none if none > 0.0 else math.nan
        test = (
            f"held-out error of {name} after {verified.horizon:.2g} s, share of that without model"
        )
        found.append(Evidence(test, share, f"<= {MAX_ERROR_SHARE:g}", share <= MAX_ERROR_SHARE))
    found.append(
        Evidence("verification", float(verified.passed), "1: all its rules", verified.passed)
    )
    return tuple(found)


def _notes(result: TorqueResult) -> list[str]:
    estimate = result.estimate
    linear, angular = estimate.residual_std
    text = (
        f"{estimate.samples} samples ({result.learnt:.1f} s) learnt, {result.held_out:.1f} s held "
        f"out; residuals {linear:.2g} m/s² and {angular:.2g} rad/s²"
    )
    if math.isfinite(estimate.delay):
        text += f"; torque delay {estimate.delay:g} control periods"
    return [text, *(f"warning: {warning}" for warning in estimate.warnings)]


def _impossible(verdict: Verdict) -> list[str]:
    """Masses and inertias that are surely negative: then the description is of another robot."""
    return [
        f"warning: {value.name} is negative, {value.value:.3g} {value.unit}: the wheels' radius, "
        "track or masses that were given are not those of this robot"
        for value in verdict.values
        if value.unit in MASSES and value.interval95 and value.interval95[1] < 0.0
    ]


def _summary(result: TorqueResult) -> dict[str, Any]:
    estimate = result.estimate
    return {
        "parameters": {
            label.upper(): {
                **Value(label, value, _std(variance), unit).to_dict(),
                "closed_form": None,
                "state": state.name.lower(),
                "reason": reason,
            }
            for label, value, variance, unit, state, reason in zip(
                NAMES,
                estimate.values,
                estimate.variances,
                UNITS,
                estimate.parameter_states,
                estimate.parameter_reasons,
                strict=True,
            )
        },
        "friction": None
        if estimate.friction is None
        else {
            key: Value(key, quantity.value, quantity.std, unit).to_dict()
            for (key, quantity), unit in zip(
                friction_quantities(estimate.friction.values, estimate.friction.variances).items(),
                FRICTION_UNITS,
                strict=True,
            )
        },
        "verification": verification_section(result.verification),
        "samples": estimate.samples,
        "torque_delay": estimate.delay,
        "warnings": list(estimate.warnings),
    }


def _write_torque(
    directory: Path, result: TorqueResult, robot: Robot | None, name: str
) -> Sequence[Path]:
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    about = {"date": date, "version": version("diffbot_ident"), "seconds": result.learnt}
    verified = result.verification
    if robot is not None:
        return export_results(
            directory, robot, result.estimate, verification=verified, **about
        ).paths
    path = directory / FILE_NAME
    document = parameter_document(result.estimate, name, verification=verified, **about)
    save_parameters(path, document)
    return (path,)


# ---
# What a recording of a velocity-commanded robot gave: verdicts, files, summary.

VELOCITY_FILE = "velocity_parameters.yaml"
VELOCITY_HEADER = """\
# Dynamics of a velocity-commanded robot, each axis with its dead time d:
#   sigma[0] dv/dt + sigma[2] v = v_command(t - d), sigma[1] dw/dt + sigma[3] w = w_command(t - d),
# sigma in [s, s, 1, 1], covariance_diagonal their variances, dead_time of [v, w] in s.
# each command being sign(u) |u|^exponent where its exponent is not 1.
# .nan and .inf: refused, or not identifiable. To drive with it: launch siwek parameters:=FILE.
"""


def analyse(
    store: StretchStore,
    geometry: WheelGeometry | None = None,
    from_wheels: Sequence[str] = (),
) -> dict[str, AxisAnalysis]:
    """Analyses by axis, "v" and "w", of those that the stretches hold.

    Args:
        store: the stretches.
        geometry: of the wheels, where velocities are made of wheel speeds.
        from_wheels: those that are.
    """
    found = {}
    kept, held = store.stretches, 0.0
    if from_wheels and geometry is not None:
        kept, held = continuous(kept, geometry, from_wheels)
    for axis, subject, unit in (("v", "forward axis", "m/s"), ("w", "yaw axis", "rad/s")):
        slow = held if axis in from_wheels else 0.0
        stretches = [_stretch(stretch, axis, slow > 0.0) for stretch in kept]
        if stretches and None not in stretches:
            found[axis] = analyse_axis(stretches, subject, unit, refresh=slow)
    return found


def _stretch(stretch: UniformStretch, axis: str, slow: bool) -> Stretch | None:
    channels = stretch.channels
    if axis not in channels:
        return None
    fresh = channels[FRESH] > 0.0 if slow else None
    return Stretch(stretch.period, channels[f"command_{axis}"], channels[axis], fresh)


def velocity_findings(
    axes: Mapping[str, AxisAnalysis], store: StretchStore, robot: str, source: str
) -> Findings:
    """Put the analyses of the axes together.

    Args:
        axes: by "v" and "w".
        store: what they rest on.
        robot: its name, for the parameter file.
        source: what was read, for the parameter file.
    """
    notes = [f"{store.kept:.1f} s of motion in {len(store.stretches)} stretches"]
    if store.kept < store.seen:
        notes[0] += (
            f", evenly chosen of {store.seen:.1f} s so that memory stays bounded; raise --keep to "
            "use more"
        )
    return Findings(
        verdicts=tuple(analysis.verdict for analysis in axes.values()),
        notes=notes,
        summary={
            "axes": {axis: analysis.verdict.to_dict() for axis, analysis in axes.items()},
            **parameters(axes),
        },
        write=lambda directory: _write_velocity(directory, axes, robot, source),
        draw=lambda directory: draw_axes(axes, directory),
    )


def parameters(axes: Mapping[str, AxisAnalysis]) -> dict[str, list[float]]:
    """Sigma [s, s, 1, 1], covariance_diagonal and dead_time [v, w] in s; NaN, inf where refused."""
    found = {"sigma": [math.nan] * 4, "covariance_diagonal": [math.inf] * 4}
    dead, exponents = [math.nan] * 2, [1.0] * 2
    for i, axis in enumerate(("v", "w")):
        analysis = axes.get(axis)
        if analysis is None or not analysis.verdict.usable:
            continue
        for offset, name in ((0, "inertia"), (2, "drag")):
            value: Value = analysis.verdict.value(name)
            found["sigma"][offset + i] = float(value.value)
            found["covariance_diagonal"][offset + i] = float(value.std**2)
        dead[i] = float(analysis.verdict.value("dead time").value)
        exponents[i] = float(analysis.fit.exponent)
    return {**found, "dead_time": dead, "exponent": exponents}


def _write_velocity(
    directory: Path, axes: Mapping[str, AxisAnalysis], robot: str, source: str
) -> Sequence[Path]:
    if not any(analysis.verdict.usable for analysis in axes.values()):
        return ()
    content: dict[str, Any] = {**parameters(axes), "robot": robot, "source": source}
    content["reasons"] = [
        axes[axis].verdict.summary() if axis in axes else f"{axis}: not in the recording"
        for axis in ("v", "w")
    ]
    path = directory / VELOCITY_FILE
    text = yaml.safe_dump({"/**": {"ros__parameters": content}}, sort_keys=False, width=100)
    write_atomically(path, VELOCITY_HEADER + text)
    return (path,)


# ---
# What a SysId log gave: verdicts on both sides and both axes, files, summary.

VOLTAGE_FILE = "voltage_parameters.yaml"
VOLTAGE_HEADER = """\
# Voltage gains of a drivetrain, V = ks sign(v) + kv v + ka dv/dt, for each side and both axes, with
# standard deviations.
"""


def voltage_findings(path: Path) -> Findings:
    """Read and analyse a log.

    Raises:
        RecordingError: it cannot be used.
    """
    log = read_sysid(path)
    found = analyse_sysid(log)
    # What the tests did not drive is no fault of the log: a straight one says nothing of turning.
    driven = [a for a in found if a.verdict.outcome is not Outcome.NOT_EXCITED] or found
    notes = [a.verdict.summary() for a in found if a not in driven]
    return Findings(
        verdicts=tuple(analysis.verdict for analysis in driven),
        notes=[f"{log.kind} log with the tests {', '.join(log.tests)}", *notes],
        summary={"log": log.kind, "unit": log.unit},
        write=lambda directory: _write_voltage(directory, found, log),
        draw=lambda directory: draw_sysid(found, directory),
    )


def _write_voltage(
    directory: Path, found: Sequence[SysIdAnalysis], log: SysIdLog
) -> Sequence[Path]:
    usable = [analysis.verdict for analysis in found if analysis.verdict.usable]
    if not usable:
        return ()
    content = {
        verdict.subject.replace(" ", "_"): {
            value.name.replace(" ", "_"): {"value": float(value.value), "std": float(value.std)}
            for value in verdict.values
        }
        for verdict in usable
    }
    path = directory / VOLTAGE_FILE
    document = {"/**": {"ros__parameters": {**content, "unit": log.unit, "source": log.name}}}
    write_atomically(path, VOLTAGE_HEADER + yaml.safe_dump(document, sort_keys=False))
    return (path,)
