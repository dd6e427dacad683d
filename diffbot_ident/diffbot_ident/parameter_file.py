"""The file of identified parameters, in the form of a ROS parameter file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import yaml

from diffbot_ident.estimator import NAMES, UNITS, Estimate

HEADER = """\
# Dynamic parameters of a differential-drive robot, for dv/dt = k5 w^2 + k7 (tl + tr),
# dw/dt = k6 v w + k8 (tl - tr): {units}.
# covariance_diagonal holds their variances in units squared; load it with --params-file.
"""


def parameter_document(
    estimate: Estimate, robot: str, date: str, version: str, seconds: float
) -> dict[str, Any]:
    """The document that is written, as nested dictionaries.

    Args:
        estimate: what was identified.
        robot: name of the robot.
        date: when, ISO 8601.
        version: version of this software.
        seconds: robot time that the estimate rests on, s.
    """
    values = dict(zip(NAMES, estimate.values, strict=True))
    return {
        "/**": {
            "ros__parameters": {
                **values,
                "covariance_diagonal": list(estimate.variances),
                "state": estimate.state.name.lower(),
                "samples": estimate.samples,
                "residual_std": list(estimate.residual_std),
                "robot": robot,
                "date": date,
                "version": version,
                "seconds": float(seconds),
            }
        }
    }


def save_parameters(path: Path, document: dict[str, Any]) -> None:
    """Write the document so that `path` is either the old file or the whole new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    units = ", ".join(f"{name} in {unit}" for name, unit in zip(NAMES, UNITS, strict=True))
    text = HEADER.format(units=units) + yaml.safe_dump(document, sort_keys=False)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(text, encoding="utf-8")
    os.replace(partial, path)
