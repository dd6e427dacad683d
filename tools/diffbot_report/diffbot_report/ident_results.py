# SPDX-License-Identifier: Apache-2.0
"""Results of an identification: the table, and its keys of summary.json."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text

from diffbot_description import Robot, RobotModel
from diffbot_ident.estimate import Estimate, EstimateState
from diffbot_ident.interpretation.effort_units import compared
from diffbot_ident.parameter_writer import floor_section
from diffbot_ident.verification import Verification, VerificationState
from diffbot_report.display import printed
from diffbot_report.friction_effect import FrictionEffect
from diffbot_report.ident_recording import IdentRecording
from diffbot_report.page import Table
from diffbot_report.quantity import (
    MEANING,
    MISSING,
    NOT_IDENTIFIABLE,
    UNITS,
    Quantity,
    friction_quantities,
    meanings,
    parameter_quantities,
    physical_quantities,
    significant,
    with_uncertainty,
)
from diffbot_report.run_end import Pair

# Columns that the table needs with the meanings, with errors and without.
WIDE, NARROW = 106, 78
FRICTION = {
    "c_l": "viscous friction, left wheel",
    "c_r": "viscous friction, right wheel",
    "f_l": "Coulomb friction, left wheel",
    "f_r": "Coulomb friction, right wheel",
    "g_l": "gear loss, left wheel",
    "g_r": "gear loss, right wheel",
    "c_w": "viscous floor resistance to turning",
    "f_w": "constant floor resistance to turning",
}
# Share of the error without a model beyond which something is missing: gears that lose 12 and 20 %
# give 0.3, a right model 0.01.
POOR_PREDICTION = 0.1
GEARS_ADVICE = (
    "these errors are large for an identified robot: if its motors have gears, identify with "
    "torques of several sizes (ident's parameter levels: 4), which tells the gears' losses from "
    "Coulomb friction"
)


def identification_table(
    recording: IdentRecording, robot: Robot, width: int, title: str = ""
) -> RenderableType:
    """Return the current parameters of a run as a table `width` columns wide."""
    estimate = recording.estimate
    parameters = parameter_quantities(estimate, recording.true_parameters.last)
    phrases = meanings(parameters, physical_quantities(estimate, robot.model))
    friction = tuple(friction_quantities(estimate).values())
    notes = all_notes(recording, parameters, robot)
    return parameter_table(parameters, phrases, title, notes, width, friction)


def all_notes(recording: IdentRecording, parameters: Sequence[Quantity], robot: Robot) -> list[str]:
    """Return the lines below the results of a run."""
    return [
        *state_notes(parameters),
        *friction_notes(recording, robot.model),
        *description_notes(recording, robot),
        *confidence_notes(recording.estimate, recording.verdict, recording.verification),
    ]


def answer(
    parameters: Sequence[Quantity], friction: Sequence[Quantity], phrases: Mapping[str, str]
) -> Table:
    """Return K5..K8 and friction with their meanings, and errors where the truth is known."""
    known = any(quantity.closed_form is not None for quantity in parameters)
    errors = ["closed form", "error %", "error σ"] if known else []
    rows = []
    for quantity in (*parameters, *friction):
        row = [quantity.symbol, quantity.unit]
        row += with_uncertainty(quantity.value, quantity.half_width)
        if known:
            percent = None if quantity.std is None else quantity.error_percent
            row.append(_closed_form(quantity.closed_form, quantity.half_width))
            row += [_signed(percent, 2), _signed(quantity.error_sigma, 1)]
        meaning = phrases.get(quantity.symbol) or FRICTION.get(quantity.symbol, "")
        rows.append([*row, NOT_IDENTIFIABLE if _is_open(quantity) else meaning])
    return Table(["", "unit", "value", "± 95 %", *errors, MEANING], rows)


def parameter_table(
    parameters: Sequence[Quantity],
    phrases: Mapping[str, str],
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 120,
    friction: Sequence[Quantity] = (),
) -> RenderableType:
    """Return the answer with notes below it, for a terminal of `width` columns."""
    shown = answer(parameters, friction, phrases)
    lines = list(notes)
    if width < (NARROW if len(shown.head) == 5 else WIDE):
        below = [f"{row[0]}: {row[-1]}" for row in shown.rows]
        lines = below + lines
        shown = Table(shown.head[:-1], [row[:-1] for row in shown.rows])
    colours = {EstimateState.ESTIMATED: "cyan", EstimateState.INVALID: "red"}
    styles = [
        "dim" if _is_open(quantity) else colours.get(quantity.state, "dim")
        for quantity in (*parameters, *friction)
    ]
    table = printed(shown, title, styles, rule=len(parameters))
    return Group(table, Text("\n".join(lines))) if lines else table


def state_notes(parameters: Sequence[Quantity]) -> list[str]:
    """Return lines on which parameters may not be used, and why."""
    results: dict[str, list[str]] = {}
    for quantity in parameters:
        if quantity.reason and quantity.state is not EstimateState.ESTIMATED:
            results.setdefault(f"{quantity.lack}: {quantity.reason}", []).append(quantity.symbol)
    return [f"{', '.join(symbols)} {text}" for text, symbols in results.items()]


def friction_notes(recording: IdentRecording, model: RobotModel) -> list[str]:
    """Return a line on the effect of friction in the run, if known."""
    estimate, effect = recording.estimate, FrictionEffect.of(recording, model)
    note = effect.note(estimate) if effect and estimate else None
    return [] if note is None else [note]


def description_notes(recording: IdentRecording, robot: Robot) -> list[str]:
    """Return a line that compares a real robot with its description."""
    if recording.estimate is None or recording.true_parameters.last is not None:
        return []
    note = compared(recording.estimate, robot)
    return [] if note is None else [note]


def _is_open(quantity: Quantity) -> bool:
    return quantity.value is not None and quantity.std is None


def _closed_form(true: float | None, half_width: float | None) -> str:
    if true is None:
        return MISSING
    return significant(true, 4) if half_width is None else with_uncertainty(true, half_width)[0]


def _signed(value: float | None, decimals: int) -> str:
    return MISSING if value is None else f"{value:+.{decimals}f}"


def confidence_notes(
    estimate: Estimate | None, verdict: VerificationState, verification: Verification | None
) -> list[str]:
    """Return lines below the table: samples, residuals, delay, verdict, state and warnings."""
    if estimate is None:
        return []
    linear, angular = estimate.residual_std
    line = f"{estimate.samples} samples"
    if math.isfinite(linear) and math.isfinite(angular):
        line += f", residuals {linear:.2g} m/s² and {angular:.2g} rad/s²"
    if math.isfinite(estimate.delay):
        periods = "period" if estimate.delay == 1.0 else "periods"
        line += f"; torque delay {estimate.delay:g} control {periods}"
    lines = [line]
    if estimate.reason:
        lines.append(f"{estimate.state.name.lower()}: {estimate.reason}")
    if verification is not None:
        lines.append(_verdict_note(verification))
        if _gears_are_likely(estimate, verification):
            lines.append(GEARS_ADVICE)
    elif verdict is not VerificationState.NOT_VERIFIED:
        lines.append(verdict.name.lower())
    return lines + [f"warning: {warning}" for warning in estimate.warnings]


def _gears_are_likely(estimate: Estimate, verification: Verification) -> bool:
    """Whether gears may take a share: torques of other sizes act differently."""
    friction = estimate.friction
    return (
        verification.decided
        and friction is not None
        and not any(friction.gear_loss)
        and any(fraction > POOR_PREDICTION for fraction in _error_shares(verification))
    )


def _error_shares(verification: Verification) -> tuple[float, float]:
    pairs = zip(verification.horizon_error, verification.horizon_no_model, strict=True)
    v, omega = (error / base if base > 0.0 else math.nan for error, base in pairs)
    return v, omega


def _verdict_note(verification: Verification) -> str:
    if not verification.decided:
        return f"not verified: {verification.reason}"
    words = [
        f"{name} {significant(100.0 * fraction, 2)} %" if math.isfinite(fraction) else f"{name} –"
        for name, fraction in zip("vω", _error_shares(verification), strict=True)
    ]
    verdict = f"{verification.state.name.lower()} by another motion"
    text = (
        f"{verdict} of {verification.duration:.3g} s: after {verification.horizon:.3g} s "
        f"{', '.join(words)} of the error without a model"
    )
    return f"{text}; {verification.reason}" if verification.reason else text


def identification_keys(
    parameters: Sequence[Quantity],
    physical: Mapping[str, Quantity],
    friction: Mapping[str, Quantity],
    verdict: VerificationState = VerificationState.NOT_VERIFIED,
    verification: Verification | None = None,
) -> dict[str, Any]:
    """Return the keys of summary.json that every identification has."""
    verified: dict[str, Any] = {"state": verdict.name.lower()}
    if result := verification:
        verified |= {
            "reason": result.reason,
            "duration": result.duration,
            "horizon": result.horizon,
            "one_step": _errors(result.one_step, result.one_step_nominal, result.one_step_no_model),
            "at_horizon": _errors(
                result.horizon_error, result.horizon_nominal, result.horizon_no_model
            ),
        }
    return {
        "parameters": {quantity.symbol: quantity.entry() for quantity in parameters},
        "friction": {key: quantity.entry() for key, quantity in friction.items()},
        "physical": {key: quantity.entry() for key, quantity in physical.items()},
        "verification": verified,
    }


def _errors(identified: Pair, nominal: Pair, no_model: Pair) -> dict[str, Pair]:
    return {"identified": identified, "nominal": nominal, "no_model": no_model}


def confidence_keys(estimate: Estimate) -> dict[str, Any]:
    """Return the keys of summary.json about one estimate."""
    coverage = estimate.coverage
    return {
        "samples": estimate.samples,
        "residual_std": list(estimate.residual_std),
        "residual_correlation": list(estimate.residual_correlation),
        "coverage": dict(zip(UNITS, coverage, strict=True)) if any(coverage) else None,
        "torque_delay": estimate.delay,
        "control_period": estimate.period,
        **floor_section(estimate.slope),
        "warnings": list(estimate.warnings),
    }
