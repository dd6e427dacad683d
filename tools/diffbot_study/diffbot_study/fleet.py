# SPDX-License-Identifier: Apache-2.0
"""`diffbot fleet FOLDER --output DIR`: a row per recording, and findings on the fleet.

Exit status: 0 all recordings have a row, 3 some tasks failed, 2 wrong usage, 130 after Ctrl-C, with
finished work kept.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rich.console import Console

from diffbot_description import load_robot
from diffbot_description.command_parser import CommandParser
from diffbot_description.files import write_json
from diffbot_description.run_folder import output_folder
from diffbot_description.terminal_text import printable
from diffbot_ident.interpretation.fleet_prior import FleetPrior, write_prior
from diffbot_study.cause_advice import advice_on
from diffbot_study.fleet_alarms import (
    Morning,
    acknowledge,
    read_alarms,
    silent_robots,
    updated,
    write_alarms,
)
from diffbot_study.fleet_analysis import (
    FEWEST,
    RECORDINGS,
    UNKNOWN,
    Fleet,
    RobotFinding,
    analyse_fleet,
)
from diffbot_study.fleet_rows import (
    COLUMNS,
    CONTENT,
    SUFFIXES,
    VERSION,
    FleetRecording,
    Names,
    find_recordings,
    read_recordings,
)
from diffbot_study.fleet_trends import Trend, said
from diffbot_study.parquet_store import ParquetStore, Row
from diffbot_study.study import add_cluster_options, announce_page, status_of, store_results

CHUNK = 10
SHOWN = 30
REASONED = ("none", "unreadable")


def main(argv: Sequence[str] | None = None, program: str = "diffbot fleet") -> int:
    """Add recordings to the table; return the exit status."""
    words = sys.argv[1:] if argv is None else argv
    options = _parser(program).parse_args(words)

    def work() -> int:
        with output_folder(options.output, "fleet", adds=True) as options.output:
            return _run(options, Console(highlight=False, markup=False), words)

    return status_of(work, program)


def _parser(program: str) -> argparse.ArgumentParser:
    parser = CommandParser(
        program, description="Analyse a fleet's recordings, a row for each; see docs/fleet.md."
    )
    add = parser.add_argument
    add("places", metavar="FOLDER|GLOB", nargs="+", help="FOLDER/ROBOT/RECORDING, or ROBOT_*.csv")
    add(
        "--output",
        metavar="DIR",
        type=Path,
        required=True,
        help="folder of the table; new rows are added",
    )
    add("--names", metavar="FILE.csv", type=Path, help="table with columns pattern, robot, type")
    add("--robot", metavar="NAME|FILE", help="description of robots without type in --names")
    add("--wheel-radius", metavar="M", type=float, help="of robots without a description, m")
    add("--track", metavar="M", type=float, help="of robots without a description, m")
    add(
        "--false-alarms", metavar="SHARE", type=float, default=0.01,
        help="probability of any alarm in a fleet without a fault (default: %(default)g)",
    )  # fmt: skip
    add(
        "--acknowledge", metavar="ROBOT[=NOTE]", nargs="+", default=[],
        help="mark alarms of these robots as seen, until their cause changes",
    )  # fmt: skip
    add_cluster_options(parser)
    return parser


def _run(options: argparse.Namespace, console: Console, words: Sequence[str]) -> int:
    if not 0.0 < options.false_alarms < 1.0:
        raise ValueError(f"--false-alarms {options.false_alarms}: must be between 0 and 1")
    names = Names(options.names, options.robot)
    sizes = {"wheel_radius": options.wheel_radius, "track": options.track}
    given = {name: size for name, size in sizes.items() if size is not None}
    recordings, others = find_recordings(options.places, names, given)
    _check_descriptions(recordings, given)
    store = ParquetStore(options.output / "recordings", COLUMNS)
    store.compact()
    known = store.keys(version=VERSION)  # rows of older versions are computed again
    if not recordings and not store.parts:
        raise ValueError(
            f"{', '.join(options.places)}: contains no recording ({others} other files); "
            f"recordings are folders of bags and files that end in {', '.join(sorted(SUFFIXES))}"
        )
    contents: dict[str, FleetRecording] = {}
    for recording in recordings:
        contents.setdefault(recording.content, recording)
    wanted = {recording.key: recording for recording in contents.values()}
    new = {key: recording for key, recording in wanted.items() if key not in known}
    console.print(
        f"{len(recordings)} recordings, {len(new)} of them new, "
        f"{len(recordings) - len(wanted)} duplicates; {others} other files"
    )
    items = list(new.items())
    tasks = [items[at : at + CHUNK] for at in range(0, len(items), CHUNK)]
    status = store_results(
        read_recordings, tasks, store, options, console, name="recordings", complaint=_complaint
    )
    rows = _one_row_each(store.rows(), wanted)
    fleet = analyse_fleet(rows, options.false_alarms)
    morning = _morning(fleet, rows, recordings, len(new), options)
    summary = _report_findings(fleet, rows, morning, options, console)
    from diffbot_study.fleet_page import write_fleet_pages  # slow to import

    announce_page(lambda: write_fleet_pages(summary, rows, options.output, words, morning), console)
    return status


def _morning(
    fleet: Fleet,
    rows: Sequence[Row],
    recordings: Sequence[FleetRecording],
    new: int,
    options: argparse.Namespace,
) -> Morning:
    """Compare with the runs before, and keep the alarms for the next one."""
    now = time.time()
    raised = {(t.type, t.name): t.cause for t in fleet.trends if t.alarm}
    raised |= {(robot.type, robot.name): robot.cause for robot in fleet.robots if robot.alarm}
    alarms = updated(read_alarms(options.output), raised, now)
    alarms = acknowledge(alarms, options.acknowledge)
    write_alarms(options.output, alarms)
    paths: dict[str, list[str]] = {}
    for recording in recordings:
        paths.setdefault(recording.content, []).append(str(recording.path))
    return Morning(
        now=now,
        alarms={(a.type, a.robot): a for a in alarms if a.ended is None},
        ended=[alarm for alarm in alarms if alarm.ended is not None],
        recordings=new,
        silent=silent_robots(rows, (recording.robot for recording in recordings)),
        copies={
            path: [other for other in own if other != path]
            for own in paths.values()
            for path in own
            if len(own) > 1
        },
    )


def _complaint(task: Sequence[tuple[str, FleetRecording]], failure: str) -> str:
    paths = ", ".join(str(recording.path) for _, recording in task)
    return f"cannot be read ({failure}): {paths}"


def _one_row_each(rows: Sequence[Row], wanted: Mapping[str, FleetRecording]) -> list[Row]:
    newest: dict[str, Row] = {}
    asked = {key[:CONTENT] for key in wanted}
    for row in rows:
        content, recording = row["key"][:CONTENT], wanted.get(row["key"])
        if recording is not None:
            newest[content] = {**row, "robot": recording.robot, "type": recording.type}
        elif content not in asked:
            newest[content] = row
    return list(newest.values())


def _check_descriptions(recordings: Sequence[FleetRecording], sizes: Mapping[str, float]) -> None:
    """Refuse options that would make each row unreadable, as the rows would stay."""
    for name, size in sizes.items():
        if not 0.0 < size < math.inf:
            option = name.replace("_", "-")
            raise ValueError(f"--{option} {size:g} m: must be finite and > 0; measure it in m")
    for kind in sorted({recording.type for recording in recordings if recording.type}):
        load_robot(kind)


def _report_findings(
    fleet: Fleet,
    rows: Sequence[Row],
    morning: Morning,
    options: argparse.Namespace,
    console: Console,
) -> dict[str, Any]:
    counts = Counter(row["usable"] for row in rows)
    said = ", ".join(f"{name}: {count}" for name, count in counts.most_common())
    _say(console, f"rows by usability: {said or 'no rows'}")
    refused = [row for row in rows if row["usable"] in REASONED]
    for row in refused[:SHOWN]:
        _say(console, f"  {row['path']}: {row['usable']}: {row['reason']}")
        for copy in morning.copies.get(row["path"], ()):
            _say(console, f"  {copy}: the same content")
    if len(refused) > SHOWN:
        _say(console, f"  and {len(refused) - SHOWN} more, all of them named in fleet.html")
    summary = {"recordings": dict(counts), **fleet.to_dict()}
    write_json(options.output / "fleet.json", summary)
    _print(fleet, morning, console)
    for path in write_priors(fleet, options.output):
        _say(console, f"prior: launch adaptive prior:={path}, or parameter prior of ident")
    _say(console, f"table: {options.output / 'recordings'}; fleet.json beside it")
    return summary


def write_priors(fleet: Fleet, folder: Path) -> list[Path]:
    """Write prior_TYPE.yaml for each type whose robots have a description; return the files."""
    paths: list[Path] = []
    date = datetime.now(timezone.utc).isoformat(timespec="seconds")
    for kind, result in fleet.types.items():
        if kind == UNKNOWN or result.k is None or result.k_covariance is None:
            continue
        robot = load_robot(kind)
        path = folder / f"prior_{robot.name}.yaml"
        if path in paths:
            # Several types have robots of the same name: number the files.
            path = folder / f"prior_{robot.name}-{len(paths) + 1}.yaml"
        prior = FleetPrior(
            robot=robot.name,
            values=result.k,
            covariance=result.k_covariance,
            robots=result.robots,
            wheel_radius=robot.wheels.radius,
            track=robot.wheels.separation,
            date=date,
        )
        write_prior(path, prior)
        paths.append(path)
    return paths


def _print(fleet: Fleet, morning: Morning, console: Console) -> None:
    chance = f"(probability of any alarm in a fleet without a fault: {fleet.false_alarms:g})"
    if fleet.types:
        alarms = [robot for robot in fleet.robots if robot.alarm]
        _say(
            console,
            f"{len(fleet.robots)} robots of {len(fleet.types)} types; {len(alarms)} are unlike the "
            f"others {chance}",
        )
        for robot in alarms:
            _say_alarm(robot, robot.evidence, morning, console)
    else:
        _say(
            console,
            f"no type has at least {FEWEST} robots with at least {RECORDINGS} usable recordings "
            "each: no robot is compared",
        )
    if fleet.trends:
        changed = [trend for trend in fleet.trends if trend.alarm]
        text = f"{len(fleet.trends)} robots over time; {len(changed)} have changed {chance}"
        _say(console, text)
        for trend in changed:
            _say_alarm(trend, said(trend), morning, console)
    near = sorted(
        {robot.name for robot in fleet.robots if robot.near}
        | {trend.name for trend in fleet.trends if trend.near}
    )
    if near:
        _say(console, f"nearly alarms, see fleet.html: {', '.join(near)}")
    for alarm in morning.ended:
        _say(console, f"no longer: {alarm.robot}: {alarm.cause}")
    for name, why in morning.silent.items():
        _say(console, f"{name} {why}")


def _say_alarm(
    finding: RobotFinding | Trend, evidence: str, morning: Morning, console: Console
) -> None:
    state = morning.state((finding.type, finding.name))
    advice = advice_on(finding.cause)
    _say(
        console,
        f"  {finding.name} ({Path(finding.type).stem}), {state}: {finding.cause}: "
        f"{advice.meaning} ({evidence}); {advice.action}",
    )


def _say(console: Console, text: str) -> None:
    console.print(printable(text), soft_wrap=True)
