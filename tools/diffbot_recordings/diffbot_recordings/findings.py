# SPDX-License-Identifier: Apache-2.0
"""Results of a recording for each kind of robot: verdicts, saved files and pictures."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from enum import Enum
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from arc_odometry import WheelGeometry
from diffbot_description import Robot, write_atomically
from diffbot_description.command_ramp import RampCoupling
from diffbot_description.dead_band import DeadBandKind
from diffbot_description.files import (
    DYNAMIC_FILE,
    SUMMARY,
    VELOCITY_FILE,
    VOLTAGE_FILE,
    strict,
    write_json,
)
from diffbot_description.identified_robot import with_drive
from diffbot_description.spoken import spoken
from diffbot_description.suite_version import suite_version
from diffbot_ident.estimate import NAMES, UNITS, Estimate, EstimateState
from diffbot_ident.interpretation.effort_units import compared, mass_alone
from diffbot_ident.interpretation.physical import (
    PhysicalQuantity,
    friction_quantities,
    turning_quantities,
)
from diffbot_ident.parameter_writer import (
    LABELS,
    Export,
    estimate_physical,
    export_results,
    floor_section,
    parameter_document,
    save_parameters,
    verification_section,
)
from diffbot_ident.verification import MAX_ERROR_FRACTION, Verification
from diffbot_recordings.axis_checks import checked, not_too_early, over_runs
from diffbot_recordings.axis_segment import AxisSegment
from diffbot_recordings.dead_band_analysis import NAME as DEAD_BAND
from diffbot_recordings.effort_scale import EffortScale, in_newton_metres
from diffbot_recordings.motor_analysis import MotorAnalysis
from diffbot_recordings.options import Weighing
from diffbot_recordings.recording_charts import Analyses, chart_groups
from diffbot_recordings.segments import FRESH, Segment, between_readings
from diffbot_recordings.sysid_log import SysIdLog
from diffbot_recordings.torque_analysis import TorqueResult
from diffbot_recordings.velocity_analysis import AxisAnalysis, analyse_axis
from diffbot_recordings.verdict import AnalysisOutcome, AnalysisVerdict, Evidence, Value, combined
from diffbot_recordings.voltage_analysis import VoltageAnalysis, analyse_voltages
from diffbot_report.chart import ChartGroup

# Characters that fit below the title of a picture.
LONGEST_LINE = 118
# Units of masses and inertias, which cannot be negative.
MASSES = ("kg", "kg m²", "kg m^2")
OUTCOMES = {
    EstimateState.ESTIMATED: AnalysisOutcome.ESTIMATED,
    EstimateState.INVALID: AnalysisOutcome.REFUSED,
    EstimateState.UNESTIMATED: AnalysisOutcome.NOT_EXCITED,
}

VELOCITY_HEADER = """\
# Dynamics of a velocity-commanded robot, each axis with its dead time d:
#   sigma[0] dv/dt + sigma[2] v = v_command(t - d), sigma[1] dw/dt + sigma[3] w = w_command(t - d),
# sigma in [s, s, 1, 1], covariance_diagonal their variances, dead_time of [v, w] in s, with
# dead_time_variance.
# each command being sign(u) |u|^exponent where its exponent is not 1, and
#   sign(u) max(|u| - dead_band, 0), or with dead_band_kind threshold u above dead_band and else 0.
# dead_band of [v, w] in m/s, rad/s (0: none in the model); dead_band_estimate is the smallest
# command that moves the robot as the recording tells it, with dead_band_variance.
# acceleration_limit and deceleration_limit of the commands of [v, w] in m/s^2, rad/s^2, .inf: none,
# with their variances; ramp_coupling own (each axis), scaled (both slowed down alike) or wheels.
# .nan and .inf: refused, or not identifiable. To drive with it:
#   launch drive commands:=velocity parameters:=FILE
"""
VOLTAGE_HEADER = """\
# Voltage gains of a drivetrain, V = ks sign(v) + kv v + ka dv/dt, for each side and both axes, with
# standard deviations.
"""


class Usable(str, Enum):
    """How many of the axes, sides or robots have values that may be used."""

    ALL = "all"
    SOME = "some"
    NONE = "none"


MOTOR_FILE = "motor_parameters.yaml"
MOTOR_HEADER = """\
# Motors of a robot, referred to the wheels: V = R i + Ke w, Ke i = J dw/dt + b w + c sign(w); R in
# ohm, Ke in V s/rad, which is N m/A; with standard deviations.
"""


@dataclass(frozen=True)
class Findings:
    """The result of an analysis, ready to be shown and saved.

    Attributes:
        verdicts: One for each axis, side or robot.
        summary: Additional keys of summary.json.
        write: Writes the parameter files, if any.
    """

    analyses: Analyses
    verdicts: Sequence[AnalysisVerdict]
    notes: Sequence[str]
    summary: Mapping[str, Any]
    write: Callable[[Path], Export]

    @property
    def trusted(self) -> bool:
        return self.usable is Usable.ALL

    @property
    def usable(self) -> Usable:
        good = [verdict.usable for verdict in self.verdicts]
        if not any(good):
            return Usable.NONE
        return Usable.ALL if all(good) else Usable.SOME

    def content(self, written: Export) -> dict[str, Any]:
        """Return the keys of summary.json, once the parameter files are written."""
        return {
            "trusted": self.trusted,
            "usable": self.usable.value,
            "status": {verdict.subject: verdict.outcome.value for verdict in self.verdicts},
            "reason": "; ".join(v.summary() for v in self.verdicts if not v.usable),
            **self.summary,
            "verdicts": {verdict.subject: verdict.to_dict() for verdict in self.verdicts},
            "notes": [*self.notes, *((written.refusal,) if written.refusal else ())],
        }

    def save(self, directory: Path, more: Mapping[str, Any]) -> Export:
        """Write parameter files and summary.json."""
        written = self.write(directory)
        content = {**more, **self.content(written)}
        summary = write_json(directory / SUMMARY, strict(content))
        return replace(written, paths=(*written.paths, summary))

    def pictures(self) -> dict[str, Callable[[Path], Any]]:
        """Return what draws each picture, by the name of its file."""
        from diffbot_report.figure_style import group_figure  # Matplotlib takes long to load

        most = LONGEST_LINE // len(self.verdicts)
        result = "; ".join(verdict.headline(most) for verdict in self.verdicts)

        def drawer(group: ChartGroup) -> Callable[[Path], Any]:
            return lambda path: write_atomically(path, group_figure(group, result).savefig)

        groups = [group for group in chart_groups(self.analyses) if group.charts]
        return {f"{group.picture}.png": drawer(group) for group in groups}

    def draw(self, directory: Path) -> list[Path]:
        return [draw(directory / name) for name, draw in self.pictures().items()]


def torque_findings(
    result: TorqueResult,
    robot: Robot | None,
    name: str,
    warnings: Sequence[str] = (),
    weighing: Weighing | None = None,
    loaded: Estimate | None = None,
) -> Findings:
    """Make the findings of a torque robot, whose parameter file calls it `name`.

    A `weighing` determines the torque of a unit of effort, `loaded` is the estimate with its load.
    Raises RecordingError if that torque cannot be determined.
    """
    result, differences = _over_runs(result)
    scale = None
    if weighing is not None:
        result, scale = in_newton_metres(result, loaded, weighing)
        robot = None if robot is None else with_drive(robot, scale.unit, scale.constants)
    verdict = _torque_verdict(result, robot, scale)
    estimate = result.estimate
    line = None
    if robot is not None:
        line = compared(estimate, robot)
    elif scale is None:
        line = mass_alone(estimate, result.geometry)
    linear, angular = estimate.residual_std
    rests = (
        f"{estimate.samples} samples ({result.learnt:.1f} s) fitted, {result.held_out:.1f} s "
        f"held out; residuals {spoken(linear, 2)} m/s² and {spoken(angular, 2)} rad/s²"
    )
    if math.isfinite(estimate.delay):
        rests += f"; torque delay {estimate.delay:g} control periods"
    # With another robot's description, masses may be negative beyond doubt.
    impossible = [
        f"{value.name} is negative, {value.value:.3g} {value.unit}: the given radius, track or "
        "masses are not those of this robot"
        for value in verdict.values
        if value.unit in MASSES and value.interval95 and value.interval95[1] < 0.0
    ]
    texts = [*differences, *estimate.warnings, *impossible, *warnings]
    return Findings(
        analyses=result,
        verdicts=(verdict,),
        notes=[
            rests,
            *([line] if line else []),
            *(() if scale is None else scale.notes),
            *(f"warning: {text}" for text in texts),
        ],
        summary={**_torque_summary(result), **({} if scale is None else scale.summary())},
        write=lambda directory: _write_torque(directory, result, robot, name),
    )


def _over_runs(result: TorqueResult) -> tuple[TorqueResult, tuple[str, ...]]:
    values, notes = combined(
        _parameters(result.estimate), {run: _parameters(own) for run, own in result.runs.items()}
    )
    before = np.sqrt(result.estimate.variances)
    factor = np.ones(4)
    for i, value in enumerate(values):
        if value.identifiable and before[i] > 0.0:
            factor[i] = value.std / before[i]
    if not (factor != 1.0).any():
        return result, notes
    covariance = np.array(result.estimate.covariance) * np.outer(factor, factor)
    estimate = result.estimate.with_values(np.array(result.estimate.values), covariance)
    return replace(result, estimate=estimate), notes


def _parameters(estimate: Estimate) -> list[Value]:
    return [
        Value(label.upper(), value, math.sqrt(max(variance, 0.0)), unit)
        for label, value, variance, unit in zip(
            NAMES, estimate.values, estimate.variances, UNITS, strict=True
        )
    ]


def _torque_verdict(
    result: TorqueResult, robot: Robot | None, scale: EffortScale | None
) -> AnalysisVerdict:
    estimate, verified = result.estimate, result.verification
    outcome, reason = OUTCOMES[estimate.state], estimate.explanation
    if outcome is AnalysisOutcome.ESTIMATED and (verified is None or not verified.passed):
        decided = verified is not None and verified.decided
        outcome = AnalysisOutcome.REFUSED if decided else AnalysisOutcome.NOT_EXCITED
        reason = verified.reason if verified is not None else "nothing was held out"
    return AnalysisVerdict(
        "torque robot",
        outcome,
        reason,
        (
            *_parameters(estimate),
            *(() if scale is None else (scale.constant,)),
            *_physical(estimate, robot),
        ),
        evidence=() if verified is None else _evidence(verified),
        notes=tuple(
            f"{label.upper()}: {why}"
            for label, why in zip(NAMES, estimate.parameter_reasons, strict=True)
            if why and why != estimate.reason
        ),
    )


def _physical(estimate: Estimate, robot: Robot | None) -> list[Value]:
    if estimate.state is not EstimateState.ESTIMATED:
        return []
    results = friction_quantities(estimate.friction) | turning_quantities(estimate.turning)
    if robot is not None:
        results |= estimate_physical(estimate, robot)
    return [_value(LABELS.get(name, name), quantity) for name, quantity in results.items()]


def _value(name: str, quantity: PhysicalQuantity) -> Value:
    return Value(name, quantity.value, quantity.std, quantity.unit)


def _evidence(verified: Verification) -> tuple[Evidence, ...]:
    if not verified.decided:
        return ()
    results, limit = [], MAX_ERROR_FRACTION
    pairs = zip(verified.horizon_error, verified.horizon_no_model, strict=True)
    for name, (error, none) in zip(("velocity", "yaw rate"), pairs, strict=True):
        fraction = error / none if none > 0.0 else math.nan
        test = f"held-out error of {name} after {verified.horizon:.2g} s, share of that without "
        results.append(Evidence(f"{test}model", fraction, f"<= {limit:g}", fraction <= limit))
    rules = Evidence("verification", float(verified.passed), "1: all its rules", verified.passed)
    return (*results, rules)


def _torque_summary(result: TorqueResult) -> dict[str, Any]:
    estimate = result.estimate
    states, reasons = estimate.parameter_states, estimate.parameter_reasons
    judged = zip(_parameters(estimate), states, reasons, strict=True)
    parameters = {
        value.name: {**value.to_dict(), "closed_form": None, "state": state.name.lower(),
                     "reason": reason}
        for value, state, reason in judged
    }  # fmt: skip
    friction, turning = (
        {name: _value(name, quantity).to_dict() for name, quantity in outcome.items()}
        for outcome in (
            friction_quantities(estimate.friction),
            turning_quantities(estimate.turning),
        )
    )
    gyro = {}
    if (fit := estimate.gyro) is not None:
        scale = Value("scale", fit.scale, fit.scale_std)
        radii = Value("radius_difference", fit.radius_difference, fit.radius_difference_std)
        gyro = {value.name: value.to_dict() for value in (scale, radii)}
    return {
        "parameters": parameters,
        "friction": friction or None,
        **({"turning": turning} if turning else {}),
        **({"gyro": gyro} if gyro else {}),
        "verification": verification_section(result.verification),
        "residual_std": list(estimate.residual_std),
        "torque_difference": Value("torque_difference", *estimate.torque_difference).to_dict(),
        "samples": estimate.samples,
        "torque_delay": estimate.delay,
        "control_period": estimate.period,
        **floor_section(estimate.slope),
        "warnings": list(estimate.warnings),
    }


def _write_torque(directory: Path, result: TorqueResult, robot: Robot | None, name: str) -> Export:
    run: dict[str, Any] = {
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "version": suite_version(),
        "seconds": result.learnt,
        "verification": result.verification,
    }
    if robot is not None:
        return export_results(directory, robot, result.estimate, **run)
    path = directory / DYNAMIC_FILE
    save_parameters(path, parameter_document(result.estimate, name, **run))
    return Export((path,))


def analyse_axes(
    segments: Sequence[Segment],
    geometry: WheelGeometry | None = None,
    from_wheels: Sequence[str] = (),
) -> dict[str, AxisAnalysis]:
    """Analyse the axes "v" and "w" that segments hold, `from_wheels` by the speeds of wheels."""
    results = {}
    kept = 0.0
    if from_wheels and geometry is not None:
        segments, kept = between_readings(segments, geometry, from_wheels)
    for axis, subject, unit in (("v", "forward axis", "m/s"), ("w", "yaw axis", "rad/s")):
        refresh = kept if axis in from_wheels else 0.0
        if segments and all(axis in segment.channels for segment in segments):
            pieces = [axis_segment(segment, axis, refresh > 0.0) for segment in segments]
            analysis = analyse_axis(pieces, subject, unit, refresh=refresh)
            analysis = not_too_early(analysis, pieces, refresh)
            runs: dict[str, list[AxisSegment]] = {}
            for segment, piece in zip(segments, pieces, strict=True):
                if segment.run is not None:
                    runs.setdefault(segment.run, []).append(piece)
            # The reported intervals include the spread of the recordings.
            analysis = over_runs(analysis, runs, refresh)
            results[axis] = checked(analysis, refresh or pieces[0].period)
    return results


def axis_segment(segment: Segment, axis: str, slow: bool) -> AxisSegment:
    """Return axis "v" or "w" of a segment; `slow`: of `between_readings`."""
    channels, command = segment.channels, f"command_{axis}"
    fresh, sent = channels[FRESH] > 0.0 if slow else None, segment.sent.get(command)
    beside = segment.sent.get("command_w" if axis == "v" else "command_v")
    return AxisSegment(
        segment.period, channels[command], channels[axis], fresh, sent, beside=beside
    )


def velocity_findings(
    axes: Mapping[str, AxisAnalysis],
    rests: str,
    robot: str,
    source: str,
    tracks: Sequence[AnalysisVerdict] = (),
) -> Findings:
    """Make the findings of a velocity robot; `tracks` are verdicts on effective tracks."""
    return Findings(
        analyses=axes,
        verdicts=(*(analysis.verdict for analysis in axes.values()), *tracks),
        notes=[rests],
        summary={
            "axes": {axis: analysis.verdict.to_dict() for axis, analysis in axes.items()},
            **velocity_parameters(axes),
        },
        write=lambda directory: _write_velocity(directory, axes, robot, source),
    )


def velocity_parameters(axes: Mapping[str, AxisAnalysis]) -> dict[str, Any]:
    """Return the parameters of VELOCITY_HEADER, [v, w]; NaN and inf for a refused axis."""
    both = [axes.get(axis) for axis in ("v", "w")]
    usable = [a if a is not None and a.verdict.usable else None for a in both]
    fits = [None if analysis is None else analysis.fit for analysis in usable]

    def values(name: str) -> list[float]:
        return [math.nan if a is None else float(a.verdict.value(name).value) for a in usable]

    def variances(name: str) -> list[float]:
        return [math.inf if a is None else float(a.verdict.value(name).std ** 2) for a in usable]

    kinds = [DeadBandKind.OFFSET if fit is None else fit.kind for fit in fits]
    return {
        "sigma": [*values("inertia"), *values("drag")],
        "covariance_diagonal": [*variances("inertia"), *variances("drag")],
        "dead_time": values("dead time"),
        "dead_time_variance": variances("dead time"),
        "exponent": [1.0 if fit is None else float(fit.exponent) for fit in fits],
        "dead_band": [math.nan if fit is None else float(fit.dead_band) for fit in fits],
        "dead_band_estimate": values(DEAD_BAND),
        "dead_band_variance": variances(DEAD_BAND),
        "dead_band_kind": [kind.value for kind in kinds],
        **_ramp_parameters(usable),
    }


def _ramp_parameters(axes: Sequence[AxisAnalysis | None]) -> dict[str, Any]:
    """Return the limits of acceleration of [v, w], and how they act; NaN for a refused axis."""
    limits, variances = [[math.nan] * 2, [math.nan] * 2], [[math.inf] * 2, [math.inf] * 2]
    coupling, before = RampCoupling.OWN, False
    beside = [math.inf] * 2
    for i, analysis in enumerate(axes):
        if analysis is None or analysis.fit is None:
            continue
        ramp = analysis.fit.driver.ramp
        own = {value.name: value for value in analysis.verdict.values}
        for k, name in enumerate(("acceleration limit", "deceleration limit")):
            known = name in own and own[name].identifiable
            limits[k][i] = float(own[name].value) if known else math.inf
            variances[k][i] = float(own[name].std ** 2) if known else math.inf
        if ramp is not None:
            before |= ramp.before_band
            if ramp.law is not RampCoupling.OWN:
                coupling, beside[1 - i] = ramp.law, float(ramp.other)
    for k in (0, 1):
        # Where only the other axis's motion shows an axis's limit.
        limits[k] = [beside[i] if limit == math.inf else limit for i, limit in enumerate(limits[k])]
    return {
        "acceleration_limit": limits[0],
        "acceleration_limit_variance": variances[0],
        "deceleration_limit": limits[1],
        "deceleration_limit_variance": variances[1],
        "ramp_coupling": coupling.value,
        "ramp_before_dead_band": before,
    }


def _write_velocity(
    directory: Path, axes: Mapping[str, AxisAnalysis], robot: str, source: str
) -> Export:
    if not any(analysis.verdict.usable for analysis in axes.values()):
        return Export(())
    content = {
        **velocity_parameters(axes),
        "robot": robot,
        "source": source,
        "reasons": [
            axes[axis].verdict.summary() if axis in axes else f"{axis}: not in the recording"
            for axis in ("v", "w")
        ],
    }
    return Export((_write_ros(directory / VELOCITY_FILE, VELOCITY_HEADER, content, width=100),))


def voltage_findings(logs: Sequence[SysIdLog]) -> Findings:
    """Analyse SysId logs of one robot and make the findings."""
    voltage_analysis = analyse_voltages(logs)
    # An axis that no test drove is only noted.
    driven = [
        a for a in voltage_analysis if a.verdict.outcome is not AnalysisOutcome.NOT_EXCITED
    ] or voltage_analysis
    notes = [a.verdict.summary() for a in voltage_analysis if a not in driven]
    listed = [f"{log.name}: {log.kind} log with the tests {', '.join(log.tests)}" for log in logs]
    return Findings(
        analyses=voltage_analysis,
        verdicts=tuple(analysis.verdict for analysis in driven),
        notes=[*listed, *notes],
        summary={"log": logs[0].kind, "logs": [log.kind for log in logs], "unit": logs[0].unit},
        write=lambda directory: _write_usable(
            directory / VOLTAGE_FILE,
            VOLTAGE_HEADER,
            voltage_analysis,
            {"unit": logs[0].unit, "source": ", ".join(log.name for log in logs)},
        ),
    )


def motor_findings(motor_analysis: Sequence[MotorAnalysis], rests: str, source: str) -> Findings:
    """Make the findings of two motors, [left, right]."""
    return Findings(
        analyses=motor_analysis,
        verdicts=tuple(analysis.verdict for analysis in motor_analysis),
        notes=[rests],
        summary={"motors": {a.verdict.subject: a.verdict.to_dict() for a in motor_analysis}},
        write=lambda directory: _write_usable(
            directory / MOTOR_FILE, MOTOR_HEADER, motor_analysis, {"source": source}
        ),
    )


def _write_usable(
    path: Path,
    header: str,
    results: Sequence[VoltageAnalysis] | Sequence[MotorAnalysis],
    more: Mapping[str, Any],
) -> Export:
    usable = {
        analysis.verdict.subject.replace(" ", "_"): {
            value.name.replace(" ", "_"): {"value": float(value.value), "std": float(value.std)}
            for value in analysis.verdict.values
        }
        for analysis in results
        if analysis.verdict.usable
    }
    return Export((_write_ros(path, header, {**usable, **more}),) if usable else ())


def _write_ros(
    path: Path, header: str, content: Mapping[str, Any], width: int | None = None
) -> Path:
    document = {"/**": {"ros__parameters": content}}
    write_atomically(path, header + yaml.safe_dump(document, sort_keys=False, width=width))
    return path
