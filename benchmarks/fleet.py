# SPDX-License-Identifier: Apache-2.0
"""A synthetic fleet with planted faults: detected and correctly named faults, and false alarms.

    ./diffbot python benchmarks/fleet.py --robots 60 --recordings 4 --types twil agv

Prints the processor time to generate and to analyse a recording, detected and named faults, and
false alarms. The fleet is that of made_recordings.made_fleet; the analysis does not know the truth.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from benchmark_tables import options
from made_recordings.made_fleet import FAULTS, MORE_FAULTS, make_fleet

from diffbot_description import load_robot
from diffbot_study.fleet_analysis import Fleet, analyse_fleet
from diffbot_study.fleet_rows import COLUMNS, Names, find_recordings, read_recordings
from diffbot_study.fleet_trends import said


def main() -> None:
    """Print the figures."""
    parser = options(__doc__, robots=60, seed=1)
    parser.add_argument("--types", nargs="+", default=["twil", "agv"])
    parser.add_argument("--recordings", type=int, default=4, help="recordings of each robot")
    parser.add_argument("--each", type=int, default=1, help="robots of a type with each fault")
    parser.add_argument(
        "--since", type=int, default=0, help="index of the first recording with faults"
    )
    parser.add_argument(
        "--gyro", action="store_true", help="recordings with a gyro, and more faults"
    )
    parser.add_argument("--false-alarms", type=float, default=0.01)
    given = parser.parse_args()
    kinds = (*FAULTS, *MORE_FAULTS) if given.gyro else FAULTS
    faults = dict(enumerate(kinds * given.each))
    with tempfile.TemporaryDirectory() as folder:
        begun = time.process_time()
        planted = make_fleet(
            Path(folder), given.types, given.robots, given.recordings,
            faults=faults, since=given.since, seed=given.seed, gyro=given.gyro,
        )  # fmt: skip
        made = time.process_time() - begun
        table = write_names(Path(folder), given.types)
        names = Names(table, None)
        begun = time.process_time()
        recordings, _ = find_recordings([folder], names, {})
        recordings = [recording for recording in recordings if recording.path != table]
        rows = read_recordings([(recording.key, recording) for recording in recordings])
        read = time.process_time() - begun
    whole = [{**dict.fromkeys(COLUMNS), **row} for row in rows]
    begun = time.process_time()
    fleet = analyse_fleet(whole, given.false_alarms)
    judged = time.process_time() - begun
    count = len(rows)
    print(f"{count} recordings: {1e3 * made / count:.0f} ms each to make, ", end="")
    print(f"{1e3 * read / count:.0f} ms each to read; {1e3 * judged:.0f} ms to judge all")
    alarms = {robot.name: robot.cause for robot in fleet.robots if robot.alarm}
    say_result(planted, alarms, len(fleet.robots))
    if fleet.trends:
        _print_changes(fleet, planted)


def write_names(folder: Path, types: Sequence[str]) -> Path:
    """Write names.csv with the description of each robot of make_fleet."""
    lines = ["pattern,robot,type", *(f"{load_robot(kind).name}-*,,{kind}" for kind in types)]
    table = folder / "names.csv"
    table.write_text("\n".join(lines) + "\n")
    return table


def say_result(planted: Mapping[str, str], alarms: Mapping[str, str], robots: int) -> None:
    """Print which planted faults are detected and named, and the false alarms.

    Args:
        planted: Faults by robot.
        alarms: Causes by robot, as reported for the fleet.
        robots: Number of analysed robots, including faulty ones.
    """
    results = [name for name in planted if name in alarms]
    named = [name for name in results if alarms[name] == planted[name]]
    blamed = [name for name in alarms if name not in planted]
    print(f"{len(planted)} faults: {len(results)} found, {len(named)} named rightly; ", end="")
    print(f"{len(blamed)} of {robots - len(planted)} healthy robots blamed")
    for name, fault in planted.items():
        if name not in named:
            print(f"  {name}: {fault}, said: {alarms.get(name, 'nothing')}")
    for name in blamed:
        print(f"  {name}: healthy, said: {alarms[name]}")


def _print_changes(fleet: Fleet, planted: Mapping[str, str]) -> None:
    changes = {trend.name: trend for trend in fleet.trends if trend.alarm}
    named = [name for name, fault in planted.items()
             if name in changes and changes[name].cause == fault]  # fmt: skip
    others = [name for name in changes if name not in planted]
    result = len(planted.keys() & changes.keys())
    print(f"changes over time: {result} of {len(planted)} faulty robots, ", end="")
    print(f"{len(named)} named rightly; {len(others)} of the others blamed")
    for name, change in changes.items():
        print(f"  {name}: {planted.get(name, 'healthy')}: {said(change)}: {change.cause}")


if __name__ == "__main__":
    main()
