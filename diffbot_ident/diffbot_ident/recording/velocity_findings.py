"""What a recording of a velocity-commanded robot gave: verdicts, files, summary."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from arc_odometry import WheelGeometry
from diffbot_description import write_atomically
from diffbot_ident.recording.body_velocity import FRESH, continuous
from diffbot_ident.recording.findings import Findings
from diffbot_ident.recording.pictures import draw_axes
from diffbot_ident.recording.resample import UniformStretch
from diffbot_ident.recording.stretch_store import StretchStore
from diffbot_ident.recording.velocity_analysis import AxisAnalysis, analyse_axis
from diffbot_ident.recording.verdict import Value
from diffbot_ident.velocity.stretch import Stretch

FILE_NAME = "velocity_parameters.yaml"
HEADER = """\
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
        write=lambda directory: _write(directory, axes, robot, source),
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


def _write(
    directory: Path, axes: Mapping[str, AxisAnalysis], robot: str, source: str
) -> Sequence[Path]:
    if not any(analysis.verdict.usable for analysis in axes.values()):
        return ()
    content: dict[str, Any] = {**parameters(axes), "robot": robot, "source": source}
    content["reasons"] = [
        axes[axis].verdict.summary() if axis in axes else f"{axis}: not in the recording"
        for axis in ("v", "w")
    ]
    path = directory / FILE_NAME
    text = yaml.safe_dump({"/**": {"ros__parameters": content}}, sort_keys=False, width=100)
    write_atomically(path, HEADER + text)
    return (path,)
