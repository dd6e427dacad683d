# SPDX-License-Identifier: Apache-2.0
"""Short seeded runs of the launch files and their results, for repeat.py and freeze.py.

All run in lock-step on an embedded simulator, so that equal seeds give equal figures.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

# The only keys of summaries and parameter files that depend on wall time: all others must be equal
# in equal runs.
WALL_CLOCK = ("started", "real_time_factor", "date")
# Keys that depend on machine and installation; freeze.py stores them with the values.
OF_THE_MACHINE = ("versions",)
# Timeout of a run, s of wall time: far more than a run takes on a busy machine; a hang is reported.
LIMIT = 300.0
IDENT = ("duration:=8.0", "verification:=4.0", "seed:=3")
NOISE = {"simulator": {"torque_noise": 0.01}}


@dataclass(frozen=True)
class LaunchRun:
    """A launch with its arguments, as for `./diffbot launch`.

    Attributes:
        name: Unique name.
        launch: Name of the launch file.
        arguments: Its arguments, ARGUMENT:=VALUE.
        config: Parameters of the nodes, by node, for the argument `config`.
        chaotic: Whether the motion depends on the last digits, so that figures of two families of
            kernels need not agree; on one machine they do nevertheless.
        repeated: Whether repeat.py runs it: one or two of each launch file.
    """

    name: str
    launch: str
    arguments: tuple[str, ...]
    config: Mapping[str, Any] = field(default_factory=dict)
    chaotic: bool = False
    repeated: bool = False


def _ident(engine: str, estimator: str, excitation: str) -> LaunchRun:
    words = (f"sim:={engine}", f"excitation:={excitation}", *IDENT)
    first = (estimator, excitation) == ("integral", "prbs")
    config = {**NOISE, "ident": {"estimator": estimator}}
    return LaunchRun(
        f"ident {engine} {estimator} {excitation}", "ident", words, config, repeated=first
    )


RUNS = (
    *(
        _ident(engine, *kind)
        for engine in ("ideal", "mujoco")
        for kind in (
            ("integral", "prbs"),
            ("rls", "prbs"),
            ("integral", "multisine"),
            ("integral", "optimised"),
        )
    ),
    LaunchRun(
        "backstepping goal",
        "backstepping",
        ("sim:=ideal", "goal:=1,0.2,0.3", "duration:=5.0", "torque_limit:=5.0", "seed:=1"),
        repeated=True,
    ),
    LaunchRun(
        "backstepping eight",
        "backstepping",
        ("sim:=mujoco", "duration:=10.0", "seed:=2", "start:=0.1,-0.1,0.2"),
        repeated=True,
    ),
    LaunchRun(
        "backstepping published",
        "backstepping",
        ("sim:=ideal", "trajectory:=none", "law:=published", "torque_limit:=5.0", "duration:=5.0")
        + ("seed:=1",),
        chaotic=True,
        repeated=True,
    ),
    LaunchRun(
        "pose",
        "pose",
        ("sim:=mujoco", "goal:=-1,0.5,pi/2", "duration:=6.0", "seed:=1"),
        repeated=True,
    ),
    LaunchRun("linearizing", "linearizing", ("sim:=mujoco", "seed:=1"), repeated=True),
    LaunchRun("siwek fixed", "siwek", ("duration:=10.0", "seed:=1"), repeated=True),
    LaunchRun(
        "siwek adaptive",
        "siwek",
        ("duration:=12.0", "seed:=1", "adaptive:=true", "initial_sigma:=0.52,0.23,0.49,0.62"),
        repeated=True,
    ),
    LaunchRun(
        "adaptive",
        "adaptive",
        ("sim:=ideal", "seed:=3", "duration:=18.0", "payload_time:=6.0"),
        NOISE,
        repeated=True,
    ),
    LaunchRun(
        "calibrate",
        "calibrate",
        ("sim:=ideal", "seed:=1"),
        repeated=True,
    ),
)


@dataclass(frozen=True)
class Outcome:
    """Results of a run.

    Attributes:
        values: Values of the summary and the parameter files by path, including "exit status".
        seconds: Wall time of the run, s.
        output: Printed output.
    """

    values: dict[str, Any]
    seconds: float
    output: str


def execute(run: LaunchRun, results: Path, limit: float = LIMIT) -> Outcome:
    """Run a launch to its end, in the environment of this process.

    Args:
        run: The run.
        results: Folder for its results.
        limit: Wall time after which it is killed and its exit status is "killed", s.
    """
    words = [f"results:={results}", *run.arguments]
    if run.config:
        path = results.with_name(f"{results.name}.yaml")
        path.parent.mkdir(parents=True, exist_ok=True)
        nodes = {f"/**/{node}": {"ros__parameters": own} for node, own in run.config.items()}
        path.write_text(yaml.safe_dump(nodes), encoding="utf-8")
        words.append(f"config:={path}")
    begun = time.monotonic()
    process = subprocess.Popen(
        [sys.executable, "-m", "diffbot_bringup.cli", "launch", run.launch, *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        status: int | str = process.returncode
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, _ = process.communicate()
        status = "killed"
    except BaseException:
        os.killpg(process.pid, signal.SIGINT)
        process.wait()
        raise
    seconds = time.monotonic() - begun
    return Outcome({"exit status": status, **values_of(results)}, seconds, output)


def values_of(results: Path) -> dict[str, Any]:
    """Return summary and parameter files of a results folder, flattened; empty without them.

    The folder's own path, as in `next_step`, is replaced by ``RESULTS``.
    """
    entries: dict[str, Any] = {}
    summary = results / "summary.json"
    if summary.exists():
        content = json.loads(summary.read_text(encoding="utf-8"))
        entries.update(flat({k: v for k, v in content.items() if k not in OF_THE_MACHINE}))
    for path in sorted(results.glob("*.yaml")):
        entries.update(flat(yaml.safe_load(path.read_text(encoding="utf-8")), path.name))
    return {
        key: value.replace(str(results), "RESULTS") if isinstance(value, str) else value
        for key, value in entries.items()
        if key.rpartition(".")[2] not in WALL_CLOCK
    }


def flat(value: Any, prefix: str = "") -> dict[str, Any]:
    """Flatten nested mappings and sequences to {path: number, text, boolean or None}."""
    if isinstance(value, Mapping):
        pairs = value.items()
    elif isinstance(value, (list, tuple)):
        pairs = enumerate(value)
    else:
        return {prefix: value}
    results: dict[str, Any] = {}
    for key, entry in pairs:
        results.update(flat(entry, f"{prefix}.{key}" if prefix else str(key)))
    return results
