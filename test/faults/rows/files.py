# SPDX-License-Identifier: Apache-2.0
"""Parameter files that are corrupt, of another robot, of another kind, or old."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import yaml

from diffbot_description import load_robot
from faults.robots import under_test
from faults.row import Outcome, Promise
from faults.rows.making import NO_ENGINE, rows, worst_of
from faults.scene import BACKSTEP, FAULT, IDENT, LINEARIZING, POSE, TRACKING, Scene, Subject

GROUP = "Parameter files"
GOOD = {
    "k5": 0.0844,
    "k6": -3.77,
    "k7": 2.647,
    "k8": -16.08,
    "covariance_diagonal": [1e-6] * 4,
    "state": "estimated",
    "verification": {"state": "verified"},
}
SIGMA = {"sigma": [0.35, 0.25, 1.0, 1.0], "covariance_diagonal": [1e-6] * 4}
CONTROLLERS = (BACKSTEP, POSE, LINEARIZING)
INFINITE, NAN = float("inf"), float("nan")


def _text(section: dict, **changes: object) -> str:
    if section is GOOD:
        changes = {"robot": load_robot(under_test()).name, **changes}
    changed = {k: v for k, v in {**section, **changes}.items() if v is not None}
    return yaml.safe_dump({"/**": {"ros__parameters": changed}})


def broken(section: dict) -> dict[str, bytes]:
    """Return invalid files, by their error."""
    whole = _text(section)
    return {
        "empty": b"",
        "random bytes": bytes((7 * k * k + 13) % 256 for k in range(400)),
        "no YAML": b"/**: {ros__parameters: [",
        "cut off": whole[: len(whole) // 4].encode(),
        "another kind of file": Path(load_robot("twil").path).read_bytes(),
    }


def unfit() -> dict[str, bytes]:
    """Return parameter files that no law may use."""
    changes = {
        "robot": {"robot": "somebody_elses"},
        "state": {"state": "unestimated"},
        "verification refuted": {"verification": {"state": "refuted"}},
        "k8 missing": {"k8": None},
        "k7 text": {"k7": "2.6"},
        "k7 NaN": {"k7": NAN},
        "k5 inf": {"k5": INFINITE},
        "variance NaN": {"covariance_diagonal": [NAN] * 4},
        "variance of k7 inf": {"covariance_diagonal": [1e-6, 1e-6, INFINITE, 1e-6]},
        "variances of 2": {"covariance_diagonal": [1e-6] * 2},
    }
    return {name: _text(GOOD, **change).encode() for name, change in changes.items()}


def negative() -> dict[str, bytes]:
    """Return robot files with a negative mass or inertia."""
    return {
        "k7 < 0": _text(GOOD, k7=-2.6).encode(),
        "k8 > 0": _text(GOOD, k8=16.0).encode(),
    }


def _refused(files, parameter: str = "parameters", **settings):
    def run(subject: Subject, engine: str) -> Outcome:
        cases = []
        with TemporaryDirectory() as folder:
            path = Path(folder) / "given.yaml"
            for label, content in files().items():
                path.write_bytes(content)
                # No real simulator is needed to check that nothing starts.
                with Scene(subject, "ideal", **{**settings, parameter: str(path)}) as scene:
                    scene.advance(scene.bus.time + 0.03)
                    cases.append((label, scene.refused("given.yaml")))
        return worst_of(cases)

    return run


def _restored(subject: Subject, engine: str) -> Outcome:
    """A broken file of the last good parameters: the controller uses the nominal ones."""
    cases = []
    with TemporaryDirectory() as folder:
        path = Path(folder) / "given.yaml"
        files = {**broken(GOOD), **negative()}
        for label in ("random bytes", "cut off", "k7 < 0"):
            path.write_bytes(files[label])
            with Scene(subject, "ideal", parameters="adaptive", last_good=str(path)) as scene:
                scene.advance(FAULT)
                outcome = scene.on(scene.bus.time - 0.5)
                said = scene.member.said("last_good refused")
            result = outcome.problems if said else (*outcome.problems, "nothing is said of it")
            cases.append((label, replace(outcome, problems=result)))
    return worst_of(cases)


ROWS = (
    *rows(
        GROUP,
        "corrupt and of another kind",
        Promise.REFUSES,
        (BACKSTEP, LINEARIZING),
        _refused(lambda: broken(GOOD)),
        (NO_ENGINE,),
    ),
    *rows(GROUP, "foreign and old", Promise.REFUSES, (BACKSTEP,), _refused(unfit), (NO_ENGINE,)),
    *rows(
        GROUP,
        "corrupt velocity parameters",
        Promise.REFUSES,
        (TRACKING,),
        _refused(lambda: broken(SIGMA)),
    ),
    *rows(
        GROUP,
        "corrupt nominal parameters",
        Promise.REFUSES,
        (BACKSTEP,),
        _refused(lambda: broken(GOOD), "nominal_parameters", parameters="adaptive"),
        (NO_ENGINE,),
    ),
    *rows(
        GROUP,
        "corrupt robot",
        Promise.REFUSES,
        (IDENT, BACKSTEP),
        _refused(lambda: {k: v for k, v in broken(GOOD).items() if "kind" not in k}, "robot"),
        (NO_ENGINE,),
    ),
    *rows(GROUP, "corrupt last good ones", Promise.DRIVES_ON, (BACKSTEP,), _restored, (NO_ENGINE,)),
    *rows(
        "Estimate with negative mass",
        "in a file",
        Promise.REFUSES,
        CONTROLLERS,
        _refused(negative),
        (NO_ENGINE,),
    ),
)
