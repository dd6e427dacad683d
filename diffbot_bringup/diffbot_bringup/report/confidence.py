"""How far an identification may be trusted, in lines of text and as keys of summary.json."""

from __future__ import annotations

import math
from typing import Any

from diffbot_bringup.report.formatting import significant
from diffbot_bringup.report.quantity import UNITS
from diffbot_bringup.report.samples import (
    NOT_VERIFIED,
    REFUTED,
    VERIFIED,
    Pair,
    ParameterSample,
    PredictionErrors,
    VerificationSample,
)


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
