"""What a SysId log gave: verdicts on both sides and both axes, files, summary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from diffbot_description import write_atomically
from diffbot_ident.recording.findings import Findings
from diffbot_ident.recording.sysid_analysis import SysIdAnalysis, analyse_sysid
from diffbot_ident.recording.sysid_pictures import draw_sysid
from diffbot_ident.recording.sysid_reader import SysIdLog, read_sysid
from diffbot_ident.recording.verdict import Outcome

FILE_NAME = "voltage_parameters.yaml"
HEADER = """\
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
        write=lambda directory: _write(directory, found, log),
        draw=lambda directory: draw_sysid(found, directory),
    )


def _write(directory: Path, found: Sequence[SysIdAnalysis], log: SysIdLog) -> Sequence[Path]:
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
    path = directory / FILE_NAME
    document = {"/**": {"ros__parameters": {**content, "unit": log.unit, "source": log.name}}}
    write_atomically(path, HEADER + yaml.safe_dump(document, sort_keys=False))
    return (path,)
