"""The table of K5..K8 and the friction that a run shows while it goes on and at its end."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from diffbot_report.ident_recording import (
    ESTIMATED,
    INVALID,
    NOT_VERIFIED,
    REFUTED,
    VERIFIED,
    Pair,
    ParameterSample,
    PredictionErrors,
    VerificationSample,
)
from diffbot_report.quantity import MISSING, UNITS, Quantity, significant, with_uncertainty

# Columns that the table needs for the meanings, with errors and without.
WIDE, NARROW = 106, 78
NOT_IDENTIFIABLE = "not identifiable"
FRICTION = {
    "c_l": "viscous friction, left wheel",
    "c_r": "viscous friction, right wheel",
    "f_l": "Coulomb friction, left wheel",
    "f_r": "Coulomb friction, right wheel",
}


def parameter_table(
    parameters: Sequence[Quantity],
    meanings: Mapping[str, str],
    title: str = "",
    notes: Sequence[str] = (),
    width: int = 120,
    friction: Sequence[Quantity] = (),
) -> RenderableType:
    """Parameter, unit, value, 95 % interval, physical meaning; the error where truth is known.

    Args:
        parameters: K5..K8.
        meanings: phrase for each symbol.
        title: line above the table.
        notes: lines below the table.
        width: columns of the terminal; where they are few, the meanings go below the table.
        friction: further rows.
    """
    known = any(quantity.closed_form is not None for quantity in parameters)
    table = Table(
        title=title or None,
        box=SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        pad_edge=False,
        collapse_padding=True,
    )
    beside = width >= (WIDE if known else NARROW)
    table.add_column("", style="bold", no_wrap=True)
    table.add_column("unit", style="dim", no_wrap=True)
    table.add_column("value", justify="right", no_wrap=True)
    table.add_column("± 95 %", justify="right", no_wrap=True)
    if known:
        table.add_column("closed form", justify="right", no_wrap=True)
        table.add_column("error %", justify="right", no_wrap=True)
        table.add_column("error σ", justify="right", no_wrap=True)
    if beside:
        table.add_column("physical meaning", no_wrap=True)
    meanings = {**meanings, **{quantity.symbol: FRICTION[quantity.symbol] for quantity in friction}}
    for quantity in (*parameters, *friction):
        meaning = NOT_IDENTIFIABLE if _is_open(quantity) else meanings.get(quantity.symbol, "")
        last = quantity is parameters[-1]
        cells = _cells(quantity, known)
        table.add_row(*cells, *([meaning] if beside else []), end_section=last)
    lines = [] if beside else [f"{symbol}: {meaning}" for symbol, meaning in meanings.items()]
    lines += notes
    return Group(table, Text("\n".join(lines))) if lines else table


def state_notes(parameters: Sequence[Quantity]) -> list[str]:
    """Lines that say which parameters may not be used, and why; equal reasons share one."""
    found: dict[str, list[str]] = {}
    for quantity in parameters:
        if quantity.reason and quantity.state != ESTIMATED:
            word = "invalid" if quantity.state == INVALID else NOT_IDENTIFIABLE
            found.setdefault(f"{word}: {quantity.reason}", []).append(quantity.symbol)
    return [f"{', '.join(symbols)} {text}" for text, symbols in found.items()]


def _is_open(quantity: Quantity) -> bool:
    """Whether there is a number that the data do not fix."""
    return quantity.value is not None and quantity.std is None


def _cells(quantity: Quantity, known: bool) -> list[Text | str]:
    value, spread = with_uncertainty(quantity.value, quantity.half_width)
    style = {ESTIMATED: "cyan", INVALID: "red"}.get(quantity.state, "dim")
    style = "dim" if _is_open(quantity) else style
    cells: list[Text | str] = [quantity.symbol, quantity.unit, Text(value, style), spread]
    if known:
        true = quantity.closed_form
        cells.append(_closed_form(true, quantity.half_width))
        cells.append(_signed(quantity.error_percent if quantity.std is not None else None, 2))
        cells.append(_signed(quantity.error_sigma, 1))
    return cells


def _closed_form(true: float | None, half_width: float | None) -> str:
    """The true value with the decimals of the estimate beside it."""
    if true is None:
        return MISSING
    return significant(true, 4) if half_width is None else with_uncertainty(true, half_width)[0]


def _signed(value: float | None, decimals: int) -> str:
    return MISSING if value is None else f"{value:+.{decimals}f}"


# ---
# How far an identification may be trusted, in lines of text and as keys of summary.json.


def confidence_notes(
    sample: ParameterSample | None, verification: VerificationSample | None
) -> list[str]:
    """Lines below the table: samples, residuals, delay, verdict, state and warnings."""
    if sample is None:
        return []
    linear, angular = sample.residual_std
    parts = [f"{sample.samples} samples, residuals {linear:.2g} m/s² and {angular:.2g} rad/s²"]
    if math.isfinite(sample.torque_delay):
        periods = "period" if sample.torque_delay == 1.0 else "periods"
        parts.append(f"torque delay {sample.torque_delay:g} control {periods}")
    lines = ["; ".join(parts)]
    if sample.reason:
        lines.append(f"{sample.state}: {sample.reason}")
    lines += verdict_notes(verification_state(sample, verification), verification)
    return lines + [f"warning: {warning}" for warning in sample.warnings]


def verification_state(
    sample: ParameterSample | None, verification: VerificationSample | None
) -> str:
    """What a held-out motion said: "verified", "refuted" or "not_verified"."""
    if verification is not None:
        return VERIFIED if verification.passed else REFUTED
    return NOT_VERIFIED if sample is None else sample.verification


def verdict_notes(state: str, verification: VerificationSample | None) -> list[str]:
    """One line about the verification; none where there was none."""
    if verification is None:
        return [] if state == NOT_VERIFIED else [state]
    shares = _shares(verification.at_horizon)
    motion = f"by another motion of {verification.duration:.3g} s"
    text = f"{state} {motion}: after {verification.horizon:.3g} s {shares}"
    if verification.reason:
        text += f"; {verification.reason}"
    return [text]


def _shares(errors: PredictionErrors) -> str:
    words = []
    for name, error, base in zip("vω", errors.identified, errors.no_model, strict=True):
        share = 100.0 * error / base if base > 0.0 else math.nan
        words.append(f"{name} {significant(share, 2)} %" if math.isfinite(share) else f"{name} –")
    return f"{', '.join(words)} of the error without a model"


def verification_entry(state: str, verification: VerificationSample | None) -> dict[str, Any]:
    """The key `verification` of summary.json; pairs are [v in m/s, omega in rad/s]."""
    if verification is None:
        return {"state": state}
    return {
        "state": state,
        "reason": verification.reason,
        "duration": verification.duration,
        "horizon": verification.horizon,
        "one_step": _errors(verification.one_step),
        "at_horizon": _errors(verification.at_horizon),
    }


def _errors(errors: PredictionErrors) -> dict[str, Pair]:
    return {
        "identified": errors.identified,
        "nominal": errors.nominal,
        "no_model": errors.no_model,
    }


def confidence_entries(sample: ParameterSample) -> dict[str, Any]:
    """Keys of summary.json about one estimate."""
    coverage = sample.coverage
    return {
        "samples": sample.samples,
        "residual_std": list(sample.residual_std),
        "residual_correlation": list(sample.residual_correlation),
        "coverage": None if coverage is None else dict(zip(UNITS, coverage, strict=True)),
        "torque_delay": sample.torque_delay,
        "warnings": list(sample.warnings),
    }
