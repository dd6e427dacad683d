"""What a recording of a torque-driven robot gave: verdict, files, summary."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from typing import Any

from diffbot_description import Robot
from diffbot_ident.estimate import FRICTION_UNITS, NAMES, UNITS, Estimate, State
from diffbot_ident.export import (
    FILE_NAME,
    LABELS,
    estimate_physical,
    export_results,
)
from diffbot_ident.parameter_file import parameter_document, save_parameters
from diffbot_ident.physical import friction_quantities
from diffbot_ident.recording.findings import Findings
from diffbot_ident.recording.torque_analysis import TorqueResult
from diffbot_ident.recording.torque_pictures import draw
from diffbot_ident.recording.verdict import Evidence, Outcome, Value, Verdict
from diffbot_ident.verification import BETTER, Verification

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
        write=lambda directory: _write(directory, result, robot, name),
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
        found.append(Evidence(test, share, f"<= {BETTER:g}", share <= BETTER))
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


def _verification(verified: Verification | None) -> dict[str, Any]:
    if verified is None:
        return {"state": "not_verified"}
    state = "verified" if verified.passed else "refuted" if verified.decided else "not_verified"
    return {"state": state, **asdict(verified)}


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
        "verification": _verification(result.verification),
        "samples": estimate.samples,
        "torque_delay": estimate.delay,
        "warnings": list(estimate.warnings),
    }


def _write(directory: Path, result: TorqueResult, robot: Robot | None, name: str) -> Sequence[Path]:
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    about = {"date": date, "version": version("diffbot_ident"), "seconds": result.learnt}
    verified = _verification(result.verification)
    if robot is not None:
        return export_results(
            directory, robot, result.estimate, verification=verified, **about
        ).paths
    path = directory / FILE_NAME
    document = parameter_document(result.estimate, name, verification=verified, **about)
    save_parameters(path, document)
    return (path,)
